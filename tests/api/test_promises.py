"""What docs/python.md promises: the public names and signatures of the release are those in public.txt.

Whoever changes one on purpose says so in CHANGELOG.md and writes the file anew:
``python tests/api/test_promises.py > tests/api/public.txt``.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import npukernelbench

LISTING = Path(__file__).with_name("public.txt")
PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def listing() -> Iterator[str]:
    for name in npukernelbench.__all__:
        thing = getattr(npukernelbench, name)
        if dataclasses.is_dataclass(thing):
            yield name
            for field in dataclasses.fields(thing):
                required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
                yield f"  {field.name}: {field.type}{' (required)' if required else ''}"
        elif inspect.isfunction(thing):
            yield f"{name}{inspect.signature(thing)}"
        elif not isinstance(thing, str):
            yield name
    from npukernelbench import nouns

    for name in sorted(nouns.__all__):
        thing = getattr(nouns, name)
        if isinstance(thing, type) and issubclass(thing, enum.Enum):
            yield f"{name}: {', '.join(str(member.value) for member in thing)}"


def test_public_names_and_signatures_are_those_of_the_release():
    assert LISTING.read_text(encoding="utf-8").splitlines() == list(listing())


def test_every_public_name_is_documented():
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in npukernelbench.__all__ if f"`{name}" not in page] == []


def test_a_name_is_loaded_when_it_is_asked_for():
    program = (
        "import sys, npukernelbench\n"
        "assert npukernelbench.__version__\n"
        "before = set(sys.modules)\n"
        "npukernelbench.evaluate, npukernelbench.Task\n"
        "print(*before, '|', *sys.modules)"
    )
    words = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    before, after = (set(part.split()) for part in words.split("|"))
    heavy = {"numpy", "scipy", "torch", "pydantic", "pluggy", "openai"}
    assert not heavy & before
    assert not {"numpy", "scipy", "torch", "openai"} & after
    assert not {name for name in after if name.startswith("npukb_")}


if __name__ == "__main__":
    sys.stdout.write("\n".join(listing()) + "\n")
