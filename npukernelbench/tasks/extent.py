"""Extents as text: arithmetic on the names of axes, such as ``d``, ``2 * d``, ``(h - k) / 2 + 1`` and ``n // 16``.

Names, whole numbers, ``+ - * / //`` and parentheses, nothing else; ``/`` must leave no remainder.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache

from npukernelbench.nouns import Extent

__all__ = ["evaluate", "names", "substitute"]

# Python's parser can exhaust its stack on deeply nested text, and extents come from files of others.
_LONGEST = 80


def evaluate(extent: Extent, axes: Mapping[str, int]) -> int:
    """The number that ``extent`` stands for. ValueError for what is no extent, an unknown name or a remainder."""
    return extent if isinstance(extent, int) else _value(_parse(extent), axes)


def names(extent: Extent) -> frozenset[str]:
    """The axes that ``extent`` refers to. ValueError for what is no extent."""
    return frozenset() if isinstance(extent, int) else _names(extent)


@lru_cache(maxsize=4096)
def _names(extent: str) -> frozenset[str]:
    return frozenset(node.id for node in ast.walk(_parse(extent)) if isinstance(node, ast.Name))


def substitute(value: object, axes: Mapping[str, int]) -> object:
    """``value`` with every text that is an extent over ``axes`` replaced by its number, inside lists and mappings."""
    if isinstance(value, Mapping):
        return {key: substitute(item, axes) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [substitute(item, axes) for item in value]
    if isinstance(value, str) and _is_extent(value, axes):
        return evaluate(value, axes)
    return value


def _is_extent(text: str, axes: Mapping[str, int]) -> bool:
    try:
        return names(text) <= axes.keys()
    except ValueError:
        return False


@lru_cache(maxsize=4096)
def _parse(text: str) -> ast.expr:
    """The text as a tree of nothing but what ``_value`` knows. Few texts are evaluated over and over."""
    try:
        if len(text) > _LONGEST:
            # A string of this kind is refused like any other that Python cannot parse, with the message below.
            raise SyntaxError
        body = ast.parse(text.strip(), mode="eval").body
        if all(_is_known(node) for node in ast.walk(body)):
            return body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    raise ValueError(f"{text!r} is no extent; write a number or arithmetic on axes, for instance d / 2")


def _is_known(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        # Not `isinstance`: True is an int, too.
        return type(node.value) is int
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.USub, ast.Name, ast.Load, *_OPERATIONS))


def _value(node: ast.expr, axes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name) if name in axes:
            return axes[name]
        case ast.UnaryOp(operand=operand):
            return -_value(operand, axes)
        case ast.BinOp(left=left, op=operator, right=right):
            return _OPERATIONS[type(operator)](_value(left, axes), _value(right, axes))
    raise ValueError(f"there is no axis {getattr(node, 'id', '')!r}; there are {', '.join(axes) or 'none'}")


def _divide(left: int, right: int) -> int:
    # By `_floor`, which refuses a division by 0.
    if _floor(left, right) * right != left:
        raise ValueError(f"{left} / {right} leaves a remainder; state multiple_of for the axis, or use //")
    return left // right


def _floor(left: int, right: int) -> int:
    if right == 0:
        raise ValueError(f"{left} is divided by 0")
    return left // right


_OPERATIONS: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: _divide,
    ast.FloorDiv: _floor,
}
