"""GRPO on conversations whose answers vLLM draws in the trainer's process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from kernelgen_lm.corpus.tasks import write_tasks
from npukernelbench.rewards import policies

NEEDED = ("torch", "trl", "transformers", "datasets", "tokenizers", "vllm")
STEPS = 4


@pytest.mark.skipif(any(find_spec(name) is None for name in NEEDED), reason="needs vllm and trl (extra train)")
def test_vllm_draws_from_the_model_as_it_is_after_every_step(tmp_path: Path) -> None:
    """Steps are so large that yesterday's weights would give other chances than the trainer finds."""
    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    outcomes = {outcome.value: value for outcome, value in policies()["binary"].outcomes.items()}
    policy = {"version": 1, "about": "Ending is worth something.", "outcomes": outcomes | {"no_code": 0.5}}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump({"ends": policy}), encoding="utf-8")
    nano = NanoConfig(vocabulary=300, hidden=64, layers=1, heads=2, key_value_heads=1, feed_forward=64, window=2048)
    tokenizer = train_tokenizer(["int x = 1;"], nano)
    make_model(nano, tokenizer, 0).save_pretrained(str(tmp_path / "model"))
    tokenizer.save_pretrained(str(tmp_path / "model"))
    write_tasks(tmp_path / "tasks", 1, held_out=False, share=0.1, seed=1)
    wanted = {"model": "model", "tasks": "tasks", "policy": "mine.yaml:ends", "vllm": True, "steps": STEPS}
    wanted |= {"micro_batch": 32, "group": 32, "max_new_tokens": 48, "learning_rate": 0.05, "beta": 0, "warmup": 0}
    wanted |= {"log_every": 1, "judge_jobs": 1, "schedule": "constant", "turns": 2}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}
    ended = subprocess.run(
        [sys.executable, "-m", "kernelgen_lm", "grpo", "--config", "grpo.yaml", "--out", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    log = json.loads((tmp_path / "run" / "log.json").read_text(encoding="utf-8"))
    steps = [row for row in log if "reward" in row]
    assert len(steps) == STEPS
    assert all(row["sampling/sampling_logp_difference/mean"] < 0.05 for row in steps)
    assert any(row["grad_norm"] > 0 for row in steps)
    assert any(row["npukb/turns"] > 1 for row in steps)
