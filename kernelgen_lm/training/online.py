"""On-policy training: the model writes kernels, the judge executes them, GRPO follows the rewards.

Tasks are generated ones of operators that are not held out; others are refused. With a curriculum they are chosen by
how often the model is right, measured anew in every round. A conversation may have several turns.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from kernelgen_lm.training.alarms import Watch
from kernelgen_lm.training.common import Tell, TrainConfig, claim, load_model, quiet
from kernelgen_lm.training.curriculum import MEASURED, choose, rates_of, read_rates, refuse_held_out
from kernelgen_lm.training.devices import one_process, processes, record
from kernelgen_lm.training.evaluate import Entrant, Examination, sit
from kernelgen_lm.training.measuring import Measurement
from kernelgen_lm.training.rollout import Conversations, TurnReward
from kernelgen_lm.training.sampler import Sampling
from kernelgen_lm.training.trainers import common_arguments, run_trainer, trained
from npukernelbench.errors import UsageError
from npukernelbench.generate import Hints
from npukernelbench.generate.strategy import load_strategy
from npukernelbench.nouns import Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style
from npukernelbench.rewards import Question
from npukernelbench.rewards.dataset import RowFormat, rows
from npukernelbench.rewards.texts import shared_scorer
from npukernelbench.rewards.trl import make_reward
from npukernelbench.tasks import load_registry

__all__ = ["GRPOSettings", "train"]

Row = Mapping[str, Any]


class GRPOSettings(TrainConfig):
    """Group-relative policy optimisation on execution rewards."""

    tasks: Path = Field(description="folder of task files: kernelgen-lm corpus tasks --trained")
    held_out: float = Field(0.1, ge=0, le=1, description="share of operators that is refused, as in the corpus")
    prompt_style: str = "terse"
    strategy: str = Field("direct", description="what the model writes; tile: programs of the tile language")
    parser: str = Field("auto", description="how code is taken out of an answer")
    policy: str = Field("shaped", description="shaping policy; compiling for a model that rarely compiles")
    judge: str = Field("", description="address of npukb serve-judge; empty: this process judges")
    judge_jobs: int = Field(2, ge=1)
    group: int = Field(8, ge=2, description="answers per prompt")
    max_new_tokens: int = Field(1536, ge=16)
    temperature: float = Field(1.0, gt=0)
    beta: float = Field(0.02, ge=0, description="weight of the divergence from the first model")
    scale: Literal["group", "batch", "none"] = Field(
        "group", description="whose spread rewards are divided by; batch: right answers of unlike speed weigh little"
    )
    vllm: bool = Field(False, description="answers by vLLM in the trainer's process")
    sampler: Literal["trl", "compact"] = Field("trl", description="compact: finished answers cost nothing more")
    measured: tuple[Path, ...] = Field(
        (), description="whose rates choose the tasks: runs of kernelgen-lm eval, rounds of grpo"
    )
    rounds: int = Field(1, ge=1, description="above 1 the tasks are measured and chosen again before every round")
    measure_answers: int = Field(4, ge=1, description="answers per task when it is measured")
    rate_above: float = Field(0.0, ge=-1, lt=1, description="tasks that are right more rarely are left out")
    rate_below: float = Field(1.0, gt=0, le=2, description="tasks that are right more often are left out")
    turns: int = Field(
        1, ge=1, description="above 1: after a wrong kernel the model gets the judge's words and answers again"
    )
    hints: Literal["none", "outcome", "diagnostics"] = Field(
        "diagnostics", description="level of detail of those words"
    )
    discount: float = Field(0.9, gt=0, le=1, description="factor of a repaired kernel's reward, per turn")
    learning_rate: float = 1e-5


def train(settings: GRPOSettings, folder: Path, tell: Tell, progress: Tell = quiet) -> None:
    """Train, or resume. The model is in ``folder/model``; ``metrics.jsonl`` and ``alarms.txt`` follow the run.

    ``tell`` gets alarms as they come up, ``progress`` a line for every logged step.
    """
    _check(settings)
    questions = _questions(settings)
    claim(settings, folder)
    log: list[Row] = []
    start = settings.model
    # Every round is a run of its own, so that an interruption costs at most one round's progress.
    for number in range(settings.rounds):
        place = folder if settings.rounds == 1 else folder / f"round-{number}"
        chosen = _chosen(settings, number, start, questions, place)
        if not chosen:
            tell(f"round {number}: no task is sometimes right and sometimes wrong any more; training ends here")
            break
        watch = Watch(folder, tell, log, number)
        # The log is written last: with it and the weights the round is complete.
        if not (place / "log.json").is_file() or not (place / "model" / "config.json").is_file():
            _round(settings, number, start, chosen, place, watch, progress)
        done = json.loads((place / "log.json").read_text(encoding="utf-8"))
        watch.look(done)
        log = watch.whole(done)
        start = str(place / "model")
    if settings.rounds > 1:
        model, tokenizer = load_model(start)
        model.save_pretrained(str(folder / "model"))
        tokenizer.save_pretrained(str(folder / "model"))
        record(folder / "log.json", [json.dumps(log, indent=1) + "\n"])


def _check(settings: GRPOSettings) -> None:
    """Before anything is done. UsageError for settings that do not go together."""
    # Advantages are relative to a group, so a group must not be cut by a step's end.
    batch = settings.micro_batch * settings.accumulate * processes()
    if batch % settings.group:
        raise UsageError(
            f"{batch} answers per step are no multiple of a group of {settings.group}",
            field="group",
            remedy="change micro_batch or accumulate",
        )
    if settings.rounds > 1 and settings.steps < settings.rounds:
        raise UsageError("rounds share the steps", field="steps", remedy="set steps to at least the rounds")
    if settings.rounds > 1 and settings.lora is not None:
        raise UsageError("rounds need all weights", field="lora", remedy="leave lora out, or rounds at 1")
    if settings.rounds > 1:
        one_process("rounds", "leave rounds at 1 and give measured the rates of kernelgen-lm eval")
    if _own_rollout(settings) and not settings.vllm:
        one_process("sampler", "set sampler: trl and turns: 1, or vllm: true")


def _own_rollout(settings: GRPOSettings) -> bool:
    return settings.turns > 1 or settings.sampler == "compact"


def _questions(settings: GRPOSettings) -> list[Row]:
    """Every task of the folder, in the prompt that the harness would ask. UsageError for held-out ones."""
    plugins = Plugins.load()
    # The benchmark's own names are refused too, not only those that the corpus holds out.
    benchmark = {name for name, task in load_registry(plugins).items() if task.suite != "generated"}
    tasks = load_registry(plugins, [settings.tasks])
    chosen = [
        selected
        for selected in tasks.select(["all"])
        if settings.tasks.resolve() in selected.task.path.resolve().parents
    ]
    if not chosen:
        raise UsageError(f"{settings.tasks} holds no tasks", field="tasks", remedy="kernelgen-lm corpus tasks")
    refuse_held_out([selected.task.name for selected in chosen], settings.held_out, benchmark)
    style = load_style(plugins.prompts.find(settings.prompt_style))
    strategy = load_strategy(plugins.strategies.find(settings.strategy))
    return list(rows(chosen, Track.STATIC, style, RowFormat.TRL, strategy=strategy, tasks=lambda: tasks))


def _chosen(settings: GRPOSettings, number: int, start: str, questions: Sequence[Row], place: Path) -> list[Row]:
    """The rows of a round in their order; all of them as they are without a curriculum."""
    if settings.rounds == 1 and not settings.measured:
        return list(questions)
    by_task: dict[str, list[Row]] = {}
    for row in questions:
        by_task.setdefault(Question.parse(row["npukb_task"]).task, []).append(row)
    path = place / "tasks.json"
    if path.is_file():
        # Measured again, an interrupted round would train on other tasks than before.
        names = list(json.loads(path.read_text(encoding="utf-8"))["chosen"])
    else:
        first = number == 0 and bool(settings.measured)
        rates = read_rates(settings.measured) if first else _measure(settings, number, start, questions, place)
        names = choose(sorted(by_task), rates, above=settings.rate_above, below=settings.rate_below)
        if not names and number == 0:
            raise UsageError(
                f"none of {len(by_task)} tasks is sometimes right and sometimes wrong",
                field="measured",
                remedy="train on a corpus first, widen rate_above and rate_below, or use policy: compiling without it",
            )
        rates = {task: rate for task, rate in sorted(rates.items()) if task in by_task}
        record(path, [json.dumps({"chosen": names, "rates": rates}, indent=1) + "\n"])
    return [row for name in names for row in by_task[name]]


def _measure(
    settings: GRPOSettings, number: int, start: str, questions: Sequence[Row], place: Path
) -> Mapping[str, float]:
    """How often the model is right on each task: by our sampler where training has it, else by a run of the harness."""
    seed = settings.seed + number
    if _own_rollout(settings) and not settings.vllm:
        model, tokenizer = load_model(start)
        scorer = shared_scorer(settings.policy, settings.judge, _local(settings))
        measurement = Measurement(_sampling(settings, model, tokenizer), scorer, settings.measure_answers, seed)
        return measurement.rates(model, tokenizer, questions, place / MEASURED)
    what = Examination(
        {"tasks": settings.tasks},
        answers=settings.measure_answers,
        temperature=settings.temperature,
        max_tokens=settings.max_new_tokens,
        style=settings.prompt_style,
        strategy=settings.strategy,
        parser=settings.parser,
        backend="vllm" if settings.vllm else "hf",
    )
    return rates_of(sit(Entrant("measured", 0, Path(start)), seed, what, what.selected(), place).judged)


def _round(
    settings: GRPOSettings, number: int, start: str, chosen: Sequence[Row], place: Path, watch: Watch, progress: Tell
) -> None:
    """One run of TRL's trainer; it resumes from its last checkpoint."""
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = load_model(start)
    model.config._name_or_path = settings.model  # what the divergence is measured from, in every round
    reward = make_reward(policy=settings.policy, judge=settings.judge, **_local(settings))
    steps = settings.steps
    if settings.rounds > 1:
        steps = settings.steps // settings.rounds + (number < settings.steps % settings.rounds)
    own = settings.model_copy(update={"steps": steps, "seed": settings.seed + number})
    # A curriculum's order is part of it.
    ordered = settings.rounds > 1 or bool(settings.measured)
    rollout = None
    if _own_rollout(settings):
        scorer = shared_scorer(settings.policy, settings.judge, _local(settings))
        prompts = {row["prompt"][-1]["content"]: row["npukb_task"] for row in chosen}
        sampling = _sampling(settings, model, tokenizer)
        hints = Hints(settings.hints)
        rollout = Conversations(sampling, tokenizer, prompts, scorer, turns=settings.turns, hints=hints)
    if settings.vllm:
        _keep_weights_plain()
    trainer = GRPOTrainer(
        **trained(settings, model, tokenizer, _enough(chosen, settings)),
        reward_funcs=[TurnReward(reward, settings.discount) if rollout is not None else reward],
        rollout_func=rollout,
        callbacks=[_callback(watch)],
        args=GRPOConfig(
            **common_arguments(own, place),
            num_generations=settings.group,
            max_completion_length=settings.max_new_tokens,
            temperature=settings.temperature,
            beta=settings.beta,
            scale_rewards=settings.scale,
            use_vllm=settings.vllm,
            shuffle_dataset=not ordered,
        ),
    )
    run_trainer(trainer, tokenizer, place, progress)


