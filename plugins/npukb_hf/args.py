"""What can be set on the hf backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from npukernelbench.strict import Strict

__all__ = ["HFArgs"]


class HFArgs(Strict):
    """Arguments of the hf backend."""

    model: str = Field(
        min_length=1,
        description="a folder with a checkpoint, its name on the hub, a GGUF file, or pkg://PACKAGE that brings one",
    )
    revision: str | None = Field(None, description="branch, tag or commit on the hub")
    device: str = Field("auto", description="cpu, cuda, npu, cuda:1, …; auto takes the first accelerator")
    dtype: Literal["auto", "float32", "float16", "bfloat16"] = Field(
        "auto", description="element type of the weights; auto: as stored, float32 on a CPU"
    )
    batch_size: int = Field(
        8, ge=1, description="requests that are answered together", json_schema_extra={"decides": False}
    )
    max_tokens: int = Field(8192, ge=1, description="longest answer where --gen_kwargs names no length")
    chat_template_kwargs: Mapping[str, object] = Field(
        default_factory=dict, description="passed to the chat template, e.g. enable_thinking"
    )
    trust_remote_code: bool = Field(False, description="run code that comes with the checkpoint")
