"""Generated operators that a benchmark asks for, or that are one plain function: found by value, not by name.

Every task's reference is called with the inputs of the generated operator, drawn on its ranges, in every order, with
the attributes of every case. References that refuse such inputs compute something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.program import Kind, Program
from kernelgen_lm.corpus.spec import SUITE, Spec
from kernelgen_lm.corpus.values import arrays_of, same_values
from kernelgen_lm.tasks import known_tasks
from npukernelbench.nouns import Presence, Task
from npukernelbench.plugins import Plugins
from npukernelbench.reference import resolve

__all__ = ["Exclusion", "excluded"]

_Array = NDArray[Any]
#: Sets of attributes of one task that are tried; further ones differ in sizes.
_MOST_CALLS = 12
#: Values that decide whether two results are worth comparing.
_FIRST = 8


def _erf(x: _Array) -> _Array:
    from scipy.special import erf

    return np.asarray(erf(x))


def _softmax(x: _Array) -> _Array:
    shifted = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))


def _normal(x: _Array) -> _Array:
    # PyTorch's default epsilon of a layer norm.
    return np.asarray((x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5))


def _norm(x: _Array) -> _Array:
    return np.asarray(np.sqrt((x * x).sum(axis=-1, keepdims=True)))


#: What everybody has a name for.
_ONE: Mapping[str, Callable[[_Array], _Array]] = {
    "copy": lambda x: x,
    "negation": lambda x: -x,
    "abs": np.abs,
    "square": np.square,
    "cube": lambda x: x**3,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: x**-0.5,
    "reciprocal": lambda x: 1 / x,
    "exp": np.exp,
    "expm1": np.expm1,
    "exp2": np.exp2,
    "log": np.log,
    "log1p": np.log1p,
    "log2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "atan": np.arctan,
    "erf": _erf,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hardtanh": lambda x: np.clip(x, -1, 1),
    "leaky relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "log sigmoid": lambda x: -np.log1p(np.exp(-x)),
    "hard sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "quick gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "gelu": lambda x: 0.5 * x * (1 + _erf(x / np.sqrt(2))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "tanh shrink": lambda x: x - np.tanh(x),
    "softmax": _softmax,
    "log softmax": lambda x: np.log(_softmax(x)),
    "softmin": lambda x: _softmax(-x),
    "normalised rows": _normal,
    "rows of mean square one": lambda x: x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-5),
    "rows of length one": lambda x: x / _norm(x),
    "centred rows": lambda x: x - x.mean(axis=-1, keepdims=True),
    "row sum": lambda x: x.sum(axis=-1),
    "row mean": lambda x: x.mean(axis=-1),
    "row maximum": lambda x: x.max(axis=-1),
    "row minimum": lambda x: x.min(axis=-1),
    "row product": lambda x: x.prod(axis=-1),
    "row norm": _norm,
    "row variance": lambda x: x.var(axis=-1),
    "log of summed exponentials": lambda x: np.log(np.exp(x).sum(axis=-1)),
    "row sum of magnitudes": lambda x: np.abs(x).sum(axis=-1),
    "row sum of squares": lambda x: (x * x).sum(axis=-1),
    "sum": np.sum,
    "mean": np.mean,
    "maximum": np.max,
    "minimum": np.min,
    "norm": lambda x: np.asarray(np.sqrt((x * x).sum())),
    "variance": np.var,
    "sum of squares": lambda x: np.asarray((x * x).sum()),
    "sum of magnitudes": lambda x: np.asarray(np.abs(x).sum()),
    "mean of squares": lambda x: np.asarray((x * x).mean()),
}
_TWO: Mapping[str, Callable[[_Array, _Array], _Array]] = {
    "sum": np.add,
    "difference": np.subtract,
    "product": np.multiply,
    "quotient": np.divide,
    "larger": np.maximum,
    "smaller": np.minimum,
    "power": np.power,
    "squared difference": lambda x, y: (x - y) ** 2,
    "distance": lambda x, y: np.abs(x - y),
    "angle": np.arctan2,
    "hypotenuse": np.hypot,
    "gated by sigmoid": lambda x, y: x / (1 + np.exp(-y)),
    "gated by silu": lambda x, y: x * y / (1 + np.exp(-y)),
    "mean of squared differences": lambda x, y: np.asarray(((x - y) ** 2).mean()),
    "mean of distances": lambda x, y: np.asarray(np.abs(x - y).mean()),
    "dot product": lambda x, y: np.asarray((x * y).sum()),
    "row dot products": lambda x, y: (x * y).sum(axis=-1),
}
_THREE: Mapping[str, Callable[[_Array, _Array, _Array], _Array]] = {
    "product and sum": lambda x, y, z: x * y + z,
    "product of three": lambda x, y, z: x * y * z,
    "sum of three": lambda x, y, z: x + y + z,
    "quotient and sum": lambda x, y, z: x + y / z,
    "clamp": lambda x, y, z: np.minimum(np.maximum(x, y), z),
    "interpolation": lambda x, y, z: x + z * (y - x),
}


_PLAIN: Mapping[int, Mapping[str, Callable[..., _Array]]] = {1: _ONE, 2: _TWO, 3: _THREE}


class _Known(NamedTuple):
    """One result on the inputs of a question, and whose it is."""

    name: str
    values: _Array


class Exclusion:
    """What no generated operator may compute: the operators of ``tasks`` and plain functions."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks = tuple(tasks)
        self._known: dict[tuple[object, ...], list[_Known]] = {}
        self._first: dict[tuple[object, ...], _Array] = {}

    @classmethod
    def of_benchmarks(cls) -> Exclusion:
        """Of every task that is installed and not generated."""
        registry = known_tasks(Plugins.load())
        # Generated tasks would exclude what they were generated from.
        return cls(task for task in registry.values() if task.suite != SUITE)

    def equal(self, program: Program, ranges: Sequence[Interval], *, whole_numbers: bool = False) -> str | None:
        """The task or the plain function that ``program`` equals on its ranges, by name; None where there is none."""
        with np.errstate(all="ignore"):
            arrays = arrays_of(program.inputs, ranges, whole_numbers=whole_numbers)
            result = program.evaluate(arrays)
            key = (program.inputs, tuple(ranges), whole_numbers)
            return self.same(key, program.inputs, arrays, result)

    def same(
        self, key: tuple[object, ...], kinds: Sequence[Kind], arrays: Sequence[_Array], result: _Array
    ) -> str | None:
        """The task or the plain function that gives ``result`` of ``arrays``; ``key`` stands for kinds and arrays."""
        # References are called with inputs that they are not made for: their warnings say nothing.
        with np.errstate(all="ignore"):
            # This calls every reference in every order, so questions with the same inputs share the results.
            if key not in self._known:
                self._known[key] = [known for known in self._results(kinds, arrays) if known.values.size]
                self._first[key] = _firsts(known.values for known in self._known[key])
            # The first values rule out nearly all.
            size, first = result.size, _firsts([result])[0]
            # Wide, as the exact comparison follows: this one must not rule out what is equal.
            near = np.abs(self._first[key] - first).max(axis=1, initial=0.0) <= 1e-2 * (1 + np.abs(first).max())
            close = [self._known[key][at] for at in np.flatnonzero(near)]
            same = (known.name for known in close if known.values.size == size and same_values(known.values, result))
            return next(same, None)

    def _results(self, kinds: Sequence[Kind], arrays: Sequence[_Array]) -> Iterator[_Known]:
        """What is known to compute something of such inputs, in every order, and what it computes of these."""
        plain = _PLAIN.get(len(arrays), {})
        # Plain functions know no row that is the same for all: it is repeated for them.
        wide = [
            np.broadcast_to(array, (len(arrays[0]), array.size)) if kind is Kind.COL and arrays[0].ndim == 2 else array
            for array, kind in zip(arrays, kinds, strict=True)
        ]
        # An operator with its inputs in another order is the same operator.
        for order in permutations(range(len(arrays))):
            for name, function in plain.items():
                yield _Known(name, np.asarray(function(*(wide[at] for at in order))))
            for task in self.tasks:
                yield from _of_task(task, [arrays[at] for at in order])


