"""Training: settings and alarms without torch; with it, from a corpus to a model and its card in minutes."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from kernelgen_lm.config_file import PRESETS, read_config
from kernelgen_lm.corpus.build import BuildConfig
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.training import plain
from kernelgen_lm.training.alarms import alarms
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.rejection import RejectionSettings
from kernelgen_lm.training.sft import SFTSettings
from kernelgen_lm.training.streaming import StreamSettings
from npukernelbench.errors import ConfigError
from tests.kernelgen_lm.runs import command, log_of, needs_training, paid_for_ending, tiny_checkpoint

TINY = "{vocabulary: 600, hidden: 64, layers: 2, heads: 2, key_value_heads: 1, feed_forward: 128, window: 4096}"


@pytest.mark.parametrize("path", sorted(PRESETS.glob("*.yaml")), ids=lambda path: path.stem)
def test_presets_are_valid(path: Path) -> None:
    kinds = {
        "sft": SFTSettings,
        "dpo": DPOSettings,
        "grpo": GRPOSettings,
        "corpus": BuildConfig,
        "stream": StreamSettings,
        "reject": RejectionSettings,
    }
    kind = path.stem.split("-")[0]
    if kind in kinds:
        assert read_config(kinds[kind], Path(path.stem)).model_dump()
    else:
        assert kind == "accelerate"
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["distributed_type"] in ("FSDP", "DEEPSPEED")
    if "ascend" in path.stem:
        assert "Not run" in path.read_text(encoding="utf-8")


@pytest.mark.skipif(find_spec("accelerate") is None, reason="needs accelerate (extra train)")
@pytest.mark.parametrize("path", sorted(PRESETS.glob("accelerate-*.yaml")), ids=lambda path: path.stem)
def test_accelerate_reads_its_presets_and_knows_every_field(path: Path) -> None:
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import launch_command_parser

    config = load_config_from_file(str(path))
    assert (config.num_processes, config.mixed_precision) == (8, "bf16")
    known = {action.dest for action in launch_command_parser()._actions}
    own = config.deepspeed_config if config.distributed_type.value == "DEEPSPEED" else config.fsdp_config
    assert own
    assert own.keys() <= known


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("samples: none\n", encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_config(BuildConfig, path)
    assert caught.value.field == "samples"
    assert caught.value.location is not None
    assert read_config(BuildConfig, None, ["samples=7"]).samples == 7
    with pytest.raises(ConfigError, match="no setting"):
        read_config(BuildConfig, None, ["samples"])


def test_alarms_tell_hacking_from_learning() -> None:
    steps = range(16)
    learning = [{"reward": 0.1 * i, "npukb/compiled": 0.5, "npukb/cheat": 0.0, "entropy": 1.0} for i in steps]
    assert not alarms(learning)
    assert not alarms([])
    hacking = [
        {"reward": 0.1 * i, "npukb/compiled": 1 - i / 16, "npukb/cheat": 0.1, "entropy": 0.5**i, "npukb/infra": 0.2}
        for i in steps
    ]
    assert [alarm.split()[0] for alarm in alarms(hacking)] == ["cheating:", "compile", "entropy:", "judge:"]


@needs_training
def test_from_a_corpus_to_a_model_card(tmp_path: Path) -> None:
    command(
        "corpus", "build", "--out", "corpus", "--set", "samples=16", "--set", "shard=8", "--jobs", "1", folder=tmp_path
    )
    command("corpus", "errors", "corpus/shards", "--out", "errors", "--limit", "6", folder=tmp_path)
    command("corpus", "tasks", "--out", "held", "--count", "2", folder=tmp_path)
    command("corpus", "tasks", "--out", "train", "--count", "2", "--trained", folder=tmp_path)
    shared = ["--set", "micro_batch=2", "--set", "log_every=1"]
    sft = ["--set", "corpus=corpus/shards", "--set", f"nano={TINY}", "--set", "learning_rate=0.01", "--set", "steps=16"]
    command("sft", "--out", "sft", *sft, "--set", "max_length=4096", *shared, folder=tmp_path)
    loss = log_of(tmp_path / "sft", "loss")
    assert loss[-1] < 0.9 * loss[0]
    alone = [*sft, "--set", "engine=plain", "--set", "steps=4", "--set", "max_length=4096"]
    command("sft", "--out", "alone", *alone, *shared, folder=tmp_path)
    alone_loss = log_of(tmp_path / "alone", "loss")
    assert alone_loss[-1] < alone_loss[0]
    # Twice through the eight pairs: what is said of those seen for the first time is chance.
    dpo = ["--set", "model=sft/model", "--set", "pairs=[errors/pairs.jsonl]", "--set", "steps=8"]
    dpo += ["--set", "learning_rate=0.001", "--set", "max_length=4096"]
    command("dpo", "--out", "dpo", *dpo, *shared, folder=tmp_path)
    margins = log_of(tmp_path / "dpo", "rewards/margins")
    assert margins[0] == 0
    assert max(margins) > 0
    grpo = ["--set", "model=dpo/model", "--set", "tasks=train", "--set", "steps=2", "--set", "group=2"]
    grpo += ["--set", "rounds=2", "--set", "turns=2", "--set", "rate_above=-1", "--set", "measure_answers=1"]
    command("grpo", "--out", "grpo", *grpo, "--set", "max_new_tokens=24", *shared, folder=tmp_path)
    assert log_of(tmp_path / "grpo", "npukb/infra") == [0.0, 0.0]
    metrics = [json.loads(line) for line in (tmp_path / "grpo" / "metrics.jsonl").read_text("utf-8").splitlines()]
    assert [row["round"] for row in metrics] == [0, 1]
    assert all({"pass@1", "compile@1", "cheat", "entropy", "first@1", "turns"} <= row.keys() for row in metrics)
    asked = ["--num-samples", "1", "--max-tokens", "24", "--baseline", "untrained"]
    command("eval", "grpo/model", "--held-out", "held", "--out", "eval", *asked, folder=tmp_path)
    scores = json.loads((tmp_path / "eval" / "scores.json").read_text(encoding="utf-8"))
    assert [(row["model"], row["answers"]) for row in scores["rows"]] == [("model", 2), ("untrained", 2)]
    runs = ["--run", "sft", "--run", "dpo", "--run", "grpo", "--scores", "eval/scores.json"]
    command("card", "grpo/model", *runs, folder=tmp_path)
    assert "| model | 0/0 | held_out | 2 | 2 |" in (tmp_path / "grpo" / "model" / "README.md").read_text(
        encoding="utf-8"
    )


@needs_training
def test_what_is_kept_stays_as_likely_as_it_was(tmp_path: Path) -> None:
    """Answers that differ in one name: plain preference makes both less likely, and keeping holds the chosen one."""
    texts = [f"Add({name}, x, y, length); Muls({name}, {name}, 2, length);" * 4 for name in ("a", "b")]
    tiny_checkpoint(tmp_path / "start", texts, layers=2)
    pair = {
        "prompt": [{"role": "user", "content": "add, and double"}],
        "chosen": [{"role": "assistant", "content": texts[0]}],
        "rejected": [{"role": "assistant", "content": texts[1]}],
    }
    (tmp_path / "pairs.jsonl").write_text((json.dumps(pair) + "\n") * 8, encoding="utf-8")
    shared = ["--set", "model=start", "--set", "pairs=[pairs.jsonl]", "--set", "steps=6", "--set", "micro_batch=4"]
    shared += ["--set", "log_every=1", "--set", "learning_rate=0.003", "--set", "schedule=constant"]
    for keep in ("0", "1"):
        command("dpo", "--out", f"keep{keep}", "--set", f"keep={keep}", *shared, folder=tmp_path)
    plain_run, kept_run = (log_of(tmp_path / name, "rewards/chosen") for name in ("keep0", "keep1"))
    assert plain_run[0] == kept_run[0] == 0
    assert kept_run[-1] > max(0.0, plain_run[-1])
    assert log_of(tmp_path / "keep1", "rewards/margins")[-1] > 0


def test_batches_hold_every_sample_once_and_similar_lengths() -> None:
    samples = [plain.Tokens([0] * (index * 37 % 101 + 1), 0) for index in range(50)]
    made = plain.batches(samples, 4, 0, 7)
    assert sorted(index for batch in made for index in batch) == list(range(50))
    assert made == plain.batches(samples, 4, 0, 7)
    assert made != plain.batches(samples, 4, 1, 7)
    assert all(max(len(samples[i].ids) for i in batch) - min(len(samples[i].ids) for i in batch) < 20 for batch in made)


def test_the_learning_rate_rises_then_falls() -> None:
    settings = SFTSettings(corpus=Path(), warmup=0.1, learning_rate=1.0)
    rates = [plain.rate_at(step, 100, settings) for step in range(100)]
    assert rates[0] == 0.1
    assert max(rates) == rates[9] == 1.0
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] < 0.01


@needs_training
def test_the_reward_rises(tmp_path: Path) -> None:
    """A model that has learned nothing is paid for ending its answers; the judge says which did."""
    tiny_checkpoint(tmp_path / "model", ["int x = 1;"])
    write_tasks(tmp_path / "tasks", 1, held_out=False, share=0.1, seed=1)
    wanted = {
        "model": "model",
        "tasks": "tasks",
        "policy": paid_for_ending(tmp_path),
        "sampler": "compact",
        "steps": 16,
    }
    wanted |= {"micro_batch": 16, "max_new_tokens": 32, "learning_rate": 0.02, "beta": 0, "schedule": "constant"}
    wanted |= {"log_every": 1, "judge_jobs": 1, "warmup": 0}
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(wanted), encoding="utf-8")
    command("grpo", "--config", "grpo.yaml", "--out", "run", folder=tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    rewards = [row["reward"] for row in rows]
    assert len(rewards) == 16
    assert sum(rewards[-4:]) > sum(rewards[:4]) + 0.4
    assert all(row["infra"] == 0 for row in rows)
