"""The files that lm-eval writes, under its names of files and fields."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from pathlib import Path
from statistics import stdev
from typing import TYPE_CHECKING

from npukernelbench.nouns import SampleKey, Track
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.results import Aggregate, Results, SampleRow
from npukernelbench.report.comparison.records import rules_name
from npukernelbench.report.export.rows import rows
from npukernelbench.report.results import level_of
from npukernelbench.run.turns import settled, spoken_for
from npukernelbench.stats import pass_at_k

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["LM_EVAL"]

#: The filter that lm-eval names behind a metric; ours takes no part in a number.
_FILTER = "none"


class _LmEval:
    """The files and fields of lm-eval. ``now`` is the time in their names."""

    file_name = "lm-eval"

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)) -> None:
        self._now = now

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """``<target>/<model>/results_<time>.json`` and a ``samples_<task>_<time>.jsonl`` per task."""
        # In lm-eval's form; file systems of Windows have no colons in names.
        time = self._now().isoformat().replace(":", "-")
        model = _model_name(run.manifest.identity)
        folder = target / _sanitized(model)
        folder.mkdir(parents=True, exist_ok=True)
        by_task: defaultdict[str, list[dict[str, JSON]]] = defaultdict(list)
        # By key, since rows are flat and no longer know their conversation.
        speaking = {settled(turns).key for turns in spoken_for(run.samples.values()).values()}
        for row in rows(run):
            if SampleKey(str(row["task"]), str(row["case"]), Track(row["track"]), *_numbers(row)) in speaking:
                # lm-eval knows one answer per sample: the turn that speaks for it
                by_task[str(row["task"])].append(row)
        paths = [folder / f"results_{time}.json"]
        content = json.dumps(to_json(_lm_eval_results(run, results, model, time)), indent=2, sort_keys=True)
        paths[0].write_text(content + "\n", "utf-8")
        for task in sorted(by_task):
            path = folder / f"samples_{_sanitized(task)}_{time}.jsonl"
            lines = (dumps(_lm_eval_sample(number, row)) + "\n" for number, row in enumerate(by_task[task]))
            path.write_text("".join(lines), "utf-8")
            paths.append(path)
        return tuple(paths)


LM_EVAL = _LmEval()


def _lm_eval_results(run: StoredRun, results: Results, model: str, time: str) -> dict[str, object]:
    tasks, levels = results.aggregates.tasks, results.aggregates.levels
    identity = _mapping(run.manifest.identity)
    facts = _mapping(identity.get("tasks"))
    return {
        "results": {
            name: _metrics(name, aggregate, [row for row in results.samples if row.task == name])
            for name, aggregate in tasks.items()
        },
        "groups": {
            # Levels are the groups of lm-eval: a mean over tasks under a name of its own.
            f"level{level}": _metrics(
                f"level{level}",
                aggregate,
                [row for row in results.samples if level_of(facts, row.task) == level],
            )
            for level, aggregate in levels.items()
        },
        "group_subtasks": {
            f"level{level}": sorted(name for name in tasks if level_of(facts, name) == level) for level in levels
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
        "npukernelbench": {
            "run_id": run.manifest.run_id,
            "tier": _mapping(identity.get("executor")).get("tier"),
            "rules": rules_name(identity),
        },
    }


def _metrics(alias: str, aggregate: Aggregate, samples: Iterable[SampleRow]) -> dict[str, object]:
    """lm-eval's spelling ``<metric>,<filter>``; all samples in the denominator.

    The standard error of a rate of single samples, ``pass@1`` among them, is that of a proportion of samples; that of
    ``pass@k`` is that of a mean over problems.
    """
    named: dict[str, object] = {"alias": alias, "sample_len": aggregate.problems}
    single = {"compile@1": aggregate.compile_at_1, "correct@1": aggregate.correct_at_1}
    for name, shares in single.items():
        if (share := shares.all) is not None:
            named[f"{name},{_FILTER}"] = share.value
            named[f"{name}_stderr,{_FILTER}"] = (share.value * (1 - share.value) / share.n) ** 0.5
    problems = _right(samples)
    for k, shares in aggregate.pass_at_k.items():
        if (share := shares.all) is not None:
            named[f"pass@{k},{_FILTER}"] = share.value
            named[f"pass@{k}_stderr,{_FILTER}"] = (
                named[f"correct@1_stderr,{_FILTER}"] if k == "1" else _error_of_mean(problems, int(k))
            )
    return named


def _right(samples: Iterable[SampleRow]) -> list[list[bool]]:
    """Whether each sample is right, by problem."""
    by_problem: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for row in samples:
        by_problem[row.problem].append(row.correct)
    return list(by_problem.values())


def _error_of_mean(problems: list[list[bool]], k: int) -> float | str:
    """lm-eval writes ``N/A`` where there is no standard error: one problem says nothing about others."""
    # The same estimator as for the rate itself, so that error and rate belong together.
    shares = [pass_at_k(len(problem), sum(problem), k) for problem in problems]
    return float(stdev(shares) / len(shares) ** 0.5) if len(shares) > 1 else "N/A"


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


def _sanitized(name: str) -> str:
    """A name of a model or task as lm-eval writes it into file names."""
    return re.sub(r"[\"<>:/\\|?*\[\]]+", "__", name)


def _mapping(value: object) -> Mapping[str, JSON]:
    return value if isinstance(value, Mapping) else {}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
