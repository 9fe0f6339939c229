"""The checkpoint that comes with the package: whole, small, told about, and able to do what it was trained for."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from npukb_kernelgen.backend import default_checkpoint
from npukernelbench.nouns import Outcome
from npukernelbench.store import read_run

FILES = {
    "README.md",
    "chat_template.jinja",
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "slots.json",
    "tokenizer.json",
    "tokenizer_config.json",
}
MOST_BYTES = 60_000_000
#: Operators of one formula each.
TASKS = ("AddCustom", "CosMath", "Lerp", "Neg", "Rsqrt", "Sqrt")


@pytest.fixture
def checkpoint() -> Path:
    folder = default_checkpoint({})
    assert folder is not None
    return folder


def test_it_is_whole_and_small(checkpoint: Path) -> None:
    assert {path.name for path in checkpoint.iterdir()} == FILES
    assert sum(path.stat().st_size for path in checkpoint.iterdir()) <= MOST_BYTES


def test_its_weights_are_those_of_its_architecture(checkpoint: Path) -> None:
    config = json.loads((checkpoint / "config.json").read_text(encoding="utf-8"))
    data = (checkpoint / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
    assert tensors["model.embed_tokens.weight"]["shape"] == [config["vocab_size"], config["hidden_size"]]
    layers = {int(match[1]) for name in tensors if (match := re.match(r"model\.layers\.(\d+)\.", name))}
    assert layers == set(range(config["num_hidden_layers"]))
    assert {entry["dtype"] for entry in tensors.values()} == {"F32"}
    end = max(entry["data_offsets"][1] for entry in tensors.values())
    assert end == len(data) - 8 - size == 4 * sum(math.prod(entry["shape"]) for entry in tensors.values())


def test_its_card_tells_data_recipe_scores_and_limits(checkpoint: Path) -> None:
    card = (checkpoint / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", card, re.MULTILINE) == ["Data", "Training", "Scores", "Limits"]
    assert "| held_out |" in card
    assert not re.search(r"\"/(tmp|home|root|work)/", card)


@pytest.mark.skipif(find_spec("transformers") is None or find_spec("torch") is None, reason="needs torch, transformers")
def test_the_bare_name_answers_and_some_answers_are_right(tmp_path: Path) -> None:
    """Real tasks, by ``npukb run --model kernelgen-lm`` as it is documented: tile programs without being asked to."""
    words = [sys.executable, "-m", "npukernelbench", "run", "--model", "kernelgen-lm", "--tasks", ",".join(TASKS)]
    words += ["--limit", "1", "--model_args", json.dumps({"engine": "hf"})]
    environ = {name: value for name, value in os.environ.items() if name != "NPUKB_KERNELGEN_LM"}
    ended = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    (run,) = (tmp_path / "results").iterdir()
    assert "__tile__" in run.name
    results = read_run(run).results
    assert results is not None
    outcomes = [row.outcome for row in results.samples]
    assert len(outcomes) == len(TASKS)
    assert outcomes.count(Outcome.OK) >= 4, outcomes
