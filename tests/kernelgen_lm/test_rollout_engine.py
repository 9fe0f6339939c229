"""GRPO on conversations whose answers vLLM draws in the trainer's process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from kernelgen_lm.corpus.tasks import write_tasks
from tests.kernelgen_lm.runs import command, log_of, needs_training, paid_for_ending, tiny_checkpoint

STEPS = 4

pytestmark = [needs_training, pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")]


def test_two_steps_of_the_preset_for_qwen3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``test_presets.py`` has all of it but vLLM."""
    tiny_checkpoint(tmp_path / "model", ["int x = 1;"], hidden=64)
    write_tasks(tmp_path / "tasks", 1, held_out=False, share=0.1, seed=1)
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    changes = ["model=model", "tasks=tasks", "steps=2", "accumulate=2", "group=2", "max_new_tokens=16", "judge=''"]
    words = [word for change in changes for word in ("--set", change)]
    command("grpo", "--config", "grpo-qwen3", "--out", "run", *words, folder=tmp_path)
    assert log_of(tmp_path / "run", "npukb/infra") == [0.0, 0.0]


def test_vllm_draws_from_the_model_as_it_is_after_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps are so large that yesterday's weights would give other chances than the trainer finds."""
    tiny_checkpoint(tmp_path / "model", ["int x = 1;"], hidden=64)
    write_tasks(tmp_path / "tasks", 1, held_out=False, share=0.1, seed=1)
    wanted = {"model": "model", "tasks": "tasks", "policy": paid_for_ending(tmp_path), "vllm": True, "steps": STEPS}
    wanted |= {"micro_batch": 32, "group": 32, "max_new_tokens": 48, "learning_rate": 0.05, "beta": 0, "warmup": 0}
    wanted |= {"log_every": 1, "judge_jobs": 1, "schedule": "constant", "turns": 2}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    command("grpo", "--config", "grpo.yaml", "--out", "run", folder=tmp_path)
    run = tmp_path / "run"
    differences = log_of(run, "sampling/sampling_logp_difference/mean")
    assert len(differences) == STEPS
    assert max(differences) < 0.05
    assert max(log_of(run, "grad_norm")) > 0
    assert max(log_of(run, "npukb/turns")) > 1
