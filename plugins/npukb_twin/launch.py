"""One launch: buffers in files that the child maps, a launch file, the child, its report, an observation."""

from __future__ import annotations

import json
import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukb_twin.lines import LineTable
from npukb_twin.machine import Machine
from npukb_twin.process import Finished, Limits, run
from npukb_twin.toolchain import clean_environment
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.poison import poison
from npukernelbench.nouns import Diagnostic, Observation, Outcome, Profile, RunRequest, Severity, TensorShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["run_case"]

_GRANULE = 512  # device allocations are multiples of this
_PIPES = {"V": "vec", "S": "scalar", "MTE2": "mte2", "MTE3": "mte3"}


def run_case(
    request: RunRequest, *, host: Path, machine: Machine, threads: int, memory_bytes: int, work: Path
) -> Observation:
    """Run ``request`` in a child process whose files live in the empty folder ``work``."""
    buffers = _Buffers(request, work)
    blocks = machine.blocks(request.task.core)
    read, write = os.pipe()
    token = secrets.token_hex(16)
    script = [f"report {write} {token}", *(f"machine {key} {value!r}" for key, value in machine.numbers.items())]
    arguments = list(buffers.lines())
    limits = Limits(wall_s=request.timeout_s, memory_bytes=memory_bytes + buffers.total_bytes, file_bytes=1 << 40)
    script += [f"limit {name} {value}" for name, value in limits.numbers().items()]
    script += [f"blocks {blocks}", f"threads {threads}", f"seed {request.seed}", *arguments]
    launch = work / "launch"
    launch.write_text("\n".join([*script, f"kernel {request.artifact.path}"]) + "\n", encoding="utf-8")
    done = run(
        (str(host), str(launch)),
        work=work,
        environment=clean_environment(work),
        limits=limits,
        report=(read, write),
    )
    return _observe(request, done, token, buffers, machine.name)


class _Buffers:
    """The files behind a launch's pointer arguments."""

    def __init__(self, request: RunRequest, work: Path) -> None:
        self._request = request
        self._work = work
        self._outputs: dict[str, list[tuple[TensorShape, Path]]] = {}
        self.total_bytes = 0

    def lines(self) -> Iterator[str]:
        """Launch directives in argument order. Writes the files on the way."""
        task, case = self._request.task, self._request.case
        updated = {o.alias_of: o.name for o in task.outputs if o.alias_of is not None}
        position: dict[str, int] = {}
        for index, spec in enumerate(task.inputs):
            position[spec.name] = index
            value = self._request.inputs[spec.name]
            yield from self._input(spec.name, value, writable=spec.name in updated)
            if spec.name in updated:
                self._outputs[updated[spec.name]] = self._aliased(spec.name, updated[spec.name])
        for output in task.outputs:
            if output.alias_of is not None:
                yield f"argument same {position[output.alias_of]}"
                continue
            declared = case.outputs[output.name]
            yield from self._output(output.name, declared)
        path = self._blank("workspace", max(task.workspace_bytes, _GRANULE), "workspace")
        yield f"argument buffer workspace w {max(task.workspace_bytes, _GRANULE)} {path}"

    def _input(self, name: str, value: Array | list[Array] | None, *, writable: bool) -> Iterator[str]:
        mode = "w" if writable else "r"
        if value is None:
            yield "argument null"
        elif isinstance(value, list):
            yield f"argument list {name} {len(value)}"
            for index, item in enumerate(value):
                path = self._filled(f"in-{name}-{index}", item)
                yield f"item {_shape(item.shape)} {name}[{index}] {mode} {item.nbytes} {path}"
        else:
            yield f"argument buffer {name} {mode} {value.nbytes} {self._filled(f'in-{name}', value)}"

    def _output(self, name: str, declared: TensorShape | tuple[TensorShape, ...]) -> Iterator[str]:
        if isinstance(declared, TensorShape):
            path = self._blank(f"out-{name}", declared.nbytes, name)
            self._outputs[name] = [(declared, path)]
            yield f"argument buffer {name} w {declared.nbytes} {path}"
            return
        yield f"argument list {name} {len(declared)}"
        self._outputs[name] = []
        for index, tensor in enumerate(declared):
            path = self._blank(f"out-{name}-{index}", tensor.nbytes, f"{name}[{index}]")
            self._outputs[name].append((tensor, path))
            yield f"item {_shape(tensor.shape)} {name}[{index}] w {tensor.nbytes} {path}"

    def _aliased(self, source: str, output: str) -> list[tuple[TensorShape, Path]]:
        declared = self._request.case.outputs[output]
        if isinstance(declared, TensorShape):
            return [(declared, self._work / f"in-{source}")]
        return [(tensor, self._work / f"in-{source}-{index}") for index, tensor in enumerate(declared)]

    def _filled(self, name: str, value: Array) -> Path:
        import numpy as np

        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return self._write(name, data)

    def _blank(self, file: str, nbytes: int, name: str) -> Path:
        return self._write(file, poison(nbytes, self._request.seed, name))

    def _write(self, name: str, data: NDArray[np.uint8]) -> Path:
        path = self._work / name
        rounded = max(-(-data.size // _GRANULE) * _GRANULE, _GRANULE)
        with path.open("wb", buffering=0) as file:
            data.tofile(file)
            file.truncate(rounded)
        self.total_bytes += rounded
        return path

    def collect(self) -> dict[str, Array | list[Array]]:
        """Outputs as arrays of the declared shape and type."""
        outputs: dict[str, Array | list[Array]] = {}
        for name, tensors in self._outputs.items():
            arrays = [self._read(tensor, path) for tensor, path in tensors]
            outputs[name] = arrays[0] if isinstance(self._request.case.outputs[name], TensorShape) else arrays
        return outputs

    def _read(self, tensor: TensorShape, path: Path) -> Array:
        import numpy as np

        raw = np.fromfile(path, dtype=np.uint8, count=tensor.nbytes)
        return raw.view(tensor.dtype.numpy()).reshape(tensor.shape)


def _shape(shape: tuple[int, ...]) -> str:
    """How the launch file writes the shape of a list's tensor."""
    return "x".join(map(str, shape)) or "-"


def _observe(request: RunRequest, done: Finished, token: str, buffers: _Buffers, machine: str) -> Observation:
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
    status, table = report["status"], LineTable(request.artifact.path)
    if status == "signal":
        return _bad(done, Outcome.CRASH, _signal_diagnostic(report, table))
    if status == "launch_error":
        return _bad(done, Outcome.LAUNCH_ERROR, Diagnostic(Severity.ERROR, "launch", str(report["message"])))
    if status != "finished":
        raise ExecutorError(f"the twin's host failed: {report.get('message', status)}")
    diagnostics = tuple(_diagnostic(entry, table) for entry in report["diagnostics"])
    if any(d.severity is Severity.ERROR for d in diagnostics):
        return Observation(Outcome.RULE_VIOLATION, {}, diagnostics, seconds=done.seconds)
    return Observation(Outcome.OK, buffers.collect(), diagnostics, _profile(report, machine), seconds=done.seconds)


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


def _diagnostic(entry: Mapping[str, Any], table: LineTable) -> Diagnostic:
    place = table.place(int(entry["pc"]))
    return Diagnostic(
        severity=Severity(entry["severity"]),
        rule=str(entry["rule"]),
        message=str(entry["message"]),
        file=place.file,
        line=place.line,
        remedy=str(entry["remedy"]),
        count=int(entry["count"]),
        details={"block": int(entry["block"])},
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
