"""What predicting time costs: processor time of whole kernel processes with and without it.

The promise is 1.3 times the functional run, over golden kernels on a large public case each and kernels of nothing but
loops of the scalar unit. Without it means: nothing recorded, nothing replayed, and kernels compiled without counted
operations.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from benchmarks.bench_checker import KERNELS, cost, cost_of, largest
from npukb_twin.compile import driver
from npukb_twin.compile.build import kernel_flags
from npukb_twin.compile.toolchain import Toolchain
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import Executor, make_executor
from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry

PROMISE = 1.3
COUNTED = "-fsanitize-coverage"


def _on_ones(count: int, body: str) -> str:
    """``body``, where ``a`` holds so many ones; what it makes of one of them is the result."""
    return f"""
    AscendC::TPipe pipe;
    AscendC::TBuf<AscendC::TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, {count * 4});
    auto a = buffer.Get<float>();
    AscendC::Duplicate(a, 1.0f, {count});
{body}    const uint32_t sum = static_cast<uint32_t>(a.GetValue(5));
"""


#: Kernels of the scalar unit: each is a loop around very little.
LOOPS = {
    "plain loops": """
    uint32_t state = 1, sum = 0;
    for (int32_t i = 0; i < 200000; ++i) {
        state = state * 1664525u + 1013904223u;
        if (state & 0x10000u) sum += state >> 3; else sum ^= state;
    }
""",
    "index arithmetic": """
    uint32_t sum = 0;
    for (uint32_t n = 0; n < 8; ++n) for (uint32_t h = 0; h < 100; ++h) for (uint32_t w = 0; w < 100; ++w) {
        const uint32_t at = ((n * 100 + h) * 100 + w) * 2, column = at % 17, row = at / 17;
        if (column > row) sum += column; else sum += row * 3 + 1;
    }
""",
    "a function": """
    auto step = [](uint32_t a, uint32_t b) { return a > b ? a - b : b * 3; };
    uint32_t sum = 0;
    for (uint32_t i = 1; i < 400000; ++i) sum = step(sum, i);
""",
    "elements": _on_ones(
        2048,
        """    for (int32_t round = 0; round < 20; ++round) for (int32_t i = 1; i < 2048; ++i) {
        float value = a.GetValue(i - 1) * 0.5f + a.GetValue(i);
        if (value > 100.0f) value = 1.0f;
        a.SetValue(i, value);
    }
""",
    ),
    "small vectors": _on_ones(
        4096,
        """    for (int32_t round = 0; round < 200; ++round) for (int32_t i = 0; i < 32; ++i) {
        AscendC::Muls(a[i * 64], a[i * 64], 0.5f, 64);
        AscendC::Adds(a[i * 64], a[i * 64], 1.0f, 64);
    }
""",
    ),
}
KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void abs_math(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {%s
    AscendC::GlobalTensor<uint32_t> out;
    out.SetGlobalBuffer((__gm__ uint32_t*)y);
    if (AscendC::GetBlockIdx() == 0) out.SetValue(0, sum);
}
"""


@contextmanager
def uncounted() -> Iterator[None]:
    """Kernels that are compiled meanwhile do not count their operations."""

    def flags(toolchain: Toolchain) -> tuple[str, ...]:
        return tuple(flag for flag in kernel_flags(toolchain) if not flag.startswith(COUNTED))

    with patch.object(driver, "kernel_flags", flags):
        yield


def main() -> None:
    plugins = Plugins.load()
    tasks = load_registry(plugins)
    timed, plain = (
        make_executor(plugins.executors.find("twin"), {"profile": profile, "threads": 1}) for profile in ("time", "off")
    )
    total = [0.0, 0.0]
    for name in KERNELS:
        task = tasks[name]
        spent = both(timed, plain, task)
        total = [so_far + other for so_far, other in zip(total, spent, strict=True)]
        print(f"{name}: {spent[1] * 1e3:.1f} ms without; with {spent[0] / spent[1]:.2f}")
    ratio = total[0] / total[1]
    print(f"all: {ratio:.2f} (promise {PROMISE}) {'ok' if ratio <= PROMISE else 'MISSED'}")
    for name, body in LOOPS.items():
        spent = loops_of(timed, plain, tasks["AbsMath"], KERNEL % body)
        ratio = spent[0] / spent[1]
        print(
            f"loops, {name}: {spent[1] * 1e3:.1f} ms without; with {ratio:.2f} {'ok' if ratio <= PROMISE else 'MISSED'}"
        )
    timed.close()
    plain.close()


def both(timed: Executor, plain: Executor, task: Task) -> tuple[float, float]:
    """Processor seconds of a golden kernel with and without."""
    case = largest(task, 64 << 20)
    spent = cost(timed, task, case)
    with uncounted():
        return spent, cost(plain, task, case)


def loops_of(timed: Executor, plain: Executor, task: Task, source: str) -> tuple[float, float]:
    """The same of a kernel of plain loops."""
    case, candidate = task.cases[0], candidate_of({"kernel.cpp": source})
    spent = cost_of(timed, task, case, candidate)
    with uncounted():
        return spent, cost_of(plain, task, case, candidate)


if __name__ == "__main__":
    main()
