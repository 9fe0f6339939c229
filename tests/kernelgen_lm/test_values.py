"""Operators by their values: idle steps, unused inputs, operators that exist already, what is held out."""

from __future__ import annotations

from itertools import product
from random import Random

import numpy as np
import pytest

from kernelgen_lm.corpus.exclusion import Exclusion, excluded
from kernelgen_lm.corpus.operations import OPERATIONS, Interval
from kernelgen_lm.corpus.program import Kind, Program, Step
from kernelgen_lm.corpus.questions import draw_question
from kernelgen_lm.corpus.values import decides, function_key

F, C = Kind.FULL, Kind.COL
NEAR, POSITIVE = Interval(-2.0, 2.0), Interval(1.0, 5.0)


def program(inputs: tuple[Kind, ...], *steps: tuple[object, ...], whole: bool = False) -> Program:
    made = [Step(str(name), tuple(operands), constant) for name, operands, constant in steps]  # type: ignore[arg-type]
    return Program(inputs, tuple(made), whole)


@pytest.mark.parametrize(
    ("body", "ranges", "why"),
    [
        (program((F,), ("relu", (0,), None), ("exp", (1,), None)), (POSITIVE,), "step 0"),
        (program((F,), ("exp", (0,), None), ("maxs", (1,), -1.0)), (NEAR,), "step 1"),
        (program((F, F), ("max", (0, 1), None), ("exp", (2,), None)), (NEAR, Interval(3.0, 4.0)), "input 0"),
        (program((F, C), ("add", (0, 1), None), ("maxs", (2,), 9.0)), (NEAR, NEAR), "input 0"),
        (program((F,), ("neg", (0,), None), ("square", (1,), None)), (NEAR,), "step 0"),
        (program((F,), ("rmax", (0,), None), ("sub", (0, 1), None), ("abs", (2,), None)), (NEAR,), None),
        (program((F,), ("relu", (0,), None), ("exp", (1,), None)), (NEAR,), None),
        (program((F, F), ("max", (0, 1), None), ("exp", (2,), None)), (NEAR, NEAR), None),
    ],
)
def test_a_step_or_an_input_that_decides_nothing_is_found(
    body: Program, ranges: tuple[Interval, ...], why: str | None
) -> None:
    said = decides(body, ranges)
    assert said is None if why is None else (said or "").startswith(why)


def test_the_guard_of_an_exponential_is_no_idle_step() -> None:
    steps = [("rmax", (0,), None), ("sub", (0, 1), None), ("exp", (2,), None), ("rsum", (3,), None)]
    assert decides(program((F,), *steps, ("div", (3, 4), None), ("sqrt", (5,), None)), (NEAR,)) is None
    plain = program((F,), *steps[:2], ("abs", (2,), None), ("rsum", (3,), None))
    assert decides(plain, (NEAR,)) is None


def test_no_question_that_is_drawn_rewards_a_copy() -> None:
    for seed in range(60):
        spec = draw_question(Random(seed))
        if isinstance(spec.body, Program):
            assert decides(spec.body, spec.ranges, whole_numbers=spec.dtype.is_exact) is None


@pytest.fixture(scope="module")
def known() -> Exclusion:
    return Exclusion.of_benchmarks()


#: Benchmark operators and plain functions in other steps, each on three ranges.
PLANTED = {
    "swish": program((F,), ("sigmoid", (0,), None), ("mul", (0, 1), None)),
    "softsign": program((F,), ("abs", (0,), None), ("adds", (1,), 1.0), ("div", (0, 2), None)),
    "mish": program((F,), ("softplus", (0,), None), ("tanh", (1,), None), ("mul", (0, 2), None)),
    "tanh shrink": program((F,), ("tanh", (0,), None), ("sub", (0, 1), None)),
    "row mean": program((F,), ("muls", (0,), 0.5), ("rmean", (1,), None), ("muls", (2,), 2.0)),
    "softmax": program((F,), ("exp", (0,), None), ("rsum", (1,), None), ("div", (1, 2), None)),
    "mean squares": program((F,), ("mul", (0, 0), None), ("rmean", (1,), None), whole=True),
    "copy": program((F,), ("neg", (0,), None), ("rsubs", (1,), 0.0)),
    "difference": program((F, F), ("neg", (0,), None), ("add", (1, 2), None)),
    "squared difference": program((F, F), ("sub", (1, 0), None), ("square", (2,), None)),
    "loss": program((F, F), ("sub", (1, 0), None), ("square", (2,), None), ("rmean", (3,), None), whole=True),
    "gate": program((F, F), ("sigmoid", (1,), None), ("mul", (0, 2), None)),
    "multiply and add": program((F, F, F), ("mul", (1, 2), None), ("add", (0, 3), None)),
    "sum of three": program((F, F, F), ("add", (2, 1), None), ("add", (3, 0), None)),
}


def test_planted_operators_are_found_whatever_their_steps(known: Exclusion) -> None:
    for (name, body), span in product(PLANTED.items(), (NEAR, Interval(-1.0, 1.0), Interval(0.5, 2.0))):
        assert known.equal(body, (span,) * len(body.inputs)), (name, span)
    new = program((F,), ("sigmoid", (0,), None), ("adds", (1,), 0.3), ("mul", (0, 2), None))
    assert known.equal(new, (NEAR,)) is None
    clipped = program((F,), ("maxs", (0,), 0.0), ("adds", (1,), 0.25), ("adds", (2,), -0.25))
    assert known.equal(clipped, (NEAR,)) is not None
    copied = program((F,), ("maxs", (0,), 0.1))
    assert [known.equal(copied, (span,)) for span in (POSITIVE, NEAR)] == ["copy", None]


def test_few_draws_equal_something_known(known: Exclusion) -> None:
    equal = [excluded(known, draw_question(Random(seed))) for seed in range(120)]
    assert 0 < sum(name is not None for name in equal) < 20


def test_a_function_has_one_key_however_it_is_written() -> None:
    same = [
        program((F, F), ("sub", (0, 1), None), ("square", (2,), None)),
        program((F, F), ("sub", (1, 0), None), ("mul", (2, 2), None)),
        program((F, F), ("sub", (0, 1), None), ("abs", (2,), None), ("square", (3,), None)),
    ]
    assert len({function_key(body) for body in same}) == 1
    constants = [program((F,), ("exp", (0,), None), ("adds", (1,), number)) for number in (0.5, 3.0)]
    assert function_key(constants[0]) == function_key(constants[1])
    others = [program((F,), (name, (0,), None), ("tanh", (1,), None)) for name in ("exp", "abs", "relu", "sigmoid")]
    assert len({function_key(body) for body in (*same, *others)}) == 5


def test_the_smaller_magnitude_is_by_magnitude() -> None:
    operation = OPERATIONS["smaller_abs"]
    a, b = np.array([-3.0, 1.0, 2.0]), np.array([2.0, -4.0, -1.0])
    assert operation.compute(a, b).tolist() == [2.0, 1.0, -1.0]
    assert operation.text.format(a="x", b="y") == "(x if |x| < |y| else y)"
