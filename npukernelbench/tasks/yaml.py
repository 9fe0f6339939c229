"""YAML files with a memory: every value knows the file and line it came from.

The dialect is the YAML 1.2 core schema (``1e-6`` is a number, ``no`` is text), one document per file, no duplicate
keys, no tags. ``include: other.yaml`` (or a list) at the top of a file merges other files below its own keys:
mappings merge deeply, anything else is replaced, later files win over earlier ones and the file itself wins over all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from npukernelbench.errors import SourceLocation, TaskError

__all__ = ["Document", "Keys", "read_document"]

#: Where a value sits inside a document: keys and list positions from the top.
Keys: TypeAlias = tuple[str | int, ...]

# The parser of libyaml is far faster; PyYAML has it where it was built with that library.
_Base: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
# Integers before floats: the pattern of floats fits whole numbers, too, and the first one that fits decides.
# Last come the characters that such a scalar may begin with; PyYAML looks patterns up by the first character.
_SCALARS = (
    ("null", re.compile(r"^(?:~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    ("bool", re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")),
    ("int", re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), list("-+0123456789")),
    (
        "float",
        re.compile(r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan)$", re.IGNORECASE),
        list("-+.0123456789"),
    ),
)


class _Loader(_Base):  # type: ignore[misc]
    """PyYAML's safe loader with the scalars of YAML 1.2."""

    # A table of its own: without one, PyYAML would add to a copy of the parent's, which has the scalars of YAML 1.1.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _name, _pattern, _first in _SCALARS:
    _Loader.add_implicit_resolver(_TAG + _name, _pattern, _first)


@dataclass(frozen=True, slots=True)
class Document:
    """A mapping read from YAML. ``marks`` locates every key and list item; ``files`` are all files that took part."""

    value: dict[str, object]
    marks: Mapping[Keys, SourceLocation]
    path: Path
    files: tuple[Path, ...]

    def locate(self, keys: Keys) -> SourceLocation:
        """The place of ``keys``, or of the nearest thing around them that has one."""
        for length in range(len(keys), 0, -1):
            if keys[:length] in self.marks:
                return self.marks[keys[:length]]
        return SourceLocation(self.path, 1)


def read_document(path: Path) -> Document:
    """Read a file and everything it includes. TaskError, with file and line, when anything is wrong."""
    return _read(path, (), None)


def _read(path: Path, chain: tuple[Path, ...], origin: SourceLocation | None) -> Document:
    if path.resolve() in chain:
        names = " -> ".join(str(item) for item in (*chain, path.resolve()))
        raise TaskError(f"files include each other in a circle: {names}", location=origin, field="include")
    own = _parse(path, origin)
    if "include" not in own.value:
        return own
    merged: dict[str, object] = {}
    marks: dict[Keys, SourceLocation] = {}
    files: list[Path] = []
    for name in _include_names(own):
        part = _read(path.parent / name, (*chain, path.resolve()), own.locate(("include",)))
        _merge(merged, part.value, marks, part.marks, ())
        files += part.files
    body = {key: value for key, value in own.value.items() if key != "include"}
    _merge(merged, body, marks, own.marks, ())
    # Two files may include the same third one.
    return Document(merged, marks, path, tuple({item.resolve(): item for item in (path, *files)}.values()))


def _include_names(document: Document) -> list[str]:
    value = document.value["include"]
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name for name in names):
        raise TaskError("name one file or a list of files", location=document.locate(("include",)), field="include")
    return [str(name) for name in names]


def _merge(
    into: dict[str, object],
    new: Mapping[str, object],
    marks: dict[Keys, SourceLocation],
    new_marks: Mapping[Keys, SourceLocation],
    keys: Keys,
) -> None:
    """Merge ``new`` over ``into``, mapping by mapping, and move the marks along."""
    for key, value in new.items():
        here = (*keys, key)
        old = into.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            marks[here] = new_marks[here]
            _merge(old, value, marks, new_marks, here)
            continue
        # Marks inside the replaced value would send complaints to the file that no longer decides it.
        for gone in [mark for mark in marks if mark[: len(here)] == here]:
            del marks[gone]
        into[key] = value
        marks.update((mark, place) for mark, place in new_marks.items() if mark[: len(here)] == here)


def _parse(path: Path, origin: SourceLocation | None) -> Document:
    """One file, includes unresolved."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TaskError(f"cannot read {path}: {error.strerror}", location=origin or SourceLocation(path)) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise TaskError("the file is not UTF-8 text", location=SourceLocation(path, line)) from error
    node = _compose(path, text)
    if not isinstance(node, MappingNode):
        raise TaskError("the file must hold a mapping of keys to values", location=SourceLocation(path, 1))
    marks: dict[Keys, SourceLocation] = {}
    value = _Reader(path, marks).mapping(node, (), ())
    return Document(value, marks, path, (path,))


def _compose(path: Path, text: str) -> Node | None:
    try:
        node: Node | None = yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = SourceLocation(path, mark.line + 1, mark.column + 1) if mark else SourceLocation(path)
        problem = ": ".join(part for part in (error.context, error.problem) if part)
        raise TaskError(f"not valid YAML: {problem}", location=place) from error
    except yaml.YAMLError as error:
        raise TaskError(f"not valid YAML: {str(error).splitlines()[0]}", location=SourceLocation(path)) from error
    return node


class _Reader:
    """Turns nodes into plain values and notes where each stands."""

    def __init__(self, path: Path, marks: dict[Keys, SourceLocation]) -> None:
        self._path = path
        self._marks = marks

    def mapping(self, node: MappingNode, keys: Keys, parents: tuple[Node, ...]) -> dict[str, object]:
        value: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, ScalarNode):
                raise TaskError("a key must be text", location=self._place(key_node))
            key = str(key_node.value)
            here = (*keys, key)
            if key in value:
                raise TaskError(
                    f"the key is given twice; first at {self._marks[here]}",
                    location=self._place(key_node),
                    field=".".join(str(part) for part in here),
                )
            self._marks[here] = self._place(key_node)
            value[key] = self._value(value_node, here, (*parents, node))
        return value

    def _value(self, node: Node, keys: Keys, parents: tuple[Node, ...]) -> object:
        # YAML lets a value hold itself; reading it would not end.
        if any(node is parent for parent in parents):
            raise TaskError("an alias refers to the value that holds it", location=self._place(node))
        if isinstance(node, MappingNode):
            return self.mapping(node, keys, parents)
        if isinstance(node, SequenceNode):
            return [self._item(item, (*keys, position), (*parents, node)) for position, item in enumerate(node.value)]
        return self._scalar(node)

    def _item(self, node: Node, keys: Keys, parents: tuple[Node, ...]) -> object:
        self._marks[keys] = self._place(node)
        return self._value(node, keys, parents)

    def _scalar(self, node: Node) -> object:
        text = str(node.value)
        match node.tag.removeprefix(_TAG):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                # In YAML 1.2 010 is ten; `int` with base 0 refuses it.
                return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
            case "float":
                # Python's `float` knows both without YAML's dot.
                return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
            case tag:
                raise TaskError(f"tags such as {tag} are not allowed", location=self._place(node))

    def _place(self, node: Node) -> SourceLocation:
        mark = node.start_mark
        return SourceLocation(self._path, mark.line + 1, mark.column + 1)
