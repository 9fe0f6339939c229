"""The process that holds a device for one case: ``python -m npukb_npu.worker JOB`` or ``--probe DEVICE FOLDER...``.

It never sees expected values: inputs come as files, outputs go as files, the verdict is made elsewhere. After every
step the report says how far it came, so that a crash or a hang can be told from a fault before it. The outputs that are
judged are those of the last launch, which is a timed one where something is timed: a kernel that works once and then
pretends is wrong. Not yet run on hardware.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Protocol

from npukb_npu.acl import Acl, Attribute, MemcpyKind
from npukb_npu.aclnn import Kind
from npukb_npu.codes import AclError, Phase, is_memory
from npukb_npu.jobs import Buffer, Job, OperatorCall, Report
from npukb_npu.memory import Allocator, Space
from npukb_npu.projects import LAUNCHER
from npukb_npu.timing import Budget, measure
from npukb_npu.torchmemory import TorchMemory

__all__ = ["main"]

_PROBE_BYTES = 1 << 20
_PROBE_TIMEOUT_MS = 10_000
# the largest cache of the family: flushing more than there is does no harm
_FALLBACK_L2_BYTES = 192 << 20
_LIMIT_SHARE = 0.8  # of the time-out, after which the hardware is to stop a kernel: before we give up waiting


class _Launcher(Protocol):
    """Starts the candidate on one copy of the memory."""

    def ready(self, space: Space) -> None:
        """What has to be done anew before every launch and is no part of its time."""

    def launch(self, space: Space, stream: int) -> None:
        """Put the launch into the stream."""


class _Direct:
    """The generated launcher library."""

    def __init__(self, job: Job, blocks: int) -> None:
        self._start = getattr(ctypes.CDLL(job.library), LAUNCHER)
        self._start.restype = ctypes.c_int
        self._start.argtypes = (ctypes.c_uint32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
        self._blocks, self._words = blocks, job.words

    def ready(self, space: Space) -> None:
        """Nothing."""

    def launch(self, space: Space, stream: int) -> None:
        workspace = space.workspace.address if space.workspace else 0
        pointers = [*space.pointers, workspace]
        # a host function says what it takes; a kernel takes the task's tensors and then the workspace
        if self._words:
            pointers = [_address(space, workspace, kind, value) for kind, value in self._words]
        code = self._start(self._blocks, stream, (ctypes.c_void_p * len(pointers))(*pointers))
        if code:
            raise AclError(LAUNCHER, code)


def _address(space: Space, workspace: int, kind: str, value: int) -> int:
    """A word of a call, as the generated launcher takes it."""
    return {"argument": lambda: space.pointers[value], "workspace": lambda: workspace}.get(kind, lambda: value)()


class _Operator:
    """A custom operator through its two-phase interface. An executor serves one launch."""

    def __init__(self, acl: Acl, job: Job, call: OperatorCall, report: Report) -> None:
        library = ctypes.CDLL(job.library, mode=ctypes.RTLD_GLOBAL)
        self._prepare, self._run = getattr(library, call.prepare), getattr(library, call.run)
        # the first phase has no argtypes: its parameters differ by operator and come as ctypes objects
        self._prepare.restype = self._run.restype = ctypes.c_int
        self._run.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p)
        self._acl, self._call, self._job, self._report = acl, call, job, report
        self._described: dict[int, list[Any]] = {}
        self._executor, self._workspace_bytes = ctypes.c_void_p(), ctypes.c_uint64()

    def ready(self, space: Space) -> None:
        self._begin(Phase.TILING)
        # descriptors hold as long as their memory; only the executor is used up by a launch
        if id(space) not in self._described:
            self._described[id(space)] = [self._value(kind, value, space) for kind, value in self._call.parameters]
        arguments = self._described[id(space)]
        size, executor = ctypes.byref(self._workspace_bytes), ctypes.byref(self._executor)
        code = self._prepare(*arguments, size, executor)
        if code:
            raise AclError(self._call.prepare, code, self._acl.recent_error())
        wanted = self._workspace_bytes.value
        # memory is never given back, so a workspace that is large enough is used again
        if wanted and (space.workspace is None or space.workspace.buffer.nbytes < wanted):
            self._begin(Phase.WORKSPACE)
            space.workspace = space.add(Buffer("workspace", wanted, (), 0))
        self._begin(Phase.LAUNCH)

    def launch(self, space: Space, stream: int) -> None:
        address = space.workspace.address if space.workspace else None
        code = self._run(address, self._workspace_bytes, self._executor, stream)
        if code:
            raise AclError(self._call.run, code, self._acl.recent_error())

    def tell_shape(self, space: Space, shaped: int, shape: int) -> None:
        """Write the shape that the kernel has given an output where the task has it: its rank and its extents."""
        import numpy as np

        position = next(
            i for i, parameter in enumerate(self._call.parameters) if parameter == (Kind.TENSOR.value, shaped)
        )
        extents = self._acl.view_shape(self._described[id(space)][position].value)
        [placed] = space.members[shape] or []
        words = np.array([len(extents), *extents], np.uint64).view(np.uint8)
        # cut to the task's tensor: NumPy refuses to assign more than fits
        placed.contents[: words.size] = words[: placed.contents.size]

    def _begin(self, phase: Phase) -> None:
        self._report.phase = phase.value
        self._report.write(Path(self._job.report))

    def _value(self, kind: str, value: Any, space: Space) -> Any:
        if kind == Kind.TENSOR:
            placed = space.members[value]
            # an absent tensor is a null pointer
            return ctypes.c_void_p(None if placed is None else self._tensor(placed[0]))
        if kind == Kind.TENSOR_LIST:
            members = space.members[value] or []
            return ctypes.c_void_p(
                self._acl.handles("aclCreateTensorList", [self._tensor(member) for member in members])
            )
        if kind == Kind.SCALAR:
            dtype, data = value
            return ctypes.c_void_p(self._acl.scalar(bytes.fromhex(data), dtype))
        if kind == Kind.SCALAR_LIST:
            scalars = [self._acl.scalar(bytes.fromhex(data), dtype) for dtype, data in value]
            return ctypes.c_void_p(self._acl.handles("aclCreateScalarList", scalars))
        arrays = {
            Kind.INT_ARRAY: ctypes.c_int64,
            Kind.FLOAT_ARRAY: ctypes.c_float,
            Kind.BOOL_ARRAY: ctypes.c_bool,
        }
        if kind in arrays:
            name = Kind(kind).value.replace("acl", "aclCreate", 1)
            return ctypes.c_void_p(self._acl.array(name, arrays[Kind(kind)], tuple(value)))
        plain = {
            Kind.INT: ctypes.c_int64,
            Kind.DOUBLE: ctypes.c_double,
            Kind.FLOAT: ctypes.c_float,
            Kind.BOOL: ctypes.c_bool,
        }
        return ctypes.c_char_p(value.encode()) if kind == Kind.TEXT else plain[Kind(kind)](value)

    def _tensor(self, placed: Any) -> int:
        return self._acl.tensor(placed.buffer.shape, placed.buffer.dtype, placed.address)


class _Sitting:
    """One job on one device."""

    def __init__(self, job: Job, report: Report) -> None:
        self.job, self.report = job, report
        folders = tuple(map(Path, job.folders))
        self.acl = Acl(folders, meta=job.call is not None)
        # before `open`: torch_npu initialises the runtime, which a process may do once
        torch_memory = TorchMemory(job.device) if job.torch_memory else None
        self.acl.open(job.device, initialise=torch_memory is None)
        self.memory: Allocator = torch_memory or self.acl
        report.limit_s = self.acl.limit_kernels(job.timeout_ms / 1e3 * _LIMIT_SHARE)
        self.stream = self.memory.create_stream()
        report.memory = torch_memory.name if torch_memory else "acl"
        report.soc = self.acl.soc_name()
        report.blocks = self._blocks()

    def begin(self, phase: Phase) -> None:
        """Say what comes now."""
        self.report.phase = phase.value
        self.report.write(Path(self.job.report))

    def run(self) -> None:
        """Launch, time, collect."""
        job = self.job
        self.begin(Phase.PREPARE)
        budget = Budget(**job.budget) if job.budget else None  # type: ignore[arg-type]
        spaces = [self._space(0)]
        self.begin(Phase.LAUNCH)
        launcher: _Launcher = (
            _Operator(self.acl, job, job.call, self.report) if job.call else _Direct(job, self.report.blocks)
        )
        self._once(launcher, spaces[0])
        used = spaces[0]
        if budget is not None:
            self.begin(Phase.PREPARE)
            # before the copies, which take as much memory as is left
            scratch = self._scratch()
            spaces += self._more_spaces(launcher, budget.copies - 1)
            budget = replace(budget, copies=len(spaces))
            self.begin(Phase.LAUNCH)
            timing = measure(lambda copy: self._timed(launcher, spaces[copy], scratch), time.monotonic, budget)
            self.report.timing = asdict(timing)
            used = spaces[-1]
            used.restore()
            self._once(launcher, used)
        self.begin(Phase.COLLECT)
        self._collect(launcher, spaces, used)
        self.report.done = True
        self.report.write(Path(job.report))
        if job.orderly:
            self.acl.finish(job.device)

    def _space(self, copy: int) -> Space:
        job = self.job
        return Space(
            self.acl, self.memory, job.arguments, workspace_bytes=job.workspace_bytes, seed=job.seed, copy=copy
        )

    def _more_spaces(self, launcher: _Launcher, most: int) -> list[Space]:
        """Copies to rotate between, as many as the device's memory holds: a large case is timed on fewer."""
        spaces: list[Space] = []
        for copy in range(1, most + 1):
            try:
                space = self._space(copy)
                # an operator's workspace is allocated here, and may be what no longer fits
                launcher.ready(space)
            except AclError as error:
                if not is_memory(error.code):
                    raise
                break
            spaces.append(space)
        return spaces

    def _once(self, launcher: _Launcher, space: Space) -> None:
        launcher.ready(space)
        launcher.launch(space, self.stream)
        self.acl.call("aclrtSynchronizeStreamWithTimeout", self.stream, self.job.timeout_ms)

    def _timed(self, launcher: _Launcher, space: Space, scratch: tuple[int, int]) -> float:
        """Time of one launch in us, on memory as before the first, past a flushed cache.

        Flush, events and launch are tasks of one stream, and nothing waits between them: while the device flushes, the
        host sends the rest, so that the time is the kernel's and not that of its way to the device.
        """
        space.restore()
        launcher.ready(space)
        address, size = scratch
        self.acl.call("aclrtMemsetAsync", address, size, 0, size, self.stream)
        start, end = self.acl.create_event(), self.acl.create_event()
        self.acl.call("aclrtRecordEvent", start, self.stream)
        launcher.launch(space, self.stream)
        self.acl.call("aclrtRecordEvent", end, self.stream)
        self.acl.call("aclrtSynchronizeStreamWithTimeout", self.stream, self.job.timeout_ms)
        elapsed = self.acl.elapsed_us(start, end)
        for event in (start, end):
            self.acl.call("aclrtDestroyEvent", event)
        return elapsed

    def _scratch(self) -> tuple[int, int]:
        """Memory twice as large as the cache; writing it leaves nothing of a kernel's data in there."""
        try:
            size = 2 * self.acl.device_info(self.job.device, Attribute.L2_BYTES)
        except AclError:  # toolkits that do not know the question
            size = 2 * _FALLBACK_L2_BYTES
        return self.memory.malloc(size), size

    def _collect(self, launcher: _Launcher, spaces: Sequence[Space], used: Space) -> None:
        """Look at every copy's guards; outputs are those of the copy that was used last."""
        # all copies: a kernel may write outside of its tensors in some launches only
        for placed in (tensor for space in spaces for tensor in space.placed):
            self.report.damaged += [[placed.buffer.name, side, count] for side, count in placed.collect()]
        if self.job.call and self.job.call.late and isinstance(launcher, _Operator):
            launcher.tell_shape(used, *self.job.call.late)
        for placed in used.placed:
            if placed.buffer.result:
                Path(placed.buffer.result).write_bytes(placed.contents.tobytes())
            # only inputs have a file; a workspace may change
            elif placed.buffer.file and not placed.is_as_it_was:
                self.report.changed.append(placed.buffer.name)

    def _blocks(self) -> int:
        wanted = self.job.blocks
        if isinstance(wanted, int):
            return wanted
        return self.acl.device_info(
            self.job.device, Attribute.VECTOR_CORES if wanted == "vector" else Attribute.CUBE_CORES
        )


