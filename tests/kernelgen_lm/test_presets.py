"""Two steps of the SFT and DPO presets for Qwen3 on a tiny model of its architecture, whose weights the plan counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelgen_lm.config_file import PRESETS
from kernelgen_lm.corpus.sample import Sample
from kernelgen_lm.training import preference, sft
from kernelgen_lm.training.common import Lora
from kernelgen_lm.training.memory import shape_of
from kernelgen_lm.training.nano import NanoConfig
from kernelgen_lm.training.planning import read_settings
from kernelgen_lm.training.preference import DPOSettings
from kernelgen_lm.training.sft import SFTSettings
from tests.kernelgen_lm.runs import needs_training, tiny_checkpoint

pytestmark = needs_training

FOR_QWEN3 = sorted(path.stem for path in PRESETS.glob("*-qwen3*.yaml") if not path.stem.startswith("grpo"))


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model of Qwen3's architecture, a corpus and pairs: one of each for all presets."""
    folder = tmp_path_factory.mktemp("start")
    asked = [{"role": "user", "content": "Write a kernel"}]
    messages = [*asked, {"role": "assistant", "content": "int x = 1;"}]
    tiny_checkpoint(folder / "model", ["Write a kernel. int x = 1;"])
    pair = {"prompt": asked, "chosen": [messages[1]], "rejected": [{"role": "assistant", "content": "int"}]}
    (folder / "pairs.jsonl").write_text((json.dumps(pair) + "\n") * 4, encoding="utf-8")
    known = {"id": "a", "kind": "kernel", "family": "f", "operator": "O", "dtype": "float16", "shape": (8,)}
    sample = Sample.model_validate(known | {"messages": messages, "provenance": {}, "licence": "MIT", "hashes": {}})
    (folder / "corpus.jsonl").write_text(sample.line() * 8, encoding="utf-8")
    return folder


@pytest.mark.parametrize("preset", FOR_QWEN3)
def test_two_steps_of_every_preset(preset: str, start: Path, tmp_path: Path) -> None:
    """Everything of the preset holds but what a small machine lacks: sizes and several devices."""
    data = f"pairs=[{start / 'pairs.jsonl'}]" if preset.startswith("dpo") else f"corpus={start / 'corpus.jsonl'}"
    changes = [f"model={start / 'model'}", "steps=2", "accumulate=2", "log_every=1", "max_length=512", data]
    settings = read_settings(Path(preset), changes).model_copy(update={"fsdp": ""})
    if isinstance(settings, DPOSettings):
        preference.train(settings, tmp_path / "run")
    else:
        assert isinstance(settings, SFTSettings)
        sft.train(settings, tmp_path / "run")
    assert (tmp_path / "run" / "model").is_dir()
    log = json.loads((tmp_path / "run" / "log.json").read_text(encoding="utf-8"))
    assert max(row["step"] for row in log) == 2


def test_the_shape_counts_the_weights_of_the_architecture(start: Path) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(start / "model")
    shape = shape_of(str(start / "model"), NanoConfig())
    assert shape.parameters == sum(weight.numel() for weight in model.parameters())
    adapted = get_peft_model(model, LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM"))
    trained = sum(weight.numel() for weight in adapted.parameters() if weight.requires_grad)
    assert shape.adapters(Lora(rank=4).rank) == trained
