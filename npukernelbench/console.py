"""The one place that prints. Results go to standard output, everything else to standard error.

A :class:`Console` knows whether its streams are terminals, whether colour is wanted (``NO_COLOR``, ``FORCE_COLOR``)
and which characters the stream can carry; what it is given is plain text, :class:`Paint` ed spans of it, or a rich
renderable. rich is imported only when something is drawn with it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, TextIO

from npukernelbench.language import ENGLISH, Words, chosen, from_environment, load_words
from npukernelbench.language.cells import cells, wrap

if TYPE_CHECKING:
    from rich.console import Console as RichConsole

__all__ = ["Console", "ConsoleHandler", "Paint"]

#: What to write where a stream cannot carry the character.
_ASCII = str.maketrans(
    {"✓": "+", "✗": "x", "○": "o", "·": "-", "…": "...", "—": "-", "–": "-", "−": "-", "─": "-", "→": "->"}
    | {"µ": "u", "×": "x", "≥": ">=", "≤": "<=", "\u00a0": " "}
)


class Paint(str, Enum):
    """What a span of text means; the value is its terminal escape code."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    GOOD = "32"
    BAD = "1;31"
    WARN = "33"
    PLACE = "36"


class Console:
    """Standard output and standard error of one command.

    ``stdout`` and ``stderr`` default to whatever ``sys`` holds at the time of writing, so that tests may replace them.
    """

    def __init__(
        self,
        *,
        stdout: TextIO | None = None,
        stderr: TextIO | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._environ = os.environ if environ is None else environ
        self.words: Words = ENGLISH

    def speak(self, language: str | None = None) -> None:
        """Say help and remedies in ``language``, by default that of the environment; in English where a stream cannot
        carry its characters. UsageError for a language that there is none of.
        """
        words = load_words(from_environment(self._environ) if language is None else chosen(language))
        self.words = words if all(_carries(stream, words) for stream in (self.stdout, self.stderr)) else ENGLISH

    @property
    def stdout(self) -> TextIO:
        """Where results go."""
        return self._stdout or sys.stdout

    @property
    def stderr(self) -> TextIO:
        """Where progress, warnings and errors go."""
        return self._stderr or sys.stderr

    def out(self, text: str = "") -> None:
        """Write a line of results."""
        _write(self.stdout, text + "\n")

    def tell(self, text: str = "") -> None:
        """Write results in words: a terminal gets them broken between words, quoted source code as it is."""
        _write(self.stdout, "\n".join(_folded(text, self.width)) + "\n")

    def err(self, text: str = "") -> None:
        """Write a line that is no result, in a terminal broken between words; several lines stay as they are."""
        width = None if "\n" in text else _width(self.stderr)
        _write(self.stderr, "\n".join(_folded(text, width)) + "\n")

    def warn(self, text: str) -> None:
        """Write a warning."""
        self.err(f"{self.paint(self.words.text('warning:'), Paint.WARN, self.stderr)} {text}")

    def error(self, text: str) -> None:
        """Write an error."""
        self.err(f"{self.paint(self.words.text('error:'), Paint.BAD, self.stderr)} {text}")

    def json(self, value: object) -> None:
        """Write one JSON value. It must be strict JSON: a NaN is an error of the caller."""
        self.out(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))

    def paint(self, text: str, paint: Paint, stream: TextIO | None = None) -> str:
        """``text`` in its colour where ``stream`` (standard output unless given) shows colours, else unchanged."""
        if not text or paint is Paint.PLAIN or not self._colours(stream or self.stdout):
            return text
        return f"\x1b[{paint.value}m{text}\x1b[0m"

    @property
    def is_interactive(self) -> bool:
        """Whether a live display may be drawn on standard error."""
        return _is_terminal(self.stderr) and self._environ.get("TERM") != "dumb"

    def draw(self, renderable: object) -> None:
        """Draw a rich renderable on standard output. Without a terminal nothing is cut to a width."""
        from io import StringIO

        from rich.console import Console as RichConsole

        stream = self.stdout
        # Into a buffer first: rich pads lines with blanks, and may write characters that the stream cannot carry.
        buffer = StringIO()
        colours = self._colours(stream)
        target = RichConsole(
            file=buffer,
            width=self.width or 400,
            force_terminal=colours,
            no_color=not colours,
            highlight=False,
            legacy_windows=False,
        )
        target.print(renderable)
        _write(stream, "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines()))

    @property
    def width(self) -> int | None:
        """Columns of the terminal that results go to; None where they go elsewhere, and nothing needs to fit."""
        return _width(self.stdout)

    def live(self) -> RichConsole:
        """A rich console on standard error, for displays that redraw themselves. Ask :attr:`is_interactive` first."""
        from rich.console import Console as RichConsole

        return RichConsole(file=self.stderr, highlight=False, no_color=not self._colours(self.stderr))

    def flush(self) -> None:
        """Push out what is buffered. Raises BrokenPipeError when the reader of standard output has gone."""
        self.stdout.flush()
        self.stderr.flush()

    def _colours(self, stream: TextIO) -> bool:
        # An empty value counts as none, as no-color.org asks.
        if self._environ.get("NO_COLOR"):
            return False
        if self._environ.get("FORCE_COLOR"):
            return True
        return _is_terminal(stream) and self._environ.get("TERM") != "dumb"


class ConsoleHandler(logging.Handler):
    """Shows log records of the harness and its plugins as lines on standard error."""

    def __init__(self, console: Console, level: int) -> None:
        super().__init__(level)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; warnings look like every other warning, the rest names its logger."""
        try:
            text = record.getMessage()
            if record.exc_info and self.level <= logging.DEBUG:
                text += "\n" + logging.Formatter().formatException(record.exc_info)
            elif record.exc_info and record.exc_info[0] is not None:
                first, *_ = str(record.exc_info[1]).splitlines() or [""]
                text += f": {record.exc_info[0].__name__}: {first} (-v shows the traceback)"
            if record.levelno >= logging.ERROR:
                self._console.error(text)
            elif record.levelno >= logging.WARNING:
                self._console.warn(text)
            else:
                self._console.err(f"{record.levelname.lower()}: {record.name}: {text}")
        except OSError:  # standard error has gone: there is nobody left to tell
            return


_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")
#: A quoted line of source, or the caret below one.
_SOURCE = re.compile(r"\s*\d* *\|")


def _folded(text: str, width: int | None) -> Iterator[str]:
    """Lines of at most ``width`` columns where words allow it; what is carried over stands two columns further in."""
    for line in text.split("\n"):
        plain = _ESCAPE.sub("", line)
        if width is None or cells(plain) <= width or _SOURCE.match(plain):
            yield line
            continue
        margin = " " * (len(plain) - len(plain.lstrip(" ")))
        yield from wrap(line[len(margin) :], width, first=margin, rest=margin + "  ")


def _carries(stream: TextIO, words: Words) -> bool:
    try:
        words.sample.encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _width(stream: TextIO) -> int | None:
    """Columns of the terminal behind a stream; None where there is none."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if _is_terminal(stream) else None


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = getattr(stream, "encoding", None) or "ascii"
        # What UTF-8 cannot hold are lone surrogates, for which the table has nothing.
        plain = text if encoding.lower().startswith("utf") else text.translate(_ASCII)
        stream.write(plain.encode(encoding, "replace").decode(encoding))
