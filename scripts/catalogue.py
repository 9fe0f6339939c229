"""What a catalogue of translations has to hold, taken from the sources; and the catalogues brought up to date with it.

``python scripts/catalogue.py`` adds what is missing to every catalogue with an empty translation, takes out what no
source says any more, and lists what has no translation. Sources mark nothing: what a person reads comes out of the tree
of commands, out of what is given as ``remedy`` in Python and in the twin's runtime, and out of ``words.text("…")``.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click
from remedies import Remedies
from runtime_remedies import RuntimeRemedies

from kernelgen_lm.cli import group as training
from npukernelbench.cli.group import build_group
from npukernelbench.cli.translated import translated
from npukernelbench.language import LANGUAGES, Words
from npukernelbench.language.catalogue import catalogue_path, read_catalogue, write_catalogue
from npukernelbench.nouns import Outcome

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted(path for name in ("npukernelbench", "plugins", "kernelgen_lm") for path in (ROOT / name).rglob("*.py"))
_RUNTIME = ROOT / "plugins" / "npukb_twin" / "runtime"
RUNTIME_SOURCES = sorted([*_RUNTIME.rglob("*.cpp"), *_RUNTIME.rglob("*.h")])

#: click's own words, with values as they stand in its messages.
CLICK = """\
Usage:
Options
Commands
Show this message and exit.
default
required
No such option {0}.
No such option {0}. Did you mean {1}?
No such option {0}. (Possible options: {1})
No such command {0}.
Missing argument {0}.
Missing option {0}.
Missing command.
Option {0} requires an argument.
Option {0} does not take a value.
Got unexpected extra argument ({0})
Got unexpected extra arguments ({0})
Invalid value for {0}: {1} is not one of {2}.
Invalid value for {0}: {1} is not a valid integer.
Invalid value for {0}: {1} is not a valid float.
Invalid value for {0}: {1} {2} does not exist.
Invalid value for {0}: {1}
No such option: {0}
No such option: {0} Did you mean {1}?
No such option: {0} (Possible options: {1})
""".splitlines()


class _Listener(Words):
    """Words that note what they are asked for."""

    def __init__(self) -> None:
        # Of no real language: `translated` asks for texts only where the language is not English.
        super().__init__("??", {"listening": "listening"})
        self.heard: list[str] = []

    def text(self, english: str) -> str:
        self.heard.append(english)
        return english

    sentence = text


def help_texts() -> dict[str, list[str]]:
    """By command: every text that its help shows in another language."""
    found: dict[str, list[str]] = {}
    for program in (build_group(), training):
        context = click.Context(program)
        commands = {name: program.get_command(context, name) for name in program.list_commands(context)}
        for name, command in {"": program, **commands}.items():
            assert command is not None
            listener = _Listener()
            translated(command, listener)
            found[f"{program.name} {name}".strip()] = listener.heard
    return found


@cache
def remedies() -> tuple[Remedies, RuntimeRemedies]:
    """Those of Python sources, and those of the twin's runtime."""
    return Remedies(ROOT, SOURCES), RuntimeRemedies(ROOT, RUNTIME_SOURCES)


def wanted() -> dict[str, list[str]]:
    """By section of a catalogue: the texts it has to hold, in an order that a translator can follow."""
    sections = {"words of every help": [*CLICK, "Missing argument {0}. Choose from:\n\t{1}"]}
    sections |= {f"help: {command}": texts for command, texts in help_texts().items()}
    python, runtime = remedies()
    sections["words of the terminal"] = [*python.said]
    sections["outcomes"] = [outcome.meaning for outcome in Outcome]
    for text, places in (*python.found.items(), *runtime.found.items()):
        sections.setdefault(f"remedies: {places[0]}", []).append(text)
    return sections


def main() -> int:
    """Bring every catalogue up to date; the exit code is 1 while a translation is missing."""
    sections, complete = wanted(), True
    for locale in filter(None, LANGUAGES.values()):
        path = catalogue_path(locale)
        entries = read_catalogue(path)
        write_catalogue(path, entries, sections)
        texts = dict.fromkeys(text for listed in sections.values() for text in listed)
        missing = [text for text in texts if not entries.get(text)]
        for text in missing:
            print(f"{locale}: {text!r}")
        print(f"{locale}: {len(texts)} texts, {len(missing)} without a translation")
        complete = complete and not missing
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())
