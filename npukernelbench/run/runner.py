"""One run: ask the model, judge the answers, keep every sample, resume where it stopped.

See :func:`run`; the work itself is done by :mod:`npukernelbench.run.schedule`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from npukernelbench.generate.backend import Furnished
from npukernelbench.generate.strategy import load_strategy
from npukernelbench.judge.executor import prepare
from npukernelbench.nouns import Outcome, Owner, SampleKey, Track
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.run.parties import parties
from npukernelbench.run.plan import RunContext, RunObserver, RunPlan, RunSummary
from npukernelbench.run.prices import find_price
from npukernelbench.run.provenance import asked_for, asked_how, identity, provenance
from npukernelbench.run.reuse import take_over
from npukernelbench.run.schedule import Problem, Schedule, problems_by_key
from npukernelbench.run.turns import settled, spoken_for
from npukernelbench.seed import draw_secret
from npukernelbench.store import Manifest, RunStore
from npukernelbench.store.files import replace_json
from npukernelbench.store.manifest import MANIFEST_NAME, read_manifest

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.generate.backend import Backend
    from npukernelbench.plugins import Plugins

__all__ = ["RunContext", "RunObserver", "RunPlan", "RunSummary", "fingerprint", "problems_of", "run"]

#: The resolved configuration beside the results.
CONFIG_NAME = "config.json"


def fingerprint(plan: RunPlan) -> str:
    """16 hex digits, equal for plans that ask for the same; ``directory``, ``jobs``, ``predict_only`` and the
    model's arguments that only say how it is asked take no part."""
    return hashlib.sha256(dumps(asked_for(plan)).encode()).hexdigest()[:16]


def run(plan: RunPlan, plugins: Plugins, observer: RunObserver) -> RunSummary:
    """Run ``plan`` to its end, or resume it.

    Raises UsageError (names, arguments and tracks that do not fit), TaskError, StoreError, and BackendError when the
    model cannot be asked at all; whatever was finished before is on disk by then. KeyboardInterrupt leaves a resumable
    run.
    """
    with ExitStack() as stack:
        executor, backend, _, plan, left_out = stack.enter_context(parties(_with_inputs(plan), plugins))
        for reason, names in sorted(left_out.items()):
            observer.message(f"left out, {reason}: {_listing(names)}")
        problems = problems_of(plan, plugins)
        prompts = {(problem.task.name, problem.case_id): problem.prompt for problem in problems}
        manifest = Manifest(identity(plan, backend, executor, prompts), _circumstances(plan, plugins, left_out))
        store = stack.enter_context(RunStore.open(plan.directory, manifest))
        # After opening, which refuses a folder that holds another run.
        replace_json(plan.directory / CONFIG_NAME, _settings(plan.config))
        context = RunContext(store.manifest.run_id, plan.directory, plan, store.manifest.provenance)
        plugins.notify("on_run_start", context=context)
        samples = problems_by_key(problems, plan.samples, plan.shard)
        if plan.reuse:
            for line in take_over(store, samples):
                observer.message(line)
        if plan.shard is not None:
            observer.message(f"shard {plan.shard}: {len(samples)} of {len(problems) * plan.samples} samples")
        schedule = Schedule(plan, plugins, observer, context, store, executor, samples)
        # Not where nothing is left to judge: executors may build their runtime here.
        if not plan.predict_only and schedule.positions():
            prepare(executor, observer.message, plan.track)
        if isinstance(backend, Furnished):
            backend.furnish(schedule.bench)
        schedule.work(_cached(plan, backend))
        summary = replace(_summarise(plan, store, samples), stopped=schedule.stopped)
        plugins.notify("on_run_end", context=context, summary=summary)
        return summary


