"""Metrics: those of the harness are registered like a plugin's, and a plugin's see them."""

from __future__ import annotations

import pytest

from npukernelbench import hookimpl
from npukernelbench.errors import PluginError
from npukernelbench.judge.metrics import BUILT_IN, load_metrics, measured
from npukernelbench.judge.score import score, stopped
from npukernelbench.nouns import CaseResult, Outcome, Stage, Tier, Track
from npukernelbench.plugins import Plugins


@pytest.fixture
def plugins():
    return Plugins.load(autoload=False, environ={})


def case(name, outcome=Outcome.OK, **metrics):
    return CaseResult(name, Stage.DONE if outcome is Outcome.OK else Stage.CHECK, outcome, metrics=metrics)


def metrics_of(*cases, plugins=None):
    verdict = score(Track.DYNAMIC, Tier.TWIN, cases, (), {})
    return dict(measured(verdict, load_metrics(plugins.metrics if plugins else None)).metrics)


def test_every_metric_of_the_harness_is_registered_through_the_hook(plugins):
    assert {name: registration.load() for name, registration in plugins.metrics.items()} == dict(BUILT_IN)
    assert all(registration.plugin == "builtin" for registration in plugins.metrics.values())


def test_errors_are_those_of_the_worst_case_and_times_sums_of_right_ones(plugins):
    first, second = (
        case("0", pcl_pass=1.0, max_ulp=2.0, predicted_time_us=3.0, bound_us=1.0, golden_us=4.0),
        case("1", pcl_pass=1.0, max_ulp=5.0, predicted_time_us=5.0, bound_us=3.0, golden_us=8.0),
    )
    metrics = metrics_of(first, second, plugins=plugins)
    assert metrics == {
        "compiled": 1, "correct": 1, "cases_passed": 2, "cases_total": 2, "pcl_pass": 1, "max_ulp": 5,
        "predicted_time_us": 8, "bound_us": 4, "roofline": 0.5, "speedup_golden": 1.5, "hap": 8 / (4 + 8),
    }  # fmt: skip
    assert metrics_of(first, second) == metrics
    wrong = case("1", Outcome.WRONG_VALUE, pcl_pass=0.0, max_ulp=9.0)
    assert metrics_of(first, wrong) == {
        "compiled": 1, "correct": 0, "cases_passed": 1, "cases_total": 2, "pcl_pass": 0, "max_ulp": 9
    }  # fmt: skip
    unknown = case("1", predicted_time_us=5.0, bound_us=3.0)
    assert "speedup_golden" not in metrics_of(first, unknown)


def test_a_sample_without_a_kernel_is_not_compiled():
    verdict = stopped(Track.STATIC, Tier.TWIN, Stage.EXTRACT, Outcome.NO_CODE)
    assert measured(verdict, load_metrics(None)).metrics == verdict.metrics == {"compiled": 0, "correct": 0}


class Stranger:
    """Two metrics: one that reads those of the harness, one that is broken."""

    @hookimpl
    def register_metrics(self, register):
        register("a-half", lambda verdict: verdict.metrics["max_ulp"] / 2)
        register("broken", lambda verdict: 1 / 0)


def test_a_plugins_metric_reads_those_of_the_harness(plugins, caplog):
    plugins.register(Stranger(), "stranger")
    metrics = metrics_of(case("0", max_ulp=3.0), plugins=plugins)
    assert metrics["a-half"] == 1.5
    assert "broken" not in metrics
    assert "the metric 'broken' failed and is left out" in caplog.text


def test_what_is_no_function_is_refused_with_its_plugin(plugins):
    class Wrong:
        @hookimpl
        def register_metrics(self, register):
            register("seven", 7)

    plugins.register(Wrong(), "wrong")
    with pytest.raises(PluginError, match="the metric 'seven' of plugin 'wrong' is no function but int"):
        load_metrics(plugins.metrics)
