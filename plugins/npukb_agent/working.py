"""One agent at work: a workspace, two doors, a clock; then its last kernel, its calls and its transcript."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Event
from time import monotonic, sleep

from npukb_agent.doors import answered
from npukb_agent.judging import Record, judge_door, scripts
from npukb_agent.presets import STDOUT, Preset, Protocol, reported_tokens
from npukb_agent.proxy import Meter, Upstream, proxy
from npukb_agent.walled import Places, Unwalled, Walled, start
from npukb_mcp.sessions import Session
from npukb_mcp.workspace import Brief, workspace_files, write_workspace
from npukernelbench.errors import UsageError
from npukernelbench.generate import GenerationFault, GenerationRequest
from npukernelbench.generate.sources import as_completion
from npukernelbench.generate.strategy import Bench
from npukernelbench.nouns import Case, Completion, Prompt, TokenUsage, Track
from npukernelbench.nouns import Task as Problem
from npukernelbench.run.prices import Price

__all__ = ["Budget", "Seat"]

_POLL_S = 0.02
# The exit status of walls.py where it could not start the agent.
_NOT_STARTED = 70
_MOST_TRANSCRIPT = 4 << 20
#: Opens nothing: the key is the proxy's.
_TOKEN = "the-proxy-has-the-key"
_TASK = """\
You are in {work}. Read README.md and AGENTS.md there: they say which operator to write as an Ascend C kernel, and how.
Edit {files}; nothing else counts. Run ./check to compile and ./judge to judge on the public cases, ./explain NAME and
./api NAME to look things up. You have {calls} calls of ./check and ./judge together, {seconds:.0f} seconds and {tokens}
tokens. There is no network. When the kernel is right, make it faster as far as that allows. The files as you leave
them are your answer; it is judged on cases that you are not shown.
"""


@dataclass(frozen=True, slots=True)
class Budget:
    """What one agent may spend on one task: seconds of the clock, tokens, calls of check and judge together, and, where
    the ``price`` of its tokens is known, money.
    """

    seconds: float
    tokens: int
    calls: int
    money: float | None = None
    price: Price | None = None


@dataclass(frozen=True, slots=True)
class Seat:
    """Where agents of one kind work. ``program`` is the real path of its first word, ``reach`` what else they can read;
    with ``walls`` they are confined. ``ending`` ends all of them.
    """

    preset: Preset
    program: Path
    reach: tuple[Path, ...]
    upstream: Upstream
    budget: Budget
    walls: bool
    ending: Event

    def work(self, request: GenerationRequest, bench: Bench) -> Completion | GenerationFault:
        """Let an agent work on one task until it ends, or its budget does."""
        brief = Brief.of(request.task, request.key.track, request.case)
        budget = self.budget
        meter = Meter(budget.tokens, budget.money, budget.price)
        record = Record()
        with ExitStack() as stack:
            # Resolved, because _read compares resolved paths with paths below it.
            places = Places.below(Path(stack.enter_context(TemporaryDirectory(prefix="npukb-agent-"))).resolve())
            output = stack.enter_context(TemporaryFile())
            doors = 1 if self.upstream.protocol is Protocol.NONE else 2
            walled = self._walled(places, doors, output.fileno())
            # Also when one of the next steps fails: the walls stand already.
            stack.callback(walled.end)
            files = workspace_files(brief, _Asked(request.prompt), bench.documented)
            # Kept to tell an agent that wrote nothing from one that answered.
            starts = {name: text for name, text in files.items() if name.endswith(".cpp")}
            files = {**files, **scripts(walled.ports[0])}
            write_workspace(places.work, files)
            session = Session("", brief, {}, places.work, budget.calls, budget.seconds)
            stack.enter_context(answered(walled.doors[0], judge_door(session, bench, meter, record)))
            if doors == 2:
                stack.enter_context(answered(walled.doors[1], proxy(self.upstream, meter)))
            ended = self._watch(walled, places, meter, self._task(walled, starts))
            # Before anything is read: nothing that the agent started may change its files or its output any more.
            walled.end()
            if ended is None:
                return GenerationFault("the run ended before the agent did")
            if isinstance(ended, GenerationFault):
                return ended
            # The end of the output says how it ended; the beginning of a long one is cut.
            output.seek(max(0, os.fstat(output.fileno()).st_size - _MOST_TRANSCRIPT))
            printed = output.read().decode("utf-8", "replace")
            if ended == f"exit {_NOT_STARTED}":
                return GenerationFault(f"the agent was not started: {printed[-400:]}", retryable=False)
            # An agent that never reached its model says nothing about that model.
            if doors == 2 and not meter.answers:
                why = meter.fault or f"it asked nothing and ended with {ended}: {printed[-400:]}"
                return GenerationFault(f"the agent got no answer of its model: {why}")
            transcript = _read(self.preset, places.home, printed)
            completion = self._completion(request.prompt, session, starts, record, meter, ended, transcript)
            if doors == 1 and not completion.text and ended.startswith("exit ") and ended != "exit 0":
                # No model was asked that could be blamed: the command itself failed.
                why = f"its command ended with {ended} and had written no kernel: {printed[-400:]}"
                return GenerationFault(f"the agent failed: {why}", retryable=False)
            return completion

    def _walled(self, places: Places, doors: int, output: int) -> Walled | Unwalled:
        return start(places, doors, self.reach, output) if self.walls else Unwalled(places, doors, output)

    def _task(self, walled: Walled | Unwalled, starts: Mapping[str, str]) -> str:
        budget = self.budget
        return _TASK.format(
            work=walled.work,
            files=" and ".join(starts),
            calls=budget.calls,
            seconds=budget.seconds,
            tokens=budget.tokens,
        )

    def _watch(
        self, walled: Walled | Unwalled, places: Places, meter: Meter, task: str
    ) -> str | GenerationFault | None:
        """Run the agent. How it ended: ``exit 0``, or what was used up; None where the run ended."""
        url = f"http://127.0.0.1:{walled.ports[-1]}"
        values = {"task": task, "model": self.upstream.model, "url": url, "token": _TOKEN}
        filled = self.preset.filled({**values, "home": str(walled.home), "work": str(walled.work)})
        for name, text in filled.home.items():
            path = places.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        # The interpreter's folder, because the workspace's scripts and scripts of agents run with it.
        folders = (str(self.program.parent), *_interpreters(), "/usr/local/bin", "/usr/bin", "/bin")
        environment = {
            "PATH": ":".join(dict.fromkeys(folders)),
            "HOME": str(walled.home),
            "TMPDIR": "/tmp" if self.walls else str(places.temporary),
            "LANG": "C.UTF-8",
            "USER": "agent",
            **filled.environment,
        }
        process = walled.run((str(self.program), *filled.words[1:]), environment)
        deadline = monotonic() + self.budget.seconds
        while process.poll() is None:
            if self.ending.is_set():
                return None
            if monotonic() >= deadline:
                return "seconds"
            if meter.stubborn:
                return meter.used_up
            sleep(_POLL_S)
        # The budget decides also where the agent then ended by itself with some exit code.
        return meter.used_up or f"exit {process.returncode}"

    def _completion(
        self,
        prompt: Prompt,
        session: Session,
        starts: Mapping[str, str],
        record: Record,
        meter: Meter,
        ended: str,
        transcript: Mapping[str, str],
    ) -> Completion:
        facts: dict[str, object] = {
            "ended": ended,
            "seconds": meter.seconds,
            "answers": meter.answers,
            "estimated_answers": meter.estimated,
            "calls_left": session.calls_left,
            "sandbox": "walls" if self.walls else "off",
        }
        if meter.cost is not None:
            facts["cost"] = round(meter.cost, 6)
        reported = self.preset.reported
        counted = reported_tokens(reported, transcript.get(reported.file, "")) if reported else None
        if counted is not None:
            facts["reported_tokens"] = counted._asdict()
        try:
            files = session.take(None)
        except UsageError as error:
            files, facts["files"] = {}, error.message
        # The files that it was given are no answer, though they would compile.
        changed = {name: text for name, text in files.items() if text != starts.get(name)}
        return Completion(
            as_completion(files, prompt) if changed else "",
            usage=TokenUsage(meter.prompt, meter.completion),
            model=self.upstream.model,
            sent=facts,
            calls=tuple(record.calls),
            results=tuple(record.results),
            transcript="\n".join(transcript.values()),
            seconds=meter.seconds,
        )


class _Asked:
    """The question of the run as a prompt style: what a workspace says is what a chat model would be asked."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt

    def render(self, task: Problem, case: Case | None, track: Track) -> Prompt:
        """The question."""
        del task, case, track
        return self._prompt


def _interpreters() -> tuple[str, ...]:
    return (str(Path(sys.executable).resolve().parent),)


def _read(preset: Preset, home: Path, printed: str) -> dict[str, str]:
    """Transcripts by name. An agent may have laid links where they should be: none is followed."""
    texts: dict[str, str] = {}
    wanted = {*preset.transcript, *([preset.reported.file] if preset.reported else [])}
    for pattern in sorted(wanted):
        if pattern == STDOUT:
            texts[STDOUT] = printed
            continue
        for path in sorted(home.glob(pattern)):
            if path.resolve() == path and path.is_file() and path.stat().st_size <= _MOST_TRANSCRIPT:
                texts[path.relative_to(home).as_posix()] = path.read_text(encoding="utf-8", errors="replace")
    return texts