def _firsts(results: Iterable[_Array]) -> _Array:
    """The first values of results, one row each."""
    # resize repeats a short result, so that all rows have the same length.
    rows = [np.resize(np.asarray(result, np.float64), _FIRST) for result in results]
    return np.asarray(rows).reshape(-1, _FIRST)


def excluded(exclusion: Exclusion, spec: Spec) -> str | None:
    """What a question's operator equals, None for a new one. Movements are told apart by their form alone."""
    if isinstance(spec.body, Movement):
        return None
    return exclusion.equal(spec.body, spec.ranges, whole_numbers=spec.dtype.is_exact)


def _of_task(task: Task, arrays: Sequence[_Array]) -> Iterator[_Known]:
    """Every output of a task's reference on these inputs, under the attributes of each of its cases."""
    required = [spec for spec in task.inputs if spec.presence is Presence.REQUIRED]
    lists = [spec for spec in task.inputs if spec.presence is Presence.DYNAMIC]
    # Optional inputs stay absent: a generated operator has none.
    if len(required) + len(lists) != len(arrays):
        return
    taken = [spec for spec in task.inputs if spec.presence in (Presence.REQUIRED, Presence.DYNAMIC)]
    inputs: dict[str, Any] = {spec.name: None for spec in task.inputs}
    for spec, array in zip(taken, arrays, strict=True):
        inputs[spec.name] = [array] if spec.presence is Presence.DYNAMIC else array
    reference = resolve(task.reference, task.path.parent)
    # Cases that differ in shapes alone have the same attributes, and need one call.
    settings = {repr(sorted(case.attributes.items(), key=str)): case.attributes for case in task.cases}
    for attributes in list(settings.values())[:_MOST_CALLS]:
        for output in _called(reference, {**inputs, **attributes}):
            # Floats, whole numbers and booleans: texts and objects cannot be compared as numbers.
            if output.dtype.kind in "fiub":
                yield _Known(task.name, output)


def _called(reference: Callable[..., Any], arguments: Mapping[str, Any]) -> list[_Array]:
    """Boundary: outputs of a reference, none where it refuses inputs of such shapes or types, however it does."""
    try:
        result = reference(**arguments)
    except Exception:  # noqa: BLE001  a reference is any function: what it raises on foreign inputs is its own
        return []
    outputs = result if isinstance(result, tuple | list) else (result,)
    flat = [value for output in outputs for value in (output if isinstance(output, tuple | list) else (output,))]
    return [np.asarray(output) for output in flat if output is not None]
