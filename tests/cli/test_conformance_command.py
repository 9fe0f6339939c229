"""``npukb conformance`` with an executor that does as it is told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FAKE = ("--executor", "fake", "--executor_args", '{"tracks": ["dynamic"]}', "--jobs", "1")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Two operators of our suite and one that nobody knows."""
    for name, word in (("Sqrt", "ok"), ("SinMath", "tail"), ("Nobody", "ok")):
        folder = tmp_path / f"checkout/tasks/level1/Math/{name}/answer/0"
        for side in ("op_host", "op_kernel"):
            (folder / side).mkdir(parents=True)
        (folder / f"op_kernel/{name.lower()}.cpp").write_text(f"// fake: {word}\n")
    return tmp_path / "checkout"


@pytest.mark.usefixtures("fake")
def test_a_table_and_totals(npukb, checkout):
    finished = npukb("conformance", checkout, "--cases", "2", *FAKE)
    assert finished.code == 0
    assert "operators that compile: 2 of 2" in finished.out
    assert "operators that pass all cases sent to their kernel: 1 of 2" in finished.out
    assert "cases that pass: 2 of 4" in finished.out
    assert "case 0: wrong_value" in finished.out
    assert "[2/2]" in finished.err
    lines = Path("results/conformance.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["compile", "case", "case"] * 2


@pytest.mark.usefixtures("fake")
def test_json_and_nothing_else(npukb, checkout, tmp_path):
    finished = npukb("conformance", checkout, "--operators", "Sqrt:0", "--json", "-o", tmp_path / "own", *FAKE)
    assert finished.json["totals"] == {
        "operators": 1, "tried": 1, "compile": 1, "dispatched": 1, "passing": 1, "strict": 1,
        "cases": 1, "passed": 1,
    }  # fmt: skip
    (operator,) = finished.json["operators"]
    assert operator["operator"] == "Sqrt"
    assert operator["cases"][0]["match"] is True
    assert (tmp_path / "own" / "conformance.jsonl").exists()


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("required", "code"),
    [
        (["compile=2"], 0),
        (["pass=1"], 0),
        (["pass=2"], 1),
        (["0.5"], 0),
        (["0.6"], 1),
        (["compile=2", "cases=0.9"], 1),
        (["speed=1"], 2),
        (["pass=many"], 2),
    ],
)
def test_thresholds(npukb, checkout, required, code):
    options = [word for text in required for word in ("--fail_under", text)]
    assert npukb("conformance", checkout, "--cases", "1", *options, *FAKE).code == code


@pytest.mark.usefixtures("fake")
def test_compiling_only(npukb, checkout):
    finished = npukb("conformance", checkout, "--compile_only", *FAKE)
    assert finished.code == 0
    assert "operators that compile: 2 of 2" in finished.out
    assert "cases that pass" not in finished.out


@pytest.mark.usefixtures("fake")
def test_a_path_without_operators_is_a_mistake_of_the_user(npukb, tmp_path):
    finished = npukb("conformance", tmp_path / "nowhere", *FAKE)
    assert finished.code == 2
    assert "nowhere holds no tasks" in finished.err
    assert "remedy" in finished.err


@pytest.mark.usefixtures("fake")
def test_a_damaged_checkout_is_said(npukb, checkout):
    (checkout / "tasks/level1/Math/Sqrt/answer/0/op_host/sqrt.cpp").write_text("// Implementation note.\n")
    assert "a later commit damaged sources" in npukb("conformance", checkout, "--compile_only", *FAKE).err


@pytest.mark.usefixtures("fake")
def test_an_executor_without_the_dynamic_track_is_refused(npukb, checkout):
    assert npukb("conformance", checkout, "--executor", "fake").code == 2


@pytest.mark.usefixtures("fake")
def test_a_page_needs_a_reason_for_every_miss(npukb, checkout, tmp_path):
    page = tmp_path / "page.md"
    finished = npukb("conformance", checkout, "--operators", "Sqrt", "--markdown", page, "--cases", "1", *FAKE)
    assert finished.code == 0
    assert "| Sqrt | yes | 1 of 1 | 1 |" in page.read_text()
    refused = npukb("conformance", checkout, "--cases", "1", "--markdown", tmp_path / "other.md", *FAKE)
    assert refused.code == 2
    assert "SinMath: no reason is given why case 0 is not right" in refused.err
    assert not (tmp_path / "other.md").exists()
