"""What a run amounts to: denominators, shares, order, and what may differ between equal runs."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import Sample, Verdict
from npukernelbench.report.results import summarise
from npukernelbench.stats import Cluster, cluster_ratio, pass_at_k
from npukernelbench.store import Manifest, read_results, results_json
from npukernelbench.store.migrations import RESULTS_SCHEMA
from npukernelbench.store.results import write_results
from npukernelbench.testing.samples import judged_sample

MANIFEST = Manifest(
    {
        "model": "m",
        "tasks": {
            "Gelu": {"level": 2, "category": "Activation", "suite": "s"},
            "Sqrt": {"level": 1, "category": "Math", "suite": "s"},
        },
    },
    {"version": "0"},
)


def sample(task: str, outcome: Outcome, index: int = 0, case: str = "0", seconds: float = 0.5, **metrics) -> Sample:
    """A judged sample."""
    diagnostics = () if outcome is Outcome.OK else (Diagnostic(Severity.ERROR, "r", f"{outcome.value}!\nmore"),)
    return judged_sample(
        outcome,
        task=task,
        case=case,
        index=index,
        diagnostics=diagnostics,
        metrics=metrics,
        timings={"compile": seconds},
    )


def test_faults_of_ours_are_not_the_models():
    results = summarise(
        MANIFEST,
        [
            sample("Sqrt", Outcome.OK, predicted_time_us=3.0),
            sample("Sqrt", Outcome.COMPILE_ERROR, case="1"),
            sample("Gelu", Outcome.INFRA_ERROR),
            sample("Gelu", Outcome.WRONG_VALUE, case="1"),
        ],
    )
    everything = results.aggregates.all
    assert (everything.samples, everything.valid, everything.infra) == (4, 3, 1)
    assert everything.correct_at_1.valid.value == pytest.approx(1 / 3)
    assert everything.correct_at_1.all.value == 1 / 4
    assert everything.compile_at_1.valid.value == pytest.approx(2 / 3)
    assert everything.correct_at_1.valid.n == 3
    assert results.totals.outcomes == {"ok": 1, "compile_error": 1, "wrong_value": 1, "infra_error": 1}
    assert results.totals.owners == {"model": 2, "infra": 1, "none": 1}


def test_groups_come_from_the_manifest():
    results = summarise(MANIFEST, [sample("Sqrt", Outcome.OK), sample("Gelu", Outcome.OK), sample("New", Outcome.OK)])
    assert list(results.aggregates.levels) == ["1", "2", "unknown"]
    assert list(results.aggregates.categories) == ["Activation", "Math", "unknown"]
    assert list(results.aggregates.tasks) == ["Gelu", "New", "Sqrt"]


def test_nothing_valid_has_no_share():
    row = summarise(MANIFEST, [sample("Sqrt", Outcome.INFRA_ERROR)]).aggregates.all
    assert row.correct_at_1.valid is None
    assert row.correct_at_1.all.value == 0.0
    assert row.pass_at_k["1"].valid is None


def test_no_samples_at_all():
    results = summarise(MANIFEST, [])
    assert results.totals.samples == 0
    assert results.aggregates.all.pass_at_k == {}


def test_pass_at_k_is_the_mean_over_problems():
    outcomes = {"Sqrt": [Outcome.OK, *[Outcome.CRASH] * 3], "Gelu": [*[Outcome.OK] * 3, Outcome.NO_CODE]}
    samples = [sample(task, one, i) for task, ones in outcomes.items() for i, one in enumerate(ones)]
    row = summarise(MANIFEST, samples).aggregates.all.pass_at_k
    assert list(row) == ["1", "2", "4"]
    expected = (pass_at_k(4, 1, 2) + pass_at_k(4, 3, 2)) / 2
    assert row["2"].valid.value == pytest.approx(expected)
    interval = cluster_ratio([Cluster(pass_at_k(4, 3, 2), 1), Cluster(pass_at_k(4, 1, 2), 1)])
    assert (row["2"].valid.low, row["2"].valid.high) == interval
    assert row["4"].all.value == 1.0


def test_a_k_is_left_out_where_a_problem_has_too_few_valid_samples():
    samples = [
        sample("Sqrt", Outcome.OK, 0),
        sample("Sqrt", Outcome.INFRA_ERROR, 1),
        sample("Gelu", Outcome.OK, 0),
        sample("Gelu", Outcome.OK, 1),
    ]
    row = summarise(MANIFEST, samples).aggregates.all.pass_at_k
    assert row["2"].valid is None
    assert row["2"].all.value == 1.0


def test_a_sample_row_tells_the_first_line_of_its_first_error():
    rows = summarise(MANIFEST, [sample("Sqrt", Outcome.CRASH), sample("Gelu", Outcome.OK, predicted_time_us=2.5)])
    gelu, sqrt = rows.samples
    assert sqrt.message == "crash!"
    assert (sqrt.compiled, sqrt.correct, sqrt.stage) == (True, False, Stage.RUN)
    assert (gelu.message, gelu.predicted_time_us, gelu.measured_time_us) == ("", 2.5, None)


def test_a_fault_of_the_task_is_not_valid():
    broken = sample("Sqrt", Outcome.INFRA_ERROR)
    assert broken.verdict is not None
    verdict = Verdict(Track.STATIC, Tier.TWIN, Stage.CHECK, Outcome.INFRA_ERROR, Owner.TASK)
    totals = summarise(MANIFEST, [Sample(broken.key, broken.prompt, None, None, verdict)]).totals
    assert (totals.valid, totals.compiled, totals.owners) == (0, 0, {Owner.TASK: 1})


samples_lists = st.lists(
    st.builds(
        sample,
        st.sampled_from(["Sqrt", "Gelu", "New"]),
        st.sampled_from(list(Outcome)),
        st.integers(0, 3),
        st.sampled_from(["0", "1"]),
    ),
    max_size=12,
    unique_by=lambda one: one.key,
)


@given(samples_lists, st.randoms(use_true_random=False))
def test_order_does_not_matter_and_everything_is_strict_json(samples, rng: random.Random):
    shuffled = list(samples)
    rng.shuffle(shuffled)
    one, other = (json.dumps(results_json(summarise(MANIFEST, some)), allow_nan=False) for some in (samples, shuffled))
    assert one == other


@given(samples_lists)
def test_totals_add_up(samples):
    results = summarise(MANIFEST, samples)
    totals = results.totals
    assert totals.samples == len(samples) == sum(totals.outcomes.values()) == sum(totals.owners.values())
    assert totals.correct <= totals.compiled <= totals.valid <= totals.samples
    for groups in (results.aggregates.tasks, results.aggregates.categories, results.aggregates.levels):
        assert sum(row.samples for row in groups.values()) == len(samples)


def test_only_timing_depends_on_the_clock():
    fast, slow = (summarise(MANIFEST, [sample("Sqrt", Outcome.OK, seconds=s)]) for s in (0.1, 9.0))
    assert fast.timing != slow.timing
    assert replace(fast, timing=slow.timing) == slow


def test_what_is_written_is_read_again(tmp_path):
    samples = [sample("Sqrt", outcome, i, predicted_time_us=1.5, roofline=0.5) for i, outcome in enumerate(Outcome)]
    results = summarise(MANIFEST, samples)
    write_results(tmp_path, results)
    assert read_results(tmp_path) == results


def test_results_of_an_earlier_version_are_read():
    """Published results stay readable, and what is read is all that the file holds."""
    folder = Path(__file__).parents[2] / "results" / "tile-golden-twin"
    content = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert json.loads(json.dumps(results_json(read_results(folder)))) == {**content, "schema": RESULTS_SCHEMA}
