"""The judge as an evaluator of OpenEvolve: ``openevolve-run kernel.cpp evaluator.py``, where ``evaluator.py`` holds

    from npukb_search.openevolve import evaluator
    evaluate = evaluator("Sqrt")

A program is one file: the kernel of the static track, or an answer with one block per file. Its score is below 1 until
it is right, then 1 and the fraction of the roofline. Only public cases are judged; a fault of ours is tried again and
then raised, so that it is no score.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from npukernelbench.errors import ExecutorError

__all__ = ["evaluator", "score"]

_TRIES = 3
_TIMEOUT_S = 900.0
# The exit code of `npukb` for faults that are not the kernel's.
_INFRA = 4
_MOST_MESSAGES = 8
_KEPT = ("predicted_time_us", "measured_time_us", "roofline", "speedup_start")


def evaluator(task: str, *, case: str = "", track: str = "static", options: Sequence[str] = ()) -> Callable[[str], Any]:
    """A function as OpenEvolve asks for: path in, metrics and artifacts out. ``options`` go to ``npukb judge``."""
    # By this interpreter, whatever `npukb` is on the path.
    words = [sys.executable, "-m", "npukernelbench", "judge", task, "--json", "--track", track, *options]
    words += ["--case", case] if case else []

    def evaluate(program_path: str) -> Any:
        verdict = _judged([*words, program_path, *(["--parser", "auto"] if track == "dynamic" else [])])
        metrics, artifacts = score(verdict), {"judge": told(verdict)}
        try:
            from openevolve.evaluation_result import EvaluationResult
        # OpenEvolve need not be installed where an evaluator is only tried out.
        except ModuleNotFoundError:
            return {**metrics, "artifacts": artifacts}
        return EvaluationResult(metrics=metrics, artifacts=artifacts)

    return evaluate


def score(verdict: Mapping[str, Any]) -> dict[str, float]:
    """Metrics of a verdict as ``npukb judge --json`` writes it; ``combined_score`` is what is to be raised."""
    metrics = verdict.get("metrics", {})
    share = metrics.get("cases_passed", 0.0) / max(1.0, metrics.get("cases_total", 1.0))
    if verdict["outcome"] == "ok":
        # The roofline's share is comparable between tasks, as a time is not.
        combined = 1.0 + metrics.get("roofline", 0.0)
    else:
        # At most 0.5, so that no wrong kernel comes near a right one.
        combined = 0.1 + 0.4 * share if metrics.get("compiled") else 0.0
    kept = {name: float(metrics[name]) for name in _KEPT if name in metrics}
    return {"combined_score": combined, "correct": float(verdict["outcome"] == "ok"), "cases": share, **kept}


def told(verdict: Mapping[str, Any]) -> str:
    """Messages for the next prompt, without expected values."""
    from npukernelbench.generate.telling import EXPECTED

    lines = [f"outcome: {verdict['outcome']} at {verdict['stage']}"]
    for note in [
        *verdict.get("diagnostics", ()),
        *(n for case in verdict.get("cases", ()) for n in case["diagnostics"]),
    ]:
        message = EXPECTED.sub(r"\1", str(note["message"]))
        remedy = f" Remedy: {note['remedy']}" if note.get("remedy") else ""
        place = f"{note['file']}:{note.get('line', 0)}: " if note.get("file") else ""
        lines.append(f"{place}{message} [{note['rule']}]{remedy}")
    return "\n".join(dict.fromkeys(lines[: _MOST_MESSAGES + 1]))


def _judged(command: Sequence[str]) -> Mapping[str, Any]:
    """The verdict. Judging in a process of its own: OpenEvolve's time-outs leave threads behind."""
    error = ""
    for _ in range(_TRIES):
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        if done.returncode == 0:
            verdict: Mapping[str, Any] = json.loads(done.stdout)
            return verdict
        error = done.stderr.strip()[-400:]
        # A wrong command stays wrong.
        if done.returncode != _INFRA:
            break
    raise ExecutorError(f"the judge gave no verdict on {Path(command[-1]).name}: {error}")
