"""Readers of configuration values: each takes what a source holds (text, or a YAML value) and returns the typed value.

A reader raises :class:`Wrong` with what it expected and a value that would do; the caller knows where the value stands.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from npukernelbench.nouns.shard import Shard

if TYPE_CHECKING:
    from npukernelbench.nouns.codec import JSON

__all__ = [
    "Wrong",
    "cases_by_task",
    "choice",
    "flag",
    "fraction_or_count",
    "mapping",
    "names",
    "path",
    "paths",
    "positive_number",
    "positive_whole",
    "redact",
    "scalar",
    "secret",
    "shard",
    "shown",
    "text",
    "threshold",
    "whole",
]

_E = TypeVar("_E", bound=Enum)

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_WORDS: Mapping[str, JSON] = {"true": True, "false": False, "null": None, "none": None, "~": None, "": None}
# 18 digits always fit into 64 bits.
_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FRACTION = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_SECRET = re.compile(
    r"(api_?key|(access_|auth_|bearer_|hf_|api_)?token|secret|password|passwd|authorization|.*_secret|hidden_seed)"
)
# Up to the first slash: an `@` in the path does not end a user's name.
_CREDENTIALS_IN_URL = re.compile(r"(\w+://)[^/\s@]+@")


class Wrong(Exception):  # noqa: N818
    """A value is not what its setting needs. ``example`` is one that would do."""

    def __init__(self, expected: str, example: str) -> None:
        super().__init__(expected)
        self.expected = expected
        self.example = example


def text(raw: object) -> str:
    """Any text that is not empty."""
    if isinstance(raw, str) and raw.strip():
        return raw.strip()
    raise Wrong("a name or text", "reference")


def secret(raw: object) -> str:
    """Text or a whole number that is not empty."""
    # A secret of digits only comes out of a file as a number.
    return text(str(raw) if isinstance(raw, int) and not isinstance(raw, bool) else raw)


def whole(raw: object) -> int:
    """A whole number."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and re.fullmatch(r"\s*[+-]?\d{1,18}\s*", raw):
        return int(raw)
    raise Wrong("a whole number", "1")


def positive_whole(raw: object) -> int:
    """A whole number of at least 1."""
    try:
        number = whole(raw)
    except Wrong:
        # One message for both faults: what is no number and what is too small.
        number = 0
    if number < 1:
        raise Wrong("a whole number of at least 1", "4")
    return number


def positive_number(raw: object) -> float:
    """A finite number above 0, in the unit of the setting."""
    number = _number(raw)
    if number is None or number <= 0:
        raise Wrong("a number above 0", "60")
    return number


def fraction_or_count(raw: object) -> int | float:
    """A count of at least 1 or a fraction between 0 and 1."""
    number = _number(raw)
    if number is not None and 0 < number < 1:
        return number
    # Counts may come as 10.0 out of YAML or JSON.
    if number is not None and number >= 1 and number == int(number):
        return int(number)
    raise Wrong("a whole number of at least 1 or a fraction between 0 and 1", "10")


def flag(raw: object) -> bool:
    """True or false."""
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip().lower() in _TRUE + _FALSE:
        return raw.strip().lower() in _TRUE
    raise Wrong("true or false", "true")


def path(raw: object) -> Path:
    """A path; a leading ``~`` is the home folder."""
    if isinstance(raw, Path):
        return raw.expanduser()
    if isinstance(raw, str) and raw.strip() and "\0" not in raw:
        return Path(raw.strip()).expanduser()
    raise Wrong("a path", "results")


def names(raw: object) -> tuple[str, ...]:
    """A list of names, or text with commas or spaces between them."""
    if isinstance(raw, str):
        return tuple(re.findall(r"[^\s,]+", raw))
    if isinstance(raw, (list, tuple)) and all(isinstance(item, str) for item in raw):
        return tuple(name for item in raw for name in names(item))
    raise Wrong("a list of names", "[sqrt, level2]")


def paths(raw: object) -> tuple[Path, ...]:
    """A list of paths, or text with commas between them."""
    if isinstance(raw, (str, Path)):
        # Commas only: a path may hold spaces.
        raw = str(raw).split(",")
    if isinstance(raw, (list, tuple)):
        return tuple(path(item) for item in raw)
    raise Wrong("a list of paths", "[my_tasks]")


def choice(kind: type[_E]) -> Callable[[object], _E]:
    """A reader of one enum's values."""

    def read(raw: object) -> _E:
        try:
            # A member is taken as it is; one of another enumeration is refused.
            return kind(raw.strip().lower() if isinstance(raw, str) and not isinstance(raw, Enum) else raw)
        except ValueError:
            raise Wrong(f"one of {', '.join(str(m.value) for m in kind)}", str(next(iter(kind)).value)) from None

    return read


def mapping(raw: object) -> dict[str, JSON]:
    """A mapping, a JSON object, or text of the form ``key=value,key=value``.

    Values of the last form are numbers, true, false, none or JSON when they look like it, and text otherwise. Commas
    inside quotes and brackets do not separate.
    """
    from npukernelbench.nouns.codec import to_json

    expected, example = "key=value pairs or a JSON object", "temperature=0.8,top_p=0.95"
    if isinstance(raw, str):
        raw = _json_object(raw) if raw.lstrip().startswith("{") else _pairs(raw)
    if not isinstance(raw, Mapping):
        raise Wrong(expected, example)
    try:
        return {str(key): to_json(value) for key, value in raw.items()}
    except TypeError as error:
        raise Wrong(f"{expected} ({error})", example) from None


