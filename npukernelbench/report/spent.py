"""What answers took: tokens as the backend counted them, and their price where one is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from npukernelbench.nouns import Completion

__all__ = ["cost_of", "spent"]


def spent(completions: Iterable[Completion], price: Mapping[str, object]) -> dict[str, object]:
    """Answers, tokens and cost. Answers out of a cache are counted apart and cost nothing.

    ``price`` is that of the run's provenance: ``input`` and ``output`` per million tokens, and their ``currency``;
    empty when it is not known, and then ``cost`` is None, never 0. ``uncounted`` are answers whose backend gave no
    counts.
    """
    listed = list(completions)
    paid = [one for one in listed if not one.cached]
    tokens = {
        "prompt": sum(one.usage.prompt for one in paid),
        "completion": sum(one.usage.completion for one in paid),
        "reasoning": sum(one.usage.reasoning for one in paid),
    }
    return {
        "answers": len(listed),
        "cached": len(listed) - len(paid),
        "uncounted": sum(not (one.usage.prompt or one.usage.completion) for one in paid),
        "tokens": tokens,
        "cost": cost_of(tokens["prompt"], tokens["completion"], price),
    }


def cost_of(prompt_tokens: int, completion_tokens: int, price: Mapping[str, object]) -> dict[str, object] | None:
    """An amount and its currency; None when the price is not known. Reasoning is part of the completion tokens."""
    given, taken = price.get("input"), price.get("output")
    if not isinstance(given, int | float) or not isinstance(taken, int | float):
        return None
    amount = (prompt_tokens * given + completion_tokens * taken) / 1e6
    return {"amount": round(amount, 6), "currency": price.get("currency", "USD")}
