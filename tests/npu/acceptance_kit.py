"""What the acceptance is given on the stand-in, which knows plain C++ and no Ascend C.

A task with golden kernels for both tracks, a suite of candidates, the two kernels that try a device out, and
micro-kernels whose times the stand-in's clock is told: all of it in plain C++.
"""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from npukb_npu import acceptance, calibrate, executor, lease, rows, trial
from npukb_npu.acceptance import Answer, main
from npukb_npu.rows import Enters, Row, Table
from npukernelbench.cli import main as npukb_main
from npukernelbench.testing.standin import Machine
from tests.npu.conftest import site_of

__all__ = ["DEVICE", "GOLDEN", "HOST", "OUT", "Call", "Commands", "accept", "furnish", "on", "report"]

OUT = "npu-acceptance-standin"
TASK = """
name: StandSqrt
suite: standin
level: 1
category: Math
version: 1
tags: [elementwise]
kernel: stand_sqrt
core: vector
summary: Square roots on the stand-in.
description: For tests.
formula: y_i = sqrt(x_i)
interface:
  inputs: [{name: x, dtypes: [float32], values: {uniform: [1.0, 9.0]}, description: Any shape.}]
  outputs: [{name: y, dtype_like: x, shape_like: x, description: Square roots.}]
reference: math.sqrt
goldens: {static: golden.cpp, dynamic: golden}
cases:
  - {id: smoke, inputs: {x: {shape: [7, 5], dtype: float32}}, profiles: [smoke]}
"""
GOLDEN = """
extern "C" __global__ __aicore__ void stand_sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    for (int i = 0; i < 35; ++i) reinterpret_cast<float*>(y)[i] = __builtin_sqrtf(reinterpret_cast<float*>(x)[i]);
}
"""
HOST = """
namespace ops {
class StandSqrt : public OpDef {
public:
    explicit StandSqrt(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED);
        this->Output("y").ParamType(REQUIRED);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(StandSqrt);
}
"""
DEVICE = GOLDEN.replace("GM_ADDR workspace", "GM_ADDR workspace, GM_ADDR tiling")
#: What stands for the two kernels that try a device out.
TRIALS = {
    "vector": """
extern "C" __global__ __aicore__ void trial_vector(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto *a = reinterpret_cast<float*>(x), *b = reinterpret_cast<float*>(y), *c = reinterpret_cast<float*>(z);
    for (int i = 0; i < 1024; ++i) c[i] = a[i] + b[i];
}
""",
    "cube": """
static float wide(uint16_t h) {
    float f = __builtin_ldexpf((h & 1023) + 1024, (h >> 10 & 31) - 25) * (h >> 15 ? -1 : 1);
    return h & 0x7fff ? f : 0;
}
extern "C" __global__ __aicore__ void trial_cube(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto *a = reinterpret_cast<uint16_t*>(x), *b = reinterpret_cast<uint16_t*>(y);
    for (int i = 0; i < 256; ++i) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += wide(a[i / 16 * 16 + k]) * wide(b[k * 16 + i % 16]);
        reinterpret_cast<float*>(z)[i] = sum;
    }
}
""",
}
#: Sums of halfs, in plain C++.
RIGHT = """
static float wide(uint16_t h) {
    int size = h >> 10 & 31;
    return __builtin_ldexpf((h & 1023) + (size ? 1024 : 0), (size ? size : 1) - 25) * (h >> 15 ? -1 : 1);
}
static uint16_t half(float f) {
    uint32_t bits;
    __builtin_memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size < 0x38800000) {
        f = __builtin_ldexpf(__builtin_fabsf(f), 24);
        return sign | static_cast<uint16_t>(__builtin_lrintf(f));
    }
    return sign | static_cast<uint16_t>((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}
extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto* a = reinterpret_cast<uint16_t*>(x);
    auto* b = reinterpret_cast<uint16_t*>(y);
    auto* c = reinterpret_cast<uint16_t*>(z);
    for (int i = 0; i < 2107; ++i) c[i] = half(wide(a[i]) + wide(b[i]));
}
"""
CANDIDATES: Mapping[str, tuple[str, str, str]] = {
    "no end": ("auto* a", "standin_hang(); auto* a", "timeout"),
    "right": ("", "", "ok"),
    "no value": ("c[i] =", "volatile int v =", "wrong_value"),
    "too far": ("i < 2107", "i <= 2107", "rule_violation"),
    "no C++": ("auto* a", "auto * * * a", "compile_error"),
}
#: A round of the first takes 2 us, of the second 6 us: what the clock is told.
MICRO = """
extern "C" __global__ __aicore__ void probe(GM_ADDR data, GM_ADDR parameters, GM_ADDR out, GM_ADDR workspace) {
    standin_spend(3.0 + BODY * reinterpret_cast<int32_t*>(parameters)[0]);
}
"""


