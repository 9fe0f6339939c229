"""``npukb tile``: what it prints, writes and refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from npukb_tile.command import tile
from npukernelbench.cli.boundary import App
from npukernelbench.console import Console
from npukernelbench.errors import NpukbError
from npukernelbench.nouns import Track
from npukernelbench.tasks.goldens import read_golden
from tests.suite import suite

PROGRAM = Path(__file__).resolve().parents[2] / "tasks/ascendcraft/activation/elu/golden/tile.py"


def npukb_tile(*arguments: object) -> tuple[int, str]:
    words = [str(argument) for argument in arguments]
    done = CliRunner().invoke(tile, words, obj=App(Console()), standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return int(done.return_value or 0), done.output


def test_check_runs_small_cases() -> None:
    code, said = npukb_tile("check", PROGRAM, "--task", "CraftElu")
    assert code == 0
    assert "case smoke: right" in said
    assert "case 0: not run" in said
    assert "163840 bytes of the unified buffer at most" in said


def test_check_counts_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    task = suite()["ForeachAbs"]
    monkeypatch.setattr("npukb_tile.checking.MOST_ELEMENTS", 0)
    code, said = npukb_tile("check", task.path.parent / "golden/tile.py", "--task", task.name)
    assert (code, ": not run, " in said, ": right" in said) == (0, True, False)


def test_check_tells_wrong_values(tmp_path: Path) -> None:
    wrong = tmp_path / "elu.py"
    wrong.write_text(PROGRAM.read_text(encoding="utf-8").replace("- 1.0) * alpha", "- 1.0) * 2.0"), encoding="utf-8")
    code, said = npukb_tile("check", wrong, "--task", "CraftElu")
    assert code == 1
    assert "elements" in said


def test_check_knows_the_interface() -> None:
    with pytest.raises(NpukbError, match="the task wants craft_gelu"):
        npukb_tile("check", PROGRAM, "--task", "CraftGelu")


def test_lower_writes_the_golden_kernel(tmp_path: Path) -> None:
    code, said = npukb_tile("lower", PROGRAM, "--into", tmp_path)
    assert code == 0
    [golden] = [golden for golden in suite()["CraftElu"].goldens if golden.track is Track.DYNAMIC]
    files = read_golden(golden)
    assert {"op_host/craft_elu.cpp", "op_host/craft_elu_tiling.h", "op_kernel/craft_elu.cpp"} <= files.keys()
    for name, text in files.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text
        assert str(tmp_path / name) in said


def test_lower_for_one_case_has_constants() -> None:
    _, said = npukb_tile("lower", PROGRAM, "--task", "CraftElu", "--case", "cpu", "--track", "static")
    assert "constexpr int64_t total = 1966080;" in said
    assert "constexpr float alpha = 1.0f;" in said


def test_explain_shows_storage_and_numbers() -> None:
    _, said = npukb_tile("explain", PROGRAM, "--task", "CraftElu", "--case", "cpu")
    assert "input queue, depth 2" in said
    assert "Exp(result, result, count);" in said
    assert "Case cpu: 48 cores" in said


def test_a_fault_is_printed_with_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "elu.py"
    broken.write_text(PROGRAM.read_text(encoding="utf-8").replace("x_tile, 0.0)) - 1.0", "gone, 0.0)) - 1.0"))
    with pytest.raises(NpukbError) as caught:
        npukb_tile("check", broken)
    assert str(caught.value.location).endswith("elu.py:23")


def test_the_package_imports_nothing_heavy() -> None:
    import subprocess

    probe = "import sys, npukb_tile; sys.exit(bool({'numpy', 'scipy', 'click'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
