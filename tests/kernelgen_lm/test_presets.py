"""Two steps of every preset of a training on a tiny random model of its architecture, whose weights the plan counts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from kernelgen_lm.config_file import PRESETS, read_config
from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.corpus.sample import Sample
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.formulas.posing import write_formulas
from kernelgen_lm.judging import Bench
from kernelgen_lm.training import common, online, preference, rejection, sft
from kernelgen_lm.training.common import Lora
from kernelgen_lm.training.memory import shape_of
from kernelgen_lm.training.nano import NanoConfig
from kernelgen_lm.training.online import GRPOSettings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.rejection import RejectionSettings
from kernelgen_lm.training.sft import SFTSettings
from kernelgen_lm.training.streaming import StreamSettings, train_stream
from npukernelbench.errors import UsageError
from npukernelbench.generate import Place
from tests.kernelgen_lm.runs import needs_training, tiny_checkpoint, tiny_llama

#: Libraries tell each other which versions they have tried.
pytestmark = [needs_training, pytest.mark.filterwarnings("ignore")]

NANO = "nano={vocabulary: 300, hidden: 32, layers: 1, heads: 2, key_value_heads: 1, feed_forward: 64, window: 2048}"
TINY = NanoConfig(hidden=16, layers=1, heads=2, key_value_heads=1, feed_forward=16, window=512)


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRL warns that functions which draw answers are experimental."""
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")


def presets(*kinds: str) -> list[str]:
    return sorted(path.stem for path in PRESETS.glob("*.yaml") if path.stem.startswith(kinds))


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models, a corpus, pairs and tasks: one of each for all presets."""
    folder = tmp_path_factory.mktemp("start")
    asked = [{"role": "user", "content": "Write a kernel"}]
    messages = [*asked, {"role": "assistant", "content": "int x = 1;"}]
    tiny_checkpoint(folder / "qwen3", ["Write a kernel. int x = 1;"])
    tiny_llama(folder / "llama", folder / "qwen3")
    pair = {"prompt": asked, "chosen": [messages[1]], "rejected": [{"role": "assistant", "content": "int"}]}
    (folder / "pairs.jsonl").write_text((json.dumps(pair) + "\n") * 4, encoding="utf-8")
    known = {"id": "a", "kind": "kernel", "family": "f", "operator": "O", "dtype": "float16", "shape": (8,)}
    sample = Sample.model_validate(known | {"messages": messages, "provenance": {}, "licence": "MIT", "hashes": {}})
    (folder / "corpus.jsonl").write_text(sample.line() * 8, encoding="utf-8")
    write_tasks(folder / "tasks", 1, held_out=False, share=0.1, seed=1)
    return folder


@pytest.fixture(scope="module")
def in_slots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the presets for models in slots start from: the checkpoint that ships, and formulas that it can say."""
    folder = tmp_path_factory.mktemp("slots")
    shutil.copytree(PRESETS.parent / "checkpoint", folder / "model")
    with Bench() as bench:
        write_formulas(
            folder / "tasks", 1, held_out=False, share=0.3, seed=5, least=2, exclusion=Exclusion([]), bench=bench
        )
    return folder


def small(start: Path, model: str, *more: str) -> list[str]:
    """Everything of a preset holds but what a small machine lacks: sizes."""
    sizes = ["steps=2", "micro_batch=2", "accumulate=2", "log_every=1"]
    return [*sizes, NANO if model == "nano" else f"model={start / model}", *more]


def finished(run: Path) -> None:
    """The model is there, and the log has both steps."""
    assert (run / "model" / "config.json").is_file() or (run / "model" / "adapter_config.json").is_file()
    assert max(row["step"] for row in json.loads((run / "log.json").read_text(encoding="utf-8"))) == 2


def tiny_for(preset: str) -> str:
    if "smollm2" in preset:
        return "llama"
    return "nano" if preset.startswith("sft") and "nano" in preset else "qwen3"


@pytest.mark.parametrize("preset", presets("sft"))
def test_two_steps_of_supervised_training(preset: str, start: Path, tmp_path: Path) -> None:
    changes = small(start, tiny_for(preset), f"corpus={start / 'corpus.jsonl'}", "max_length=512")
    sft.train(read_config(SFTSettings, Path(preset), changes), tmp_path / "run")
    finished(tmp_path / "run")


@pytest.mark.parametrize("preset", presets("dpo"))
def test_two_steps_of_preferences(preset: str, start: Path, tmp_path: Path) -> None:
    changes = small(start, tiny_for(preset), f"pairs=[{start / 'pairs.jsonl'}]", "max_length=512")
    preference.train(read_config(DPOSettings, Path(preset), changes), tmp_path / "run")
    finished(tmp_path / "run")


