"""How shapes may vary where arguments are lists of tensors: the shapes that were stated are drawn, again and again, and
what the outputs are in all draws is what they are.

A tracer takes a list for so many arguments, each with axes of its own. Here a list has one shape over axes, which every
tensor of it draws anew, and lists have any length.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from .probing import worked_out
from .subjects import Subject, is_list

__all__ = ["listed_shapes"]

#: So many draws have to agree.
_DRAWS = 16
_LONGEST = 5
#: What ``..`` may be: no axis to three.
_MOST_REST = 3
#: How far above its lowest an extent is drawn.
_STEPS = 8
REST, COUNT = "...", "count"


def listed_shapes(header: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """Axes and shapes as ``symbolic_shapes`` gives them. ValueError where the draws do not agree."""
    stated = header.get("lists")
    if not stated:
        raise ValueError("a file's own lists of tensors have the shapes that they have")
    axes: Mapping[str, Sequence[int]] = stated["axes"]
    extents: Mapping[str, Sequence[int | str]] = stated["extents"]
    # The same draws always, so that the same file gives the same task.
    rng = random.Random(0)
    seen = [_Draw(header, subject, axes, extents, rng) for _ in range(_DRAWS)]
    outputs = [_told(position, seen, extents) for position in range(len(seen[0].outputs))]
    return {"axes": {name: list(bounds) for name, bounds in axes.items()}, "shapes": dict(extents), "outputs": outputs}


class _Draw:
    """One call with lists of some length: the extents of every member, and the shapes of the outputs."""

    def __init__(
        self,
        header: Mapping[str, Any],
        subject: Subject,
        axes: Mapping[str, Sequence[int]],
        extents: Mapping[str, Sequence[int | str]],
        rng: random.Random,
    ) -> None:
        # Lists of one tensor, too: code may treat them otherwise.
        self.count = rng.randint(1, _LONGEST)
        self.single = self._extents(axes, rng)
        self.members = [self._extents(axes, rng) for _ in range(self.count)]
        given = []
        self.shapes: dict[str, Any] = {}
        for one in header["inputs"]:
            name = one["name"]
            if name not in extents:
                given.append(one)
                continue
            if "shapes" in one:
                self.shapes[name] = [_shape(extents[name], member) for member in self.members]
                given.append({**one, "shapes": self.shapes[name]})
            else:
                self.shapes[name] = _shape(extents[name], self.single)
                given.append({**one, "shape": self.shapes[name]})
        trial = Subject(subject.module, subject.entry, subject.init, given)
        outputs = trial.outputs(trial.make(), trial.arguments())
        self.outputs = [[list(t.shape) for t in value] if is_list(value) else list(value.shape) for value in outputs]
        self.listed = [is_list(value) for value in outputs]

    def _extents(self, axes: Mapping[str, Sequence[int]], rng: random.Random) -> dict[str, Any]:
        drawn: dict[str, Any] = {COUNT: self.count}
        for name, (low, high, multiple) in axes.items():
            first, last = -(-low // multiple), high // multiple
            drawn[name] = multiple * rng.randint(first, min(last, first + _STEPS))
        drawn[REST] = [rng.randint(1, _STEPS) for _ in range(rng.randint(0, _MOST_REST))]
        return drawn


def _shape(shape: Sequence[int | str], extents: Mapping[str, Any]) -> list[int]:
    named = {name: extent for name, extent in extents.items() if name != REST}
    return [one for extent in shape for one in (extents[REST] if extent == REST else worked_out([extent], named))]


def _told(position: int, seen: Sequence[_Draw], extents: Mapping[str, Sequence[int | str]]) -> list[int | str]:
    """An output's shape over axes: that of an input, else extent by extent. ValueError where none is right."""
    shown = [draw.outputs[position] for draw in seen]
    # The shape of an input first: it says more than extents that are equal by chance.
    for name, shape in extents.items():
        if all(draw.shapes[name] == one for draw, one in zip(seen, shown, strict=True)):
            return list(shape)
    pairs = [
        (draw.members[place] if draw.listed[position] else draw.single, one)
        for draw in seen
        for place, one in enumerate(draw.outputs[position] if draw.listed[position] else [draw.outputs[position]])
    ]
    if len({len(one) for _, one in pairs}) != 1:
        raise ValueError("the shapes of its outputs follow no shape of its inputs")
    result: list[int | str] = []
    for place in range(len(pairs[0][1])):
        found = [name for name in pairs[0][0] if all(drawn[name] == one[place] for drawn, one in pairs)]
        constant = pairs[0][1][place]
        if not found and any(one[place] != constant for _, one in pairs):
            raise ValueError("an extent of its outputs is no extent of its inputs")
        # A constant before a name, as an axis that is drawn so often is not constant by chance.
        result.append(constant if all(one[place] == constant for _, one in pairs) else found[0])
    return result
