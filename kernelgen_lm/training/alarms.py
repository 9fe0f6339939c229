"""What on-policy training is watched for, while it runs.

Rewards that rise while fewer kernels compile or are right, cheating, answers that are all alike or cannot be judged,
tasks that teach nothing. Every logged step is a line of ``metrics.jsonl``; ``alarms.txt`` says what looks wrong now.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelgen_lm.training.devices import is_first, record

__all__ = ["Watch", "alarms", "metrics_of"]

Log = Sequence[Mapping[str, Any]]


class Watch:
    """Keeps both files beside a run, and tells each new alarm once.

    Steps continue the count of ``before``, the log of earlier rounds; ``number`` is the round.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None], before: Log = (), number: int = 0) -> None:
        self._folder, self._tell, self._before, self._number = folder, tell, before, number
        self._told: set[str] = set()

    def whole(self, log: Log) -> list[Mapping[str, Any]]:
        """The log of all rounds up to and with this one."""
        offset = max((int(row["step"]) for row in self._before), default=0)
        mine = ({**row, "step": int(row.get("step", 0)) + offset, "round": self._number} for row in log)
        return [*self._before, *mine]

    def look(self, log: Log) -> None:
        """At the log of this round up to now."""
        whole = self.whole(log)
        lines = (json.dumps(row) + "\n" for row in metrics_of(whole))
        record(self._folder / "metrics.jsonl", lines)
        raised = alarms(whole)
        record(self._folder / "alarms.txt", [f"{alarm}\n" for alarm in raised])
        for alarm in raised:
            kind = alarm.split(":", 1)[0]
            # Numbers in an alarm change with every step, so a new alarm is one of a new kind.
            if kind not in self._told and is_first():
                self._told.add(kind)
                self._tell(alarm)


def metrics_of(log: Log) -> list[dict[str, float]]:
    """Step by step: ``pass@1``, ``compile@1`` and ``cheat`` of the answers that could be judged, reward, entropy."""
    rows = []
    for entry in log:
        if "reward" not in entry:
            continue
        # Answers that could not be judged say nothing about the model.
        judged = 1.0 - float(entry.get("npukb/infra", 0.0))
        row = {"step": float(entry["step"])} if "step" in entry else {}
        for name, key in (("pass@1", "npukb/correct"), ("compile@1", "npukb/compiled"), ("cheat", "npukb/cheat")):
            if key in entry and judged > 0:
                row[name] = min(1.0, float(entry[key]) / judged)
        for name, key in _AS_THEY_ARE:
            if key in entry:
                row[name] = float(entry[key])
        rows.append(row)
    return rows


_AS_THEY_ARE = (
    ("first@1", "npukb/first_correct"),
    ("turns", "npukb/turns"),
    ("infra", "npukb/infra"),
    ("reward", "reward"),
    ("reward_std", "reward_std"),
    ("entropy", "entropy"),
    ("kl", "kl"),
    ("alike", "frac_reward_zero_std"),
    ("length", "completions/mean_length"),
    ("round", "round"),
)


def alarms(log: Log) -> list[str]:
    """What looks wrong in a log, in words: the first quarter of it is compared with the last."""
    rows = metrics_of(log)
    raised = []
    cheat = _quarters(rows, "cheat")
    if cheat and max(cheat) > 0:
        raised.append(f"cheating: {cheat[1]:.1%} of the last answers were refused as cheats")
    compiled, reward, right = (_quarters(rows, name) for name in ("compile@1", "reward", "pass@1"))
    # A falling rate alone is noise; with a rising reward it means that the reward pays for something else.
    if compiled and reward and reward[1] > reward[0] and compiled[1] < compiled[0] - 0.02:
        raised.append(f"compile rate: fell from {compiled[0]:.1%} to {compiled[1]:.1%} while the reward rose")
    if right and reward and reward[1] > reward[0] and right[1] < right[0] - 0.02:
        raised.append(f"reward hacking: pass@1 fell from {right[0]:.1%} to {right[1]:.1%} while the reward rose")
    entropy = _quarters(rows, "entropy")
    if entropy and entropy[1] < 0.1 * entropy[0]:
        raised.append(f"entropy: fell from {entropy[0]:.3g} to {entropy[1]:.3g}, answers are all alike")
    alike = _quarters(rows, "alike")
    if alike and alike[1] > 0.9:
        raised.append(f"signal: {alike[1]:.0%} of the last groups had one reward for all answers and taught nothing")
    infra = _quarters(rows, "infra")
    if infra and max(infra) > 0.05:
        raised.append(f"judge: {max(infra):.1%} of the answers could not be judged")
    return raised


def _quarters(rows: Sequence[Mapping[str, float]], name: str) -> tuple[float, float] | None:
    values = [row[name] for row in rows if name in row]
    if not values:
        return None
    # Quarters, as single steps of on-policy training vary too much to compare.
    size = max(1, len(values) // 4)
    return sum(values[:size]) / size, sum(values[-size:]) / size
