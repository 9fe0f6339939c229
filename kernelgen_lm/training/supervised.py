"""Settings of supervised fine-tuning, with either engine."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from kernelgen_lm.training.common import TrainConfig

__all__ = ["SFTSettings"]


class SFTSettings(TrainConfig):
    """Supervised fine-tuning."""

    corpus: Path = Field(description="a .jsonl or .parquet file, or a folder of .jsonl files")
    limit: int = Field(0, ge=0, description="samples at most; 0: all")
    max_length: int = Field(2048, ge=64, description="tokens; longer samples are left out")
    engine: Literal["trl", "plain"] = Field("trl", description="plain: torch alone, all weights, one device")
    packing: bool = Field(False, description="several samples per sequence, isolated from each other; engine trl")
