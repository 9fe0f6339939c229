"""Kernels made of library calls on tensors that are loaded and stored whole, and how their results are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npukernelbench.nouns import DType
from tests.twin.running import Twin

DTYPES = {"half": DType.FLOAT16, "float": DType.FLOAT32}


class Program:
    """A kernel made of calls on tensors of floats: inputs are loaded, outputs stored one after the other."""

    def __init__(self) -> None:
        self.inputs: dict[str, np.ndarray] = {}
        self.lines: list[str] = []
        self.outputs: dict[str, tuple[int, DType]] = {}

    def load(self, name: str, values: np.ndarray) -> None:
        self.inputs[name] = values.reshape(-1)
        t = next(dtype for dtype in DType if dtype.numpy() == values.dtype).ascend_c
        self.lines.append(
            f"TBuf<TPosition::VECCALC> b_{name};\npipe.InitBuffer(b_{name}, {values.nbytes});\n"
            f"LocalTensor<{t}> l_{name} = b_{name}.Get<{t}>();\nGlobalTensor<{t}> g_{name};\n"
            f"g_{name}.SetGlobalBuffer((__gm__ {t}*){name});\nDataCopy(l_{name}, g_{name}, {values.size});"
        )

    def tensor(self, name: str, size: int, t: str) -> None:
        """A local tensor that is an output of the kernel."""
        dtype = next(dtype for dtype in DType if dtype.ascend_c == t)
        self.outputs[name] = (size, dtype)
        self.lines.append(
            f"TBuf<TPosition::VECCALC> b_{name};\npipe.InitBuffer(b_{name}, {size} * sizeof({t}));\n"
            f"LocalTensor<{t}> l_{name} = b_{name}.Get<{t}>();"
        )

    def call(self, line: str) -> None:
        self.lines.append(line)

    def run(self, twin: Twin, before: str = "") -> dict[str, np.ndarray]:
        stores = []
        for name, (size, dtype) in self.outputs.items():
            t = dtype.ascend_c
            stores.append(f"GlobalTensor<{t}> g_{name};\ng_{name}.SetGlobalBuffer((__gm__ {t}*){name});")
            stores.append(f"DataCopy(g_{name}, l_{name}, {size});")
        body = "\n".join(["TPipe pipe;", *self.lines, *stores])
        done = twin.run(body, self.inputs, {n: ((s,), d) for n, (s, d) in self.outputs.items()}, before=before)
        assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
        return {name: np.asarray(done.output(name)) for name in self.outputs}


def near(actual: np.ndarray, wanted: np.ndarray, ulps: float = 4) -> bool:
    """Within some units in the last place of the result's type, NaN and infinities alike."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(wanted).reshape(-1).astype(actual.dtype)
    finite = np.isfinite(rounded)
    if not np.array_equal(finite, np.isfinite(actual.reshape(-1))):
        return False
    a, w = actual.reshape(-1)[finite].astype(np.float64), np.asarray(wanted, np.float64).reshape(-1)[finite]
    off = np.abs(a - w) / np.spacing(np.abs(rounded[finite])).astype(np.float64)
    return bool(off.max(initial=0) <= ulps + 0.5)


def sample(dtype: DType, shape: Sequence[int], seed: int, scale: float = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(dtype.numpy())
