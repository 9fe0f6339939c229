"""KernelGen-LM: which checkpoint a name means, and which engine runs it."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from pydantic import BaseModel, Field

from kernelgen_lm.formulas.slots import FORMAT, SLOTS, fill, slotted
from npukernelbench.errors import BackendError
from npukernelbench.generate import (
    Backend,
    Capabilities,
    GenerationRequest,
    GenerationResult,
    Preferences,
    SamplingParams,
    checkpoint_facts,
)
from npukernelbench.nouns import Completion, Message
from npukernelbench.strict import Strict

__all__ = ["KernelGenArgs", "KernelGenBackend", "default_checkpoint"]

#: Names the folder of the default checkpoint.
VARIABLE = "NPUKB_KERNELGEN_LM"
#: Where the hub keeps the published sizes. No copy of them could be tried here: the names could not be checked.
ORGANISATION = "AscendKernelGen"


#: Weights of a checkpoint that transformers serves well.
_SMALL_BYTES = 256 << 20


class KernelGenArgs(Strict):
    """Arguments of kernelgen-lm."""

    path: str | None = Field(None, min_length=1, description="a folder with a checkpoint, instead of the named one")
    engine: Literal["auto", "vllm", "hf"] = Field(
        "auto", description="what runs it; auto: vLLM if installed and the checkpoint is above 256 MiB"
    )
    revision: str | None = Field(None, description="branch, tag or commit on the hub")
    engine_args: Mapping[str, object] = Field(
        default_factory=dict, description="further arguments of the backend that runs it (vllm or hf)"
    )


class KernelGenBackend:
    """KernelGen-LM. The bare name is the default checkpoint that is installed; subclasses stand for published sizes."""

    Args: ClassVar[type[BaseModel]] = KernelGenArgs
    #: As the default checkpoint was trained: short prompts, one tile program, nothing longer than this. It translates
    #: formulas, which has one right answer: the likeliest.
    preferences: ClassVar[Preferences] = Preferences(
        prompt_style="terse", parser="auto", strategy="tile", params=SamplingParams(temperature=0.0, max_tokens=400)
    )
    hub: ClassVar[str] = ""
    #: Requests that transformers answers together, unless engine_args say otherwise: a small model waits for Python.
    together: ClassVar[int] = 32
    capabilities: Capabilities = Capabilities(seeds=True)

    def __init__(self, args: KernelGenArgs) -> None:
        self.args = args
        self._engine: Backend | None = None

    def describe(self) -> Mapping[str, str]:
        """Which checkpoint answers, and what runs it."""
        return {**checkpoint_facts(self._checkpoint(), self.args.revision), "engine": self._engine_name()}

    async def open(self) -> None:
        """Open the engine on the checkpoint. BackendError for one that reads slots of another rule."""
        _check_slots(Path(self._checkpoint()) / SLOTS)
        engine = self._make()
        await engine.open()
        self._engine = engine

    async def close(self) -> None:
        """Close the engine."""
        engine, self._engine = self._engine, None
        if engine is not None:
            await engine.close()

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Ask the engine."""
        if self._engine is None:
            raise RuntimeError("the backend is not open")
        if not (Path(self._checkpoint()) / SLOTS).is_file():
            async for result in self._engine.generate_many(requests):
                yield result
            return
        short = {request.key: _shortened(request) for request in requests}
        asked = {request.key: request for request in requests}
        async for result in self._engine.generate_many([shortened.request for shortened in short.values()]):
            key = result.request.key
            answer = result.answer
            if isinstance(answer, Completion):
                answer = replace(answer, text=fill(answer.text, short[key].names))
            yield GenerationResult(asked[key], answer)

    def _make(self) -> Backend:
        # The user's arguments last, so that they win.
        fields = {"model": self._checkpoint(), "revision": self.args.revision, **self.args.engine_args}
        if self._engine_name() == "vllm":
            from npukb_vllm.args import VllmArgs
            from npukb_vllm.offline import VllmBackend

            return VllmBackend(VllmArgs.model_validate(fields))
        from npukb_hf.args import HFArgs
        from npukb_hf.backend import HFBackend

        return HFBackend(HFArgs.model_validate({"batch_size": self.together, **fields}))

    def _engine_name(self) -> str:
        if self.args.engine != "auto":
            return self.args.engine
        if find_spec("vllm") is None:
            return "hf"
        # A small model has answered before vLLM has started.
        # Without 0, which stands for a checkpoint on the hub of a size that nobody knows here.
        small = _weights_bytes(Path(self._checkpoint())) in range(1, _SMALL_BYTES)
        return "hf" if small and find_spec("transformers") is not None else "vllm"

    def _checkpoint(self) -> str:
        """What is asked for, as a folder or a name on the hub."""
        if self.args.path is not None:
            return self.args.path
        if self.hub:
            return self.hub
        checkpoint = default_checkpoint()
        if checkpoint is None:
            raise BackendError(
                "no default checkpoint of KernelGen-LM is installed",
                field="--model",
                remedy="name a size (--model kernelgen-lm:1.7b, … 4b, 8b, 14b, 32b, 32b-rl), a folder "
                f"(--model_args path=FOLDER), or set {VARIABLE}=FOLDER",
            )
        return str(checkpoint)


def default_checkpoint(environ: Mapping[str, str] = os.environ) -> Path | None:
    """The folder that the bare name means: what the variable names, else what the package kernelgen_lm brings."""
    named = environ.get(VARIABLE)
    if named:
        return Path(named)
    package = find_spec("kernelgen_lm")
    folders = package.submodule_search_locations or () if package else ()
    return next((folder for root in folders if (folder := Path(root) / "checkpoint").is_dir()), None)


def _weights_bytes(folder: Path) -> int:
    """How large the weights in a folder are; 0 for a name on the hub."""
    return sum(file.stat().st_size for file in folder.glob("*.safetensors"))


def _check_slots(path: Path) -> None:
    if path.is_file() and (held := json.loads(path.read_text(encoding="utf-8")).get("format")) != FORMAT:
        raise BackendError(
            f"{path}: slots of format {held}, and this version asks in format {FORMAT}",
            field="--model_args",
            remedy="train it on for this version (kernelgen-lm stream with start=FOLDER), or use the version it is of",
        )


class _Short(NamedTuple):
    """A request as the model reads it, and the names that its slots stand for."""

    request: GenerationRequest
    names: Mapping[str, str]


def _shortened(request: GenerationRequest) -> _Short:
    """A question for a tile program in slots; any other one as it is."""
    slots = slotted(request.prompt.messages)
    if slots is None:
        return _Short(request, {})
    prompt = replace(request.prompt, messages=(Message("user", slots.text),))
    return _Short(replace(request, prompt=prompt), slots.names)


class _Published(KernelGenBackend):
    """A checkpoint on the hub."""

    #: As the models were trained to answer: long thinking first, then a tagged kernel.
    preferences: ClassVar[Preferences] = Preferences(
        parser="auto", params=SamplingParams(temperature=0.6, top_p=0.95, max_tokens=16384)
    )
    together: ClassVar[int] = 8


def _of_size(size: str) -> type[_Published]:
    return type(size, (_Published,), {"__doc__": f"{size}.", "hub": f"{ORGANISATION}/KernelGen-LM-{size}"})


Size1B7 = _of_size("1.7B")
Size4B = _of_size("4B")
Size8B = _of_size("8B")
Size14B = _of_size("14B")
Size32B = _of_size("32B")  # supervised
Size32BRL = _of_size("32B-RL")  # with preferences on top
