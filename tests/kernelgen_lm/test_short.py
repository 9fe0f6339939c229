"""Questions in slots: their programs compute what their formulas say, and filling slots gives whole programs."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kernelgen_lm.formulas.short import FAMILIES, Short, benchmarks, evaluate, is_known, stream_short
from kernelgen_lm.formulas.slots import fill, slotted
from kernelgen_lm.formulas.trees import Node, leaf
from npukb_tile.interpret import interpret
from npukb_tile.parse import parse_program
from npukernelbench.nouns import Message

pytest.importorskip("scipy")


_AXES = ("dim", "axis", "along")


def _program(short: Short) -> str:
    return fill(short.program, short.names).split("```python\n")[1].split("```")[0]


def _near(result: Any, wanted: Any) -> Any:
    one, other = np.asarray(result, np.float64), np.asarray(wanted, np.float64)
    with np.errstate(all="ignore"):
        return np.abs(one - other) <= 2e-3 + 2e-3 * np.abs(other)


def _runs(short: Short) -> bool:
    """Whether a program gives what its trees compute, where all of that is of moderate size."""
    rng = np.random.default_rng(3)
    extents = {"full": (5, 24), "col": (24,), "scalar": (1,), "single": (2,)}
    arrays = [rng.uniform(0.25, 0.9, extents[one.kind]).astype(np.float32) for one in short.inputs]
    listed = short.family == "list"
    given = {
        one.name: [array, array[:3]] if listed and one.kind == "full" else array
        for one, array in zip(short.inputs, arrays, strict=True)
    }
    alone = [array[:1] if one.kind == "single" else array for one, array in zip(short.inputs, arrays, strict=True)]
    chosen = [0.7, 0.7]
    wide = [array.astype(np.float64) for array in alone]
    wanted = evaluate(short.family, short.statements, wide, chosen)
    nudged = evaluate(short.family, short.statements, [array * (1 + 2e-7) for array in wide], chosen)
    attributes: dict[str, float] = {name: 0.7 for slot, name in short.names.items() if slot.startswith("<a")}
    turned = short.family in ("axis", "scan") and len(short.prompt) % 2
    if short.family in ("axis", "scan"):
        # Rows of the trees are columns of the program, or lie behind two other axes.
        given = {name: np.stack([array.T]) if turned else array for name, array in given.items()}
        attributes = {name: (1 if turned else -1) if name in _AXES else 0.7 for name in attributes}
    text = _program(short).replace("bfloat16", "float32").replace("float16", "float32")
    program = parse_program(text)
    used = {name: value for name, value in attributes.items() if name in program.attributes}
    made = interpret(program, given, used)[short.names["<o0>"]]
    result = np.asarray(made[0] if isinstance(made, list) else made, np.float64).reshape(-1)
    assert result.size == wanted.size
    result = result.reshape(wanted.T.shape).T if turned else result.reshape(wanted.shape)
    # Values that the inputs' rounding decides say nothing.
    good = np.isfinite(wanted) & (np.abs(wanted) < 1e3) & _near(nudged, wanted)
    if float(good.mean()) < 0.8:
        return True
    near = _near(result, wanted)
    # Steps at ties differ between precisions: a few elements may.
    return float(near[good].mean()) > 0.9


def test_programs_compute_their_formulas() -> None:
    counts = Counter[str]()
    for short in stream_short(5, 260):
        counts[short.family] += 1
        assert _runs(short), f"{short.prompt}\n{short.program}"
    assert set(counts) == set(FAMILIES)


def test_a_question_in_slots_says_the_same_again() -> None:
    for short in stream_short(11, 40):
        found = slotted((Message("user", short.asked),))
        assert found is not None
        assert found.text == short.prompt
        assert "<" not in fill(short.prompt, short.names).replace(" < ", "").replace(" <= ", "")


def test_questions_that_equal_a_benchmark_are_found_by_value() -> None:
    """Written in other steps, too; a new formula is free."""
    exclusion = benchmarks()
    alone = next(short for short in stream_short(2, 400) if short.family == "flat" and len(short.inputs) == 1)
    x, one = leaf("in", 0), leaf("number", 1)

    def asks(tree: Node) -> str | None:
        return is_known(replace(alone, statements=(("out", tree),)), exclusion)

    raised = Node("call", "exp", (Node("minus", "", (x,)),))
    assert asks(Node("binary", "/", (one, Node("binary", "+", (raised, one))))) is not None
    assert (
        asks(Node("call", "exp", (Node("binary", "*", (leaf("number", "0.5"), Node("call", "ln", (x,)))),))) is not None
    )
    assert asks(Node("binary", "+", (Node("call", "sqrt", (Node("call", "abs", (x,)),)), one))) is None


def _slots_of(formula: str, *inputs: str) -> str:
    rows = [f"- input {name}: float32 [8, 16]" for name in inputs]
    asked = "\n".join(["# A: B.", "", f"    {formula}", "", *rows, "- output out: float32 []", "", "called `f`"])
    found = slotted((Message("user", asked),))
    assert found is not None
    return found.text.split("\n")[0]


def test_a_letter_is_the_input_that_begins_with_it_unless_the_formula_says_otherwise() -> None:
    assert _slots_of("out = max(p_i / t_i)", "paths", "towns") == "<o0> = max(<f0> / <f1>)"
    assert _slots_of("out = max(p_i)", "paths", "pins") == "<o0> = max(<u0>)"
    assert _slots_of("out = max(p_i * paths_i)", "paths") == "<o0> = max(<u0> * <f0>)"
    assert _slots_of("p = 3\n    out = p * exp(t)", "paths", "towns").startswith("<v0> = 3.0")


def test_other_texts_are_left_alone() -> None:
    assert slotted((Message("user", "Write a poem."),)) is None
    assert fill("a <i0> of <i7>", {"<i0>": "x"}) == "a x of i7"
