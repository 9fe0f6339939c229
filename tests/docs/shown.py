"""Commands that pages show, in blocks of code and in sentences, and what the real command lines make of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import click

from kernelgen_lm.cli import group as training
from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import build_group
from npukernelbench.cli.translated import lift_language
from npukernelbench.console import Console

__all__ = ["PROGRAMS", "ROOT", "Shown", "Understood", "in_blocks", "in_sentences", "pages", "understood"]

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("npukb", "kernelgen-lm")
_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_SHELLS = ("bash", "console", "sh", "")
#: A line of a block that shows what to type, and no output: without a prompt it must begin with a program.
_FIRST = re.compile(r"(?:\w+=\S* )*(?:\.venv/bin/)?(npukb|kernelgen-lm|pip|python|docker|scripts/\w+)(?=\s|$)")


class Shown(NamedTuple):
    """A command on a page, without its comment."""

    page: str
    line: int
    text: str


class Understood(NamedTuple):
    """What a command line makes of its words: the command's full name, and the value of every parameter."""

    name: str
    values: dict[str, Any]


def pages() -> list[Path]:
    """Every page that tells somebody what to type."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [*paths, *sorted((ROOT / "examples").rglob("*.md"))]


def in_blocks(page: Path) -> Iterator[Shown]:
    """The commands of the blocks of code."""
    text = page.read_text(encoding="utf-8")
    for block in _BLOCK.finditer(text):
        indent, language, body = block.groups()
        if language not in _SHELLS:
            continue
        first = text.count("\n", 0, block.start(3)) + 1
        joined = re.sub(r"\\\n\s*", lambda match: "\0" * match.group().count("\n"), body)
        number = first
        for line in joined.split("\n"):
            typed = _typed(line.removeprefix(indent).replace("\0", " "), language)
            if typed:
                yield Shown(page.relative_to(ROOT).as_posix(), number, typed)
            number += 1 + line.count("\0")


def _typed(line: str, language: str) -> str:
    if line.startswith("$ "):
        line = line[2:]
    elif language == "console" or not _FIRST.match(line):
        return ""
    return " ".join(re.sub(r"(^|\s)# .*$|\s{2,}#.*$", "", line).split())


def in_sentences(page: Path) -> Iterator[Shown]:
    """What sentences and tables quote of our commands."""
    text = page.read_text(encoding="utf-8")
    prose = _BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)
    for quoted in re.finditer(r"`((?:npukb|kernelgen-lm) [^`]+)`", prose):
        number = prose.count("\n", 0, quoted.start()) + 1
        yield Shown(page.relative_to(ROOT).as_posix(), number, " ".join(quoted.group(1).split()))


def understood(text: str) -> Understood:
    """Read a command by the command line it is for. click.UsageError for what that does not know; an argument that is
    missing and a file that is not there are the reader's own.

    What is no part of the command itself is left out: settings of the environment before it, where its output goes,
    and ``…`` for words that are the reader's own.
    """
    # What is quoted stays as it is.
    bare = re.sub(r"('[^']*')|[\[\]]|\\?\|.*|>.*", lambda match: match[1] or "", text)
    words = [word for word in shlex.split(bare) if word not in ("…", "...")]
    while "=" in words[0]:
        words = words[1:]
    command: click.Command = build_group() if words[0].endswith("npukb") else training
    context = click.Context(command, info_name=Path(words[0]).name, obj=App(Console()))
    (_, rest), name = lift_language(words[1:]), [Path(words[0]).name]
    while isinstance(command, click.Group) and rest:
        if rest[0].startswith("-"):
            break
        found, inner, rest = command.resolve_command(context, rest)
        assert found is not None
        assert inner is not None
        name.append(found)
        command = inner
        context = click.Context(command, info_name=found, parent=context, obj=context.obj)
    if isinstance(command, click.Group):
        return Understood(" ".join(name), {})
    read = partial(command.make_context, name[-1], parent=context.parent)
    try:
        return Understood(" ".join(name), read(list(rest)).params)
    except click.MissingParameter:
        pass
    except click.BadOptionUsage as error:
        if "requires an argument" not in error.format_message():
            raise
    except click.BadParameter as error:
        if "does not exist" not in error.format_message():
            raise
    return Understood(" ".join(name), read(list(rest), resilient_parsing=True).params)
