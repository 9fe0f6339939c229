"""Reading a configuration file: YAML with the line of every key, duplicate keys and tags refused.

Bare words mean the same as on the command line: ``1e-6`` is a number, ``no`` and ``2024-01-01`` are text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from npukernelbench.config.values import scalar
from npukernelbench.errors import ConfigError, SourceLocation

__all__ = ["Entry", "read_config_file"]


class Entry(NamedTuple):
    """One top-level key's value and the line it stands on, counted from 1."""

    value: object
    line: int


def read_config_file(path: Path) -> dict[str, Entry]:
    """Top-level keys with values of plain YAML types. ConfigError names file, line and what to do about it."""
    try:
        content = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError("the file does not exist", location=SourceLocation(path), remedy="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"the file cannot be read: {error}", location=SourceLocation(path), remedy="it must be readable UTF-8 text"
        ) from error
    try:
        # Only nodes are made: no value is constructed, whatever a tag asks for.
        loader = yaml.SafeLoader(content)
        try:
            return _Reader(path, loader).read()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        # An error about a character that YAML does not allow has no mark.
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
        where = SourceLocation(path, mark.line + 1, mark.column + 1) if mark else SourceLocation(path)
        raise ConfigError(f"not valid YAML: {problem}", location=where, remedy="repair the syntax") from error


class _Reader:
    """Walks the node tree, because only nodes know their lines."""

    def __init__(self, path: Path, loader: yaml.SafeLoader) -> None:
        self._path = path
        self._loader = loader
        self._open: list[Node] = []

    def read(self) -> dict[str, Entry]:
        root = self._loader.get_single_node()
        # A file of comments, or of `---` alone, sets nothing.
        if root is None or (isinstance(root, ScalarNode) and not root.value):
            return {}
        if not isinstance(root, MappingNode):
            raise self._error(root, "expected keys and values", "write one 'setting: value' per line")
        # The root is open while its values are read, so that an alias to the whole file is refused, too.
        self._open.append(root)
        keys = self._unique_keys(root)
        return {key: Entry(self._value(node), line) for key, (node, line) in keys.items()}

    def _value(self, node: Node) -> object:
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        # YAML allows a list that contains itself, which this walk would never leave.
        # Nodes compare by identity, so that equal values at two places are no cycle.
        if node in self._open:
            raise self._error(node, "an alias refers to a value that contains it", "write the value out")
        self._open.append(node)
        try:
            if isinstance(node, SequenceNode):
                return [self._value(item) for item in node.value]
            return {key: self._value(item) for key, (item, _) in self._unique_keys(node).items()}
        finally:
            self._open.pop()

    def _unique_keys(self, mapping: Node) -> dict[str, tuple[Node, int]]:
        keys: dict[str, tuple[Node, int]] = {}
        for key_node, value_node in mapping.value:
            key = self._scalar(key_node) if isinstance(key_node, ScalarNode) else None
            if not isinstance(key, str):
                raise self._error(key_node, "a key must be text", "put it in quotes")
            if key in keys:
                raise self._error(
                    key_node, f"{key!r} appears twice, first in line {keys[key][1]}", "keep one of the two"
                )
            keys[key] = (value_node, key_node.start_mark.line + 1)
        return keys

    def _scalar(self, node: ScalarNode) -> object:
        # Standard tags do no harm: the text alone decides the type here.
        if not node.tag.startswith("tag:yaml.org,2002:"):
            raise self._error(node, f"tag {node.tag} is not allowed here", "write plain YAML")
        # Quoted and block values are text, whatever they look like.
        return scalar(node.value) if node.style is None else node.value

    def _error(self, node: Node, message: str, remedy: str) -> ConfigError:
        mark = node.start_mark
        return ConfigError(message, location=SourceLocation(self._path, mark.line + 1, mark.column + 1), remedy=remedy)
