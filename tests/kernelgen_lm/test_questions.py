"""Generated questions: values stay in range, formulas and references agree, only the seed decides."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.corpus.draw import draw_elementwise, draw_rows, draw_whole
from kernelgen_lm.corpus.movement import MOVEMENTS, Movement
from kernelgen_lm.corpus.operations import BIG, Interval
from kernelgen_lm.corpus.program import Kind, Program, Step
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, is_held_out
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tilewriter import TileWriting, write_tile
from npukb_tile.checking import check_budgets, check_interface, check_values
from npukb_tile.parse import parse_program
from npukernelbench.errors import TaskError
from npukernelbench.judge.data import CaseData
from npukernelbench.nouns import DType
from npukernelbench.reference import resolve

SEEDS = st.integers(0, 2**32)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_values_stay_finite_and_moderate(seed: int) -> None:
    rng = Random(seed)
    for drawn in (draw_elementwise(rng), draw_rows(rng, 100), draw_whole(rng, 300)):
        values = np.random.default_rng(seed)
        arrays = [
            values.uniform(low, high, (1, 100) if kind is Kind.COL else (3, 100))
            for kind, (low, high) in zip(drawn.program.inputs, drawn.ranges, strict=True)
        ]
        result = drawn.program.evaluate(arrays)
        assert np.isfinite(result).all()
        assert np.abs(result).max() <= BIG * 300


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_a_question_survives_json_and_is_its_own_reference(seed: int) -> None:
    spec = draw_question(Random(seed))
    assert Spec.from_json(spec.to_json()) == spec
    task = spec.task()
    data = CaseData()
    if spec.total <= 20_000:
        expected = data.expected(task, task.cases[0], 0)[spec.names[-1]]
        assert isinstance(expected, np.ndarray)
        assert expected.shape == spec.result_shape()
    assert task.kernel.isidentifier()


def test_a_formula_names_what_is_used_twice() -> None:
    steps = (Step("rmax", (0,)), Step("sub", (0, 1)), Step("exp", (2,)), Step("rsum", (3,)), Step("div", (3, 4)))
    text = Program((Kind.FULL,), steps).formula(["x"], "y")
    assert text == "t1_ij = exp((x_ij - (max_j x_ij)))\ny_ij = t1_ij / (sum_j t1_ij)"


@pytest.mark.parametrize("form", sorted(MOVEMENTS))
def test_the_program_of_a_movement_is_right_on_arrays(form: str) -> None:
    # One row, pieces of one element, and lengths that are no whole blocks.
    for rows, columns, numbers in ((1, 33, (1, 1, -1)), (7, 40, (3, 4, 0)), (130, 200, (16, 17, 1))):
        movement = Movement(form, numbers[: len(MOVEMENTS[form].draw(Random(0), rows, columns))])
        if form == "slice":
            movement = Movement(form, (numbers[0], numbers[0] + numbers[1]))
        names = ("x", "y", "z") if movement.inputs() == 2 else ("x", "y")
        for dtype in (DType.FLOAT16, DType.INT32):
            ranges = (Interval(-100.0, 100.0),) * movement.inputs()
            spec = Spec("movement", movement, names, dtype, dtype, (rows, columns), ranges)
            task, text = spec.task(), write_tile(spec, TileWriting((dtype.value,)))
            program = parse_program(text)
            check_interface(program, task, task.cases)
            check_budgets(program, task.cases)
            assert not check_values(program, task, task.cases[0]).wrong, text


def test_held_out_operators_are_about_as_many_as_asked_for() -> None:
    names = [f"Operator{index}" for index in range(2000)]
    held = [name for name in names if is_held_out(name, 0.1)]
    assert 140 < len(held) < 260
    assert set(held) == {name for name in names if is_held_out(name, 0.1)}


def test_no_reference_behind_a_name_that_packs_nothing() -> None:
    with pytest.raises(TaskError, match="no packed question"):
        resolve("kernelgen_lm.corpus.reference:op_nothing")


def test_a_tensor_may_be_called_what_the_program_calls_the_length_of_a_row() -> None:
    steps = (Step("rmax", (0,)), Step("sub", (0, 1)))
    for names in (("a", "d"), ("d", "y")):
        body = Program((Kind.FULL,), steps)
        spec = Spec("rows", body, names, DType.FLOAT32, DType.FLOAT32, (5, 70), (Interval(-1.0, 1.0),))
        program = parse_program(write_tile(spec, TileWriting(("float32",))))
        assert not check_values(program, spec.task(), spec.task().cases[0]).wrong


def test_every_family_is_drawn() -> None:
    assert {draw_question(Random(seed)).family for seed in range(200)} == set(FAMILIES)
