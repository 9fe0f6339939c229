"""A program of :mod:`benchmarks.tile.programs`, and the cases that it is for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from npukernelbench.nouns import AttributeValue

__all__ = ["FLOATS", "HALF", "PLAIN", "SINGLE", "Written"]

HALF, SINGLE = ("float16",), ("float32",)
FLOATS = ("float16", "float32", "bfloat16")
PLAIN = ("float16", "float32")


class Written(NamedTuple):
    """A program. It is for cases of certain element types, or all; with certain attributes and optional inputs only.

    ``attributes`` are the values that a case must have, ``given`` the optional inputs: a case has these and no others,
    or any where ``given`` is None. ``sizes`` are the most elements that inputs may have.
    """

    source: str
    types: tuple[str, ...] = ()
    attributes: Mapping[str, AttributeValue] = MappingProxyType({})
    given: tuple[str, ...] | None = None
    sizes: Mapping[str, int] = MappingProxyType({})
