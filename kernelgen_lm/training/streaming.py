"""Training on questions in slots, each seen once: drawn while the model trains, so that no data set is stored."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pydantic import Field

from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.formulas.phrases import learn_phrases, phrase_tokenizer
from kernelgen_lm.formulas.short import stream_short
from kernelgen_lm.formulas.slots import FORMAT, SLOTS
from kernelgen_lm.training.common import Tell, claim, progress_line, quiet
from kernelgen_lm.training.nano import NanoConfig, make_model
from kernelgen_lm.training.plain import Tokens, rate_at, restore_state, save_state
from npukernelbench.errors import UsageError
from npukernelbench.seed import derive
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["StreamSettings", "questions", "train_stream"]

#: Batches that are sorted by length together.
_POOL = 24
_IGNORED = -100


class StreamSettings(Strict):
    """A training run on generated questions; equal values give an equal model on equal machines."""

    model: NanoConfig = NanoConfig(hidden=192, layers=4, heads=4, key_value_heads=2, feed_forward=512, window=1024)
    start: str = Field("", description="folder of a model to go on from, in place of random weights")
    steps: int = Field(2500, ge=1, description="optimiser steps")
    batch: int = Field(48, ge=1, description="questions of a step")
    learning_rate: float = Field(2e-3, gt=0)
    warmup: float = Field(0.03, ge=0, lt=1)
    schedule: str = "cosine"
    weight_decay: float = Field(0.05, ge=0)
    clip: float = Field(1.0, gt=0)
    repeats: int = Field(3, ge=1, description="times that a question is seen on average")
    seed: int = 0
    precision: str = Field("bfloat16", description="of the arithmetic: float32 or bfloat16; weights are float32")
    most_tokens: int = Field(320, ge=32, description="longer questions are left out")
    save_every: int = Field(100, ge=1)
    phrases: int = Field(6000, ge=1, description="questions whose phrases become the tokenizer's words")


def questions(
    tokenizer: PreTrainedTokenizerFast, settings: StreamSettings, exclusion: Exclusion | None
) -> Iterator[list[Tokens]]:
    """Batches of similar length, without end: the same for equal arguments."""
    rng = Random(derive(settings.seed, "order"))
    drawn = (
        sample
        for short in stream_short(settings.seed, 1 << 40, exclusion)
        if len((sample := _tokens(tokenizer, short.prompt, short.program)).ids) <= settings.most_tokens
    )
    seen: list[Tokens] = []
    while True:
        fresh = list(islice(drawn, settings.batch * _POOL // settings.repeats))
        seen += fresh
        # The others are of all that were drawn so far: drawing costs as much as learning.
        again = rng.choices(seen, k=settings.batch * _POOL - len(fresh))
        pool = sorted([*fresh, *again], key=lambda sample: len(sample.ids))
        batches = [pool[at : at + settings.batch] for at in range(0, len(pool), settings.batch)]
        rng.shuffle(batches)
        yield from batches


def _check(settings: StreamSettings) -> None:
    """UsageError for a start that is no model in slots, before anything is drawn."""
    start = Path(settings.start)
    if not settings.start:
        return
    if not (start / "config.json").is_file():
        raise UsageError(
            f"{start} holds no checkpoint to go on from",
            field="start",
            remedy="train the preset before this one, or name the folder of a run's model: start=FOLDER",
        )
    # One of an older rule learns the newer one.
    if not (start / SLOTS).is_file():
        raise UsageError(
            f"{start} does not read slots",
            field="start",
            remedy="name a model that kernelgen-lm stream made, or train one from nothing: start=",
        )


def _tokenizer(settings: StreamSettings, saved: Path) -> PreTrainedTokenizerFast:
    """That of the run; that of the start, with new phrases; or a new one."""
    from transformers import AutoTokenizer

    if saved.is_dir():
        held: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(str(saved))
        return held
    texts: Iterable[str] = (short.prompt + short.program for short in stream_short(settings.seed, settings.phrases))
    if settings.start:
        started: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(settings.start)
        # Questions may have got words since that model was trained.
        learn_phrases(started, texts)
        return started
    return phrase_tokenizer(texts, settings.model.window)


def _model(settings: StreamSettings, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    """Random weights, or those of another run."""
    from transformers import AutoModelForCausalLM

    if not settings.start:
        return make_model(settings.model, tokenizer, settings.seed)
    loaded: PreTrainedModel = AutoModelForCausalLM.from_pretrained(settings.start)
    # New phrases are new tokens; a tokenizer with fewer than the model has rows fits as it is.
    if len(tokenizer) > loaded.get_input_embeddings().num_embeddings:
        loaded.resize_token_embeddings(len(tokenizer))
    return loaded


def _tokens(tokenizer: PreTrainedTokenizerFast, prompt: str, answer: str) -> Tokens:
    asked = tokenizer("<|question|>" + prompt, add_special_tokens=False)["input_ids"]
    said = tokenizer(answer + "<|end|>", add_special_tokens=False)["input_ids"]
    return Tokens([*asked, *said], len(asked))


def train_stream(settings: StreamSettings, folder: Path, exclusion: Exclusion, tell: Tell = quiet) -> None:
    """Train from nothing; a folder with a state goes on from there. The model is saved every few steps."""
    import torch

    _check(settings)
    # A run may be given more steps.
    claim(settings, folder, free=("steps", "save_every"))
    tokenizer = _tokenizer(settings, folder / "model")
    model = _model(settings, tokenizer)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=settings.learning_rate, betas=(0.9, 0.95), weight_decay=settings.weight_decay
    )
    step, log = restore_state(folder, model, optimizer, torch.device("cpu"))
    model.train()
    tell(f"{sum(weight.numel() for weight in model.parameters())} parameters, {len(tokenizer)} tokens")
    started, seen, recent = time.monotonic(), 0, 0.0
    # What was seen is drawn again, so that a run that goes on sees what one without a pause sees.
    for batch in islice(questions(tokenizer, settings, exclusion), step, None):
        if step >= settings.steps:
            break
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, settings.steps, settings)
        with torch.autocast("cpu", torch.bfloat16, enabled=settings.precision == "bfloat16"):
            loss = _loss(model, batch, int(tokenizer.pad_token_id))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        seen += sum(len(sample.ids) for sample in batch)
        recent += float(loss.detach())
        if step % 20 == 0:
            pace = seen / (time.monotonic() - started)
            log.append({"step": step, "loss": round(recent / 20, 5)})
            recent = 0.0
            tell(f"{progress_line(step, settings.steps, log[-1])}, {pace:.0f} tokens/s")
        if step % settings.save_every == 0 or step == settings.steps:
            (folder / "log.json").write_text(json.dumps(log), encoding="utf-8")
            save_state(folder, model, optimizer, step)
            model.save_pretrained(str(folder / "model"))
            tokenizer.save_pretrained(str(folder / "model"))
            (folder / "model" / SLOTS).write_text(json.dumps({"format": FORMAT}) + "\n", encoding="utf-8")


def _loss(model: PreTrainedModel, batch: list[Tokens], pad: int) -> torch.Tensor:
    """Cross entropy of the answers. Padding stands behind, where no token of a sample sees it."""
    import torch

    longest = max(len(sample.ids) for sample in batch)
    ids = torch.tensor([[*sample.ids, *[pad] * (longest - len(sample.ids))] for sample in batch])
    labels = ids.clone()
    for row, sample in enumerate(batch):
        labels[row, : sample.prompt] = _IGNORED
        labels[row, len(sample.ids) :] = _IGNORED
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state
    # Only places whose next token is learned need logits.
    wanted = labels[:, 1:] != _IGNORED
    return torch.nn.functional.cross_entropy(model.lm_head(hidden[:, :-1][wanted]), labels[:, 1:][wanted])
