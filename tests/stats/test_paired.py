"""Paired comparison: against enumeration, and against simulated models whose difference is known."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.stats import (
    Cluster,
    detectable_difference,
    holm,
    mean_difference,
    paired_difference,
    sign_flip_test,
)

SHARES = st.integers(-4, 4).map(lambda part: part / 4)


@given(st.lists(SHARES, min_size=1, max_size=9))
def test_the_exact_test_is_the_enumeration(differences: list[float]) -> None:
    observed = abs(sum(differences))
    sums = [
        abs(sum(sign * difference for sign, difference in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    p, exact = sign_flip_test(differences)
    assert exact
    assert p == pytest.approx(sum(one >= observed for one in sums) / len(sums))


def test_one_sample_per_task_is_mcnemar() -> None:
    # 10 tasks changed sides, 9 of them to the first: 2 * (1 + 10) / 2**10 by the binomial distribution.
    assert sign_flip_test([1.0] * 9 + [-1.0] + [0.0] * 30) == (pytest.approx(22 / 1024), True)
    assert sign_flip_test([0.0] * 5) == (1.0, True)
    assert sign_flip_test([1.0] * 300).p < 1e-80


def test_differences_without_a_common_fraction_are_drawn_and_close() -> None:
    odd = [0.1234567 * (1 if i % 3 else -1) for i in range(20)]
    p, exact = sign_flip_test(odd)
    assert not exact
    assert p == pytest.approx(sign_flip_test([1.0 if i % 3 else -1.0 for i in range(20)]).p, abs=0.01)


def test_holm_raises_and_keeps_the_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def simulate(random: np.random.RandomState, tasks: int, difference: float) -> list[Cluster]:
    """Two models on ``tasks`` tasks of one to three cases, four samples each. Tasks differ in how hard they are for
    both, and in how much the second model gains, which is ``difference`` on average."""
    clusters = []
    for hardness, gain in zip(random.uniform(0.2, 0.6, tasks), random.uniform(-0.15, 0.15, tasks), strict=True):
        cases = random.randint(1, 4)
        first = random.binomial(4, hardness, cases) / 4
        second = random.binomial(4, hardness + difference + gain, cases) / 4
        clusters.append(Cluster(float((second - first).sum()), float(cases)))
    return clusters


@pytest.mark.parametrize("tasks", [8, 15, 60])
def test_intervals_hold_the_true_difference_in_95_of_100_simulations(tasks: int) -> None:
    random = np.random.RandomState(tasks)
    held = 0
    for _ in range(600):
        _, (low, high) = mean_difference(simulate(random, tasks, 0.15))
        held += low <= 0.15 <= high
    assert 0.93 <= held / 600 <= 0.975


def test_models_that_are_alike_are_told_apart_in_at_most_one_of_twenty() -> None:
    random = np.random.RandomState(3)
    alarms = sum(sign_flip_test([cluster.part for cluster in simulate(random, 25, 0.0)]).p < 0.05 for _ in range(600))
    assert 0.02 <= alarms / 600 <= 0.065


def test_the_detectable_difference_is_seen_in_four_of_five() -> None:
    random = np.random.RandomState(4)
    least = float(np.median([detectable_difference(simulate(random, 60, 0.1)) for _ in range(50)]))
    seen = sum(mean_difference(simulate(random, 60, least))[1].low > 0 for _ in range(400))
    assert 0.74 <= seen / 400 <= 0.86


def test_what_does_not_scatter_has_no_detectable_difference() -> None:
    assert detectable_difference([Cluster(0.0, 2.0)] * 9) is None
    assert detectable_difference([Cluster(1.0, 2.0)]) is None
    assert detectable_difference([Cluster(1.0, 1.0), Cluster(-1.0, 1.0)]) == 1.0


def test_pairs_of_shares_are_differences_of_clusters_of_one() -> None:
    pairs = [(0.5, 0.25), (1.0, 0.0), (0.0, 0.75)]
    assert paired_difference(pairs) == mean_difference([Cluster(0.25, 1), Cluster(1, 1), Cluster(-0.75, 1)])
    with pytest.raises(ValueError, match="there must be a cluster"):
        mean_difference([])
    with pytest.raises(ValueError, match="from -1 to 1"):
        mean_difference([Cluster(2.0, 1.0)])
