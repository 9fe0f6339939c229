"""The one place where whatever went wrong becomes a message and an exit code.

Below this function errors are exceptions with an owner; above it there are only text on standard error and a number.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from npukernelbench.cli.translated import lift_language
from npukernelbench.console import Console, ConsoleHandler, Paint
from npukernelbench.errors import NpukbError

__all__ = ["App", "guarded", "show_fault"]

_INTERRUPTED = 130
_PIPE_CLOSED = 141
_UNEXPECTED = 4


@dataclass(slots=True)
class App:
    """What every command is handed: the console, and how much to say.

    ``resumable`` is set once a run has begun, so that an interruption can say how to go on.
    """

    console: Console
    handler: logging.Handler = field(init=False)
    resumable: bool = False

    def __post_init__(self) -> None:
        self.handler = ConsoleHandler(self.console, logging.WARNING)

    @property
    def verbose(self) -> bool:
        """Whether tracebacks are wanted."""
        return self.handler.level <= logging.DEBUG

    def set_verbosity(self, level: str | None) -> None:
        """Show log records from ``level`` (``debug`` … ``critical``) up; None changes nothing."""
        if level:
            self.handler.setLevel(level.upper())
            logging.getLogger("npukernelbench").setLevel(level.upper())


def guarded(argv: Sequence[str], console: Console) -> int:
    """Run a command line and return its exit code; nothing but SystemExit by a signal handler gets past it."""
    app = App(console)
    with _logging(app):
        try:
            language, words = lift_language(argv)
            console.speak(language)
            code = _invoke(words, app)
            # Inside, where a reader that has gone can still be caught; the interpreter's own flush comes after it.
            console.flush()
        except BrokenPipeError:
            _silence_stdout()
            code = _PIPE_CLOSED
        except (KeyboardInterrupt, click.Abort):
            resume = "interrupted; resume with the same command" if app.resumable else "interrupted"
            console.err(f"\n{console.words.text(resume)}")
            code = _INTERRUPTED
        except click.ClickException as error:
            code = _show_click_error(error, console)
        except NpukbError as error:
            _show_error(error, app)
            code = error.exit_code
        except Exception as error:  # noqa: BLE001  this is the boundary
            code = _show_unexpected(error, argv, app)
    return code


def _invoke(argv: list[str], app: App) -> int:
    from npukernelbench.cli.group import build_group

    try:
        with build_group().make_context("npukb", argv, obj=app) as context:
            code = context.command.invoke(context)
    # What --help and --version end with: click makes an exit code of it only in its standalone mode.
    except click.exceptions.Exit as stop:
        return stop.exit_code
    return code if isinstance(code, int) else 0


@contextmanager
def _logging(app: App) -> Iterator[None]:
    """Show log records for as long as the command lasts."""
    root = logging.getLogger()
    harness = logging.getLogger("npukernelbench")
    before = harness.level
    # On the root logger: plugins and libraries log under names of their own.
    root.addHandler(app.handler)
    try:
        yield
    finally:
        root.removeHandler(app.handler)
        harness.setLevel(before)


def _show_click_error(error: click.ClickException, console: Console) -> int:
    context = getattr(error, "ctx", None)
    console.error(console.words.sentence(error.format_message()))
    if context is not None:
        console.err(f"  {console.words.text('see:')} {context.command_path} --help")
    return error.exit_code


def show_fault(error: NpukbError, console: Console) -> None:
    """Say where something is wrong, what, and what to do about it."""
    where = f"{error.location}: " if error.location else ""
    named = f"{error.field}: " if error.field else ""
    console.error(f"{console.paint(where, Paint.PLACE, console.stderr)}{named}{error.message}")
    if error.remedy:
        word = console.paint(console.words.text("remedy:"), Paint.GOOD, console.stderr)
        console.err(f"  {word} {console.words.sentence(error.remedy)}")


def _show_error(error: NpukbError, app: App) -> None:
    console = app.console
    show_fault(error, console)
    if app.verbose:
        console.err(error.detail or "".join(traceback.format_exception(error)).rstrip())
    elif error.detail:
        console.err(f"  {console.words.text('-v shows the traceback')}")


def _show_unexpected(error: Exception, argv: Sequence[str], app: App) -> int:
    console = app.console
    text = "".join(traceback.format_exception(error))
    console.error(f"unexpected {type(error).__name__}: {error}")
    log = _keep(f"npukb {' '.join(_without_secret(argv))}\n\n{text}")
    if app.verbose or log is None:
        console.err(text.rstrip())
    if log is not None:
        sorry = f"Sorry, this is a fault of the harness, not yours. The traceback is in {log}"
        console.err(f"  {console.words.sentence(sorry)}")
    return _UNEXPECTED


def _without_secret(argv: Sequence[str]) -> Iterator[str]:
    """The command line with the secret of hidden cases left out."""
    hide = False
    for word in argv:
        name, equals, _ = word.partition("=")
        # The option may be written with either sign.
        secret = name.replace("-", "_") == "__hidden_seed"
        yield "<redacted>" if hide else f"{name}=<redacted>" if secret and equals else word
        hide = secret and not equals


def _keep(text: str) -> Path | None:
    """Write a crash log to the cache folder, or to the folder for temporary files; None when neither can be written."""
    import tempfile

    # Not from the configuration, whose loading may be what failed.
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "npukernelbench"
    for folder in (Path(os.environ.get("NPUKB_CACHE_DIR") or cache) / "logs", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Only its owner can read what `mkstemp` makes.
            handle, name = tempfile.mkstemp(prefix="npukb-crash-", suffix=".log", dir=folder, text=True)
            with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
                file.write(text)
        except OSError:
            continue
        return Path(name)
    return None


def _silence_stdout() -> None:
    """Point standard output at nothing, so that the interpreter's last flush has nobody to complain to."""
    try:
        descriptor = sys.stdout.fileno()
    # A stream without a descriptor, as callers and tests put in its place, raises one that is both.
    except (OSError, ValueError):
        return
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)
