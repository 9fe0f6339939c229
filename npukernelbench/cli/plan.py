"""From configuration to a run plan: which tasks and cases, which sampling, which folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from npukernelbench.cli.session import Session
    from npukernelbench.config import Config
    from npukernelbench.generate.backend import Preferences, SamplingParams
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.run.plan import RunPlan
    from npukernelbench.tasks import Selected, TaskRegistry
    from npukernelbench.tasks.hidden import HiddenCases
    from npukernelbench.tasks.rules import Rules

__all__ = ["make_plan", "sampling_params", "select_cases"]

_LONGEST_PART = 48


def make_plan(session: Session, inputs: int | None = None) -> RunPlan:
    """The plan that the configuration asks for, in a folder that the same configuration finds again. ``inputs`` is what
    they are drawn from, whatever the configuration says.

    UsageError when model or tasks are missing, when a name is unknown, when ``--limit``, ``--samples`` and
    ``--gen_kwargs`` do not fit, or when shards have no seed in common.
    """
    from npukernelbench.generate.backend import transport_arguments
    from npukernelbench.plugins.arguments import with_arguments
    from npukernelbench.run.plan import RunPlan
    from npukernelbench.run.runner import fingerprint
    from npukernelbench.tasks.rules import under_rules

    config = session.config
    if config.model is None:
        raise UsageError("no model is named", field="--model", remedy="try --model reference; see npukb ls backends")
    plugins, hidden = session.plugins, session.hidden
    backend = plugins.backends.find(config.model)
    # Told before tasks are loaded and shards are named: the commonest slip of all.
    arguments = with_arguments(backend, config.model_args, field="model_args").args
    likes = _preferences(backend)
    rules = _rules(session)
    style, parser = (_chosen(config, name, likes, rules) for name in ("prompt_style", "parser"))
    liked = likes.strategy and config.origin("strategy") == "default"
    strategy = plugins.strategies.find(likes.strategy if liked else config.strategy).name
    executor = session.executor
    judged = with_arguments(executor.registration, config.executor_args, field="executor_args").args
    # Found for the error alone, which would else come when the run has begun.
    for registry, name in (
        (plugins.prompts, style),
        (plugins.parsers, parser),
    ):
        registry.find(name)
    tasks = select_cases(session.tasks, config, hidden)
    if rules is not None:
        tasks = under_rules(tasks, rules)
    # Only hidden cases have a salt: a secret by which none was selected is no part of the run.
    secret = any(case.salt for task in tasks for case in task.cases)
    plan = RunPlan(
        tasks=tasks,
        track=config.track,
        model=config.model,
        model_args=config.model_args,
        executor=executor.registration.name if executor.automatic else config.executor,
        executor_args=config.executor_args,
        samples=config.num_samples,
        params=preferring(sampling_params(config.gen_kwargs), likes.params),
        prompt_style=style,
        knowledge=config.knowledge,
        rules=rules,
        checkout=config.checkout,
        parser=parser,
        seed=config.seed,
        jobs=config.jobs,
        compile_timeout_s=config.compile_timeout_s,
        run_timeout_s=config.run_timeout_s,
        predict_only=config.predict_only,
        directory=config.output_path,
        config=config,
        hidden=hidden.hash if hidden and secret else "",
        turns=config.turns,
        hints=config.hints,
        strategy=strategy,
        strategy_args=config.strategy_args,
        transport=transport_arguments(type(arguments)),
        executor_transport=transport_arguments(type(judged)),
        # Not for shards: which of them asked what must not depend on who was first.
        reuse=config.shard is None,
        inputs=config.input_seed if inputs is None else inputs,
    )
    # Of the plan without its shard, so that all shards of a run have the same print.
    whole = config.output_path / _folder_name(config, strategy, fingerprint(plan))
    return replace(plan, directory=whole) if config.shard is None else _sharded(plan, config.shard, whole)


def _sharded(plan: RunPlan, named: str, whole: Path) -> RunPlan:
    """The plan of one shard, beside the folder of the ``whole`` run."""
    from npukernelbench.nouns import Shard
    from npukernelbench.seed import draw_secret

    if plan.inputs is None:
        raise UsageError(
            "the shards of a run know nothing of each other, and have to draw the same inputs",
            field="--seed",
            remedy=f"give every shard the same secret number, for instance --seed {draw_secret()}",
        )
    shard = Shard.parse(named)
    # The shards of a run stand together and beside it: one pattern names them all for npukb merge.
    return replace(plan, shard=shard, directory=whole.with_name(f"{whole.name}__{shard.index}of{shard.count}"))


def preferring(params: SamplingParams, likes: SamplingParams) -> SamplingParams:
    """``params``, and what the model likes where they leave it open."""
    return replace(
        params,
        temperature=likes.temperature if params.temperature is None else params.temperature,
        top_p=likes.top_p if params.top_p is None else params.top_p,
        max_tokens=params.max_tokens or likes.max_tokens,
        extra={**likes.extra, **params.extra},
    )


def _preferences(backend: Registration) -> Preferences:
    """How the model likes to be asked."""
    from npukernelbench.generate.backend import Preferences

    likes = getattr(backend.load(), "preferences", None)
    return likes if isinstance(likes, Preferences) else Preferences()


def _rules(session: Session) -> Rules | None:
    """The rules that are asked for, read from the checkout where one is named; None for ours."""
    from npukernelbench.tasks.rules import OURS, founded_rules

    config = session.config
    if config.rules != OURS:
        return founded_rules(session.plugins.rules.find(config.rules), config.checkout)
    if config.checkout is not None:
        raise UsageError(
            "our own rules are not read from a checkout",
            field="--checkout",
            remedy="add --rules NAME; see npukb ls rules",
        )
    return None


def _chosen(config: Config, name: str, likes: Preferences, rules: Rules | None) -> str:
    """A setting the user made, else what the rules ask for, else what the model likes, else the default."""
    from npukernelbench.tasks.rules import Asking

    liked = str(getattr(rules if isinstance(rules, Asking) else likes, name))
    return liked if liked and config.origin(name) == "default" else str(config.get(name))


def select_cases(tasks: TaskRegistry, config: Config, hidden: HiddenCases | None = None) -> tuple[Selected, ...]:
    """The tasks of ``--tasks`` (those of ``--samples`` unless given), narrowed by ``--samples`` or ``--limit``.

    ``hidden`` are the hidden cases that may be named beside a task's own, and on the dynamic track belong to them.
    """
    if config.samples and config.limit is not None:
        raise UsageError("--limit and --samples exclude each other", field="--limit", remedy="leave one of them out")
    if not config.samples:
        return tuple(_limited(chosen, config.limit) for chosen in tasks.select(config.tasks, hidden))
    # Names may be spelled in several ways, and tasks are compared by their own.
    wanted = {tasks.select([name])[0].task.name: ids for name, ids in config.samples.items()}
    selected = tasks.select(config.tasks or tuple(config.samples), hidden)
    missing = sorted(wanted.keys() - {chosen.task.name for chosen in selected})
    if missing:
        raise UsageError(
            f"--samples names {', '.join(missing)}, which --tasks leaves out",
            field="--samples",
            remedy="add to --tasks",
        )
    return tuple(
        _picked(chosen, wanted[chosen.task.name], hidden) if chosen.task.name in wanted else chosen
        for chosen in selected
    )


def sampling_params(gen_kwargs: Mapping[str, object]) -> SamplingParams:
    """Sampling parameters out of ``--gen_kwargs``; what is not known by name goes to the backend as it is."""
    from npukernelbench.generate.backend import SamplingParams

    extra = {name: value for name, value in gen_kwargs.items() if name not in _LENGTHS}
    lengths = [gen_kwargs[name] for name in _LENGTHS if name in gen_kwargs]
    if len(lengths) > 1:
        raise UsageError(f"only one of {', '.join(_LENGTHS)} can be given", field="--gen_kwargs")
    length = lengths[0] if lengths else None
    # True and False are integers in Python.
    if length is not None and (not isinstance(length, int) or isinstance(length, bool) or length < 1):
        raise UsageError(
            f"expected a whole number of at least 1, got {length!r}",
            field="--gen_kwargs max_tokens",
            remedy="write for instance --gen_kwargs max_tokens=8192",
        )
    return SamplingParams(
        temperature=_number(extra, "temperature"), top_p=_number(extra, "top_p"), max_tokens=length, extra=extra
    )


#: Spellings of the token limit; the others are lm-eval's and those of model servers.
_LENGTHS = ("max_tokens", "max_gen_toks", "max_new_tokens", "max_completion_tokens")


def _number(values: dict[str, object], name: str) -> float | None:
    """Take a number out of ``values``."""
    value = values.pop(name, None)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise UsageError(
            f"expected a number, got {value!r}",
            field=f"--gen_kwargs {name}",
            remedy=f"write for instance --gen_kwargs {name}=0.8",
        )
    return float(value)


def _limited(selected: Selected, limit: int | float | None) -> Selected:
    """The first cases of a task: ``limit`` of them, or that fraction rounded up."""
    if limit is None:
        return selected
    # Exact: in floating point 0.07 of 100 cases, rounded up, are 8.
    count = ceil(Fraction(str(limit)) * len(selected.cases)) if isinstance(limit, float) else limit
    return replace(selected, cases=selected.cases[:count])


def _picked(selected: Selected, ids: Sequence[str], hidden: HiddenCases | None) -> Selected:
    """The named cases of a task, whether or not ``--tasks`` alone would have taken them."""
    cases = (*selected.task.cases, *(hidden(selected.task) if hidden else ()))
    known = {case.id.lower(): case for case in cases}
    unknown = [case_id for case_id in ids if case_id.lower() not in known]
    if unknown or not ids:
        listed = ", ".join(case.id for case in selected.task.cases[:20])
        what = f"no case {', '.join(map(repr, unknown))}" if unknown else "an empty list of cases"
        raise UsageError(f"task {selected.task.name} has {what}", field="--samples", remedy=f"cases: {listed}")
    wanted = {case_id.lower() for case_id in ids}
    return replace(selected, cases=tuple(case for case in cases if case.id.lower() in wanted))


def _folder_name(config: Config, strategy: str, print_: str) -> Path:
    """``<model>__<tasks>__<8 hexadecimal digits>``, the strategy in between unless it is ``direct``: readable, and
    equal for every spelling of the same command.
    """
    from npukernelbench.tasks.select import fold

    named = config.model_args.get("model")
    model = f"{config.model}-{named}" if isinstance(named, str) and named else str(config.model)
    tasks = "-".join(sorted({fold(word) for word in config.tasks or config.samples}))
    between = () if strategy == "direct" else (_plain(strategy),)
    return Path("__".join((_plain(model), *between, _plain(tasks), print_[:8])))


def _plain(text: str) -> str:
    """Characters that every file system takes, not too many of them."""
    # A name of nothing but signs would leave an empty one.
    return re.sub(r"[^A-Za-z0-9.+-]+", "-", text).strip("-.")[:_LONGEST_PART].rstrip("-.") or "x"
