"""``npukb rejudge``: the answers of an earlier run before a judge again, without asking a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import executor_options, json_option, run_argument, setting_options, shared_options
from npukernelbench.cli.run import execute
from npukernelbench.cli.session import open_session
from npukernelbench.errors import StoreError, UsageError

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["command"]


@click.command(
    "rejudge",
    cls=Command,
    lists=("--executor_args", "--strategy_args"),
    short_help="Judge the answers of a run again, without its model.",
)
@run_argument
@setting_options("strategy", "strategy_args", "parser", "rules", "checkout", "hidden_seed")
@executor_options
@setting_options("jobs", "output_path", "fail_under")
@json_option
@shared_options
@click.pass_obj
def command(app: App, /, directory: Path, as_json: bool, **options: Any) -> int:
    """Judge the answers of the run in FOLDER again: with another strategy, parser, executor, machine, checker or other
    rules, or after the tasks or the harness have changed.

    Options that are not given keep the values of that run, and its inputs are drawn again. Its folder is not changed;
    the new run has its own.
    """
    from npukernelbench.report.finding import only_run
    from npukernelbench.store import read_run

    directory = only_run(directory)
    earlier = _as_it_was(read_run(directory), directory)
    if earlier.pop("hidden", None) and not options.get("hidden_seed"):
        raise UsageError(
            "the run judged hidden cases, and their secret is not stored",
            field="--hidden_seed",
            remedy="give the same secret again",
        )
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    if "strategy" in given:
        del earlier["strategy_args"]  # they are those of the other strategy
    inputs = earlier.pop("inputs")
    assert isinstance(inputs, int)
    return execute(app, open_session({**earlier, **given}), as_json, inputs)


def _as_it_was(run: StoredRun, directory: Path) -> dict[str, object]:
    """The settings of a run out of its identity, with its answers in place of its model."""
    identity = run.manifest.identity
    tasks, executor, prompt = (_mapping(identity, name, directory) for name in ("tasks", "executor", "prompt"))
    if not run.completions and not any(sample.completion for sample in run.samples.values()):
        raise UsageError(f"the run in {directory} holds no answers yet", field="FOLDER", remedy="run it first")
    return {
        "model": "replay",
        "model_args": {"path": str(directory)},
        "samples": {name: _mapping(tasks, name, directory)["cases"] for name in tasks},
        "track": identity["track"],
        "num_samples": identity["samples"],
        "seed": identity["seed"],
        "inputs": identity.get("inputs", identity["seed"]),  # of runs before secrets were drawn: the seed
        "parser": identity["parser"],
        "prompt_style": prompt["style"],
        "rules": _mapping(identity, "rules", directory)["name"] if "rules" in identity else "default",
        # Defaults are for manifests of earlier versions, which lack these fields.
        "knowledge": prompt.get("knowledge", "style"),
        "executor": executor["name"],
        "executor_args": executor["args"],
        "compile_timeout_s": identity["compile_timeout_s"],
        "run_timeout_s": identity["run_timeout_s"],
        "hidden": identity.get("hidden"),
        "shard": identity.get("shard"),
        "turns": identity.get("turns", 1),
        "hints": identity.get("hints", "diagnostics"),
        "strategy": identity.get("strategy", "direct"),
        "strategy_args": identity.get("strategy_args", {}),
    }


def _mapping(holder: Mapping[str, object], name: str, directory: Path) -> Mapping[str, object]:
    result = holder.get(name)
    if not isinstance(result, Mapping):
        raise StoreError(f"the manifest in {directory} has no {name!r}", remedy="restore the manifest of this run")
    return result
