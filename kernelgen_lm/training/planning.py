"""Settings of any kind of training from one file, what would make them fit, and how fast they have to go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from kernelgen_lm.config_file import preset_path, read_config
from kernelgen_lm.training.common import Lora, TrainConfig
from kernelgen_lm.training.memory import Devices, Shape, answers_per_step, budget, judge_cores, tokens_per_step
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.rejection import RejectionSettings
from kernelgen_lm.training.sft import SFTSettings
from npukernelbench.errors import ConfigError, SourceLocation

__all__ = ["pace", "read_settings", "remedies"]

#: The field that only one kind of training has, and needs.
_KINDS: tuple[tuple[str, type[TrainConfig]], ...] = (
    ("pairs", DPOSettings),
    # Before tasks, which a GRPO file has as well.
    ("group", GRPOSettings),
    ("tasks", RejectionSettings),
    ("corpus", SFTSettings),
)


def read_settings(path: Path, changes: Sequence[str]) -> TrainConfig:
    """The settings in a file or a preset, of the kind that its fields say. ConfigError for what is none."""
    try:
        data = yaml.safe_load(preset_path(path).read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(str(error), location=SourceLocation(path)) from None
    fields = data if isinstance(data, dict) else {}
    for field, kind in _KINDS:
        if field in fields:
            return read_config(kind, path, changes)
    known = ", ".join(field for field, _ in _KINDS)
    raise ConfigError(
        "this is no training of sft, dpo, grpo or reject",
        location=SourceLocation(path),
        remedy=f"it needs one of the fields {known}",
    )


def remedies(settings: TrainConfig, shape: Shape, devices: Devices, prompt_tokens: int) -> Iterator[str]:
    """Single changes with which the settings would fit, in the order of what they cost."""
    changed: dict[str, dict[str, object]] = {
        "checkpointing=true": {"checkpointing": True},
        "micro_batch=1": {"micro_batch": 1},
    }
    if settings.lora is None:
        changed["lora={rank: 64}"] = {"lora": Lora(rank=64)}
    for text, fields in changed.items():
        other = settings.model_copy(update=fields)
        if other != settings and budget(other, shape, devices, prompt_tokens).fits:
            # In quotes: shells would read the braces and the space.
            yield f"--set {text!r}"
    for count in (2, 4, 8, 16, 32, 64):
        more = Devices(devices.count * count, devices.memory_bytes)
        if budget(settings, shape, more, prompt_tokens).fits:
            yield f"{more.count} devices"
            return


def pace(settings: TrainConfig, devices: Devices, prompt_tokens: int, tokens: float, hours: float) -> Iterator[str]:
    """How fast a training that may take so long has to go, all devices together."""
    a_step = tokens_per_step(settings, devices, prompt_tokens)
    steps = settings.steps if settings.steps > 0 else tokens * settings.epochs / a_step
    if steps <= 0:
        yield "how many steps it has depends on the corpus: --tokens says how large that is"
        return
    a_second = steps / (hours * 3600)
    yield f"{steps:,.0f} steps in {hours:g} hours: {a_second * a_step:,.0f} tokens a second"
    if answers := answers_per_step(settings, devices):
        judged = a_second * answers
        yield f"{answers} answers a step: {judged:.2f} a second, {judge_cores(judged)} cores for the judge"
