"""The notebooks run from their first cell to their last. Cells are plain Python: no kernel has to be started."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
#: What each must have printed.
SAID = {
    "compare_two_models": ["correct@1            0.50 1.00  +0.50"],
    "judge_a_kernel": ["wrong_value", "rule_violation", "AllocTensor: all 2 buffers"],
    "read_a_run": ["2 samples", "Sqrt/0/static/0 ok", "correct@1 1.00"],
}


def cells(path: Path) -> list[str]:
    notebook = json.loads(path.read_text("utf-8"))
    assert notebook["nbformat"] == 4
    assert all(not cell.get("outputs") for cell in notebook["cells"]), "clear the outputs before you commit"
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_every_notebook_is_known() -> None:
    assert [path.stem for path in NOTEBOOKS] == sorted(SAID)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Kernels are compiled and run: what a reader executes must do what its text says."""
    monkeypatch.chdir(path.parent)
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(cells(path)):
        exec(compile(cell, f"{path.name}[{number}]", "exec"), names)
    said = capfd.readouterr().out
    assert [text for text in SAID[path.stem] if text not in said] == []
