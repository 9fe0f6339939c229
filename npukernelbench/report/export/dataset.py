"""A run as a folder for the Hugging Face hub: rows, rates per task, and a card that says how to read them.

All configurations have one file format: the hub reads a folder of several formats with the first one's reader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from npukernelbench.nouns.codec import JSON
from npukernelbench.nouns.results import Results, Shares
from npukernelbench.report.comparison.records import RunRecord, record_of
from npukernelbench.report.export.rows import flat, rows
from npukernelbench.report.summary import sentences

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["DATASET"]

_CARD = """\
# {model} on npukernelbench

{summary}

Kernels were judged on tier `{tier}`, track `{track}`{machine}. {honesty}

| configuration | a row is | columns |
|---|---|---|
| `samples` | a judged answer | task, case, sample, prompt, answer, files, outcome, metrics; nested: JSON text |
| `tasks` | a task | problems, samples, and each rate with its 95 % interval |

```python
from datasets import load_dataset

samples = load_dataset("path/to/this/folder", "samples", split="run")
```

`outcome` says how a sample ended and `owner` who answers for it. Only rows with the owner `model` or `none` say
anything about the model. Run `{run_id}`. Choose a license before you publish: prompts are the harness's (Apache-2.0),
answers the model's.
"""


class _Dataset:
    """``README.md``, ``samples.jsonl`` and ``tasks.jsonl``."""

    file_name = "dataset"

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """The folder, ready for ``hf upload``."""
        target.mkdir(parents=True, exist_ok=True)
        card, samples, tasks = (target / name for name in ("README.md", "samples.jsonl", "tasks.jsonl"))
        _write_lines(samples, map(flat, rows(run)))
        _write_lines(tasks, _tasks(results))
        card.write_text(f"---\n{yaml.safe_dump(_facts(), sort_keys=False)}---\n\n{_text(record_of(run))}", "utf-8")
        return card, samples, tasks


DATASET = _Dataset()


def _facts() -> dict[str, object]:
    """The head of the card, which the hub and ``datasets`` read."""
    return {
        "pretty_name": "npukernelbench run",
        "language": ["en"],
        "tags": ["npukernelbench", "ascend-c", "kernels", "code-generation"],
        "configs": [
            {"config_name": "samples", "default": True, "data_files": [{"split": "run", "path": "samples.jsonl"}]},
            {"config_name": "tasks", "data_files": [{"split": "run", "path": "tasks.jsonl"}]},
        ],
    }


def _text(record: RunRecord) -> str:
    # Only a device measures; the times of every other tier are predictions.
    measured = record.tier == "npu"
    return _CARD.format(
        model=record.model,
        summary="\n".join(f"- {sentence}" for sentence in sentences(record)),
        tier=record.tier,
        track=record.track,
        machine=f", machine `{record.machine}`" if record.machine else "",
        honesty="Times are measured." if measured else "Times are predicted; no device has measured them.",
        run_id=record.run_id,
    )


def _tasks(results: Results) -> Iterable[Mapping[str, JSON]]:
    facts = results.identity.get("tasks")
    for name, task in results.aggregates.tasks.items():
        known = facts.get(name) if isinstance(facts, Mapping) else None
        known = known if isinstance(known, Mapping) else {}
        yield {
            "task": name,
            # As text: an unknown level is empty, and a column has one type.
            "level": str(known.get("level", "")),
            "category": str(known.get("category", "")),
            "problems": task.problems,
            "samples": task.samples,
            "valid": task.valid,
            **_rate("compile@1", task.compile_at_1),
            **_rate("correct@1", task.correct_at_1),
        }


def _rate(name: str, shares: Shares) -> dict[str, JSON]:
    # Over valid samples, so that faults of ours do not lower a published rate.
    share = shares.valid
    return {
        name: share.value if share else None,
        f"{name}_low": share.low if share else None,
        f"{name}_high": share.high if share else None,
    }


def _write_lines(path: Path, values: Iterable[Mapping[str, JSON]]) -> None:
    # A model may write half of a surrogate pair, which strict readers of JSON refuse.
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for value in values:
            file.write(json.dumps(value, ensure_ascii=False) + "\n")
