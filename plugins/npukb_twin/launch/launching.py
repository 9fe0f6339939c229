"""One launch: buffers in files that the child maps, a launch file, the child, its report, an observation."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from npukb_twin.compile.lines import LineTable, Place
from npukb_twin.compile.toolchain import clean_environment
from npukb_twin.launch.buffers import Buffers, Plan
from npukb_twin.launch.process import Finished, Limits, run
from npukb_twin.launch.recording import ROOM_BYTES, read_recording, record_line
from npukb_twin.launch.sandbox import Sandbox
from npukb_twin.launch.tracing import steps_of, watch_lines
from npukb_twin.timing.machine import Machine
from npukb_twin.timing.profiles import profile_of
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Diagnostic, Observation, Outcome, RunRequest, Severity, Touched

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["Checker", "Detail", "LaunchBuffers", "Launcher", "Start", "Switch", "run_case"]


class Checker(str, Enum):
    """How much the twin checks while it runs a kernel."""

    OFF = "off"  # only what would crash the twin itself
    FAST = "fast"  # what costs the same for every operand, however large
    FULL = "full"  # every byte: undefined memory, races between pipes and between cores


class Switch(str, Enum):
    """On or off, as the vendor's compiler spells its options."""

    ON = "on"
    OFF = "off"


class Start(str, Enum):
    """What a launch finds."""

    WARM = "warm"  # the kernel has run before
    COLD = "cold"  # its first launch: instructions and page tables are not there yet


class Detail(str, Enum):
    """How much of a launch's time is reported."""

    OFF = "off"  # nothing is recorded
    TIME = "time"  # the predicted time and where it goes
    FULL = "full"  # also source lines, a trace, every core, and what other decisions would give


#: What the runtime adds to offsets in the image of the cube cores.
_CUBE_IMAGE = 1 << 40
#: The file of what a core did.
_RECORD = "record"


class LaunchBuffers(Protocol):
    """What a launch works on."""

    @property
    def plan(self) -> Plan: ...
    @property
    def total_bytes(self) -> int: ...
    def lines(self) -> Iterator[str]: ...
    def collect(self) -> dict[str, Array | list[Array]]: ...


@dataclass(frozen=True, slots=True)
class Launcher:
    """How launches are made here."""

    host: Path
    sandbox: Sandbox
    machine: Machine
    threads: int
    memory_bytes: int
    checker: Checker
    auto_sync: Switch
    detail: Detail
    start: Start
    verifies: bool

    def launch(self, request: RunRequest, buffers: LaunchBuffers, threads: int, work: Path) -> tuple[Finished, str]:
        """One child process, whose files live in ``work``; how it ended, and the token of a genuine report."""
        plan = buffers.plan
        read, write = os.pipe()
        token = secrets.token_hex(16)
        numbers = {**self.machine.numbers, **self.machine.rates}
        # the child inherits the descriptor under its number; repr keeps every digit of a number
        script = [f"report {write} {token}", *(f"machine {key} {value!r}" for key, value in numbers.items())]
        script += [] if self.machine.column is None else self.machine.column.lines()
        arguments = list(buffers.lines())
        room = ROOM_BYTES if request.recorded is not None else 0
        # buffers are mapped, which the limit on files does not touch: a kernel has nothing else to write
        limits = Limits(
            wall_s=request.timeout_s, memory_bytes=self.memory_bytes + buffers.total_bytes + room, file_bytes=0
        )
        script += [f"limit {name} {value}" for name, value in limits.numbers().items()]
        # the second run begins cores in the opposite order and stores late: what depends on either differs then
        script += [f"order {'backward' if request.repeat % 2 else 'forward'} {request.order}"]
        script += self.sandbox.directives()
        script += ["verify"] if self.verifies else []
        script += [f"blocks {plan.blocks}", f"cores {plan.cores}", f"threads {threads}", f"seed {request.seed}"]
        script += [f"tiling_key {plan.tiling_key}", f"system_workspace {plan.system_workspace_bytes}"]
        script += [f"core_flags {plan.images.flag_support(plan.tiling_key)}"]
        script += [f"checker {self.checker.value}", f"auto_sync {self.auto_sync.value}"]
        script += [f"profile {self.detail.value}", f"launch {self.start.value}"]
        script += [f"allocation {request.allocation.value}", *arguments, *watch_lines(request)]
        if request.recorded is not None:
            script.append(record_line(request.recorded, work / _RECORD))
        file = work / "launch"
        # images last: the runner loads and runs the kernel as soon as it reads of it
        file.write_text("\n".join([*script, *_images(plan)]) + "\n", encoding="utf-8")
        done = run(
            (str(self.host), str(file)),
            work=work,
            environment=clean_environment(work),
            limits=limits,
            report=(read, write),
            inherited=self.sandbox.inherited,
        )
        return done, token

    def observe(self, request: RunRequest, done: Finished, token: str, buffers: LaunchBuffers) -> Observation:
        """What the child's end and report mean."""
        return _observe(request, done, token, buffers, self.machine)

    @staticmethod
    def talks(done: Finished, token: str) -> bool:
        """Whether cores waited for each other through plain memory."""
        return _talks(done, token)


