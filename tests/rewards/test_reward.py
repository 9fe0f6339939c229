"""Policies and the scoring function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from npukernelbench.errors import ConfigError, UsageError
from npukernelbench.judge.metrics import load_metrics, measured
from npukernelbench.nouns import (
    CaseResult,
    Diagnostic,
    Outcome,
    Owner,
    Profile,
    Severity,
    Stage,
    Tier,
    Track,
    Verdict,
)
from npukernelbench.rewards import METRIC_NAMES, load_policy, policies, reward_of

OURS = sorted(policies())


def verdict(outcome: Outcome, *, passed: int = 0, total: int = 2, **metrics: float) -> Verdict:
    stage = Stage.DONE if outcome is Outcome.OK else Stage.CHECK
    if outcome in (Outcome.NO_CODE, Outcome.TRUNCATED):
        stage = Stage.EXTRACT
    if outcome is Outcome.COMPILE_ERROR:
        stage = Stage.COMPILE
    ran = stage.order > Stage.COMPILE.order
    numbers = {"compiled": float(ran), "correct": float(outcome is Outcome.OK), **metrics}
    if ran:
        numbers |= {"cases_passed": float(passed), "cases_total": float(total)}
    cases = (CaseResult("a", stage, outcome),) if ran else ()
    return Verdict(Track.DYNAMIC, Tier.TWIN, stage, outcome, outcome.owner, cases, (), numbers)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_a_reward_or_none(name: str, outcome: Outcome) -> None:
    reward = reward_of(verdict(outcome), load_policy(name))
    assert (reward.value is None) == (outcome.owner in (Owner.INFRA, Owner.USER))
    assert tuple(reward.metrics) == METRIC_NAMES
    assert reward.metrics["infra"] == float(reward.value is None)
    assert reward.policy == f"{name}@{policies()[name].version}"


@pytest.mark.parametrize("name", OURS)
@given(
    wrong=st.sampled_from([outcome for outcome in Outcome if outcome.owner is Owner.MODEL]),
    passed=st.integers(0, 9),
    roofline=st.floats(1e-6, 10),
    golden=st.floats(1e-6, 100),
)
def test_a_right_kernel_is_never_worth_less_than_a_wrong_one(
    name: str, wrong: Outcome, passed: int, roofline: float, golden: float
) -> None:
    policy = load_policy(name)
    right = reward_of(verdict(Outcome.OK, passed=10, total=10, roofline=roofline, speedup_golden=golden), policy)
    other = reward_of(verdict(wrong, passed=passed, total=10), policy)
    assert right.value is not None
    assert other.value is not None
    assert right.value > other.value


@given(st.floats(1e-4, 2.0), st.floats(1e-4, 2.0))
def test_faster_is_worth_more(one: float, other: float) -> None:
    slow, fast = sorted((one, other))
    values = [reward_of(verdict(Outcome.OK, roofline=x), load_policy("shaped")).value for x in (slow, fast)]
    assert None not in values
    assert values[0] <= values[1]  # type: ignore[operator]
    for speed in load_policy("shaped").speed:
        assert (speed.share(speed.low), speed.share(speed.high)) == (0.0, 1.0)


def timed(time_us: float, start_us: float) -> Verdict:
    """A right kernel of that time; the bound is 0.4 us and the golden kernel takes 1 us after the start."""
    facts = {"predicted_time_us": time_us, "bound_us": 0.4, "golden_us": start_us + 1.0}
    profile = Profile(time_us=time_us, predicted=True, machine="m", blocks=1, counters={"launch_time": start_us})
    case = CaseResult("a", Stage.DONE, Outcome.OK, metrics=facts, profile=profile)
    plain = Verdict(Track.STATIC, Tier.TWIN, Stage.DONE, Outcome.OK, Owner.NONE, (case,), ())
    return measured(plain, load_metrics(None))


def test_the_start_of_a_kernel_hides_no_speed() -> None:
    slow, fast = timed(14.0, 10.0), timed(11.0, 10.0)
    assert fast.metrics["speedup_net"] == pytest.approx(1.0)
    assert fast.metrics["roofline_net"] == pytest.approx(0.4)
    values = [reward_of(verdict, load_policy("shaped")).value or 0.0 for verdict in (slow, fast)]
    assert values[1] - values[0] > 0.15  # with the start the two differ by a fifth of their time
    assert "speedup_net" not in timed(9.0, 10.0).metrics


def test_a_kernel_that_writes_nothing_earns_nothing() -> None:
    def wrong(untouched: bool, cases: int = 1) -> Verdict:
        note = Diagnostic(Severity.ERROR, "wrong_value", "all wrong", details={"untouched": untouched})
        other = Diagnostic(Severity.ERROR, "wrong_value", "some wrong", details={"untouched": False})
        judged = [CaseResult(str(n), Stage.CHECK, Outcome.WRONG_VALUE, ((other if n else note),)) for n in range(cases)]
        return replace(verdict(Outcome.WRONG_VALUE, total=cases), cases=tuple(judged))

    for name, usual in (("shaped", 0.2), ("compiling", 0.5)):
        policy = load_policy(name)
        assert reward_of(wrong(True), policy).value == 0.0
        assert reward_of(wrong(False), policy).value == usual
        assert reward_of(wrong(True, cases=2), policy).value == usual  # it wrote in the other case


def test_cases_that_were_right_count() -> None:
    values = [reward_of(verdict(Outcome.WRONG_VALUE, passed=n, total=4), load_policy("shaped")).value for n in range(4)]
    assert values == pytest.approx([0.2, 0.25, 0.3, 0.35])


def test_a_cheat_gains_nothing_from_cases_that_were_right() -> None:
    reward = reward_of(verdict(Outcome.CHEAT, passed=3, total=4), load_policy("shaped"))
    assert (reward.value, reward.metrics["cheat"]) == (-1.0, 1.0)


def test_an_impossible_time_is_no_success() -> None:
    reward = reward_of(verdict(Outcome.OK, roofline=3.0, impossible=1.0), load_policy("shaped"))
    assert (reward.value, reward.metrics["speedup"]) == (0.7, 3.0)


def good() -> dict[str, object]:
    raw = yaml.safe_load((Path(__file__).parents[2] / "npukernelbench/rewards/policies.yaml").read_text())
    result: dict[str, object] = raw["shaped"]
    return result


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"outcomes": {"ok": 1.0}}, "mine.outcomes", None),
        ({"version": 0}, "mine.version", "greater than or equal to 1"),
        ({"colour": 1}, "mine.colour", "not permitted"),
        ({"cases": 5.0}, "mine", "a wrong answer can be worth more"),
        ({"speed": {"metric": "beauty", "weight": 1, "low": 0, "high": 1}}, "mine.speed", "unknown metric"),
        ({"speed": {"metric": "hap", "weight": 1, "low": 1, "high": 1}}, "mine.speed", "smaller"),
        ({"speed": {"metric": "hap", "weight": 1, "low": 0, "high": 1, "log": True}}, "mine.speed", "positive"),
    ],
)
def test_a_wrong_policy_is_refused_with_its_place(
    tmp_path: Path, change: dict[str, object], field: str, message: str | None
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump({"mine": good() | change}))
    with pytest.raises(ConfigError) as caught:
        load_policy(f"{file}:mine")
    assert (caught.value.field or "").startswith(field.split(".outcomes")[0])
    assert str(file) in str(caught.value)
    assert (message or "no reward for") in caught.value.message


def test_policies_are_found_by_name_or_by_file(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump({"mine": good() | {"version": 3}}))
    assert load_policy(str(file)).label == "mine@3"
    assert load_policy(f"{file}:mine") is load_policy(str(file))
    with pytest.raises(UsageError, match="no policy 'shape'") as caught:
        load_policy("shape")
    assert "did you mean 'shaped'?" in (caught.value.remedy or "")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_policy(str(tmp_path / "none.yaml"))
    file.write_text("a: [")
    with pytest.raises(ConfigError, match="no valid YAML"):
        load_policy(str(file))
