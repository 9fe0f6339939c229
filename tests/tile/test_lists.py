"""Lists of tensors: results keep the shapes of what they are made of; what is wrong is said."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_tile.interpret import interpret
from npukb_tile.parse import parse_file, parse_program
from tests.suite import suite
from tests.tile.running import changed, refused

ABS = suite()["ForeachAbs"].path.parent / "golden" / "tile.py"


def test_lists_of_any_length_keep_their_shapes() -> None:
    program = parse_file(ABS)
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
        ("x[k].size", "x[k + 9].size", "out_of_bounds", "x[9] of 1 tensors"),
    ],
)
def test_what_is_wrong_with_a_list_is_said(before: str, after: str, rule: str, said: str) -> None:
    text = changed(ABS.read_text(encoding="utf-8"), before, after)
    with refused(rule, said):
        interpret(parse_program(text), {"x": [np.ones(4, np.float32)]}, {})
