"""Files that others wrote and that cannot be read: an error of the task, with the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukb_suites.cannbench import CannBench
from npukb_suites.documents import read_yaml
from npukb_suites.traces import TraceSet
from npukernelbench.errors import TaskError
from npukernelbench.tasks.importing import Entry

LATIN = "# first\n# caf\N{LATIN SMALL LETTER E WITH ACUTE}\n".encode("latin-1")


def test_another_encoding_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_bytes(LATIN)
    with pytest.raises(TaskError, match="it is not UTF-8 text") as caught:
        read_yaml(path)
    assert str(caught.value.location) == f"{path}:2"


@pytest.mark.parametrize("text", ["a: [", "a: 2001-02-30"])
def test_what_is_no_yaml_is_an_error_of_the_task(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(TaskError, match="it is no YAML"):
        read_yaml(tmp_path / "a.yaml")


def test_importers_refuse_an_operator_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "proto.yaml").write_text("operator: {name: Sum, outputs: [{name: y}]}")
    for name in ("golden.py", "own.json"):
        (tmp_path / name).write_bytes(LATIN)
    for importer, name in ((CannBench(), "proto.yaml"), (TraceSet(), "own.json")):
        with pytest.raises(TaskError, match="it is not UTF-8 text"):
            importer.folder("own", Entry("Sum", tmp_path / name, ""))
