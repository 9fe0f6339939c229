"""Matrix products: plain, batched, with a summand, grouped, quantised.

Integer matrices are multiplied in double precision, which is exact below 2^53 and many times faster than NumPy's
integers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npukernelbench.reference.arrays import Floats

__all__ = [
    "gemm",
    "gemv",
    "group_gemm",
    "grouped_matmul_slice_k",
    "grouped_matmul_slice_k_per_token_dequant",
    "grouped_matmul_slice_m",
    "grouped_matmul_slice_m_per_token_dequant",
    "matmul",
    "matmul_add",
    "matmul_bias",
    "quant_matmul",
]

_Bytes = NDArray[np.int8]
_Ends = NDArray[np.int64]


def matmul(a: Floats, b: Floats) -> Floats:
    """``c = a @ b`` for ``[m, k]`` and ``[k, n]``, or for ``[batch, m, k]`` and ``[batch, k, n]`` batch by batch."""
    return np.asarray(a @ b)


def matmul_add(a: Floats, b: Floats, c: Floats) -> Floats:
    """``d = a @ b + c`` for ``[m, k]``, ``[k, n]`` and ``[m, n]``."""
    return np.asarray(a @ b + c)


def matmul_bias(a: Floats, b: Floats, bias: Floats) -> Floats:
    """``d = a @ b + bias`` for ``[m, k]``, ``[k, n]`` and ``[n]``: the bias goes to every row."""
    return np.asarray(a @ b + bias)


def gemm(a: Floats, b: Floats, c: Floats, alpha: float, beta: float) -> Floats:
    """``d = alpha * (a @ b) + beta * c``; the factors count as the float32 that a kernel receives. Source: BLAS SGEMM
    without transposition."""
    return np.asarray(_single(alpha) * (a @ b) + _single(beta) * c)


def gemv(a: Floats, x: Floats, y: Floats, alpha: float, beta: float) -> Floats:
    """``out = alpha * (a @ x) + beta * y`` for ``[m, n]``, ``[n]`` and ``[m]``; the factors count as the float32 that a
    kernel receives. Source: BLAS SGEMV without transposition."""
    return np.asarray(_single(alpha) * (a @ x) + _single(beta) * y)


def group_gemm(
    a: Floats,
    b: Floats,
    c: Floats,
    alpha: Floats,
    beta: Floats,
    mList: tuple[int, ...],
    kList: tuple[int, ...],
    nList: tuple[int, ...],
) -> Floats:
    """``D_i = alpha_i * (A_i @ B_i) + beta_i * C_i`` for every group, row-major one behind the other.

    ``A_i`` is ``[m_i, k_i]``, ``B_i`` ``[k_i, n_i]``, ``C_i`` ``[m_i, n_i]``; ``a``, ``b`` and ``c`` hold them flat and
    one behind the other.
    """
    # Empty rather than zeros: unless the groups cover every element there is an error below.
    result, places = np.empty_like(c), [0, 0, 0]
    for index, (m, k, n) in enumerate(zip(mList, kList, nList, strict=True)):
        (i, j, o), steps = places, (m * k, k * n, m * n)
        left, right = a[i : i + m * k].reshape(m, k), b[j : j + k * n].reshape(k, n)
        summand = c[o : o + m * n].reshape(m, n)
        result[o : o + m * n] = (alpha[index] * (left @ right) + beta[index] * summand).reshape(-1)
        places = [place + step for place, step in zip(places, steps, strict=True)]
    if places != [a.size, b.size, c.size]:
        raise ValueError(f"the groups hold {places} elements, the tensors {[a.size, b.size, c.size]}")
    return result


def grouped_matmul_slice_m(a: Floats, b: Floats, groupList: _Ends) -> Floats:
    """Rows of ``a`` (``[m, k]``) times the matrix of their group in ``b`` (``[groups, k, n]``), flat.

    Group ``g`` has the rows from ``groupList[g - 1]`` (0 for the first) up to ``groupList[g]``, exclusive.
    """
    result = np.empty((a.shape[0], b.shape[2]))
    for group, rows in _groups(groupList, a.shape[0]):
        result[rows] = a[rows] @ b[group]
    return result.reshape(-1)


def grouped_matmul_slice_k(a: Floats, b: Floats, groupList: _Ends) -> Floats:
    """``C_g = A[:, s:e] @ b[s:e]`` for every group, row-major one behind the other; 0 for empty groups.

    ``A`` is ``[m, k]`` and lies in ``a`` column by column; ``b`` is ``[k, n]``. Group ``g`` goes from ``groupList[g -
    1]`` (0 for the first) up to ``groupList[g]``, exclusive.
    """
    # Column by column is row by row of the transpose.
    columns = a.reshape(a.shape[1], a.shape[0])
    result = np.empty((len(groupList), a.shape[0], b.shape[1]))
    for group, part in _groups(groupList, b.shape[0]):
        # A group without columns gives a product of no terms, which NumPy makes zeros.
        result[group] = columns[part].T @ b[part]
    return result.reshape(-1)


def quant_matmul(a: _Bytes, b: _Bytes, scale: Floats, per_token_scale: Floats) -> Floats:
    """``d_ij = (a @ b)_ij * scale_j * per_token_scale_i`` for int8 ``[m, k]`` and ``[k, n]``, accumulated exactly."""
    return np.asarray(_wide(a) @ _wide(b) * scale * per_token_scale[:, np.newaxis])


def grouped_matmul_slice_m_per_token_dequant(
    a: _Bytes, b: _Bytes, scale: Floats, per_token_scale: Floats, groupList: _Ends
) -> Floats:
    """:func:`grouped_matmul_slice_m` of int8 matrices, element ``(i, j)`` of group ``g`` times ``scale[g, j]`` and
    ``per_token_scale[i]``."""
    result = np.empty((a.shape[0], b.shape[2]))
    for group, rows in _groups(groupList, a.shape[0]):
        exact = _wide(a[rows]) @ _wide(b[group])
        result[rows] = exact * scale[group] * per_token_scale[rows, np.newaxis]
    return result.reshape(-1)


def grouped_matmul_slice_k_per_token_dequant(
    a: _Bytes, b: _Bytes, scale: Floats, per_token_scale: Floats, groupList: _Ends
) -> Floats:
    """:func:`grouped_matmul_slice_k` of int8 matrices, element ``(i, j)`` of group ``g`` times ``scale[g, j]`` and
    ``per_token_scale[g, i]``."""
    # The factors come after the sum, which is then one of integers and exact.
    exact = grouped_matmul_slice_k(_wide(a), _wide(b), groupList).reshape(len(groupList), a.shape[0], b.shape[1])
    return (exact * scale[:, np.newaxis, :] * per_token_scale[:, :, np.newaxis]).reshape(-1)


def _groups(ends: _Ends, total: int) -> Iterator[tuple[int, slice]]:
    """Every group with the range it covers. ValueError unless the ends ascend and the last one is ``total``."""
    starts = np.append(0, ends[:-1])
    # Only then does every row of the result get its value, and each row once.
    if len(ends) == 0 or ends[-1] != total or (starts > ends).any():
        raise ValueError(f"group ends must ascend up to {total}")
    for group, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        yield group, slice(start, end)


def _wide(matrix: NDArray[Any]) -> Floats:
    return matrix.astype(np.float64)


def _single(value: float) -> float:
    return float(np.float32(value))
