"""The programs that stand beside kernels written by hand: they lower, fit their tasks, and the page names each."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.tile.comparison import chosen, defined
from benchmarks.tile.programs import PROGRAMS
from benchmarks.tile.remarks import REMARKS
from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_program
from npukernelbench.nouns import Presence, Track
from tests.suite import suite

TASKS = suite()
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tile_comparison.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_for_its_task(name: str) -> None:
    task, program = TASKS[name], parse_program(PROGRAMS[name].source)
    assert program.name == task.kernel
    assert len(lower_dynamic(program).files) == 3
    golden = next(golden for golden in task.goldens if golden.track is Track.DYNAMIC)
    assert not golden.maker, "its golden kernel is lowered, not written by hand"


@pytest.mark.parametrize("name", PROGRAMS)
def test_cases_are_those_that_a_program_is_for(name: str) -> None:
    task, written = TASKS[name], PROGRAMS[name]
    cases = chosen(task, written)
    assert 1 <= len(cases) <= 3
    for case in cases:
        assert {key: case.attributes[key] for key in written.attributes} == dict(written.attributes)
        optional = {spec.name for spec in task.inputs if spec.presence is Presence.OPTIONAL}
        given = {key for key in optional if case.inputs.get(key) is not None}
        assert written.given is None or given == set(written.given)


def test_optional_inputs_are_other_cases() -> None:
    with_bias = PROGRAMS["AddLayerNorm"]
    without = with_bias._replace(given=())
    task = TASKS["AddLayerNorm"]
    assert [case.id for case in chosen(task, with_bias)] == ["8", "smoke"]
    assert [case.id for case in chosen(task, without)] == ["3"]
    assert [case.id for case in chosen(task, with_bias._replace(sizes={}))] == ["1", "8", "smoke"]


def test_the_definition_gets_what_the_language_has_no_words_for() -> None:
    def definition(name: str) -> str:
        files = lower_dynamic(parse_program(PROGRAMS[name].source)).files
        return next(text for text in defined(TASKS[name], files).values() if "OP_ADD" in text)

    assert definition("MseLoss").count('this->Attr("reduction").AttrType(OPTIONAL).String("");') == 1
    slot = 'this->Input("{}")\n            .ParamType({})'
    assert slot.format("bias", "OPTIONAL") in definition("AddLayerNorm")
    assert slot.format("gamma", "REQUIRED") in definition("AddLayerNorm")


def test_the_page_names_every_operator_and_explains_the_slow_ones() -> None:
    rows = [line.split("|") for line in PAGE.splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert sorted(row[1].strip() for row in rows) == sorted(PROGRAMS)
    slow = {row[1].strip() for row in rows if float(row[5]) > 1.1}
    assert slow == set(REMARKS)
    assert f"{len(rows) - len(slow)} of {len(rows)} lowered kernels" in PAGE
