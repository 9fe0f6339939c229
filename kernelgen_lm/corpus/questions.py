"""Drawing questions: family, operator, element types, shape and names; which operators are held out of training."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from random import Random

from kernelgen_lm.corpus.draw import draw_elementwise, draw_rows, draw_whole
from kernelgen_lm.corpus.movement import Movement, draw_movement
from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.program import Kind, Program, Step
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.values import decides
from npukernelbench.nouns import DType

__all__ = ["FAMILIES", "draw_question", "draw_shapes", "is_held_out"]

#: Families with their usual shares.
FAMILIES: Mapping[str, int] = {"elementwise": 44, "cast": 8, "integer": 8, "rows": 24, "whole": 8, "movement": 8}

_FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
_NAMES = (
    (("x",), "y"),
    (("x",), "out"),
    (("input",), "output"),
    (("src",), "dst"),
    (("x", "y"), "z"),
    (("a", "b"), "c"),
    (("x1", "x2"), "y"),
    (("self", "other"), "out"),
    (("x", "y", "z"), "out"),
    (("x1", "x2", "x3"), "y"),
    (("a", "b", "c"), "d"),
    (("x", "weight", "bias"), "y"),
    (("x", "gamma", "beta"), "y"),
)


def draw_question(rng: Random, families: Mapping[str, int] = FAMILIES) -> Spec:
    """A question at random, in which every step and every input decides something."""
    while True:
        family = rng.choices(list(families), list(families.values()))[0]
        spec = _DRAWERS[family](rng)
        body = spec.body
        # A movement has no steps that could decide nothing.
        if isinstance(body, Movement) or decides(body, spec.ranges, whole_numbers=spec.dtype.is_exact) is None:
            return spec


def is_held_out(function: str, share: float) -> bool:
    """Whether an operator is kept for evaluation: a property of what it computes (:attr:`Spec.function`), so that every
    run agrees, and no other way of writing the operator is trained on.
    """
    # Not Python's hash(), which changes from process to process.
    return int(hashlib.sha256(function.encode()).hexdigest()[:8], 16) < share * 2**32


def _names(rng: Random, inputs: int) -> tuple[str, ...]:
    before, after = rng.choice([names for names in _NAMES if len(names[0]) == inputs])
    return (*before, after)


def _draw_shape(rng: Random, smallest: int = 64, largest: int = 400_000) -> tuple[int, ...]:
    """One to three axes; sizes spread over the orders of magnitude, often not multiples of anything."""
    # Uniform in the logarithm, as small sizes would hardly occur otherwise.
    total = int(2 ** rng.uniform(smallest.bit_length(), largest.bit_length() - 1))
    axes = rng.choice((1, 2, 2, 3))
    if axes == 1:
        return (rng.choice((total, total // 64 * 64 + 64, 1 << (total.bit_length() - 1))),)
    last = rng.choice((32, 64, 100, 127, 128, 200, 256, 300, 333, 512, 768, 1000, 1024))
    rest = max(1, total // last)
    if axes == 2 or rest < 4:
        return (rest, last)
    first = rng.choice((2, 3, 4, 8))
    return (first, max(1, rest // first), last)


def draw_shapes(rng: Random, spec: Spec, count: int) -> tuple[tuple[int, ...], ...]:
    """Different shapes that the question can be asked for, its own first. Rows get no longer, so values stay finite."""
    shapes = [spec.shape]
    while len(shapes) < count:
        shape = _draw_shape(rng)
        if spec.family == "rows":
            shape = (rng.randint(1, 600), rng.randint(1, spec.columns))
        if shape not in shapes:
            shapes.append(shape)
    return tuple(shapes)


def _matrix(rng: Random) -> tuple[int, ...]:
    # Some rows do not fill whole blocks of 32 bytes, so that kernels have to handle a tail.
    columns = rng.choice((16, 32, 33, 64, 96, 100, 128, 200, 256, 300, 384, 512, 640, 768, 1000, 1024, 1500, 2048))
    rows = rng.choice((1, 3, 7, 16, 33, 48, 64, 96, 100, 128, 200, 256, 300, 512, 1000))
    # Bounded: every question is executed on a CPU.
    while rows * columns > 300_000:
        rows = max(1, rows // 2)
    return (rows, columns)


def _elementwise(rng: Random) -> Spec:
    drawn = draw_elementwise(rng)
    dtype = rng.choices(_FLOATS, (4, 4, 2))[0]
    names = _names(rng, len(drawn.program.inputs))
    return Spec("elementwise", drawn.program, names, dtype, dtype, _draw_shape(rng), drawn.ranges)


def _cast(rng: Random) -> Spec:
    drawn = draw_elementwise(rng, longest=3)
    dtype = rng.choice(_FLOATS)
    # To its own type it would be no cast.
    result = rng.choice([candidate for candidate in _FLOATS if candidate is not dtype])
    names = _names(rng, len(drawn.program.inputs))
    return Spec("cast", drawn.program, names, dtype, result, _draw_shape(rng), drawn.ranges)


def _integer(rng: Random) -> Spec:
    drawn = draw_elementwise(rng, integers=True, longest=5)
    names = _names(rng, len(drawn.program.inputs))
    return Spec("integer", drawn.program, names, DType.INT32, DType.INT32, _draw_shape(rng), drawn.ranges)


def _rows(rng: Random) -> Spec:
    shape = _matrix(rng)
    if rng.random() < 0.12:  # softmax and its kin, which every language model is made of
        program, ranges = _classic(rng)
    else:
        program, ranges = draw_rows(rng, shape[-1])
    dtype = rng.choices(_FLOATS, (4, 3, 1))[0]
    return Spec("rows", program, _names(rng, len(program.inputs)), dtype, dtype, shape, ranges)


def _classic(rng: Random) -> tuple[Program, tuple[Interval, ...]]:
    """A weighted exponential share of a row, in the form that does not overflow; with a temperature of its own."""
    scale = rng.choice((0.5, 2.0, 1.5, 0.25))
    tail = rng.choice(((), (Step("muls", (6,), rng.choice((2.0, 3.0, 0.5))),), (Step("sqrt", (6,)),)))
    steps = (
        Step("muls", (0,), scale),
        Step("rmax", (1,)),
        Step("sub", (1, 2)),
        Step("exp", (3,)),
        Step("rsum", (4,)),
        Step("div", (4, 5)),
        *tail,
    )
    return Program((Kind.FULL,), steps), (Interval(-3.0, 3.0),)


def _whole(rng: Random) -> Spec:
    shape = _draw_shape(rng, 64, 200_000)
    total = 1
    for extent in shape:
        total *= extent
    drawn = draw_whole(rng, total)
    dtype = rng.choice((DType.FLOAT32, DType.FLOAT32, DType.FLOAT16))
    return Spec(
        "whole", drawn.program, _names(rng, len(drawn.program.inputs)), dtype, DType.FLOAT32, shape, drawn.ranges
    )


def _movement(rng: Random) -> Spec:
    shape = _matrix(rng)
    movement = draw_movement(rng, shape[0], shape[1])
    dtype = rng.choice((DType.FLOAT32, DType.FLOAT16, DType.INT32))
    ranges = (Interval(-100.0, 100.0),) * movement.inputs()
    return Spec("movement", movement, _names(rng, movement.inputs()), dtype, dtype, shape, ranges)


_DRAWERS = {
    "elementwise": _elementwise,
    "cast": _cast,
    "integer": _integer,
    "rows": _rows,
    "whole": _whole,
    "movement": _movement,
}
