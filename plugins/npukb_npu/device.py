"""One case on one device, seen from the judge: files, worker, time-out, verdict, probe. Not yet run on hardware."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_npu.builds import SHARED_MEMORY, environment_for
from npukb_npu.codes import Phase, judge
from npukb_npu.confine import Reach, wrap
from npukb_npu.discovery import Site
from npukb_npu.jobs import Argument, Buffer, Job, Report
from npukb_npu.lease import Leases
from npukb_npu.machine import Device
from npukb_npu.process import Finished, run
from npukernelbench.nouns import Diagnostic, DType, Observation, Outcome, RunRequest, Severity, TensorShape

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["Bench", "Layout", "lay_out", "read_outputs"]

_STARTUP_S = 60.0  # loading the runtime and taking a device
_PROBE_S = 60.0
_FILE_BYTES = 64 << 30


@dataclass(frozen=True, slots=True)
class Layout:
    """A case's arguments as buffers, and where each output will lie."""

    arguments: tuple[Argument, ...]
    outputs: Mapping[str, tuple[tuple[TensorShape, Path], ...]]


def lay_out(request: RunRequest, work: Path) -> Layout:
    """Inputs and outputs in the task's order; inputs are written to files in ``work``.

    An output in the memory of an input has no buffer of its own: its position has the number of that input.
    """
    task, updated = (
        request.task,
        {output.alias_of: output.name for output in request.task.outputs if output.alias_of is not None},
    )
    arguments: list[Argument] = []
    position = {spec.name: index for index, spec in enumerate(task.inputs)}
    outputs: dict[str, tuple[tuple[TensorShape, Path], ...]] = {}
    for spec in task.inputs:
        value, name = request.inputs[spec.name], updated.get(spec.name)
        members = [] if value is None else value if isinstance(value, list) else [value]
        buffers = tuple(
            _input(f"{spec.name}{_index(value, i)}", member, work, name) for i, member in enumerate(members)
        )
        if name is not None and buffers:
            outputs[name] = tuple(zip(_shapes(request, name), (Path(buffer.result) for buffer in buffers), strict=True))
        arguments.append(None if value is None else buffers if isinstance(value, list) else buffers[0])
    for output in task.outputs:
        if output.alias_of is not None:
            arguments.append(position[output.alias_of])
            continue
        shapes, is_list = _shapes(request, output.name), isinstance(request.case.outputs[output.name], tuple)
        blank = tuple(
            Buffer(
                name=f"{output.name}[{i}]" if is_list else output.name,
                nbytes=shape.nbytes,
                shape=shape.shape,
                dtype=shape.dtype.ge_number,
                fill=0 if output.zeroed else None,
                result=str(work / f"out-{output.name}-{i}"),
            )
            for i, shape in enumerate(shapes)
        )
        outputs[output.name] = tuple(zip(shapes, (Path(buffer.result) for buffer in blank), strict=True))
        arguments.append(blank if is_list else blank[0])
    return Layout(tuple(arguments), outputs)


def _input(name: str, value: Array, work: Path, updated: str | None) -> Buffer:
    import numpy as np

    path = work / f"in-{name}"
    data = np.ascontiguousarray(value)
    # flat first: NumPy does not view a scalar array as a type of another size
    data.reshape(-1).view(np.uint8).tofile(path)
    dtype = next(known for known in DType if known.numpy() == data.dtype)
    result = str(work / f"out-{name}") if updated else ""
    return Buffer(name, data.nbytes, value.shape, dtype.ge_number, str(path), result=result, restore=bool(updated))


def _index(value: object, i: int) -> str:
    return f"[{i}]" if isinstance(value, list) else ""


def _shapes(request: RunRequest, name: str) -> tuple[TensorShape, ...]:
    declared = request.case.outputs[name]
    return (declared,) if isinstance(declared, TensorShape) else declared


def read_outputs(request: RunRequest, layout: Layout) -> dict[str, Array | list[Array]]:
    """Raw results viewed in the declared shape and type."""
    import numpy as np

    outputs: dict[str, Array | list[Array]] = {}
    for name, members in layout.outputs.items():
        arrays = [
            np.fromfile(path, dtype=np.uint8, count=shape.nbytes).view(shape.dtype.numpy()).reshape(shape.shape)
            for shape, path in members
        ]
        outputs[name] = arrays[0] if isinstance(request.case.outputs[name], TensorShape) else list(arrays)
    return outputs


