"""Writes the baseline file of a machine: times of our golden kernels, out of runs of the reference backend.

    python -m benchmarks.golden_times [--check] [--profiles smoke,cpu,full] [RUN...]

Without runs it makes them, one sample at a time: only of tasks whose definition or golden kernel has changed since, on
the tracks that have one, and of all when the model of time has changed. Only right kernels have times. ``--check`` says
what is stale and runs nothing; it exits with 1 when there is something. ``full``, the suites' own cases, runs
only on request: some of them take minutes and gigabytes. Folders of runs are used as they are: this is how baselines of
devices are made. A machine has one tier: devices never have the name of one of the twin's machine files.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.cli import main as npukb
from npukernelbench.nouns import Outcome, SampleKey, Stage, Task, Tier, Track
from npukernelbench.plugins import Plugins
from npukernelbench.store import read_run
from npukernelbench.tasks import load_registry

__all__ = ["FOLDER", "PROFILES", "Baseline", "Wanted", "claimed", "merged", "read", "rows", "selectors", "stale"]

FOLDER = Path(__file__).parents[1] / "tasks" / "baselines"
#: The cases that have times unless others are asked for, the cheapest first. Those of the first profile always have.
PROFILES = ("smoke", "cpu")
#: What is done is kept when the command is interrupted.
TASKS_PER_RUN = 16
#: Of one machine: its name, its tier, what predicts times, and the times by task, track and case.
Baseline = dict[str, Any]


def claimed(task: Task) -> tuple[Track, ...]:
    """The tracks that a task has a golden kernel for. A dynamic one will do for both: its tiling becomes constants."""
    tracks = {golden.track for golden in task.goldens}
    return tuple(track for track in (Track.DYNAMIC, Track.STATIC) if tracks and tracks | {Track.STATIC} >= {track})


class Wanted(NamedTuple):
    """Cases of a profile on a track."""

    profile: str
    track: Track


def stale(
    tasks: Mapping[str, Task], known: Baseline, model: str, profiles: Sequence[str] = PROFILES
) -> dict[Wanted, list[str]]:
    """The tasks whose golden kernels have no time in ``known`` for what they are now."""
    entries = known.get("tasks", {}) if known.get("model", "") == model else {}
    missing: dict[Wanted, list[str]] = {}
    for profile in profiles:
        for name, task in sorted(tasks.items()):
            entry = entries.get(name, {})
            for track in claimed(task):
                times = entry.get(track.value, {}) if entry.get("hash") == task.content_hash else {}
                if any(profile in case.profiles and case.id not in times for case in task.cases):
                    missing.setdefault(Wanted(profile, track), []).append(name)
    return missing


def read(machine: str) -> Baseline:
    """The baseline file of ``machine``; empty when there is none."""
    file = FOLDER / f"{machine}.json"
    baseline: Baseline = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return baseline


def selectors(task: Task, profile: str) -> list[str]:
    """What names a task's cases of a profile. Cases may be called like it, and would be taken for all of them."""
    return [f"{task.name}:{case.id}" for case in task.cases if profile in case.profiles]


def make_runs(wanted: Mapping[Wanted, Sequence[str]], tasks: Mapping[str, Task], folder: Path) -> Iterator[Path]:
    """Runs of golden kernels."""
    for (profile, track), names in wanted.items():
        for first in range(0, len(names), TASKS_PER_RUN):
            some = ",".join(
                selector
                for name in names[first : first + TASKS_PER_RUN]
                for selector in selectors(tasks[name], profile)
            )
            out = folder / f"{profile}-{track.value}-{first}"
            # One job at a time: neighbours would not change predicted times, but would a device's.
            options = ("--model", "reference", "--tasks", some, "--track", track.value, "--jobs", "1")
            npukb(["run", *options, "--seed", "0", "--output_path", str(out)])  # some times depend on values
            if not out.is_dir():
                raise SystemExit(f"there is no run of {some} on track {track.value}")
            yield from sorted(out.iterdir())


