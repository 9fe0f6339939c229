"""Evaluation without a model: rows and differences out of verdicts, groups by corpus, who takes part, the card."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.cli import main
from kernelgen_lm.corpus.questions import draw_question, is_held_out
from kernelgen_lm.corpus.sample import Message, Sample, files_of
from kernelgen_lm.corpus.tasks import task_yaml
from kernelgen_lm.judging import Bench
from kernelgen_lm.prompts import FEW_SHOT, FewShot
from kernelgen_lm.training.card import card
from kernelgen_lm.training.evaluate import Examination, entrants, group_by_corpus
from kernelgen_lm.training.scores import ALL, Sitting, card_tables, difference_rows, score_rows
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, SampleKey, Stage, Tier, Track, Verdict
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style, tracks_of
from npukernelbench.report.estimates import Judged
from npukernelbench.stats import paired_difference, pass_at_k

STAGES = {Outcome.OK: Stage.DONE, Outcome.WRONG_VALUE: Stage.CHECK, Outcome.COMPILE_ERROR: Stage.COMPILE}


def judged(task: str, index: int, outcome: Outcome) -> Judged:
    stage = STAGES.get(outcome, Stage.RUN)
    verdict = Verdict(Track.STATIC, Tier.TWIN, stage, outcome, outcome.owner)
    return Judged(SampleKey(task, "0", Track.STATIC, index), verdict)


def sitting(model: str, rights: dict[str, int], answers: int, number: int = 0, seed: int = 0) -> Sitting:
    judgements = [
        judged(task, index, Outcome.OK if index < right else Outcome.WRONG_VALUE)
        for task, right in rights.items()
        for index in range(answers)
    ]
    return Sitting(model, number, str(number), seed, tuple(judgements))


RIGHTS = st.dictionaries(st.sampled_from("ABCDE"), st.integers(0, 3), min_size=1)


@settings(max_examples=40, deadline=None)
@given(RIGHTS, RIGHTS)
def test_rows_count_what_was_right(new: dict[str, int], other: dict[str, int]) -> None:
    groups = {"all": frozenset((task, "0") for task in "ABCDE"), "half": frozenset({("A", "0"), ("B", "0")})}
    sittings = [sitting("new", new, 3), sitting("old", other, 3)]
    rows = {(row["model"], row["group"]): row for row in score_rows(sittings, groups)}
    for name, rights in (("new", new), ("old", other)):
        row = rows[name, "all"]
        assert row["answers"] == 3 * len(rights)
        for k in (1, 2, 3):
            expected = sum(pass_at_k(3, right, k) for right in rights.values()) / len(rights)
            assert row["pass@k"][str(k)]["valid"]["value"] == pytest.approx(expected)  # type: ignore[index]
        value = row["correct@1"]["valid"]  # type: ignore[index]
        assert value["low"] - 1e-8 <= value["value"] <= value["high"] + 1e-8
        assert row["compile@1"]["valid"]["value"] == 1  # type: ignore[index]
        assert ((name, "half") in rows) == bool(rights.keys() & {"A", "B"})
    differences = {row["group"]: row for row in difference_rows(sittings, groups, "new")}
    both = sorted(new.keys() & other.keys())
    assert ("all" in differences) == bool(both)
    if both:
        difference = differences["all"]["correct@1"]
        assert difference["value"] == pytest.approx(sum(new[t] - other[t] for t in both) / 3 / len(both))  # type: ignore[index]
        assert difference["low"] - 1e-8 <= difference["value"] <= difference["high"] + 1e-8  # type: ignore[index]


def test_seeds_are_rows_and_differences_go_seed_by_seed() -> None:
    groups = {"held_out": frozenset((task, "0") for task in "AB")}
    new = [sitting("rl", {"A": 4, "B": right}, 4, number) for number, right in enumerate((1, 2, 3))]
    old = [sitting("sft", {"A": 2, "B": 1}, 4)]
    rows = score_rows([*new, *old], groups)
    assert [(row["model"], row["training_seed"]) for row in rows] == [
        *(("rl", seed) for seed in ("0", "1", "2", ALL)),
        ("sft", "0"),
    ]
    assert rows[3]["pass@k"].keys() == {"1", "2", "3", "4"}  # type: ignore[attr-defined]
    differences = difference_rows([*new, *old], groups, "rl")
    assert [row["training_seed"] for row in differences] == ["0", "1", "2", ALL]
    values = [row["correct@1"]["value"] for row in differences]  # type: ignore[index]
    assert values == pytest.approx([0.25, 0.375, 0.5, 0.375])
    asked = {"temperature": 0.6, "answers": 3}
    table = "\n".join(card_tables({"rows": rows, "differences": differences, "asked": asked}))
    assert table.endswith("Asked with temperature 0.6, answers 3.")
    assert "| rl | 1/0 | held_out | 2 | 8 |" in table
    assert "| rl | all | held_out | sft | 2 |" in table
    assert "pass@4" in table


def test_our_faults_are_neither_right_nor_wrong() -> None:
    answers = [judged("A", 0, Outcome.OK), judged("A", 1, Outcome.INFRA_ERROR), judged("A", 2, Outcome.COMPILE_ERROR)]
    row = score_rows([Sitting("m", 0, "0", 0, tuple(answers))], {"g": frozenset({("A", "0")})})[0]
    assert row["faults"] == 1
    assert row["correct@1"]["valid"]["value"] == 0.5  # type: ignore[index]
    assert row["correct@1"]["all"]["value"] == pytest.approx(1 / 3)  # type: ignore[index]
    assert "3 (1 not judged)" in "\n".join(card_tables({"rows": [row], "differences": []}))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=12))
def test_a_paired_difference_is_antisymmetric_and_within_its_interval(pairs: list[tuple[float, float]]) -> None:
    value, (low, high) = paired_difference(pairs)
    assert low - 1e-9 <= value <= high + 1e-9
    back, (lower, higher) = paired_difference([(b, a) for a, b in pairs])
    assert (back, lower, higher) == pytest.approx((-value, -high, -low), abs=0.05)


def test_equal_differences_leave_room_for_unseen_tasks() -> None:
    value, (low, high) = paired_difference([(0.0, 0.0)] * 20)
    assert value == 0
    assert low == -high
    assert 0.1 < high < 0.2
    with pytest.raises(ValueError, match="cluster"):
        paired_difference([])
    with pytest.raises(ValueError, match="shares from 0 to 1"):
        paired_difference([(1.5, 0.0)])


def test_few_shot_shows_another_operator_and_its_right_kernel() -> None:
    rng = Random(5)
    specs = [draw_question(rng) for _ in range(8)]
    shown: dict[str, str] = {}
    style = load_style(Plugins.load().prompts["few-shot"])
    for spec in specs:
        task = spec.task()
        prompt = style.render(task, task.cases[0], Track.STATIC)
        assert prompt == FEW_SHOT.render(task, task.cases[0], Track.STATIC)
        assert [message.role for message in prompt.messages] == ["system", "user", "assistant", "user"]
        assert task.formula in prompt.messages[-1].content
        name = prompt.messages[1].content.split("# ", 1)[1].split(":", 1)[0]
        assert name != task.name
        shown[prompt.messages[1].content] = files_of(prompt.messages[2].content)["kernel.cpp"]
    task = specs[0].task()
    three = FewShot(3).render(task, task.cases[0], Track.STATIC)
    assert len(three.messages) == 8
    assert three.hash != FEW_SHOT.render(task, task.cases[0], Track.STATIC).hash
    with pytest.raises(UsageError, match="static"):
        FEW_SHOT.render(task, None, Track.DYNAMIC)
    assert tracks_of(FEW_SHOT) == {Track.STATIC}
    assert 1 < len(shown) < len(specs)


def test_examples_are_right() -> None:
    with Bench() as bench:
        for family in ("elementwise", "cast", "integer", "rows", "whole", "movement"):
            spec = draw_question(Random(1), {family: 1})
            example = FEW_SHOT.render(spec.task(), spec.task().cases[0], Track.STATIC).messages[1:3]
            asked = _shown(family)
            assert example[0].content.splitlines()[0] == f"# {asked.name}: {asked.summary}"
            assert (
                bench.judge_files(asked, asked.cases, Track.STATIC, files_of(example[1].content)).outcome is Outcome.OK
            ), family


def _shown(family: str):  # type: ignore[no-untyped-def]
    """The task of a family's first example, drawn as the style draws it."""
    from npukernelbench.seed import derive

    rng = Random(derive("few-shot", family, 0))
    while True:
        spec = draw_question(rng, {family: 1})
        if not is_held_out(spec.function, 0.1):
            return spec.task()


