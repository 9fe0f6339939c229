"""One run: ask the model, judge the answers, keep every sample, resume where it stopped.

See :func:`run`; the work itself is done by :mod:`npukernelbench.schedule`.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from npukernelbench.generate.ask import make_backend
from npukernelbench.judge.executor import make_executor, prepare, require_track
from npukernelbench.nouns import Outcome, Owner, Sample, SampleKey, Stage, Track
from npukernelbench.nouns.codec import dumps
from npukernelbench.provenance import asked_for, identity, provenance
from npukernelbench.schedule import Problem, Schedule, problems_by_key
from npukernelbench.selective import leave_out
from npukernelbench.store import Manifest, RunStore
from npukernelbench.store.files import replace_json

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.generate.backend import SamplingParams
    from npukernelbench.plugins import Plugins
    from npukernelbench.tasks import Selected

__all__ = ["RunContext", "RunObserver", "RunPlan", "RunSummary", "fingerprint", "run"]

#: The resolved configuration beside the results.
CONFIG_NAME = "config.json"


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run does. ``directory`` is the run's own folder; the same plan in the same folder resumes. ``hidden`` is
    the salted hash of the secret that hidden cases were drawn from, empty without one."""

    tasks: tuple[Selected, ...]
    track: Track
    model: str
    model_args: Mapping[str, object]
    executor: str
    executor_args: Mapping[str, object]
    samples: int
    params: SamplingParams
    prompt_style: str
    parser: str
    seed: int
    jobs: int
    compile_timeout_s: float
    run_timeout_s: float
    predict_only: bool
    directory: Path
    config: Config
    hidden: str = ""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What hooks are told about the run they are called for."""

    run_id: str
    directory: Path
    plan: RunPlan
    provenance: Mapping[str, object]


class RunObserver(Protocol):
    """Watches a run, for a progress display. Every method is called from the thread that called :func:`run`."""

    def started(self, total: int, done: int) -> None:
        """The run has ``total`` samples, ``done`` of which were finished before."""
        ...

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """A sample enters a stage."""
        ...

    def finished(self, sample: Sample) -> None:
        """A sample has its verdict and is on disk (with ``predict_only``: its completion is)."""
        ...

    def message(self, text: str) -> None:
        """Something worth a line of text happened."""
        ...


@dataclass(frozen=True, slots=True)
class RunSummary:
    """How a run ended. ``total`` counts samples; ``valid`` those that are not the fault of infrastructure, task or
    user.

    ``results`` is what ``results.json`` holds; empty with ``predict_only``, where ``generated`` counts stored
    completions.
    """

    directory: Path
    total: int
    by_outcome: Mapping[Outcome, int]
    valid: int
    ok: int
    results: Mapping[str, object]
    generated: int = 0


def fingerprint(plan: RunPlan) -> str:
    """16 hex digits, equal for plans that ask for the same; ``directory``, ``jobs``, ``predict_only`` take no part."""
    return hashlib.sha256(dumps(asked_for(plan)).encode()).hexdigest()[:16]


def run(plan: RunPlan, plugins: Plugins, observer: RunObserver) -> RunSummary:
    """Run ``plan`` to its end, or resume it.

    Raises UsageError (names, arguments and tracks that do not fit), TaskError, StoreError, and BackendError when the
    model cannot be asked at all; whatever was finished before is on disk by then. KeyboardInterrupt leaves a resumable
    run.
    """
    with ExitStack() as stack:
        executor = make_executor(plugins.executors.find(plan.executor), plan.executor_args)
        stack.callback(executor.close)
        require_track(executor, plan.track)
        backend = make_backend(plugins.backends.find(plan.model), plan.model_args)
        kept, left_out = leave_out(plan.tasks, plan.track, (executor, backend))
        plan = replace(plan, tasks=kept)
        for reason, names in sorted(left_out.items()):
            observer.message(f"left out, {reason}: {_listing(names)}")
        problems = _problems(plan, plugins)
        prompts = {(problem.task.name, problem.case_id): problem.prompt for problem in problems}
        manifest = Manifest(identity(plan, backend, executor, prompts), provenance(plugins, left_out))
        store = stack.enter_context(RunStore.open(plan.directory, manifest))
        replace_json(plan.directory / CONFIG_NAME, _settings(plan.config))
        context = RunContext(store.manifest.run_id, plan.directory, plan, store.manifest.provenance)
        plugins.notify("on_run_start", context=context)
        samples = problems_by_key(problems, plan.samples)
        if not plan.predict_only and samples.keys() - store.finished():
            prepare(executor, observer.message, plan.track)
        Schedule(plan, plugins, observer, context, store, executor, samples).work(backend)
        summary = _summarise(plan, store, samples)
        plugins.notify("on_run_end", context=context, summary=summary)
        return summary


def _problems(plan: RunPlan, plugins: Plugins) -> tuple[Problem, ...]:
    """Every problem of the plan with its prompt rendered."""
    from npukernelbench.prompts import load_style
    from npukernelbench.tasks import load_registry

    config = plan.config
    style = load_style(
        plugins.prompts.find(plan.prompt_style),
        cache(lambda: load_registry(plugins, config.include_path, cache_dir=config.cache_dir)),
    )
    found = []
    for one in plan.tasks:
        groups = [(case,) for case in one.cases] if plan.track is Track.STATIC else [one.cases]
        for cases in groups:
            prompt = style.render(one.task, cases[0] if plan.track is Track.STATIC else None, plan.track)
            found.append(Problem(one.task, cases, plan.track, prompt))
    return tuple(found)


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
        return RunSummary(plan.directory, len(keys), {}, 0, 0, {}, generated)
    from npukernelbench.report.results import summarise

    outcomes: Counter[Outcome] = Counter()
    owners: Counter[Owner] = Counter()

    def counted() -> Iterator[Sample]:
        stored = store.samples()
        for key in keys:
            sample = stored[key]
            if sample.verdict is not None:
                outcomes[sample.verdict.outcome] += 1
                owners[sample.verdict.owner] += 1
            yield sample

    results = summarise(store.manifest, counted())
    store.write_results(results)
    by_outcome = {outcome: outcomes[outcome] for outcome in Outcome if outcomes[outcome]}
    valid = owners[Owner.MODEL] + owners[Owner.NONE]
    return RunSummary(plan.directory, len(keys), by_outcome, valid, outcomes[Outcome.OK], results)
