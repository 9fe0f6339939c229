"""The model card: how a model was trained, with the settings of every run as they are, what it scores, its limits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kernelgen_lm.training.scores import card_tables
from npukernelbench.errors import SourceLocation, UsageError

__all__ = ["card"]


#: What model hubs read at the top of a card.
_FRONT = ["---", "license: apache-2.0", "library_name: transformers", "tags: [ascend-c, kernel-generation]", "---", ""]
#: Tables of a corpus's report that a card shows.
_SHARES = ("kind", "family", "dtype")


def card(model: Path, runs: Sequence[Path], scores: Path | None, data: Path | None = None) -> str:
    """The text. ``data`` is a report of ``corpus check``.

    UsageError for a folder that is no model or no run, for a file without scores, and for a file that is no report.
    """
    config = json.loads(_text(model / "config.json", "a model's folder"))
    size = sum(path.stat().st_size for path in model.glob("*.safetensors"))
    lines = [*_FRONT, "# KernelGen-LM", "", "Writes Ascend C kernels for the static track of npukernelbench.", ""]
    lines += [
        f"- architecture: {config['model_type']}, {config['num_hidden_layers']} layers of {config['hidden_size']}",
        f"- weights: {size / 1e6:.1f} MB, safetensors",
        "- licence: Apache-2.0",
        "",
    ]
    lines += [] if data is None else ["## Data", "", *_data(data), ""]
    lines += ["## Training", ""]
    for run in runs:
        settings = json.loads(_text(run / "kernelgen.json", "a run's folder"))
        lines += [f"### {run.name}", "", *_end(run), "```json", json.dumps(_public(settings), indent=2), "```", ""]
    lines += ["## Scores", ""]
    lines += ["Not evaluated."] if scores is None else _scores(scores)
    lines += ["", "## Limits", "", "Verdicts are the CPU twin's; nothing was run on an NPU. One operator per answer,"]
    lines += ["sizes fixed, vector core only. It knows only what is in its corpus.", ""]
    return "\n".join(lines)


def _data(path: Path) -> list[str]:
    facts = json.loads(_text(path, "what corpus check printed"))
    if not isinstance(facts, dict) or not isinstance(facts.get("samples"), int):
        raise UsageError(
            "no samples are counted",
            location=SourceLocation(path),
            field="samples",
            remedy="name corpus check's output",
        )
    again = facts.get("executed again")
    lines = [f"- {facts['samples']:,} samples, each executed by the judge before it entered"]
    lines += [f"- {facts.get('left out', 0):,} left out because they share text or code with a benchmark"]
    if again:
        lines += [f"- executed again: {again['kernels']:,}, of which {len(again['failed']):,} failed"]
    for name in _SHARES:
        shares = facts.get(name)
        if isinstance(shares, dict):
            lines += [f"- {name}: " + ", ".join(f"{key} {count:,}" for key, count in shares.items())]
    return lines


def _end(run: Path) -> list[str]:
    """How far a run came, where its log says so."""
    path = run / "log.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    last = rows[-1] if rows else {}
    said = [f"{last[name]:.4g} {name}" for name in ("loss", "reward", "pass@1", "compile@1") if name in last]
    if not said or "step" not in last:
        return []
    # Only our own loop logs how many steps there are to be; TRL's trainers do not.
    planned = f" of {last['steps']:,}" if last.get("steps", last["step"]) > last["step"] else ""
    return [f"{last['step']:,}{planned} steps; at the end {', '.join(said)}", ""]


def _public(setting: object) -> object:
    """Settings without the absolute folders of the training machine: the last two parts of a path are enough."""
    if isinstance(setting, dict):
        return {name: _public(value) for name, value in setting.items()}
    if isinstance(setting, list):
        return [_public(value) for value in setting]
    if isinstance(setting, str) and Path(setting).is_absolute():
        return "/".join(Path(setting).parts[1:][-2:])  # the first part is the root
    return setting


def _scores(path: Path) -> list[str]:
    scores = json.loads(_text(path, "a file of kernelgen-lm eval"))
    if not isinstance(scores, dict) or not isinstance(scores.get("rows"), list):
        raise UsageError(
            "no scores", location=SourceLocation(path), field="rows", remedy="kernelgen-lm eval writes them"
        )
    return card_tables(scores)


def _text(path: Path, what: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}", remedy=f"name {what}") from None
