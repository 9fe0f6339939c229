"""Sampling that belongs to the request: every row draws from a generator of its own.

transformers draws all rows of a batch from one stream, so that an answer would depend on who else is in the batch. Here
each row's token is the inverse of its cumulative distribution at a uniform number of that row's own seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

from npukernelbench.errors import BackendError
from npukernelbench.generate import GenerationRequest, SamplingParams

if TYPE_CHECKING:
    import torch
    from transformers import LogitsProcessorList

__all__ = ["RowSampler", "processors", "sent"]


class RowSampler:
    """A logits processor that leaves one token possible in every row, drawn with that row's seed."""

    def __init__(self, seeds: Sequence[int]) -> None:
        self._rows = [Random(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """``scores`` are logits, [rows, vocabulary]; returned with all but the drawn token at minus infinity."""
        import torch

        del input_ids
        uniform = torch.tensor([[row.random()] for row in self._rows], dtype=torch.float64)
        # In double and on the CPU: sums in a device's order would make the draw depend on the device.
        cumulative = torch.softmax(scores.double().cpu(), dim=-1).cumsum(dim=-1)
        drawn = torch.searchsorted(cumulative, uniform * cumulative[:, -1:], right=True)
        # Rounding may leave the last sum below the drawn number.
        drawn = drawn.clamp(max=scores.shape[-1] - 1).to(scores.device)
        return torch.full_like(scores, float("-inf")).scatter(-1, drawn, 0.0)


def processors(params: SamplingParams, seeds: Sequence[int]) -> LogitsProcessorList:
    """What makes greedy choice sample as ``params`` say; empty for temperature 0.

    ``top_k`` and ``repetition_penalty`` are taken from ``params.extra``; BackendError names anything else there.
    """
    from transformers import (
        LogitsProcessorList,
        RepetitionPenaltyLogitsProcessor,
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    extra = dict(params.extra)
    top_k, penalty = extra.pop("top_k", None), extra.pop("repetition_penalty", None)
    if extra:
        raise BackendError(
            f"the hf backend does not know the sampling parameter {sorted(extra)[0]!r}",
            field="--gen_kwargs",
            remedy="known: temperature, top_p, top_k, repetition_penalty, max_tokens",
        )
    chain = LogitsProcessorList()
    # Before the end for temperature 0: a penalty changes the greedy choice as well.
    if penalty is not None:
        chain.append(RepetitionPenaltyLogitsProcessor(penalty=_number("repetition_penalty", penalty)))
    temperature = 1.0 if params.temperature is None else params.temperature
    if temperature == 0.0:
        return chain
    # The order in which transformers applies them: top_p is a share of what temperature and top_k have left.
    if temperature != 1.0:
        chain.append(TemperatureLogitsWarper(temperature))
    if isinstance(top_k, int) and top_k > 0:
        chain.append(TopKLogitsWarper(top_k))
    if params.top_p is not None and params.top_p < 1.0:
        chain.append(TopPLogitsWarper(params.top_p))
    chain.append(RowSampler(seeds))
    return chain


def sent(request: GenerationRequest, max_tokens: int) -> dict[str, object]:
    """The sampling of one row, with nothing left open."""
    params = request.params
    return {
        "temperature": 1.0 if params.temperature is None else params.temperature,
        "top_p": 1.0 if params.top_p is None else params.top_p,
        "max_tokens": max_tokens,
        "seed": request.seed,
        **params.extra,
    }


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BackendError(f"expected a number, got {value!r}", field=f"--gen_kwargs {name}", remedy=f"{name}=1.1")
    return float(value)
