"""Supervised fine-tuning on a corpus: the loss is on answers only."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernelgen_lm.corpus.sample import Sample
from kernelgen_lm.corpus.table import read_table
from kernelgen_lm.training import plain
from kernelgen_lm.training.common import Tell, claim, load_model, quiet
from kernelgen_lm.training.devices import one_process
from kernelgen_lm.training.nano import make_model, train_tokenizer
from kernelgen_lm.training.supervised import SFTSettings
from kernelgen_lm.training.trainers import common_arguments, run_trainer, trained
from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["SFTSettings", "tokens_of", "train"]

#: Texts that the tokenizer is trained on.
_TOKENIZER_TEXTS = 4000
_MARK = "@ANSWER@"
_OPENING, _CLOSING = "<think>", "</think>"


def train(settings: SFTSettings, folder: Path, tell: Tell = quiet) -> None:
    """Train, or resume an interrupted run. The model is in ``folder/model`` at the end."""
    if settings.engine == "plain":
        one_process("engine", "use engine: trl")
        if settings.lora is not None:
            raise UsageError("no adapters", field="engine", remedy="use engine: trl")
        if settings.packing:
            raise UsageError("samples are not packed", field="packing", remedy="use engine: trl")
    claim(settings, folder)
    samples = list(read_table(settings.corpus))
    samples = samples[: settings.limit or None]
    model, tokenizer = _start(settings, samples)
    tokens = [tokens_of(sample, tokenizer) for sample in samples]
    short = [encoded for encoded in tokens if len(encoded.ids) <= settings.max_length]
    if not short:
        raise UsageError("no sample is short enough", field="max_length", remedy="raise it")
    if settings.engine == "plain":
        plain.train(model, tokenizer, short, settings, folder, tell)
        return
    _train_with_trl(settings, folder, model, tokenizer, short, tell)


def _train_with_trl(
    settings: SFTSettings,
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    samples: Sequence[plain.Tokens],
    tell: Tell,
) -> None:
    from trl import SFTConfig, SFTTrainer

    # As tokens: TRL would cut an answer by its prompt's length, which is wrong for templates that open a thought.
    rows = []
    for tokens in samples:
        learned = [0] * tokens.prompt + [1] * (len(tokens.ids) - tokens.prompt)
        rows.append({"input_ids": tokens.ids, "completion_mask": learned})
    trainer = SFTTrainer(
        **trained(settings, model, tokenizer, rows),
        args=SFTConfig(
            **common_arguments(settings, folder),
            max_length=settings.max_length,
            packing=settings.packing,
            completion_only_loss=True,
        ),
    )
    run_trainer(trainer, tokenizer, folder, tell)


def _start(settings: SFTSettings, samples: list[Sample]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model that is trained: a new small one with a tokenizer of its own, or a checkpoint."""
    if settings.model != "nano":
        return load_model(settings.model, adapted=settings.lora is not None, attention=settings.attention)
    # Spread over the whole corpus: its first samples may all come from one file.
    every = max(1, len(samples) // _TOKENIZER_TEXTS)
    texts = ("\n".join(message.content for message in sample.messages) for sample in samples[::every])
    tokenizer = train_tokenizer(texts, settings.nano)
    return make_model(settings.nano, tokenizer, settings.seed), tokenizer


def tokens_of(sample: Sample, tokenizer: PreTrainedTokenizerBase) -> plain.Tokens:
    """The conversation as the model reads it; everything before the answer is the prompt."""
    messages = [message.model_dump() for message in sample.messages]
    whole = str(tokenizer.apply_chat_template(messages, tokenize=False))
    asked = str(tokenizer.apply_chat_template(messages[:-1], tokenize=False, add_generation_prompt=True))
    # Templates whose prompt opens a thought write finished turns without it.
    told = whole[len(asked) :] if whole.startswith(asked) else _after_opening(messages, asked, tokenizer)
    # The template has written the special tokens.
    prompt: list[int] = tokenizer(asked, add_special_tokens=False)["input_ids"]
    # Apart from the prompt, as when a model answers: no token may reach over the border.
    answer: list[int] = tokenizer(told, add_special_tokens=False)["input_ids"]
    return plain.Tokens([*prompt, *answer], len(prompt))


def _after_opening(messages: list[dict[str, str]], asked: str, tokenizer: PreTrainedTokenizerBase) -> str:
    """The answer where the template's own prompt opens a thought, and finished turns are written without it.

    It is what the model has to write after that prompt, then what ends a turn.
    """
    marked = [*messages[:-1], {**messages[-1], "content": _MARK}]
    ending = str(tokenizer.apply_chat_template(marked, tokenize=False)).rpartition(_MARK)[2]
    answer = messages[-1]["content"]
    if not asked.rstrip().endswith(_OPENING):
        return answer + ending
    thought, closed, rest = answer.partition(_CLOSING)
    if not closed:
        thought, rest = "", answer
    body = thought.strip().removeprefix(_OPENING).strip()
    gap = "" if asked.endswith("\n") else "\n"
    return f"{gap}{body}\n{_CLOSING}\n\n{rest.lstrip()}{ending}"
