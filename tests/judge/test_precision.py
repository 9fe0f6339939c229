"""Float32 outputs that were computed in a narrower type, and honest ones that might look like it."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.judge.precision import downgrade
from npukernelbench.nouns import DType

RNG = np.random.default_rng(5)
X = RNG.standard_normal(20_000)


def brain(values: np.ndarray) -> np.ndarray:
    """Cut off to bfloat16."""
    return (values.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def test_values_of_half() -> None:
    got = np.exp(X).astype(np.float16).astype(np.float32)
    assert "fit float16 exactly" in downgrade(got, np.exp(X), DType.FLOAT32)


def test_values_of_bfloat16() -> None:
    assert "fit bfloat16 exactly" in downgrade(brain(np.exp(X)), np.exp(X), DType.FLOAT32)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (np.exp(X), np.exp(X)),
        (np.exp(X) * (1 + 1e-5 * RNG.standard_normal(X.size)), np.exp(X)),
        (np.exp(X) * (1 + 1e-3), np.exp(X)),
        (np.rint(X), np.rint(X)),
        (X.astype(np.float16), X.astype(np.float16).astype(np.float64)),
        (np.zeros(X.size), np.zeros(X.size)),
        (np.full(10, 0.1, np.float16), np.full(10, 0.1)),
        (np.full(X.size, np.nan), np.full(X.size, np.nan)),
    ],
    ids=[
        "exact",
        "approximate",
        "badly approximated",
        "integers",
        "casts from half",
        "zeros",
        "too few to tell",
        "nothing finite",
    ],
)
def test_honest_outputs(got: np.ndarray, want: np.ndarray) -> None:
    assert downgrade(got.astype(np.float32), want.astype(np.float64), DType.FLOAT32) == ""


def test_other_types_are_not_looked_at() -> None:
    assert downgrade(np.exp(X).astype(np.float16), np.exp(X), DType.FLOAT16) == ""
