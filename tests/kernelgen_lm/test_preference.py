"""Pairs out of runs: what is chosen, what is rejected, in which order; and the ablation around training."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelgen_lm.training import ablate as ablation
from kernelgen_lm.training import mine as mining
from kernelgen_lm.training.ablate import USUAL, ablate, read_variant
from kernelgen_lm.training.evaluate import Examination
from kernelgen_lm.training.mine import Mining, mine, rejected_outcomes
from kernelgen_lm.training.preference import DPOSettings, losses, read_pairs
from npukernelbench.errors import UsageError
from npukernelbench.nouns.evidence import Profile
from npukernelbench.nouns.outcomes import Outcome, Stage, Tier, Track
from npukernelbench.nouns.sample import CaseResult, Completion, Message, Prompt, Sample, SampleKey, Verdict
from tests.kernelgen_lm.test_evaluation import checkpoint

ANSWERS = (
    ("slow", Outcome.OK, 30.0),
    ("no-build", Outcome.COMPILE_ERROR, 0.0),
    ("off", Outcome.WRONG_VALUE, 0.0),
    ("fast", Outcome.OK, 10.0),
    ("cut", Outcome.TRUNCATED, 0.0),
    ("off", Outcome.WRONG_VALUE, 0.0),
    ("broken", Outcome.RULE_VIOLATION, 0.0),
    ("ours", Outcome.INFRA_ERROR, 0.0),
    ("middle", Outcome.OK, 12.0),
)


def stored(index: int, text: str, outcome: Outcome, time_us: float) -> Sample:
    profile = Profile(time_us=time_us, predicted=True, machine="910B4", blocks=1) if time_us else None
    case = CaseResult("0", Stage.DONE if time_us else Stage.CHECK, outcome, profile=profile)
    verdict = Verdict(Track.STATIC, Tier.TWIN, case.stage, outcome, outcome.owner, (case,))
    prompt = Prompt((Message("user", "write it"),), "terse@2", "h")
    return Sample(SampleKey("Op", "0", Track.STATIC, index), prompt, Completion(text, reasoning="hm"), None, verdict)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    read = SimpleNamespace(
        samples={SampleKey("Op", "0", Track.STATIC, i): stored(i, *row) for i, row in enumerate(ANSWERS)}
    )
    monkeypatch.setattr(mining, "read_run", lambda path: read)
    return [Path("run")]


def pairs(run: list[Path], how: Mining) -> list[tuple[str, str]]:
    rows = []
    for pair in mine(run, how):
        texts = [pair[name][0]["content"] for name in ("chosen", "rejected")]  # type: ignore[index]
        assert all(text.startswith("<think>\nhm\n</think>\n\n") for text in texts)
        assert pair["prompt"] == [{"role": "user", "content": "write it"}]
        rows.append(tuple(text.split()[-1] for text in texts))
    return rows


def test_the_fastest_right_kernel_is_chosen_and_what_compiles_but_fails_rejected(run: list[Path]) -> None:
    assert pairs(run, Mining()) == [("fast", "off"), ("middle", "broken")]
    assert pairs(run, Mining(chosen="first")) == [("slow", "off"), ("fast", "broken")]
    assert pairs(run, Mining("uncompiled")) == [("fast", "no-build"), ("middle", "cut")]
    assert pairs(run, Mining("any")) == [("fast", "no-build"), ("middle", "off"), ("slow", "cut")]
    assert pairs(run, Mining("rule_violation, truncated")) == [("fast", "cut"), ("middle", "broken")]
    assert pairs(run, Mining("any", per_question=1)) == [("fast", "no-build")]


def test_slow_right_kernels_are_rejected_when_that_is_asked(run: list[Path]) -> None:
    assert pairs(run, Mining("rule_violation", slower=1.1)) == [
        ("fast", "broken"),
        ("fast", "slow"),
        ("fast", "middle"),
    ]
    assert pairs(run, Mining("rule_violation", slower=2.0)) == [("fast", "broken"), ("fast", "slow")]


def test_a_known_answer_is_chosen_where_the_models_own_are_used_up(run: list[Path]) -> None:
    mined = list(mine(run, Mining("any"), {"h": "known", "other": "never"}))
    assert [(pair["source"], pair["chosen"][0]["content"].split()[-1]) for pair in mined] == [  # type: ignore[index]
        ("run", "fast"),
        ("run", "middle"),
        ("run", "slow"),
        ("corpus", "known"),
    ]
    assert mined[-1]["rejected_outcome"] == "rule_violation"
    assert mined[-1]["prompt"] == [{"role": "user", "content": "write it"}]
    assert len(list(mine(run, Mining("any", per_question=3), {"h": "known"}))) == 3
    assert [pair["source"] for pair in mine(run, Mining("fails"), {"h": "known"})] == ["run", "run"]


def test_kinds_divide_what_the_model_answers_for() -> None:
    assert rejected_outcomes("fails") | rejected_outcomes("uncompiled") == rejected_outcomes("any")
    assert not rejected_outcomes("fails") & rejected_outcomes("uncompiled")
    assert not rejected_outcomes("any") & {Outcome.OK, Outcome.INFRA_ERROR, Outcome.SKIPPED}
    for name in ("ok", "infra_error", "wrong", ""):
        with pytest.raises(UsageError, match="no wrong outcome"):
            rejected_outcomes(name)


def write_pairs(path: Path, outcomes: list[str]) -> Path:
    row = {"prompt": [], "chosen": [], "rejected": []}
    path.write_text(
        "".join(json.dumps({**row, "rejected_outcome": outcome}) + "\n" for outcome in outcomes), encoding="utf-8"
    )
    return path


def test_pairs_may_hold_what_no_line_of_json_ends_at_and_what_utf_8_has_not(tmp_path: Path) -> None:
    answer: dict[str, object] = {"prompt": [], "rejected": [], "rejected_outcome": "crash"}
    path = tmp_path / "new" / "pairs.jsonl"
    assert (
        mining.write_pairs(path, iter([{**answer, "chosen": "a\u2028b\x85c\ud800d"}, {**answer, "chosen": "e"}])) == 2
    )
    assert [row["chosen"] for row in read_pairs(DPOSettings(pairs=(path,)))] == ["a\u2028b\x85c?d", "e"]


def test_pairs_are_taken_by_what_was_rejected(tmp_path: Path) -> None:
    path = write_pairs(tmp_path / "pairs.jsonl", ["wrong_value", "compile_error", "crash"])
    for kind, count in (("any", 3), ("fails", 2), ("uncompiled", 1), ("crash,compile_error", 2)):
        assert len(read_pairs(DPOSettings(pairs=(path,), rejected=kind))) == count
    with pytest.raises(UsageError, match="no such pairs"):
        read_pairs(DPOSettings(pairs=(path,), rejected="timeout"))
    with pytest.raises(UsageError, match="is no file"):
        read_pairs(DPOSettings(pairs=(tmp_path / "none.jsonl",)))
    path.write_text('{"prompt": []}\n', encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        read_pairs(DPOSettings(pairs=(path,)))
    assert str(caught.value.location) == f"{path}:1"


def test_variants_are_trained_once_and_evaluated_beside_their_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Examination, "selected", lambda self: {})
    seen: dict[str, Any] = {}

    def evaluate(who: Any, what: Any, folder: Path, base: str) -> dict[str, object]:
        seen["who"] = [(entrant.label, entrant.training_seed) for entrant in who]
        seen["base"] = base
        return {}

    monkeypatch.setattr(ablation, "evaluate", evaluate)
    trained: list[tuple[float, float, str, int]] = []

    def train(settings: DPOSettings, folder: Path) -> None:
        trained.append((settings.keep, settings.beta, settings.rejected, settings.seed))
        checkpoint(folder / "model", settings.seed)
        (folder / "log.json").write_text("[]", encoding="utf-8")

    start = checkpoint(tmp_path / "sft" / "model", 0)
    settings = DPOSettings(model=str(start), pairs=(write_pairs(tmp_path / "p.jsonl", ["crash"] * 3),))
    told: list[str] = []
    variants = [*USUAL, read_variant("mine:keep=0.7,beta=0.2")]
    for _ in range(2):
        ablate(settings, variants, (0, 7), Examination(), tmp_path / "out", told.append, train)
    assert [call[:3] for call in trained if call[3] == 7] == [
        (0.0, 0.1, "any"),
        (0.2, 0.1, "any"),
        (1.0, 0.1, "any"),
        (0.2, 0.05, "any"),
        (0.2, 0.5, "any"),
        (0.2, 0.1, "fails"),
        (0.7, 0.2, "any"),
    ]
    assert len(trained) == 14
    assert seen["base"] == "start"
    assert seen["who"][:3] == [("start", "0"), ("plain", "0"), ("plain-1", "7")]
    assert [line for line in told if "left out" in line] == ["uncompiled: the files hold no such pairs; left out"] * 2


def test_keeping_is_measured_in_the_pull_of_the_preference() -> None:
    def tokenizer(text: str, **_: object) -> dict[str, list[str]]:
        return {"input_ids": text.split()}

    def weights(**changes: object) -> dict[str, Any]:
        settings = DPOSettings.model_validate({"pairs": (), **changes})
        return losses(
            settings, [{"chosen": "a b c d"}, {"chosen": [{"role": "assistant", "content": "e f"}]}], tokenizer
        )  # type: ignore[arg-type]

    assert weights(keep=0.0) == {}
    # A nat of an answer of 3 tokens is a third of a nat in TRL's mean over tokens: 3 times beta makes up for it.
    assert weights(keep=1.0, beta=0.1) == {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, pytest.approx(0.3)]}
    assert weights(keep=0.5, beta=0.4)["loss_weights"] == [1.0, pytest.approx(0.6)]


@pytest.mark.parametrize("text", ["keep=0", "a b:keep=0", "x:keep", "start:keep=0"])
def test_a_wrong_variant_is_refused(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_variant(text)
    assert caught.value.field == "--variant"


def test_a_wrong_setting_of_a_variant_is_named_before_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Examination, "selected", lambda self: {})
    settings = DPOSettings(pairs=(tmp_path / "none",))
    with pytest.raises(UsageError) as caught:
        ablate(settings, [read_variant("x:bata=1")], (0,), Examination(), tmp_path, print, lambda *_: None)
    assert caught.value.field == "bata"
