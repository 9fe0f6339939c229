"""The print of a checkpoint: equal contents, equal facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.errors import BackendError
from npukernelbench.generate import checkpoint_facts


def checkpoint(folder: Path, weights: bytes) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


def test_equal_contents_have_equal_prints_wherever_they_lie(tmp_path: Path) -> None:
    first, other = (checkpoint(tmp_path / name, b"abc") for name in ("one", "other"))
    assert checkpoint_facts(str(first)) == checkpoint_facts(str(other))


@pytest.mark.parametrize("position", [0, -1])
def test_a_changed_byte_at_either_end_of_large_weights_is_seen(tmp_path: Path, position: int) -> None:
    weights = bytearray(3 << 20)
    before = checkpoint_facts(str(checkpoint(tmp_path / "before", bytes(weights))))
    weights[position] ^= 1
    assert checkpoint_facts(str(checkpoint(tmp_path / "after", bytes(weights)))) != before


def test_a_name_on_the_hub_is_named_with_its_revision() -> None:
    assert checkpoint_facts("owner/name", "v2") == {"hub": "owner/name", "revision": "v2"}
    assert checkpoint_facts("owner/name") == {"hub": "owner/name", "revision": "main"}


def test_a_missing_folder_and_an_empty_one_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="there is no folder"):
        checkpoint_facts(str(tmp_path / "none"))
    with pytest.raises(BackendError, match=r"config\.json is missing"):
        checkpoint_facts(str(tmp_path))
