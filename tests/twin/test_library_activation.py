"""Activation functions of the high-level library that have operands or forms of their own."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin import library_models as library
from tests.twin.models import same
from tests.twin.running import Twin
from tests.twin.test_library_math import SETUP, assert_close, grid, run_two

SWISH = [1.702, 1.0, -0.5]


def test_gated_units(twin: Twin, dtype: DType) -> None:
    """GeGLU, ReGlu and SwiGLU in their four forms."""
    a, b = grid(dtype, 1, 512)
    forms = ["", ", tmp", ", 512", ", tmp, 512"]
    calls = [f"{name}(d, la, lb{form});" for name in ("GeGLU", "ReGlu") for form in forms]
    calls += [f"SwiGLU(d, la, lb, 1.5f{form});" for form in forms]
    rows = run_two(twin, dtype, calls, a, b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(all="ignore"):
        swiglu = wide_a * (wide_b / (1 + np.exp(-1.5 * wide_b)))
    wanted = [library.evaluate("GeGLU", a, b)] * 4 + [library.evaluate("ReGlu", a, b)] * 4 + [swiglu] * 4
    for call, actual, exact in zip(calls, rows, wanted, strict=True):
        assert same(actual, library.rounded(exact, dtype)), call


def test_reglu_of_brain_floats(twin: Twin) -> None:
    rng = np.random.default_rng(2)
    kind = DType.BFLOAT16.numpy()
    a, b = rng.normal(0, 3, (2, 256)).astype(kind)
    rows = run_two(twin, DType.BFLOAT16, ["ReGlu(d, la, lb, tmp, 256);", "ReGlu(d, la, lb, 256);"], a, b)
    wanted = (a.astype(np.float32) * np.maximum(b.astype(np.float32), 0)).astype(kind)
    for actual in rows:
        assert (actual.astype(np.float32) == wanted.astype(np.float32)).all()


def test_swish(twin: Twin, dtype: DType) -> None:
    a, b = grid(dtype, 3, 512)
    t = dtype.ascend_c
    rows = run_two(twin, dtype, [f"Swish(d, la, 512, ({t}){beta});" for beta in SWISH], a, b)
    for beta, actual in zip(SWISH, rows, strict=True):
        x = a.astype(np.float64)
        with np.errstate(all="ignore"):
            exact = x / (1 + np.exp(-(float(dtype.numpy().type(beta)) * x)))
        assert same(actual, library.rounded(exact, dtype)), beta


@pytest.mark.parametrize("name", ["Gelu", "FasterGelu", "FasterGeluV2"])
def test_gelu_options_do_not_cost_precision(twin: Twin, name: str) -> None:
    calls = [
        f"{name}<half, true, false>(d, a, tmp, 256);",
        f"{name}<half, false, true>(d, a, 256);",
        f"{name}(d, a, 256);",
    ]
    text = "".join(f"{call}\nDataCopy(gy[{index * 256}], d, 256);\n" for index, call in enumerate(calls))
    x = np.random.default_rng(4).normal(0, 2, 256).astype(np.float16)
    body = SETUP.format(n=256, t="half") + "DataCopy(a, gx, 256);\n" + text
    done = twin.run(body, {"x": x}, {"y": ((3, 256), DType.FLOAT16)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    for actual in np.asarray(done.output()):
        assert_close(name, actual, x, DType.FLOAT16)
