"""Questions in slots with tile programs as short as they can be: what a small model is trained on.

A question is drawn as the harness asks it, with names, extents and a formula; the rule of
:mod:`kernelgen_lm.formulas.slots` makes it short. No operator has one operation alone, and none equals a benchmark's
operator by value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelgen_lm.corpus.asking import operator_name, tensor_names
from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.program import Kind
from kernelgen_lm.formulas.slots import slotted
from kernelgen_lm.formulas.trees import (
    Node,
    Notation,
    compute,
    draw_tree,
    leaf,
    names_in,
    operations,
    outside,
    say,
    walk,
)
from kernelgen_lm.formulas.writing import AXIS, Input, Writing
from npukernelbench.nouns import Message
from npukernelbench.seed import derive

__all__ = ["FAMILIES", "Short", "benchmarks", "draw_short", "evaluate", "is_known", "stream_short"]

#: Families with their shares.
FAMILIES: Mapping[str, int] = {"flat": 34, "list": 12, "whole": 18, "rows": 22, "axis": 14, "scan": 10}
_TYPES = ("float32", "float16", "bfloat16")
_SPANS = (Interval(-1.9, 1.9), Interval(0.2, 0.9))
_NUMBER = re.compile(r"(?<![A-Za-z0-9_>.])(?:\d+\.\d*(?:e-?\d+)?|\d+e-?\d+|\d{2,})(?![A-Za-z0-9_])")
_DECIMAL = re.compile(r"\d+\.\d+$")
_IDLE = ("dim", "mode", "axis", "keep", "count", "lr", "level")
_INDICES = (("_i", "_j"), ("", ""), ("_ij", "_ij"), ("[i]", "[j]"), ("_n", "_n"))


@dataclass(frozen=True, slots=True)
class Short:
    """A question as the harness asks it, the same in slots, its program in slots, and the trees that both say.

    ``attributes`` are, by name, the type, the value, and the place among the formula's attributes, as of
    :class:`~kernelgen_lm.formulas.writing.Asked`; ``kept``: an axis that is folded stays as one of extent 1.
    """

    family: str
    asked: str
    prompt: str
    program: str
    names: Mapping[str, str]
    inputs: tuple[Input, ...]
    statements: tuple[tuple[str, Node], ...]
    attributes: Mapping[str, tuple[str, object, int]]
    kept: bool


def stream_short(seed: int, count: int, exclusion: Exclusion | None = None) -> Iterator[Short]:
    """Questions of a seed, without those that are known by value."""
    for index in range(count):
        drawn = draw_short(Random(derive(seed, "short", index)))
        if drawn is not None and (exclusion is None or not is_known(drawn, exclusion)):
            yield drawn


def draw_short(rng: Random) -> Short | None:
    """One question; None for a draw that says nothing sensible."""
    family = rng.choices(list(FAMILIES), list(FAMILIES.values()))[0]
    inputs, attributes = _interface(rng, family)
    # Comparisons are asked for element by element alone: folds and scans give numbers.
    truth = family in ("flat", "list") and rng.random() < 0.14
    statements = _statements(rng, family, inputs, attributes, truth)
    used = set().union(*(names_in(tree) for _, tree in statements))
    wanted = {("in" if source.kind in ("full", "col") else "scalar", str(at)) for at, source in enumerate(inputs)}
    # Every input has to be used; a single operation has a name of its own, which benchmarks ask for.
    if not wanted <= used or sum(operations(tree) for _, tree in statements) < 2:
        return None
    if (
        not all(_sensible(tree) for _, tree in statements)
        or not _fits(inputs, statements)
        or not _finite(family, inputs, attributes, statements)
    ):
        return None
    return _Asking(rng, family, inputs, attributes, statements, truth).short()


def _interface(rng: Random, family: str) -> tuple[tuple[Input, ...], tuple[str, ...]]:
    """Inputs and attributes."""
    few = family in ("rows", "axis", "scan")
    # Few inputs more often, as operators have them.
    full = rng.choice((1, 1, 1, 2)) if few else rng.choices((1, 2, 3, 4), (42, 32, 20, 6))[0]
    kinds = ["full"] * full
    if family == "rows" and rng.random() < 0.4:
        kinds += ["col"] * rng.choice((1, 1, 2))
    if family in ("flat", "list") and rng.random() < 0.45:
        kinds.append(rng.choice(("scalar", "single")) if family == "list" else "scalar")
        if rng.random() < (0.2 if family == "list" else 0.4):
            kinds.append(kinds[-1])
    elif rng.random() < 0.3 and family != "list":
        named = _named(rng, kinds)
        free = [
            name
            for name in ("alpha", "beta", "eps", "slope", "bound", "factor")
            if name not in {source.name for source in named}
        ]
        return named, tuple(rng.sample(free, rng.choice((1, 1, 2))))
    return _named(rng, kinds), ()


def _named(rng: Random, kinds: Sequence[str]) -> tuple[Input, ...]:
    names = tensor_names(rng, len(kinds))[:-1]
    dtype = rng.choices(_TYPES, (4, 5, 1))[0]
    return tuple(
        Input(name, kind, "float32" if kind in ("scalar", "single") and rng.random() < 0.4 else dtype)
        for name, kind in zip(names, kinds, strict=True)
    )


def _statements(
    rng: Random, family: str, inputs: Sequence[Input], attributes: Sequence[str], truth: bool
) -> tuple[tuple[str, Node], ...]:
    """Values and the result, in order."""
    full = [leaf("in", at) for at, source in enumerate(inputs) if source.kind in ("full", "col")]
    single = [leaf("scalar", at) for at, source in enumerate(inputs) if source.kind in ("scalar", "single")]
    leaves = full + single + [leaf("attribute", at) for at in range(len(attributes))]
    size = rng.choices((1, 2, 3, 4, 5, 6, 8), (24, 28, 20, 12, 8, 5, 3))[0] + len(leaves) - 1
    made: list[tuple[str, Node]] = []
    while len(made) < 2 and rng.random() < (0.2 if family != "whole" else 0.1):
        some = rng.sample(leaves, rng.randint(1, min(2, len(leaves))))
        # A value of numbers alone would be a constant with a name.
        if not any(tree.kind in ("in", "value") for tree in some):
            break
        made.append((f"v{len(made)}", draw_tree(rng, some, rng.randint(1, 3))))
        value = leaf("value", len(made) - 1)
        leaves = [tree for tree in leaves if tree not in some or (tree.kind == "in" and rng.random() < 0.4)] + [value]
    if family in ("whole", "rows", "axis", "scan"):
        return (*made, ("out", _folding(rng, family, leaves, size)))
    tree = draw_tree(rng, leaves, size)
    if truth:
        other = leaf("number", rng.choice((0, 1, 2, "0.5")))
        name = rng.choice(("<", "<=", ">", ">=", "==", "!="))
        if tree.kind == "binary" and tree.name in "+-*/" and rng.random() < 0.5:
            tree = Node("compare", name, tree.parts)
        elif rng.random() < 0.5:
            # Whether a value is finite, or infinite.
            tree = Node("compare", rng.choice(("<", "==")), (Node("call", "abs", (tree,)), leaf("number", "infinity")))
        else:
            tree = Node("compare", name, (tree, other))
    return (*made, ("out", tree))


def _folding(rng: Random, family: str, leaves: Sequence[Node], size: int) -> Node:
    """A tree with a reduction in it."""
    if family == "scan":
        way = rng.choice(("", "", " before", " reverse"))
        name = rng.choice(("sum", "sum", "prod")) + way
        scan = Node("scan", name, (draw_tree(rng, leaves, rng.choice((1, 1, 2, 3))),))
        return scan if scan.name.startswith("prod") else draw_tree(rng, [scan], rng.choice((0, 0, 1)))
    fold = rng.choices(("sum", "mean", "max", "min", "prod"), (5, 4, 2, 2, 0 if family == "rows" else 1))[0]
    if family in ("whole", "axis") or rng.random() < 0.25:
        inner = Node("fold", fold, (draw_tree(rng, leaves, max(0, size - 1)),))
        # What is made of a large product would be of none of float32's numbers.
        return inner if fold == "prod" else draw_tree(rng, [inner], rng.choices((0, 1, 2), (4, 3, 1))[0])
    full = [tree for tree in leaves if tree.kind in ("in", "value")]
    given = rng.choice(full)
    inner = Node("fold", fold, (draw_tree(rng, [given], rng.randint(0, 2)),))
    if rng.random() < 0.3:
        inner = draw_tree(rng, [inner], 1)
    rest = [tree for tree in leaves if tree != given] + [given if rng.random() < 0.8 else draw_tree(rng, [given], 1)]
    return draw_tree(rng, [*rest, inner], len(rest) + rng.randint(0, 1))


def _tiled(tree: Node) -> bool:
    return tree.kind in ("in", "value", "fold") or any(_tiled(part) for part in tree.parts)


def _sensible(tree: Node) -> bool:
    """Whether functions are of tiles, and no fold is of a fold."""
    if not tree.parts:
        return True
    if not _tiled(tree):
        return all(kind == "number" for kind, _ in names_in(tree)) and tree.kind in ("binary", "call")
    if tree.kind == "if" and not (_tiled(tree.parts[1]) or _tiled(tree.parts[2])):
        return False
    if tree.kind == "fold" and (not _tiled(tree.parts[0]) or any(part.kind == "fold" for part in walk(tree.parts[0]))):
        return False
    return all(_sensible(part) for part in tree.parts)


def _fits(inputs: Sequence[Input], statements: Sequence[tuple[str, Node]]) -> bool:
    """Whether the language broadcasts what meets: rows and columns need a full tile, comparisons equal tiles."""
    extents: dict[tuple[str, str], str] = {}
    for at, source in enumerate(inputs):
        # What is called col here, one row for all, is a row to the language.
        extents[("in", str(at))] = extents[("scalar", str(at))] = {"col": "row", "full": "full"}.get(source.kind, "one")
    for at, (_, tree) in enumerate(statements):
        found = _extent(tree, extents)
        # A value in between lies in a buffer of a full tile, which no other extent fills.
        if found not in ("full", "column") or (at < len(statements) - 1 and found != "full"):
            return False
        extents[("value", str(at))] = found
    return True


def _extent(tree: Node, extents: Mapping[tuple[str, str], str]) -> str:
    """full, row, column, one or number; wrong for what does not fit."""
    if not tree.parts:
        return extents.get((tree.kind, tree.name), "number")
    parts = [_extent(part, extents) for part in tree.parts]
    if "wrong" in parts:
        return "wrong"
    if tree.kind in ("fold", "scan"):
        return ("column" if tree.kind == "fold" else "full") if parts[0] == "full" else "wrong"
    held = {part for part in parts if part != "number"}
    tiles = held - {"one"}
    if tree.kind in ("compare", "if") and len(held) > 1:
        return "wrong"
    if tiles == {"row", "column"}:
        return "wrong"
    return next((extent for extent in ("full", "row", "column", "one") if extent in held), "number")


def evaluate(
    family: str,
    statements: Sequence[tuple[str, Node]],
    arrays: Sequence[NDArray[Any]],
    attributes: Sequence[float] = (),
) -> NDArray[Any]:
    """What the trees compute of arrays."""
    values: dict[tuple[str, str], Any] = {("attribute", str(at)): value for at, value in enumerate(attributes)}
    for at, array in enumerate(arrays):
        values[("in", str(at))] = values[("scalar", str(at))] = array
    if family == "whole":
        # Tells compute that folds go over all axes.
        values[("", "whole")] = 1.0
    result = np.zeros(())
    # Infinities and NaN are looked for afterwards.
    with np.errstate(all="ignore"):
        for at, (_, tree) in enumerate(statements):
            result = values[("value", str(at))] = compute(tree, values)
    return np.asarray(result)


def _arrays(inputs: Sequence[Input], span: Interval) -> tuple[NDArray[Any], ...]:
    return _drawn(tuple(source.kind for source in inputs), span)


@cache
def _drawn(kinds: tuple[str, ...], span: Interval) -> tuple[NDArray[Any], ...]:
    # Always the same arrays: the key under which an exclusion keeps its results says their kinds and range only.
    rng = np.random.default_rng(0)
    extents = {"full": (6, 48), "col": (48,), "scalar": (1,), "single": (1,)}
    return tuple(rng.uniform(span.low, span.high, extents[kind]) for kind in kinds)


def _finite(
    family: str, inputs: Sequence[Input], attributes: Sequence[str], statements: Sequence[tuple[str, Node]]
) -> bool:
    """Whether results are mostly numbers of moderate size somewhere, and not all the same."""
    for span in _SPANS:
        result = evaluate(family, statements, _arrays(inputs, span), [0.7] * len(attributes))
        good = np.isfinite(result) & (np.abs(result.astype(np.float64)) < 1e4)
        # A result that is the same everywhere would be right for almost any program.
        if good.mean() > 0.8 and (result.size < 7 or result.dtype == bool or float(np.std(result[good])) > 1e-3):
            return True
    return False


def is_known(short: Short, exclusion: Exclusion) -> str | None:
    """The benchmark's operator or plain function that a question equals by value."""
    kinds = tuple(Kind.COL if source.kind == "col" else Kind.FULL for source in short.inputs)
    # No more are drawn for a question, and values that no tree asks for do no harm.
    attributes = 2
    for span in _SPANS:
        arrays = _arrays(short.inputs, span)
        result = evaluate(short.family, short.statements, arrays, [0.7] * attributes)
        equal = exclusion.same((kinds, span, tuple(source.kind for source in short.inputs)), kinds, arrays, result)
        if equal is not None:
            return equal
    return None


