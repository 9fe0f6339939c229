"""What needs no torch of files with Model and get_inputs: which are taken, and how their references are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from npukb_suites import references
from npukb_suites.modelfiles import MultiKernelBench
from npukb_suites.writing import reference_text


@pytest.mark.parametrize("place", ["checkout", "src/checkout/scripts"])
def test_folders_are_skipped_below_the_checkout_alone(tmp_path: Path, place: str) -> None:
    for folder in ("curve", "src", "curve/tests"):
        path = tmp_path / place / "reference" / folder
        path.mkdir(parents=True)
        (path / "soft.py").touch()
    found = MultiKernelBench().files(tmp_path / place)
    assert [path.relative_to(tmp_path / place).as_posix() for path in found] == ["reference/curve/soft.py"]


@pytest.mark.parametrize("text", ["'''", "a'''''b", "\\'''", "'''\\n\""])
def test_references_hold_whatever_was_given(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Kept:
        def __init__(self, file: str, facts: object) -> None:
            self.draw = facts

    monkeypatch.setattr(references, "TorchReference", Kept)
    facts = {"target": {"file": "model.py", "name": "Model"}, "init": [text]}
    namespace: dict[str, object] = {"__file__": "reference.py"}
    exec(reference_text("Op", facts), namespace)
    assert namespace["draw"] == json.loads(json.dumps(facts))
