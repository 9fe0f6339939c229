"""Formulas as trees: drawn at random, said in several notations, translated to the tile language, and computed.

The three readings come from one tree, so that a question, its program and what it is compared by cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Node",
    "Notation",
    "compute",
    "draw_tree",
    "leaf",
    "names_in",
    "operations",
    "outside",
    "say",
    "translate",
    "walk",
]

_Array = NDArray[Any]


class Node(NamedTuple):
    """``kind`` is in, scalar, attribute, value, number, call, binary, minus, square, cube, if, compare,
    fold or scan; ``name`` which one.
    """

    kind: str
    name: str = ""
    parts: tuple[Node, ...] = ()


class _Function(NamedTuple):
    """How a function is said, what it is in the language, and in NumPy."""

    said: tuple[str, ...]
    program: str
    compute: Callable[..., _Array]
    weight: int = 2


class Notation(NamedTuple):
    """How a formula is written: an index after each element, the name of the logarithm and so on."""

    mark: str
    choice: int
    folded: str = "_j"


def _erf(x: _Array) -> _Array:
    from scipy.special import erf

    return np.asarray(erf(x))


_ONE: Mapping[str, _Function] = {
    "abs": _Function(("|{}|", "|{}|", "abs({})"), "abs({})", np.abs, 6),
    "exp": _Function(("exp({})",), "exp({})", np.exp, 6),
    "ln": _Function(("ln({})", "log({})"), "ln({})", np.log, 4),
    "sqrt": _Function(("sqrt({})",), "sqrt({})", np.sqrt, 5),
    "sin": _Function(("sin({})",), "sin({})", np.sin),
    "cos": _Function(("cos({})",), "cos({})", np.cos),
    "tan": _Function(("tan({})",), "tan({})", np.tan),
    "tanh": _Function(("tanh({})",), "tanh({})", np.tanh, 4),
    "sinh": _Function(("sinh({})",), "sinh({})", np.sinh),
    "cosh": _Function(("cosh({})",), "cosh({})", np.cosh),
    "asin": _Function(("arcsin({})", "asin({})"), "asin({})", np.arcsin),
    "acos": _Function(("arccos({})", "acos({})"), "acos({})", np.arccos),
    "atan": _Function(("arctan({})", "atan({})"), "atan({})", np.arctan),
    "erf": _Function(("erf({})",), "erf({})", _erf),
    # Few digits are left beyond 6, but scipy's erfc would change which questions a seed draws: presets name seeds.
    "erfc": _Function(("erfc({})",), "erfc({})", lambda x: 1 - _erf(x), 1),
    "sigmoid": _Function(("sigmoid({})",), "sigmoid({})", lambda x: 1 / (1 + np.exp(-x)), 5),
    "relu": _Function(("relu({})",), "max({}, 0.0)", lambda x: np.maximum(x, 0), 1),
    "log2": _Function(("log2({})",), "log2({})", np.log2),
    "log10": _Function(("log10({})",), "log10({})", np.log10),
    "log1p": _Function(("log1p({})",), "ln(1.0 + {})", np.log1p, 1),
    "floor": _Function(("floor({})",), "floor({})", np.floor),
    "ceil": _Function(("ceil({})",), "ceil({})", np.ceil),
    "round": _Function(("round({})",), "round({})", np.rint, 1),
    "trunc": _Function(("trunc({})",), "trunc({})", np.trunc, 1),
    "sign": _Function(("sign({})",), "sign({})", np.sign, 1),
}
_PAIRS: Mapping[str, tuple[str, Callable[..., _Array], int]] = {
    "+": ("+", np.add, 8),
    "-": ("-", np.subtract, 6),
    "*": ("*", np.multiply, 9),
    "/": ("/", np.divide, 5),
    "max": ("max", np.maximum, 3),
    "min": ("min", np.minimum, 3),
}
_COMPARES: Mapping[str, tuple[tuple[str, ...], Callable[..., _Array]]] = {
    "<": (("<",), np.less),
    "<=": (("<=",), np.less_equal),
    ">": ((">",), np.greater),
    ">=": ((">=",), np.greater_equal),
    "==": (("==", "="), np.equal),
    "!=": (("!=",), np.not_equal),
}
_FOLDS: Mapping[str, Callable[..., _Array]] = {
    "sum": np.sum,
    "max": np.max,
    "min": np.min,
    "mean": np.mean,
    "prod": np.prod,
}
_RANK = {"+": 1, "-": 1, "*": 2, "/": 2}
#: What a program says for the infinity of a formula: float32's largest number.
_LARGEST = "3.4028235e38"


def leaf(kind: str, name: object) -> Node:
    """A tree of one place."""
    return Node(kind, str(name))


def draw_tree(rng: Random, leaves: Sequence[Node], size: int) -> Node:
    """A tree with about ``size`` operations, in which every one of ``leaves`` stands at least once."""
    if size <= 0 and len(leaves) <= 1:
        return leaves[0] if leaves else _number(rng)
    if len(leaves) >= 2 or (size >= 2 and rng.random() < 0.25):
        return _join(rng, leaves, size)
    kind = rng.random()
    if kind < 0.45:
        name = rng.choices(list(_ONE), [operation.weight for operation in _ONE.values()])[0]
        return Node("call", name, (draw_tree(rng, leaves, size - 1),))
    if kind < 0.80:
        inner, number = draw_tree(rng, leaves, size - 1), _number(rng)
        name = rng.choices(list(_PAIRS), [pair[2] for pair in _PAIRS.values()])[0]
        # Limits of a clamp lie on either side of zero.
        if name in ("max", "min") and number.kind == "number" and rng.random() < 0.3:
            number = leaf("number", rng.choice(("-1", "-2", "-3", "0", "0", "0")))
        parts = (inner, number) if rng.random() < 0.55 else (number, inner)
        return Node("binary", name, parts)
    if kind < 0.86:
        return Node("minus", "", (draw_tree(rng, leaves, size - 1),))
    if kind < 0.94:
        inner = draw_tree(rng, leaves, size - 1)
        return Node("square" if inner.kind != "in" or rng.random() < 0.7 else "cube", "", (inner,))
    return _choice(rng, draw_tree(rng, leaves, size - 2), draw_tree(rng, leaves, rng.randint(0, 1)), leaves)


def _join(rng: Random, leaves: Sequence[Node], size: int) -> Node:
    """Two parts that share the leaves, a leaf standing in both where there is but one."""
    shuffled = rng.sample(list(leaves), len(leaves))
    if len(leaves) >= 2:
        cut = rng.randint(1, len(leaves) - 1)
        left, right = shuffled[:cut], shuffled[cut:]
        if rng.random() < 0.1:
            right = [*right, rng.choice(left)]
    else:
        left = right = list(leaves)
    share = rng.randint(0, max(0, size - 1))
    a, b = draw_tree(rng, left, share), draw_tree(rng, right, size - 1 - share)
    if rng.random() < 0.1:
        return _choice(rng, a, b, leaves)
    if b.kind in ("scalar", "attribute") and rng.random() < 0.2:
        return Node("power", "", (b, a) if a.kind == "in" and b.kind == "scalar" and rng.random() < 0.3 else (a, b))
    name = rng.choices(list(_PAIRS), [pair[2] for pair in _PAIRS.values()])[0]
    return Node("binary", name, (a, b))


def _choice(rng: Random, a: Node, b: Node, leaves: Sequence[Node]) -> Node:
    tested = rng.choice([leaf_tree for leaf_tree in leaves if leaf_tree.kind == "in"] or [a])
    # Not for equality: two drawn numbers are hardly ever equal, so that one branch would never be taken.
    compare = Node("compare", rng.choice(list(_COMPARES)[:4]), (tested, _number(rng, small=True)))
    return Node("if", "", (compare, a, b))


def _number(rng: Random, *, small: bool = False) -> Node:
    kind = rng.random()
    if kind < 0.55 or small:
        return leaf(
            "number", rng.choice((0, 0, 1, 1, 1, 2, 3)) if small else rng.choice((1, 1, 1, 2, 2, 3, 4, 5, 6, 8))
        )
    if kind < 0.60:
        return leaf("number", "pi")
    if kind < 0.64:
        inner = Node("binary", "/", (leaf("number", rng.randint(2, 9)), leaf("number", rng.choice(("pi", 3, 7, 5)))))
        return rng.choice((inner, Node("call", "sqrt", (inner,)), Node("call", "sqrt", (leaf("number", 2),))))
    if kind < 0.92:
        digits = rng.randint(1, 6)
        return leaf("number", f"{rng.uniform(0.02, 3.0):.{digits}f}")
    return leaf("number", rng.choice(("1e-6", "1e-5", "1e-8", "1e-12", "1e-3", "10", "12", "16", "100", "20")))


def names_in(tree: Node) -> set[tuple[str, str]]:
    """Kind and name of all leaves."""
    return {(tree.kind, tree.name)} if not tree.parts else set().union(*(names_in(part) for part in tree.parts))


def operations(tree: Node) -> int:
    """How many operations there are."""
    return sum(operations(part) for part in tree.parts) + bool(tree.parts)


def say(tree: Node, names: Mapping[tuple[str, str], str], notation: Notation) -> str:
    """The formula of a tree."""
    return _say(tree, names, notation)[0]


def _say(tree: Node, names: Mapping[tuple[str, str], str], how: Notation) -> tuple[str, int]:
    """Text and the rank of what binds its parts: 0 for a choice, 1 for sums, 2 for products, 3 for what is closed."""
    kind, name = tree.kind, tree.name
    if kind == "number":
        # A formula may call a number by a name and say its value beside.
        return names.get((kind, name), name), 3
    if not tree.parts:
        return names[(kind, name)], 3
    if kind == "fold":
        within = {key: _folded(text, how) for key, text in names.items()}
        return _say_fold(name, *_say(tree.parts[0], within, how), how)
    if kind == "scan":
        return _say_scan(name, tree.parts[0], names, how), 1
    texts = [_say(part, names, how) for part in tree.parts]
    if kind == "call":
        forms = _ONE[name].said
        form = forms[how.choice % len(forms)]
        # Bars inside of bars cannot be told apart.
        if form[0] == "|" and "|" in texts[0][0]:
            form = "abs({})"
        return form.format(texts[0][0]), 3
    if kind == "minus":
        return f"-{_closed(texts[0], 2)}", 1
    if kind in ("square", "cube"):
        return f"{_closed(texts[0], 3)}^{2 if kind == 'square' else 3}", 3
    if kind == "power":
        return f"{_closed(texts[0], 3)} ^ {_closed(texts[1], 3)}", 2
    if kind == "compare":
        said = _COMPARES[name][0]
        return f"{_closed(texts[0], 1)} {said[how.choice % len(said)]} {_closed(texts[1], 1)}", 0
    if kind == "if":
        word = "otherwise" if how.choice % 7 == 6 else "else"
        comma = "," if how.choice % 3 == 2 else ""
        return f"{_closed(texts[1], 1)} if {texts[0][0]}{comma} {word} {_closed(texts[2], 1)}", 0
    if name in ("max", "min"):
        return f"{name}({texts[0][0]}, {texts[1][0]})", 3
    # Fractions such as 1/2 are often written without blanks.
    digits = all(part.kind == "number" and len(part.name) == 1 for part in tree.parts)
    if name == "/" and digits and how.choice % 6 == 5:
        return f"{texts[0][0]}/{texts[1][0]}", 2
    return _infix(name, texts), _RANK[name]


def _folded(text: str, how: Notation) -> str:
    """A name inside a sum has the sum's index."""
    return text[: -len(how.mark)] + how.folded if how.mark and text.endswith(how.mark) else text


