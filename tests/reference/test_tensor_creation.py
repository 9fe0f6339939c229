from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import tensor_creation

#: Start, end, step of public cases and of others that end on, before and after a multiple of the step.
REAL = [(2.0, 9.0, 0.5), (-6.5, 143.6, 1.0), (48.6, 80.4, 1.4), (12.0, -3.0, -0.5), (0.0, 1.0, 0.3), (1.0, 1.0, 2.0)]
WHOLE = [(1, 4096, 1), (44, 1532, 10), (-210, 674, 3), (10, -11, -3), (7, 7, 2), (5, 9, 4)]


def scalars(values: tuple[float, float, float], dtype: str) -> list[Any]:
    """Three tensors of rank 0 that hold the values as ``dtype`` does, real ones in double precision."""
    rounded = [np.array(value, dtype) for value in values]
    return [item.astype(np.float64) if item.dtype.kind == "f" else item for item in rounded]


@pytest.mark.parametrize("values", REAL)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_real_ranges_in_exact_arithmetic(values: tuple[float, float, float], dtype: str) -> None:
    arguments = scalars(values, dtype)
    start, end, step = (Fraction(item.item()) for item in arguments)
    expected = []
    current = start
    while (current < end) if step > 0 else (current > end):
        expected.append(float(current))
        current += step
    out = tensor_creation.arange(*arguments)
    assert out.shape == (len(expected),)
    np.testing.assert_allclose(out, expected, rtol=1e-15, atol=1e-14)


@pytest.mark.parametrize("values", WHOLE)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integer_ranges(values: tuple[int, int, int], dtype: str) -> None:
    out = tensor_creation.arange(*scalars(values, dtype))
    assert (out.dtype.name, out.tolist()) == (dtype, list(range(*values)))


def test_ranges_take_tensors_of_one_element_of_any_rank() -> None:
    start, end, step = (np.array([[item]], np.int64) for item in (1, 8, 3))
    assert tensor_creation.arange(start, end, step).tolist() == [1, 4, 7]


@pytest.mark.parametrize(("values", "dtype"), [*((v, "float32") for v in REAL), *((v, "int32") for v in WHOLE)])
def test_ranges_agree_with_torch(values: tuple[float, float, float], dtype: str) -> None:
    torch = pytest.importorskip("torch")
    arguments = scalars(values, dtype)
    expected = torch.arange(*(item.item() for item in arguments)).numpy()
    out = tensor_creation.arange(*arguments)
    assert out.shape == expected.shape
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("dtype", "code"), [("float64", 0), ("float64", 1), ("int32", 2)])
@pytest.mark.parametrize(("batch", "rows", "columns"), [((3,), 4, 6), ((2, 3), 5, 2), ((), 4, 4), ((2,), 3, 0)])
def test_identity_matrices(batch: tuple[int, ...], rows: int, columns: int, dtype: str, code: int) -> None:
    y = np.full((*batch, rows, columns or rows), 7, dtype)
    result = tensor_creation.eye(y, rows, columns, batch, code)
    assert (result.shape, result.dtype) == (y.shape, y.dtype)
    for place in np.ndindex(*y.shape):
        assert result[place] == (place[-1] == place[-2])
    assert (y == 7).all()


@pytest.mark.parametrize(
    ("rows", "columns", "batch", "code"),
    [(3, 4, (2,), 2), (4, 3, (2,), 0), (3, 4, (), 0), (3, 0, (2,), 0), (3, 4, (2,), 5)],
)
def test_identity_matrices_fit_their_memory(rows: int, columns: int, batch: tuple[int, ...], code: int) -> None:
    with pytest.raises(ValueError, match="is not float64"):
        tensor_creation.eye(np.zeros((2, 3, 4)), rows, columns, batch, code)


@pytest.mark.parametrize(("rows", "columns"), [(4, 6), (5, 2), (3, 3)])
def test_identity_matrices_agree_with_torch(rows: int, columns: int) -> None:
    torch = pytest.importorskip("torch")
    expected = torch.eye(rows, columns).expand(2, rows, columns).numpy()
    assert np.array_equal(tensor_creation.eye(np.zeros((2, rows, columns)), rows, columns, (2,), 0), expected)
