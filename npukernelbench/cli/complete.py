"""Completion in bash, zsh and fish: of commands and options by click, of names by asking what is installed.

The shell runs ``npukb`` with a variable set, at every press of the tab key. Whatever goes wrong then is no completion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

__all__ = ["SHELLS", "VARIABLE", "complete", "names", "script"]

SHELLS = ("bash", "zsh", "fish")
#: What the shells set; click's convention.
VARIABLE = "_NPUKB_COMPLETE"

_PROGRAM = "npukb"
#: The registry of plugins behind an option or argument.
_REGISTRIES = {
    "model": "backends",
    "executor": "executors",
    "strategy": "strategies",
    "prompt_style": "prompts",
    "parser": "parsers",
    "form": "reporters",
}
_TASKS = ("task", "tasks")


def complete(group: click.Command, instruction: str, obj: object) -> int:
    """Do what a shell asks: ``bash_complete`` prints candidates, ``bash_source`` the script. The exit code."""
    from click.shell_completion import shell_complete

    return shell_complete(group, {"obj": obj}, _PROGRAM, VARIABLE, instruction)


def script(group: click.Command, shell: str) -> str:
    """What makes ``shell`` ask us."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    # Not source(): bash's would start a bash to look at its version.
    made = kind(group, {}, _PROGRAM, VARIABLE)
    return made.source_template % made.source_vars()


def names(parameter: str) -> _Names | None:
    """What completes the values of a parameter; None where click has nothing to gain from us."""
    if parameter in _TASKS:
        return _Names(_task_names)
    if parameter in _REGISTRIES:
        return _Names(partial(_registered, _REGISTRIES[parameter]))
    return None


class _Names:
    """Completes a list of names with commas. Upper and lower case, ``_`` and ``-`` are alike."""

    def __init__(self, candidates: Callable[[], Iterable[tuple[str, str]]]) -> None:
        self._candidates = candidates

    def __call__(self, _context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Boundary: the candidates that begin like the last word; none when they cannot be had."""
        from click.shell_completion import CompletionItem

        done, comma, word = incomplete.rpartition(",")
        try:
            return [
                CompletionItem(f"{done}{comma}{name}", help=text)
                for name, text in self._candidates()
                if _alike(name).startswith(_alike(word))
            ]
        except Exception:  # noqa: BLE001  a shell has no place for a message
            return []


def _registered(kind: str) -> Iterable[tuple[str, str]]:
    from npukernelbench.plugins import Plugins

    registrations = getattr(Plugins.load(), kind)
    return [(name, registration.description) for name, registration in registrations.items()]


def _task_names() -> Iterable[tuple[str, str]]:
    from npukernelbench.cli.session import open_session

    tasks = open_session({}).tasks
    yield "smoke", "one small case of every task"
    for level in sorted({task.level for task in tasks.values()}):
        yield f"level{level}", "all tasks of this level"
    for name, task in tasks.items():
        yield name, f"level {task.level}, {task.category}"


def _alike(name: str) -> str:
    return name.lower().replace("_", "-")