def _keep_weights_plain() -> None:
    """Let vLLM's CPU engine take new weights after every step; it packs them as it loads a model and drops the rest."""
    from torch.nn.functional import linear
    from vllm.model_executor.layers import utils
    from vllm.platforms import current_platform

    def unpacked(layer: Any, remove_weight: bool) -> None:  # noqa: ARG001  the signature of what it replaces
        layer.cpu_linear = linear

    if current_platform.is_cpu():
        utils.dispatch_cpu_unquantized_gemm = unpacked


def _enough(chosen: Sequence[Row], settings: GRPOSettings) -> list[Row]:
    """The rows, again and again until there are enough for one step: TRL drops a step that is not full."""
    prompts = settings.micro_batch * settings.accumulate * processes() // settings.group
    return list(chosen) * -(-prompts // len(chosen))


def _local(settings: GRPOSettings) -> dict[str, Any]:
    """How answers are read, and what this process judges with; only the former where another does."""
    reading = {"strategy": settings.strategy, "parser": settings.parser}
    return (
        reading if settings.judge else {**reading, "include_path": [str(settings.tasks)], "jobs": settings.judge_jobs}
    )


def _sampling(settings: GRPOSettings, model: Any, tokenizer: Any) -> Sampling:
    named = model.generation_config.eos_token_id
    ends = named if isinstance(named, list) else [] if named is None else [named]
    window = int(getattr(model.config.get_text_config(), "max_position_embeddings", 1 << 20))
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else tokenizer.eos_token_id
    stops = frozenset([*ends, int(tokenizer.eos_token_id)])
    return Sampling(settings.temperature, settings.max_new_tokens, window, stops, int(pad))


def _callback(watch: Watch) -> Any:
    """Lets ``watch`` look at every entry of the log, and at what an interrupted run had logged."""
    from transformers import TrainerCallback

    class Looking(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: object, state: Any, control: object, **_: object) -> None:
            del args, control
            watch.look(state.log_history)

    return Looking()
