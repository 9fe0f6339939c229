from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from npukernelbench.nouns import DType, TensorCase, TensorShape
from npukernelbench.reference import condition
from npukernelbench.tasks.inputs import draw
from npukernelbench.tasks.values import parse_values

FLOATS = [DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32]


def every_float(dtype: DType, non_finite: float = 0.5, size: int = 300) -> Any:
    """Values of every class in double precision, as a reference sees them."""
    spec = TensorCase(TensorShape((size,), dtype), parse_values({"every_float": non_finite}))
    return draw(spec, 3).astype(np.float64)


@pytest.mark.parametrize("dtype", FLOATS)
def test_conditions_one_by_one(dtype: DType) -> None:
    x = every_float(dtype)
    assert condition.is_finite(x).tolist() == [math.isfinite(t) for t in x.tolist()]
    assert condition.is_inf(x).tolist() == [math.isinf(t) for t in x.tolist()]


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_one_bad_element_anywhere_is_found(bad: float) -> None:
    tensors = [every_float(DType.FLOAT16, 0.0, size) for size in (7, 1, 12)]
    assert condition.non_finite_check(tensors).item() == 0.0
    for k, tensor in enumerate(tensors):
        for place in (0, tensor.size - 1):
            spoilt = [item.copy() for item in tensors]
            spoilt[k][place] = bad
            assert condition.non_finite_check(spoilt).item() == 1.0


def test_the_flag_has_rank_zero_and_an_empty_list_is_finite() -> None:
    assert condition.non_finite_check([]).shape == ()
    assert condition.non_finite_check([]).item() == 0.0


@pytest.mark.parametrize("dtype", FLOATS)
def test_conditions_agree_with_torch(dtype: DType) -> None:
    torch = pytest.importorskip("torch")
    x = every_float(dtype)
    t = torch.from_numpy(x).to(getattr(torch, dtype.value))
    assert np.array_equal(condition.is_finite(x), torch.isfinite(t).numpy())
    assert np.array_equal(condition.is_inf(x), torch.isinf(t).numpy())
    assert condition.non_finite_check([x]).item() == float(not torch.isfinite(t).all())