def run_case(request: RunRequest, plan: Plan, launcher: Launcher, work: Path) -> Observation:
    """Run ``request`` as ``plan`` says, in a child process whose files live in the empty folder ``work``.

    Cores that wait for each other through plain memory run once more, on one host thread: what they see of each other
    depends on the host's threads otherwise, and so would their time.
    """
    traced = request.watched or request.recorded is not None
    threads = 1 if traced else launcher.threads  # on one, so that what happened last did
    buffers = Buffers(request, plan, work)
    done, token = launcher.launch(request, buffers, threads, work)
    if threads > 1 and _talks(done, token):
        alone = work / "alone"
        alone.mkdir()
        # anew: the first run has changed its own
        buffers = Buffers(request, plan, alone)
        done, token = launcher.launch(request, buffers, 1, alone)
    seen = launcher.observe(request, done, token, buffers)
    if request.recorded is None:
        return seen
    return replace(seen, recording=read_recording(work / _RECORD, _Lines(plan).place))


def _talks(done: Finished, token: str) -> bool:
    """Whether cores waited for each other through plain memory."""
    report = _parse(done) if _genuine(done.report, token) else None
    return report is not None and bool(report.get("talks"))


def _images(plan: Plan) -> tuple[str, ...]:
    """The directives that load the kernel: the image of every kind of core that it runs on."""
    vector = plan.images.vector if plan.composition.vectors else None
    cube = plan.images.cube if plan.composition.cubes else None
    return (f"cube {cube or '-'}", f"mix {max(plan.composition.vectors, 1)}", f"kernel {vector or '-'}")


def _observe(request: RunRequest, done: Finished, token: str, buffers: LaunchBuffers, machine: Machine) -> Observation:
    """What the child's end and report mean. A report is required: an exit code alone proves nothing."""
    # first of all: whoever forges reports may also choose how the process ends
    if not _genuine(done.report, token):
        message = "the kernel wrote to the channel on which the executor reports"
        return _bad(done, Outcome.CHEAT, Diagnostic(Severity.ERROR, "forged_report", message))
    if done.timed_out or done.returncode == -signal.SIGXCPU:
        message = f"the kernel did not end within {request.timeout_s:g} s"
        return _bad(
            done, Outcome.TIMEOUT, Diagnostic(Severity.ERROR, "timeout", message, remedy="Check loop bounds and waits.")
        )
    if done.returncode == -signal.SIGKILL:  # nothing inside can send it, and its own limits end it otherwise
        raise ExecutorError("the kernel's process was killed from outside", remedy="check for a lack of memory")
    report = _parse(done)
    if report is None:
        return _bad(done, Outcome.CRASH, Diagnostic(Severity.ERROR, "crash", _silent_end(done)))
    status, table = report["status"], _Lines(buffers.plan)
    if status == "signal":
        return _bad(done, Outcome.CRASH, _signal_diagnostic(report, table))
    if status == "refused":
        return _refused(done, report, table)
    if status == "launch_error":
        return _bad(done, Outcome.LAUNCH_ERROR, Diagnostic(Severity.ERROR, "launch", str(report["message"])))
    if status != "finished":
        raise ExecutorError(f"the twin's host failed: {report.get('message', status)}")
    diagnostics = (
        *(_diagnostic(entry, table, buffers.plan) for entry in report["diagnostics"]),
        *_waves(buffers.plan, machine.name),
    )
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return Observation(Outcome.RULE_VIOLATION, {}, diagnostics, seconds=done.seconds)
    key = buffers.plan.tiling_key if buffers.plan.tiling else None
    profile = profile_of(report, machine, table, key) if "time_us" in report else None
    touched = {name: Touched(*counts) for name, *counts in report["buffers"]}
    traces = steps_of(report.get("journal", ()), request.watched, table.place)
    return Observation(
        Outcome.OK, buffers.collect(), diagnostics, profile, seconds=done.seconds, touched=touched, traces=traces
    )


