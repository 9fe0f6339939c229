"""Whether the judge tells enough: an agent without a model repairs broken golden kernels by what it is told.

``python -m benchmarks.judge.scripted [COUNT] [SEED]`` breaks goldens of the static track
(:mod:`benchmarks.judge.mistakes`), keeps what the judge refuses, and lets the agent follow messages and remedies, with
at most eight calls per kernel. It sees the broken text and what the tools tell; the golden kernel, the kind of mistake
and the task it never sees.
"""

from __future__ import annotations

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from time import monotonic

from benchmarks.judge.mistakes import mistakes
from npukb_mcp.redact import told
from npukb_mcp.results import Note, Told
from npukernelbench.config import resolve
from npukernelbench.errors import TaskError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import make_executor, prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import GoldenKernels
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.making import Makers

__all__ = ["repaired", "try_repair"]

_CALLS = 8
_NEAREST = re.compile(r"Nearest names that exist: (\w+)")
_QUOTED = re.compile(r"'(\w+)'")
_EXPECTED = re.compile(r"expected '([;)\]},])'")
_EVENT = re.compile(r"WaitFlag<HardEvent::(\w+)>")
_WAITED = re.compile(r"WaitFlag<([^>\n]+)>\(([^)\n]*)\)")
_SET = re.compile(r"SetFlag<([^>\n]+)>\(([^)\n]*)\)")


def try_repair(source: str, page: Told) -> Iterator[str]:
    """Kernels that follow from the first message that the agent has a rule for, the likeliest first."""
    for note in page.diagnostics:
        edits = list(_followed(source, note))
        if edits:
            yield from edits
            return


def repaired(source: str, judge: Callable[[str], Told], calls: int = _CALLS) -> tuple[bool, int]:
    """Whether the agent gets a broken kernel right, and how many calls it took."""
    tried, waiting = {source}, [source]
    for call in range(1, calls + 1):
        if not waiting:
            return False, call - 1
        text = waiting.pop(0)
        page = judge(text)
        if page.outcome == "ok":
            return True, call
        following = [edit for edit in try_repair(text, page) if edit not in tried]
        tried.update(following)
        # What a repaired kernel shows next goes before other ways to repair the first one.
        waiting = following + waiting
    return False, calls


def _followed(source: str, note: Note) -> Iterator[str]:
    """What a message asks for, as edits of the source."""
    lines = source.split("\n")
    if not 0 < note.line <= len(lines):
        return
    if note.rule == "compile":
        yield from _compiled(lines, note)
    elif "EnQue" in note.remedy and "empty" in note.message:
        yield from _enqueued(lines, note)
    elif "FreeTensor" in note.remedy:
        yield from _freed(lines)
    elif "Set the flag" in note.remedy:
        yield from _beside(lines, note.line, _WAITED, "SetFlag<{}>({});", before=True)
    elif "WaitFlag" in note.remedy:
        yield from _waited(lines, note)
    if "PipeBarrier" in note.remedy:
        yield _inserted(lines, note.line - 1, "PipeBarrier<PIPE_ALL>();")


def _compiled(lines: list[str], note: Note) -> Iterator[str]:
    line = lines[note.line - 1]
    expected, nearest, quoted = (
        _EXPECTED.search(note.message),
        _NEAREST.search(note.remedy),
        _QUOTED.search(note.message),
    )
    if expected:
        at = note.column - 1
        yield _replaced(lines, note.line, line[:at] + expected[1] + line[at:])
    elif nearest and quoted:
        yield _replaced(lines, note.line, re.sub(rf"\b{quoted[1]}\b", nearest[1], line))


def _enqueued(lines: list[str], note: Note) -> Iterator[str]:
    """Hand over what was allocated from the queue, at the end of its block."""
    queue = re.search(r"([\w.\[\]]+?)\.(?:template )?DeQue", lines[note.line - 1])
    if queue is None:
        return
    for number, line in enumerate(lines):
        taken = re.search(rf"(\w+) = {re.escape(queue[1])}\.(?:template )?AllocTensor", line)
        if taken and not any(f"{queue[1]}.EnQue({taken[1]})" in one for one in lines):
            yield _inserted(lines, _block_end(lines, number), f"{queue[1]}.EnQue({taken[1]});")


