"""Conversations of several turns with the model that is trained.

A conversation is one sequence for the trainer: the answer, the judge's words (which are not learned), the next answer.
Its reward is that of the last answer, less a discount per turn, so that being right at once stays better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kernelgen_lm.training.sampler import Sampling, sample
from kernelgen_lm.training.slotting import Reading
from npukernelbench.errors import UsageError
from npukernelbench.generate import Hints
from npukernelbench.nouns import FinishReason
from npukernelbench.rewards import Answer, Question, Scoring
from npukernelbench.rewards.trl import KernelReward

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["Conversations", "TurnReward", "turn_tokens"]

#: A repair is asked only when its answer has this much room.
_LEAST_ROOM = 64
_MARK = "@ANSWER@"


def turn_tokens(tokenizer: PreTrainedTokenizerBase, feedback: str) -> list[int]:
    """What stands between an answer and the next one: end of turn, feedback, a new beginning."""
    messages = [
        {"role": role, "content": text} for role, text in (("user", "?"), ("assistant", _MARK), ("user", feedback))
    ]
    # The template itself is asked, because every family of models ends a turn in its own way.
    text = str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    after = text.split(_MARK, 1)[1]
    tokens: list[int] = tokenizer(after, add_special_tokens=False)["input_ids"]
    return tokens


@dataclass(slots=True)
class _Row:
    """One conversation. ``mask`` tells the model's own tokens from the judge's; ``chances`` are the logarithms of the
    chances that the own ones were drawn with, where vLLM drew them.
    """

    prompt: list[int]
    question: str
    tokens: list[int] = field(default_factory=list)
    mask: list[int] = field(default_factory=list)
    chances: list[float | None] = field(default_factory=list)
    answer: str = ""
    cut: bool = False
    turns: int = 0
    first: float = 0.0
    going: bool = True

    def add(self, tokens: Sequence[int], own: int, chances: Sequence[float | None] | None = None) -> None:
        self.tokens += tokens
        self.mask += [own] * len(tokens)
        # What the judge says is masked, so its chances play no part.
        self.chances += [0.0] * len(tokens) if chances is None else chances


class Conversations:
    """TRL's ``rollout_func``. ``questions`` by the last message of their prompt; ``scorer`` judges between turns."""

    def __init__(
        self,
        settings: Sampling,
        tokenizer: PreTrainedTokenizerBase,
        questions: Mapping[str, str],
        scorer: Scoring,
        *,
        turns: int,
        hints: Hints,
        read: Reading | None = None,
    ) -> None:
        self._settings, self._tokenizer, self._questions, self._scorer = settings, tokenizer, questions, scorer
        self._turns, self._hints, self._read = turns, hints, read or Reading({})

    def __call__(self, prompts: Sequence[Sequence[Mapping[str, str]]], trainer: Any) -> dict[str, Any]:
        """Tokens of every conversation, which of them the model wrote, and what the reward is for."""
        rows = [self._begin(prompt) for prompt in prompts]
        for turn in range(self._turns):
            going = [row for row in rows if row.going]
            if not going:
                break
            answers = self._draw([[*row.prompt, *row.tokens] for row in going], trainer)
            for row, drawn in zip(going, answers, strict=True):
                self._answered(row, *drawn)
            self._look(going, turn + 1 < self._turns)
        return {
            "prompt_ids": [row.prompt for row in rows],
            "completion_ids": [row.tokens for row in rows],
            "logprobs": [row.chances for row in rows] if trainer.use_vllm else None,
            "env_mask": [row.mask for row in rows],
            "npukb_answer": [row.answer for row in rows],
            "npukb_cut": [row.cut for row in rows],
            "npukb_turns": [row.turns for row in rows],
            "npukb_first": [row.first for row in rows],
        }

    def _begin(self, prompt: Sequence[Mapping[str, str]]) -> _Row:
        text = str(self._tokenizer.apply_chat_template(list(prompt), tokenize=False, add_generation_prompt=True))
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        if len(ids) >= self._settings.window:
            raise UsageError(
                f"a prompt has {len(ids)} tokens, the window {self._settings.window}",
                field="prompt_style",
                remedy="terse",
            )
        return _Row(ids, self._questions[prompt[-1]["content"]])

    def _draw(self, prompts: list[list[int]], trainer: Any) -> list[tuple[list[int], list[float | None] | None]]:
        """Tokens of every answer, with their chances where vLLM draws: the trainer corrects for its arithmetic."""
        if trainer.use_vllm:
            _, answers, chances, _ = trainer.vllm_generation.generate(prompts=prompts, images=None, num_generations=1)
            return [
                (list(tokens), [chance[0] for chance in drawn]) for tokens, drawn in zip(answers, chances, strict=True)
            ]
        drawn = sample(trainer.accelerator.unwrap_model(trainer.model), prompts, self._settings)
        return [(tokens, None) for tokens in drawn]

    def _answered(self, row: _Row, tokens: list[int], chances: list[float | None] | None) -> None:
        row.add(tokens, 1, chances)
        row.answer = self._read(row.question, str(self._tokenizer.decode(tokens, skip_special_tokens=True)))
        # An answer that no end token closes has met the limit.
        row.cut = not tokens or tokens[-1] not in self._settings.ends
        row.turns += 1

    def _look(self, going: Sequence[_Row], again: bool) -> None:
        """Judge, and ask again where there is something to repair and room for it."""
        answers = [
            Answer(Question.parse(row.question), row.answer, FinishReason.LENGTH if row.cut else FinishReason.STOP)
            for row in going
        ]
        for row, turn in zip(going, self._scorer.repair(answers, self._hints), strict=True):
            if row.turns == 1:
                row.first = turn.reward.metrics["correct"]
            # A cut answer has no end of turn that feedback could follow.
            asked = turn_tokens(self._tokenizer, turn.feedback) if again and turn.feedback and not row.cut else []
            # The answer's own end token is also the first of what follows it.
            if row.tokens and asked and asked[0] == row.tokens[-1]:
                asked = asked[1:]
            used = len(row.prompt) + len(row.tokens) + len(asked)
            row.going = bool(asked) and self._settings.window - used >= _LEAST_ROOM
            if row.going:
                row.add(asked, 0)


class TurnReward:
    """The reward of a conversation's last answer, times ``discount`` for every turn before it."""

    def __init__(self, reward: KernelReward, discount: float) -> None:
        self._reward, self._discount = reward, discount
        # TRL logs a reward under its function's name.
        self.__name__ = reward.__name__

    def __call__(
        self,
        *,
        npukb_answer: Sequence[str],
        npukb_cut: Sequence[bool],
        npukb_turns: Sequence[int],
        npukb_first: Sequence[float],
        **columns: Any,
    ) -> list[float | None]:
        """As TRL calls a reward function; only gains are discounted."""
        columns["completions"] = npukb_answer
        rewards = self._reward(truncated=npukb_cut, **columns)
        log = columns.get("log_metric")
        if log is not None and npukb_turns:
            log("npukb/turns", sum(npukb_turns) / len(npukb_turns))
            log("npukb/first_correct", sum(npukb_first) / len(npukb_first))
        return [
            # A discounted penalty would be a smaller one, which would reward long conversations.
            value if value is None or value <= 0 else value * self._discount ** (turns - 1)
            for value, turns in zip(rewards, npukb_turns, strict=True)
        ]
