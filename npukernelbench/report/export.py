"""A run in the formats of other tools: rows of samples, and the files that lm-eval writes.

Our own store stays the truth; what is written here can be made again at any time.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.nouns import SampleKey, Track
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.report.results import sample_row, summarise
from npukernelbench.run.turns import settled, spoken_for

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["export_lm_eval", "export_rows", "export_table", "rows"]

#: The filter that lm-eval names behind a metric; ours takes no part in a number.
_FILTER = "none"


def rows(run: StoredRun) -> Iterator[dict[str, JSON]]:
    """One flat object per judged turn, in the order of keys: what was asked, answered and found."""
    for key in sorted(run.samples):
        sample = run.samples[key]
        if sample.verdict is None:
            continue
        found = to_json(sample_row(sample))
        if not isinstance(found, Mapping):
            raise TypeError("a row is an object")
        completion = sample.completion
        yield {
            **found,
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


def export_rows(run: StoredRun, path: Path) -> Path:
    """Write :func:`rows` as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(dumps(row) + "\n" for row in rows(run))
    return path


def export_table(run: StoredRun, path: Path) -> Path:
    """Write :func:`rows` as a Parquet table; nested values are JSON text. UsageError when pyarrow is missing."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow", field="--format", remedy="pip install pyarrow, or use --format jsonl"
        ) from None
    flat = [{name: _cell(value) for name, value in row.items()} for row in rows(run)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(flat), path)
    return path


def export_lm_eval(run: StoredRun, folder: Path, *, now: datetime | None = None) -> tuple[Path, ...]:
    """Write ``<folder>/<model>/results_<time>.json`` and a ``samples_<task>_<time>.jsonl`` per task."""
    time = (now or datetime.now(timezone.utc)).isoformat().replace(":", "-")
    identity = run.manifest.identity
    model = _model_name(identity)
    target = folder / re.sub(r"[\"<>:/\\|?*\[\]]+", "__", model)
    target.mkdir(parents=True, exist_ok=True)
    by_task: defaultdict[str, list[dict[str, JSON]]] = defaultdict(list)
    speaking = {settled(turns).key for turns in spoken_for(run.samples.values()).values()}
    for row in rows(run):
        if SampleKey(str(row["task"]), str(row["case"]), Track(row["track"]), *_numbers(row)) not in speaking:
            continue  # lm-eval knows one answer per sample: the turn that speaks for it
        by_task[str(row["task"])].append(row)
    paths = [target / f"results_{time}.json"]
    paths[0].write_text(json.dumps(_lm_eval_results(run, model, time), indent=2, sort_keys=True) + "\n", "utf-8")
    for task in sorted(by_task):
        path = target / f"samples_{task}_{time}.jsonl"
        lines = (dumps(_lm_eval_sample(number, row)) + "\n" for number, row in enumerate(by_task[task]))
        path.write_text("".join(lines), "utf-8")
        paths.append(path)
    return tuple(paths)


def _lm_eval_results(run: StoredRun, model: str, time: str) -> dict[str, object]:
    summary = summarise(run.manifest, run.samples.values())
    aggregates = _mapping(summary["aggregates"])
    tasks, levels = _mapping(aggregates["tasks"]), _mapping(aggregates["levels"])
    identity = _mapping(run.manifest.identity)
    facts = _mapping(identity.get("tasks"))
    groups = {f"level{level}": _metrics(f"level{level}", _mapping(value)) for level, value in levels.items()}
    return {
        "results": {name: _metrics(name, _mapping(value)) for name, value in tasks.items()},
        "groups": groups,
        "group_subtasks": {
            f"level{level}": sorted(name for name in tasks if str(_mapping(facts.get(name)).get("level")) == level)
            for level in levels
        },
        "configs": {name: {"task": name, **_mapping(facts.get(name))} for name in tasks},
        "versions": {name: _mapping(facts.get(name)).get("version") for name in tasks},
        "n-shot": dict.fromkeys(tasks, 0),
        "higher_is_better": {name: {"compile@1": True, "correct@1": True} for name in tasks},
        "n-samples": {
            name: {"original": _mapping(value)["problems"], "effective": _mapping(value)["problems"]}
            for name, value in tasks.items()
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
        "model_name_sanitized": re.sub(r"[\"<>:/\\|?*\[\]]+", "__", model),
        "npukernelbench": {"run_id": run.manifest.run_id, "tier": _mapping(identity.get("executor")).get("tier")},
    }


def _metrics(alias: str, aggregate: Mapping[str, object]) -> dict[str, object]:
    """lm-eval's spelling ``<metric>,<filter>``; all samples in the denominator. Standard errors are of a proportion."""
    found: dict[str, object] = {"alias": alias, "sample_len": aggregate["problems"]}
    passes = {f"pass@{k}": _mapping(value) for k, value in _mapping(aggregate["pass@k"]).items()}
    shares = {name: _mapping(aggregate[name]) for name in ("compile@1", "correct@1")}
    for name, both in {**shares, **passes}.items():
        one = _mapping(both.get("all"))
        value, count = one.get("value"), one.get("n")
        if isinstance(value, int | float) and isinstance(count, int) and count:
            found[f"{name},{_FILTER}"] = value
            found[f"{name}_stderr,{_FILTER}"] = (value * (1 - value) / count) ** 0.5
    return found


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


def _mapping(value: object) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _cell(value: JSON) -> JSON:
    return dumps(value) if isinstance(value, dict | list) else value