def _freed(lines: list[str]) -> Iterator[str]:
    """Give back what was dequeued and never freed, at the end of its block."""
    for number, line in enumerate(lines):
        taken = re.search(r"(\w+) = ([\w.\[\]]+?)\.(?:template )?(?:DeQue|AllocTensor)", line)
        if taken and not any(re.search(rf"(?:FreeTensor|EnQue)\({taken[1]}\)", one) for one in lines[number:]):
            yield _inserted(lines, _block_end(lines, number), f"{taken[2]}.FreeTensor({taken[1]});")


def _waited(lines: list[str], note: Note) -> Iterator[str]:
    """Wait right after each flag of these pipes that is set and not waited for; else order the pipes at the place."""
    for number, line in enumerate(lines, 1):
        if _SET.search(line) and not any(_WAITED.search(one) for one in lines[number : number + 3]):
            yield from _beside(lines, number, _SET, "WaitFlag<{}>({});", before=False)
    event = _EVENT.search(note.remedy) or re.search(r"HardEvent::(\w+)", note.remedy)
    if event:
        both = "SetFlag<HardEvent::{0}>(EVENT_ID7); WaitFlag<HardEvent::{0}>(EVENT_ID7);".format(event[1])
        yield _inserted(lines, note.line - 1, both)


def _beside(lines: list[str], number: int, pattern: re.Pattern[str], text: str, *, before: bool) -> Iterator[str]:
    """A flag's other half, beside the one that is there."""
    match = pattern.search(lines[number - 1])
    if match:
        # True counts as 1: lines are numbered from 1, places in the list from 0.
        yield _inserted(lines, number - before, text.format(*match.groups()))


def _block_end(lines: list[str], start: int) -> int:
    """The line that closes the block which ``start`` stands in."""
    depth = 0
    for number in range(start, len(lines)):
        depth += lines[number].count("{") - lines[number].count("}")
        if depth < 0:
            return number
    return len(lines)


def _inserted(lines: list[str], at: int, text: str) -> str:
    return "\n".join([*lines[:at], text, *lines[at:]])


def _replaced(lines: list[str], number: int, text: str) -> str:
    return "\n".join([*lines[: number - 1], text, *lines[number:]])


def main(count: int, seed: int) -> None:
    """Print one line per kind of mistake, and the share that was repaired."""
    config = resolve(environ={}, options={})
    plugins = Plugins.load()
    plugins.configure(config)
    tasks = load_registry(plugins, cache_dir=config.cache_dir)
    executor = make_executor(plugins.executors.find("twin"), {})
    prepare(executor, print, Track.STATIC)
    judge = Judge.of(executor, plugins, JudgeSettings(120, 120, seed))
    chance = random.Random(seed)
    broken: Counter[str] = Counter()
    mended: Counter[str] = Counter()
    calls, harmless, started = 0, 0, monotonic()
    names = [name for name in tasks if tasks[name].goldens]
    with GoldenKernels(Makers(plugins.goldens, config.cache_dir)) as goldens:
        while broken.total() < count:
            task = tasks[chance.choice(names)]
            case = task.usual_case
            try:
                [golden] = goldens.kernel(task, case, Track.STATIC).values()
            # Not every dynamic golden kernel gives a static one.
            except TaskError:
                continue
            made = mistakes(golden, chance)
            if not made:
                continue
            mistake = chance.choice(made)

            def tell(source: str, task=task, case=case) -> Told:
                return told(judge.judge(task, (case,), Track.STATIC, candidate_of({"kernel.cpp": source})))

            if tell(mistake.source).outcome == "ok":
                harmless += 1
                continue
            right, needed = repaired(mistake.source, tell)
            broken[mistake.kind] += 1
            mended[mistake.kind] += right
            calls += needed
            print(json.dumps({"task": task.name, "kind": mistake.kind, "repaired": right, "calls": needed}), flush=True)
    executor.close()
    for kind, number in sorted(broken.items()):
        print(f"{kind}: {mended[kind]} of {number}")
    share, each, took = mended.total() / count, calls / count, monotonic() - started
    print(f"repaired {mended.total()} of {count} ({share:.1%}), seed {seed}, {each:.1f} calls each, {took:.0f} s;")
    print(f"{harmless} edits left the kernel right and were dropped")


if __name__ == "__main__":
    # What is not given has its default: 300 kernels, seed 1.
    main(*map(int, (*sys.argv[1:], *("300", "1")[len(sys.argv) - 1 :])))
