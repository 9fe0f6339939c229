"""kernelgen-lm: which checkpoint a name means, and what runs it. No model is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukb_kernelgen import backend as module
from npukb_kernelgen.backend import KernelGenArgs, KernelGenBackend, Size1B7, default_checkpoint
from npukernelbench.errors import BackendError
from npukernelbench.plugins import Plugins


@pytest.fixture
def no_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "default_checkpoint", lambda: None)


def checkpoint(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    return folder


@pytest.mark.usefixtures("no_default")
def test_the_bare_name_without_a_checkpoint_says_what_to_pass() -> None:
    with pytest.raises(BackendError) as caught:
        KernelGenBackend(KernelGenArgs()).describe()
    assert "kernelgen-lm:1.7b" in str(caught.value)
    assert "path=FOLDER" in str(caught.value)
    assert "NPUKB_KERNELGEN_LM" in str(caught.value)


def test_the_variable_names_the_default(tmp_path: Path) -> None:
    assert default_checkpoint({"NPUKB_KERNELGEN_LM": str(tmp_path)}) == tmp_path


def test_a_path_comes_before_the_name(tmp_path: Path) -> None:
    facts = Size1B7(KernelGenArgs(path=str(checkpoint(tmp_path / "c")), engine="hf")).describe()
    assert facts.keys() == {"checkpoint", "engine"}


@pytest.mark.parametrize("size", ["1.7b", "4b", "8b", "14b", "32b", "32b-rl"])
def test_every_size_is_a_name(size: str) -> None:
    target = Plugins.load(environ={}).backends.find(f"kernelgen-lm:{size}").load()
    assert isinstance(target, type)
    facts = target(KernelGenArgs(engine="hf")).describe()
    assert facts["hub"].lower() == f"ascendkernelgen/kernelgen-lm-{size}"


@pytest.mark.parametrize(("installed", "engine"), [(True, "vllm"), (False, "hf")])
def test_vllm_runs_it_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, installed: bool, engine: str) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: object() if installed else None)
    assert Size1B7(KernelGenArgs()).describe()["engine"] == engine


def test_the_default_is_asked_briefly_and_published_sizes_may_think_at_length() -> None:
    default, published = KernelGenBackend.preferences, Size1B7.preferences
    assert (default.prompt_style, published.prompt_style) == ("terse", "")
    assert default.params.max_tokens is not None
    assert published.params.max_tokens is not None
    assert default.params.max_tokens <= 2048 < published.params.max_tokens
