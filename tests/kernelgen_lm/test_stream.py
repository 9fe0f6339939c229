"""Tile programs as a stream: the harness's own question, right programs, the same each time, proven by the judge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelgen_lm.cli import main
from kernelgen_lm.corpus import stream as streaming
from kernelgen_lm.corpus.check import Contamination
from kernelgen_lm.corpus.questions import is_held_out
from kernelgen_lm.corpus.sample import sha256
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.stream import Recipe, prove, read_recipe, stream
from kernelgen_lm.corpus.table import read_table
from kernelgen_lm.corpus.tilewriter import write_tile
from kernelgen_lm.judging import Bench
from npukb_tile.brief import brief_opening
from npukb_tile.checking import check_budgets, check_interface, check_values
from npukb_tile.parse import parse_program
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track
from tests.suite import suite

RECIPE = Recipe(target="tile", samples=60, seed=4)


@pytest.fixture(scope="module")
def drawn() -> list[streaming._Made]:
    return [made for made in streaming._draws(RECIPE) if not isinstance(made, str)]


def program_of(made: streaming._Made) -> str:
    return made.sample.answer.removeprefix("```python\n").removesuffix("```\n")


def test_programs_are_right_on_arrays_and_fit_every_shape_that_is_asked(drawn: list[streaming._Made]) -> None:
    assert len(drawn) > 40
    for made in drawn:
        program, task = parse_program(program_of(made)), made.asked.task
        check_interface(program, task, None if made.track is Track.DYNAMIC else task.cases)
        check_budgets(program, (*task.cases, *made.asked.trial.cases))
        if made.asked.spec.total <= 20_000 or len(made.asked.trial.cases[0].inputs) == 1:
            assert not check_values(program, made.asked.trial, made.asked.trial.cases[0]).wrong, program_of(made)


def test_what_is_asked_is_what_a_run_asks_in_many_words(drawn: list[streaming._Made]) -> None:
    asked = [made.sample.messages[1].content for made in drawn]
    for made in drawn:
        case = None if made.track is Track.DYNAMIC else made.asked.task.cases[0]
        messages = brief_opening(made.asked.task, case).messages
        assert [message.content for message in messages] == [message.content for message in made.sample.messages[:2]]
        # The word for nothing of the operation: a name is there to be copied.
        assert made.asked.task.kernel in program_of(made)
        assert made.asked.task.name not in asked[0] or made is drawn[0]
    text = "\n".join(asked)
    for notation in (
        "_i ",
        "[i",
        "np.",
        "torch.",
        "公式",
        "Attribute ",
        "bfloat16",
        "int32",
        "One program serves every case",
    ):
        assert notation in text, notation
    assert len({made.asked.task.name for made in drawn}) == len(drawn)
    assert {len(made.asked.task.cases[0].inputs) for made in drawn} == {1, 2, 3}
    sizes = [max(item.tensor.size for item in made.asked.task.cases[0].inputs.values()) for made in drawn]  # type: ignore[union-attr]
    assert min(sizes) < 1_000
    assert max(sizes) > 10_000_000


def test_the_short_question_is_short_for_every_task() -> None:
    for task in suite().values():
        if len(task.cases) < 30:
            text = "".join(message.content for message in brief_opening(task, task.cases[0]).messages)
            # At 3.8 characters per token of public models' tokenizers this is 1,200 tokens.
            assert len(text) < 4560, task.name


def test_a_recipe_is_a_data_set(tmp_path: Path, drawn: list[streaming._Made]) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("target: tile\nsamples: 60\nseed: 4\n", encoding="utf-8")
    samples = list(read_table(path))
    assert samples == [made.sample for made in drawn] == list(stream(RECIPE))
    assert not [sample for sample in samples if is_held_out(Spec.from_json(sample.question).function, RECIPE.held_out)]
    assert {sample.id for sample in samples}.isdisjoint(
        sample.id for sample in stream(RECIPE.model_copy(update={"seed": 5}))
    )
    with pytest.raises(UsageError, match="other samples than were proven"):
        list(stream(RECIPE.model_copy(update={"digest": "0" * 64})))
    path.write_text("target: tile\nsamples: many\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"recipe\.yaml") as caught:
        read_recipe(path)
    assert caught.value.field == "samples"


def test_a_recipe_may_ask_for_data_movement() -> None:
    moved = Recipe(target="tile", samples=8, families={"movement": 1}, held_out=0)
    samples = list(stream(moved))
    assert len({sample.operator for sample in samples}) == len(samples) == 8
    with Bench() as bench:
        assert sum(prove(moved, bench, lambda number: None).executed.values()) >= 4


def test_questions_and_programs_of_a_recipe_do_not_change() -> None:
    """A recipe is a data set while its digest holds; other samples need another :data:`streaming.VERSION`."""
    lines = "".join(sample.line() for sample in stream(RECIPE))
    assert sha256(lines) == "a1b87cae6f01a790345b0bbf45bfa9f4abb12c531b8a39f72c64f1014b6fe13f"


def test_no_sample_is_of_a_benchmark(drawn: list[streaming._Made]) -> None:
    contamination = Contamination(suite().values())
    assert not [finding for made in drawn for finding in contamination.findings(made.sample)]


def test_a_recipe_is_proven_by_the_judge_and_a_wrong_program_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text("target: tile\nsamples: 3\nseed: 4\n", encoding="utf-8")
    assert main(["corpus", "prove", str(path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert sum(facts["executed"].values()) >= 1
    assert facts["counts"]["sample"] == len(list(read_table(path)))
    path.write_text(f"target: tile\nsamples: 3\nseed: 4\ndigest: {facts['digest']}\n", encoding="utf-8")
    assert len(list(read_table(path))) == facts["counts"]["sample"]
    monkeypatch.setattr(streaming, "write_tile", lambda *words: write_tile(*words).replace("T(", "T(1.0 + "))
    with Bench() as bench, pytest.raises(UsageError, match="is not right: wrong_value"):
        prove(RECIPE.model_copy(update={"samples": 3}), bench, lambda number: None)
