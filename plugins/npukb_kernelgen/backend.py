"""KernelGen-LM: which checkpoint a name means, and which engine runs it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

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

__all__ = ["KernelGenArgs", "KernelGenBackend", "default_checkpoint"]

#: Names the folder of the default checkpoint.
VARIABLE = "NPUKB_KERNELGEN_LM"
#: Where the hub keeps the published sizes. No copy of them could be tried here: the names could not be checked.
ORGANISATION = "AscendKernelGen"


class KernelGenArgs(BaseModel):
    """Arguments of kernelgen-lm."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | None = Field(None, min_length=1, description="a folder with a checkpoint, instead of the named one")
    engine: Literal["auto", "vllm", "hf"] = Field("auto", description="what runs it; auto: vLLM if installed")
    revision: str | None = Field(None, description="branch, tag or commit on the hub")
    engine_args: Mapping[str, object] = Field(
        default_factory=dict, description="further arguments of the backend that runs it (vllm or hf)"
    )


class KernelGenBackend:
    """KernelGen-LM. The bare name is the default checkpoint that is installed; subclasses stand for published sizes."""

    Args: ClassVar[type[BaseModel]] = KernelGenArgs
    #: As the default checkpoint was trained: short prompts, a few lines of thinking, one kernel, nothing longer than
    #: this. Half of its answers to the benchmark's tasks never end: every token more costs all of them.
    preferences: ClassVar[Preferences] = Preferences(
        prompt_style="terse", parser="auto", params=SamplingParams(temperature=0.6, top_p=0.95, max_tokens=1088)
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
        """Open the engine on the checkpoint."""
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
        async for result in self._engine.generate_many(requests):
            yield result

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
        return "vllm" if find_spec("vllm") is not None else "hf"

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


class _Published(KernelGenBackend):
    """A checkpoint on the hub."""

    #: As the models were trained to answer: long thinking first, then a tagged kernel.
    preferences: ClassVar[Preferences] = Preferences(
        parser="auto", params=SamplingParams(temperature=0.6, top_p=0.95, max_tokens=16384)
    )
    together: ClassVar[int] = 8


class Size1B7(_Published):
    """1.7 billion parameters."""

    hub = f"{ORGANISATION}/KernelGen-LM-1.7B"


class Size4B(_Published):
    """4 billion parameters."""

    hub = f"{ORGANISATION}/KernelGen-LM-4B"


class Size8B(_Published):
    """8 billion parameters."""

    hub = f"{ORGANISATION}/KernelGen-LM-8B"


class Size14B(_Published):
    """14 billion parameters."""

    hub = f"{ORGANISATION}/KernelGen-LM-14B"


class Size32B(_Published):
    """32 billion parameters, supervised."""

    hub = f"{ORGANISATION}/KernelGen-LM-32B"


class Size32BRL(_Published):
    """32 billion parameters, with preferences on top."""

    hub = f"{ORGANISATION}/KernelGen-LM-32B-RL"
