"""One program, two meanings: the interpreter and the lowered kernel on the twin compute the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_program
from tests.tile.running import both, drawn, elementwise, near, rows
from tests.twin.running import Twin

SHAPES = ((1,), (7,), (3, 301), (2, 5, 64), (1999,))
LEAVES = ("ta", "tb", "0.75", "-1.5")
UNARY = ("abs({0})", "-({0})", "relu({0})", "tanh({0})", "min(abs({0}), 2.0)", "exp(min({0}, 1.0))", "sqrt(abs({0}))")
BINARY = ("({0} + {1})", "({0} - {1})", "({0} * {1})", "max({0}, {1})", "min({0}, {1})", "({0} / (abs({1}) + 1.0))")


def expressions(leaves: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Nested operations with at least one tile in each of them."""

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        unary = st.builds(lambda form, x: form.format(x), st.sampled_from(UNARY), inner)
        binary = st.builds(lambda form, x, y: form.format(x, y), st.sampled_from(BINARY), inner, inner)
        chosen = st.builds(lambda x, y: f"where({x} > 0.25, {y}, 0.5)", inner, inner)
        return unary | binary | chosen

    tiles = st.sampled_from([leaf for leaf in leaves if leaf.startswith("t")])
    mixed = st.builds(lambda form, x, y: form.format(x, y), st.sampled_from(BINARY), tiles, st.sampled_from(leaves))
    return st.recursive(tiles | mixed, grow, max_leaves=6)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(expression=expressions(LEAVES), shape=st.sampled_from(SHAPES), seed=st.integers(0, 99))
def test_elementwise_expressions(twin: Twin, expression: str, shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = {name: drawn(rng, shape, "float32") for name in ("a", "b")}
    source = elementwise(expression, {"a": "float32", "b": "float32"}, "float32")
    near(*both(twin, source, inputs), rtol=3e-5)


CASTS = (
    ("float16(float32(ta) * 2.0 + 1.0)", "float16", "float16", 2e-3),
    ("bfloat16(float32(ta) * 2.0)", "bfloat16", "bfloat16", 1e-2),
    ("float32(ta) * 0.5", "bool", "float32", 0.0),
    ("float32(ta) * 0.5", "uint8", "float32", 0.0),
    ("int8(float32(ta) + 0.25)", "int8", "int8", 0.0),
    ("int32(ta, 'trunc')", "float32", "int32", 0.0),
    ("ta * 3 + 1", "int32", "int32", 0.0),
    ("float32(ta)", "int64", "float32", 0.0),
    ("int64(int32(ta))", "float32", "int64", 0.0),
    ("bool(ta > 0.5)", "float32", "bool", 0.0),
    ("bool((ta > 0.5) | ~(ta > -0.5))", "float32", "bool", 0.0),
    ("float32((ta > 0.5) & (ta < 2.0))", "float32", "float32", 0.0),
    ("ta + ta", "float16", "float16", 2e-3),
)


@pytest.mark.parametrize(("expression", "given_type", "output", "rtol"), CASTS)
@pytest.mark.parametrize("shape", [(5,), (3, 211)])
def test_element_types(
    twin: Twin, expression: str, given_type: str, output: str, rtol: float, shape: tuple[int, ...]
) -> None:
    inputs = {"a": drawn(np.random.default_rng(3), shape, given_type)}
    near(*both(twin, elementwise(expression, {"a": given_type}, output), inputs), rtol=rtol)


ROWS = (
    "ty[:] = ta * row + column",
    "ty[:] = row - ta * column",
    "ty[:] = (ta - row_max(ta)) / (column * column + 1.0)",
    "ty[:] = ta / (row_sum(abs(ta)) + 1.0)",
    "ty[:] = exp(ta - row_max(ta)) / row_sum(exp(ta - row_max(ta)))",
    "ty[:] = min(max(ta, row), column)",
    "ty[:] = column / (abs(ta) + 1.0) - row",
    "row[:] = col_max(ta) + tv\n            ty[:] = ta - row",
    "row[:] = col_sum(ta) * col_min(ta)\n            ty[:] = ta * row",
    "column[:] = row_min(ta) + tw\n            ty[:] = ta * column",
    "column[:] = row_prod(min(abs(ta), 1.0) + 0.01)\n            ty[:] = ta + column",
)


@pytest.mark.parametrize("statement", ROWS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 13), (11, 64), (4, 300)])
def test_rows_and_columns(twin: Twin, statement: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(5)
    inputs = {
        "a": drawn(rng, shape, "float32"),
        "v": drawn(rng, shape[1:], "float32"),
        "w": drawn(rng, shape[:1], "float32"),
    }
    near(*both(twin, rows(statement), inputs), rtol=3e-5)


@pytest.mark.parametrize("distance", [0, 1, 5, 8, 64, 300, -1, -3, -8, -70, -300])
@pytest.mark.parametrize("size", [1, 9, 130, 400])
def test_shift(twin: Twin, distance: int, size: int) -> None:
    source = elementwise(f"shift(ta, {distance}, 7.0)", {"a": "float32"}, "float32").replace("cores=max(", "cores=min(")
    inputs = {"a": drawn(np.random.default_rng(1), (size,), "float32")}
    source = source.replace("ceil_div(total, 3)", "total")
    near(*both(twin, source, inputs), rtol=0.0)


def test_gather(twin: Twin) -> None:
    source = elementwise("gather(ta, max(iota() * 0 + (length - 1) - iota(), 0))", {"a": "float32"}, "float32", tile=64)
    inputs = {"a": drawn(np.random.default_rng(1), (301,), "float32")}
    near(*both(twin, source, inputs), rtol=0.0)


CHANGED = """left = 6
    scale = 1.0
    for i in range(left):
        scale = scale * 2.0
        left = left // 2
        iEnd = left
        left = max(iEnd, 1)
    stride = 1
    for j in range(0, 9, stride):
        scale = scale + float(j)
        stride = stride + 2
    """


def test_a_loop_keeps_the_bound_it_began_with(twin: Twin) -> None:
    source = elementwise("ta * scale", {"a": "float32"}, "float32").replace("begin = core", f"{CHANGED}begin = core")
    inputs = {"a": np.ones(37, np.float32)}
    meant, seen = both(twin, source, inputs)
    assert meant[0] == 2.0**6 + sum(range(9))
    near(meant, seen, rtol=0.0)


def test_the_host_keeps_the_bound_of_a_loop() -> None:
    loop = "share = 4\n    for i in range(share):\n        share = share * 2\n    share = share + "
    source = elementwise("ta * 2.0", {"a": "float32"}, "float32").replace("share = ", loop, 1)
    host = next(text for text in lower_dynamic(parse_program(source)).files.values() if "OP_ADD" in text)
    assert "for (int64_t i = 0, iEnd = share; i < iEnd; ++i)" in host


@pytest.mark.parametrize("label", ["add_row", "row_sum", "add_column", "least"])
def test_a_stage_may_be_called_like_a_function_that_it_uses(twin: Twin, label: str) -> None:
    source = rows("ty[:] = ta + row + column / row_sum(abs(ta) + 1.0)")
    source = source.replace("with compute(count_of_rows, d):", f"with compute(count_of_rows, d) as {label}:")
    rng = np.random.default_rng(5)
    inputs = {name: drawn(rng, shape, "float32") for name, shape in {"a": (7, 13), "v": (13,), "w": (7,)}.items()}
    near(*both(twin, source, inputs), rtol=3e-5)