def _probe(device: int, folders: Sequence[str]) -> None:
    """Whether a device answers: status, memory there and back, an empty stream. Raises AclError when it does not."""
    import numpy as np

    acl = Acl(tuple(map(Path, folders)))
    acl.open(device)
    if not acl.device_works(device):
        raise AclError("aclrtQueryDeviceStatus", -1, "the device is not in its normal state")
    # every word differs, so that repeated or shifted memory is noticed
    pattern = np.arange(_PROBE_BYTES, dtype=np.uint32).view(np.uint8)[:_PROBE_BYTES].copy()
    back = np.zeros_like(pattern)
    address = acl.malloc(_PROBE_BYTES)
    acl.copy(address, pattern.ctypes.data, _PROBE_BYTES, MemcpyKind.HOST_TO_DEVICE)
    acl.copy(back.ctypes.data, address, _PROBE_BYTES, MemcpyKind.DEVICE_TO_HOST)
    if (back != pattern).any():
        raise AclError("aclrtMemcpy", -1, "memory does not hold what was written")
    acl.call("aclrtSynchronizeStreamWithTimeout", acl.create_stream(), _PROBE_TIMEOUT_MS)


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when the report says all there is to say; 1 for a probe that failed."""
    if arguments[0] == "--probe":
        try:
            _probe(int(arguments[1]), arguments[2:])
        except (AclError, OSError) as error:
            words = error.words if isinstance(error, AclError) else ""
            sys.stderr.write(f"{error} {words}\n")
            return 1
        return 0
    job, report = Job.read(Path(arguments[0])), Report()
    try:
        _Sitting(job, report).run()
    except AclError as error:
        report.code, report.function, report.words = error.code, error.function, error.words
        report.write(Path(job.report))
    if job.orderly:
        sys.exit(0)  # what a profiler does at the end of a process is part of its work
    return 0


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # The device may hang: nothing of the runtime's own clean-up is waited for, the driver frees what a process held.
    os._exit(status)
