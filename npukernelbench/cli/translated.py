"""Commands in the language of their reader: the same commands with other help texts, and help that fits the terminal.

Names, options, values and usage lines are what one types, and stay.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from npukernelbench.language import LANGUAGES
from npukernelbench.language.cells import cells, wrap

if TYPE_CHECKING:
    from npukernelbench.language import Words

__all__ = ["help_in", "language_option", "lift_language", "translated"]


def language_option() -> click.Option:
    """``--lang`` in the help of a program; :func:`lift_language` reads it, as it may stand anywhere."""
    text = "Language of help and remedies, anywhere on the line.  [default: NPUKB_LANG, or that of the locale]"
    return click.Option(["--lang"], metavar="|".join(LANGUAGES), expose_value=False, help=text)


def lift_language(argv: Sequence[str]) -> tuple[str | None, list[str]]:
    """The value of ``--lang``, None where it is not there, and the words of the line without it."""
    words = list(argv)
    end = words.index("--") if "--" in words else len(words)
    place = next((i for i, word in enumerate(words[:end]) if word.partition("=")[0] == "--lang"), None)
    if place is None:
        return None, words
    if "=" in words[place]:
        return words[place].partition("=")[2], [*words[:place], *words[place + 1 :]]
    return "".join(words[place + 1 : place + 2]), [*words[:place], *words[place + 2 :]]


def help_in(words: Words, command: click.Command, context: click.Context) -> str:
    """The help of ``command`` in the language of ``words``."""
    formatter = _Formatter(words, context.terminal_width, context.max_content_width)
    translated(command, words).format_help(context, formatter)
    return formatter.getvalue().rstrip("\n")


def translated(command: click.Command, words: Words) -> click.Command:
    """A copy of ``command``, and of what a group holds, whose help is in the language of ``words``."""
    if words.language == "en":
        return command
    # A command belongs to its module, where the next call finds it again.
    twin = copy.copy(command)
    short = command.short_help or command.get_short_help_str(200)
    # click ends a help text at a form feed.
    twin.help = command.help and words.prose(command.help.partition("\f")[0])
    twin.short_help = words.text(short)
    twin.params = [_parameter(parameter, words) for parameter in command.params]
    twin.context_class = _context_class(words)
    if isinstance(twin, click.Group):
        twin.commands = {name: translated(inner, words) for name, inner in twin.commands.items()}
    return twin


def _parameter(parameter: click.Parameter, words: Words) -> click.Parameter:
    if not isinstance(parameter, click.Option) or not parameter.help:
        return parameter
    twin = copy.copy(parameter)
    twin.help = words.option(parameter.help)
    return twin


def _context_class(words: Words) -> type[click.Context]:
    class Context(click.Context):
        def make_formatter(self) -> click.HelpFormatter:
            return _Formatter(words, self.terminal_width, self.max_content_width)

    return Context


class _Formatter(click.HelpFormatter):
    """click's layout, measured in cells, with click's own words translated."""

    def __init__(self, words: Words, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._words = words

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """The usage line."""
        super().write_usage(prog, args, prefix or f"{self._words.text('Usage:')} ")

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        """A heading and what stands below it."""
        with super().section(self._words.text(name)):
            yield

    def write_text(self, text: str) -> None:
        """Paragraphs."""
        indent = " " * self.current_indent
        # Of ours, not click's: that one counts characters, and Chinese ones take two cells.
        paragraphs = (
            wrap(" ".join(part.split()), self.width, first=indent, rest=indent) for part in text.split("\n\n")
        )
        self.write("\n\n".join("\n".join(lines) for lines in paragraphs) + "\n")

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Names, and what they mean, in two columns."""
        rows = list(rows)
        margin = " " * self.current_indent
        column = min(max(cells(name) for name, _ in rows), col_max) + col_spacing
        for name, meaning in rows:
            # What click itself says of an option, such as --help, comes in English.
            text = self._words.option(meaning)
            rest = margin + " " * column
            first = f"{margin}{name}".ljust(len(rest))
            if cells(name) > column - col_spacing:
                self.write(f"{margin}{name}\n")
                first = rest
            self.write("\n".join(wrap(text, self.width, first=first, rest=rest)) + "\n")
