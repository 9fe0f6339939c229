"""How fast a right kernel is: against the machine's bound, against our own reference kernel, and on a device against
torch_npu's own operators. They are never mixed.

Baseline files lie in ``baselines/`` beside the suite's ``suite.yaml``, or that of a suite around it, and hold times on
one machine, of the same tier:
``<machine>.json`` those of the golden kernels (``python -m benchmarks.golden_times``), ``<machine>.eager.json`` those
of eager operators. Times that another model predicted, or of a task whose definition or golden kernel has changed
since, are stale: they are refused, with a warning that names the command that renews them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from npukernelbench.judge.roofline import Roof, bound_us
from npukernelbench.nouns import Case, Task, Track

__all__ = [
    "BOUND_US",
    "EAGER",
    "EAGER_US",
    "GOLDEN",
    "GOLDEN_US",
    "RENEW",
    "SPEEDUPS",
    "START",
    "START_US",
    "anchored",
    "baseline_us",
    "speed_facts",
]

_log = logging.getLogger(__name__)

#: Baselines out of files.
GOLDEN, EAGER = "golden", "eager"
#: The kernel that a task of optimisation begins with; the judge times it.
START = "start"
#: Times of a case that its own is compared with, among its metrics.
BOUND_US, GOLDEN_US, EAGER_US, START_US = "bound_us", "golden_us", "eager_us", "start_us"

RENEW = "python -m benchmarks.golden_times"

#: Metrics that compare with a baseline: how many times as fast, by name of the baseline.
SPEEDUPS = {"roofline": "roofline", GOLDEN: "speedup_golden", EAGER: "speedup_eager", START: "speedup_start"}


def speed_facts(
    task: Task, case: Case, track: Track, machine: str, roof: Roof | None, *, model: str = ""
) -> Mapping[str, float]:
    """What the time of a case is compared with: ``bound_us``, ``golden_us`` and ``eager_us``, as far as they are known.

    ``model`` says what predicts times: see :func:`baseline_us`.
    """
    facts: dict[str, float | None] = {
        BOUND_US: None if roof is None else bound_us(task, case, roof),
        GOLDEN_US: baseline_us(GOLDEN, task, (case,), track, machine, model),
        EAGER_US: baseline_us(EAGER, task, (case,), track, machine, model),
    }
    return {name: value for name, value in facts.items() if value is not None}


def anchored(time_us: float, baseline_us: float, bound_us: float) -> float | None:
    """CANN Bench's hardware-anchored performance: 0.5 for the baseline's time, 1 at the bound, 0 for endless time.

    None where the baseline itself is not above the bound.
    """
    room = baseline_us - bound_us
    return None if room <= 0 else room / (max(time_us - bound_us, 0.0) + room)


def baseline_us(
    name: str, task: Task, cases: Sequence[Case], track: Track, machine: str, model: str = ""
) -> float | None:
    """The time of the baseline ``name`` over ``cases``; None when one is missing. Eager operators have no track.

    ``model`` is the executor's ``time_model``, empty where times are measured.
    """
    # The name becomes part of a path.
    if not machine.isidentifier():
        return None
    known = f"{machine}.json" if name == GOLDEN else f"{machine}.{name}.json"
    places = (folder / "baselines" / known for folder in task.path.parents)  # suites may lie inside of others
    file = next((place for place in places if place.is_file()), None)
    if file is None:
        return None
    entry = _baseline(file, model).get(task.operator)
    if not entry:
        return None
    # What follows "+" are limits and values of other rules: they decide no time.
    if entry.get("hash") != task.content_hash.partition("+")[0]:
        _refuse(file, f"{task.name} has changed since")
        return None
    times = entry.get(track.value if name == GOLDEN else "cases")
    if not isinstance(times, Mapping) or any(times.get(case.id) is None for case in cases):
        return None
    return sum(float(times[case.id]) for case in cases)


@lru_cache(maxsize=8)
def _baseline(file: Path, model: str) -> dict[str, dict[str, object]]:
    """What ``file`` knows of each task; nothing when another model predicted it."""
    # Read once: every case of every sample asks.
    document = json.loads(file.read_text(encoding="utf-8"))
    if document.get("model", "") != model:
        _refuse(file, "another model predicted its times")
        return {}
    tasks: dict[str, dict[str, object]] = document["tasks"]
    return tasks


@lru_cache(maxsize=1024)
def _refuse(file: Path, why: str) -> None:
    """Said once."""
    _log.warning("%s is stale, %s: no speed-up against the baseline; renew it: %s", file.name, why, RENEW)
