"""Tile programs in tests: a text on the interpreter and, lowered, on the twin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from npukb_tile.dtypes import numpy_dtype
from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.ir import Program, TensorRole
from npukb_tile.launching import Facts, plan
from npukb_tile.lowering import lower_static
from npukb_tile.parse import parse_program
from npukernelbench.nouns import DType
from tests.twin.running import Twin

Arrays = Mapping[str, np.ndarray[Any, Any]]


def elementwise(expression: str, inputs: Mapping[str, str], output: str, tile: int = 512) -> str:
    """A program that computes one expression of tiles named like the inputs, with ``t`` in front."""
    signature = ", ".join(f"{name}: Input[{dtype}]" for name, dtype in inputs.items())
    buffers = "\n".join(f"    t{name} = buffer(tile, {dtype}, depth=2)" for name, dtype in inputs.items())
    loads = "\n".join(f"            load(t{name}, {name}[begin + offset], length)" for name in inputs)
    return f"""
@host
def plan(a):
    total = a.size
    share = round_up(ceil_div(total, 3), 32)
    y.shape = a.shape
    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile={tile})

@kernel
def probe({signature}, y: Output[{output}], *, total, share, tile):
{buffers}
    ty = buffer(tile, {output}, depth=2)
    begin = core() * share
    count = min(share, total - begin)
    for offset in range(0, count, tile):
        length = min(tile, count - offset)
        with copy_in:
{loads}
        with compute(length):
            ty[:] = {expression}
        with copy_out:
            store(y[begin + offset], ty, length)
"""


def rows(statement: str, *, tile_rows: int = 5) -> str:
    """A program on a matrix ``a``, a row ``v`` and a column ``w``; ``statement`` fills ``ty`` from their tiles."""
    return f"""
@host
def plan(a):
    n = a.shape[0]
    d = a.shape[1]
    share = ceil_div(n, 3)
    y.shape = a.shape
    launch(cores=ceil_div(n, share), n=n, d=d, share=share, most={tile_rows})

@kernel
def probe(a: Input[float32], v: Input[float32], w: Input[float32], y: Output[float32], *, n, d, share, most):
    ta = buffer(most, d, float32, depth=2)
    tv = buffer(d, float32)
    tw = buffer(most, 1, float32, depth=2)
    ty = buffer(most, d, float32, depth=2)
    row = buffer(d, float32)
    column = buffer(most, 1, float32)
    begin = core() * share
    end = min(begin + share, n)
    with copy_in:
        load(tv, v[0], d)
    for first in range(begin, end, most):
        count_of_rows = min(most, end - first)
        with copy_in:
            load(ta, a[first * d], count_of_rows, d)
            load(tw, w[first], count_of_rows)
        with compute(count_of_rows, d):
            row[:] = tv
            column[:] = tw
            {statement}
        with copy_out:
            store(y[first * d], ty, count_of_rows, d)
"""


def changed(text: str, old: str, new: str) -> str:
    """The text with ``old`` replaced, which has to be in it once."""
    assert text.count(old) == 1
    return text.replace(old, new)


@contextmanager
def refused(rule: str, word: str = "") -> Iterator[pytest.ExceptionInfo[ProgramError]]:
    """What is done inside is refused by the rule; message or remedy have the word."""
    with pytest.raises(ProgramError) as caught:
        yield caught
    assert caught.value.rule == rule
    assert word in f"{caught.value.detail} {caught.value.remedy}"


def both(twin: Twin, source: str, inputs: Arrays, attributes: Mapping[str, float] | None = None) -> tuple[Any, Any]:
    """Output ``y`` of the interpreter and of the twin; the twin has nothing to say about the kernel."""
    program = parse_program(source)
    given = dict(attributes or {})
    facts = {name: Facts(value.shape, str(value.dtype)) for name, value in inputs.items()}
    meant = interpret(program, inputs, given)["y"]
    lowered = lower_static(program, facts, given).files["kernel.cpp"]
    declared = {"y": (shape_of(program, facts, given), DType(str(meant.dtype)))}
    finished = twin.run_source(lowered, dict(inputs), declared)
    assert not finished.diagnostics, [str(diagnostic) for diagnostic in finished.diagnostics] + [lowered]
    return meant, finished.output("y")


def shape_of(program: Program, facts: Mapping[str, Facts], attributes: Mapping[str, float]) -> tuple[int, ...]:
    """The shape that the host function says."""
    [output] = program.of_role(TensorRole.OUTPUT)
    return plan(program, facts, attributes).shapes[output.name]


def near(meant: Any, seen: Any, rtol: float) -> None:
    """Both are alike, integers exactly."""
    assert meant.shape == seen.shape
    if meant.dtype.kind in "iub":
        np.testing.assert_array_equal(meant, seen)
    else:
        np.testing.assert_allclose(seen.astype(np.float64), meant.astype(np.float64), rtol=rtol, atol=rtol)


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """Values of an element type: small integers, or normal numbers."""
    to = numpy_dtype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(to)
    if to.kind in "iu":
        return rng.integers(0 if to.kind == "u" else -50, 50, shape).astype(to)
    return rng.normal(0.0, 1.5, shape).astype(to)
