"""pass@k, pass_all@k and fast_p against an enumeration of every subset, and intervals over tasks."""

from __future__ import annotations

from itertools import combinations
from random import Random
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npukernelbench.nouns import CaseResult, Outcome, Prompt, Sample, SampleKey, Stage, Tier, Track, Verdict
from npukernelbench.report.results import summarise
from npukernelbench.stats import Cluster, cluster_ratio, mean_difference, pass_all_at_k, wilson
from npukernelbench.store import Manifest

MANIFEST = Manifest({"model": "m", "tasks": {}}, {})
#: Per task and case the outcomes of its samples: all problems have as many.
PROBLEMS = st.integers(1, 6).flatmap(
    lambda n: st.dictionaries(
        st.tuples(st.sampled_from("AB"), st.sampled_from("01")),
        st.lists(st.sampled_from([Outcome.OK, Outcome.WRONG_VALUE, Outcome.COMPILE_ERROR]), min_size=n, max_size=n),
        min_size=1,
    )
)
STAGES = {Outcome.OK: Stage.DONE, Outcome.WRONG_VALUE: Stage.CHECK, Outcome.COMPILE_ERROR: Stage.COMPILE}


def samples(problems: dict[tuple[str, str], list[Outcome]], speed: Random) -> list[Sample]:
    made = []
    for (task, case), outcomes in problems.items():
        for index, outcome in enumerate(outcomes):
            metrics = {"roofline": speed.choice([0.1, 0.6, 1.0])} if outcome is Outcome.OK else {}
            verdict = Verdict(
                Track.STATIC,
                Tier.TWIN,
                STAGES[outcome],
                outcome,
                outcome.owner,
                (CaseResult(case, STAGES[outcome], outcome),),
                metrics=metrics,
            )
            key = SampleKey(task, case, Track.STATIC, index)
            made.append(Sample(key, Prompt((), "t@1", "h"), None, None, verdict))
    return made


@settings(max_examples=40, deadline=None)
@given(PROBLEMS, st.integers(0, 99))
def test_every_aggregate_is_the_mean_over_all_subsets(
    problems: dict[tuple[str, str], list[Outcome]], seed: int
) -> None:
    listed = samples(problems, Random(seed))
    row = summarise(MANIFEST, listed).aggregates.all
    by_problem = {p: [s.verdict for s in listed if (s.key.task, s.key.case) == p] for p in problems}
    n = len(next(iter(problems.values())))

    def enumerated(k: int, hit: object, judge: object) -> float:
        assert callable(hit)
        assert callable(judge)
        return mean(mean(judge(map(hit, some)) for some in combinations(v, k)) for v in by_problem.values())

    def right(verdict: Verdict) -> bool:
        return verdict.outcome is Outcome.OK

    for k in (k for k in (1, 2, 5) if k <= n):
        assert row.pass_at_k[str(k)].valid.value == pytest.approx(enumerated(k, right, any))
        if k == 2:
            continue
        assert row.pass_all_at_k[str(k)].all.value == pytest.approx(enumerated(k, right, all))
        compiled = enumerated(k, lambda v: v.stage is not Stage.COMPILE, any)
        assert row.compile_at_k[str(k)].valid.value == pytest.approx(compiled)
        if any(right(s.verdict) for s in listed if s.verdict):
            fast = enumerated(k, lambda v: right(v) and v.metrics["roofline"] >= 0.5, any)
            assert row.fast_p_at_k["roofline"]["0.5"][str(k)].all.value == pytest.approx(fast)


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_all_is_the_share_of_subsets_of_right_samples_only(numbers: tuple[int, int, int]) -> None:
    n, c, k = numbers
    subsets = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_all_at_k(n, c, k) == pytest.approx(sum(map(all, subsets)) / len(subsets), abs=1e-15)


CLUSTERS = st.lists(st.integers(1, 20).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=1)


@given(CLUSTERS)
def test_an_interval_holds_its_share_and_stays_in_bounds(counts: list[tuple[int, int]]) -> None:
    clusters = [Cluster(float(part), float(whole)) for part, whole in counts]
    low, high = cluster_ratio(clusters)
    share = sum(cluster.part for cluster in clusters) / sum(cluster.whole for cluster in clusters)
    assert 0 <= low <= high <= 1
    assert low - 1e-9 <= share <= high + 1e-9
    assert cluster_ratio(clusters) == (low, high)


def test_samples_of_one_task_are_no_independent_facts() -> None:
    alike = cluster_ratio([Cluster(10, 10), Cluster(0, 10), Cluster(10, 10), Cluster(0, 10)])
    naive = wilson(20, 40)
    assert alike.high - alike.low > 1.5 * (naive.high - naive.low)


def test_what_resampling_cannot_tell_is_told_by_wilson() -> None:
    assert cluster_ratio([Cluster(3, 10)]) == wilson(0.3, 1), "ten samples of a task are not ten tasks"
    assert cluster_ratio([Cluster(5, 5)] * 8) == wilson(8, 8)
    assert cluster_ratio([Cluster(0, 5)] * 8) == wilson(0, 8)
    assert cluster_ratio([Cluster(3, 4), Cluster(6, 8)]) == wilson(1.5, 2)  # no interval of no width


def test_more_tasks_give_narrower_intervals() -> None:
    few, many = (cluster_ratio([Cluster(1, 2), Cluster(2, 2), Cluster(0, 2)] * times) for times in (3, 30))
    assert many.high - many.low < (few.high - few.low) / 2


def test_nothing_counted_has_no_interval() -> None:
    with pytest.raises(ValueError, match="there must be a cluster"):
        cluster_ratio([])


def test_few_tasks_are_never_beyond_doubt() -> None:
    """Two tasks that both gain are no proof: no exact test of two is."""
    value, (low, high) = mean_difference([Cluster(0.5, 1.0), Cluster(0.75, 1.0)])
    assert value == 0.625
    assert low < 0 < high == 1.0
    _, (low, _) = mean_difference([Cluster(0.5 + i / 100, 1.0) for i in range(8)])
    assert low > 0.4
