"""Generated questions: values stay in range, formulas and references agree, only the seed decides."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.corpus.draw import draw_elementwise, draw_rows, draw_whole
from kernelgen_lm.corpus.kernels import write_kernel
from kernelgen_lm.corpus.measures import UB_BYTES
from kernelgen_lm.corpus.movement import MOVEMENTS, Movement
from kernelgen_lm.corpus.operations import BIG
from kernelgen_lm.corpus.program import Kind, Program, Step
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, is_held_out
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import draw_style
from npukernelbench.errors import TaskError
from npukernelbench.judge.data import CaseData
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


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_kernels_fit_the_unified_buffer_and_are_the_same_each_time(seed: int) -> None:
    spec, style = draw_question(Random(seed)), draw_style(Random(seed + 1))
    kernel = write_kernel(spec, style)
    assert kernel == write_kernel(spec, style)
    if kernel is not None:
        assert 0 < kernel.numbers.ub_bytes <= UB_BYTES
        assert kernel.numbers.share * kernel.numbers.cores >= kernel.numbers.total


def test_a_formula_names_what_is_used_twice() -> None:
    steps = (Step("rmax", (0,)), Step("sub", (0, 1)), Step("exp", (2,)), Step("rsum", (3,)), Step("div", (3, 4)))
    text = Program((Kind.FULL,), steps).formula(["x"], "y")
    assert text == "t1_ij = exp((x_ij - (max_j x_ij)))\ny_ij = t1_ij / (sum_j t1_ij)"


@pytest.mark.parametrize("form", sorted(MOVEMENTS))
def test_pieces_make_up_the_result(form: str) -> None:
    rows, columns = 6, 40
    rng = Random(3)
    movement = Movement(form, MOVEMENTS[form].draw(rng, rows, columns))
    arrays = [np.arange(rows * columns).reshape(rows, columns) + 1000 * k for k in range(movement.inputs())]
    expected = movement.evaluate(arrays)
    assert expected.shape == movement.shape(rows, columns)
    moved = np.full(expected.shape, -1)
    for row in range(expected.shape[0]):
        for piece in movement.pieces(rows, columns):
            to = slice(piece.to, piece.to + piece.length)
            if piece.source is None:
                moved[row, to] = piece.value
            else:
                source = int(eval(piece.row.format(r=row).replace("/", "//")))
                moved[row, to] = arrays[piece.source][source, piece.begin : piece.begin + piece.length]
    assert (moved == expected).all()


def test_held_out_operators_are_about_as_many_as_asked_for() -> None:
    names = [f"Operator{index}" for index in range(2000)]
    held = [name for name in names if is_held_out(name, 0.1)]
    assert 140 < len(held) < 260
    assert set(held) == {name for name in names if is_held_out(name, 0.1)}


def test_no_reference_behind_a_name_that_packs_nothing() -> None:
    with pytest.raises(TaskError, match="no packed question"):
        resolve("kernelgen_lm.corpus.reference:op_nothing")


def test_every_family_is_drawn() -> None:
    assert {draw_question(Random(seed)).family for seed in range(200)} == set(FAMILIES)
