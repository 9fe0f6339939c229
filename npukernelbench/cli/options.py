"""Options that several commands share, made from the table of settings so that help and configuration agree."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click

from npukernelbench.cli.boundary import App
from npukernelbench.config import Setting, settings

__all__ = [
    "GivenKernel",
    "executor_options",
    "format_option",
    "include_option",
    "json_option",
    "judging_options",
    "kernel_arguments",
    "kernel_options",
    "reporter_option",
    "run_argument",
    "setting_option",
    "setting_options",
    "shared_options",
]

_F = TypeVar("_F", bound=Callable[..., Any])

#: Short spellings and the word for the value in the help text, by setting. Everything else is in the table of settings.
_SHAPES: dict[str, tuple[tuple[str, ...], str]] = {
    "model": (("-M",), "NAME"),
    "model_args": (("-a",), "K=V,…|JSON"),
    "tasks": (("-t",), "NAMES"),
    "track": ((), "static|dynamic|launch"),
    "executor": ((), "NAME"),
    "executor_args": ((), "K=V,…|JSON"),
    "strategy": ((), "NAME"),
    "strategy_args": ((), "K=V,…|JSON"),
    "prompt_style": ((), "NAME"),
    "rules": ((), "NAME"),
    "checkout": ((), "PATH"),
    "knowledge": ((), "style|none|rules|api|full"),
    "parser": ((), "NAME"),
    "num_samples": (("-n", "--repeats"), "N"),
    "turns": ((), "N"),
    "hints": ((), "none|outcome|diagnostics|full"),
    "limit": (("-L",), "N|FRACTION"),
    "samples": (("-E",), "JSON"),
    "shard": ((), "I/N"),
    "gen_kwargs": ((), "K=V,…|JSON"),
    "use_cache": (("-c",), "FILE"),
    "prices": ((), "FILE"),
    "max_cost": ((), "AMOUNT"),
    "max_tokens_total": ((), "N"),
    "max_time_s": ((), "SECONDS"),
    "seed": ((), "N"),
    "hidden_seed": ((), "SECRET"),
    "jobs": (("-j",), "N"),
    "compile_timeout_s": ((), "SECONDS"),
    "run_timeout_s": ((), "SECONDS"),
    "output_path": (("-o",), "FOLDER"),
    "include_path": ((), "FOLDER"),
    "fail_under": ((), "METRIC=VALUE|FRACTION"),
}
_REPEATABLE = ("tasks", "include_path")


#: Where headers of a candidate lie that are not beside its sources.
include_option = click.option(
    "--include",
    "include",
    metavar="DIR",
    multiple=True,
    help="Folder of headers that FILE includes; repeatable. What is included becomes part of the candidate.",
)


def setting_option(name: str, *, flag: bool = False, also: tuple[str, ...] = ()) -> Callable[[_F], _F]:
    """The option of one setting, ``also`` under other names. Its value is text, for ``config.resolve`` to read."""
    setting = next(setting for setting in settings() if setting.name == name)
    if flag:
        # None, so that a flag that is not given leaves the setting to the file and the environment.
        # The short name is that of lm-eval's option, which does the same.
        return click.option(setting.option, "-x", name, is_flag=True, default=None, help=setting.help)
    short, metavar = _SHAPES[name]
    return click.option(
        setting.option,
        *short,
        *also,
        name,
        metavar=metavar,
        multiple=name in _REPEATABLE,
        help=setting.help + _default(setting),
    )


def setting_options(*names: str) -> Callable[[_F], _F]:
    """The options of several settings, in this order."""

    def decorate(function: _F) -> _F:
        # click lists the option first that is applied last.
        for name in reversed(names):
            function = setting_option(name)(function)
        return function

    return decorate


def shared_options(function: _F) -> _F:
    """What every command that looks at the installation takes: configuration file, task folders, plugins, verbosity."""
    for decorate in reversed(
        (
            click.option(
                "--config",
                "-C",
                "config_file",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="Configuration file.  [default: npukb.yaml if it exists]",
            ),
            setting_option("include_path"),
            click.option("-p", "plugin_switches", metavar="no:NAME", multiple=True, help="Leave a plugin out."),
            click.option("--no_plugins", is_flag=True, help="Load no plugin at all, not even our own."),
            verbosity_option,
        )
    ):
        function = decorate(function)
    return function


def verbosity_option(function: _F) -> _F:
    """``-v [LEVEL]``, which takes effect at once."""
    return click.option(
        "--verbosity",
        "-v",
        metavar="[LEVEL]",
        type=click.Choice(["debug", "info", "warning", "error", "critical"], case_sensitive=False),
        expose_value=False,
        is_eager=True,
        callback=_set_verbosity,
        help="Show log records of LEVEL and above; without LEVEL all of them, and tracebacks.  [default: warning]",
    )(function)


def executor_options(function: _F) -> _F:
    """Which executor judges, and its arguments; ``--soc``, ``--checker`` and ``--sandbox`` are short for its arguments
    of those names.
    """
    for decorate in reversed(
        (
            setting_option("executor"),
            setting_option("executor_args"),
            click.option("--soc", metavar="NAME", help="Machine to judge for; the same as --executor_args soc=NAME."),
            click.option(
                "--checker",
                type=click.Choice(["off", "fast", "full"]),
                help="How much the twin checks; the same as --executor_args checker=….",
            ),
            click.option(
                "--sandbox",
                type=click.Choice(["auto", "strict", "off"]),
                help="How kernels and compilers are confined; the same as --executor_args sandbox=….",
            ),
            setting_option("compile_timeout_s"),
            setting_option("run_timeout_s"),
        )
    ):
        function = decorate(function)
    return function


def json_option(function: _F) -> _F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")(function)


def format_option(*forms: str) -> Callable[[_F], _F]:
    """``--format`` for tables; the first form is the default."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(forms),
        default=forms[0],
        show_default=True,
        help="How to present it.",
    )


