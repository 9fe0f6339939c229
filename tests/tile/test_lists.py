"""Lists of tensors: programs for operators of the suite, right on arrays and on both tracks; what is wrong is said."""

from __future__ import annotations

import re

import numpy as np
import pytest

from npukb_tile.checking import case_attributes, case_facts, check_budgets, check_interface, check_values
from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.parse import parse_program
from npukernelbench.generate import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Outcome, Track
from npukernelbench.plugins import Plugins
from tests.suite import suite

PROGRAM = """
T = float16, float32, bfloat16


@host
def plan({first}):
    y.shape = {first}.shape
    launch(cores=vector_cores(), lanes=vector_cores(), tile=2048)


@kernel
def {kernel}({arguments}, y: Outputs[T], *, lanes, tile):
{buffers}
    y_out = buffer(tile, T, depth=2)
    for k in range(len({first})):
        total = {first}[k].size
        share = max(256, round_up(ceil_div(total, lanes), 256))
        begin = core() * share
        count = min(share, total - begin){scalar}
        for offset in range(0, count, tile):
            length = min(tile, count - offset)
            with copy_in:
{loads}
            with compute(length):
{casts}
                y_out[:] = T({formula})
            with copy_out:
                store(y[k][begin + offset], y_out, length)
"""
#: Operators of one list, by what they compute of ``a``.
ONE = {
    "ForeachAbs": "abs(a)",
    "ForeachAcos": "acos(a)",
    "ForeachAsin": "asin(a)",
    "ForeachAtan": "atan(a)",
    "ForeachCos": "cos(a)",
    "ForeachCosh": "cosh(a)",
    "ForeachErf": "erf(a)",
    "ForeachErfc": "erfc(a)",
    "ForeachExp": "exp(a)",
    "ForeachExpm1": "exp(a) - 1.0",
    "ForeachLog": "ln(a)",
    "ForeachLog10": "log10(a)",
    "ForeachLog1p": "ln(a + 1.0)",
    "ForeachLog2": "log2(a)",
    "ForeachReciprocal": "1.0 / a",
    "ForeachSigmoid": "1.0 / (exp(-a) + 1.0)",
    "ForeachSin": "sin(a)",
    "ForeachSinh": "sinh(a)",
    "ForeachSqrt": "sqrt(a)",
    "ForeachTan": "tan(a)",
    "ForeachTanh": "tanh(a)",
}
#: Of several lists and numbers, in the order of their arguments.
MORE = {
    "ForeachDivList": (("x1", "x2"), "", "a / b"),
    "ForeachDivScalarList": (("x",), "scalars", "a / scalar"),
    "ForeachLerpScalar": (("x1", "x2"), "weight", "a + (b - a) * scalar"),
}


def program_for(name: str) -> str:
    """The program of an operator."""
    lists, number, formula = MORE.get(name, (("x",), "", ONE.get(name, "")))
    arguments = [f"{given}: Inputs[T]" for given in lists] + ([f"{number}: Input[float32]"] if number else [])
    index = "k" if number.endswith("s") else "0"
    pairs = list(zip("ab", lists, strict=False))
    return PROGRAM.format(
        first=lists[0],
        kernel=re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(),
        arguments=", ".join(arguments),
        buffers="\n".join(
            f"    {given}_in = buffer(tile, T, depth=2)\n    {letter} = buffer(tile, float32)"
            for letter, given in pairs
        ),
        scalar=f"\n        scalar = {number}[{index}]" if number else "",
        loads="\n".join(f"                load({given}_in, {given}[k][begin + offset], length)" for given in lists),
        casts="\n".join(f"                {letter}[:] = float32({given}_in)" for letter, given in pairs),
        formula=formula,
    )


def test_two_dozen_operators_of_lists_are_right_on_arrays() -> None:
    tasks = suite()
    for name in (*ONE, *MORE):
        program, task = parse_program(program_for(name)), tasks[name]
        check_interface(program, task)
        check_budgets(program, task.cases)
        checked = check_values(program, task, task.case("smoke"))
        assert not checked.wrong, (name, checked.wrong)


@pytest.mark.parametrize("name", ["ForeachDivScalarList"])
def test_a_program_of_lists_is_right_on_both_tracks(name: str) -> None:
    plugins = Plugins.load()
    task, program = suite()[name], parse_program(program_for(name))
    executor = make_executor(plugins.executors.find("twin"), {})
    judge = Judge.of(executor, plugins, JudgeSettings(60, 60))
    try:
        case = task.case("smoke")
        assert len(case.inputs["x"]) > 1  # type: ignore[arg-type]
        static = lower_static(program, case_facts(program, case), case_attributes(program, case)).files
        dynamic = lower_dynamic(program).files
        for track, files in ((Track.STATIC, static), (Track.DYNAMIC, dynamic)):
            verdict = judge.judge(task, (case,), track, candidate_of(files))
            assert verdict.outcome is Outcome.OK, (track, verdict)
    finally:
        executor.close()


def test_lists_of_any_length_keep_their_shapes() -> None:
    program = parse_program(program_for("ForeachAbs"))
    given = [np.full(shape, -2, np.float32) for shape in ((3, 5), (1,), (7, 1000, 2))]
    made = interpret(program, {"x": given}, {})["y"]
    assert [array.shape for array in made] == [(3, 5), (1,), (7, 1000, 2)]
    assert all((array == 2).all() for array in made)


@pytest.mark.parametrize(
    ("before", "after", "rule", "said"),
    [
        ("x[k][begin", "x[begin", "shape", "x is a list of tensors"),
        ("x[k].size", "x.size", "syntax", "x.size is not known here"),
        ("len(x)", "len(y_out)", "syntax", "no length of a list"),
        ("y.shape = x.shape", "y.shape = (4,)", "output_shape", "a list of shapes"),
        ("y: Outputs[T]", "y: Output[T]", "output_shape", "takes its shape from one"),
        ("y: Outputs[T]", "y: Outputs[T], z: Outputs[T]", "output_shape", "which shape z has"),
        ("y.shape = x.shape\n", "y.shape = x.shape\n    n = x.size\n", "shape", "x is a list of tensors"),
        ("x[k].size", "x[k + 9].size", "out_of_bounds", r"x\[9\] of 1 tensors"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(before: str, after: str, rule: str, said: str) -> None:
    text = program_for("ForeachAbs")
    assert before in text
    with pytest.raises(ProgramError, match=said) as caught:
        interpret(parse_program(text.replace(before, after, 1)), {"x": [np.ones(4, np.float32)]}, {})
    assert caught.value.rule == rule
