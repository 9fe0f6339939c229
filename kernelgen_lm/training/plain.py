"""Supervised training of all weights with torch alone: for machines that have torch and transformers but not TRL.

Batches hold samples of similar length, so that little is padding. Every number follows from the settings; a run resumes
from its last checkpoint with the batches that are left.
"""

from __future__ import annotations

import json
import math
import time
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

__all__ = ["Schedule", "Tokens", "batch_of", "batches", "rate_at", "restore_state", "save_state", "train"]

# Labels with this number do not count in the loss of PyTorch and transformers.
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


def batch_of(chosen: Sequence[Tokens], pad: int, device: torch.device) -> dict[str, torch.Tensor]:
    """One batch; prompts and padding are not learned."""
    import torch

    longest = -(-max(len(sample.ids) for sample in chosen) // _STEP) * _STEP
    ids = [[*sample.ids, *[pad] * (longest - len(sample.ids))] for sample in chosen]
    mask = [[1] * len(sample.ids) + [0] * (longest - len(sample.ids)) for sample in chosen]
    labels = [[*_learned(sample), *[_IGNORED] * (longest - len(sample.ids))] for sample in chosen]
    fields = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(rows, device=device) for name, rows in fields.items()}


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
    per_epoch = -(-len(samples) // settings.micro_batch)
    order: tuple[int, list[list[int]]] = (-1, [])
    steps = settings.steps if settings.steps > 0 else math.ceil(settings.epochs * per_epoch / settings.accumulate)
    step, log = restore_state(folder, model, optimizer, device)
    first, started = step, time.monotonic()
    pad = int(tokenizer.pad_token_id)
    while step < steps:
        losses = []
        for part in range(settings.accumulate):
            number = step * settings.accumulate + part
            epoch, position = divmod(number, per_epoch)
            # The order follows from seed and epoch alone, so a run that resumes makes the same batches.
            if order[0] != epoch:
                order = (epoch, batches(samples, settings.micro_batch, epoch, settings.seed))
            batch = batch_of([samples[index] for index in order[1][position]], pad, device)
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
        # After the last step the model itself is saved.
        if step % settings.save_every == 0 and step < steps:
            save_state(folder, model, optimizer, step)
    model.save_pretrained(str(folder / "model"))
    tokenizer.save_pretrained(str(folder / "model"))


def save_state(folder: Path, model: PreTrainedModel, optimizer: torch.optim.Optimizer, step: int) -> None:
    """The state of a run, whole or not at all."""
    import torch

    path = folder / "state.pt"
    partial = folder / "state.pt.partial"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, partial)
    # Renaming is atomic: a run that is killed here resumes from the state before.
    partial.replace(path)


def restore_state(
    folder: Path, model: PreTrainedModel, optimizer: torch.optim.Optimizer, device: torch.device
) -> tuple[int, list[dict[str, Any]]]:
    """Steps that are done and the log up to there."""
    import torch

    path = folder / "state.pt"
    if not path.is_file():
        return 0, []
    # A state file may come from another machine: weights_only reads tensors and runs no pickled code.
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    log = json.loads((folder / "log.json").read_text(encoding="utf-8")) if (folder / "log.json").is_file() else []
    # Steps after the saved state are taken again, and would stand in the log twice.
    return int(state["step"]), [row for row in log if row["step"] <= state["step"]]