def _with_inputs(plan: RunPlan) -> RunPlan:
    """The plan with what its inputs are drawn from: as it says, else as its folder says, else a new secret."""
    if plan.inputs is not None:
        return plan
    here = (plan.directory / MANIFEST_NAME).is_file()
    # A folder that is resumed keeps its secret: with another one its samples would have other inputs.
    earlier = read_manifest(plan.directory).identity.get("inputs") if here else None
    return replace(plan, inputs=earlier if isinstance(earlier, int) else draw_secret())


def problems_of(plan: RunPlan, plugins: Plugins) -> tuple[Problem, ...]:
    """Every problem of the plan with its prompt rendered."""
    from npukernelbench.prompts import load_style, make_reference
    from npukernelbench.tasks import load_registry

    config = plan.config
    # Only styles and strategies that show other tasks need the registry, which takes time to read.
    tasks = cache(lambda: load_registry(plugins, config.include_path, cache_dir=config.cache_dir))
    reference = make_reference(plan.knowledge, plugins.executors, plan.executor)
    style = load_style(plugins.prompts.find(plan.prompt_style), tasks, reference, plan.checkout)
    strategy = load_strategy(plugins.strategies.find(plan.strategy), plan.strategy_args)
    problems = []
    for selected in plan.tasks:
        groups = [(case,) for case in selected.cases] if plan.track is Track.STATIC else [selected.cases]
        for cases in groups:
            case = cases[0] if plan.track is Track.STATIC else None
            prompt = strategy.opening(selected.task, case, plan.track, style, tasks)
            problems.append(Problem(selected.task, cases, plan.track, prompt))
    return tuple(problems)


def _circumstances(plan: RunPlan, plugins: Plugins, left_out: Mapping[str, Sequence[str]]) -> dict[str, JSON]:
    """The run's provenance, with the price of its model where one is known."""
    price = find_price(plan.model, plan.model_args, plan.config.prices)
    asked = asked_how(plan)
    return {
        **provenance(plugins, left_out),
        **({"asked_how": asked} if asked else {}),
        **({"price": to_json(price)} if price else {}),
    }


def _cached(plan: RunPlan, backend: Backend) -> Backend:
    """The backend behind a cache, when the user names one."""
    if plan.config.use_cache is None:
        return backend
    from npukernelbench.generate.cache import CachedBackend, backend_facts

    return CachedBackend(backend, plan.config.use_cache, backend_facts(plan.model, backend))


def _listing(names: Sequence[str]) -> str:
    """A few names, and how many there are."""
    if len(names) <= 3:
        return ", ".join(names)
    return f"{', '.join(names[:2])} and {len(names) - 2} other tasks"


def _settings(config: Config) -> dict[str, object]:
    """The resolved configuration with the origin of each value, for whoever opens the folder later."""
    values = config.as_dict()
    return {"settings": {name: {"value": values[name], "origin": config.origin(name)} for name in values}}


def _summarise(plan: RunPlan, store: RunStore, keys: Collection[SampleKey]) -> RunSummary:
    """What the folder holds now; writes ``results.json`` unless the run only predicts."""
    if plan.predict_only:
        generated = len(set(keys) & store.completions().keys())
        return RunSummary(plan.directory, len(keys), {}, 0, 0, None, generated)
    from npukernelbench.report.results import summarise

    outcomes: Counter[Outcome] = Counter()
    owners: Counter[Owner] = Counter()
    stored = store.samples()
    asked = set(keys)
    conversations = spoken_for(stored[key] for key in stored if key.conversation in asked)
    for turns in conversations.values():
        verdict = settled(turns).verdict
        if verdict is not None:
            outcomes[verdict.outcome] += 1
            owners[verdict.owner] += 1
    results = summarise(store.manifest, (sample for turns in conversations.values() for sample in turns))
    store.write_results(results)
    by_outcome = {outcome: outcomes[outcome] for outcome in Outcome if outcomes[outcome]}
    valid = owners[Owner.MODEL] + owners[Owner.NONE]
    return RunSummary(plan.directory, len(keys), by_outcome, valid, outcomes[Outcome.OK], results)
