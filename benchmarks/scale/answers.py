"""Answers of which few are alike and some are wrong, as a file to replay, and what runs on them have decided.

Shared by the proofs of this folder and by the tests of the cluster.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from npukernelbench.nouns import Track
from npukernelbench.nouns.codec import dumps, to_json
from npukernelbench.plugins import Plugins
from npukernelbench.rewards.golden import golden_answer
from npukernelbench.store import read_run
from npukernelbench.tasks import TaskRegistry, load_registry

#: Small static kernels that are judged in some tenths of a second.
TASKS = ("AbsMath", "AddCustom", "Equal", "Fill", "Gelu", "Muls", "Sqrt", "Swish")
#: One answer in so many has a mistake, and there are three of them.
_KINDS = 12


class Decided(NamedTuple):
    """What a run came to. ``verdicts`` are bytes, without what the clock of this machine said; ``judged`` counts how
    often a kernel of a task was really judged, by its hash, faults left out."""

    verdicts: Mapping[str, bytes]
    judged: Mapping[tuple[str, str], int]
    outcomes: Mapping[str, int]


def write_answers(path: Path, count: int, distinct: int, tasks: Sequence[str] = TASKS) -> None:
    """``count`` answers over all tasks, ``distinct`` of them different for each task."""
    with path.open("w") as lines:
        for index in range(count // len(tasks)):
            for task in tasks:
                text = answer(task, index % distinct)
                lines.write(json.dumps({"task": task, "index": index, "text": text}) + "\n")


def answer(name: str, number: int) -> str:
    """Mostly a right one; the others do not compile, break a rule, or hold no kernel."""
    task = _registry()[name]
    [smoke] = (case for case in task.cases if case.id == "smoke")
    right = golden_answer(task, smoke, Track.STATIC)
    assert right is not None
    # Another comment makes it another kernel.
    marked = right.replace("```cpp\n", f"```cpp\n// answer {number}\n", 1)
    kind = number % _KINDS
    if kind == 3:
        return marked.replace("}", "", 1)
    if kind == 6:
        return re.sub(r"\S+\.EnQue\([^;]*;", "", marked, count=1)
    return f"I cannot write kernel number {number}." if kind == 9 else marked


def start(folder: Path, answers: Path, count: int, executor: str, args: Mapping[str, object]) -> subprocess.Popen[str]:
    """``npukb run`` on these answers, in a folder; run again there, it resumes. Its output goes to a file beside."""
    folder.mkdir(exist_ok=True)
    tasks = ",".join(f"{task}:smoke" for task in TASKS)
    # With a seed: verdicts of several runs are compared byte for byte, and inputs would else be drawn by lot.
    words = ["run", "--model", "replay", "--model_args", f"path={answers}", "--tasks", tasks, "--seed", "20250117"]
    words += ["--num_samples", str(count // len(TASKS)), "--executor", executor, "--executor_args", json.dumps(args)]
    line = [sys.executable, "-m", "npukernelbench", *words, "--output_path", "results"]
    with (folder / "output.txt").open("w") as output:
        return subprocess.Popen(line, cwd=folder, stdout=output, stderr=subprocess.STDOUT, text=True)


def end(folder: Path, process: subprocess.Popen[str], limit_s: float, code: int = 0) -> None:
    """Wait for a run; SystemExit with its last words when it ends with another code."""
    if (ended := process.wait(limit_s)) != code:
        words = (folder / "output.txt").read_text()[-4000:]
        raise SystemExit(f"{folder.name} ended with code {ended} and not with {code}:\n{words}")


def log(folder: Path) -> Path:
    """The event log of the run in a folder."""
    [path] = folder.glob("results/*/events.jsonl")
    return path


def stored(folder: Path) -> int:
    """How many verdicts the run in a folder has stored so far."""
    logs = folder.glob("results/*/events.jsonl")
    # Counted as text: the run may still be writing, so that the last line need not be whole.
    return sum(each.read_bytes().count(b'"type":"sample"') for each in logs)


def decided(folder: Path) -> Decided:
    """What the run in a folder decided on every sample."""
    run = read_run(log(folder).parent)
    verdicts = {}
    for key, sample in run.samples.items():
        plain = to_json(sample.verdict)
        assert isinstance(plain, dict)
        verdicts[str(key)] = dumps({name: value for name, value in plain.items() if name != "timings"}).encode()
    judged: Counter[tuple[str, str]] = Counter()
    for event in _events(folder):
        # Whatever was remembered has no timings.
        if event["candidate"] and event["timings"] and event["verdict"]["outcome"] != "infra_error":
            judged[event["key"]["task"], event["candidate"]["hash"]] += 1
    outcomes = Counter(sample.verdict.outcome.value for sample in run.samples.values() if sample.verdict)
    return Decided(verdicts, judged, outcomes)


def _events(folder: Path) -> Iterator[dict]:
    for line in log(folder).read_text().splitlines():
        if (event := json.loads(line))["type"] == "sample":
            yield event


@cache
def _registry() -> TaskRegistry:
    return load_registry(Plugins.load(autoload=False))