def judging_options(function: _F) -> _F:
    """What every command that judges and prints takes: the executor's options, ``--json``, the shared ones."""
    return executor_options(json_option(shared_options(function)))


#: The folder of a run.
run_argument = click.argument("directory", metavar="FOLDER", type=click.Path(path_type=Path))


def reporter_option(default: str, text: str) -> Callable[[_F], _F]:
    """``--format`` for what reporters offer."""
    return click.option("--format", "form", metavar="NAME", default=default, show_default=True, help=text)


class GivenKernel(NamedTuple):
    """A kernel as a command is given it: the task that it answers, its files, folders of headers, and one case."""

    task: str
    sources: tuple[str, ...]
    include: tuple[str, ...]
    case_id: str | None


def kernel_arguments(case: str) -> Callable[[_F], _F]:
    """``TASK FILE... --case ID`` of a command with :func:`kernel_options`; ``case`` is the help of ``--case``."""

    def decorate(function: _F) -> _F:
        for argument in (
            click.option("--case", "case_id", metavar="ID", help=case),
            click.argument("sources", metavar="FILE...", nargs=-1, required=True),
            click.argument("task"),
        ):
            function = argument(function)
        return function

    return decorate


def kernel_options(*more: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """What every command about a given kernel ends with, ``more`` settings among it. The command is called with the
    :class:`GivenKernel` behind the App.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @click.pass_obj
        @wraps(function)
        def command(
            app: App,
            /,
            task: str,
            sources: tuple[str, ...],
            include: tuple[str, ...],
            case_id: str | None,
            **options: Any,
        ) -> int:
            return function(app, GivenKernel(task, sources, include, case_id), **options)

        return setting_options("track", "seed", "hidden_seed", *more)(judging_options(command))

    return decorate


def _default(setting: Setting) -> str:
    default = setting.default_text.replace("`", "").strip('"')
    return f"  [default: {default}]" if default not in ("none", "") else ""


def _set_verbosity(ctx: click.Context, _: click.Parameter, level: str | None) -> None:
    app: App = ctx.find_object(App) or ctx.obj
    app.set_verbosity(level)
