"""Shared n-grams of answers with published kernels, and the canary in our own files."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.canaries import lacking
from npukernelbench.cli import main
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.report.overlap import WIDTH, Published, grams_of, read_overlap
from npukernelbench.tasks.canary import CANARY, canary_line, without_canary
from tests.suite import suite


def published(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root


def test_code_is_compared_by_tokens_without_comments() -> None:
    words = " ".join(f"name{number} ;" for number in range(WIDTH))
    assert len(grams_of(words)) == WIDTH + 1
    assert grams_of(words) == grams_of(words.replace(" ;", "; // said\n").replace("name0", "/* so */name0"))
    assert grams_of("too short;") == frozenset()


def test_an_answer_that_is_published_shares_all_and_another_little(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    case = suite()["Sqrt"].case("smoke")
    copied = golden_kernel(suite()["Sqrt"], case, Track.STATIC)["kernel.cpp"]
    other = "\n".join(f"int other{number} = compute(other{number - 1}, {number});" for number in range(1, 40))
    folder = published(tmp_path / "kernels", {"Sqrt/op_kernel/sqrt.cpp": copied, "Exp/exp.cpp": other})
    words = ("--tasks", "Sqrt:smoke,Tanh_Math:smoke", "--output_path", str(tmp_path / "runs"))
    assert main(["run", "--model", "reference", *words]) == 0
    [run] = (tmp_path / "runs").iterdir()
    found = {overlap.task: overlap for overlap in read_overlap(run, folder)}
    assert found["Sqrt"].same == found["Sqrt"].anywhere == 1.0
    assert found["Sqrt"].nearest == "Sqrt/op_kernel/sqrt.cpp"
    assert found["TanhMath"].same == 0.0
    assert found["TanhMath"].anywhere < 1.0
    assert main(["overlap", str(run), "--against", str(folder)]) == 0
    capsys.readouterr()
    assert main(["report", str(run)]) == 0
    assert "1 of 2 answers share half or more" in " ".join(capsys.readouterr().out.split())


def test_what_everybody_has_counts_for_nobody(tmp_path: Path) -> None:
    opening = " ".join(f"open{number};" for number in range(WIDTH))
    files = {f"k{number}/k{number}.cpp": f"{opening} int own{number} = {number};" for number in range(6)}
    read_back = Published.read(published(tmp_path, files))
    assert not any(grams_of(opening) & grams for grams in read_back.files.values())
    assert set(read_back.of("K3")) == set(read_back.of("optimise/K3")) == {"k3/k3.cpp"}
    with pytest.raises(UsageError, match="no C\\+\\+ file below"):
        Published.read(tmp_path / "nowhere")


def test_every_task_file_and_golden_kernel_ends_with_the_canary_and_shows_it_to_nobody() -> None:
    assert list(lacking()) == []
    for name in ("Sqrt", "CraftCumsum", "BasicMatmul"):
        task = suite()[name]
        assert all(CANARY not in text for text in golden_kernel(task, None, Track.DYNAMIC).values())
        assert task.created >= "2026-01-01"
    for suffix in (".cpp", ".py", ".yaml"):
        assert without_canary(f"a\nb\n{canary_line(suffix)}\n") == "a\nb\n"
    assert without_canary("a\nb\n") == "a\nb\n"


def test_a_file_without_the_canary_is_found(tmp_path: Path) -> None:
    files = {"a.yaml": "name: A\n", "b.cpp": f"int b;\n{canary_line('.cpp')}\n"}
    assert [path.name for path in lacking(published(tmp_path, files))] == ["a.yaml"]
