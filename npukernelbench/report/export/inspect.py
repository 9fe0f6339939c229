"""A log in the format of inspect_ai, version 2, as JSON: its viewer and its reader open it.

Written from the format, without inspect_ai, which brings eighty packages. A sample of ours that says nothing about the
model is a sample with an error there. A problem is a sample's id, the number of the sample its epoch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.nouns import Completion, FinishReason, Outcome, Owner, Sample
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.nouns.results import Results
from npukernelbench.report.comparison.rates import COMPILED, CORRECT, rate_of
from npukernelbench.report.comparison.records import RunRecord, conversations, record_of, rules_name
from npukernelbench.report.results import sample_row
from npukernelbench.run.turns import settled
from npukernelbench.store.log import LOG_NAME

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["INSPECT"]

_VERSION = 2
#: Our names of its scorers, and the rate behind each.
_SCORERS = {"correct": CORRECT, "compiled": COMPILED}
_STOP_REASONS = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.OTHER: "unknown",
}


class _Inspect:
    """``<folder>/<time>_npukernelbench_<run>.json``: inspect lists logs by names of this form."""

    file_name = "inspect"

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """The log; its folder is one for ``inspect view --log-dir``."""
        del results
        target.mkdir(parents=True, exist_ok=True)
        created = _changed(run.directory / "manifest.json")
        run_id = run.manifest.run_id
        # File systems of Windows have no colons in names.
        path = target / f"{created.replace(':', '-')}_npukernelbench_{run_id}.json"
        text = json.dumps(_log(run, created), ensure_ascii=False, indent=1) + "\n"
        # A model may write half of a surrogate pair, which strict readers of JSON refuse.
        path.write_bytes(text.encode("utf-8", "replace"))
        return (path,)


INSPECT = _Inspect()


def _log(run: StoredRun, created: str) -> dict[str, JSON]:
    record, identity = record_of(run), run.manifest.identity
    samples = [_sample(settled(turns), record.model) for turns in conversations(run)]
    # Each problem once, in the order of its first sample.
    ids = list(dict.fromkeys(str(sample["id"]) for sample in samples))
    done = record.expected == len(record.attempts)
    return {
        "version": _VERSION,
        # For inspect, a log that is `started` is one that somebody still writes to.
        "status": "success" if done else "cancelled",
        "eval": {
            "eval_id": run.manifest.run_id,
            "run_id": run.manifest.run_id,
            "created": created,
            "task": "npukernelbench",
            "task_id": run.manifest.run_id,
            "task_version": 0,
            "task_args": {},
            "dataset": {"name": "npukernelbench", "samples": len(ids), "sample_ids": list[JSON](ids)},
            "model": record.model,
            "model_args": to_json(identity.get("model_args", {})),
            "model_generate_config": {},
            # Numbers of samples may have gaps, as a run goes on where it stopped: the largest one counts.
            "config": {"epochs": max((int(str(sample["epoch"])) for sample in samples), default=1)},
            "packages": {"npukernelbench": str(identity.get("harness", ""))},
            "metadata": to_json(
                {
                    "tier": record.tier,
                    "track": record.track,
                    "machine": record.machine,
                    "rules": rules_name(record.identity),
                }
            ),
        },
        "plan": {"name": "plan", "steps": [], "config": {}},
        "results": {
            "total_samples": record.expected,
            "completed_samples": len(samples),
            "scores": [score for name in _SCORERS for score in _score_of_run(name, record)],
        },
        "stats": {
            "started_at": created,
            # ISO times of one zone sort as text.
            "completed_at": max(_changed(run.directory / name) for name in ("results.json", LOG_NAME)) if done else "",
            "model_usage": _usage_of_run(run, record.model),
        },
        "samples": list[JSON](samples),
    }


def _score_of_run(name: str, record: RunRecord) -> Iterable[JSON]:
    """The rate with its interval over tasks. No standard error: samples of one task are not independent."""
    rate = rate_of(_SCORERS[name], record.problems)
    if rate is not None:
        numbers = {"accuracy": rate.value, "ci_low": rate.low, "ci_high": rate.high}
        metrics: dict[str, JSON] = {metric: {"name": metric, "value": value} for metric, value in numbers.items()}
        yield {"name": name, "scorer": name, "params": {}, "metrics": metrics}


def _sample(sample: Sample, model: str) -> dict[str, JSON]:
    row, verdict, answer = sample_row(sample), sample.verdict, sample.completion
    assert verdict is not None
    messages: list[JSON] = [{"role": message.role, "content": message.shown} for message in sample.prompt.messages]
    said = _assistant(answer, model) if answer else None
    result: dict[str, JSON] = {
        "id": f"{row.task}/{row.case or 'all'}",
        # inspect counts epochs from 1.
        "epoch": row.index + 1,
        "input": list(messages),
        # inspect's reader refuses a sample without this field, though our problems have no one right text.
        "target": "",
        "messages": [*messages, *([said] if said else [])],
        "output": _output(answer, said, model) if answer else {"model": model, "choices": []},
        "metadata": to_json(
            {
                "outcome": row.outcome.value,
                "owner": row.owner.value,
                "stage": row.stage.value,
                "tier": row.tier.value,
                "metrics": row.metrics,
                "diagnostics": [*verdict.diagnostics, *(note for case in verdict.cases for note in case.diagnostics)],
            }
        ),
    }
    if row.owner in (Owner.MODEL, Owner.NONE):
        code = (
            "\n\n".join(f"// {name}\n{text}" for name, text in sample.candidate.files.items())
            if sample.candidate
            else ""
        )
        explanation = f"{row.outcome.value}: {row.message or row.outcome.meaning}"
        values = {"correct": row.outcome is Outcome.OK and row.correct, "compiled": row.compiled}
        result["scores"] = {
            # `C` and `I` are inspect's marks for correct and incorrect.
            name: {"value": "C" if value else "I", "answer": code, "explanation": explanation}
            for name, value in values.items()
        }
    else:
        text = f"{row.outcome.value}: {row.message or row.outcome.meaning}"
        # Without the two tracebacks inspect's reader refuses the error.
        result["error"] = {"message": text, "traceback": text, "traceback_ansi": text}
    return result


def _assistant(answer: Completion, model: str) -> JSON:
    # Reasoning is a part of its own there, so that viewers can fold it.
    thought: list[JSON] = [{"type": "reasoning", "reasoning": answer.reasoning}] if answer.reasoning else []
    content: JSON = [*thought, {"type": "text", "text": answer.text}] if thought else answer.text
    return {"role": "assistant", "content": content, "source": "generate", "model": answer.model or model}


def _output(answer: Completion, said: JSON, model: str) -> JSON:
    return {
        "model": answer.model or model,
        "choices": [{"message": said, "stop_reason": _STOP_REASONS[answer.finish_reason]}],
        "usage": _usage([answer]),
    }


def _usage_of_run(run: StoredRun, model: str) -> dict[str, JSON]:
    answers = [run.samples[key].completion for key in run.samples]
    return {model: _usage([answer for answer in answers if answer is not None])}


def _usage(answers: Sequence[Completion]) -> Mapping[str, JSON]:
    asked, said = sum(answer.usage.prompt for answer in answers), sum(answer.usage.completion for answer in answers)
    thought = sum(answer.usage.reasoning for answer in answers)
    return {"input_tokens": asked, "output_tokens": said, "total_tokens": asked + said, "reasoning_tokens": thought}


def _changed(path: Path) -> str:
    """When a file was last written; our logs hold no times, so that equal runs are equal."""
    # A file that is not there counts as the oldest, so that the later of several decides.
    seconds = path.stat().st_mtime if path.exists() else 0.0
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")
