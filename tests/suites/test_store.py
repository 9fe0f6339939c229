"""The record of an added suite, where the import is interrupted."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from npukb_suites.store import Suite, add_suite, suites, tasks_folder
from npukernelbench.cli import main
from npukernelbench.errors import TaskError
from npukernelbench.tasks.importing import Entry, Folder


class Interrupted:
    """An importer of text files, which the user stops at the file that says so."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def entries(self, root: Path) -> Iterable[Entry]:
        return [Entry(path.stem, path, path.read_text()) for path in sorted(root.glob("*.txt"))]

    def folder(self, suite: str, entry: Entry) -> Folder:
        if entry.digest == "stop":
            raise KeyboardInterrupt
        if entry.digest == "refuse":
            raise TaskError("it cannot be one")
        self.made.append(entry.name)
        return Folder({"text": entry.digest}, ("a note",))

    def close(self) -> None: ...


def test_an_interrupted_import_is_listed_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "checkout"
    root.mkdir()
    for name, text in {"a": "first", "b": "refuse", "c": "stop", "d": "last"}.items():
        (root / f"{name}.txt").write_text(text)
    importer = Interrupted()

    def add() -> Suite:
        return add_suite("own", "texts", importer, root, say=lambda _: None)

    with pytest.raises(KeyboardInterrupt):
        add()
    [kept] = suites()
    assert (dict(kept.tasks), dict(kept.refused), kept.left) == ({"a.txt": "a"}, {"b.txt": "it cannot be one"}, 2)
    assert kept.notes == {"a.txt": ["a note"]}
    assert main(["suites", "ls"]) == 0
    said = capsys.readouterr().out
    assert "own: 1 tasks, 1 refused" in said
    assert "(incomplete: 2 operators left; the same command goes on)" in said

    (root / "c.txt").write_text("third")
    assert add().left == 0
    assert importer.made == ["a", "c", "d"]
    assert list(suites()) == [Suite("own", "texts", str(root), add().tasks, add().refused, add().notes)]
    assert sorted(path.name for path in tasks_folder("own").iterdir()) == ["a", "c", "d"]
    assert main(["suites", "ls"]) == 0
    assert "incomplete" not in capsys.readouterr().out


def test_operators_that_only_leaves_out_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(tmp_path / "cache"))
    roots = [tmp_path / "one", tmp_path / "two"]
    for root in roots:
        root.mkdir()
        for name, text in {"a": "first", "b": "refuse", "c": "third", "d": "last"}.items():
            (root / f"{name}.txt").write_text(text)

    def add(root: Path, only: str = "") -> list[str]:
        made = add_suite("own", "texts", Interrupted(), root, only=only, say=lambda _: None)
        assert [made] == list(suites())
        assert sorted(path.name for path in tasks_folder("own").iterdir()) == sorted(made.tasks.values())
        assert made.notes.keys() == made.tasks.keys()
        return sorted([*made.tasks.values(), *made.refused])

    assert add(roots[0], "a.txt") == ["a"]
    assert add(roots[0]) == ["a", "b.txt", "c", "d"]
    (roots[0] / "c.txt").write_text("refuse")
    (roots[0] / "d.txt").unlink()
    assert add(roots[0], "c.txt") == ["a", "b.txt", "c.txt"]
    assert add(roots[1], "d.txt") == ["d"], "another checkout is another suite"


def test_the_record_is_there_before_the_first_operator_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "a.txt").write_text("stop")
    with pytest.raises(KeyboardInterrupt):
        add_suite("own", "texts", Interrupted(), tmp_path, say=lambda _: None)
    [kept] = suites()
    assert (kept.tasks, kept.left) == ({}, 1)
