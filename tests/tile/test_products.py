"""Products of matrices in tile programs: on NumPy, lowered on the twin for both tracks, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from npukb_tile.checking import check_interface, check_values
from npukb_tile.dtypes import numpy_dtype
from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.launching import Facts
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.parse import parse_file, parse_program
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import CompileRequest, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.task import Case, Core, InputSpec, OutputSpec, Task, TensorCase
from npukernelbench.tasks.hidden import hidden_cases
from tests.goldens.test_dynamic_goldens import judge
from tests.goldens.test_goldens import assert_faultless
from tests.suite import suite
from tests.tile.running import Arrays, changed, refused
from tests.twin.running import Twin, task_for

__all__ = ["judge"]

TASK = suite()["MatmulAdd"]
ADD = parse_file(TASK.path.parent / "golden/tile.py")

#: Products of rectangles of 16 by 48, all of whose extents are cut; ``S`` is the type of sums.
PLAIN = """
@host
def plan(a, b):
    m = a.shape[0]
    k = a.shape[1]
    n = b.shape[1]
    y.shape = (m, n)
    launch(cores=4, m=m, k=k, n=n)

@kernel
def probe(a: Input[T], b: Input[T], y: Output[S], *, m, k, n):
    product = multiplier(16, k, 48, T)
    down = ceil_div(m, 16)
    for part in range(core(), down * ceil_div(n, 48), 4):
        row = part % down * 16
        column = part // down * 48
        height = min(16, m - row)
        width = min(48, n - column)
        multiply(product, y[row * n + column], a[row * k], b[column], height, k, width, strides=(n, k, n))
