"""Preference training on pairs of a right answer and one that compiles but fails.

Preferring right over failing kernels is known to cost compile rate: where both differ in a few names, the chosen answer
becomes less likely together with the rejected one. ``keep`` adds the chosen answer's likelihood to the loss, measured
in the pull of the preference itself: at 1 it pulls an answer up as hard as the preference ever pushes one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from pydantic import Field

from kernelgen_lm.training.common import Tell, TrainConfig, claim, load_model, quiet, refuse_gguf
from kernelgen_lm.training.mine import rejected_outcomes
from kernelgen_lm.training.trainers import common_arguments, run_trainer, trained
from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import Outcome

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

__all__ = ["DPOSettings", "losses", "read_pairs", "train"]


class DPOSettings(TrainConfig):
    """Direct preference optimisation, with the paper's settings as far as it states them."""

    pairs: tuple[Path, ...] = Field(description="files of pairs: kernelgen-lm mine, kernelgen-lm corpus errors")
    beta: float = Field(0.1, gt=0)
    keep: float = Field(
        0.2,
        ge=0,
        description="weight of a chosen answer's own likelihood, relative to DPO's strongest pull; 0: plain DPO",
    )
    rejected: str = Field("any", description="pairs to use, by the rejected answer: fails, uncompiled, outcomes")
    max_length: int = Field(2048, ge=64)
    learning_rate: float = 1e-6
    warmup: float = 0.1


def read_pairs(settings: DPOSettings) -> list[dict[str, object]]:
    """Prompt, chosen and rejected of every pair that is taken. UsageError with file and line, or without any pair."""
    outcomes = None if settings.rejected == "any" else rejected_outcomes(settings.rejected)
    rows: list[dict[str, object]] = []
    for path in settings.pairs:
        if not path.is_file():
            raise UsageError(f"{path} is no file", field="pairs", remedy="mine some: kernelgen-lm mine")
        # Not splitlines(), as JSON may hold U+2028 and its like unescaped inside a text.
        for number, line in enumerate(StringIO(path.read_text(encoding="utf-8")), 1):
            try:
                pair = json.loads(line)
                row = {name: pair[name] for name in ("prompt", "chosen", "rejected")}
                # Files that others made need not say how the rejected answer failed.
                outcome = Outcome(pair.get("rejected_outcome", Outcome.WRONG_VALUE.value))
            # A line may hold any JSON: lists and numbers have no fields to ask for.
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise UsageError(f"no pair: {error!r}", location=SourceLocation(path, number)) from None
            if outcomes is None or outcome in outcomes:
                rows.append(row)
    if not rows:
        raise UsageError("the files hold no such pairs", field="pairs", remedy="mine some: kernelgen-lm mine")
    return rows


def losses(
    settings: DPOSettings, rows: Sequence[Mapping[str, object]], tokenizer: PreTrainedTokenizerBase
) -> dict[str, Any]:
    """TRL's losses and their weights.

    DPO's loss changes by at most ``beta`` for a nat of a whole answer; TRL's ``sft`` is the mean over tokens. Times
    ``beta`` and the mean length of the chosen answers it is on the same scale.
    """
    if not settings.keep:
        return {}
    tokens = fmean(len(tokenizer(_text(row["chosen"]), add_special_tokens=False)["input_ids"]) for row in rows)
    return {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, settings.keep * settings.beta * tokens]}


def _text(answer: object) -> str:
    """An answer as text: TRL takes messages as well as strings."""
    return "".join(str(message["content"]) for message in answer) if isinstance(answer, list) else str(answer)


def train(settings: DPOSettings, folder: Path, tell: Tell = quiet) -> None:
    """Train, or resume. The model is in ``folder/model`` at the end."""
    from trl import DPOConfig, DPOTrainer

    # Adapters are compared with the same model without them, which is not loaded again.
    if settings.lora is None:
        refuse_gguf(settings.model)
    rows = read_pairs(settings)
    claim(settings, folder)
    model, tokenizer = load_model(settings.model, adapted=settings.lora is not None, attention=settings.attention)
    trainer = DPOTrainer(
        **trained(settings, model, tokenizer, rows),
        args=DPOConfig(
            **common_arguments(settings, folder),
            beta=settings.beta,
            max_length=settings.max_length,
            **losses(settings, rows, tokenizer),
        ),
    )
    run_trainer(trainer, tokenizer, folder, tell)
