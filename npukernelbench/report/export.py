"""Reporters for other tools: rows of samples as JSON lines or Parquet, and the files that lm-eval writes.

Our own store stays the truth; what is written here can be made again at any time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.nouns import SampleKey, Track
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.results import Aggregate, Results
from npukernelbench.report.results import sample_row
from npukernelbench.run.turns import settled, spoken_for

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["JSONL", "LM_EVAL", "PARQUET", "rows"]

#: The filter that lm-eval names behind a metric; ours takes no part in a number.
_FILTER = "none"


def rows(run: StoredRun) -> Iterator[dict[str, JSON]]:
    """One flat object per judged turn, in the order of keys: what was asked, answered and judged."""
    for key in sorted(run.samples):
        sample = run.samples[key]
        if sample.verdict is None:
            continue
        row = to_json(sample_row(sample))
        assert isinstance(row, dict)
        del row["turns"]  # a property of the conversation
        completion = sample.completion
        yield {
            **row,
            "prompt_template": sample.prompt.template,
            "prompt_hash": sample.prompt.hash,
            "messages": [{"role": m.role, "content": m.content} for m in sample.prompt.messages],
            "response": completion.text if completion else None,
            "reasoning": completion.reasoning if completion else None,
            "finish_reason": completion.finish_reason.value if completion else None,
            "model": completion.model if completion else None,
            "usage": to_json(completion.usage) if completion else None,
            "sent": to_json(completion.sent) if completion else None,
            "cached": completion.cached if completion else None,
            "files": to_json(sample.candidate.files) if sample.candidate else None,
            "candidate_hash": sample.candidate.hash if sample.candidate else None,
        }


class _Rows:
    """One JSON object per line."""

    file_name = "samples.jsonl"

    def render(self, run: StoredRun, results: Results) -> Iterator[str]:
        """Every row on a line of its own."""
        del results
        return (dumps(row) for row in rows(run))


class _Parquet:
    """A Parquet table; nested values are JSON text."""

    file_name = "samples.parquet"

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """UsageError when pyarrow is missing."""
        del results
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            remedy = "pip install pyarrow, or use --format jsonl"
            raise UsageError("Parquet needs the package pyarrow", field="--format", remedy=remedy) from None
        flat = [{name: _cell(value) for name, value in row.items()} for row in rows(run)]
        pq.write_table(pa.Table.from_pylist(flat), target)
        return (target,)


class _LmEval:
    """The files and fields of lm-eval. ``now`` is the time in their names."""

    file_name = "lm-eval"

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)) -> None:
        self._now = now

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """``<target>/<model>/results_<time>.json`` and a ``samples_<task>_<time>.jsonl`` per task."""
        time = self._now().isoformat().replace(":", "-")
        model = _model_name(run.manifest.identity)
        folder = target / _sanitized(model)
        folder.mkdir(parents=True, exist_ok=True)
        by_task: defaultdict[str, list[dict[str, JSON]]] = defaultdict(list)
        speaking = {settled(turns).key for turns in spoken_for(run.samples.values()).values()}
        for row in rows(run):
            if SampleKey(str(row["task"]), str(row["case"]), Track(row["track"]), *_numbers(row)) in speaking:
                # lm-eval knows one answer per sample: the turn that speaks for it
                by_task[str(row["task"])].append(row)
        paths = [folder / f"results_{time}.json"]
        content = json.dumps(to_json(_lm_eval_results(run, results, model, time)), indent=2, sort_keys=True)
        paths[0].write_text(content + "\n", "utf-8")
        for task in sorted(by_task):
            path = folder / f"samples_{task}_{time}.jsonl"
            lines = (dumps(_lm_eval_sample(number, row)) + "\n" for number, row in enumerate(by_task[task]))
            path.write_text("".join(lines), "utf-8")
            paths.append(path)
        return tuple(paths)


JSONL, PARQUET, LM_EVAL = _Rows(), _Parquet(), _LmEval()


def _lm_eval_results(run: StoredRun, results: Results, model: str, time: str) -> dict[str, object]:
    tasks, levels = results.aggregates.tasks, results.aggregates.levels
    identity = _mapping(run.manifest.identity)
    facts = _mapping(identity.get("tasks"))
    return {
        "results": {name: _metrics(name, aggregate) for name, aggregate in tasks.items()},
        "groups": {f"level{level}": _metrics(f"level{level}", aggregate) for level, aggregate in levels.items()},
        "group_subtasks": {
            f"level{level}": sorted(name for name in tasks if str(_mapping(facts.get(name)).get("level")) == level)
            for level in levels
        },
        "configs": {name: {"task": name, **_mapping(facts.get(name))} for name in tasks},
        "versions": {name: _mapping(facts.get(name)).get("version") for name in tasks},
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"compile@1": True, "correct@1": True} for name in tasks},
        "n-samples": {
            name: {"original": aggregate.problems, "effective": aggregate.problems} for name, aggregate in tasks.items()
        },
        "config": {
            "model": identity.get("model"),
            "model_args": identity.get("model_args"),
            "gen_kwargs": identity.get("sampling"),
            "random_seed": identity.get("seed"),
        },
        "task_hashes": {name: _mapping(facts.get(name)).get("hash") for name in tasks},
        "git_hash": _mapping(run.manifest.provenance.get("git")).get("commit"),
        "date": time,
        "model_source": identity.get("model"),
        "model_name": model,
        "model_name_sanitized": _sanitized(model),
        "npukernelbench": {"run_id": run.manifest.run_id, "tier": _mapping(identity.get("executor")).get("tier")},
    }


def _metrics(alias: str, aggregate: Aggregate) -> dict[str, object]:
    """lm-eval's spelling ``<metric>,<filter>``; all samples in the denominator. Standard errors are of a proportion."""
    named: dict[str, object] = {"alias": alias, "sample_len": aggregate.problems}
    passes = {f"pass@{k}": shares for k, shares in aggregate.pass_at_k.items()}
    single = {"compile@1": aggregate.compile_at_1, "correct@1": aggregate.correct_at_1}
    for name, shares in {**single, **passes}.items():
        share = shares.all
        if share is not None:
            named[f"{name},{_FILTER}"] = share.value
            named[f"{name}_stderr,{_FILTER}"] = (share.value * (1 - share.value) / share.n) ** 0.5
    return named


