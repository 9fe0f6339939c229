"""Supervised training of all weights with torch alone: for machines that have torch and transformers but not TRL.

Batches hold samples of similar length, so that little is padding; or samples are packed into sequences of the full
length, in which no sample sees another (masks and positions say so; no flash attention is needed). Every number follows
from the settings; a run resumes from its last checkpoint with the batches that are left.
"""

from __future__ import annotations

import json
import math
import time
from bisect import bisect_left, insort
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from kernelgen_lm.corpus.sample import write_lines
from kernelgen_lm.training.common import Tell, progress_line, quiet
from kernelgen_lm.training.devices import accelerator
from npukernelbench.seed import derive

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from kernelgen_lm.training.supervised import SFTSettings

__all__ = ["Schedule", "Tokens", "batch_of", "batches", "pack", "rate_at", "train"]

_IGNORED = -100
#: Lengths are rounded up to a multiple of this: libraries prepare their code once per size.
_STEP = 64
#: Batches whose samples are sorted by length together.
_POOL = 64


class Schedule(Protocol):
    """What decides the learning rate of a step."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def schedule(self) -> str: ...


class Tokens(NamedTuple):
    """A sample as token numbers; the first ``prompt`` of them are not learned."""

    ids: list[int]
    prompt: int


def batches(samples: Sequence[Tokens], size: int, epoch: int, seed: int) -> list[list[int]]:
    """Indices of an epoch's batches: shuffled, then sorted by length within pools, then the batches shuffled."""
    rng = Random(derive(seed, "batches", epoch))
    order = rng.sample(range(len(samples)), len(samples))
    made = []
    for start in range(0, len(order), size * _POOL):
        pool = sorted(order[start : start + size * _POOL], key=lambda index: len(samples[index].ids))
        made += [pool[at : at + size] for at in range(0, len(pool), size)]
    # Shuffled again: sorted batches would go from short samples to long ones within a pool.
    rng.shuffle(made)
    return made


def pack(lengths: Sequence[int], longest: int) -> list[list[int]]:
    """Indices of the samples of each sequence, so that none is longer than ``longest``: the fullest that still has room
    takes a sample, long ones first. ValueError for a sample that is too long by itself.
    """
    packs: list[list[int]] = []
    room: list[tuple[int, int]] = []  # free tokens and the number of the sequence, sorted
    for index in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        if lengths[index] > longest:
            raise ValueError(f"sample {index} has {lengths[index]} tokens, a sequence {longest}")
        # The sorted list makes the best fit a binary search instead of a scan over all sequences.
        at = bisect_left(room, (lengths[index], -1))
        free, number = room.pop(at) if at < len(room) else (longest, len(packs))
        if number == len(packs):
            packs.append([])
        packs[number].append(index)
        insort(room, (free - lengths[index], number))
    return packs


def batch_of(sequences: Sequence[Sequence[Tokens]], pad: int, device: torch.device) -> dict[str, torch.Tensor]:
    """One batch of sequences of samples: each sample counts its positions from 0, attends to itself alone, and learns
    its answer. A batch of single samples is the usual padded one.
    """
    import torch

    if all(len(sequence) == 1 for sequence in sequences):
        return _padded([sequence[0] for sequence in sequences], pad, device)
    longest = max(sum(len(sample.ids) for sample in sequence) for sequence in sequences)
    ids, places, labels, owners = [], [], [], []
    for sequence in sequences:
        free = longest - sum(len(sample.ids) for sample in sequence)
        learned = [_learned(sample) for sample in sequence]
        ids.append([token for sample in sequence for token in sample.ids] + [pad] * free)
        places.append([place for sample in sequence for place in range(len(sample.ids))] + list(range(free)))
        labels.append([token for row in learned for token in row] + [_IGNORED] * free)
        # Padding belongs to an owner of its own: no sample attends to it.
        owners.append([n for n, sample in enumerate(sequence) for _ in sample.ids] + [len(sequence)] * free)
    owner = torch.tensor(owners, device=device)
    causal = torch.ones(longest, longest, dtype=torch.bool, device=device).tril()
    mask = (owner[:, None, :, None] == owner[:, None, None, :]) & causal
    fields = {"input_ids": ids, "position_ids": places, "labels": labels}
    return {"attention_mask": mask, **{name: torch.tensor(rows, device=device) for name, rows in fields.items()}}


def _learned(sample: Tokens) -> list[int]:
    """Labels: the answer alone; never the first token, which would be learned from the sample before it."""
    known = max(1, sample.prompt)
    return [_IGNORED] * known + sample.ids[known:]


