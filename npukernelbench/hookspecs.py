"""The hooks a plugin may implement. One function per hook; ``register`` callables take lazy targets
(``"module:attr"``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import click

    from npukernelbench.config import Config
    from npukernelbench.nouns import Sample
    from npukernelbench.plugins.registry import Register
    from npukernelbench.run.plan import RunContext, RunSummary

hookspec = pluggy.HookspecMarker("npukernelbench")
hookimpl = pluggy.HookimplMarker("npukernelbench")

#: Version of this interface. A plugin may state what it needs: ``NPUKB_PLUGIN_API = ">=1,<2"``.
API_VERSION = 1


@hookspec
def register_backends(register: Register) -> None:
    """Offer ways of asking a model: ``register("my-model", "my_package:MyBackend")``."""


@hookspec
def register_executors(register: Register) -> None:
    """Offer ways of compiling and running kernels: ``register("twin", "npukb_twin.executor:TwinExecutor")``."""


@hookspec
def register_tasks(register: Register) -> None:
    """Offer folders of task files: ``register("my-suite", Path(...))``."""


@hookspec
def register_prompts(register: Register) -> None:
    """Offer prompt styles: ``register("my-style", "my_package:MyPromptStyle")``."""


@hookspec
def register_parsers(register: Register) -> None:
    """Offer ways of taking code out of an answer: ``register("my-format", "my_package:extract")``."""


@hookspec
def register_strategies(register: Register) -> None:
    """Offer ways from a model's answers to a kernel: ``register("my-way", "my_package:MyStrategy")``."""


@hookspec
def register_goldens(register: Register) -> None:
    """Offer ways of making golden kernels that task files may name: ``register("my-dsl", "my_package:MyMaker")``."""


@hookspec
def register_repositories(register: Register) -> None:
    """Offer ways of reading repositories of kernels: ``register("my-suite", "my_package:MyRepository")``."""


@hookspec
def register_importers(register: Register) -> None:
    """Offer ways of making tasks of others' suites: ``register("my-suite", "my_package:MyImporter")``."""


@hookspec
def register_rules(register: Register) -> None:
    """Offer a benchmark's rules: ``register("my-benchmark", "my_package:RULES")``."""


@hookspec
def register_checkers(register: Register) -> None:
    """Offer numeric policies: ``register("my-policy", "my_package:check")``."""


@hookspec
def register_guards(register: Register) -> None:
    """Offer static checks of a candidate's source: ``register("my-guard", "my_package:guard")``."""


@hookspec
def register_metrics(register: Register) -> None:
    """Offer per-sample numbers computed from a verdict: ``register("my-metric", "my_package:metric")``."""


@hookspec
def register_reporters(register: Register) -> None:
    """Offer ways of presenting a finished run: ``register("my-report", "my_package:render")``."""


@hookspec
def register_commands(cli: click.Group) -> None:
    """Add commands to ``npukb``."""


@hookspec(historic=True)
def npukb_configure(config: Config) -> None:
    """Called once with the resolved configuration, also for plugins that register later."""


@hookspec
def on_run_start(context: RunContext) -> None:
    """A run begins or resumes."""


@hookspec
def on_sample_end(context: RunContext, sample: Sample) -> None:
    """A sample has its verdict and is on disk."""


@hookspec
def on_run_end(context: RunContext, summary: RunSummary) -> None:
    """Every sample of the run has its verdict."""
