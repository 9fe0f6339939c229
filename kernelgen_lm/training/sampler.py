"""Answers of the model that is trained, drawn without waste.

Rows that have ended leave the batch, where :meth:`generate` computes them until the last one ends. Keys and values grow
into room that is kept behind them, so that a token does not copy all that came before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from transformers import DynamicCache, PreTrainedModel

__all__ = ["Sampling", "behind", "roomy_cache", "sample"]

#: How much longer than needed the room for keys and values is made, in eighths; and to a multiple of how many tokens.
_EIGHTHS, _STEP = 10, 64


@dataclass(frozen=True, slots=True)
class Sampling:
    """How answers are drawn. ``ends`` are tokens that end one, ``window`` what prompt and answer may have together."""

    temperature: float
    longest: int
    window: int
    ends: frozenset[int]
    pad: int


def sample(model: PreTrainedModel, prompts: Sequence[Sequence[int]], settings: Sampling) -> list[list[int]]:
    """One answer per prompt, up to and with the token that ends it; drawn from torch's generator.

    Rows that have ended leave the batch as soon as they are a quarter of it.
    """
    import torch

    device = model.device
    width = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[settings.pad] * (width - len(prompt)) + list(prompt) for prompt in prompts], device=device)
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts], device=device)
    answers: list[list[int]] = [[] for _ in prompts]
    room = [min(settings.longest, settings.window - len(prompt)) for prompt in prompts]
    rows = list(range(len(prompts)))
    done = [limit < 1 for limit in room]
    cache, training = roomy_cache(model), model.training
    given = {_cache_name(model): cache}
    model.eval()
    with torch.no_grad():
        while not all(done[row] for row in rows):
            # Rows are padded on the left, and a position counts real tokens only.
            places = mask.cumsum(-1).sub(1).clamp(min=0)[:, -ids.shape[1] :]
            output = model(ids, attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1, **given)
            # In float32: half types round small chances to 0.
            chances = torch.softmax(output.logits[:, -1].float() / settings.temperature, -1)
            drawn = torch.multinomial(chances, 1)
            for row, token in zip(rows, drawn[:, 0].tolist(), strict=True):
                if not done[row]:
                    answers[row].append(token)
                    done[row] = token in settings.ends or len(answers[row]) >= room[row]
            ids, mask = drawn, torch.cat([mask, torch.ones_like(drawn)], -1)
            kept = [position for position, row in enumerate(rows) if not done[row]]
            # Selecting copies the whole cache, so it is done for a quarter of the rows at a time.
            if kept and 4 * len(kept) <= 3 * len(rows):
                index = torch.tensor(kept, device=device)
                cache.batch_select_indices(index)
                ids, mask, rows = ids[index], mask[index], [rows[position] for position in kept]
    model.train(training)
    return answers


def _cache_name(model: PreTrainedModel) -> str:
    """What a model calls the cache: another name since transformers 5.24, where the older one warns."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model  # an adapter takes any name
    return "cache" if "cache" in signature(inner.forward).parameters else "past_key_values"


def roomy_cache(model: PreTrainedModel) -> DynamicCache:
    """The model's usual cache, whose layers of full attention write new keys and values behind the old ones."""
    from transformers import DynamicCache
    from transformers.cache_utils import DynamicLayer

    class Roomy(DynamicLayer):  # type: ignore[misc]
        keys: torch.Tensor
        values: torch.Tensor

        def update(
            self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            del args, kwargs
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
                self.rooms = [self.keys, self.values]
            self.keys, self.rooms[0] = behind(self.keys, key_states, self.rooms[0])
            self.values, self.rooms[1] = behind(self.values, value_states, self.rooms[1])
            return self.keys, self.values

    cache = DynamicCache(config=model.config)
    # Layers with a sliding window keep their own kind, which drops old tokens.
    cache.layers = [Roomy() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


def behind(old: torch.Tensor, new: torch.Tensor, room: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """``new`` behind ``old``, [batch, heads, tokens, size], in ``room`` if ``old`` is its beginning and it has place;
    else in a new room. The room comes with it.
    """
    used = old.shape[-2] if old.numel() else 0
    needed = used + new.shape[-2]
    # Selecting rows copies the cache: what is there then is no longer the beginning of the room.
    if not used or old.data_ptr() != room.data_ptr() or needed > room.shape[-2]:
        length = -(-needed * _EIGHTHS // 8 // _STEP) * _STEP
        room = new.new_empty(*new.shape[:2], length, new.shape[-1])
        if used:
            room[:, :, :used] = old
    room[:, :, used:needed] = new
    return room[:, :, :needed], room
