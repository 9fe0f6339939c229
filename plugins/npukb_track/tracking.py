"""What trackers are told of a run, computed once for all of them; one that fails is left out from then on."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from npukb_track.trackers import TRACKERS, Tracker
from npukernelbench.config.values import redact
from npukernelbench.nouns import Owner
from npukernelbench.nouns.codec import to_json

if TYPE_CHECKING:
    from npukernelbench.nouns import Sample
    from npukernelbench.nouns.results import Results
    from npukernelbench.run.plan import RunContext, RunPlan, RunSummary

__all__ = ["Tracking"]

_log = logging.getLogger(__name__)


class Tracking:
    """One run in the trackers of these names. What keeps one from working is a warning, never the end of a run."""

    def __init__(self, names: Sequence[str], context: RunContext) -> None:
        self._trackers: dict[str, Tracker] = {}
        self._counts: Counter[str] = Counter()
        for name in names:
            if name in TRACKERS:
                self._trackers[name] = TRACKERS[name]()
            else:
                _log.warning("there is no tracker %r; NPUKB_TRACKERS takes %s", name, ", ".join(TRACKERS))
        self._each(lambda tracker: tracker.start(context.run_id, context.directory.name, _facts(context.plan)))

    def judged(self, sample: Sample) -> None:
        """One sample more."""
        if sample.verdict is None or not self._trackers:
            return
        verdict, counts = sample.verdict, self._counts
        counts["judged"] += 1
        counts[f"outcome/{verdict.outcome.value}"] += 1
        # Faults of ours would lower the rates of a model.
        if verdict.owner in (Owner.MODEL, Owner.NONE):
            counts["counted"] += 1
            counts["compiled"] += bool(verdict.metrics.get("compiled"))
            counts["correct"] += bool(verdict.metrics.get("correct"))
        now: dict[str, float] = {name: float(count) for name, count in counts.items()}
        if counts["counted"]:
            now["compile_at_1"] = counts["compiled"] / counts["counted"]
            now["correct_at_1"] = counts["correct"] / counts["counted"]
        self._each(lambda tracker: tracker.log(now, counts["judged"]))

    def ended(self, summary: RunSummary) -> None:
        """The rates with their intervals, and the end."""
        final = _final(summary.results) if summary.results else {}
        self._each(lambda tracker: tracker.finish(final))
        self._trackers = {}

    def _each(self, do: Callable[[Tracker], None]) -> None:
        """Boundary: whatever a tracker raises."""
        # A copy, since a tracker that fails is removed in the loop.
        for name, tracker in list(self._trackers.items()):
            try:
                do(tracker)
            except Exception as error:  # noqa: BLE001
                _log.warning("%s does not track this run: %s: %s", name, type(error).__name__, error)
                del self._trackers[name]


def _facts(plan: RunPlan) -> dict[str, object]:
    """Who is asked what; flat, as all trackers like it."""
    # Arguments of a model may hold keys, and trackers send them to a server.
    arguments = redact(to_json(plan.model_args))
    return {
        "model": plan.model,
        **({f"model_args.{name}": value for name, value in arguments.items()} if isinstance(arguments, dict) else {}),
        "tasks": len(plan.tasks),
        "samples": plan.samples,
        "track": plan.track.value,
        "executor": plan.executor,
        "strategy": plan.strategy,
        "prompt_style": plan.prompt_style,
        "temperature": plan.params.temperature,
        "max_tokens": plan.params.max_tokens,
        "seed": plan.seed,
        "turns": plan.turns,
    }


def _final(results: Results) -> dict[str, float]:
    """Rates over valid samples with their intervals over tasks. MLflow takes no ``@`` in a name."""
    everything = results.aggregates.all
    rates = {"compile_at_1": everything.compile_at_1, "correct_at_1": everything.correct_at_1}
    rates |= {f"pass_at_{k}": shares for k, shares in everything.pass_at_k.items()}
    numbers = {"valid": float(everything.valid), "infra": float(everything.infra)}
    for name, shares in rates.items():
        if (share := shares.valid) is not None:
            numbers |= {f"final/{name}": share.value, f"final/{name}_low": share.low, f"final/{name}_high": share.high}
    return numbers
