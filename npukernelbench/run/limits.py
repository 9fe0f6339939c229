"""What a run may spend before it stops: money and tokens over all sessions of its folder, time of this one.

A limit is looked at when an answer comes. What is under way at the model is then given up, what has been answered is
judged (not when time is up) and kept, and the same command with a higher limit continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.nouns import Completion
from npukernelbench.run.prices import find_price

if TYPE_CHECKING:
    from npukernelbench.run.plan import RunPlan

__all__ = ["Spending"]


class Spending:
    """What has been spent, and whether that is enough. Answers out of a cache cost nothing."""

    def __init__(
        self, plan: RunPlan, earlier: Iterable[Completion], clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``earlier`` are the answers that the folder holds. UsageError for a limit on costs without a price."""
        config = plan.config
        self._most_cost, self._most_tokens, self._most_s = config.max_cost, config.max_tokens_total, config.max_time_s
        self._price = find_price(plan.model, plan.model_args, config.prices)
        if self._most_cost is not None and self._price is None:
            raise UsageError(
                f"the price of {plan.model_args.get('model') or plan.model} is not known",
                field="--max_cost",
                remedy="give a table with --prices FILE, or a limit on tokens: --max_tokens_total",
            )
        # From the construction on: building the runtime counts as time of this session, too.
        self._clock, self._begun = clock, clock()
        self._prompt = self._completion = 0
        counted = self._most_cost is not None or self._most_tokens is not None
        # Each is read from the disk, so only where a limit needs it.
        for completion in earlier if counted else ():
            self.add(completion)

    def add(self, completion: Completion) -> None:
        """One more answer."""
        if not completion.cached:
            self._prompt += completion.usage.prompt
            self._completion += completion.usage.completion

    @property
    def left_s(self) -> float | None:
        """Seconds to the limit on time, None without one."""
        return None if self._most_s is None else max(0.0, self._begun + self._most_s - self._clock())

    @property
    def out_of_time(self) -> bool:
        """Whether nothing more may be begun, not even a judgement."""
        return self.left_s == 0.0

    def reached(self) -> str:
        """Which limit is reached, in words; empty while none is."""
        tokens = self._prompt + self._completion
        # Time first: it also stops judging, which the other limits do not.
        if self.out_of_time:
            return f"--max_time {self._most_s:g} s"
        if self._most_tokens is not None and tokens >= self._most_tokens:
            return f"--max_tokens_total {self._most_tokens} ({tokens} tokens so far)"
        if self._most_cost is not None and self._price is not None:
            # Prices are per million tokens.
            cost = (self._prompt * self._price.input + self._completion * self._price.output) / 1e6
            if cost >= self._most_cost:
                return f"--max_cost {self._most_cost:g} {self._price.currency} ({cost:.4g} so far)"
        return ""
