"""Rejection sampling: the model answers generated tasks many times, and learns those of its answers that are right.

Tasks that it is always right on teach nothing and are left out. Of a task's right answers the different ones are kept,
the first ones first.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from pydantic import Field

from kernelgen_lm.corpus.sample import write_lines
from kernelgen_lm.training import plain
from kernelgen_lm.training.asking import AskedConfig, questions, sampling, scorer
from kernelgen_lm.training.common import Tell, claim, load_model, quiet
from kernelgen_lm.training.curriculum import MEASURED
from kernelgen_lm.training.devices import one_process
from kernelgen_lm.training.measuring import Measurement
from kernelgen_lm.training.slotting import copy_slots
from kernelgen_lm.training.supervised import SFTSettings
from npukernelbench.errors import UsageError
from npukernelbench.rewards import Question

__all__ = ["RejectionSettings", "kept", "train"]

Row = Mapping[str, Any]


class RejectionSettings(AskedConfig):
    """Supervised training on the model's own right answers."""

    answers: int = Field(8, ge=1, description="answers per task")
    per_task: int = Field(2, ge=1, description="right answers of a task at most")
    rate_below: float = Field(1.0, gt=0, le=2, description="tasks that are right more often are left out; 2: none")
    learning_rate: float = 1e-4


def train(settings: RejectionSettings, folder: Path, tell: Tell = quiet) -> None:
    """Ask, judge and learn, or resume. The model is in ``folder/model``, the right answers in ``folder/kept.jsonl``.

    UsageError when no task is sometimes right.
    """
    one_process("rejection sampling", "run it on one device")
    if settings.lora is not None:
        raise UsageError("all weights are trained", field="lora", remedy="leave lora out")
    asked, reading = questions(settings)
    claim(settings, folder)
    model, tokenizer = load_model(settings.model, attention=settings.attention)
    path = folder / MEASURED
    how = sampling(settings, model, tokenizer)
    Measurement(how, scorer(settings), settings.answers, settings.seed, reading).rates(model, tokenizer, asked, path)
    lines = [json.loads(line) for line in StringIO(path.read_text(encoding="utf-8"))]
    right = kept(lines, settings.per_task, settings.rate_below)
    rows = {Question.parse(row["npukb_task"]).task: row for row in asked}
    chosen = [(rows[task], text) for task, texts in sorted(right.items()) for text in texts]
    write_lines(
        folder / "kept.jsonl",
        [json.dumps({"prompt": row["prompt"], "answer": text}, ensure_ascii=False) + "\n" for row, text in chosen],
    )
    if not chosen:
        raise UsageError(
            f"none of {len(rows)} tasks is sometimes right and sometimes wrong",
            field="tasks",
            remedy="write other tasks, or raise answers or rate_below",
        )
    tell(f"{len(chosen)} right answers of {len(right)} tasks out of {len(rows)}")
    # Each kind of training has fields that the other would refuse.
    shared = {name: getattr(settings, name) for name in SFTSettings.model_fields if name in type(settings).model_fields}
    learning = SFTSettings(**shared, corpus=folder / "kept.jsonl", engine="plain", max_length=how.window)
    plain.train(model, tokenizer, [_tokens(tokenizer, row, text) for row, text in chosen], learning, folder, tell)
    copy_slots(settings.model, folder / "model")


def kept(lines: Sequence[Row], most: int, below: float) -> Mapping[str, Sequence[str]]:
    """By task, its different right answers, ``most`` of them; without tasks that are right as often as ``below``."""
    judged: defaultdict[str, list[Row]] = defaultdict(list)
    for line in lines:
        # A fault of the judge says nothing about the task.
        if line["correct"] is not None:
            judged[line["task"]].append(line)
    chosen = {}
    for task, answers in judged.items():
        right = [line["text"] for line in answers if line["correct"]]
        if right and len(right) / len(answers) < below:
            chosen[task] = list(dict.fromkeys(right))[:most]
    return chosen


def _tokens(tokenizer: Any, row: Row, text: str) -> plain.Tokens:
    """A question and its answer, closed by the token that ends one."""
    asked = str(tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True))
    prompt: list[int] = tokenizer(asked, add_special_tokens=False)["input_ids"]
    said: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    # The text was decoded without special tokens, and a model must learn to end its answer.
    return plain.Tokens([*prompt, *said, int(tokenizer.eos_token_id)], len(prompt))