def _say_fold(name: str, text: str, rank: int, how: Notation) -> tuple[str, int]:
    """A sum or the like over an index; what is added is no wider than a product."""
    index = how.folded[-1:] or "i"
    form = how.choice % 5
    if form == 3 or (name in ("max", "min") and form < 2):
        return f"{name}({text})", 3
    inner = text if rank >= 2 else f"({text})"
    if form == 2:
        return f"({name} over {index} of {inner})", 3
    return (f"{name}_{index} {inner}", 2) if form == 1 else (f"({name}_{index} {inner})", 3)


def _say_scan(name: str, part: Node, names: Mapping[tuple[str, str], str], how: Notation) -> str:
    """Terms from the first to this one, to the one before, or from this one to the last."""
    kind, _, way = name.partition(" ")
    last = how.mark[1:] or "i"
    first, second, third = {
        "": ("_0", "_1", how.mark),
        "before": ("_0", "_1", f"_({last}-1)"),
        "reverse": (how.mark, f"_({last}+1)", "_(n-1)"),
    }[way]
    terms = []
    for mark in (first, second, third):
        # Names without the element's index are the same in every term.
        marked = {key: text.removesuffix(how.mark) + mark * text.endswith(how.mark) for key, text in names.items()}
        terms.append(_closed(_say(part, marked, how), 2 if kind == "sum" else 3))
    sign = " + " if kind == "sum" else " * "
    if how.choice % 3 == 1 and way:
        del terms[1]
    return sign.join([*terms[:-1], "...", terms[-1]])


