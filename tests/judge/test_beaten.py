"""Right kernels that are too fast: no credit, a reproduction that is kept, and every check for those that come near."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.roofline import Roof, bound_us
from npukernelbench.nouns.execution import Observation
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, candidate, tiny_case, tiny_task

ROOF = Roof(1e6, 4e6, 100e6)
TASK, CASE = tiny_task(), tiny_case()
BOUND_US = bound_us(TASK, CASE, ROOF)


class Roofed(FakeExecutor):
    """Predicts ``share`` of the bound. With every check switched on it finds what ``hidden`` says."""

    hidden = Outcome.OK

    def __init__(self, share: float) -> None:
        super().__init__(FakeExecutorArgs(time_us=share * BOUND_US))
        self.thorough = 0

    def roof(self) -> Roof:
        return ROOF

    def run(self, request):
        seen = super().run(request)
        self.thorough += request.thorough
        return Observation(self.hidden, {}) if request.thorough and self.hidden is not Outcome.OK else seen


def judged(executor, faults=None, source="// fake: ok\n", seed=0):
    plugins = Plugins.load(autoload=False)
    judge = Judge.of(executor, plugins, JudgeSettings(seed=seed), faults)
    return judge.judge(TASK, (CASE,), Track.STATIC, candidate(source))


def test_a_beaten_model_gets_no_credit_and_is_kept_once(tmp_path):
    faults = Faults(tmp_path / "faults", "fake", {"soc": "a b"})
    judgement = judged(Roofed(0.9), faults, seed=17)
    assert judgement.outcome is Outcome.OK
    assert judgement.metrics["impossible"] == 1.0
    assert not {"roofline", "hap", "speedup_golden"} & judgement.metrics.keys()
    [said] = [diagnostic for diagnostic in judgement.diagnostics if diagnostic.rule == "impossible_speed"]
    assert "fault of the time model" in said.remedy
    assert f"{BOUND_US:.3f}" in said.message
    judged(Roofed(0.9), faults, seed=18)
    [kept] = faults.listed()
    assert kept.id in said.remedy
    assert kept.cases == {CASE.id: (pytest.approx(0.9 * BOUND_US), pytest.approx(BOUND_US))}
    words = shlex.split(kept.command)
    assert words[:3] == ["npukb", "judge", TASK.name]
    assert words[4:] == ["--case", CASE.id, "--seed", "17", "--executor", "fake", "--executor_args", '{"soc": "a b"}']
    assert (kept.folder / "source" / "kernel.cpp").read_text() == "// fake: ok\n"
    assert words[3] == str(kept.folder / "source" / "kernel.cpp")


def test_faults_stay_until_they_are_cleared(tmp_path):
    faults = Faults(tmp_path / "faults")
    judged(Roofed(0.9), faults, "// one\n")
    judged(Roofed(0.8), faults, "// another\n")
    fault, other = faults.listed()
    with pytest.raises(UsageError, match="no fault nonsense"):
        faults.clear([fault.id, "nonsense"])
    assert faults.clear([fault.id]) == 1
    assert faults.listed() == [other]
    assert faults.clear(["all"]) == 1
    assert faults.listed() == []


def test_a_folder_that_cannot_be_written_loses_no_verdict(tmp_path):
    (tmp_path / "file").write_text("")
    judgement = judged(Roofed(0.9), Faults(tmp_path / "file"))
    assert judgement.outcome is Outcome.OK
    assert "it is not kept" in judgement.diagnostics[-1].remedy
    assert "it is not kept" in judged(Roofed(0.9)).diagnostics[-1].remedy


def test_a_measured_time_below_the_bound_is_no_fault_of_the_model(tmp_path):
    class Measuring(Roofed):
        def run(self, request):
            seen = super().run(request)
            return replace(seen, profile=replace(seen.profile, predicted=False))

    judgement = judged(Measuring(0.9), Faults(tmp_path / "faults"))
    assert judgement.metrics["impossible"] == 1.0
    assert "roofline" not in judgement.metrics
    assert Faults(tmp_path / "faults").listed() == []


def test_whoever_comes_near_is_checked_in_full():
    for share, times in ((0.9, 1), (1.05, 1), (1.2, 0)):
        executor = Roofed(share)
        judgement = judged(executor)
        assert (judgement.outcome, executor.thorough) == (Outcome.OK, times)
        assert ("roofline" in judgement.metrics) == (share > 1)

    class Racing(Roofed):
        hidden = Outcome.RULE_VIOLATION

    assert judged(Racing(1.05)).outcome is Outcome.RULE_VIOLATION
    assert judged(Racing(1.2)).outcome is Outcome.OK
