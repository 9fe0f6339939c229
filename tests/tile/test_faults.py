"""Programs that mean nothing, or something that cannot be: line, rule and remedy, before anything is compiled."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.launching import Facts, plan
from npukb_tile.parse import parse_file, parse_program
from tests.tables import read_table
from tests.tile.running import changed, elementwise, refused, rows

PLAIN = elementwise("ta + tb", {"a": "float32", "b": "float32"}, "float32")
TYPED = "T = float16, bfloat16\n" + elementwise("ta + 1.0", {"a": "T"}, "T")

BROKEN = read_table(Path(__file__).with_name("faults.yaml"))


@pytest.mark.parametrize("name", BROKEN)
def test_faults_of_the_text(name: str) -> None:
    old, new, rule, word = BROKEN[name].values()
    broken = changed(PLAIN, old, new)
    with refused(rule, word) as caught:
        parse_program(broken)
    if rule not in ("launch", "output_shape", "unused") and name != "element type of a copy":
        pairs = zip(PLAIN.splitlines(), broken.splitlines(), strict=False)
        assert caught.value.line == next(line for line, (a, b) in enumerate(pairs, 1) if a != b)


def test_half_types_do_not_compute() -> None:
    with pytest.raises(ProgramError, match="does not compute this in bfloat16") as caught:
        parse_program(TYPED)
    assert "float32(x)" in str(caught.value.remedy)


#: What only shows when the program runs: the text that is replaced, what replaces it, the rule.
RUNNING = (
    ("length = min(tile, count - offset)", "length = tile", "out_of_bounds"),
    ("range(0, count, tile)", "range(0, count - tile, tile)", "missing_tail"),
    ("count = min(share, total - begin)", "count = min(share, total - begin) - 1", "missing_tail"),
    ("tile=512", "tile=60000", "ub_budget"),
    ("cores=max(1, ceil_div(total, share))", "cores=64", "launch"),
    ("    begin = core() * share", "    sync_all()\n    begin = core() * share", "launch"),
    ("load(ta, a[begin + offset], length)", "load(ta, a[begin + offset], 2, length // 2, stride=1)", "limit"),
    ("        with compute(length):", "        with compute(min(length + 1, tile - 1)):", "extent"),
    ("buffer(tile, float32, depth=2)\n    ty", "buffer(tile // 2, float32, depth=2)\n    ty", "buffer_size"),
    ("            load(ta, a[begin + offset], length)\n", "", "uninitialised"),
    ("share = round_up(ceil_div(total, 3), 32)", "share = total // (total - total)", "division"),
    ("range(0, count, tile)", "range(0, count, tile - tile)", "loop"),
)


@pytest.mark.parametrize(("old", "new", "rule"), RUNNING, ids=[row[2] + str(n) for n, row in enumerate(RUNNING)])
def test_faults_of_the_launch(old: str, new: str, rule: str) -> None:
    program = parse_program(changed(PLAIN, old, new))
    inputs = {name: np.ones((5, 397), np.float32) for name in ("a", "b")}
    with refused(rule) as caught:
        interpret(program, inputs, {})
    assert caught.value.line > 0


def test_a_sync_that_some_cores_skip() -> None:
    source = PLAIN.replace(
        "    begin = core() * share", "    begin = core() * share\n    if core() == 0:\n        sync_all()"
    )
    source = source.replace("cores=max(1, ceil_div(total, share))", "cores=vector_cores()")
    with pytest.raises(ProgramError, match="not every core"):
        interpret(parse_program(source), {name: np.ones(1000, np.float32) for name in ("a", "b")}, {})


def test_a_row_and_a_column_alone() -> None:
    with pytest.raises(ProgramError, match="a row and a column"):
        parse_program(rows("ty[:] = row + column"))


def test_rows_do_not_go_into_a_column() -> None:
    source = rows("ty[:] = ta").replace("load(tw, w[first], count_of_rows)", "load(tw, w[first], count_of_rows, 1)")
    with pytest.raises(ProgramError, match="one element per row"):
        parse_program(source)


def test_a_fault_names_its_file(tmp_path) -> None:
    path = tmp_path / "program.tile.py"
    path.write_text(PLAIN.replace("ta + tb", "ta + nothing"))
    with pytest.raises(ProgramError) as caught:
        parse_file(path)
    assert re.search(r"program\.tile\.py:\d+", str(caught.value.location))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("    y.shape = a.shape\n", "    if total > 3:\n        y.shape = a.shape\n", "output_shape"),
        ("    y.shape = a.shape\n", "    y.shape = (1,)\n    y.shape = a.shape\n", "output_shape"),
        ("    launch(", "    if total > 3:\n        launch(", "launch"),
        ("    launch(", "    for i in range(3):\n        launch(", "launch"),
    ],
)
def test_shapes_and_the_launch_are_said_once(old: str, new: str, rule: str) -> None:
    source = changed(PLAIN, old, new)
    with refused(rule) as caught:
        parse_program(source)
    assert caught.value.remedy
    words = "launch(" if rule == "launch" else "y.shape"
    assert caught.value.line == max(n for n, line in enumerate(source.splitlines(), 1) if words in line)


@pytest.mark.parametrize(
    ("types", "comparison", "wrong"),
    [
        ("T = int32, float32", "ta < 3", True),
        ("T = int32, float32", "ta == 3", False),
        ("T = int16, float32", "ta == 3", True),
        ("T = float16, float32", "ta < 3.0", False),
    ],
)
def test_integers_are_compared_for_equality_only(types: str, comparison: str, wrong: bool) -> None:
    source = f"{types}\n" + elementwise(f"float32({comparison})", {"a": "T"}, "float32")
    if not wrong:
        parse_program(source)
        return
    with pytest.raises(ProgramError, match="integers are compared for equality only") as caught:
        parse_program(source)
    assert (caught.value.rule, caught.value.remedy) == ("dtype", "cast to float32 first")


@pytest.mark.parametrize("text", ["lt(ta)", "lt(ta, tb)", "not(ta > tb)", "add(ta, tb)"])
def test_what_has_a_symbol_is_no_function(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        parse_program(PLAIN.replace("ta + tb", text))
    assert caught.value.rule in ("unknown_name", "syntax")


@pytest.mark.parametrize(
    ("text", "value"), [("-power", -384307168202282325), ("power", 384307168202282325), ("-7", -2), ("7", 2)]
)
def test_quotients_are_cut_towards_zero(text: str, value: int) -> None:
    total = text.replace("power", "1152921504606846976")
    source = PLAIN.replace("    y.shape", f"    most = ({total}) // 3\n    y.shape")
    source = source.replace("total=total,", "total=total, most=most,").replace("*, total,", "*, total, most,")
    planned = plan(parse_program(source), {name: Facts((9,), "float32") for name in "ab"}, {})
    assert planned.numbers["most"] == value
