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

from kernelgen_lm.formulas.slots import SLOTS
from kernelgen_lm.training.alarms import Watch
from kernelgen_lm.training.asking import AskedConfig, judging, questions, sampling, scorer
from kernelgen_lm.training.common import Tell, claim, load_model, quiet, refuse_gguf
from kernelgen_lm.training.curriculum import MEASURED, choose, rates_of, read_rates
from kernelgen_lm.training.devices import one_process, processes, record
from kernelgen_lm.training.evaluate import Entrant, Examination, sit
from kernelgen_lm.training.measuring import Measurement
from kernelgen_lm.training.rollout import Conversations, TurnReward
from kernelgen_lm.training.slotting import Reading, copy_slots
from kernelgen_lm.training.trainers import common_arguments, run_trainer, trained
from npukernelbench.errors import UsageError
from npukernelbench.generate import Hints
from npukernelbench.rewards import Question
from npukernelbench.rewards.trl import make_reward

__all__ = ["GRPOSettings", "train"]

Row = Mapping[str, Any]


class GRPOSettings(AskedConfig):
    """Group-relative policy optimisation on execution rewards."""

    group: int = Field(8, ge=2, description="answers per prompt")
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
    # Both are compared strictly: -1 and 2 keep tasks that are never or always right.
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
    asked, reading = questions(settings)
    claim(settings, folder)
    log: list[Row] = []
    start = settings.model
    # Every round is a run of its own, so that an interruption costs at most one round's progress.
    for number in range(settings.rounds):
        place = folder if settings.rounds == 1 else folder / f"round-{number}"
        chosen = _chosen(settings, number, start, asked, place, reading)
        if not chosen:
            tell(f"round {number}: no task is sometimes right and sometimes wrong any more; training ends here")
            break
        watch = Watch(folder, tell, log, number)
        # The log is written last: with it and the weights the round is complete.
        if not (place / "log.json").is_file() or not (place / "model" / "config.json").is_file():
            _round(settings, number, start, chosen, place, watch, progress, reading)
            copy_slots(settings.model, place / "model")
        done = json.loads((place / "log.json").read_text(encoding="utf-8"))
        watch.look(done)
        log = watch.whole(done)
        start = str(place / "model")
    if settings.rounds > 1:
        # The last round's model under the name that it has after every training.
        model, tokenizer = load_model(start)
        model.save_pretrained(str(folder / "model"))
        tokenizer.save_pretrained(str(folder / "model"))
        copy_slots(settings.model, folder / "model")
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
    if settings.beta > 0 and settings.lora is None:
        refuse_gguf(settings.model)
    if settings.rounds > 1:
        one_process("rounds", "leave rounds at 1 and give measured the rates of kernelgen-lm eval")
    if (Path(settings.model) / SLOTS).is_file() and (settings.turns > 1 or settings.sampler != "compact"):
        raise UsageError(
            "a model that reads slots answers once, by our sampler",
            field="sampler",
            remedy="set sampler: compact and turns: 1",
        )
    if _own_rollout(settings) and not settings.vllm:
        one_process("sampler", "set sampler: trl and turns: 1, or vllm: true")


def _own_rollout(settings: GRPOSettings) -> bool:
    return settings.turns > 1 or settings.sampler == "compact"


def _chosen(
    settings: GRPOSettings, number: int, start: str, asked: Sequence[Row], place: Path, reading: Reading
) -> list[Row]:
    """The rows of a round in their order; all of them as they are without a curriculum."""
    if settings.rounds == 1 and not settings.measured:
        return list(asked)
    by_task: dict[str, list[Row]] = {}
    for row in asked:
        by_task.setdefault(Question.parse(row["npukb_task"]).task, []).append(row)
    path = place / "tasks.json"
    if path.is_file():
        # Measured again, an interrupted round would train on other tasks than before.
        names = list(json.loads(path.read_text(encoding="utf-8"))["chosen"])
    else:
        first = number == 0 and bool(settings.measured)
        rates = read_rates(settings.measured) if first else _measure(settings, number, start, asked, place, reading)
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
    settings: GRPOSettings, number: int, start: str, asked: Sequence[Row], place: Path, reading: Reading
) -> Mapping[str, float]:
    """How often the model is right on each task: by our sampler where training has it, else by a run of the harness."""
    # A round that drew with the seed of the one before would measure with the same draws.
    seed = settings.seed + number
    if _own_rollout(settings) and not settings.vllm:
        model, tokenizer = load_model(start, attention=settings.attention)
        how = sampling(settings, model, tokenizer)
        measurement = Measurement(how, scorer(settings), settings.measure_answers, seed, reading)
        return measurement.rates(model, tokenizer, asked, place / MEASURED)
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
    settings: GRPOSettings,
    number: int,
    start: str,
    chosen: Sequence[Row],
    place: Path,
    watch: Watch,
    progress: Tell,
    reading: Reading,
) -> None:
    """One run of TRL's trainer; it resumes from its last checkpoint."""
    from trl import GRPOConfig, GRPOTrainer

    model, tokenizer = load_model(start, adapted=settings.lora is not None, attention=settings.attention)
    model.config._name_or_path = settings.model  # what the divergence is measured from, in every round
    reward = make_reward(policy=settings.policy, judge=settings.judge, **judging(settings))
    steps = settings.steps
    if settings.rounds > 1:
        # The first rounds take one step more each where they do not share evenly.
        steps = settings.steps // settings.rounds + (number < settings.steps % settings.rounds)
    own = settings.model_copy(update={"steps": steps, "seed": settings.seed + number})
    # A curriculum's order is part of it.
    ordered = settings.rounds > 1 or bool(settings.measured)
    rollout = None
    if _own_rollout(settings):
        # TRL hands a rollout prompts alone: the last message tells which question it is.
        prompts = {row["prompt"][-1]["content"]: row["npukb_task"] for row in chosen}
        how = sampling(settings, model, tokenizer)
        hints = Hints(settings.hints)
        rollout = Conversations(
            how, tokenizer, prompts, scorer(settings), turns=settings.turns, hints=hints, read=reading
        )
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


def _callback(watch: Watch) -> Any:
    """Lets ``watch`` look at every entry of the log, and at what an interrupted run had logged."""
    from transformers import TrainerCallback

    class Looking(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: object, state: Any, control: object, **_: object) -> None:
            del args, control
            watch.look(state.log_history)

    return Looking()
