"""Intervals: against published values, against their definition, and at the ends."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.stats import cluster_mean, wilson

COUNTS = st.integers(1, 2000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS)
def test_wilson_holds_the_share_and_solves_its_equation(counts):
    successes, trials = counts
    low, high = wilson(successes, trials)
    share = successes / trials
    assert 0 <= low <= share <= high <= 1
    for bound in (low, high):
        if 0 < bound < 1:
            assert (share - bound) ** 2 == pytest.approx(1.959963985**2 * bound * (1 - bound) / trials, rel=1e-6)


@given(COUNTS)
def test_wilson_is_symmetric_and_shrinks_with_data(counts):
    successes, trials = counts
    low, high = wilson(successes, trials)
    mirrored = wilson(trials - successes, trials)
    assert (1 - high, 1 - low) == pytest.approx(mirrored, abs=1e-12)
    narrow = wilson(4 * successes, 4 * trials)
    assert narrow.high - narrow.low < high - low


def test_wilson_against_a_textbook_value():
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_wilson_without_trials_knows_nothing():
    assert wilson(0, 0) == (0, 1)


@pytest.mark.parametrize(("successes", "trials"), [(2, 1), (-1, 3), (0, -1)])
def test_wilson_refuses_impossible_counts(successes, trials):
    with pytest.raises(ValueError, match="impossible"):
        wilson(successes, trials)


def test_confidence_must_be_a_share():
    with pytest.raises(ValueError, match="between 0 and 1"):
        wilson(1, 2, confidence=95)


def test_a_cluster_counts_once_however_many_samples_it_has():
    few = cluster_mean([[1.0], [0.0], [0.5]])
    many = cluster_mean([[1.0] * 50, [0.0] * 3, [0.25, 0.75]])
    assert few == pytest.approx(many)
    assert few.clusters == 3


def test_cluster_mean_is_students_interval():
    estimate = cluster_mean([[1.0], [2.0], [3.0], [4.0], [5.0]])
    half = 2.776445105 * (2.5**0.5) / 5**0.5
    assert estimate == pytest.approx((3, 3 - half, 3 + half, 5))


def test_one_cluster_tells_nothing_about_the_spread():
    assert cluster_mean([[0.25, 0.75]]) == (0.5, -inf, inf, 1)


@pytest.mark.parametrize("clusters", [[], [[1.0], []]])
def test_empty_clusters_are_refused(clusters):
    with pytest.raises(ValueError, match="cluster"):
        cluster_mean(clusters)
