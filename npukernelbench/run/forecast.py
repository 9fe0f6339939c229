"""How much a run would ask and what it may cost, before anything is asked: ``npukb run --dry_run``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import TYPE_CHECKING

from npukernelbench.nouns import Track
from npukernelbench.run.parties import parties
from npukernelbench.run.prices import Price, find_price
from npukernelbench.run.runner import problems_of
from npukernelbench.run.schedule import problems_by_key

if TYPE_CHECKING:
    from npukernelbench.generate.backend import Backend
    from npukernelbench.plugins import Plugins
    from npukernelbench.run.plan import RunPlan

__all__ = ["Forecast", "forecast"]

#: Characters of a prompt per token. Source code takes more tokens than prose.
_CHARACTERS_PER_TOKEN = 3.5
#: Tokens: the longest answer where neither the user nor the backend states one; and, by repair.py's limit, what a model
#: is told between two turns.
ASSUMED_MAX_TOKENS, _FEEDBACK_TOKENS = 8192, 1800

#: What there is a question for.
_ASKED = {
    Track.STATIC: "one per case",
    Track.DYNAMIC: "one per task, for all of its cases",
    Track.LAUNCH: "one per task, for all of its cases",
}


@dataclass(frozen=True, slots=True)
class Forecast:
    """Counts of a run that starts from nothing. Prompt tokens are estimated, answers counted at their longest."""

    problems: int
    samples: int
    requests: int
    prompt_tokens: int
    most_answer_tokens: int
    max_tokens: int
    max_tokens_assumed: bool
    turns: int
    price: Price | None
    track: Track = Track.STATIC

    @property
    def prompt_cost(self) -> float | None:
        """What the prompts cost."""
        return None if self.price is None else self.prompt_tokens * self.price.input / 1e6

    @property
    def most_cost(self) -> float | None:
        """What the run costs when every answer is as long as it may be and no turn succeeds before the last."""
        if self.price is None or self.prompt_cost is None:
            return None
        return self.prompt_cost + self.most_answer_tokens * self.price.output / 1e6

    def as_json(self) -> dict[str, object]:
        """For ``--json``."""
        return {**asdict(self), "track": self.track.value, "prompt_cost": self.prompt_cost, "most_cost": self.most_cost}

    def lines(self) -> list[str]:
        """For a terminal."""
        assumed = ", assumed: state max_tokens in --gen_kwargs" if self.max_tokens_assumed else ""
        lines = [
            f"problems        {self.problems} (a question each: {_ASKED[self.track]})",
            f"samples         {self.samples}",
            f"requests        at most {self.requests}" if self.turns > 1 else f"requests        {self.requests}",
            f"prompt tokens   about {self.prompt_tokens:,} ({_CHARACTERS_PER_TOKEN} characters per token)",
            f"answer tokens   at most {self.most_answer_tokens:,} ({self.max_tokens:,} per answer{assumed})",
        ]
        if self.price is None or self.prompt_cost is None or self.most_cost is None:
            return [*lines, "cost            not known: no price for this model; give a table with --prices"]
        price = self.price
        return [
            *lines,
            f"cost            {self.prompt_cost:.2f} {price.currency} for prompts, at most {self.most_cost:.2f} in all",
            f"price           {price.model}: {price.input} in, {price.output} out per million tokens, {price.date},",
            f"                {price.source}",
        ]


def forecast(plan: RunPlan, plugins: Plugins) -> Forecast:
    """What ``plan`` would ask of a model that has not been asked anything yet."""
    with parties(plan, plugins) as taking_part:
        samples = problems_by_key(problems_of(taking_part.plan, plugins), plan.samples, plan.shard)
    # What the user states wins over the backend's own limit.
    stated = plan.params.max_tokens or _limit_of(taking_part.backend)
    longest = stated or ASSUMED_MAX_TOKENS
    characters = sum(len(message.content) for problem in samples.values() for message in problem.prompt.messages)
    first = ceil(characters / _CHARACTERS_PER_TOKEN)
    # Further turns need a verdict on the one before.
    turns = 1 if plan.predict_only else plan.turns * taking_part.strategy.steps
    # Each prompt repeats the conversation: turn t holds the t - 1 answers before it and what was said of them.
    grown = len(samples) * (longest + _FEEDBACK_TOKENS) * (turns * (turns - 1) // 2)
    return Forecast(
        problems=len({(key.task, key.case) for key in samples}),
        samples=len(samples),
        requests=len(samples) * turns,
        prompt_tokens=first * turns + grown,
        most_answer_tokens=len(samples) * turns * longest,
        max_tokens=longest,
        max_tokens_assumed=not stated,
        turns=turns,
        price=find_price(plan.model, plan.model_args, plan.config.prices),
        track=plan.track,
    )


def _limit_of(backend: Backend) -> int | None:
    """The longest answer that the backend's own arguments allow."""
    # A plugin's backend may have no arguments, or none that are a model of pydantic.
    args = getattr(backend, "args", None)
    fields: Mapping[str, object] = args.model_dump() if args is not None and hasattr(args, "model_dump") else {}
    limit = fields.get("max_tokens")
    return limit if isinstance(limit, int) else None
