"""Extents of hidden cases: numbers for symbolic axes, drawn by a recipe and kept within a budget of elements.

Only ``Random.random`` is used, whose sequence Python promises to keep, and whole numbers, so that a secret draws the
same cases on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from math import prod
from random import Random
from typing import NamedTuple, TypeVar

from npukernelbench.nouns import Extent, HiddenAxis
from npukernelbench.tasks.extent import evaluate, names

__all__ = ["COUNT", "OR_ONE", "REST", "Binding", "Recipe", "axes_of", "between", "bind", "pick", "shuffled"]

#: What an extent may refer to beside the axes: how many tensors a list has.
COUNT = "count"
#: Any number of leading axes, the same wherever it stands in one form.
REST = "..."
#: Ends an extent that may also be 1, for inputs that are broadcast.
OR_ONE = "|1"

#: The most axes that ``...`` stands for, and their extents.
_MOST_REST = 3
_REST_AXIS = HiddenAxis(1, 2048)
#: The largest factor of an axis that a recipe wants small, or prime.
_SMALL = 8
_LARGEST_PRIME = 2039

_T = TypeVar("_T")


class Recipe(str, Enum):
    """What kind of extents a case has."""

    ONE = "one"  # the least of every axis: one element where the task allows it
    LONG = "long"  # very long rows, few of them
    MANY = "many"  # many rows, short ones
    PRIME = "prime"  # primes, so that nothing divides evenly
    RAGGED = "ragged"  # odd numbers, so that no length is a multiple of 32 or 512 bytes
    POWER = "power"  # powers of two
    ANY = "any"  # anything


class Binding(NamedTuple):
    """Numbers for the axes, and the extents that ``...`` stands for."""

    axes: Mapping[str, int]
    rest: tuple[int, ...]

    def shape(self, shape: Iterable[Extent], rng: Random | None = None) -> tuple[int, ...]:
        """The extents of a shape. With ``rng`` a broadcast axis is 1 half of the time, without it never."""
        extents: list[int] = []
        for extent in shape:
            if extent == REST:
                extents += self.rest
            elif isinstance(extent, str) and extent.endswith(OR_ONE):
                full = evaluate(extent.removesuffix(OR_ONE), self.axes)
                extents.append(1 if rng is not None and rng.random() < 0.5 else full)
            else:
                extents.append(evaluate(extent, self.axes))
        # Arithmetic on axes, such as h - k, may fall below 0.
        if any(extent < 0 for extent in extents):
            raise ValueError(f"the shape {list(shape)} becomes {extents}")
        return tuple(extents)


def axes_of(shape: Iterable[Extent]) -> tuple[str, ...]:
    """The axes that a shape refers to, ``...`` among them, in order of appearance."""
    mentioned: dict[str, None] = {}
    for extent in shape:
        if extent == REST:
            mentioned[REST] = None
        else:
            # Sorted, since a set's order differs from process to process, and axes are drawn in this one.
            mentioned.update(
                dict.fromkeys(sorted(names(extent.removesuffix(OR_ONE) if isinstance(extent, str) else extent)))
            )
    return tuple(mentioned)


def bind(
    shapes: Sequence[tuple[Extent, ...]],
    axes: Mapping[str, HiddenAxis],
    recipe: Recipe,
    rng: Random,
    *,
    budget: int,
    count: int,
) -> Binding:
    """Draw every axis. ``shapes`` are all tensors that count against ``budget`` elements, the most important first.

    ValueError when even the least extents exceed the budget.
    """
    drawing = _Drawing(shapes, axes, recipe, rng, count)
    binding = drawing.binding()
    # Ends: every round makes one factor smaller.
    while sum(prod(binding.shape(shape)) for shape in shapes) > budget:
        if not drawing.shrink():
            raise ValueError(f"the smallest shapes have more than {budget} elements")
        binding = drawing.binding()
    return binding


class _Drawing:
    """The factors of all axes; an extent is its factor times the axis's ``multiple_of``."""

    def __init__(
        self,
        shapes: Sequence[tuple[Extent, ...]],
        axes: Mapping[str, HiddenAxis],
        recipe: Recipe,
        rng: Random,
        count: int,
    ) -> None:
        self._recipe = recipe
        self._count = count
        used = dict.fromkeys(axis for shape in shapes for axis in axes_of(shape))
        rest = between(rng, 0, _MOST_REST) if REST in used else 0
        self._rest = tuple(f"{REST}{position}" for position in range(rest))
        primary = [name for axis in axes_of(shapes[0]) for name in (self._rest if axis == REST else (axis,))]
        # Axes that no shape has are drawn as well: attributes and values may refer to them.
        others = [name for name in (*self._rest, *axes) if name not in primary]
        self._axes = {name: axes.get(name, _REST_AXIS) for name in (*primary, *others) if name != COUNT}
        drawn = [name for name in primary if name in self._axes]
        self._chief = {Recipe.LONG: drawn[-1:], Recipe.MANY: drawn[:1]}.get(recipe, [])
        self._factors = {name: self._factor(name, rng) for name in self._axes}

    def binding(self) -> Binding:
        extents = {name: factor * self._axes[name].multiple_of for name, factor in self._factors.items()}
        rest = tuple(extents.pop(name) for name in self._rest)
        return Binding({**extents, COUNT: self._count}, rest)

    def shrink(self) -> bool:
        """Make one axis smaller, the recipe's own last; False when none can be."""
        able = [name for name, factor in self._factors.items() if factor > self._range(name)[0]]
        if not able:
            return False
        name = max(able, key=lambda item: (item not in self._chief, self._factors[item]))
        low, _ = self._range(name)
        # A small step, so that what remains is close to the budget.
        self._factors[name] = self._conform(max(low, self._factors[name] * 3 // 4), low)
        return True

    def _range(self, name: str) -> tuple[int, int]:
        axis = self._axes[name]
        # The low end is rounded up, as it need not be a multiple itself.
        return -(-axis.low // axis.multiple_of), axis.high // axis.multiple_of

    def _factor(self, name: str, rng: Random) -> int:
        low, high = self._range(name)
        if self._recipe is Recipe.ONE:
            return low
        if name in self._chief:
            factor = between(rng, max(low, high // 4), high)
        elif self._chief:
            factor = _by_octaves(rng, low, min(high, max(low, _SMALL)))
        elif self._recipe is Recipe.PRIME:
            factor = _by_octaves(rng, min(high, max(low, 2)), min(high, max(low, _LARGEST_PRIME)))
        else:
            factor = _by_octaves(rng, low, high)
        return self._conform(factor, low)

    def _conform(self, factor: int, low: int) -> int:
        """The next smaller factor that the recipe likes, or the factor itself when there is none."""
        if self._recipe is Recipe.PRIME:
            return next((smaller for smaller in range(factor, max(low, 2) - 1, -1) if _is_prime(smaller)), factor)
        if self._recipe is Recipe.POWER:
            power = 1 << (factor.bit_length() - 1)
            return power if power >= low else factor
        if self._recipe in (Recipe.RAGGED, Recipe.LONG, Recipe.MANY) and factor % 2 == 0 and factor > low:
            return factor - 1
        return factor


def between(rng: Random, low: int, high: int) -> int:
    """A whole number from ``low`` to ``high``, both included."""
    return low + int(rng.random() * (high - low + 1))


def pick(rng: Random, items: Sequence[_T]) -> _T:
    """One of the items."""
    return items[between(rng, 0, len(items) - 1)]


def shuffled(rng: Random, items: Iterable[_T]) -> list[_T]:
    """The items in another order."""
    rest, order = list(items), []
    while rest:
        order.append(rest.pop(between(rng, 0, len(rest) - 1)))
    return order


def _by_octaves(rng: Random, low: int, high: int) -> int:
    """A number of the range, every power of two as likely as any other."""
    if low < 1:
        return between(rng, low, high)
    bits = between(rng, low.bit_length(), high.bit_length())
    return between(rng, max(low, 1 << (bits - 1)), min(high, (1 << bits) - 1))


def _is_prime(number: int) -> bool:
    if number < 4:
        return number >= 2
    return number % 2 != 0 and all(number % divisor for divisor in range(3, int(number**0.5) + 1, 2))
