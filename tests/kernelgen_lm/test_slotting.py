"""Models that read slots, trained on the judge's rewards: what they are asked, what is judged, what they learn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernelgen_lm.config_file import read_config
from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.formulas.posing import write_formulas
from kernelgen_lm.judging import Bench
from kernelgen_lm.training import online, rejection
from kernelgen_lm.training.asking import questions
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.rejection import RejectionSettings, kept
from npukernelbench.errors import UsageError
from npukernelbench.rewards import Answer


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("scipy")
    folder = tmp_path_factory.mktemp("tasks")
    how = {"held_out": False, "share": 0.1, "seed": 5, "least": 2}
    with Bench() as bench:
        write_formulas(folder, 3, **how, exclusion=Exclusion([]), bench=bench)
    return folder


def test_a_model_in_slots_is_asked_in_slots_and_its_answers_get_names(tasks: Path, tmp_path: Path) -> None:
    changes = [f"tasks={tasks}", "strategy=tile"]
    whole, plain = questions(read_config(GRPOSettings, None, [*changes, "model=nano"]))
    (tmp_path / "slots.json").write_text("{}", encoding="utf-8")
    short, reading = questions(read_config(GRPOSettings, None, [*changes, f"model={tmp_path}"]))
    assert [row["npukb_task"] for row in short] == [row["npukb_task"] for row in whole]
    for row, long in zip(short, whole, strict=True):
        (message,) = row["prompt"]
        assert message["content"].startswith(("<o0>", "<v0>"))
        assert 10 * len(message["content"]) < sum(len(part["content"]) for part in long["prompt"])
        name = next(
            line.split()[2].rstrip(":") for line in long["prompt"][1]["content"].split("\n") if "- input" in line
        )
        assert reading(row["npukb_task"], "def <k>(<i0>, <f0>)") == f"def f({name}, {name}_f)"
        assert plain(row["npukb_task"], "<i0>") == "<i0>"
    with pytest.raises(UsageError, match="by our sampler"):
        online.train(
            read_config(GRPOSettings, None, [*changes, f"model={tmp_path}", "steps=1"]), tmp_path / "run", print
        )


def test_right_answers_are_kept_once_and_of_tasks_that_are_not_always_right() -> None:
    lines = [
        {"task": task, "correct": right, "text": text}
        for task, right, text in [
            ("A", 1.0, "a"),
            ("A", 1.0, "a"),
            ("A", 0.0, "x"),
            ("A", 1.0, "b"),
            ("A", 1.0, "c"),
            ("B", 1.0, "d"),
            ("C", 0.0, "e"),
            ("C", None, "f"),
        ]
    ]
    assert kept(lines, 2, 1.0) == {"A": ["a", "b"]}
    assert kept(lines, 1, 2.0) == {"A": ["a"], "B": ["d"]}


def test_a_model_learns_its_right_answers(tasks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from safetensors.torch import load_file

    from kernelgen_lm.training.nano import NanoConfig
    from kernelgen_lm.training.streaming import StreamSettings, train_stream

    tiny = NanoConfig(hidden=16, layers=1, heads=2, key_value_heads=1, feed_forward=16, window=512)
    start = tmp_path / "start"
    train_stream(StreamSettings(model=tiny, steps=1, batch=2, phrases=60, seed=3), start, Exclusion([]))
    judged: list[Answer] = []

    class Judge:
        def score(self, answers: Sequence[Answer]) -> list[Any]:
            first = len(judged)
            judged.extend(answers)
            # Of every task one of two answers is right.
            return [
                SimpleNamespace(value=1.0, metrics={"correct": float((first + at) % 2)}) for at in range(len(answers))
            ]

    monkeypatch.setattr(rejection, "scorer", lambda settings: Judge())
    changes = [f"model={start / 'model'}", f"tasks={tasks}", "strategy=tile", "answers=2", "max_new_tokens=16"]
    told: list[str] = []
    run = tmp_path / "run"
    rejection.train(read_config(RejectionSettings, None, [*changes, "micro_batch=2"]), run, told.append)
    assert told[0] == "3 right answers of 3 tasks out of 3"
    assert len(judged) == 6
    assert not [answer for answer in judged if "<i0>" in str(answer)]
    rows = [json.loads(line) for line in (run / "kept.jsonl").read_text(encoding="utf-8").splitlines()]
    measured = [json.loads(line) for line in (run / "measured.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(row["answer"] for row in rows) == sorted(line["text"] for line in measured if line["correct"])
    assert (run / "model" / "slots.json").is_file()
    old, new = (load_file(folder / "model" / "model.safetensors") for folder in (start, run))
    assert [name for name in old if not torch.equal(old[name], new[name])]