def cases_by_task(raw: object) -> dict[str, tuple[str, ...]]:
    """A mapping, or a JSON object, from task names to lists of case identifiers."""
    wrong = Wrong("a JSON object from task names to lists of case ids", '{"sqrt": ["0", "3"]}')
    if isinstance(raw, str):
        raw = _json_object(raw)
    if not isinstance(raw, Mapping):
        raise wrong
    cases: dict[str, tuple[str, ...]] = {}
    for task, ids in raw.items():
        if not isinstance(task, str) or not isinstance(ids, (list, tuple)):
            raise wrong
        if not all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in ids):
            raise wrong
        cases[task] = tuple(str(item) for item in ids)
    return cases


def shard(raw: object) -> str:
    """``I/N``: the I-th of N parts, counted from 1."""
    try:
        return str(Shard.parse(str(raw)))
    except ValueError:
        raise Wrong("I/N, the I-th of N shards counted from 1", "3/16") from None


def threshold(raw: object) -> str:
    """``METRIC=VALUE``, or a fraction of correct samples."""
    # A number, and before it at most one name: what a metric may be is known only when a run is planned.
    shape = r"\s*([\w@.-]+\s*=\s*)?[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*"
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        # `repr` gives back every digit that tells the number from its neighbours.
        raw = repr(raw)
    if isinstance(raw, str) and re.fullmatch(shape, raw):
        return raw.replace(" ", "")
    raise Wrong("METRIC=VALUE or a fraction of correct samples", "0.9")


def scalar(raw: str) -> JSON:
    """What bare text stands for: a number, true, false or nothing when it reads like that, otherwise itself."""
    if raw.lower() in _WORDS:
        return _WORDS[raw.lower()]
    if _WHOLE.fullmatch(raw):
        return int(raw)
    if _FRACTION.fullmatch(raw) and math.isfinite(float(raw)):
        return float(raw)
    return raw


def redact(value: JSON) -> JSON:
    """A copy without credentials: values whose key is that of a secret, and user names and passwords inside URLs."""
    if isinstance(value, str):
        return _CREDENTIALS_IN_URL.sub(r"\1<redacted>@", value)
    if isinstance(value, Mapping):
        # By the key's name: nobody can tell from a value whether it is a credential.
        return {key: "<redacted>" if _is_secret(key, item) else redact(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [redact(item) for item in value]
    return value


def shown(value: object) -> str:
    """A value for an error message, with its type, no longer than a line."""
    quoted = repr(value)
    quoted = quoted if len(quoted) <= 60 else quoted[:57] + "..."
    kind = {
        str: "text",
        int: "a whole number",
        float: "a number",
        bool: "true/false",
        list: "a list",
        dict: "a mapping",
    }
    return f"{quoted} ({kind.get(type(value), type(value).__name__)})" if value is not None else "nothing"


def _is_secret(key: str, value: JSON) -> bool:
    # An empty secret is none, and showing that it is empty helps whoever looks for the reason of a failure.
    return bool(value) and _SECRET.fullmatch(key.lower().replace("-", "_")) is not None


def _number(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, (str, int, float)):
        return None
    try:
        number = float(raw)
    # An integer of hundreds of digits is beyond every float.
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _unique(pairs: Sequence[tuple[str, JSON]]) -> dict[str, JSON]:
    unique: dict[str, JSON] = {}
    for key, value in pairs:
        if key in unique:
            # No ValueError: `_json_object` would say that it is no JSON.
            raise Wrong(f"every key once, but {key!r} appears twice", f"{key}=…")
        unique[key] = value
    return unique


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _json(raw: str) -> JSON:
    # Left alone, Python takes NaN and Infinity, and the last of equal keys.
    value: JSON = json.loads(raw, object_pairs_hook=_unique, parse_constant=_no_constant)
    return value


def _json_object(raw: str) -> JSON:
    try:
        return _json(raw)
    except ValueError as error:
        raise Wrong(f"a JSON object ({error})", '{"key": "value"}') from None


def _pairs(raw: str) -> dict[str, JSON]:
    pairs: list[tuple[str, JSON]] = []
    for piece in _split(raw):
        key, equals, value = piece.partition("=")
        if not equals or not key.strip():
            raise Wrong(f"key=value pairs, but {piece.strip()!r} is none", "temperature=0.8,top_p=0.95")
        pairs.append((key.strip(), _pair_value(value.strip())))
    return _unique(pairs)


def _pair_value(raw: str) -> JSON:
    # Single quotes keep text that looks like a number, a word or JSON as text.
    if len(raw) > 1 and raw[0] == raw[-1] == "'" and "'" not in raw[1:-1]:
        return raw[1:-1]
    if raw[:1] not in ("[", "{", '"'):
        return scalar(raw)
    try:
        return _json(raw)
    except ValueError:
        # Text may begin with a bracket without being JSON, such as a pattern.
        return raw


def _split(raw: str) -> list[str]:
    """Pieces between commas that stand outside quotes and brackets; empty pieces are dropped."""
    pieces, depth, quote, escaped = [""], 0, "", False
    for char in raw:
        if char == "," and not depth and not quote:
            pieces.append("")
            continue
        if quote:
            quote = "" if char == quote and not escaped else quote
            # As in JSON, whose texts stand in double quotes; in single ones a backslash is itself.
            escaped = quote == '"' and char == "\\" and not escaped
        elif char in "\"'" and pieces[-1].rstrip().endswith(("=", "[", "{", ",", ":")):
            # Only where a value begins: an apostrophe inside a word is none.
            quote = char
        else:
            # Below 0 no comma would separate any more.
            depth = max(0, depth + (char in "[{") - (char in "]}"))
        pieces[-1] += char
    return [piece for piece in pieces if piece.strip()]
