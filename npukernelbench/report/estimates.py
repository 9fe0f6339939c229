"""Shares over samples and over problems, over valid samples and over all, with intervals over tasks.

See docs/statistics.md for what each number means.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns import Outcome, Owner, Sample, SampleKey, Stage, Verdict
from npukernelbench.nouns.results import Aggregate, Share, Shares

__all__ = ["FAST_PS", "KS", "MAIN_KS", "Judged", "aggregate", "at_k", "both", "share"]

#: The k of pass@k that are reported, as far as every problem has that many samples.
KS = (1, 2, 4, 5, 8, 10, 16, 32, 50, 64, 100, 128, 256)
#: The k of everything else.
MAIN_KS = (1, 5, 10, 100)
#: The p of fast_p.
FAST_PS = (0.2, 0.5, 0.8, 1.0, 1.5, 2.0)


@dataclass(frozen=True, slots=True)
class Judged:
    """One judged sample, reduced to what is counted."""

    key: SampleKey
    verdict: Verdict

    @classmethod
    def of(cls, sample: Sample) -> Judged:
        """The sample, reduced. ValueError unless it was judged."""
        if sample.verdict is None:
            raise ValueError(f"{sample.key} has no verdict")
        return cls(sample.key, sample.verdict)

    @property
    def problem(self) -> tuple[str, str]:
        """Task and case."""
        return (self.key.task, self.key.case)

    @property
    def valid(self) -> bool:
        """Whether it says something about the model."""
        return self.verdict.owner in (Owner.MODEL, Owner.NONE)

    @property
    def compiled(self) -> bool:
        """Whether it came beyond the compiler."""
        return self.valid and self.verdict.stage.order > Stage.COMPILE.order

    @property
    def correct(self) -> bool:
        """Whether it is right."""
        return self.verdict.outcome is Outcome.OK

    def fast(self, baseline: str, p: float) -> bool:
        """Whether it is right and at least p times as fast as the baseline; not so without one."""
        return self.correct and self.verdict.metrics.get(SPEEDUPS[baseline], 0.0) >= p


#: Whether a sample counts as a hit.
Hit = Callable[[Judged], bool]


def aggregate(judged: Sequence[Judged], *, own: bool = False) -> Aggregate:
    """Everything that is said about some samples. ``own``: of one task, with intervals over its own samples."""
    # In `all`, a fault of ours counts as not solved: it is the least that the run shows of the model.
    groups = {"valid": [sample for sample in judged if sample.valid], "all": list(judged)}
    baselines = [
        name for name, metric in SPEEDUPS.items() if any(metric in sample.verdict.metrics for sample in judged)
    ]
    return Aggregate(
        samples=len(judged),
        problems=len({sample.problem for sample in judged}),
        valid=len(groups["valid"]),
        infra=sum(sample.verdict.owner is Owner.INFRA for sample in judged),
        compile_at_1=both(groups, _compiled, own=own),
        correct_at_1=both(groups, _correct, own=own),
        pass_at_k=at_k(groups, _correct, KS, own=own),
        compile_at_k=at_k(groups, _compiled, MAIN_KS, own=own),
        pass_all_at_k=at_k(groups, _correct, MAIN_KS, everyone=True, own=own),
        fast_p={name: {str(p): both(groups, _fast(name, p), own=own) for p in FAST_PS} for name in baselines},
        fast_p_at_k={
            name: {str(p): at_k(groups, _fast(name, p), MAIN_KS, own=own) for p in FAST_PS} for name in baselines
        },
    )


def both(groups: dict[str, list[Judged]], hit: Hit, *, own: bool = False) -> Shares:
    """The share of samples that hit, per group."""
    return Shares(_share_of_samples(groups["valid"], hit, own), _share_of_samples(groups["all"], hit, own))


def _correct(judged: Judged) -> bool:
    return judged.correct


def _compiled(judged: Judged) -> bool:
    return judged.compiled


def _fast(baseline: str, p: float) -> Hit:
    return lambda judged: judged.fast(baseline, p)


def _share_of_samples(judged: Sequence[Judged], hit: Hit, own: bool) -> Share | None:
    counts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for sample in judged:
        counts[sample.key.task][0] += hit(sample)
        counts[sample.key.task][1] += 1
    return share(list(counts.values()), len(judged), own=own)


def at_k(
    groups: dict[str, list[Judged]], hit: Hit, ks: Sequence[int], *, everyone: bool = False, own: bool = False
) -> dict[str, Shares]:
    """Per k of ``ks``, as far as every problem has k samples: the mean over problems of the unbiased estimator."""
    counted = {name: _counts(group, hit) for name, group in groups.items()}
    # A problem may have k samples, and fewer that are valid.
    there = [k for k in ks if any(counts and k <= min(n for _, n, _ in counts) for counts in counted.values())]
    means = {k: {name: _mean(counts, k, everyone, own) for name, counts in counted.items()} for k in there}
    return {str(k): Shares(mean["valid"], mean["all"]) for k, mean in means.items()}


def _counts(judged: Sequence[Judged], hit: Hit) -> list[tuple[str, int, int]]:
    """``(task, samples, hits)`` of every problem, in the order of the problems."""
    by_problem: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for sample in judged:
        by_problem[sample.problem].append(hit(sample))
    return [(problem[0], len(by_problem[problem]), sum(by_problem[problem])) for problem in sorted(by_problem)]


def _mean(counts: Sequence[tuple[str, int, int]], k: int, everyone: bool, own: bool) -> Share | None:
    if not counts or min(n for _, n, _ in counts) < k:
        return None
    from npukernelbench.stats import pass_all_at_k, pass_at_k

    estimator = pass_all_at_k if everyone else pass_at_k
    tasks: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for task, n, c in counts:
        tasks[task][0] += estimator(n, c, k)
        tasks[task][1] += 1
    return share(list(tasks.values()), len(counts), own=own)


def share(tasks: Sequence[Sequence[float]], count: int, *, own: bool = False) -> Share | None:
    """The share out of a numerator and a denominator per task; None when nothing was counted.

    ``own``: what is said is about these tasks alone, so that of one task each sample is a trial.
    """
    if not count:
        return None
    from npukernelbench.stats import Cluster, cluster_ratio, wilson

    clusters = [Cluster(part, whole) for part, whole in tasks]
    if own and len(clusters) == 1:
        low, high = wilson(clusters[0].part, int(clusters[0].whole))
    else:
        low, high = cluster_ratio(clusters)
    return Share(value=sum(part for part, _ in tasks) / count, low=low, high=high, n=count)
