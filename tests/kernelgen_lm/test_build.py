"""Building a corpus: every sample is executed, an interrupted build goes on, equal configurations give equal bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelgen_lm.corpus.build import BuildConfig, Shard, build
from kernelgen_lm.corpus.questions import is_held_out
from kernelgen_lm.corpus.sample import read_samples, source_of
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tasks import write_questions
from kernelgen_lm.judging import Bench
from kernelgen_lm.training.mine import known_answers
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style
from npukernelbench.tasks.load import load_task

CONFIG = BuildConfig(samples=24, shard=8, seed=5, held_out=0.2)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    totals = build(CONFIG, folder, 1, lambda shard, shards: None)
    assert sum(totals.values()) == CONFIG.samples
    assert set(totals) <= {"ok", "held_out"}
    return folder


def test_samples_are_right_when_they_are_executed_again(made: Path) -> None:
    samples = list(read_samples(made / "shards"))
    assert len(samples) >= 12
    with Bench() as bench:
        for sample in samples[::3]:
            task = Spec.from_json(sample.question).task()
            assert bench.judge(task, source_of(sample.answer)).outcome is Outcome.OK
    for sample in samples:
        # What the executor saw comes first; where the kernel comes from is nothing to learn.
        assert "cores have work" in sample.answer.split("</think>")[0]
        assert source_of(sample.answer).startswith('#include "kernel_operator.h"')


def test_no_sample_is_of_an_operator_that_is_held_out(made: Path) -> None:
    functions = [Spec.from_json(sample.question).function for sample in read_samples(made / "shards")]
    assert not [function for function in functions if is_held_out(function, CONFIG.held_out)]


def test_an_interrupted_build_goes_on_and_ends_the_same(made: Path) -> None:
    lost = made / "shards" / "000001.jsonl"
    before = lost.read_bytes()
    lost.unlink()
    seen: list[Shard] = []
    build(CONFIG, made, 1, lambda shard, shards: seen.append(shard))
    assert [shard.number for shard in seen] == [1]
    assert lost.read_bytes() == before


def test_the_tasks_of_a_corpus_put_its_questions_in_the_same_words(made: Path, tmp_path: Path) -> None:
    samples = list(read_samples(made / "shards"))
    repair = samples[0].model_copy(update={"kind": "repair", "operator": "Repaired"})
    names = write_questions(tmp_path, [repair, *samples, samples[0]], 8)
    assert names == list(dict.fromkeys(sample.operator for sample in samples))[:8]
    known = known_answers(samples)
    style = load_style(Plugins.load().prompts.find(CONFIG.prompt_style))
    for sample in samples:
        if sample.operator in names:
            names.remove(sample.operator)
            task = load_task(tmp_path / sample.operator / "task.yaml").task
            assert known[style.render(task, task.cases[0], Track.STATIC).hash] == sample.answer
    assert not names
    with pytest.raises(UsageError, match="no question of one shape"):
        write_questions(tmp_path, [repair], 8)
    with pytest.raises(UsageError, match="no question that can be judged"):
        write_questions(tmp_path, [samples[0].model_copy(update={"question": {"family": "rows"}})], 8)


def test_a_folder_holds_one_configuration(made: Path) -> None:
    with pytest.raises(UsageError, match="another configuration"):
        build(CONFIG.model_copy(update={"seed": 6}), made, 1, lambda shard, shards: None)


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({"id": "a"}) + "\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"broken\.jsonl:1: kind"):
        list(read_samples(broken))
