"""How often a model is right on every task, by the sampler of the rollout.

A run of the harness says the same, but answers wait there for the longest of their batch, and on a CPU they are few.
Judged answers are kept, so that an interrupted measurement resumes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelgen_lm.corpus.sample import write_lines
from kernelgen_lm.training.curriculum import read_measured, shares
from kernelgen_lm.training.sampler import Sampling, sample
from kernelgen_lm.training.slotting import Reading
from npukernelbench.nouns import FinishReason
from npukernelbench.rewards import Answer, Question, Scoring

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["Measurement"]

Row = Mapping[str, Any]

#: Answers that are drawn at the same time.
_BATCH = 96


@dataclass(frozen=True, slots=True)
class Measurement:
    """Draws ``answers`` answers to every row's prompt and judges them; ``seed`` decides what is drawn.

    ``read`` makes the text that is judged.
    """

    sampling: Sampling
    scorer: Scoring
    answers: int
    seed: int
    read: Reading = field(default_factory=lambda: Reading({}))

    def rates(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row], path: Path
    ) -> Mapping[str, float]:
        """By task, the share of right answers among those that could be judged; ``path`` keeps one line for each."""
        import torch

        asked = [row for row in rows for _ in range(self.answers)]
        # The file is written whole after every batch, so what is there ends with one.
        lines = [*StringIO(path.read_text(encoding="utf-8"))] if path.is_file() else []
        for first in range(len(lines), len(asked), _BATCH):
            # Per batch, so that a measurement that resumes draws what it would have drawn.
            torch.manual_seed(self.seed + first)
            lines += [
                json.dumps(answer) + "\n" for answer in self._judged(model, tokenizer, asked[first : first + _BATCH])
            ]
            write_lines(path, lines)
        return shares(read_measured(path))

    def _judged(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, rows: Sequence[Row]
    ) -> list[dict[str, object]]:
        """Of one batch, whether each answer is right; null where the fault is not the model's."""
        texts = [
            tokenizer.apply_chat_template(row["prompt"], tokenize=False, add_generation_prompt=True) for row in rows
        ]
        prompts = [tokenizer(str(text), add_special_tokens=False)["input_ids"] for text in texts]
        questions = [Question.parse(row["npukb_task"]) for row in rows]
        drawn = sample(model, prompts, self.sampling)
        texts = [str(tokenizer.decode(tokens, skip_special_tokens=True)) for tokens in drawn]
        answers = [
            Answer(
                question,
                self.read(row["npukb_task"], text),
                FinishReason.STOP if tokens and tokens[-1] in self.sampling.ends else FinishReason.LENGTH,
            )
            for row, question, text, tokens in zip(rows, questions, texts, drawn, strict=True)
        ]
        # A model that is sure of itself says the same again; reading an answer takes longer than judging its code.
        different = list(dict.fromkeys(answers))
        rewards = dict(zip(different, self.scorer.score(different), strict=True))
        return [
            {
                "task": answer.question.task,
                "correct": None if (reward := rewards[answer]).value is None else reward.metrics["correct"],
                "text": text,
            }
            for answer, text in zip(answers, texts, strict=True)
        ]
