"""Kernels that are wrong in every way we know: the right outcome, the right owner, the right line, and no harm done.

Each is judged twice: by the judge itself, and by ``npukb judge --json`` as its author would.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from npukernelbench.cli import main
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Severity, Task, Track
from tests.judging import all_said, twin_judge

if TYPE_CHECKING:
    from tests.adversarial.judge.conftest import Adversary

COMPILE_S, RUN_S = 3.0, 1.0


@pytest.fixture(scope="session")
def judge() -> Iterator[Judge]:
    with twin_judge(JudgeSettings(compile_timeout_s=COMPILE_S, run_timeout_s=RUN_S)) as made:
        yield made


def test_judge(judge: Judge, subject: tuple[Task, Case], adversary: Adversary) -> None:
    task, case = subject
    verdict = judge.judge(task, [case], Track.STATIC, candidate_of({"kernel.cpp": adversary.source}))
    said = all_said(verdict)
    texts = [str(diagnostic) for diagnostic in said]
    assert verdict.outcome.value in adversary.outcomes, texts
    assert (verdict.owner.value, verdict.stage.value) == (adversary.owner, adversary.expected["stage"]), texts
    if adversary.outcomes == ["ok"]:
        assert not said
        return
    first = next(diagnostic for diagnostic in said if diagnostic.severity is Severity.ERROR)
    assert adversary.expected["says"] in first.message, texts
    assert first.message
    if "rule" in adversary.expected:
        assert first.rule == adversary.expected["rule"], texts
    if adversary.line:
        assert (first.file, first.line) == ("kernel.cpp", adversary.line), texts


def test_command(npukb_judge: Any, adversary: Adversary) -> None:
    code, verdict = npukb_judge(adversary.source)
    assert code == (4 if adversary.owner == "infra" else 0)
    assert verdict["outcome"] in adversary.outcomes, verdict["diagnostics"]
    assert (verdict["owner"], verdict["stage"]) == (adversary.owner, adversary.expected["stage"])
    assert (verdict["task"], verdict["case"], verdict["track"], verdict["tier"]) == (
        "AddCustom",
        "smoke",
        "static",
        "twin",
    )
    if adversary.line:
        first = next(diagnostic for diagnostic in verdict["diagnostics"] if diagnostic["severity"] == "error")
        assert first["line"] == adversary.line


@pytest.mark.parametrize("filler", ["// nothing to see here\n", "int v;\n", "\0v", "(", '#include "kernel.cpp"\n'])
def test_ten_megabytes(npukb_judge: Any, filler: str) -> None:
    code, verdict = npukb_judge(filler * (10_000_000 // len(filler) + 1))
    assert (code, verdict["outcome"], verdict["stage"]) == (0, "guard_rejected", "guard")
    assert any("the limit is 1048576 bytes" in diagnostic["message"] for diagnostic in verdict["diagnostics"])
    assert len(json.dumps(verdict)) < 100_000


@pytest.mark.parametrize(
    "text",
    [
        "int v = " + "(" * 400_000 + ";",
        "// " + "x" * 1_000_000,
        "int v = undeclared;\n" * 20_000,
        "\n".join(f"#define {a} {b} {b} {b} {b} {b} {b} {b} {b}" for a, b in zip("ABCDEFG", "BCDEFGH", strict=True))
        + "\n#define H 1 +\nint v = A A A A;",
    ],
    ids=["nesting", "one line", "errors", "macro bomb"],
)
def test_sources_that_strain_the_compiler(npukb_judge: Any, text: str) -> None:
    code, verdict = npukb_judge(text)
    assert (code, verdict["owner"], verdict["stage"]) == (0, "model", "compile")
    assert verdict["outcome"] in ("compile_error", "timeout", "out_of_memory")
    assert verdict["diagnostics"][0]["message"]


@pytest.fixture
def npukb_judge(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """``npukb judge AddCustom`` on a source text: exit code and verdict."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("NPUKB_") and name != "NPUKB_CACHE_DIR"]:
        monkeypatch.delenv(name)

    def call(source: str) -> tuple[int, Any]:
        path = tmp_path / "kernel_of_mine.cpp"
        path.write_text(source, encoding="utf-8")
        limits = ["--compile_timeout", str(COMPILE_S), "--run_timeout", str(RUN_S)]
        capfd.readouterr()
        code = main(["judge", "AddCustom", str(path), "--json", *limits])
        return code, json.loads(capfd.readouterr().out)

    return call
