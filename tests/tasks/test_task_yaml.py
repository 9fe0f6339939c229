from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.tasks.yaml import Document, Keys, read_document


def read(tmp_path: Path, text: str, name: str = "a.yaml") -> Document:
    path = tmp_path / name
    path.write_text(text)
    return read_document(path)


def test_scalars_follow_yaml_1_2(tmp_path: Path) -> None:
    value = read(
        tmp_path,
        "a: 1e-6\nb: no\nc: 0x1F\nd: 0o17\ne: -.inf\nf: ~\ng: TRUE\n"
        "h: 12:30\ni: 2024-01-01\nj: '1'\nk: 1.\nl: -7\nm:\n",
    ).value
    assert value == {
        "a": 1e-6,
        "b": "no",
        "c": 31,
        "d": 15,
        "e": float("-inf"),
        "f": None,
        "g": True,
        "h": "12:30",
        "i": "2024-01-01",
        "j": "1",
        "k": 1.0,
        "l": -7,
        "m": None,
    }


def test_every_value_knows_its_place(tmp_path: Path) -> None:
    document = read(tmp_path, "a: 1\nb:\n  c: [10,\n    20]\n  d: {e: 5}\n")
    wanted: list[Keys] = [("a",), ("b", "c", 1), ("b", "d", "e")]
    places = [document.locate(keys) for keys in wanted]
    assert [(place.line, place.column) for place in places] == [(1, 1), (4, 5), (5, 7)]
    assert document.locate(("b", "absent")).line == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", 3, "not valid YAML"),
        ("a: 1\nb: 2\na: 3\n", 3, "given twice"),
        ("x:\n  a: 1\n  a: 2\n", 3, "given twice"),
        ("- 1\n- 2\n", 1, "mapping"),
        ("", 1, "mapping"),
        ("a: !!python/object:os.system x\n", 1, "tags"),
        ("a: 1\n? [1, 2]\n: 3\n", 2, "key must be text"),
        ("a: &loop\n  b: *loop\n", 1, "alias"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: *missing\n", 1, "not valid YAML"),
    ],
)
def test_defects_name_file_and_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(TaskError, match=words) as caught:
        read(tmp_path, text)
    assert caught.value.location is not None
    assert (caught.value.location.path, caught.value.location.line) == (tmp_path / "a.yaml", line)


def test_a_file_that_is_not_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(TaskError, match="UTF-8") as caught:
        read_document(path)
    assert str(caught.value).startswith(f"{path}:2:")


def test_includes_merge_deeply_and_the_file_itself_wins(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text("a: {x: 1, y: 1}\nb: [1, 2, 3]\nc: one\n")
    (tmp_path / "two.yaml").write_text("a: {y: 2, z: 2}\nc: two\n")
    document = read(tmp_path, "include: [one.yaml, two.yaml]\na: {z: 3}\nb: [9]\n")
    assert document.value == {"a": {"x": 1, "y": 2, "z": 3}, "b": [9], "c": "two"}
    assert document.files == (tmp_path / "a.yaml", tmp_path / "one.yaml", tmp_path / "two.yaml")
    wanted: list[Keys] = [("a", "x"), ("a", "y"), ("a", "z"), ("b", 0), ("c",)]
    origins = [document.locate(keys).path.name for keys in wanted]
    assert origins == ["one.yaml", "two.yaml", "a.yaml", "a.yaml", "two.yaml"]
    assert ("b", 2) not in document.marks


def test_includes_are_relative_to_the_including_file_and_diamonds_are_fine(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "base.yaml").write_text("a: 1\nb: 1\n")
    (tmp_path / "sub" / "left.yaml").write_text("include: ../base.yaml\nb: 2\n")
    (tmp_path / "sub" / "right.yaml").write_text("include: ../base.yaml\nc: 3\n")
    document = read(tmp_path, "include: [sub/right.yaml, sub/left.yaml]\n")
    assert document.value == {"a": 1, "b": 2, "c": 3}
    assert sorted(path.name for path in document.files) == ["a.yaml", "base.yaml", "left.yaml", "right.yaml"]


def test_an_include_cycle_is_refused_where_it_closes(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("x: 1\ninclude: a.yaml\n")
    with pytest.raises(TaskError, match="circle") as caught:
        read(tmp_path, "include: b.yaml\n")
    assert f"{tmp_path / 'b.yaml'}:2:1" in str(caught.value)


@pytest.mark.parametrize("text", ["include: {a: 1}\n", "include: [1]\n", "include: ''\n"])
def test_include_takes_names_only(tmp_path: Path, text: str) -> None:
    with pytest.raises(TaskError, match="name one file"):
        read(tmp_path, text)


def test_a_missing_include_is_reported_where_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="cannot read") as caught:
        read(tmp_path, "a: 1\ninclude: gone.yaml\n")
    assert str(caught.value).startswith(f"{tmp_path / 'a.yaml'}:2:1: ")