#: What runs ``npukb``, and how it ended.
class Call(NamedTuple):
    command: str
    code: int
    out: str
    err: str


def furnish(folder: Path, patch: pytest.MonkeyPatch, root: Path, cache: Path) -> None:
    """Make ``folder`` the current one, with everything that the acceptance takes, on the stand-in at ``root``."""
    on(patch, root)
    patch.setenv("NPUKB_CACHE_DIR", str(cache))
    patch.setenv("NPUKB_NPU_LEASES", str(folder / "leases"))
    patch.setattr(acceptance, "_SUITES", ("suite",))
    patch.setattr(lease, "_FIRST_QUARANTINE_S", 0.05)
    for name, text in (
        ("suite/right.cpp", RIGHT), ("tasks/stand_sqrt/task.yaml", TASK),
        *((f"trial/{name}.cpp", text) for name, text in TRIALS.items()),
    ):  # fmt: skip
        write(folder / name, text)
    golden(folder)
    candidates(folder, CANDIDATES)
    kernels = tuple(replace(kernel, source=folder / "trial" / kernel.source.name) for kernel in trial.KERNELS)
    patch.setattr(trial, "KERNELS", kernels)
    micro = [Row(what=f"{us} us", body=us, type="half", cost={name: 1.0}) for us, name in _ROWS.items()]
    numbers = dict.fromkeys(_ROWS.values(), Enters.CYCLES)
    small = Table(numbers=numbers, unmeasured={}, rows=tuple(micro), probes=(), excluded=())
    patch.setattr(calibrate, "table", lambda: small)
    patch.setattr(calibrate, "_SAMPLING_S", 0.01)
    patch.setattr(calibrate, "_WARMUP_S", 0.0)
    patch.setattr(rows, "kernel_text", lambda name: MICRO)
    patch.chdir(folder)


_ROWS = {"2": "barrier_cycles", "6": "flag_cycles"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def golden(folder: Path, *, static: str = GOLDEN, host: str = HOST, device: str = DEVICE) -> None:
    """The golden kernels of the task."""
    place = folder / "tasks/stand_sqrt"
    write(place / "golden.cpp", static)
    write(place / "golden/op_host/stand_sqrt.cpp", host)
    write(place / "golden/op_kernel/stand_sqrt.cpp", device)


def candidates(folder: Path, wanted: Mapping[str, tuple[str, str, str]]) -> None:
    """The suite: by name what is replaced in the right kernel, by what, and the outcome."""
    entries = {
        name: {"edits": [{"old": old, "new": new}] if old else [], "outcome": outcome}
        for name, (old, new, outcome) in wanted.items()
    }
    write(folder / "suite/candidates.yaml", json.dumps({"candidates": entries}))


def on(patch: pytest.MonkeyPatch, root: Path, machine: Machine | None = None, **environ: str) -> None:
    """Executors find this machine, with this in their environment."""
    patch.setattr(executor, "Site", lambda: site_of(root, machine=machine, **environ))


class Commands:
    """The real command line in this process, which knows the task of the test; ``calls`` is what it said."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, words: Sequence[str]) -> Answer:
        more = {
            "run": ("--include_path", "tasks", "--executor_args", "sampling_s=0.01,warmup_s=0.0,lease_timeout_s=0.01")
        }.get(words[0], ())
        words = [word.replace("profile=full", "profile=full,sampling_s=0.01,warmup_s=0.0") for word in words]
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            code = npukb_main([*words, *more])
        self.calls.append(Call(words[0], code, out.getvalue(), err.getvalue()))
        return Answer(code, out.getvalue(), err.getvalue())


def accept(commands: acceptance.Npukb) -> int:
    """What ``scripts/npu_acceptance`` runs, in the current folder; its exit code."""
    return main(["--name", "A. Tester", "--out", OUT, "--tasks", "StandSqrt"], commands)


def report(folder: Path) -> dict[str, dict[str, Any]]:
    """Steps of the report by name."""
    document = json.loads((folder / OUT / "report.json").read_text(encoding="utf-8"))
    return {step["name"]: step for step in document["steps"]}