def _lm_eval_sample(number: int, row: Mapping[str, JSON]) -> dict[str, JSON]:
    doc: dict[str, JSON] = {name: row[name] for name in ("task", "case", "track", "index")}
    response = row["response"] or ""
    return {
        "doc_id": number,
        "doc": doc,
        "target": "",
        "arguments": {"gen_args_0": {"arg_0": dumps(row["messages"])}},
        "resps": [[response]],
        "filtered_resps": [response],
        "filter": _FILTER,
        "metrics": ["compile@1", "correct@1"],
        "doc_hash": _hash(dumps(doc)),
        "prompt_hash": _hash(dumps(row["messages"])),
        "target_hash": _hash(""),
        "compile@1": float(bool(row["compiled"])),
        "correct@1": float(bool(row["correct"])),
        "outcome": row["outcome"],
    }


def _numbers(row: Mapping[str, JSON]) -> tuple[int, int]:
    return int(str(row["index"])), int(str(row["turn"]))


def _model_name(identity: Mapping[str, object]) -> str:
    named = _mapping(identity.get("model_args")).get("model")
    return str(named or identity.get("model") or "unknown")


def _sanitized(model: str) -> str:
    """A model's name as lm-eval writes it into file names."""
    return re.sub(r"[\"<>:/\\|?*\[\]]+", "__", model)


def _mapping(value: object) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cell(value: JSON) -> JSON:
    return dumps(value) if isinstance(value, dict | list) else value
