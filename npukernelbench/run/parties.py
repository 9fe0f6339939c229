"""Who takes part in a run: the executor, the model and the strategy, and the tasks that all of them take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from npukernelbench.errors import UsageError
from npukernelbench.generate.ask import make_backend
from npukernelbench.generate.strategy import Calling, Strategy, load_strategy
from npukernelbench.judge.executor import Executor, make_executor, require_track
from npukernelbench.run.selective import leave_out

if TYPE_CHECKING:
    from npukernelbench.generate.backend import Backend
    from npukernelbench.plugins import Plugins
    from npukernelbench.run.plan import RunPlan

__all__ = ["Parties", "parties"]


class Parties(NamedTuple):
    """What a plan names, made. ``plan`` has only tasks that all take; ``left_out`` names the others by reason."""

    executor: Executor
    backend: Backend
    strategy: Strategy
    plan: RunPlan
    left_out: Mapping[str, Sequence[str]]


@contextmanager
def parties(plan: RunPlan, plugins: Plugins) -> Iterator[Parties]:
    """The parties of ``plan``; the executor is closed in the end. UsageError when they do not fit the plan."""
    executor = make_executor(plugins.executors.find(plan.executor), plan.executor_args)
    try:
        require_track(executor, plan.track)
        # Not opened and not closed here: `generate.ask.answers` does both.
        backend = make_backend(plugins.backends.find(plan.model), plan.model_args)
        strategy = load_strategy(plugins.strategies.find(plan.strategy), plan.strategy_args)
        if isinstance(strategy, Calling) and not backend.capabilities.tools:
            raise UsageError(
                f"backend {plan.model!r} cannot offer tools to its model, which strategy {plan.strategy!r} needs",
                field="--model",
                remedy="use --model openai with a server that takes tools, or another strategy",
            )
        kept, left_out = leave_out(plan.tasks, plan.track, (executor, backend, strategy))
        yield Parties(executor, backend, strategy, replace(plan, tasks=kept), left_out)
    finally:
        executor.close()
