"""Several processes that train one model, on CPUs: what is refused, what is written once, that they learn as one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from kernelgen_lm.config_file import read_config
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.training import online
from kernelgen_lm.training.alarms import Watch
from kernelgen_lm.training.devices import record
from kernelgen_lm.training.online import GRPOSettings
from npukernelbench.errors import UsageError

needs_training = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("torch", "trl", "transformers", "datasets", "tokenizers")),
    reason="needs torch and trl (extra train)",
)


@pytest.mark.parametrize(
    ("changes", "field"),
    [(["rounds=2"], "rounds"), (["turns=2"], "sampler"), (["sampler=compact"], "sampler"), (["group=16"], "group")],
)
def test_what_is_for_one_process_is_refused_in_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: list[str], field: str
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    settings = read_config(GRPOSettings, None, [f"tasks={tmp_path}", "steps=4", *changes])
    with pytest.raises(UsageError) as caught:
        online.train(settings, tmp_path / "run", print)
    assert caught.value.field == field
    assert caught.value.remedy
    assert not (tmp_path / "run").exists()


def test_only_the_first_process_writes_and_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheating = [{"step": 1, "reward": 1.0, "npukb/cheat": 0.5}]
    for rank, told_here in (("1", []), ("0", ["cheating"])):
        monkeypatch.setenv("RANK", rank)
        told: list[str] = []
        Watch(tmp_path / rank, told.append).look(cheating)
        record(tmp_path / rank / "one.txt", ["x"])
        assert [one.split(":")[0] for one in told] == told_here
        assert sorted(path.name for path in tmp_path.glob(f"{rank}/*")) == (
            ["alarms.txt", "metrics.jsonl", "one.txt"] if told_here else []
        )


def launched(processes: int, *words: str, folder: Path) -> str:
    """What ``kernelgen-lm`` printed when that many processes of torchrun are it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "ACCELERATE_USE_CPU": "true"}
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)]
    command = [sys.executable, *launcher, "-m", "kernelgen_lm", *words]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def checkpoint(folder: Path) -> None:
    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    nano = NanoConfig(vocabulary=300, hidden=32, layers=1, heads=2, key_value_heads=1, feed_forward=64, window=2048)
    tokenizer = train_tokenizer(["int x = 1;"], nano)
    make_model(nano, tokenizer, 0).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def log_of(run: Path) -> list[dict[str, float]]:
    found: list[dict[str, float]] = json.loads((run / "log.json").read_text(encoding="utf-8"))
    return found


@needs_training
def test_two_processes_learn_what_one_does_from_the_same_batches(tmp_path: Path) -> None:
    checkpoint(tmp_path / "model")
    pairs = [
        {
            "prompt": [{"role": "user", "content": f"add {number}"}],
            "chosen": [{"role": "assistant", "content": f"Adds(y, x, {number});"}],
            "rejected": [{"role": "assistant", "content": f"Adds(x, y, {number});"}],
        }
        for number in range(10, 22)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(one) + "\n" for one in pairs), encoding="utf-8")
    shared = ["model=model", "pairs=[pairs.jsonl]", "steps=3", "log_every=1", "learning_rate=0.003", "save_every=2"]
    words = [part for one in shared for part in ("--set", one)]
    for processes in (1, 2):
        told = launched(
            processes,
            "dpo",
            "--out",
            f"run{processes}",
            *words,
            "--set",
            f"micro_batch={4 // processes}",
            folder=tmp_path,
        )
        assert told.count(f"run{processes}/model") == 1
    one, two = ([row["loss"] for row in log_of(tmp_path / f"run{n}") if "loss" in row] for n in (1, 2))
    assert len(one) == 3
    assert two == pytest.approx(one, rel=1e-3)
    assert one[-1] < one[0]


@needs_training
def test_two_processes_follow_rewards(tmp_path: Path) -> None:
    checkpoint(tmp_path / "model")
    write_tasks(tmp_path / "tasks", 2, held_out=False, share=0.1, seed=1)
    wanted = {"model": "model", "tasks": "tasks", "policy": "binary", "steps": 2, "micro_batch": 4, "group": 4}
    wanted |= {"max_new_tokens": 16, "log_every": 1, "judge_jobs": 1, "beta": 0}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
    launched(2, "grpo", "--config", "grpo.yaml", "--out", "run", folder=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["infra"] for row in rows] == [0, 0]
    assert [row["reward"] for row in log_of(tmp_path / "run") if "reward" in row] == [0, 0]
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