def _infix(name: str, texts: Sequence[tuple[str, int]]) -> str:
    left, right = texts
    rank = _RANK[name]
    # Brackets keep the order that was drawn: a row and a column meet only where a full tile is one of them.
    return f"{_closed(left, rank)} {name} {_closed(right, rank + 1)}"


def _closed(said: tuple[str, int], rank: int) -> str:
    return said[0] if said[1] >= rank and not (said[0].startswith("-") and rank >= 1) else f"({said[0]})"


def translate(tree: Node, names: Mapping[tuple[str, str], str]) -> str:
    """The expression of a tile program."""
    return _program(tree, names)[0]


def _program(tree: Node, names: Mapping[tuple[str, str], str]) -> tuple[str, int]:
    kind, name = tree.kind, tree.name
    if kind == "number":
        if name == "pi":
            return "3.141592653589793", 3
        return (f"{name}.0" if len(name.lstrip("-")) == 1 else name), 3
    if not tree.parts:
        return names[(kind, name)], 3
    texts = [_program(part, names) for part in tree.parts]
    if kind == "call":
        form = _ONE[name].program
        # Brackets for sums only: the argument stands behind a plus sign.
        return form.format(_closed(texts[0], 1) if name == "log1p" else texts[0][0]), 3
    if kind == "fold":
        mean = name == "mean"
        return f"row_{'sum' if mean else name}({texts[0][0]})" + (" * scale" if mean else ""), 2 if mean else 3
    if kind == "minus":
        return f"-{_closed(texts[0], 2)}", 1
    if kind == "square":
        # The power binds to the right: a square of a square needs its brackets.
        text = f"({texts[0][0]})" if tree.parts[0].kind == "square" else _closed(texts[0], 3)
        return f"{text} ** 2", 3
    if kind == "cube":
        text = _closed(texts[0], 3)
        return f"{text} * {text} * {text}", 2
    if kind == "power":
        # The language has no power but squares.
        return f"exp({_closed(texts[1], 2)} * ln({texts[0][0]}))", 3
    if kind == "compare":
        if tree.parts[1] == leaf("number", "infinity"):
            return f"{texts[0][0]} {'<=' if name == '<' else '>'} {_LARGEST}", 0
        return f"{_closed(texts[0], 1)} {name} {_closed(texts[1], 1)}", 0
    if kind == "if":
        return f"where({texts[0][0]}, {texts[1][0]}, {texts[2][0]})", 3
    if name in ("max", "min"):
        return f"{name}({texts[0][0]}, {texts[1][0]})", 3
    return _infix(name, texts), _RANK[name]


