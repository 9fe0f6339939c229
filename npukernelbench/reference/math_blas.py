"""Vector operators of BLAS level 1. They see ``n`` elements of a vector, ``incx`` apart; the rest does not count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ccopy", "icamax", "icamin", "isamax", "isamin", "sasum", "snrm2", "sscal"]


def ccopy(x: NDArray[np.complex128], n: int, incx: int, incy: int) -> NDArray[np.complex128]:
    """A vector of ``(n - 1) * incy + 1`` elements with ``y[i * incy] = x[i * incx]`` and zeros between.

    ``x`` counts as one row-major vector.
    """
    chosen = _elements(x, n, incx)
    if incy < 1:
        raise ValueError(f"incy must be positive, not {incy}")
    y = np.zeros((n - 1) * incy + 1, chosen.dtype)
    y[::incy] = chosen
    return y


def sasum(x: NDArray[np.float64], n: int, incx: int) -> NDArray[np.float64]:
    """The sum of ``|x[i * incx]|`` for ``i`` from 0 to ``n - 1``; rank 0."""
    return np.asarray(np.abs(_elements(x, n, incx)).sum())


def snrm2(x: NDArray[np.float64], n: int, incx: int) -> NDArray[np.float64]:
    """The Euclidean norm of the elements ``x[i * incx]`` for ``i`` from 0 to ``n - 1``; rank 0."""
    # BLAS scales against overflow; squares of float32 values are far inside the range of doubles.
    return np.asarray(np.sqrt(np.square(_elements(x, n, incx)).sum()))


def sscal(x: NDArray[np.float64], alpha: float, n: int, incx: int) -> NDArray[np.float64]:
    """``x`` with the elements ``x[i * incx]`` for ``i`` from 0 to ``n - 1`` multiplied by ``alpha``.

    ``alpha`` counts as the float32 that a kernel receives.
    """
    y = np.array(x, order="C")
    # In C order `y` can be flattened without a copy, so that its own elements change.
    _elements(y, n, incx)[:] *= float(np.float32(alpha))
    return y


def isamax(x: NDArray[np.float64], n: int, incx: int) -> NDArray[np.int32]:
    """The least ``i + 1`` for which ``|x[i * incx]|`` is largest, ``i`` from 0 to ``n - 1``; rank 0."""
    # BLAS counts from 1. Of equal elements argmax takes the first, as BLAS does.
    return np.asarray(np.argmax(np.abs(_elements(x, n, incx))) + 1, np.int32)


def isamin(x: NDArray[np.float64], n: int, incx: int) -> NDArray[np.int32]:
    """The least ``i + 1`` for which ``|x[i * incx]|`` is smallest, ``i`` from 0 to ``n - 1``; rank 0."""
    return np.asarray(np.argmin(np.abs(_elements(x, n, incx))) + 1, np.int32)


def icamax(x: NDArray[np.complex128], n: int, incx: int) -> NDArray[np.int32]:
    """The least ``i + 1`` for which ``|Re| + |Im|`` of ``x[i * incx]``, rounded to float32, is largest; rank 0."""
    return np.asarray(np.argmax(_sums(_elements(x, n, incx))) + 1, np.int32)


def icamin(x: NDArray[np.complex128], n: int, incx: int) -> NDArray[np.int32]:
    """The least ``i + 1`` for which ``|Re| + |Im|`` of ``x[i * incx]``, rounded to float32, is smallest; rank 0."""
    return np.asarray(np.argmin(_sums(_elements(x, n, incx))) + 1, np.int32)


def _elements(x: NDArray[Any], n: int, inc: int) -> NDArray[Any]:
    """A view of ``n`` elements of ``x``, ``inc`` apart. ValueError when there are not that many."""
    if n < 1 or inc < 1 or (n - 1) * inc >= x.size:
        raise ValueError(f"{x.size} elements do not hold {n} that are {inc} apart")
    return x.reshape(-1)[: (n - 1) * inc + 1 : inc]


def _sums(x: NDArray[np.complex128]) -> NDArray[np.float32]:
    """``|Re| + |Im|`` in single precision, so that ties of the kernel are ties here, too."""
    return np.asarray(np.abs(x.real) + np.abs(x.imag)).astype(np.float32)