@pytest.mark.parametrize("preset", [preset for preset in presets("grpo") if "formulas" not in preset])
def test_two_steps_on_rewards(preset: str, start: Path, tmp_path: Path) -> None:
    """Answers by TRL's sampler or ours; ``test_rollout_engine.py`` has the one for vLLM with it."""
    changes = small(start, tiny_for(preset), f"tasks={start / 'tasks'}", "group=2", "max_new_tokens=16", "judge=''")
    changes.append("vllm=false")
    judged(read_config(GRPOSettings, Path(preset), changes), tmp_path / "run")


@pytest.mark.parametrize("preset", presets("grpo-formulas"))
def test_two_steps_on_rewards_in_slots(preset: str, in_slots: Path, tmp_path: Path) -> None:
    changes = small(in_slots, "model", f"tasks={in_slots / 'tasks'}", "group=2", "measured=[]", "max_new_tokens=64")
    judged(read_config(GRPOSettings, Path(preset), changes), tmp_path / "run")
    assert (tmp_path / "run" / "model" / "slots.json").is_file()


def judged(settings: GRPOSettings, run: Path) -> None:
    online.train(settings, run, print)
    finished(run)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [row["infra"] for row in rows] == [0.0, 0.0]


@pytest.mark.parametrize("preset", presets("reject"))
def test_two_steps_on_right_answers(preset: str, in_slots: Path, tmp_path: Path) -> None:
    """The checkpoint that ships is right on so short a formula; of tasks that are always right, too, it learns here."""
    changes = small(in_slots, "model", f"tasks={in_slots / 'tasks'}", "answers=4", "rate_below=2")
    rejection.train(read_config(RejectionSettings, Path(preset), changes), tmp_path / "run")
    finished(tmp_path / "run")


def test_two_steps_of_each_stream_go_on_from_the_one_before(tmp_path: Path) -> None:
    """In their order, as the checkpoint that ships was made."""
    for number, preset in enumerate(presets("stream"), 1):
        start, run = tmp_path / f"stream-{number - 1}" / "model", tmp_path / f"stream-{number}"
        settings = read_config(StreamSettings, Path(preset), ["steps=2", "batch=2", "phrases=60"])
        assert settings.start == (f"stream-{number - 1}/model" if number > 1 else "")
        own = {"model": TINY, "start": str(start) if number > 1 else ""}
        told: list[str] = []
        train_stream(settings.model_copy(update=own), run, Exclusion([]), told.append)
        assert (run / "model" / "slots.json").is_file()


@pytest.mark.parametrize("name", ["qwen3", "llama"])
def test_the_shape_counts_the_weights_of_the_architecture(name: str, start: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(start / name)
    shape = shape_of(str(start / name), NanoConfig())
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    adapted = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
    trained = sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    assert shape.adapters(Lora(rank=4).rank) == trained


def test_adapters_of_a_model_without_a_name_are_saved_with_it(start: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    changes = small(start, "nano", f"corpus={start / 'corpus.jsonl'}", "max_length=512", "lora={rank: 4}")
    sft.train(read_config(SFTSettings, Path("sft-nano"), changes), tmp_path / "run")
    finished(tmp_path / "run")
    saved = AutoModelForCausalLM.from_pretrained(tmp_path / "run" / "model")
    assert not [name for name, _ in saved.named_parameters() if "lora" in name]


def test_a_gguf_file_is_no_model_to_compare_with(start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "find_checkpoint", lambda name: Place(name, "weights.gguf"))
    pairs = DPOSettings.model_validate({"model": "pkg://small-model", "pairs": [start / "pairs.jsonl"]})
    asked = GRPOSettings.model_validate({"model": "pkg://small-model", "tasks": start / "tasks", "beta": 0.02})
    with pytest.raises(UsageError, match="GGUF") as caught:
        preference.train(pairs, tmp_path / "run")
    assert caught.value.field == "model"
    assert "kernelgen-lm sft" in str(caught.value.remedy)
    with pytest.raises(UsageError, match="GGUF"):
        online.train(asked, tmp_path / "run", print)


def test_every_preset_of_a_training_is_tried() -> None:
    tried: Sequence[str] = presets("sft", "dpo", "grpo", "reject", "stream")
    assert set(presets("")) - set(tried) == {"accelerate-deepspeed", "accelerate-fsdp", "corpus"}
