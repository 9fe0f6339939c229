"""pass@k against the definition: every subset of k samples, counted."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.stats import pass_at_k


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_it_is_the_share_of_subsets_with_a_right_sample(ncK):
    n, c, k = ncK
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets), abs=1e-15)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_it_grows_with_k_and_begins_at_the_share(nc):
    n, c = nc
    values = [pass_at_k(n, c, k) for k in range(1, n + 1)]
    assert values[0] == c / n
    assert values == sorted(values)
    assert values[-1] == (1.0 if c else 0.0)


def test_large_numbers_stay_exact():
    assert pass_at_k(100_000, 1, 50_000) == 0.5


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4), (0, 0, 1)])
def test_impossible_numbers_are_refused(n, c, k):
    with pytest.raises(ValueError, match=r"impossible|cannot be estimated"):
        pass_at_k(n, c, k)
