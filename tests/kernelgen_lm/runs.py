"""Small runs of ``kernelgen-lm`` in processes of their own: a checkpoint that knows nothing, a policy, a log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from npukernelbench.rewards import policies

MISSING = [name for name in ("torch", "trl", "transformers", "datasets", "tokenizers") if find_spec(name) is None]
needs_training = pytest.mark.skipif(bool(MISSING), reason=f"training needs {', '.join(MISSING)} (extra train)")


def command(*words: str, folder: Path, processes: int = 0) -> str:
    """What ``kernelgen-lm`` printed; with ``processes`` as that many under a launcher, on the CPU."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(processes)] if processes else []
    # Tests run beside each other: threads of such small models spend a third of the processor waiting for each other.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    environment |= {"ACCELERATE_USE_CPU": "true"} if processes else {}
    line = [sys.executable, *launcher, "-m", "kernelgen_lm", *words]
    ended = subprocess.run(line, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout


def log_of(run: Path, name: str) -> list[float]:
    """The values of one name in a run's log."""
    return [row[name] for row in json.loads((run / "log.json").read_text(encoding="utf-8")) if name in row]


def tiny_checkpoint(folder: Path, texts: list[str], hidden: int = 32, layers: int = 1) -> None:
    """A model and its tokenizer that have learned nothing."""
    from kernelgen_lm.training.nano import NanoConfig, make_model, train_tokenizer

    sizes = {"hidden": hidden, "layers": layers, "heads": 2, "key_value_heads": 1, "feed_forward": 64}
    config = NanoConfig.model_validate({"vocabulary": 300, "window": 2048, **sizes})
    tokenizer = train_tokenizer(texts, config)
    make_model(config, tokenizer, 0).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def paid_for_ending(folder: Path) -> str:
    """The name of a policy that pays an answer without code which ends: what such a model can learn."""
    outcomes = {outcome.value: value for outcome, value in policies()["binary"].outcomes.items()}
    policy = {"version": 1, "about": "Ending is worth something.", "outcomes": outcomes | {"no_code": 0.5}}
    (folder / "mine.yaml").write_text(yaml.safe_dump({"ends": policy}), encoding="utf-8")
    return "mine.yaml:ends"


def tiny_llama(folder: Path, other: Path) -> None:
    """A model of SmolLM2's architecture that has learned nothing, with the tokenizer of another checkpoint."""
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(other)
    widths = {"hidden_size": 24, "intermediate_size": 64, "num_attention_heads": 3, "num_key_value_heads": 1}
    ends = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id, "bos_token_id": None}
    config = LlamaConfig(
        **widths,
        **ends,
        num_hidden_layers=1,
        vocab_size=len(tokenizer),
        max_position_embeddings=2048,
        tie_word_embeddings=True,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
