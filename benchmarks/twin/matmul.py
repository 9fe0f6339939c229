"""The golden BasicMatmul in half precision against NumPy's product of the same matrices in float32: processor time of
the whole process on one thread, and what it consists of.

Parts are told apart by shapes that have little else: sixteen rows are little more than unpacking the right matrix into
floats, sixteen columns the left one, sixteen products per sum the rounding and storing of the result. Every rectangle
unpacks its rows and columns anew. What is left is multiplication. An argument is another extent than 1024.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.twin.measure import RUNS, Launch, of_self, spent
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.operator.derive import Deriver
from npukernelbench.nouns import DType, TensorCase, TensorShape, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import read_golden

EXTENT = 1024
LITTLE = 16
TARGET = 8.0
#: Of the tiling data: usedCoreNum, M, N, Ka, Kb, singleCoreM, singleCoreN.
_TILING = re.compile(r"TILED_CASE = \{\{\d+, \d+, \d+, \d+, \d+, (\d+), (\d+),")


class Golden:
    """The golden operator's kernels for shapes of choice."""

    def __init__(self) -> None:
        self._task = load_registry(Plugins.load(autoload=False))["BasicMatmul"]
        [golden] = [golden for golden in self._task.goldens if golden.track is Track.DYNAMIC]
        self._files, self._deriver = read_golden(golden), Deriver()
        self._executor = TwinExecutor(TwinArgs(threads=1))
        self._random = np.random.default_rng(1)

    def source(self, m: int, n: int, k: int) -> str:
        case = self._task.case("smoke")
        a, b = (_shaped(case.inputs[name], shape) for name, shape in (("a", (m, k)), ("b", (k, n))))
        outputs = {"c": TensorShape((m, n), DType.FLOAT16)}
        sized = replace(case, id=f"{m}x{n}x{k}", inputs={"a": a, "b": b}, outputs=outputs)
        text, why = self._deriver.source(self._task, sized, self._files)
        if not text:
            raise SystemExit(f"no kernel for {sized.id}: {why}")
        # By this name `Launch` calls a kernel.
        return text.replace(self._task.kernel, "probe")

    def grid(self, m: int, n: int, k: int) -> tuple[int, int]:
        """Rectangles one below the other, and side by side."""
        match = _TILING.search(self.source(m, n, k))
        if match is None:
            raise SystemExit("the kernel's tiling data is not where it was")
        return -(-m // int(match[1])), -(-n // int(match[2]))

    def processor_s(self, m: int, n: int, k: int) -> float:
        inputs = {"a": self.matrix(m, k), "b": self.matrix(k, n)}
        return Launch(self._executor, self.source(m, n, k), inputs, np.empty((m, n), np.float16)).processor_s()

    def matrix(self, rows: int, columns: int) -> NDArray[np.float16]:
        return self._random.uniform(-1, 1, (rows, columns)).astype(np.float16)

    def close(self) -> None:
        self._executor.close()
        self._deriver.close()


def _shaped(item: object, shape: tuple[int, ...]) -> TensorCase:
    if not isinstance(item, TensorCase):
        raise TypeError(f"{item!r} is no tensor")
    return replace(item, tensor=replace(item.tensor, shape=shape))


def main(arguments: list[str]) -> int:
    extent = int(arguments[0]) if arguments else EXTENT
    golden = Golden()
    down, across = golden.grid(extent, extent, extent)
    start = golden.processor_s(LITTLE, LITTLE, LITTLE)
    whole = golden.processor_s(extent, extent, extent)
    left, right = unpacking(golden, extent, start)
    result = golden.processor_s(extent, extent, LITTLE) - start
    a, b = (golden.matrix(extent, extent).astype(np.float32) for _ in "ab")
    floor = min(spent(of_self, lambda: a @ b) for _ in range(RUNS))
    golden.close()
    print(f"{extent}^3 in half precision, {down} x {across} rectangles; NumPy's float32 @ {floor * 1e3:.1f} ms")
    parts = {
        "process, compiled kernel, empty buffers": start,
        f"left matrix to floats, {across} times": across * left,
        f"right matrix to floats, {down} times": down * right,
        "result rounded and stored": result,
        "multiplication, and what is left": whole - start - across * left - down * right - result,
    }
    for name, seconds in parts.items():
        print(f"  {name:42} {seconds * 1e3:8.1f} ms  {seconds / whole:6.1%}")
    ratio = whole / floor
    met = "met" if ratio <= TARGET else "MISSED"
    print(f"  {'all':42} {whole * 1e3:8.1f} ms  {ratio:.2f} times NumPy (target {TARGET:g}: {met})")
    return int(ratio > TARGET)


def unpacking(golden: Golden, extent: int, start: float) -> tuple[float, float]:
    """Seconds of unpacking the left matrix once, and the right one. Each of the two kernels that tell has many narrow
    rectangles, every one of which unpacks the little of the other matrix too.
    """
    tall, wide = (extent, LITTLE, extent), (LITTLE, extent, extent)
    of_right = golden.grid(*tall)[0] * LITTLE / extent
    of_left = golden.grid(*wide)[1] * LITTLE / extent
    first, second = (golden.processor_s(*shape) - start for shape in (tall, wide))
    # first = left + of_right * right and second = right + of_left * left, solved for both.
    left = (first - of_right * second) / (1 - of_right * of_left)
    return left, second - of_left * left


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