class _Lines:
    """Places in the source of both images."""

    def __init__(self, plan: Plan) -> None:
        self._tables = [None if image is None else LineTable(image) for image in (plan.images.vector, plan.images.cube)]

    def place(self, pc: int) -> Place:
        """Where the instruction came from: an offset, and _CUBE_IMAGE added to it for the image of the cube cores."""
        table = self._tables[pc // _CUBE_IMAGE]
        return Place("", 0) if table is None else table.place(pc % _CUBE_IMAGE)


def _waves(plan: Plan, machine: str) -> Iterator[Diagnostic]:
    """A warning when blocks of cube and vector cores wait for others to end: the documentation limits their number."""
    if plan.composition.mixed and plan.blocks > plan.cores:
        message = (
            f"{plan.blocks} blocks of cube and vector cores; {machine} has {plan.cores}, so that they run in waves"
        )
        remedy = "Set the block dim to GetCoreNumAic() or less, or use CalcTschBlockDim."
        yield Diagnostic(Severity.WARNING, "mixed_waves", message, remedy=remedy)


def _bad(done: Finished, outcome: Outcome, diagnostic: Diagnostic) -> Observation:
    return Observation(outcome, {}, (diagnostic,), seconds=done.seconds)


def _genuine(report: bytes, token: str) -> bool:
    """Whether every line of ``report`` begins as only the runtime knows to begin."""
    opening = f'{{"token":"{token}",'.encode()
    # of no lines, too: a kernel that ends its process forges nothing
    return all(line.startswith(opening) for line in report.splitlines())


def _parse(done: Finished) -> Mapping[str, Any] | None:
    """The report, or None when there is none worth the name."""
    lines = done.report.splitlines()
    if len(lines) != 1:
        return None
    try:
        report = json.loads(lines[0])
    except ValueError:
        return None
    return report if isinstance(report, dict) and "status" in report else None


def _silent_end(done: Finished) -> str:
    if done.returncode < 0:
        return f"the kernel process was ended by {signal.Signals(-done.returncode).name}"
    return f"the kernel process ended with code {done.returncode} before the launch ended"


def _signal_diagnostic(report: Mapping[str, Any], table: _Lines) -> Diagnostic:
    number = signal.Signals(int(report["signal"]))
    place = table.place(int(report["pc"]))
    message = f"the kernel was ended by {number.name}"
    if report["stack_overflow"]:
        message += ": its stack of 1 MiB is used up"
    elif number in (signal.SIGSEGV, signal.SIGBUS):
        message += f" at address {int(report['address']):#x}: memory that is not the kernel's"
    return Diagnostic(
        Severity.ERROR,
        "crash",
        message,
        file=place.file,
        line=place.line,
        remedy="Check raw pointers, array indices and recursion depth.",
    )


#: What the runner says of an image that it does not run (runtime/verify/image.h), and what that means.
_REFUSALS = {
    "forged": (Outcome.CHEAT, "forged_image", "A kernel must not replace or evade the runtime that checks it."),
    "foreign": (
        Outcome.LAUNCH_ERROR,
        "foreign_instruction",
        "Use the types and functions of kernel_operator.h: a core has no long double and a stack of some kilobytes.",
    ),
}


def _refused(done: Finished, report: Mapping[str, Any], table: _Lines) -> Observation:
    """The image was not run. ExecutorError where that may be for a lack of the proof rather than the kernel's code."""
    place = table.place(int(report["place"]))
    message = f"the kernel's machine code {report['message']}"
    if report["refusal"] not in _REFUSALS:
        where = f" at {place.file}:{place.line}" if place.file else ""
        raise ExecutorError(f"{message}{where}", remedy="please report the kernel: compiled code should never do that")
    outcome, rule, remedy = _REFUSALS[report["refusal"]]
    said = Diagnostic(Severity.ERROR, rule, message, place.file, place.line, remedy=remedy)
    return _bad(done, outcome, said)


def _diagnostic(entry: Mapping[str, Any], table: _Lines, plan: Plan) -> Diagnostic:
    launched = {"block_dim": plan.blocks, "tiling_key": plan.tiling_key} if plan.tiling else {}
    core = {"core": str(entry["kind"])} if plan.composition.cubes else {}
    place = table.place(int(entry["pc"]))
    message = str(entry["message"])
    if entry["related"]:
        other = table.place(int(entry["related"]))
        message += f" (the other one is at {other.file}:{other.line})"
    return Diagnostic(
        severity=Severity(entry["severity"]),
        rule=str(entry["rule"]),
        message=message,
        file=place.file,
        line=place.line,
        remedy=str(entry["remedy"]),
        count=int(entry["count"]),
        details={"block": int(entry["block"]), **core, **launched},
    )