def times_of(run: Path, tasks: Mapping[str, Task]) -> Iterator[Baseline]:
    """What a run says of each of its machines. Its times are stale where a task is another one now.

    Some dynamic goldens give no static kernel, because they need workspace or fewer blocks: their times are null.
    """
    stored = read_run(run)
    identity: dict[str, Any] = dict(stored.manifest.identity)
    described = identity["executor"]["description"]
    hashes = {name: entry["hash"] for name, entry in identity["tasks"].items()}
    documents: dict[str, Baseline] = {}
    none: list[SampleKey] = []
    for sample in stored.samples.values():
        verdict, task = sample.verdict, tasks.get(sample.key.task)
        if verdict is None or task is None or hashes.get(task.name) != task.content_hash:
            continue
        if verdict.outcome is Outcome.INFRA_ERROR and verdict.stage is Stage.GENERATE:
            # So ends a sample that the reference backend has no golden kernel for.
            none.append(sample.key)
        if verdict.outcome is not Outcome.OK:
            continue
        for case in verdict.cases:
            if case.profile is None:
                continue
            document = documents.setdefault(case.profile.machine, {"machine": case.profile.machine, "tasks": {}})
            document["tier"] = verdict.tier.value
            if verdict.tier is Tier.TWIN:
                document["model"] = described["time_model"]
            times = document["tasks"].setdefault(task.name, {"hash": task.content_hash})
            times.setdefault(sample.key.track.value, {})[case.case] = case.profile.time_us
    for document in documents.values():  # null: it was tried, and there is no golden kernel for that track after all
        for key in none:
            entry = document["tasks"].setdefault(key.task, {"hash": tasks[key.task].content_hash})
            entry.setdefault(key.track.value, {})[key.case] = None
    yield from documents.values()


def merged(known: Baseline, new: Baseline, tasks: Mapping[str, Task]) -> Baseline:
    """``new`` over what still holds of ``known``."""
    old = known.get("tasks", {}) if known.get("model", "") == new.get("model", "") else {}
    tracks = {
        name: dict(entry) for name, entry in old.items() if name in tasks and entry["hash"] == tasks[name].content_hash
    }
    for name, measured in new["tasks"].items():
        entry = tracks.setdefault(name, {})
        for key, value in measured.items():
            # Tracks are merged case by case; what is no mapping is the hash.
            entry[key] = {**entry.get(key, {}), **value} if isinstance(value, dict) else value
    return {**new, "tasks": tracks}


def rows(value: Any, depth: int) -> str:
    """JSON in which what lies ``depth`` levels deep is a line, so that a change of one row is a change of one line."""
    if depth == 0 or not isinstance(value, dict) or not value:
        return json.dumps(value, sort_keys=True)
    return "{\n" + ",\n".join(f"{json.dumps(key)}: {rows(value[key], depth - 1)}" for key in sorted(value)) + "\n}"


def write(runs: Sequence[Path], tasks: Mapping[str, Task]) -> None:
    """Write what ``runs``, folders of runs, give into the files of their machines."""
    FOLDER.mkdir(exist_ok=True)
    for run in runs:
        for new in times_of(run, tasks):
            text = rows(merged(read(new["machine"]), new, tasks), 3)
            (FOLDER / f"{new['machine']}.json").write_text(text + "\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Renew what is stale, or take the runs that were named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden_times", description=__doc__)
    parser.add_argument("--check", action="store_true", help="say what is stale, and run nothing")
    parser.add_argument("--profiles", default=",".join(PROFILES), help="which cases, by profile")
    parser.add_argument("runs", nargs="*", type=Path, help="folders of runs")
    asked = parser.parse_args(arguments)
    tasks = load_registry(Plugins.load())
    if asked.runs:
        write(asked.runs, tasks)
        return 0
    facts, profiles = TwinExecutor(TwinArgs()).describe(), asked.profiles.split(",")

    def look() -> dict[Wanted, list[str]]:
        return stale(tasks, read(facts["machine"]), facts["time_model"], profiles)

    wanted = look()
    for (profile, track), names in wanted.items():
        print(f"stale, {profile} on track {track.value}: {len(names)} tasks: {', '.join(names)}", file=sys.stderr)
    if asked.check:
        return 1 if wanted else 0
    with tempfile.TemporaryDirectory() as name:
        for run in make_runs(wanted, tasks, Path(name)):
            write([run], tasks)
    return 1 if look() else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