def compute(tree: Node, values: Mapping[tuple[str, str], _Array | float]) -> _Array:
    """What a tree computes, in the values' own precision."""
    kind, name = tree.kind, tree.name
    if kind == "number":
        # "or" is safe: neither of the two named numbers is 0.
        return np.asarray({"pi": np.pi, "infinity": np.inf}.get(name) or float(name))
    if not tree.parts:
        return np.asarray(values[(kind, name)])
    parts = [compute(part, values) for part in tree.parts]
    if kind == "call":
        return _ONE[name].compute(parts[0])
    if kind == "fold":
        axis = None if values.get(("", "whole")) is not None else -1
        # The axis stays, so that the result meets the tensors that it was folded from.
        return np.asarray(_FOLDS[name](parts[0], axis=axis, keepdims=True))
    if kind == "scan":
        return _scan(name, parts[0])
    if kind == "minus":
        return np.asarray(-parts[0])
    if kind in ("square", "cube"):
        return np.asarray(parts[0] ** (2 if kind == "square" else 3))
    if kind == "power":
        return np.asarray(np.power(*parts))
    if kind == "compare":
        return np.asarray(_COMPARES[name][1](*parts))
    if kind == "if":
        return np.asarray(np.where(*parts))
    return np.asarray(_PAIRS[name][1](*parts))


def _scan(name: str, given: _Array) -> _Array:
    """Sums or products along the last axis."""
    kind, _, way = name.partition(" ")
    run = np.cumsum if kind == "sum" else np.cumprod
    if way == "reverse":
        return np.asarray(run(given[..., ::-1], axis=-1)[..., ::-1])
    result = np.asarray(run(given, axis=-1))
    if way == "before":
        # Nothing lies before the first: the sum of nothing is 0, the product 1.
        start = np.full_like(result[..., :1], 0 if kind == "sum" else 1)
        result = np.concatenate([start, result[..., :-1]], axis=-1)
    return result


def walk(tree: Node) -> Iterator[Node]:
    """Every node of a tree."""
    yield tree
    for part in tree.parts:
        yield from walk(part)


def outside(tree: Node) -> Iterator[Node]:
    """Nodes that lie in no fold."""
    if tree.kind == "fold":
        return
    yield tree
    for part in tree.parts:
        yield from outside(part)
