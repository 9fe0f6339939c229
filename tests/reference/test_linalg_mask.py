from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from npukernelbench.reference import linalg, mask

RNG = np.random.default_rng(11)


@pytest.mark.parametrize("dim", [1, -2])
def test_cross_products_by_components(dim: int) -> None:
    a, b = RNG.integers(-9, 10, size=(2, 4, 3, 5))
    y = linalg.cross(a, b, dim)
    for i, j in np.ndindex(4, 5):
        (u0, u1, u2), (v0, v1, v2) = a[i, :, j].tolist(), b[i, :, j].tolist()
        assert y[i, :, j].tolist() == [u1 * v2 - u2 * v1, u2 * v0 - u0 * v2, u0 * v1 - u1 * v0]


def test_cross_without_an_axis_takes_the_first_of_extent_three() -> None:
    a, b = RNG.normal(size=(2, 2, 3, 3))
    assert np.array_equal(linalg.cross(a, b, -65530), linalg.cross(a, b, 1))
    assert not np.array_equal(linalg.cross(a, b, 2), linalg.cross(a, b, 1))


def test_cross_keeps_integer_types_and_wraps() -> None:
    y = linalg.cross(np.array([[0, 100, 3]], np.int8), np.array([[7, 5, 2]], np.int8), 1)
    assert (y.dtype.name, y.tolist()) == ("int8", [[185 - 256, 21, -700 + 3 * 256]])


def test_cross_needs_vectors_of_three() -> None:
    with pytest.raises(ValueError, match="extent 3"):
        linalg.cross(np.zeros((3, 4)), np.zeros((3, 4)), 1)
    with pytest.raises(ValueError, match="equal shapes"):
        linalg.cross(np.zeros((3, 4)), np.zeros((3, 1)), 0)


def test_masked_select_keeps_order_and_counts() -> None:
    x, chosen = RNG.normal(size=(3, 4)), RNG.random((3, 4)) < 0.5
    y, shape = mask.masked_select(x, chosen)
    assert y.tolist() == [x[place] for place in np.ndindex(3, 4) if chosen[place]]
    assert (shape.dtype.name, shape.tolist()) == ("uint64", [1, chosen.sum()])
    assert mask.masked_select(x, np.zeros((3, 4), bool))[1].tolist() == [1, 0]


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (2, 5, 5)])
@pytest.mark.parametrize("diagonal", [-9, -2, 0, 1, 3, 9])
def test_triangles_element_by_element(shape: tuple[int, ...], diagonal: int) -> None:
    x = RNG.normal(size=shape)
    lower, upper = mask.tril(x, diagonal), mask.triu(x, diagonal)
    for place in np.ndindex(*shape):
        i, j = place[-2:]
        assert lower[place] == (x[place] if j <= i + diagonal else 0)
        assert upper[place] == (x[place] if j >= i + diagonal else 0)


def test_triangles_drop_what_is_not_finite() -> None:
    x = np.array([[1.0, np.nan], [np.inf, 2.0]])
    assert mask.tril(x, 0).tolist() == [[1.0, 0.0], [np.inf, 2.0]]
    assert mask.triu(x, 1)[1].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8"])
def test_agreement_with_torch(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch")
    a, b = RNG.integers(-120, 120, size=(2, 5, 3, 7)).astype(dtype)
    t, u = torch.from_numpy(a), torch.from_numpy(b)
    assert np.array_equal(linalg.cross(a, b, 1), torch.cross(t, u, dim=1).numpy())
    chosen = RNG.random(a.shape) < 0.3
    assert np.array_equal(mask.masked_select(a, chosen)[0], torch.masked_select(t, torch.from_numpy(chosen)).numpy())
    for diagonal in (-3, 0, 2):
        assert np.array_equal(mask.tril(a, diagonal), torch.tril(t, diagonal).numpy())
        assert np.array_equal(mask.triu(a, diagonal), torch.triu(t, diagonal).numpy())