class Bench:
    """Runs jobs on leased devices, one worker process each, and looks at a device after a fault."""

    def __init__(self, site: Site, leases: Leases, *, confined: bool) -> None:
        self._site, self._leases, self._confined = site, leases, confined

    def run(self, job: Job, work: Path, timeout_s: float, read: tuple[Path, ...]) -> tuple[Report, Finished]:
        """Run ``job`` and return what the worker says."""
        path = work / "job.json"
        path.write_text(job.dumps(), encoding="utf-8")
        command = (sys.executable, "-m", "npukb_npu.worker", str(path))
        package = Path(job.package) if job.package else None
        finished = self._start(command, work, timeout_s + _STARTUP_S, read, package)
        return Report.read(Path(job.report)), finished

    def verdict(self, report: Report, finished: Finished, device: Device, work: Path) -> Observation | None:
        """What a run that did not end well means, None for one that did. A device that may have suffered is probed.

        Raises nothing: a device that fails its probes is in quarantine, which the next lease respects.
        """
        if report.done and finished.returncode == 0:
            return self._damage(report)
        phase = Phase(report.phase)
        if report.code:
            judged = judge(report.code, phase)
            words = f": {report.words.splitlines()[0]}" if report.words else ""
            note = _note(judged.rule, f"{judged.message}{words}", _REMEDIES.get(judged.rule, ""))
            outcome, probe = judged.outcome, judged.probe
        else:
            outcome, note = _ended(finished, phase)
            probe = True
        notes = [note, *(self._probe(device, work) if probe else ())]
        return Observation(outcome, {}, tuple(notes), seconds=finished.seconds)

    def loads_torch(self, work: Path, wall_s: float) -> str:
        """Why a worker cannot import torch_npu; empty when it can."""
        return self._asked((sys.executable, "-c", "import torch, torch_npu"), work, wall_s)

    def probe(self, device: Device, work: Path, wall_s: float = _PROBE_S) -> str:
        """Why a device does not answer to a fresh process; empty when it does."""
        command = (sys.executable, "-m", "npukb_npu.worker", "--probe", str(device.index), *self._folders())
        return self._asked(command, work, wall_s)

    def _asked(self, command: tuple[str, ...], work: Path, wall_s: float) -> str:
        """The last thing that a process says that does not end well; empty for one that does."""
        finished = self._start(command, work, wall_s, (), None)
        if finished.timed_out:
            return f"the probe did not end within {wall_s:g} s"
        return "" if finished.returncode == 0 else (finished.output.strip().splitlines() or ["the probe failed"])[-1]

    def _folders(self) -> tuple[str, ...]:
        return tuple(str(library_folder) for library_folder in self._site.library_folders)

    def _probe(self, device: Device, work: Path) -> Iterator[Diagnostic]:
        """A second probe decides: the driver may need a moment to clear up after a killed process."""
        if not self.probe(device, work):
            return
        if reason := self.probe(device, work):
            self._leases.take_out(device.node, reason)
            message = f"device {device.index} (/dev/davinci{device.node}) failed its probes afterwards: {reason}"
            remedy = "It is probed before it is used again; when that goes on, reset it as npu-smi describes."
            yield Diagnostic(Severity.NOTE, "device_quarantined", message, remedy=remedy)

    def _damage(self, report: Report) -> Observation | None:
        if not report.damaged:
            return None
        notes = tuple(
            _note(
                "illegal_write",
                f"{count} bytes {side} buffer {name} were changed: the kernel wrote outside of it",
                "Limit every transfer to the tensor's own elements, above all in the last tile.",
            )
            for name, side, count in report.damaged
        )
        return Observation(Outcome.RULE_VIOLATION, {}, notes)

    def _start(
        self, command: tuple[str, ...], work: Path, wall_s: float, read: tuple[Path, ...], package: Path | None
    ) -> Finished:
        import npukernelbench

        libraries = (*self._folders(), *map(str, read))
        environment = environment_for(self._site, work / "private", package, libraries)
        packages = (Path(__file__).parents[1], Path(npukernelbench.__file__).parents[1])
        environment["PYTHONPATH"] = ":".join((*map(str, packages), environment.get("PYTHONPATH", "")))
        command = self.confined(command, work, wall_s, read)
        return run(command, work=work, environment=environment, wall_s=wall_s)

    def confined(self, command: tuple[str, ...], work: Path, wall_s: float, read: tuple[Path, ...]) -> tuple[str, ...]:
        """``command`` with no more than a worker on a device needs."""
        import npukernelbench

        if not self._confined:
            return command
        packages = (Path(__file__).parents[1], Path(npukernelbench.__file__).parents[1])
        home = (self._site.home,) if self._site.home else ()
        readable = (*packages, *home, self._site.root / "usr/local/Ascend", *read)
        reach = Reach(readable, (work, SHARED_MEMORY), self._site.device_files)
        return wrap(command, reach, file_bytes=_FILE_BYTES, cpu_s=int(wall_s * 8) + 10)


_REMEDIES = {
    "device_exception": "Run the kernel on the twin: --executor twin names the line and the rule that it breaks.",
    "device_timeout": "Look for flags that nobody sets and loops without an end; the twin explains most of them.",
    "operator_definition": "Check the definition's types and formats, and the tiling function's return values.",
    "workspace": "Ask for less workspace in the tiling function.",
    "infra_error": "npukb doctor --npu tries the device out; the same command repeats what was lost.",
    "timeout": "Look for loops without an end in the kernel and in the tiling function.",
    "crash": "Run the kernel on the twin: --executor twin names the line; look at the host code's pointers and sizes.",
}


def _ended(finished: Finished, phase: Phase) -> tuple[Outcome, Diagnostic]:
    """A worker that ended, or was ended, without saying why."""
    in_kernel = phase in (Phase.LAUNCH, Phase.TILING)
    remedy = _REMEDIES[("timeout" if finished.timed_out else "crash") if in_kernel else "infra_error"]
    if finished.timed_out:
        outcome = Outcome.TIMEOUT if in_kernel else Outcome.INFRA_ERROR
        return outcome, _note("timeout", f"no end within {finished.seconds:.0f} s while doing: {phase.value}", remedy)
    how = f"signal {-finished.returncode}" if finished.returncode < 0 else f"exit code {finished.returncode}"
    outcome = Outcome.CRASH if in_kernel else Outcome.INFRA_ERROR
    tail = finished.output.strip().splitlines()[-1:] or [""]
    said = f"the worker ended with {how} while doing: {phase.value}. {tail[0]}".rstrip()
    return outcome, _note("crash", said, remedy)


def _note(rule: str, message: str, remedy: str = "") -> Diagnostic:
    return Diagnostic(Severity.ERROR, rule, message, remedy=remedy)