"""
TYPES = {"float16": "float32", "bfloat16": "float32", "float32": "float32", "int8": "int32"}


def source(factors: str) -> str:
    return f"T = {factors}\n" + PLAIN.replace("Output[S]", f"Output[{TYPES[factors]}]")


def mixed_task(inputs: Arrays, shape: tuple[int, int], factors: str) -> Task:
    task = task_for(inputs, {"y": (shape, DType(TYPES[factors]))})
    specs = tuple(InputSpec(name, (DType(factors),)) for name in inputs)
    output = OutputSpec("y", dtype=DType(TYPES[factors]))
    return replace(task, core=Core.MIX, inputs=specs, outputs=(output,), content_hash=f"product-{factors}-{shape}")


@pytest.mark.parametrize("factors", TYPES)
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (37, 29, 101), (16, 300, 48)])
def test_numpy_and_both_tracks_agree(twin: Twin, factors: str, m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(m + n)
    inputs = {
        "a": rng.integers(-8, 8, (m, k)).astype(numpy_dtype(factors)),
        "b": rng.integers(-8, 8, (k, n)).astype(numpy_dtype(factors)),
    }
    expected = inputs["a"].astype(np.int64) @ inputs["b"].astype(np.int64)  # exact in every type of sums
    program = parse_program(source(factors))
    np.testing.assert_array_equal(interpret(program, inputs, {})["y"], expected)
    task = mixed_task(inputs, (m, n), factors)
    facts = {name: Facts(value.shape, factors) for name, value in inputs.items()}
    static, dynamic = lower_static(program, facts, {}).files, lower_dynamic(program).files
    for track, files in ((Track.STATIC, static), (Track.DYNAMIC, dynamic)):
        case = task.cases[0] if track is Track.STATIC else None
        request = CompileRequest(task, case, track, candidate_of(dict(files)), 60.0, task.cases)
        compiled = twin.executor.compile(request)
        assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
        seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, inputs, 5, 30.0))
        assert (seen.outcome, seen.diagnostics) == (Outcome.OK, ()), [
            str(diagnostic) for diagnostic in seen.diagnostics
        ]
        np.testing.assert_array_equal(seen.outputs["y"], expected)


def test_an_operator_is_right_on_public_and_hidden_cases(judge: Callable[..., object]) -> None:
    """A golden operator in place of the one that is written by hand."""
    check_interface(ADD, TASK)
    small = [case for case in hidden_cases(TASK, "tile", 6) if elements(case) < 300_000]
    assert small
    for case in (TASK.case("smoke"), small[0]):
        assert not check_values(ADD, TASK, case).wrong
    files = lower_dynamic(ADD).files
    cases = [TASK.case("smoke"), TASK.case("1"), *small]
    assert_faultless(judge(TASK, cases, lambda _: files))  # type: ignore[arg-type]
    case = TASK.case("smoke")
    facts = {
        name: Facts(item.tensor.shape, item.tensor.dtype.value)
        for name, item in case.inputs.items()
        if isinstance(item, TensorCase)
    }
    text = lower_static(ADD, facts, {}).files["kernel.cpp"]
    assert_faultless(judge(TASK, [case], static=text))  # type: ignore[arg-type]


def elements(case: Case) -> int:
    return sum(item.tensor.size for item in case.inputs.values() if isinstance(item, TensorCase))


#: What is broken, the text that is replaced, what replaces it, the rule, a word of message or remedy.
BROKEN = (
    ("sums of the factors' type", "Output[float32]", "Output[float16]", "dtype", "Workspace[float32]"),
    ("sums to an input", "multiply(product, y[", "multiply(product, a[", "global_memory", "input"),
    ("factors of another type", "48, T)", "48, bfloat16)", "dtype", "multiplies bfloat16"),
    ("integers that are no factors", "48, T)", "48, int32)", "dtype", "int8"),
    ("no multiplier", "multiply(product,", "multiply(other,", "unknown_name", "multiplier"),
    ("extents of a tile", "multiplier(16,", "multiplier(core(),", "buffer_size", "host"),
    ("two extents", "multiplier(16, k,", "multiplier(16,", "syntax", "three extents"),
    ("two strides", "strides=(n, k, n)", "strides=(n, k)", "syntax", "three strides"),
    ("nowhere", "b[column]", "b", "syntax", "multiply"),
    ("no product", "    down =", "    product = 3\n    down =", "syntax", "multiplier"),
)


@pytest.mark.parametrize(("name", "old", "new", "rule", "word"), BROKEN, ids=[row[0] for row in BROKEN])
def test_faults_of_the_text(name: str, old: str, new: str, rule: str, word: str) -> None:
    text = changed(source("float16"), old, new)
    with refused(rule, word) as caught:
        parse_program(text)
    assert caught.value.line > 0


def test_a_product_inside_a_block() -> None:
    inside = source("float16").replace("        multiply(", "        with copy_in:\n            multiply(")
    with pytest.raises(ProgramError, match="between blocks"):
        parse_program(inside)


def test_a_multiplier_that_nothing_uses() -> None:
    with pytest.raises(ProgramError, match="nothing uses the multiplier spare"):
        parse_program(source("float16").replace("    down =", "    spare = multiplier(16, k, 16, T)\n    down =", 1))


#: What only shows when the program runs.
RUNNING = (
    ("multiplier(16, k, 48, T)", "multiplier(16, k, 32, T)", "buffer_size"),
    ("height = min(16, m - row)", "height = 16", "out_of_bounds"),
    ("height = min(16, m - row)", "height = 0", "extent"),
    ("strides=(n, k, n)", "strides=(n, k - 1, n)", "limit"),
    ("cores=4", "cores=3", "launch"),
    ("multiplier(16, k, 48, T)", "multiplier(16, k - k, 48, T)", "buffer_size"),
    ("multiplier(16, k, 48, T)", "multiplier(16, k, 4294967296, T)", "buffer_size"),
)


@pytest.mark.parametrize(("old", "new", "rule"), RUNNING, ids=[f"{row[2]}{n}" for n, row in enumerate(RUNNING)])
def test_faults_of_the_launch(old: str, new: str, rule: str) -> None:
    program = parse_program(changed(source("float16"), old, new))
    inputs = {"a": np.ones((37, 29), np.float16), "b": np.ones((29, 101), np.float16)}
    with refused(rule) as caught:
        interpret(program, inputs, {})
    assert caught.value.line > 0


def test_sums_that_nobody_wrote() -> None:
    text = source("float32").replace("y: Output[float32],", "y: Output[float32], w: Workspace[float32],")
    text = text.replace("    y.shape = (m, n)", "    y.shape = (m, n)\n    w.shape = (m * k,)").replace(
        "a[row * k]", "w[row * k]"
    )
    text = (
        text.replace("a: Input[T]", "a: Input[float32]")
        .replace("b: Input[T]", "b: Input[float32]")
        .replace("T)", "float32)")
    )
    inputs = {"a": np.ones((37, 29), np.float32), "b": np.ones((29, 101), np.float32)}
    with pytest.raises(ProgramError, match="before it is written"):
        interpret(parse_program(text), inputs, {})
