"""kernelgen-lm: which checkpoint a name means, and what runs it. No model is loaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from kernelgen_lm.formulas.slots import SLOTS
from npukb_kernelgen import backend as module
from npukb_kernelgen.backend import KernelGenArgs, KernelGenBackend, Size1B7, default_checkpoint
from npukernelbench.errors import BackendError
from npukernelbench.generate import GenerationRequest, GenerationResult, SamplingParams
from npukernelbench.nouns import Completion, FinishReason, Message, Prompt, SampleKey, Track
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


@pytest.mark.parametrize(("nbytes", "engine"), [(1 << 20, "hf"), (256 << 20, "vllm")])
def test_a_small_checkpoint_does_not_wait_for_vllm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nbytes: int, engine: str
) -> None:
    monkeypatch.setattr(module, "find_spec", lambda _: object())
    folder = checkpoint(tmp_path / "c")
    with (folder / "model.safetensors").open("wb") as weights:
        weights.truncate(nbytes)
    assert KernelGenBackend(KernelGenArgs(path=str(folder))).describe()["engine"] == engine


def test_a_checkpoint_of_slots_reads_slots_and_answers_with_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine sees no name of the task; the answer has them."""
    seen: list[str] = []

    class Engine:
        async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
            for request in requests:
                seen.append(request.prompt.messages[0].content)
                yield GenerationResult(request, Completion("def <k>(<i0>, <o0>): <f0>", FinishReason.STOP))

    folder = checkpoint(tmp_path / "c")
    (folder / SLOTS).write_text("{}")
    backend = KernelGenBackend(KernelGenArgs(path=str(folder), engine="hf"))
    monkeypatch.setattr(backend, "_engine", Engine())
    text = (
        "# Op: A formula.\n\nText.\n\n    z_i = |alpha_i|\n\nWrite it.\n\n- input alpha: float16 [3]\n"
        "- output z: float16 [3]\n\nThe kernel function is `op`.\n"
    )
    task = SimpleNamespace()
    key = SampleKey("Op", "0", Track.STATIC, 0)
    request = GenerationRequest(key, task, None, Prompt((Message("user", text),), "", ""), SamplingParams(), 1)  # type: ignore[arg-type]

    async def answers() -> list[GenerationResult]:
        return [result async for result in backend.generate_many([request])]

    (result,) = asyncio.run(answers())
    assert seen == ["<o0> = abs(<f0>)\n<i0> float16 <d0>\n<o0> float16 <d0>\n"]
    assert result.request is request
    assert isinstance(result.answer, Completion)
    assert result.answer.text == "def op(alpha, z): alpha_f"


def test_slots_of_another_rule_are_refused_before_anything_is_loaded(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "c")
    (folder / SLOTS).write_text('{"format": 1}')
    with pytest.raises(BackendError, match="slots of format 1, and this version asks in format 2") as caught:
        asyncio.run(KernelGenBackend(KernelGenArgs(path=str(folder), engine="hf")).open())
    assert "start=FOLDER" in str(caught.value.remedy)


def test_the_default_is_asked_briefly_and_published_sizes_may_think_at_length() -> None:
    default, published = KernelGenBackend.preferences, Size1B7.preferences
    assert (default.prompt_style, published.prompt_style) == ("terse", "")
    assert (default.strategy, published.strategy) == ("tile", "")
    assert default.params.max_tokens is not None
    assert published.params.max_tokens is not None
    assert default.params.max_tokens <= 2048 < published.params.max_tokens
