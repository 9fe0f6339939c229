"""What answers took: tokens as the backend counted them, and their price where one is known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from npukernelbench.nouns import Completion
from npukernelbench.nouns.results import Cost, Spent, Tokens

__all__ = ["cost_of", "price_of", "spent"]


def spent(completions: Iterable[Completion], price: Mapping[str, object]) -> Spent:
    """Answers, tokens and cost. Answers out of a cache are counted apart and cost nothing.

    ``price`` is that of the run's provenance: ``input`` and ``output`` per million tokens, and their ``currency``;
    empty when it is not known, and then ``cost`` is None, never 0. ``uncounted`` are answers whose backend gave no
    counts.
    """
    listed = list(completions)
    paid = [completion for completion in listed if not completion.cached]
    tokens = Tokens(
        prompt=sum(completion.usage.prompt for completion in paid),
        completion=sum(completion.usage.completion for completion in paid),
        reasoning=sum(completion.usage.reasoning for completion in paid),
    )
    return Spent(
        answers=len(listed),
        cached=len(listed) - len(paid),
        # A backend that does not count reports zeros, and no real answer takes none.
        uncounted=sum(not (completion.usage.prompt or completion.usage.completion) for completion in paid),
        tokens=tokens,
        cost=cost_of(tokens.prompt, tokens.completion, price),
    )


def price_of(provenance: Mapping[str, object]) -> Mapping[str, object]:
    """The price of tokens on the day of a run; empty when it is not known."""
    price = provenance.get("price")
    return price if isinstance(price, Mapping) else {}


def cost_of(prompt_tokens: int, completion_tokens: int, price: Mapping[str, object]) -> Cost | None:
    """An amount and its currency; None when the price is not known. Reasoning is part of the completion tokens."""
    given, taken = price.get("input"), price.get("output")
    if not isinstance(given, int | float) or not isinstance(taken, int | float):
        return None
    amount = (prompt_tokens * given + completion_tokens * taken) / 1e6
    return Cost(round(amount, 6), str(price.get("currency", "USD")))
