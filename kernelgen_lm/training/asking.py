"""What trainings on the judge's rewards have in common: the tasks, how they are asked, and how answers are judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from kernelgen_lm.tasks import known_tasks
from kernelgen_lm.training.common import TrainConfig
from kernelgen_lm.training.curriculum import refuse_held_out
from kernelgen_lm.training.sampler import Sampling
from kernelgen_lm.training.slotting import Reading, in_slots
from npukernelbench.errors import UsageError
from npukernelbench.generate.strategy import load_strategy
from npukernelbench.nouns import Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style
from npukernelbench.rewards import Scoring
from npukernelbench.rewards.dataset import RowFormat, rows
from npukernelbench.rewards.texts import shared_scorer

__all__ = ["AskedConfig", "judging", "questions", "sampling", "scorer"]

Row = Mapping[str, Any]


class AskedConfig(TrainConfig):
    """A training on answers to generated tasks."""

    tasks: Path = Field(description="folder of task files: kernelgen-lm corpus tasks --trained, or corpus formulas")
    held_out: float = Field(0.1, ge=0, le=1, description="share of operators that is refused, as in the corpus")
    prompt_style: str = "terse"
    strategy: str = Field("direct", description="what the model writes; tile: programs of the tile language")
    parser: str = Field("auto", description="how code is taken out of an answer")
    policy: str = Field("shaped", description="shaping policy; compiling for a model that rarely compiles")
    judge: str = Field("", description="address of npukb serve-judge; empty: this process judges")
    judge_jobs: int = Field(2, ge=1)
    max_new_tokens: int = Field(1536, ge=16)
    temperature: float = Field(1.0, gt=0)


def questions(settings: AskedConfig) -> tuple[list[Row], Reading]:
    """Every task of the folder as the model is asked, and how its answers are read. UsageError for held-out ones."""
    plugins = Plugins.load()
    # The benchmark's own names are refused too, not only those that the corpus holds out.
    benchmark = {name for name, task in known_tasks(plugins).items() if task.suite != "generated"}
    tasks = known_tasks(plugins, [settings.tasks])
    chosen = [
        selected
        for selected in tasks.select(["all"])
        # The registry holds the installed tasks, too.
        if settings.tasks.resolve() in selected.task.path.resolve().parents
    ]
    if not chosen:
        raise UsageError(f"{settings.tasks} holds no tasks", field="tasks", remedy="kernelgen-lm corpus tasks")
    refuse_held_out([selected.task for selected in chosen], settings.held_out, benchmark)
    style = load_style(plugins.prompts.find(settings.prompt_style))
    strategy = load_strategy(plugins.strategies.find(settings.strategy))
    made = list(rows(chosen, Track.STATIC, style, RowFormat.TRL, strategy=strategy, tasks=lambda: tasks))
    asked, reading = in_slots(settings.model, made)
    if not asked:
        raise UsageError("no task can be said in slots", field="tasks", remedy="kernelgen-lm corpus formulas")
    return asked, reading


def judging(settings: AskedConfig) -> dict[str, Any]:
    """How answers are read, and what this process judges with; only the former where another does."""
    reading = {"strategy": settings.strategy, "parser": settings.parser}
    return (
        reading if settings.judge else {**reading, "include_path": [str(settings.tasks)], "jobs": settings.judge_jobs}
    )


def scorer(settings: AskedConfig) -> Scoring:
    """The scorer of this process for these settings."""
    return shared_scorer(settings.policy, settings.judge, judging(settings))


def sampling(settings: AskedConfig, model: Any, tokenizer: Any) -> Sampling:
    """How answers are drawn from a model."""
    # A checkpoint may end a turn with another token than the tokenizer's.
    named = model.generation_config.eos_token_id
    ends = named if isinstance(named, list) else [] if named is None else [named]
    # A model that also sees keeps the limits of its text part one level below; some state none.
    window = int(getattr(model.config.get_text_config(), "max_position_embeddings", 1 << 20))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    stops = frozenset([*ends, int(tokenizer.eos_token_id)])
    return Sampling(settings.temperature, settings.max_new_tokens, window, stops, int(pad))
