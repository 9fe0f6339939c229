"""What every kind of training has in common: its settings, the model it starts from, resuming after an interruption."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from kernelgen_lm.training.devices import record
from kernelgen_lm.training.nano import NanoConfig
from npukernelbench.errors import UsageError
from npukernelbench.generate import find_checkpoint
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

#: Takes a run's progress, a line at a time.
Tell = Callable[[str], None]

__all__ = [
    "Lora",
    "Tell",
    "TrainConfig",
    "claim",
    "load_model",
    "load_tokenizer",
    "progress_line",
    "quiet",
    "refuse_gguf",
]


class Lora(Strict):
    """Low-rank adapters in place of all weights."""

    rank: int = Field(64, ge=1)
    alpha: int = Field(128, ge=1)
    dropout: float = Field(0.05, ge=0, lt=1)


class TrainConfig(Strict):
    """Settings of every kind of training. Equal values and equal data give the same run on the same machine."""

    model: str = Field(
        "nano", description="nano: from scratch; else a folder, a name on the hub, a GGUF file or pkg://PACKAGE"
    )
    nano: NanoConfig = Field(default_factory=NanoConfig)
    lora: Lora | None = None
    seed: int = 0
    learning_rate: float = Field(1e-3, gt=0)
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    warmup: float = Field(0.01, ge=0, lt=1, description="share of the steps")
    weight_decay: float = Field(0.1, ge=0)
    clip: float = Field(1.0, gt=0)
    micro_batch: int = Field(8, ge=1)
    accumulate: int = Field(1, ge=1)
    epochs: float = Field(1.0, gt=0)
    steps: int = Field(-1, description="overrides epochs; -1: none")
    save_every: int = Field(200, ge=1)
    log_every: int = Field(10, ge=1)
    precision: Literal["float32", "bfloat16"] = "float32"
    checkpointing: bool = Field(False, description="recompute activations to save memory")
    fsdp: str = Field("", description="as transformers names it: full_shard auto_wrap")
    attention: str = Field(
        "", description="of a checkpoint, as transformers names it: sdpa, flash_attention_2, eager; empty: its choice"
    )


def claim(config: BaseModel, folder: Path, free: Sequence[str] = ()) -> None:
    """Write the configuration into a new run folder; UsageError for the folder of another one.

    Settings in ``free`` may change while a run goes on. A setting that the stored run does not know has the value it
    has always had: the default.
    """
    path = folder / "kernelgen.json"
    stored = _stored(config, path) if path.is_file() else config
    if stored is None or stored.model_copy(update={name: getattr(config, name) for name in free}) != config:
        raise UsageError(f"{folder} holds a run of another configuration", field="--out", remedy="name another folder")
    record(path, [config.model_dump_json(indent=2) + "\n"])


def _stored(config: BaseModel, path: Path) -> BaseModel | None:
    """The settings in a run folder, None when they are of another kind of run."""
    try:
        return type(config).model_validate_json(path.read_text(encoding="utf-8"))
    # Equal to no configuration, so that the folder is refused.
    except ValidationError:
        return None


def load_model(
    name: str, *, adapted: bool = False, attention: str = ""
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A checkpoint with its tokenizer, to be trained: a folder, a name on the hub, or a GGUF file.

    Weights are float32 whatever the checkpoint holds, unless only adapters of it are trained (``adapted``).
    BackendError for a GGUF file that cannot be read.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = find_checkpoint(name)
    # In bfloat16 a step that is less than 1/256 of a weight leaves it as it is: at usual rates nearly every step is.
    dtype = "auto" if adapted and not place.gguf else "float32"
    model = AutoModelForCausalLM.from_pretrained(
        place.name, dtype=dtype, attn_implementation=attention or None, **place.arguments
    )
    tokenizer = AutoTokenizer.from_pretrained(place.name, **place.arguments)
    return _unquantised(model) if place.gguf else model, tokenizer


def _unquantised(model: PreTrainedModel) -> PreTrainedModel:
    """The same weights in a model that can be saved: transformers saves none that remembers a GGUF file.

    It has no name: nothing that looks for the base of adapters would find one.
    """
    from transformers import AutoModelForCausalLM

    gone = ("quantization_config", "_name_or_path")
    config = type(model.config).from_dict(
        {name: value for name, value in model.config.to_dict().items() if name not in gone}
    )
    made: PreTrainedModel = AutoModelForCausalLM.from_config(
        config, attn_implementation=model.config._attn_implementation
    )
    made.load_state_dict(model.state_dict())
    # A model that is made of its configuration alone does not know which tokens end an answer.
    made.generation_config = model.generation_config
    return made


def refuse_gguf(name: str) -> None:
    """UsageError for a start that the trainer would load again, to compare with."""
    if find_checkpoint(name).gguf:
        remedy = "start from the folder that kernelgen-lm sft made of it, or train adapters (lora)"
        raise UsageError("the model that it is compared with cannot be a GGUF file", field="model", remedy=remedy)


def load_tokenizer(name: str) -> PreTrainedTokenizerBase:
    """A tokenizer with a chat template. UsageError where there is none, or no transformers."""
    try:
        from transformers import AutoTokenizer
    except ImportError:
        remedy = "pip install 'npukernelbench[train]'"
        raise UsageError("a tokenizer needs the package transformers", field="--tokenizer", remedy=remedy) from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        first = str(error).splitlines()[0]
        raise UsageError(
            f"{name}: {first}", field="--tokenizer", remedy="name a folder, or a model of the hub"
        ) from None
    if not tokenizer.chat_template:
        remedy = "name the tokenizer of a chat model"
        raise UsageError(f"{name} has no chat template", field="--tokenizer", remedy=remedy)
    return tokenizer


def quiet(text: str) -> None:
    """Discards the line."""
    del text


def progress_line(step: int, steps: int, logs: Mapping[str, Any]) -> str:
    """The step and the logged values of a run; empty when the log holds none."""
    shown = [f"{name} {float(logs[key]):.4g}" for key, name in _SHOWN if key in logs]
    return f"step {step} of {steps}: {', '.join(shown)}" if shown else ""


_SHOWN = (
    ("loss", "loss"),
    ("rewards/margins", "margin"),
    ("reward", "reward"),
    ("npukb/correct", "right"),
    ("npukb/compiled", "compiled"),
    ("npukb/cheat", "cheats"),
    ("entropy", "entropy"),
)