class _Asking:
    """Writes question and program of one draw."""

    def __init__(
        self,
        rng: Random,
        family: str,
        inputs: Sequence[Input],
        attributes: Sequence[str],
        statements: Sequence[tuple[str, Node]],
        truth: bool,
    ) -> None:
        self.rng, self.family, self.inputs = rng, family, tuple(inputs)
        self.kept = family == "axis" and rng.random() < 0.3
        self.attributes = _with_idle(rng, attributes, {source.name for source in inputs}, family in ("axis", "scan"))
        self.statements = tuple(statements)
        taken = {source.name for source in inputs}
        # The output must not be called like an input, or the formula could not tell them apart.
        self.output = rng.choice([name for name in ("y", "y", "z", "out", "result", "res") if name not in taken])
        self.first = next(at for at, source in enumerate(inputs) if source.kind == "full")
        self.result = "bool" if truth else inputs[self.first].dtype
        whole_tiles = any(node.kind in ("in", "value") for node in outside(statements[-1][1]))
        # Without a full tensor outside of its folds a row has one result.
        self.narrow = family in ("rows", "axis") and not whole_tiles

    def short(self) -> Short | None:
        """Everything; None where the rule finds no question."""
        asked = self._asked()
        found = slotted((Message("user", asked),))
        if found is None:
            return None
        program = Writing(self).text()
        numbers = {text: slot for slot, text in found.names.items() if slot.startswith("<n")}
        lines = [
            # Elsewhere numbers are sizes, which may equal one of the formula by chance.
            _NUMBER.sub(lambda match: numbers.get(match[0], match[0]), line) if "[:] = " in line else line
            for line in program
        ]
        body = "\n".join(lines)
        answer = f"```python\n{body}\n```\n"
        given = (found.text, answer, found.names, self.inputs, self.statements, self.attributes, self.kept)
        return Short(self.family, asked, *given)

    def _asked(self) -> str:
        """The question, in the words of the short style."""
        rng = self.rng
        shape = tuple(
            rng.choice((1, 3, 7, 16, 48, 64, 100, 128, 255, 256, 512, 1000)) for _ in range(rng.randint(1, 4))
        )
        if self.family in ("rows", "axis", "scan"):
            shape = (*shape[:2], rng.choice((16, 48, 64, 100, 128, 255, 256, 512, 1000)))
        lines = [f"# {operator_name(rng)}: A formula.", "", "See the formula.", "", f"    {self._formula()}", ""]
        lines += [f"Attribute {name}: {kind}, default {value}." for name, (kind, value, _) in self.attributes.items()]
        lines += ["Write it for this case; sizes and attribute values may be constants.", ""]
        count = rng.randint(1, 3)
        for source in self.inputs:
            extent: tuple[int, ...] = shape
            if source.kind in ("scalar", "single"):
                extent = () if source.kind == "scalar" and rng.random() < 0.5 else (1,)
                extent = (count,) if source.kind == "single" else extent
            if source.kind == "col":
                extent = shape[-1:]
            text = f"{source.dtype} {list(extent)}"
            listed = self.family == "list" and source.kind == "full"
            lines.append(f"- input {source.name}: " + (f"list of 1 {text}" if listed else text))
        given = self._given(shape)
        text = f"{self.result} {given}"
        lines.append(f"- output {self.output}: " + (f"list of 1 {text}" if self.family == "list" else text))
        lines += [f"- attribute {name} = {value}" for name, (_, value, _) in self.attributes.items()]
        return "\n".join([*lines, "", "Answer. The kernel function is `f`.", ""])

    def _constants(self, taken: Sequence[str]) -> dict[str, str]:
        """Numbers that the formula calls by name."""
        # Sorted: a set of strings has another order in every process, and the draw has to be the same.
        values = sorted({node.name for _, tree in self.statements for node in walk(tree) if _DECIMAL.match(node.name)})
        if not values or self.rng.random() < 0.7:
            return {}
        held = {*taken, *self.attributes, self.output, *(source.name for source in self.inputs)}
        names = [name for name in ("alpha", "scale", "gamma", "lambda", "kappa", "shift") if name not in held]
        return dict(zip(self.rng.sample(names, len(names)), values[: self.rng.choice((1, 2, 2))], strict=False))

    def _twice(self, text: str, other: str, names: Mapping[tuple[str, str], str]) -> str:
        """A formula said in two ways, of which one may use a function that nobody knows."""
        if self.rng.random() < 0.5 or self.family == "scan":
            return f"{other} = {text}"
        given = names[("in", str(self.first))]
        unknown = self.rng.choice(("Phi", "psi", "H", "G")) + f"({given})"
        unknown = self.rng.choice((unknown, f"{given} * {unknown}", f"{unknown} / 2"))
        return f"{unknown} = {text}"

    def _along(self, letter: str) -> list[str]:
        """The words for what is folded."""
        rng = self.rng
        if self.family in ("axis", "scan"):
            name = next(name for name, (_, _, which) in self.attributes.items() if which == AXIS)
            axis = "axis" if name == "axis" else f"the axis {name}"
            return [f"{letter} along {axis}" if self.family == "axis" and rng.random() < 0.5 else f"along {axis}"]
        if self.family != "rows" or rng.random() < 0.6:
            return []
        axes = [f"i and j along the axis {name}" for name in self.attributes if name in ("dim", "axis")]
        usual = ["i and j along the last axis", "along the last axis", f"{letter} along the last axis"]
        return [rng.choice(usual if self.narrow or not axes else axes)]

    def _given(self, shape: tuple[int, ...]) -> list[int]:
        """Extents of the output."""
        if self.family == "axis":
            at = self.rng.randint(0, len(shape) - 1)
            return [*shape[:at], *([1] * self.kept), *shape[at + 1 :]]
        return list(() if self.family == "whole" else shape[:-1] if self.narrow else shape)

    def _formula(self) -> str:
        rng = self.rng
        index, folded = rng.choice(_INDICES)
        if self.family in ("rows", "axis"):
            index, folded = rng.choice(
                (("_i", "_j"), ("_rj", "_rk"), ("_ij", "_ij"), ("", ""), ("_nc", "_nk"), ("_ij", "_ik"))
            )
        if self.family == "scan":
            index = "_i"
        if self.family == "list":
            index = rng.choice(("[k]_i", "[k]_i", "[k]_i", "[k][i]"))
        how = Notation(index, rng.randint(0, 41), folded)
        brief = rng.random() < (0.35 if self.family == "whole" else 0.12)
        names: dict[tuple[str, str], str] = {}
        for at, source in enumerate(self.inputs):
            letter = (
                source.name[0]
                # Initials stand for the inputs only where they tell them apart.
                if brief and len({other.name[0] for other in self.inputs}) == len(self.inputs)
                else source.name
            )
            held = index if source.kind == "full" else "[k]" if source.kind == "single" else ""
            if source.kind == "col":
                held = f"_{index[-1]}" if index and rng.random() < 0.7 else ""
            names[("in", str(at))] = names[("scalar", str(at))] = letter + held
        for name, (_, _, at) in self.attributes.items():
            names[("attribute", str(at))] = name
        words = [
            word
            for word in ("p", "q", "u", "w", "g", "d", "s", "mid", "inner", "aux")
            if word not in {source.name for source in self.inputs}
        ]
        chosen = rng.sample([word for word in words if word != self.output], len(self.statements))
        constants = self._constants(chosen)
        names |= {("number", value): name for name, value in constants.items()}
        lines = []
        for at, (place, tree) in enumerate(self.statements):
            text = say(tree, names, how)
            if place == "out":
                bare = self.family == "whole" or (self.narrow and rng.random() < 0.3)
                left = self.output + ("" if bare else index)
                if tree.kind == "compare":
                    text = f"({text})" if rng.random() < 0.7 else f"1 if {text} else 0"
                elif rng.random() < 0.15:
                    text = self._twice(text, say(tree, names, how._replace(choice=how.choice + 1)), names)
                lines.append(f"{left} = {text}")
            else:
                mark = index if index and rng.random() < 0.4 else ""
                names[("value", str(at))] = chosen[at] + mark
                lines.append(f"{chosen[at]}{mark} = {text}")
        gap = rng.choice(("\n", "\n", "     "))
        if constants:
            lines.append(", ".join(f"{name} = {value}" for name, value in constants.items()))
        lines += self._along(folded[-1:] or "i")
        return gap.join(lines)


def _with_idle(
    rng: Random, used: Sequence[str], taken: set[str], folded: bool
) -> Mapping[str, tuple[str, object, int]]:
    """Attributes by name: type, value, and which one the formula means; some decide nothing."""
    held: list[tuple[str, tuple[str, object, int]]] = [(name, ("float", 0.5, at)) for at, name in enumerate(used)]
    if folded:
        held.insert(rng.randint(0, len(held)), (rng.choice(("dim", "dim", "axis", "along")), ("int", 1, AXIS)))
    while rng.random() < 0.12:
        name = rng.choice([word for word in _IDLE if word not in taken and not (folded and word in ("dim", "axis"))])
        kind, value = rng.choice((("int", 1), ("int", -1), ("bool", True), ("float", 1.5)))
        held.insert(rng.randint(0, len(held)), (name, (kind, value, -1)))
    return dict(held)


@cache
def benchmarks() -> Exclusion:
    """What no question may equal."""
    return Exclusion.of_benchmarks()
