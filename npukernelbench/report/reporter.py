"""Reporters: ways of presenting a finished run, registered by name through ``register_reporters``.

A :class:`Reporter` renders text, piece by piece; a :class:`FileReporter` writes what is not one text. Both are handed
the run as it is stored, with every prompt, answer and verdict, and its results. ``npukb report`` prints the former,
``npukb export`` writes either.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from npukernelbench.console import Console
from npukernelbench.errors import PluginError, UsageError
from npukernelbench.report.table import READABLE, Prose, Table, draw_tables
from npukernelbench.store.files import writing

if TYPE_CHECKING:
    from npukernelbench.nouns.results import Results
    from npukernelbench.plugins import Registration
    from npukernelbench.store import StoredRun

__all__ = ["FileReporter", "Piece", "Reporter", "draw", "load_reporter", "show", "write"]

#: One or several lines of text without the last line break, or a table, which terminals show in colours.
Piece: TypeAlias = "str | Table"

#: Files of a run folder that no reporter may write to.
_RUN_FILES = frozenset({"manifest.json", "events.jsonl", "index.sqlite", "results.json", "config.json", ".lock"})
_NO_FILES = _RUN_FILES | {"", ".", ".."}


@runtime_checkable
class Reporter(Protocol):
    """Renders a run as text. ``file_name`` is what ``npukb export`` calls the file beside the run's results."""

    file_name: str

    def render(self, run: StoredRun, results: Results) -> Iterable[Piece]:
        """The text, in pieces, so that a long one need not be in memory as a whole."""
        ...


@runtime_checkable
class FileReporter(Protocol):
    """Writes a run as something other than one text. ``file_name`` is the file or folder beside the run's results."""

    file_name: str

    def write(self, run: StoredRun, results: Results, target: Path) -> Sequence[Path]:
        """Write to ``target``, whose parent exists, and return the files that were written."""
        ...


def load_reporter(registration: Registration) -> Reporter | FileReporter:
    """The reporter behind a name. PluginError when it is none, or would write over a file of the run."""
    target = registration.load()
    # A protocol that is checked at run time looks at names only; arguments that do not fit show when it is called.
    if not isinstance(target, Reporter | FileReporter):
        raise PluginError(
            f"the reporter {registration.name!r} of {registration.origin} lacks file_name, or render and write",
            remedy="give it file_name and render(run, results) -> text; see docs/plugins.md",
        )
    # A plugin's reporter must not write outside of the run's folder.
    if target.file_name in _NO_FILES or Path(target.file_name).name != target.file_name:
        raise PluginError(
            f"the reporter {registration.name!r} of {registration.origin} cannot write to {target.file_name!r}",
            remedy="choose a plain file name that is none of the run's own files",
        )
    return target


def show(reporter: Reporter | FileReporter, name: str, run: StoredRun, results: Results, console: Console) -> None:
    """Print what the reporter renders, or write what cannot be shown and print where it is."""
    # A plugin may offer both: what can be shown is shown.
    if isinstance(reporter, Reporter):
        draw(reporter.render(run, results), console)
    else:
        console.out(str(write(reporter, name, run, results)[0]))


def draw(pieces: Iterable[Piece], console: Console) -> None:
    """Pieces on standard output. In a terminal prose is broken between words; nothing else is."""
    width = console.width
    for piece in pieces:
        if isinstance(piece, Table):
            draw_tables(console, [piece])
        elif isinstance(piece, Prose) and width is not None:
            for line in wrap(piece, min(width, READABLE), subsequent_indent="  ") or [""]:
                console.out(line)
        else:
            console.out(piece)


def write(
    reporter: Reporter | FileReporter, name: str, run: StoredRun, results: Results, target: Path | None = None
) -> Sequence[Path]:
    """Write what the reporter makes to ``target``, or beside the run's results; return the files."""
    path = target or run.directory / reporter.file_name
    # Resolved, since a link or another spelling may lead there as well.
    if path.resolve().parent == run.directory.resolve() and path.name in _RUN_FILES:
        raise UsageError(f"{path} is a file of the run itself", field="--output_path", remedy="choose another name")
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(reporter, FileReporter):
            return reporter.write(run, results, path)
        with path.open("w", encoding="utf-8") as file:
            # An empty environment: FORCE_COLOR is meant for a terminal and not for a file.
            plain = Console(stdout=file, stderr=StringIO(), environ={})
            show(reporter, name, run, results, plain)
    return (path,)
