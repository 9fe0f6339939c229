"""Attributes out of test cases of msOpST, beside a script that does not tell them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from npukb_suites.recorded.toolcases import attributes_said, read_test_cases
from npukb_suites.torch_client import VARIABLE
from npukernelbench.tasks.load import load_task
from tests.cli.conftest import Npukb, _clean_surroundings, npukb  # noqa: F401
from tests.suites.test_recorded import SCRIPT, SIGNATURE, script_folder

SCALE = {"name": "scale", "type": "int"}


def case(shape: list[int], *attributes: dict[str, Any], op: str = "Triple", name: str = "one") -> dict[str, Any]:
    return {"case_name": name, "op": op, "input_desc": [{"name": "x", "shape": shape}], "attr": list(attributes)}


def write(*cases: Any) -> None:
    Path("case/tests").mkdir(parents=True, exist_ok=True)
    Path("case/tests/Triple_case.json").write_text(json.dumps(list(cases)))


def made(npukb: Npukb) -> tuple[Any, str]:  # noqa: F811
    """The attribute and what was said; the right answer needs 3."""
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 0, done.err + done.out
    [only] = load_task(Path("Triple/task.yaml"))[0].cases
    return only.attributes["scale"], done.out


@pytest.fixture(autouse=True)
def script_without_attributes(npukb: Npukb, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.delenv(VARIABLE, raising=False)
    script_folder(SCRIPT.replace("scale", "times"))


def test_the_case_with_the_script_s_shapes_says_attributes(npukb: Npukb) -> None:  # noqa: F811
    write(case([4], {**SCALE, "value": 7}), case([2, 8], {**SCALE, "value": 3}, name="two"))
    value, said = made(npukb)
    assert value == 3
    assert "scale is 3 as in the msOpST case two" in said


def test_what_all_cases_agree_on_is_said_without_such_a_case(npukb: Npukb) -> None:  # noqa: F811
    write(case([4], {**SCALE, "value": 3}), case([5], {**SCALE, "value": 3}), case([2, 8], op="Other"))
    value, said = made(npukb)
    assert value == 3
    assert "scale is 3 as in all 2 msOpST cases" in said


@pytest.mark.parametrize(
    "cases",
    [
        (case([4], {**SCALE, "value": 3}), case([5], {**SCALE, "value": 4})),
        (case([2, 8], {**SCALE, "value": "fuzz"}),),
        (case([2, 8], {**SCALE, "value": None}),),
        (case([2, 8], {**SCALE, "value": "three"}),),
        ("nothing", 5, {"op": "Triple"}),
    ],
)
def test_what_is_not_said_is_asked_for(npukb: Npukb, cases: tuple[Any, ...]) -> None:  # noqa: F811
    write(*cases)
    done = npukb("new", "Triple", *SIGNATURE, "--data", "case", "--script", "scripts/gen_data.py")
    assert done.code == 3
    assert "nothing says what the attribute scale is" in done.err


def test_files_of_another_form_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    (tmp_path / "b.json").write_text('{"op": "Triple"}')
    (tmp_path / "c.json").write_text(json.dumps([case([4], {**SCALE, "value": [1, 2]}, op="triple")]))
    cases = read_test_cases(tmp_path, "Triple")
    assert [one.attributes for one in cases] == [{"scale": [1, 2]}]
    assert attributes_said(cases, [None], ["Scale"]) == {"scale": ([1, 2], "all 1 msOpST cases")}
    # What the script wrote was written with a default as well as with that.
    assert attributes_said(cases, [None], []) == {}
    assert attributes_said(cases, [(4,)], []) == {"scale": ([1, 2], "the msOpST case one")}
