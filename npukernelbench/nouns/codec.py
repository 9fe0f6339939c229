"""Nouns to plain JSON values; :mod:`npukernelbench.nouns.decode` reads them back.

Encoding is deterministic: fields in declared order, mapping keys and sets sorted. JSON has no NaN and no infinity: as
numbers they are written as the text ``"nan"``, ``"inf"`` and ``"-inf"``. A class's ``RARE`` names fields that are
written only where they hold something, so that what has none of them reads and hashes as it always did.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from pathlib import PurePath
from typing import TypeAlias

__all__ = ["JSON", "dumps", "to_json"]

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"

# ASCII, since a model's text may hold lone surrogates: escaped they can be written, as UTF-8 they cannot.
_LINE = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))
#: Types, not their subclasses, whose values are JSON already: most of what is encoded.
_PLAIN = frozenset({str, int, bool, type(None)})


def dumps(value: object) -> str:
    """One line of ASCII JSON without spaces; equal values give equal text."""
    return _LINE.encode(to_json(value))


def to_json(value: object) -> JSON:
    """``value`` as plain JSON values: dataclasses and named tuples become objects, enums their values, paths text.

    TypeError on what JSON cannot hold: bytes, arrays, functions, mappings with keys other than text or enum members.
    """
    # Exact types first: most values are these, and isinstance is slower for each of them.
    if type(value) in _PLAIN:
        return value  # type: ignore[return-value]
    # Before `str`: most enumerations of the nouns are texts as well.
    if isinstance(value, Enum):
        return to_json(value.value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        # json would write NaN and Infinity, which other readers refuse.
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, PurePath):
        return value.as_posix()
    return _container_to_json(value)


def _container_to_json(value: object) -> JSON:
    names = _field_names(type(value))  # type: ignore[arg-type]
    if names is None and isinstance(value, tuple):
        names = getattr(value, "_fields", None)
    if names is not None:
        rare = getattr(value, "RARE", ())
        return {name: to_json(item) for name in names if (item := getattr(value, name)) or name not in rare}
    if isinstance(value, Mapping):
        named = {_key_text(key): item for key, item in value.items()}
        # Sorted, so that equal mappings give equal text and equal hashes.
        return {key: to_json(named[key]) for key in sorted(named)}
    if isinstance(value, Set):
        # A set's order changes from process to process with the seed of text hashes.
        return sorted((to_json(item) for item in value), key=dumps)
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if getattr(value, "shape", None) == () and callable(item := getattr(value, "item", None)):
        return to_json(item())  # a NumPy scalar, without importing NumPy
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a dataclass in declared order; None for any other type."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else None


def _key_text(key: object) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str):
        raise TypeError(f"a JSON key must be text, not {type(key).__name__}")
    return str(key)
