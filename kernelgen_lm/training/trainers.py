"""What the trainers of TRL have in common: arguments, what they train, a run from the last checkpoint to the model.

Apart from :mod:`kernelgen_lm.training.common`, as ``engine: plain`` needs no TRL.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelgen_lm.training.common import Lora, Tell, TrainConfig, progress_line
from kernelgen_lm.training.devices import accelerator, is_first, record
from npukernelbench.generate import find_checkpoint

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

__all__ = ["common_arguments", "last_checkpoint", "run_trainer", "trained"]


def common_arguments(config: TrainConfig, folder: Path) -> dict[str, Any]:
    """Arguments that every trainer of TRL takes."""
    device = accelerator()
    return {
        "output_dir": str(folder / "steps"),
        "seed": config.seed,
        "learning_rate": config.learning_rate,
        "lr_scheduler_type": config.schedule,
        # Transformers 5 takes a number below 1 as a share of the steps.
        "warmup_steps": config.warmup,
        "weight_decay": config.weight_decay,
        "max_grad_norm": config.clip,
        "per_device_train_batch_size": config.micro_batch,
        "gradient_accumulation_steps": config.accumulate,
        "num_train_epochs": config.epochs,
        "max_steps": config.steps,
        "save_steps": config.save_every,
        # Two: the last one may be incomplete when a run is killed.
        "save_total_limit": 2,
        "logging_steps": config.log_every,
        "bf16": config.precision == "bfloat16",
        "use_cpu": not device,
        # Pinned memory speeds up copies to a GPU only.
        "dataloader_pin_memory": device == "cuda",
        # No tracker: what a run reports is in its own folder.
        "report_to": "none",
        "disable_tqdm": True,
        "gradient_checkpointing": config.checkpointing,
        **({"fsdp": config.fsdp} if config.fsdp else {}),
    }


def trained(
    config: TrainConfig,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    rows: Sequence[Mapping[str, object]],
) -> dict[str, Any]:
    """What every trainer of TRL trains, and on what."""
    from datasets import Dataset

    return {
        "model": model,
        "processing_class": tokenizer,
        "train_dataset": Dataset.from_list([dict(row) for row in rows]),
        "peft_config": _lora_config(config.lora),
    }


def _lora_config(lora: Lora | None) -> Any:
    """Adapters on every linear layer; None for all weights."""
    if lora is None:
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=lora.dropout,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def last_checkpoint(folder: Path) -> str | None:
    """Where an interrupted run resumes: the last complete checkpoint. Its state is written last."""
    checkpoints = sorted((folder / "steps").glob("checkpoint-*"), key=lambda path: int(path.name.rsplit("-", 1)[1]))
    return next((str(path) for path in reversed(checkpoints) if _is_whole(path / "trainer_state.json")), None)


def _is_whole(path: Path) -> bool:
    try:
        return isinstance(json.loads(path.read_text(encoding="utf-8")), dict)
    except (OSError, ValueError):
        return False


def run_trainer(trainer: Any, tokenizer: PreTrainedTokenizerBase, folder: Path, tell: Tell) -> None:
    """Train, or resume; then save the model as ``folder/model`` and the log as ``folder/log.json``."""
    _show_progress(trainer, tell)
    trainer.train(resume_from_checkpoint=last_checkpoint(folder))
    _save_model(trainer, folder / "model")
    # The trainer gathers the model from all processes; the tokenizer is the same in each, and one writes it.
    if is_first():
        tokenizer.save_pretrained(str(folder / "model"))
    record(folder / "log.json", [json.dumps(trainer.state.log_history, indent=1) + "\n"])
    # What comes next in any process reads files that the first one writes.
    trainer.accelerator.wait_for_everyone()


def _save_model(trainer: Any, folder: Path) -> None:
    """All weights, or adapters; with the weights that they are for where nothing could find those again."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    name = model.config._name_or_path
    if hasattr(model, "merge_and_unload") and (not name or find_checkpoint(name).gguf):
        merged = model.merge_and_unload()
        if is_first():
            merged.save_pretrained(str(folder))
    else:
        trainer.save_model(str(folder))


def _show_progress(trainer: Any, tell: Tell) -> None:
    """A line per logged step in place of what the trainer prints."""
    from transformers import PrinterCallback, TrainerCallback

    class Progress(TrainerCallback):  # type: ignore[misc]
        def on_log(self, args: object, state: Any, control: object, logs: Any = None, **_: object) -> None:
            del args, control
            if state.is_world_process_zero and logs:
                line = progress_line(state.global_step, state.max_steps, logs)
                if line:
                    tell(line)

    # It prints dictionaries to standard output, which belongs to the command's result.
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Progress())
