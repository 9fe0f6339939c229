"""What a run is and how it came about: the manifest's identity and provenance, and the plan's fingerprint.

The identity is everything that decides results and nothing else, so equal identities mean equal results: no paths of
this machine, no credentials, no number of jobs. The provenance is for people who read the results later.
"""

from __future__ import annotations

import hashlib
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from npukernelbench import __version__
from npukernelbench.config.values import redact
from npukernelbench.generate.backend import Described
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.knowledge import Knowledge
from npukernelbench.tasks.rules import Asking, Timing

if TYPE_CHECKING:
    from npukernelbench.generate.backend import Backend
    from npukernelbench.judge.executor import Executor
    from npukernelbench.nouns import Prompt
    from npukernelbench.plugins import Plugins
    from npukernelbench.run.plan import RunPlan
    from npukernelbench.tasks import Selected
    from npukernelbench.tasks.rules import Rules

__all__ = ["asked_for", "asked_how", "identity", "provenance"]

# What computes inputs, references and comparisons, and what reads settings and plugins.
_PACKAGES = ("ml_dtypes", "numpy", "pluggy", "pydantic", "scipy")
_GIT_TIMEOUT_S = 5.0


def asked_for(plan: RunPlan) -> dict[str, JSON]:
    """What the user asked for, as far as it decides results: the part of the identity that needs no plugin."""
    return {
        "model": _folded(plan.model),
        "model_args": redact(to_json({k: v for k, v in plan.model_args.items() if k not in plan.transport})),
        "track": plan.track.value,
        "tasks": {
            selected.task.name: _task(selected)
            # Sorted, as it does not matter in which order tasks were selected.
            for selected in sorted(plan.tasks, key=lambda selected: selected.task.name)
        },
        "parser": _folded(plan.parser),
        "sampling": redact(to_json(plan.params)),
        "samples": plan.samples,
        "seed": plan.seed,
        # A drawn secret differs from run to run: with it no run would be found again by its fingerprint.
        "inputs": "drawn" if plan.inputs is None else plan.inputs,
        "prompt": _asked_style(plan),
        "executor": {"name": _folded(plan.executor), "args": _executor_args(plan)},
        # 60 and 60.0 are the same limit, but not the same JSON.
        "compile_timeout_s": float(plan.compile_timeout_s),
        "run_timeout_s": float(plan.run_timeout_s),
        # The hash of the secret and not the secret: a manifest is published.
        **({"hidden": plan.hidden} if plan.hidden else {}),
        # Left out where it is the usual one, so that runs from before there was a choice stay the same run.
        **({} if plan.strategy == "direct" else {"strategy": _folded(plan.strategy)}),
        **({"strategy_args": redact(to_json(plan.strategy_args))} if plan.strategy_args else {}),
        **({"rules": _rules(plan.rules, plan)} if plan.rules else {}),
        **({"shard": str(plan.shard)} if plan.shard else {}),
        # Hints matter only where there is a second turn.
        **({"turns": plan.turns, "hints": plan.hints.value} if plan.turns > 1 else {}),
    }


def identity(
    plan: RunPlan, backend: Backend, executor: Executor, prompts: Mapping[tuple[str, str], Prompt]
) -> dict[str, JSON]:
    """Everything that decides the run's results. ``prompts`` holds that of every task and case."""
    asked = asked_for(plan)
    described = to_json(dict(backend.describe())) if isinstance(backend, Described) else {}
    style = {
        **_asked_style(plan),
        "templates": sorted({prompt.template for prompt in prompts.values()}),
        "hash": _prompts_hash(prompts),
    }
    machine = {
        "name": executor.name,
        "tier": executor.tier.value,
        "args": _executor_args(plan),
        "description": to_json(dict(executor.describe())),
    }
    return {**asked, "harness": __version__, "backend": described, "prompt": style, "executor": machine}


def provenance(plugins: Plugins, left_out: Mapping[str, Sequence[str]]) -> dict[str, JSON]:
    """The circumstances: versions, plugins, git state of the working directory, what was left out."""
    return {
        "harness": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {name: version for name in _PACKAGES if (version := _version(name))},
        "plugins": [
            {"name": info.name, "distribution": info.distribution, "version": info.version}
            for info in plugins.installed
        ],
        "quarantined": sorted(plugin.name for plugin in plugins.quarantined),
        "git": _git_state(),
        "left_out": {reason: sorted(names) for reason, names in left_out.items()},
    }


def asked_how(plan: RunPlan) -> JSON:
    """The model's arguments that decide no answer: they may change while the run stays the same."""
    return redact(to_json({name: value for name, value in plan.model_args.items() if name in plan.transport}))


def _executor_args(plan: RunPlan) -> JSON:
    """The executor's arguments that decide verdicts."""
    return redact(to_json({k: v for k, v in plan.executor_args.items() if k not in plan.executor_transport}))


def _task(selected: Selected) -> JSON:
    task = selected.task
    return {
        "suite": task.suite,
        "level": task.level,
        "category": task.category,
        "version": task.version,
        "hash": task.content_hash,
        "cases": sorted(case.id for case in selected.cases),
        **({"start": list(task.start)} if task.start else {}),
    }


def _rules(rules: Rules, plan: RunPlan) -> dict[str, JSON]:
    """The rules, and whether results are comparable with the benchmark's: only if models are asked as it asks, too."""
    weights: dict[str, JSON] = {str(level): weight for level, weight in rules.weights.items()}
    asked = (plan.prompt_style, plan.parser)
    # A benchmark's rates are those of its own prompts: the same judge with other prompts is another measurement.
    comparable = isinstance(rules, Asking) and asked == (rules.prompt_style, rules.parser)
    result: dict[str, JSON] = {"name": rules.name, "source": rules.source, "weights": weights, "comparable": comparable}
    if isinstance(rules, Timing):
        result |= {"baseline": rules.baseline, "thresholds": list(rules.thresholds)}
    return result


def _asked_style(plan: RunPlan) -> dict[str, JSON]:
    """How prompts are worded; the level of knowledge where it is not the style's own."""
    level = plan.knowledge
    return {
        "style": _folded(plan.prompt_style),
        **({} if level is Knowledge.STYLE else {"knowledge": level.value}),
    }


def _folded(name: str) -> str:
    """One spelling of a plugin's name."""
    # Registries take both spellings, and one run must not become two by it.
    return name.lower().replace("_", "-")


def _prompts_hash(prompts: Mapping[tuple[str, str], Prompt]) -> str:
    lines: Iterable[str] = (dumps([*key, prompts[key].hash]) for key in sorted(prompts))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _git_state() -> JSON:
    """Commit and whether anything is changed, None outside a repository or without git."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return None
    # Without untracked files: results of runs often lie in the checkout.
    changes = _git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": bool(changes)}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ("git", *arguments), capture_output=True, text=True, timeout=_GIT_TIMEOUT_S, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
