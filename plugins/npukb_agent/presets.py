"""Presets: how a known agent is started, where its transcript lies and where it counts its tokens."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import yaml
from pydantic import TypeAdapter, ValidationError

from npukernelbench.errors import ConfigError, SourceLocation
from npukernelbench.strict import Strict

__all__ = ["STDOUT", "Preset", "Protocol", "Reported", "presets", "read_presets", "reported_tokens"]

OURS = Path(__file__).with_name("presets.yaml")
#: The name of what an agent printed, among the files of its home folder.
STDOUT = "stdout"


class Protocol(str, Enum):
    """How an agent speaks to its model."""

    CHAT = "chat"  # OpenAI chat completions
    RESPONSES = "responses"  # OpenAI responses
    ANTHROPIC = "anthropic"  # Anthropic messages
    GEMINI = "gemini"  # Gemini generateContent
    NONE = "none"  # it has no model: a script


class Reported(Strict):
    """Where an agent counts its tokens: a file of its home folder, or what it printed, as JSON or lines of JSON.

    ``event`` is the ``type`` of the lines that count. A path has names with dots between, ``[]`` for every element and
    ``*`` for every value; what it finds is added up.
    """

    file: str
    prompt: str
    completion: str
    event: str = ""


class Preset(Strict):
    """One agent. ``command`` is a list of words; groups of words are for the reader."""

    command: tuple[str | tuple[str, ...], ...]
    protocol: Protocol
    seen: str = ""
    install: str = ""
    environment: Mapping[str, str] = {}
    home: Mapping[str, str] = {}
    transcript: tuple[str, ...] = (STDOUT,)
    reported: Reported | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The command's words."""
        return tuple(word for part in self.command for word in ((part,) if isinstance(part, str) else part))

    def filled(self, values: Mapping[str, str]) -> Preset:
        """The preset with ``{task}``, ``{model}``, ``{url}``, ``{token}``, ``{home}`` and ``{work}`` in place."""
        return self.model_copy(
            update={
                "command": tuple(word.format_map(values) for word in self.words),
                "environment": {name: text.format_map(values) for name, text in self.environment.items()},
                "home": {name: text.format_map(values) for name, text in self.home.items()},
            }
        )

    @property
    def digest(self) -> str:
        """16 hex digits over what decides how the agent works."""
        return hashlib.sha256(self.model_dump_json(exclude={"seen", "install"}).encode()).hexdigest()[:16]


def read_presets(path: Path) -> dict[str, Preset]:
    """A file of presets by name. ConfigError naming file and field."""
    try:
        return TypeAdapter(dict[str, Preset]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", location=SourceLocation(path), field="presets") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "presets"
        remedy = f"fields of a preset: {', '.join(Preset.model_fields)}"
        raise ConfigError(first["msg"], location=SourceLocation(path), field=where, remedy=remedy) from None


@cache
def presets() -> Mapping[str, Preset]:
    """Those of this distribution."""
    return read_presets(OURS)


class Tokens(NamedTuple):
    """Counts of tokens."""

    prompt: int = 0
    completion: int = 0


def reported_tokens(reported: Reported, text: str) -> Tokens | None:
    """What the agent itself counted; None when its record does not say."""
    events = [event for event in _events(text) if not reported.event or _type(event) == reported.event]
    counts = [
        [number for event in events for number in _at(event, path)] for path in (reported.prompt, reported.completion)
    ]
    return Tokens(sum(counts[0]), sum(counts[1])) if any(counts) else None


def _events(text: str) -> Iterator[object]:
    """One object, perhaps behind warnings, or one per line."""
    start = re.search(r"^\{", text, re.MULTILINE)
    try:
        yield json.loads(text[start.start() :] if start else text)
        return
    except ValueError:
        pass
    for line in StringIO(text):
        try:
            yield json.loads(line)
        except ValueError:
            continue


def _type(event: object) -> object:
    return event.get("type") if isinstance(event, Mapping) else None


def _at(value: object, path: str) -> Iterator[int]:
    here: list[object] = [value]
    for step in path.replace("[]", ".[]").split("."):
        here = [inner for holder in here for inner in _step(holder, step)]
    # JSON's true is an int in Python, but no count.
    yield from (holder for holder in here if isinstance(holder, int) and not isinstance(holder, bool))


def _step(value: object, step: str) -> Sequence[object]:
    if step == "[]":
        return value if isinstance(value, list) else ()
    if not isinstance(value, Mapping):
        return ()
    return list(value.values()) if step == "*" else [value[step]] if step in value else ()
