"""``kill -9`` at random moments: a run is started again until it has ended, and its log is read in between."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukernelbench.store import read_run

__all__ = ["Storm", "results_of", "storm", "undisturbed"]

SCRIPT = Path(__file__).parents[1] / "runner/killable_run.py"
_LONGEST = 1.3  # from start to kill, in times that an undisturbed run takes


@dataclass
class Storm:
    """What came about: kills that met a living run, runs that ended, samples lost, samples counted twice."""

    kills: int = 0
    runs: int = 0
    lost: int = 0
    twice: int = 0
    different: int = 0


def storm(folder: Path, kills: int, seed: int) -> Storm:
    """Kill runs ``kills`` times, in as many folders below ``folder`` as it takes."""
    chance, seen = random.Random(seed), Storm()
    started = time.monotonic()
    wanted = undisturbed(folder / "undisturbed")
    longest_s = _LONGEST * (time.monotonic() - started)
    while seen.kills < kills:
        work = folder / f"run-{seen.runs}"
        work.mkdir()
        known: frozenset[str] = frozenset()
        while True:
            ended = _start_and_kill(work, chance.uniform(0.05, longest_s) if seen.kills < kills else None)
            known = _compare(work, known, seen)
            if ended:
                break
            seen.kills += 1
        seen.runs += 1
        seen.different += results_of(work) != wanted
    return seen


def undisturbed(folder: Path) -> Any:
    """The results of a run that nobody kills."""
    folder.mkdir(parents=True)
    _start_and_kill(folder, None)
    return results_of(folder)


def results_of(folder: Path) -> Any:
    content = json.loads((folder / "run/results.json").read_text(encoding="utf-8"))
    del content["timing"]
    return content


def _start_and_kill(folder: Path, after_s: float | None) -> bool:
    """Whether the run ended by itself."""
    process = subprocess.Popen([sys.executable, str(SCRIPT), "2"], cwd=folder, env=dict(os.environ))
    try:
        process.wait(after_s)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    assert process.returncode == 0
    return True


def _compare(folder: Path, known: frozenset[str], seen: Storm) -> frozenset[str]:
    """Samples that are on disk now; counts those that were there before and are gone, and those there twice."""
    log = folder / "run/events.jsonl"
    if not log.exists():
        seen.lost += len(known)
        return frozenset()
    now = frozenset(str(key) for key in read_run(folder / "run").samples)
    seen.lost += len(known - now)
    seen.twice += _repeated(log)
    return now


def _repeated(log: Path) -> int:
    """How many judged samples the log holds more than once; a torn last line is none."""
    keys: list[str] = []
    for line in log.read_text(encoding="utf-8").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("type") == "sample":
            keys.append(json.dumps(event["key"], sort_keys=True))
    return len(keys) - len(set(keys))