def write_task(folder: Path, spec) -> None:  # type: ignore[no-untyped-def]
    path = folder / spec.operator / "task.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(task_yaml(spec.task()), encoding="utf-8")


def test_operators_and_shapes_of_the_corpus_are_told_apart(tmp_path: Path) -> None:
    rng = Random(11)
    specs = [draw_question(rng, {"elementwise": 1}) for _ in range(3)]
    for spec in specs:
        write_task(tmp_path / "tasks", spec)
    lines = []
    for number, (spec, shape) in enumerate(((specs[0], specs[0].shape), (specs[1], (3, 5)))):
        lines.append(
            Sample(
                id=str(number),
                kind="kernel",
                family=spec.family,
                operator=spec.operator,
                dtype="float32",
                shape=shape,
                messages=(Message(role="user", content="q"), Message(role="assistant", content="a")),
                provenance={},
                licence="Apache-2.0",
                hashes={},
            ).line()
        )
    (tmp_path / "corpus.jsonl").write_text("".join(lines), encoding="utf-8")
    chosen = Examination({"g": tmp_path / "tasks"}).selected()["g"]
    assert group_by_corpus(chosen, tmp_path / "corpus.jsonl") == {
        "known": {(specs[0].operator, "0")},
        "known operator, new shape": {(specs[1].operator, "0")},
        "new operator": {(specs[2].operator, "0")},
    }