def rate_at(step: int, steps: int, settings: Schedule) -> float:
    """The learning rate of a step: a linear rise, then the schedule."""
    rise = max(1, round(settings.warmup * steps))
    if step < rise:
        return settings.learning_rate * (step + 1) / rise
    share = (step - rise) / max(1, steps - rise)
    falls = {"cosine": 0.5 * (1 + math.cos(math.pi * share)), "linear": 1 - share, "constant": 1.0}
    return settings.learning_rate * falls[settings.schedule]


def train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    samples: Sequence[Tokens],
    settings: SFTSettings,
    folder: Path,
    tell: Tell = quiet,
) -> None:
    """Train and save ``folder/model`` and ``folder/log.json``."""
    import torch

    device = torch.device(accelerator() or "cpu")
    model.to(device)
    model.train()
    # 0.95 as is usual for language models: PyTorch's 0.999 averages over more steps than a short run has.
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=settings.weight_decay)
    lengths = [len(sample.ids) for sample in samples]
    packs = pack(lengths, settings.max_length) if settings.packing else [[index] for index in range(len(samples))]
    sequences = [Tokens([token for index in indices for token in samples[index].ids], 0) for indices in packs]
    per_epoch = -(-len(packs) // settings.micro_batch)
    order: tuple[int, list[list[int]]] = (-1, [])
    steps = settings.steps if settings.steps > 0 else math.ceil(settings.epochs * per_epoch / settings.accumulate)
    step, log = _restore(folder, model, optimizer, device)
    first, started = step, time.monotonic()
    pad = int(tokenizer.pad_token_id)
    while step < steps:
        losses = []
        for part in range(settings.accumulate):
            number = step * settings.accumulate + part
            epoch, position = divmod(number, per_epoch)
            # The order follows from seed and epoch alone, so a run that resumes makes the same batches.
            if order[0] != epoch:
                order = (epoch, batches(sequences, settings.micro_batch, epoch, settings.seed))
            chosen = order[1][position]
            batch = batch_of([[samples[index] for index in packs[at]] for at in chosen], pad, device)
            with torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bfloat16"):
                loss = model(**batch).loss / settings.accumulate
            loss.backward()
            losses.append(float(loss.detach()))
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(step, steps, settings)
        optimizer.step()
        optimizer.zero_grad()
        step += 1
        if step % settings.log_every == 0 or step == steps:
            rate = rate_at(step - 1, steps, settings)
            log.append({"step": step, "steps": steps, "loss": sum(losses), "learning_rate": rate})
            write_lines(folder / "log.json", [json.dumps(log, indent=1) + "\n"])
            pace = (time.monotonic() - started) / max(1, step - first)
            tell(f"{progress_line(step, steps, log[-1])}, {pace * (steps - step) / 60:.0f} min left")
        if step % settings.save_every == 0 and step < steps:
            _save(folder, model, optimizer, step)
    model.save_pretrained(str(folder / "model"))
    tokenizer.save_pretrained(str(folder / "model"))


def _padded(chosen: Sequence[Tokens], pad: int, device: torch.device) -> dict[str, torch.Tensor]:
    """One batch; prompts and padding are not learned."""
    import torch

    longest = -(-max(len(sample.ids) for sample in chosen) // _STEP) * _STEP
    ids = [[*sample.ids, *[pad] * (longest - len(sample.ids))] for sample in chosen]
    mask = [[1] * len(sample.ids) + [0] * (longest - len(sample.ids)) for sample in chosen]
    labels = [[*_learned(sample), *[_IGNORED] * (longest - len(sample.ids))] for sample in chosen]
    fields = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(rows, device=device) for name, rows in fields.items()}


def _save(folder: Path, model: PreTrainedModel, optimizer: torch.optim.Optimizer, step: int) -> None:
    """The state of a run, whole or not at all."""
    import torch

    path = folder / "state.pt"
    partial = folder / "state.pt.partial"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, partial)
    # Renaming is atomic: a run that is killed here resumes from the state before.
    partial.replace(path)


def _restore(
    folder: Path, model: PreTrainedModel, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[int, list[dict[str, Any]]]:
    """Steps that are done and the log up to there."""
    import torch

    path = folder / "state.pt"
    if not path.is_file():
        return 0, []
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    log = json.loads((folder / "log.json").read_text(encoding="utf-8")) if (folder / "log.json").is_file() else []
    # Steps after the saved state are taken again, and would stand in the log twice.
    return int(state["step"]), [row for row in log if row["step"] <= state["step"]]
