"""Several processes that train one model, on CPUs: what is refused, what is written once, that they learn as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from kernelgen_lm.config_file import read_config
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.training import online, sft
from kernelgen_lm.training.ablate import USUAL, ablate
from kernelgen_lm.training.alarms import Watch
from kernelgen_lm.training.devices import record
from kernelgen_lm.training.evaluate import Examination
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.sft import SFTSettings
from npukernelbench.errors import UsageError
from tests.kernelgen_lm.runs import command, log_of, needs_training, tiny_checkpoint


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


def test_plain_training_and_ablation_are_for_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    plain = read_config(SFTSettings, None, [f"corpus={tmp_path}", "engine=plain"])
    with pytest.raises(UsageError, match="engine is for one process, and 2 were launched"):
        sft.train(plain, tmp_path / "run")
    with pytest.raises(UsageError, match="ablate is for one process"):
        ablate(DPOSettings(pairs=()), USUAL, (0,), Examination({}), tmp_path / "run", print, lambda *_: None)
    assert not (tmp_path / "run").exists()


def test_only_the_first_process_writes_and_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cheating = [{"step": 1, "reward": 1.0, "npukb/cheat": 0.5}]
    for rank, told_here in (("1", []), ("0", ["cheating"])):
        monkeypatch.setenv("RANK", rank)
        told: list[str] = []
        Watch(tmp_path / rank, told.append).look(cheating)
        record(tmp_path / rank / "one.txt", ["x"])
        assert [line.split(":")[0] for line in told] == told_here
        assert sorted(path.name for path in tmp_path.glob(f"{rank}/*")) == (
            ["alarms.txt", "metrics.jsonl", "one.txt"] if told_here else []
        )


@needs_training
def test_two_processes_learn_what_one_does_from_the_same_batches(tmp_path: Path) -> None:
    tiny_checkpoint(tmp_path / "model", ["int x = 1;"])
    pairs = [
        {
            "prompt": [{"role": "user", "content": f"add {number}"}],
            "chosen": [{"role": "assistant", "content": f"Adds(y, x, {number});"}],
            "rejected": [{"role": "assistant", "content": f"Adds(x, y, {number});"}],
        }
        for number in range(10, 22)
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs), encoding="utf-8")
    shared = ["model=model", "pairs=[pairs.jsonl]", "steps=3", "log_every=1", "learning_rate=0.003", "save_every=2"]
    words = [part for setting in shared for part in ("--set", setting)]
    for processes in (1, 2):
        batch = ["--set", f"micro_batch={4 // processes}"]
        told = command("dpo", "--out", f"run{processes}", *words, *batch, folder=tmp_path, processes=processes)
        assert told.count(f"run{processes}/model") == 1
    alone, two = (log_of(tmp_path / f"run{processes}", "loss") for processes in (1, 2))
    assert len(alone) == 3
    assert two == pytest.approx(alone, rel=1e-3)
    assert alone[-1] < alone[0]


@needs_training
def test_two_processes_ask_and_judge_and_log_as_one(tmp_path: Path) -> None:
    tiny_checkpoint(tmp_path / "model", ["int x = 1;"])
    write_tasks(tmp_path / "tasks", 2, held_out=False, share=0.1, seed=1)
    wanted = {"model": "model", "tasks": "tasks", "policy": "binary", "steps": 2, "micro_batch": 4, "group": 4}
    wanted |= {"max_new_tokens": 16, "log_every": 1, "judge_jobs": 1, "beta": 0}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
    command("grpo", "--config", "grpo.yaml", "--out", "run", folder=tmp_path, processes=2)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["infra"] for row in rows] == [0, 0]
    assert log_of(tmp_path / "run", "reward") == [0, 0]
    assert (tmp_path / "run" / "model" / "model.safetensors").is_file()
