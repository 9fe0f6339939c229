"""Runs as they are on the disk now, for the pages of ``npukb view``: read from event logs, never written to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from threading import Lock
from time import monotonic
from urllib.parse import quote

from npukernelbench.nouns import Sample, SampleKey
from npukernelbench.nouns.codec import JSON
from npukernelbench.nouns.results import Effort
from npukernelbench.report.comparison.records import (
    Attempt,
    RunRecord,
    attempt_of,
    record_of,
    record_with,
)
from npukernelbench.report.effort import effort_of, iterates
from npukernelbench.report.finding import runs_below
from npukernelbench.report.html.detail import Block
from npukernelbench.report.html.index import index_of, row_of
from npukernelbench.report.spent import price_of
from npukernelbench.store import StoredRun, read_run
from npukernelbench.store.lock import writer_of
from npukernelbench.store.log import LOG_NAME

__all__ = ["Library", "LiveRun", "address", "dumped"]

#: Samples that are read and highlighted when one of them is opened.
_BLOCK = 10
#: A run that is going on is read again after this many times as long as reading it took.
_RESTS = 5.0


@dataclass(slots=True)
class _Reading:
    """A run at one moment. ``state`` is size and time of its log."""

    state: tuple[int, int]
    run: StoredRun
    record: RunRecord
    conversations: list[list[SampleKey]]
    rows: list[JSON]
    effort: Effort | None
    running: bool
    taken_s: float
    read_at_s: float
    index: dict[str, JSON] = field(default_factory=dict)


@dataclass(slots=True)
class LiveRun:
    """One run folder. Methods may be called from several threads."""

    folder: Path
    name: str
    _lock: Lock = field(default_factory=Lock)
    _reading: _Reading | None = None

    def index(self) -> dict[str, JSON]:
        """What the page needs but the samples' details; ``version`` changes with the log, ``running`` says whether it
        may change again."""
        reading = self._read()
        with self._lock:
            # Rates and curves with their intervals: only a page needs them, and the list of runs does not.
            if not reading.index:
                reading.index = _index(reading)
        return reading.index

    def block(self, number: int) -> dict[str, JSON]:
        """Some samples with everything that is known of them. LookupError when there is no such block."""
        reading = self._read()
        block = Block()
        # Blocks of a live page are small: reading and highlighting them makes the browser wait.
        for keys in reading.conversations[number * _BLOCK : (number + 1) * _BLOCK]:
            block.add([reading.run.samples[key] for key in keys])
        # Below 0 the slices above would count from the end.
        if number < 0 or not block.samples:
            raise LookupError(f"{self.name} has no block {number}")
        return block.as_json()

    @property
    def record(self) -> RunRecord:
        """The run as far as it was judged."""
        return self._read().record

    @property
    def running(self) -> bool:
        """Whether a process on this machine is writing to it and has not judged everything."""
        # A writer that has judged everything only writes results, after which nothing changes.
        return writer_of(self.folder) is not None and self.record.expected > len(self.record.attempts)

    def _read(self) -> _Reading:
        # Held while the log is read: two requests at once would otherwise both read it.
        with self._lock:
            # Before the log is read: whatever is written meanwhile makes the next state another one.
            state = _state(self.folder / LOG_NAME)
            now, held = monotonic(), self._reading
            if held and (held.state == state or now - held.read_at_s < _RESTS * held.taken_s):
                return held
            self._reading = self._fresh(state, now)
            return self._reading

    def _fresh(self, state: tuple[int, int], now: float) -> _Reading:
        run = read_run(self.folder)
        grouped = [list(keys) for _, keys in groupby(sorted(run.samples), key=lambda key: key.conversation)]
        rows: list[JSON] = []
        attempts: list[Attempt] = []
        iterated: list[Sequence[Sample]] = []
        for keys in grouped:
            turns = [run.samples[key] for key in keys]
            iterated += [turns] if iterates(turns) else []
            rows.append(row_of(turns))
            attempts.append(attempt_of(turns))
        # A published folder may have results and no event log.
        record = record_with(run, attempts) if attempts else record_of(run)
        running = writer_of(self.folder) is not None and record.expected > len(record.attempts)
        effort = effort_of(iterated, price_of(run.provenance[-1] if run.provenance else {}))
        return _Reading(state, run, record, grouped, rows, effort, running, monotonic() - now, now)


def _index(reading: _Reading) -> dict[str, JSON]:
    places: list[JSON] = [[i // _BLOCK, i % _BLOCK] for i in range(len(reading.rows))]
    provenance = reading.run.provenance[-1] if reading.run.provenance else {}
    index = index_of(reading.record, provenance, reading.rows, places, reading.effort)
    version = f"{reading.state[0]}-{reading.state[1]}"
    return index | {"version": version, "running": reading.running, "answered": len(reading.run.completions)}


class Library:
    """The runs at or below a folder, by names that are no paths: what is not listed cannot be asked for."""

    def __init__(self, folder: Path) -> None:
        """UsageError when so much lies below the folder that it can hardly be one of runs."""
        runs_below(folder)
        self.folder = folder
        self._runs: dict[str, LiveRun] = {}
        self._lock = Lock()

    def runs(self) -> Sequence[LiveRun]:
        """Every run that is there now, those with the latest events first."""
        # Outside of the lock, as looking through a large folder takes time.
        folders = runs_below(self.folder)
        with self._lock:
            # A name stays with its folder, so that pages that are open keep their addresses.
            known = {run.folder: run for run in self._runs.values()}
            for folder in folders:
                if folder not in known:
                    # The folder may be a run itself, and its path may be `.`, which has no name.
                    name = "run-" + ("-".join(folder.relative_to(self.folder).parts) or folder.resolve().name)
                    # `a/b` and `a-b` would have one name.
                    name = name if name not in self._runs else f"{name}-{len(self._runs)}"
                    self._runs[name] = LiveRun(folder, name)
            there = [run for run in self._runs.values() if run.folder in folders]
        return sorted(there, key=lambda run: _state(run.folder / LOG_NAME)[1], reverse=True)

    def find(self, name: str) -> LiveRun:
        """The run of that name. LookupError when there is none."""
        for run in self.runs():
            if run.name == name:
                return run
        raise LookupError(f"there is no run {name}")


def address(run: LiveRun) -> str:
    """Where the page of a run is served."""
    return f"/{quote(run.name, safe='')}"


def dumped(value: object) -> bytes:
    """JSON for a browser."""
    # A model may write half of a surrogate pair, which UTF-8 cannot hold.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _state(log: Path) -> tuple[int, int]:
    # A published folder has no log, and a log may be moved away while pages are open.
    try:
        facts = log.stat()
    except OSError:
        return (0, 0)
    return (facts.st_size, facts.st_mtime_ns)
