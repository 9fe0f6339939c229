"""The tile program of a drawn question, in slots: one form for every family, as short as the language allows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from kernelgen_lm.formulas.trees import Node, leaf, names_in, translate, walk
from kernelgen_lm.tile_loops import SHARE, by_tiles, indented, put_together

__all__ = ["AXIS", "Asked", "Input", "Writing"]


#: What an attribute means that names the axis to fold; others have the number of their place in the formula.
AXIS = -2
#: What a fold of nothing is.
_STARTS = {"sum": "0.0", "mean": "0.0", "max": "-3.0e38", "min": "3.0e38", "prod": "1.0"}


class Input(NamedTuple):
    """``kind``: full, scalar, single (an element per tensor of a list) or col."""

    name: str
    kind: str
    dtype: str


class Asked(Protocol):
    """What a program is written for."""

    family: str
    inputs: tuple[Input, ...]
    attributes: Mapping[str, tuple[str, object, int]]
    statements: tuple[tuple[str, Node], ...]
    result: str
    first: int
    narrow: bool
    kept: bool


class Writing:
    """The program of a draw, in slots."""

    def __init__(self, asking: Asked) -> None:
        self.asking = asking
        self.inputs = [(f"<i{at}>", source) for at, source in enumerate(asking.inputs)]
        self.full = [(slot, source) for slot, source in self.inputs if source.kind == "full"]
        self.scalars = [(slot, source) for slot, source in self.inputs if source.kind in ("scalar", "single")]
        self.first = f"<i{asking.first}>"
        self.places: dict[tuple[str, str], str] = {}
        for at in range(len(self.inputs)):
            self.places[("in", str(at))] = self.places[("scalar", str(at))] = f"<f{at}>"
        used = set().union(*(names_in(tree) for _, tree in asking.statements))
        places = [(at, f"<a{place}>", kind) for place, (kind, _, at) in enumerate(asking.attributes.values())]
        self.places |= {("attribute", str(at)): slot for at, slot, _ in places}
        # Attributes that decide nothing are left out of the program.
        self.attributes = [(slot, kind) for at, slot, kind in places if ("attribute", str(at)) in used or at == AXIS]
        for at in range(len(asking.statements)):
            self.places[("value", str(at))] = f"<v{at}>"

    def text(self) -> list[str]:
        """The lines of the program."""
        families = {
            "flat": self.flat,
            "list": self.lists,
            "rows": self.rows,
            "whole": self.whole,
            "axis": self.axis,
            "scan": self.axis,
        }
        return families[self.asking.family]()

    def _signature(self, numbers: str, more: str = "") -> list[str]:
        listed = "s" if self.asking.family == "list" else ""
        arguments = [
            f"{slot}: Input{listed if source.kind == 'full' else ''}[{source.dtype}]" for slot, source in self.inputs
        ]
        arguments.append(f"<o0>: Output{listed}[{self.asking.result}]")
        arguments += [more] * bool(more)
        arguments += [f"{slot}: Attribute[{kind}]" for slot, kind in self.attributes]
        return ["", "", "@kernel", f"def <k>({', '.join(arguments)}, *, {numbers}):"]

    def _before(self) -> list[str]:
        """All values but the result."""
        return [f"<{place}>[:] = {translate(tree, self.places)}" for place, tree in self.asking.statements[:-1]]

    def _lines(self) -> list[str]:
        tree = self.asking.statements[-1][1]
        return [*self._before(), f"<o0>_out[:] = {self.asking.result}({translate(tree, self.places)})"]

    def _wide(self) -> list[str]:
        """Full inputs as float32."""
        return [f"{_value(slot)}[:] = float32({slot}_in)" for slot, _ in self.full]

    def _values(self, extent: str) -> list[str]:
        return [
            *(f"    {_value(slot)} = buffer({extent}, float32)" for slot, _ in self.full),
            *(f"    <{place}> = buffer({extent}, float32)" for place, _ in self.asking.statements[:-1]),
        ]

    def _ones(self) -> list[str]:
        """Buffers of single elements."""
        return [
            line
            for slot, source in self.scalars
            for line in (f"    {slot}_in = buffer(1, {source.dtype})", f"    {_value(slot)} = buffer(1, float32)")
        ]

    def _load_ones(self, indent: str) -> list[str]:
        if not self.scalars:
            return []
        return [
            f"{indent}with copy_in:",
            *(
                f"{indent}    load({slot}_in, {slot}[{'k' if source.kind == 'single' else '0'}], 1)"
                for slot, source in self.scalars
            ),
            f"{indent}with compute(1):",
            *(f"{indent}    {_value(slot)}[:] = float32({slot}_in)" for slot, _ in self.scalars),
        ]

    def _buffers(self) -> list[str]:  # depth=2 keeps two of each: one is copied while the other is computed with
        return [
            *(f"    {slot}_in = buffer(tile, {source.dtype}, depth=2)" for slot, source in self.full),
            *self._values("tile"),
            f"    <o0>_out = buffer(tile, {self.asking.result}, depth=2)",
            *self._ones(),
        ]

    def flat(self) -> list[str]:
        """Every core takes a share of the elements."""
        return [
            "@host",
            f"def plan({self.first}):",
            f"    total = {self.first}.size",
            # At least 256 elements: less work than that is not worth a core.
            "    share = max(256, round_up(ceil_div(total, vector_cores()), 256))",
            f"    <o0>.shape = {self.first}.shape",
            "    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=2048)",
            *self._signature("total, share, tile"),
            *self._buffers(),
            *self._load_ones("    "),
            *indented(self._share()),
        ]

    def lists(self) -> list[str]:
        """Every core takes a share of every tensor."""
        return [
            "@host",
            "def plan():",
            f"    <o0>.shape = {self.first}.shape",
            # The host function knows no sizes of lists: the kernel shares the work out.
            "    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)",
            *self._signature("lanes, tile"),
            *self._buffers(),
            f"    for k in range(len({self.first})):",
            *self._load_ones("        "),
            f"        total = {self.first}[k].size",
            "        share = max(256, round_up(ceil_div(total, lanes), 256))",
            *indented(self._share("[k]"), 2),
        ]

    def _share(self, tensor: str = "") -> list[str]:
        """A core's share of the elements, or of those of one ``tensor`` of a list."""
        stored = [f"store(<o0>{tensor}[begin + offset], <o0>_out, length)"]
        return [*SHARE, *by_tiles(self._loads(tensor), [*self._wide(), *self._lines()], stored)]

    def _loads(self, tensor: str = "") -> list[str]:
        return [f"load({slot}_in, {slot}{tensor}[begin + offset], length)" for slot, _ in self.full]

    def rows(self) -> list[str]:
        """Rows in pieces: a pass for each fold, then one for the result, so that no row is too long."""
        narrow = self.asking.narrow
        held = [(slot, source) for slot, source in self.inputs if source.kind in ("full", "col")]
        tree = self.asking.statements[-1][1]
        # Equal folds share one pass over the row.
        folds = list(dict.fromkeys(node for node in walk(tree) if node.kind == "fold"))
        scale = "scale" if any(fold.name == "mean" for fold in folds) else ""
        places = dict(self.places)
        for at, fold in enumerate(folds):
            tree = _replaced(tree, fold, leaf("folded", at))
            places[("folded", str(at))] = f"fold{at}"
        wide = [f"{_value(slot)}[:] = float32({slot}_in)" for slot, _ in held] + self._before()
        lines = [
            "@host",
            f"def plan({self.first}):",
            f"    d = {self.first}.shape[{self.first}.rank - 1]",
            f"    n = {self.first}.size // d",
            f"    <o0>.shape = {self.first}.shape" + (f"[0:{self.first}.rank - 1]" if narrow else ""),
            # No more cores than rows, which would have nothing to do.
            "    lanes = min(n, vector_cores())",
            "    launch(cores=lanes, n=n, d=d, lanes=lanes, tile=2048" + (", scale=1.0 / float(d))" if scale else ")"),
            *self._signature("n, d, lanes, tile" + (", scale" if scale else "")),
            *(f"    {slot}_in = buffer(tile, {source.dtype}, depth=2)" for slot, source in held),
            *(f"    {_value(slot)} = buffer(tile, float32)" for slot, _ in held),
            *(f"    <{place}> = buffer(tile, float32)" for place, _ in self.asking.statements[:-1]),
            *(f"    fold{at} = buffer(1, float32)" for at in range(len(folds))),
            f"    <o0>_out = buffer({'1' if narrow else 'tile'}, {self.asking.result}, depth=2)",
            "    for row in range(core(), n, lanes):",
        ]
        for at, fold in enumerate(folds):
            inner = leaf("row", translate(_scaled(fold), {**places, ("scale", ""): "scale"}))
            lines += ["        with compute(1):", f"            fold{at}[:] = {_STARTS[fold.name]}"]
            lines += [*self._pieces(held), *(f"                {line}" for line in wide)]
            lines.append(f"                fold{at}[:] = {_gathered(fold.name, f'fold{at}', inner.name)}")
        result = f"<o0>_out[:] = {self.asking.result}({translate(tree, places)})"
        if narrow:
            lines += ["        with compute(1):", f"            {result}", "        with copy_out:"]
            return [*lines, "            store(<o0>[row], <o0>_out, 1)"]
        lines += [*self._pieces(held), *(f"                {line}" for line in (*wide, result))]
        return [*lines, "            with copy_out:", "                store(<o0>[row * d + offset], <o0>_out, length)"]

    def _pieces(self, held: list[tuple[str, Input]]) -> list[str]:
        """The loop over a row, up to what is computed of a piece."""
        return [
            "        for offset in range(0, d, tile):",
            "            length = min(tile, d - offset)",
            "            with copy_in:",
            *(
                f"                load({slot}_in, {slot}[{'row * d + ' * (source.kind == 'full')}offset], length)"
                for slot, source in held
            ),
            "            with compute(length):",
        ]

    def axis(self) -> list[str]:
        """One axis folded or scanned: what lies behind it in pieces, element by element along it."""
        asking = self.asking
        place = next(at for at, (_, _, which) in enumerate(asking.attributes.values()) if which == AXIS)
        tree = asking.statements[-1][1]
        fold = next(node for node in walk(tree) if node.kind in ("fold", "scan"))
        kind, _, way = fold.name.partition(" ")
        places = {**self.places, ("folded", ""): "own", ("scale", ""): "scale"}
        scale = ", scale" if kind == "mean" else ""
        joined = {"sum": "+", "mean": "+", "prod": "*"}.get(kind, kind)
        added = translate(Node("binary", joined, (leaf("folded", ""), _scaled(fold))), places)
        shape = f"{self.first}.shape"
        behind = f"{shape}[level + 1:{self.first}.rank]"
        head = [
            "@host",
            f"def plan({self.first}, <a{place}>):",
            # Axes count from the end where they are negative, as in PyTorch.
            f"    level = <a{place}> + {self.first}.rank if <a{place}> < 0 else <a{place}>",
            f"    d = {shape}[level]",
            f"    inner = prod({behind})",
            f"    outer = {self.first}.size // (d * inner)",
            "    blocks = ceil_div(inner, 2048)",
            "    lanes = min(outer * blocks, vector_cores())",
            f"    <o0>.shape = {shape}"
            + ("" if fold.kind == "scan" else f"[0:level]{' + (1,)' if asking.kept else ''} + {behind}"),
            "    launch(cores=lanes, d=d, inner=inner, outer=outer, blocks=blocks, lanes=lanes, tile=2048"
            + (", scale=1.0 / float(d))" if scale else ")"),
            *self._signature("d, inner, outer, blocks, lanes, tile" + scale),
            *(f"    {slot}_in = buffer(tile, {source.dtype}, depth=2)" for slot, source in self.full),
            *self._values("tile"),
            "    own = buffer(tile, float32)",
            f"    <o0>_out = buffer(tile, {asking.result}, depth=2)",
            "    for block in range(core(), outer * blocks, lanes):",
            "        offset = block % blocks * tile",
            "        begin = block // blocks * inner",
            "        length = min(tile, inner - offset)",
            "        with compute(length):",
            f"            own[:] = {_STARTS[kind]}",
        ]
        at = "d - 1 - j" if way == "reverse" else "j"
        start = f"begin * d + {f'({at})' if way == 'reverse' else at} * inner + offset"
        head += [
            "        for j in range(0, d):",
            "            with copy_in:",
            *(f"                load({slot}_in, {slot}[{start}], length)" for slot, _ in self.full),
            "            with compute(length):",
        ]
        each = [*self._wide(), *self._before()]
        last = f"<o0>_out[:] = {asking.result}({translate(_replaced(tree, fold, leaf('folded', '')), places)})"
        if fold.kind == "scan":
            # A sum of what comes before is stored before this element is added.
            each += [last, f"own[:] = {added}"] if way == "before" else [f"own[:] = {added}", last]
            stored = ["            with copy_out:", f"                store(<o0>[{start}], <o0>_out, length)"]
            return [*head, *(f"                {line}" for line in each), *stored]
        return [
            *head,
            *(f"                {line}" for line in (*each, f"own[:] = {added}")),
            "        with compute(length):",
            f"            {last}",
            "        with copy_out:",
            "            store(<o0>[begin + offset], <o0>_out, length)",
        ]

    def whole(self) -> list[str]:
        """One number of all elements: parts of all cores, then their sum or extreme."""
        asking = self.asking
        fold = next(node for node in walk(asking.statements[-1][1]) if node.kind == "fold")
        row = "row_sum" if fold.name == "mean" else f"row_{fold.name}"
        mean = fold.name == "mean"
        merged = _gathered(fold.name, "own", translate(fold.parts[0], self.places))
        last = translate(
            _replaced(asking.statements[-1][1], fold, leaf("folded", "")), {**self.places, ("folded", ""): "all"}
        )
        finished = [
            f"all[:] = {row}(every)" + (" * scale" if mean else ""),
            f"<o0>_out[:] = {asking.result}({last})",
        ]
        return [
            "@host",
            f"def plan({self.first}):",
            f"    total = {self.first}.size",
            # All of them, as sync_all() needs every core.
            "    cores = vector_cores()",
            "    share = round_up(ceil_div(total, cores), 128)",
            "    <o0>.shape = ()",
            "    parts.shape = (cores,)",
            "    launch(cores=cores, total=total, share=share, tile=2048, lanes=cores"
            + (", scale=1.0 / float(total))" if mean else ")"),
            *self._signature("total, share, tile, lanes" + (", scale" if mean else ""), "parts: Workspace[float32]"),
            *(f"    {slot}_in = buffer(tile, {source.dtype}, depth=2)" for slot, source in self.full),
            *self._values("tile"),
            "    own = buffer(1, float32)",
            "    every = buffer(lanes, float32)",
            "    all = buffer(1, float32)",
            f"    <o0>_out = buffer(1, {asking.result})",
            *indented(SHARE),
            "    with compute(1):",
            f"        own[:] = {_STARTS[fold.name]}",
            *indented(by_tiles(self._loads(), [*self._wide(), *self._before(), f"own[:] = {merged}"])),
            *indented(put_together(finished, "store(<o0>[0], <o0>_out, 1)")),
        ]


def _value(slot: str) -> str:
    """The buffer that holds an input's values as float32."""
    return f"<f{slot[2:]}"


def _scaled(fold: Node) -> Node:
    """What a fold takes, and of a mean its share."""
    # The share is multiplied in before the sum, which then is no larger than the largest magnitude.
    return Node("binary", "*", (fold.parts[0], leaf("scale", ""))) if fold.name == "mean" else fold.parts[0]


def _gathered(name: str, held: str, inner: str) -> str:
    """What was folded so far with one more row."""
    row = f"row_{'sum' if name == 'mean' else name}({inner})"
    return {"max": f"max({held}, {row})", "min": f"min({held}, {row})", "prod": f"{held} * {row}"}.get(
        name, f"{held} + {row}"
    )


def _replaced(tree: Node, old: Node, new: Node) -> Node:
    if tree == old:
        return new
    return tree._replace(parts=tuple(_replaced(part, old, new) for part in tree.parts))
