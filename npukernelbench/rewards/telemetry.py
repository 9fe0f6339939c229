"""What a judge tells those who run it: metrics for Prometheus, and a line of JSON per request.

The text format, its escapes and its histograms are prometheus-client's, the official library, which needs nothing else
itself. It is an extra (``npukernelbench[serve]``): a judge without it works and has no ``/metrics``.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from logging.handlers import WatchedFileHandler
from pathlib import Path
from threading import Lock
from typing import Any

from npukernelbench.nouns import Owner
from npukernelbench.rewards.callers import Caller
from npukernelbench.rewards.scoring import Scored

__all__ = ["METRICS", "Telemetry", "log_requests"]

_log = logging.getLogger(__name__)

#: Every metric that a judge has: kind, what it says, and its labels. Counters are read with ``_total`` behind the name.
METRICS: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "npukb_judge_requests": ("Counter", "Requests to score, by HTTP status.", ("status",)),
    "npukb_judge_request_seconds": ("Histogram", "From a request to its answer.", ()),
    "npukb_judge_answers": ("Counter", "Answers judged, by who sent them and outcome.", ("caller", "outcome")),
    "npukb_judge_faults": ("Counter", "Answers without a verdict through a fault of ours.", ("caller",)),
    "npukb_judge_repeated": ("Counter", "Answers whose code had been judged before.", ("caller",)),
    "npukb_judge_turned_away": ("Counter", "Answers refused because too many waited.", ("caller",)),
    "npukb_judge_pending": ("Gauge", "Answers that wait or are judged.", ("caller",)),
    "npukb_judge_jobs": ("Gauge", "Answers that may be judged at the same time.", ()),
    "npukb_judge_wait_seconds": ("Histogram", "How long an answer waited for its turn.", ()),
    "npukb_judge_stage_seconds": ("Histogram", "What a stage of judging took, for each answer.", ("stage",)),
}
#: From a remembered verdict to a kernel that runs into its time limit.
_BUCKETS_S = (0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0)
#: Callers name themselves where no file does it, and each name is a series for as long as the server lives.
_MOST_NAMES = 64
_OTHERS = "others"


class Telemetry:
    """Counts what a server does. Safe for several threads."""

    def __init__(self, jobs: int) -> None:
        self._lock = Lock()
        self._names: set[str] = set()
        self._registry, self._metrics = _made()
        if self._metrics:
            self._metrics["npukb_judge_jobs"].set(jobs)

    @property
    def text(self) -> bytes | None:
        """Everything in Prometheus' text format; None where prometheus-client is not installed."""
        if not self._metrics:
            return None
        from prometheus_client import generate_latest

        return bytes(generate_latest(self._registry))

    def pending(self, caller: Caller, answers: int) -> None:
        """So many answers of this caller wait or are judged."""
        if self._metrics:
            self._metrics["npukb_judge_pending"].labels(self._name(caller)).set(answers)

    def request(
        self, caller: Caller, status: int, answers: int, taken_s: float, scored: Sequence[Scored] | None = None
    ) -> None:
        """A request was answered with this status; ``scored`` is what became of its answers, if they were judged."""
        told = scored or ()
        outcomes = Counter(answer.reward.outcome.value for answer in told)
        repeated = sum(answer.repeated for answer in told)
        faults = sum(answer.reward.fault is Owner.INFRA for answer in told)
        _log.info(
            "request",
            extra={
                "told": {
                    "caller": caller.name,
                    "status": status,
                    "answers": answers,
                    "repeated": repeated,
                    "faults": faults,
                    "outcomes": dict(outcomes),
                    "taken_s": round(taken_s, 4),
                    "waited_s": round(max((answer.waited_s for answer in told), default=0.0), 4),
                }
            },
        )
        if not self._metrics:
            return
        metrics, name = self._metrics, self._name(caller)
        # A number: Python 3.10 writes `HTTPStatus.OK`.
        metrics["npukb_judge_requests"].labels(int(status)).inc()
        metrics["npukb_judge_request_seconds"].observe(taken_s)
        if status == 503:
            metrics["npukb_judge_turned_away"].labels(name).inc(answers)
        for outcome, count in outcomes.items():
            metrics["npukb_judge_answers"].labels(name, outcome).inc(count)
        metrics["npukb_judge_repeated"].labels(name).inc(repeated)
        metrics["npukb_judge_faults"].labels(name).inc(faults)
        for answer in told:
            metrics["npukb_judge_wait_seconds"].observe(answer.waited_s)
            for stage, spent_s in answer.verdict.timings.items():
                metrics["npukb_judge_stage_seconds"].labels(stage).observe(spent_s)

    def _name(self, caller: Caller) -> str:
        with self._lock:
            if caller.name not in self._names and len(self._names) >= _MOST_NAMES:
                return _OTHERS
            self._names.add(caller.name)
            return caller.name


def log_requests(path: Path) -> None:
    """Append a JSON object per request to ``path``. Whoever rotates logs may move the file away at any time."""
    handler = WatchedFileHandler(path, encoding="utf-8", delay=True)
    handler.setFormatter(_JsonLines())
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)


class _JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, event, and what else was told."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        head = {"time": time, "level": record.levelname.lower(), "event": record.getMessage()}
        return json.dumps({**head, **getattr(record, "told", {})})


def _made() -> tuple[Any, dict[str, Any]]:
    """A registry of this server's own, and its metrics by name; neither without prometheus-client."""
    try:
        import prometheus_client
    except ImportError:
        return None, {}
    # The library's own registry is one per process, and refuses the names of a second server.
    registry = prometheus_client.CollectorRegistry()
    made = {}
    for name, (kind, told, labels) in METRICS.items():
        more: dict[str, Any] = {"buckets": _BUCKETS_S} if kind == "Histogram" else {}
        made[name] = getattr(prometheus_client, kind)(name, told, labels, registry=registry, **more)
    return registry, made
