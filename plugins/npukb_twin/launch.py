"""One launch: buffers in files that the child maps, a launch file, the child, its report, an observation."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

from npukb_twin.buffers import Buffers, Plan
from npukb_twin.lines import LineTable
from npukb_twin.machine import Machine
from npukb_twin.process import Finished, Limits, run
from npukb_twin.toolchain import clean_environment
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Diagnostic, Observation, Outcome, Profile, RunRequest, Severity

__all__ = ["Checker", "Switch", "run_case"]


class Checker(str, Enum):
    """How much the twin checks while it runs a kernel."""

    OFF = "off"  # only what would crash the twin itself
    FAST = "fast"  # what costs the same for every operand, however large
    FULL = "full"  # every byte: undefined memory, races between pipes and between cores


class Switch(str, Enum):
    """On or off, as the vendor's compiler spells its options."""

    ON = "on"
    OFF = "off"


_PIPES = {"V": "vec", "S": "scalar", "MTE2": "mte2", "MTE3": "mte3"}


def run_case(
    request: RunRequest,
    plan: Plan,
    *,
    host: Path,
    machine: Machine,
    threads: int,
    memory_bytes: int,
    checker: Checker,
    auto_sync: Switch,
    work: Path,
) -> Observation:
    """Run ``request`` as ``plan`` says, in a child process whose files live in the empty folder ``work``."""
    buffers = Buffers(request, plan, work)
    read, write = os.pipe()
    token = secrets.token_hex(16)
    script = [f"report {write} {token}", *(f"machine {key} {value!r}" for key, value in machine.numbers.items())]
    arguments = list(buffers.lines())
    limits = Limits(wall_s=request.timeout_s, memory_bytes=memory_bytes + buffers.total_bytes, file_bytes=1 << 40)
    script += [f"limit {name} {value}" for name, value in limits.numbers().items()]
    script += [f"blocks {plan.blocks}", f"cores {plan.cores}", f"threads {threads}", f"seed {request.seed}"]
    script += [f"tiling_key {plan.tiling_key}", f"system_workspace {plan.system_workspace_bytes}"]
    script += [f"checker {checker.value}", f"auto_sync {auto_sync.value}", *arguments]
    launch = work / "launch"
    launch.write_text("\n".join([*script, f"kernel {plan.image}"]) + "\n", encoding="utf-8")
    done = run(
        (str(host), str(launch)),
        work=work,
        environment=clean_environment(work),
        limits=limits,
        report=(read, write),
    )
    return _observe(request, done, token, buffers, machine.name)


def _observe(request: RunRequest, done: Finished, token: str, buffers: Buffers, machine: str) -> Observation:
    """What the child's end and report mean. A report is required: an exit code alone proves nothing."""
    if not _genuine(done.report, token):
        message = "the kernel wrote to the channel on which the executor reports"
        return _bad(done, Outcome.CHEAT, Diagnostic(Severity.ERROR, "forged_report", message))
    if done.timed_out or done.returncode == -signal.SIGXCPU:
        message = f"the kernel did not end within {request.timeout_s:g} s"
        return _bad(
            done, Outcome.TIMEOUT, Diagnostic(Severity.ERROR, "timeout", message, remedy="Check loop bounds and waits.")
        )
    report = _parse(done)
    if report is None:
        return _bad(done, Outcome.CRASH, Diagnostic(Severity.ERROR, "crash", _silent_end(done)))
    status, table = report["status"], LineTable(buffers.plan.image)
    if status == "signal":
        return _bad(done, Outcome.CRASH, _signal_diagnostic(report, table))
    if status == "launch_error":
        return _bad(done, Outcome.LAUNCH_ERROR, Diagnostic(Severity.ERROR, "launch", str(report["message"])))
    if status != "finished":
        raise ExecutorError(f"the twin's host failed: {report.get('message', status)}")
    diagnostics = tuple(_diagnostic(entry, table, buffers.plan) for entry in report["diagnostics"])
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return Observation(Outcome.RULE_VIOLATION, {}, diagnostics, seconds=done.seconds)
    profile = replace(_profile(report, machine), tiling_key=buffers.plan.tiling_key if buffers.plan.tiling else None)
    return Observation(Outcome.OK, buffers.collect(), diagnostics, profile, seconds=done.seconds)


def _bad(done: Finished, outcome: Outcome, diagnostic: Diagnostic) -> Observation:
    return Observation(outcome, {}, (diagnostic,), seconds=done.seconds)


def _genuine(report: bytes, token: str) -> bool:
    """Whether every line of ``report`` begins as only the runtime knows to begin."""
    opening = f'{{"token":"{token}",'.encode()
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
    return f"the kernel process ended with code {done.returncode} before the launch was over"


def _signal_diagnostic(report: Mapping[str, Any], table: LineTable) -> Diagnostic:
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


def _diagnostic(entry: Mapping[str, Any], table: LineTable, plan: Plan) -> Diagnostic:
    launched = {"block_dim": plan.blocks, "tiling_key": plan.tiling_key} if plan.tiling else {}
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
        details={"block": int(entry["block"]), **launched},
    )


def _profile(report: Mapping[str, Any], machine: str) -> Profile:
    """Counters under the names of the vendor's profiler; times in us, ratios against the cores' mean active time."""
    core_us = float(report["core_time_us"])
    counters: dict[str, float] = {"aiv_time": core_us}
    for pipe, name in _PIPES.items():
        numbers = report["pipes"][pipe]
        counters[f"aiv_{name}_time"] = float(numbers["busy_us"])
        counters[f"aiv_{name}_ratio"] = float(numbers["busy_us"]) / core_us if core_us else 0.0
        counters[f"aiv_{name}_wait_ratio"] = float(numbers["wait_us"]) / core_us if core_us else 0.0
        counters[f"aiv_{name}_instructions"] = float(numbers["instructions"])
    counters["GM_to_UB_datas_kb"] = report["bytes_in"] / 1024
    counters["UB_to_GM_datas_kb"] = report["bytes_out"] / 1024
    return Profile(
        time_us=float(report["time_us"]),
        predicted=True,
        machine=machine,
        blocks=int(report["blocks"]),
        counters=counters,
    )