def checkpoint(folder: Path, seed: int) -> Path:
    folder.mkdir(parents=True)
    config = {"model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 64}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder.parent / "kernelgen.json").write_text(json.dumps({"seed": seed}), encoding="utf-8")
    return folder


def test_who_takes_part(tmp_path: Path) -> None:
    paths = [checkpoint(tmp_path / name / "model", seed) for name, seed in (("a", 3), ("b", 4), ("c", 5))]
    taking_part = entrants([f"rl={paths[0]}", f"rl={paths[1]}"], [f"sft={paths[2]}", "few-shot"], tmp_path)
    told = [(entrant.name, entrant.label, entrant.training_seed, entrant.style) for entrant in taking_part]
    assert told == [
        ("rl", "rl", "3", ""),
        ("rl", "rl-1", "4", ""),
        ("sft", "sft", "5", ""),
        ("few-shot", "few-shot", "3", "few-shot"),
        ("few-shot", "few-shot-1", "4", "few-shot"),
    ]
    for models, baselines, field in (
        ([str(tmp_path / "none")], [], "MODEL"),
        ([str(paths[0]), f"other={paths[1]}"], [], "MODEL"),
        ([str(paths[0])], ["older"], "--baseline"),
        ([f"a/b={paths[0]}"], [], "NAME"),
        ([str(paths[0])], [f"untrained={paths[1]}"], "NAME"),
    ):
        with pytest.raises(UsageError) as caught:
            entrants(models, baselines, tmp_path)
        assert caught.value.field == field


def test_wrong_input_of_eval_and_card_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = checkpoint(tmp_path / "run" / "model", 0)
    (tmp_path / "empty").mkdir()
    out = ["--out", str(tmp_path / "eval")]
    assert main(["eval", str(model), *out]) == 2
    assert "name --held-out, --trained or --tasks" in capsys.readouterr().err
    assert main(["eval", str(model), *out, "--held-out", str(tmp_path / "empty")]) == 2
    assert "holds no tasks" in capsys.readouterr().err
    assert main(["eval", str(model), *out, "--tasks", "Sqrrt"]) == 2
    assert "Sqrt" in capsys.readouterr().err
    scores = tmp_path / "scores.json"
    scores.write_text('{"held_out": {}}', encoding="utf-8")
    with pytest.raises(UsageError, match="no scores"):
        card(model, [], scores)
    with pytest.raises(UsageError, match=r"kernelgen\.json"):
        card(model, [tmp_path / "empty"], None)
    assert "Not evaluated." in card(model, [tmp_path / "run"], None)
    data = tmp_path / "check.json"
    data.write_text('{"findings": []}', encoding="utf-8")
    with pytest.raises(UsageError, match="no samples are counted"):
        card(model, [], None, data)


def test_a_card_tells_data_and_recipe_without_anybodys_folders(tmp_path: Path) -> None:
    model = checkpoint(tmp_path / "run" / "model", 0)
    settings = {
        "corpus": str(tmp_path / "clean" / "samples.jsonl"),
        "measured": ["/a/b/c"],
        "epochs": 2.0,
        "name": "a/b",
    }
    (tmp_path / "run" / "kernelgen.json").write_text(json.dumps(settings), encoding="utf-8")
    log = [{"step": 10, "loss": 0.5}, {"step": 1200, "steps": 2300, "loss": 0.04321}]
    (tmp_path / "run" / "log.json").write_text(json.dumps(log), encoding="utf-8")
    data = tmp_path / "check.json"
    again = {"kernels": 500, "failed": []}
    shares = {"family": {"rows": 900, "cast": 334}}
    data.write_text(json.dumps({"samples": 1234, "left out": 5, "executed again": again, **shares}), encoding="utf-8")
    text = card(model, [tmp_path / "run"], None, data)
    assert str(tmp_path) not in text
    for said in (
        '"clean/samples.jsonl"',
        '"b/c"',
        '"a/b"',
        "1,200 of 2,300 steps; at the end 0.04321 loss",
        "- 1,234 samples",
    ):
        assert said in text
    assert "- 5 left out" in text
    assert "- executed again: 500, of which 0 failed" in text
    assert "- family: rows 900, cast 334" in text
    assert text.startswith("---\nlicense: apache-2.0\n")
