"""Trying a machine out, for ``npukb doctor --npu``: folders, walls, every device, a vector and a cube kernel.

Each finding says what was done and how long it took; a failure names its remedy. The kernels are built, each beside the
other, while devices are probed and torch is loaded, so the whole takes as long as the slowest of them; builds are kept.
Not yet run on hardware; the two kernels are right on the twin.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from npukb_npu.confine import landlock_version
from npukb_npu.machine import Device
from npukernelbench.errors import NpukbError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.executor import Finding, FindingStatus
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Track
from npukernelbench.nouns.probe import probe_task
from npukernelbench.nouns.task import Core, Task, TensorCase, TensorShape, ValueSpec

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = [
    "KERNELS",
    "PROBE_S",
    "TORCH_S",
    "Kernel",
    "try_devices",
    "try_folders",
    "try_kernels",
    "try_torch",
    "try_walls",
]

_BUILD_S, _RUN_S = 60.0, 10.0
_TELL_S = 5.0  # how often somebody who waits is told for what
_SLOW_S = 10.0  # a build that takes longer is said to be kept
PROBE_S = 8.0
TORCH_S = 16.0  # torch alone takes seconds to load from a cold disk
_FOLDER = Path(__file__).parent / "trial_kernels"


class Runner(Protocol):
    """What is needed of an executor."""

    def compile(self, request: CompileRequest) -> CompileResult: ...

    def run(self, request: RunRequest) -> Observation: ...


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that a working device gets right, and what it computes."""

    name: str
    core: Core
    source: Path
    dtype: DType
    shape: tuple[int, ...]
    expected: Callable[[Array, Array], Array]

    @property
    def task(self) -> Task:
        """The kernel as a task."""
        shape = TensorShape(self.shape, self.dtype)
        out = TensorShape(self.shape, DType.FLOAT32)
        inputs = {name: TensorCase(shape, ValueSpec()) for name in ("x", "y")}
        return probe_task("Trial", inputs, outputs={"out": out}, core=self.core, kernel=self.name)

    def inputs(self) -> dict[str, Array]:
        """Small whole numbers: sums and products of them are exact in every type."""
        rng = np.random.default_rng(25)
        return {name: rng.integers(-8, 8, self.shape).astype(self.dtype.numpy()) for name in ("x", "y")}


KERNELS: tuple[Kernel, ...] = (
    Kernel("trial_vector", Core.VECTOR, _FOLDER / "vector.cpp", DType.FLOAT32, (1024,), lambda x, y: np.add(x, y)),
    Kernel(
        "trial_cube",
        Core.CUBE,
        _FOLDER / "cube.cpp",
        DType.FLOAT16,
        (16, 16),
        lambda x, y: np.matmul(x.astype(np.float32), y.astype(np.float32)),
    ),
)


def try_folders(folders: Sequence[tuple[str, Path]]) -> Iterator[Finding]:
    """Whether builds and leases can be written."""
    for name, folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # permissions do not tell of a full disk or of a mount that may only be read
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            remedy = "give another folder with NPUKB_CACHE_DIR or NPUKB_NPU_LEASES"
            yield Finding(name, FindingStatus.PROBLEM, f"{folder}: {error.strerror}", remedy)
        else:
            yield Finding(name, FindingStatus.OK, f"{folder} can be written")


def try_walls(confined: bool) -> Finding:
    """Which walls there are around builds and workers."""
    version = landlock_version()
    if confined and version:
        return Finding("walls", FindingStatus.OK, f"Landlock {version} around builds and workers")
    why = "switched off by sandbox=off" if version else "this kernel has no Landlock"
    return Finding("walls", FindingStatus.WARNING, why, "judge only answers that somebody has read, or in a container")


def try_torch(reason: str) -> Finding:
    """Whether torch_npu, whose memory operators are given, can be imported as workers import it."""
    if not reason:
        return Finding("torch_npu loads", FindingStatus.OK, "as workers import it")
    remedy = "install the torch_npu of the table in docs/npu.md, or use --executor_args memory=acl"
    return Finding("torch_npu loads", FindingStatus.PROBLEM, reason, remedy)


def try_devices(
    devices: Sequence[Device], probe: Callable[[Device], str], bare: Callable[[Device], str]
) -> Iterator[Finding]:
    """Whether every device answers to a fresh process. ``bare`` probes without walls: what answers to it alone needs
    something that the walls take away.
    """
    started = time.monotonic()
    with ThreadPoolExecutor(max(len(devices), 1)) as pool:
        reasons = list(pool.map(probe, devices))
    for device, reason in zip(devices, reasons, strict=True):
        name = f"device {device.index} answers"
        if not reason:
            detail = f"memory there and back, {time.monotonic() - started:.1f} s"
            yield Finding(name, FindingStatus.OK, detail)
        elif not bare(device):
            detail = f"only outside of the walls: {reason}"
            yield Finding(name, FindingStatus.PROBLEM, detail, "use --executor_args sandbox=off, and report this line")
        else:
            place = f"-i {device.card} -c {device.chip}"
            remedy = f"look at npu-smi info -t health {place}, end other programs on it, or reset it"
            yield Finding(name, FindingStatus.PROBLEM, reason, remedy)


def try_kernels(
    executor: Runner,
    kernels: Sequence[Kernel] = KERNELS,
    *,
    meanwhile: Callable[[], Sequence[Finding]] = tuple,
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[Finding]:
    """Build and run the kernels, and compare what they computed. They are built while ``meanwhile`` looks at devices:
    what is not well there leaves them unrun. ``say`` is told what is waited for.
    """
    with ThreadPoolExecutor(len(kernels)) as pool:
        builds = [pool.submit(_build, executor, kernel) for kernel in kernels]
        findings = meanwhile()
        yield from findings
        _await(dict(zip(kernels, builds, strict=True)), say)
        well = all(finding.status is FindingStatus.OK for finding in findings)
        yield from pool.map(lambda kernel, build: _tried(executor, kernel, build, runs=well), kernels, builds)


def _await(builds: Mapping[Kernel, Future[tuple[CompileResult, float]]], say: Callable[[str], None]) -> None:
    """Until all are built. Each build is ended at its own time-out."""
    started = time.monotonic()
    while left := wait(builds.values(), _TELL_S).not_done:
        names = " and ".join(f"{kernel.core.value} kernel" for kernel, build in builds.items() if build in left)
        say(f"waiting for the build of the {names}: {time.monotonic() - started:.0f} s, at most {_BUILD_S:.0f} s")


def _build(executor: Runner, kernel: Kernel) -> tuple[CompileResult, float]:
    task, source = kernel.task, kernel.source.read_text(encoding="utf-8")
    started = time.monotonic()
    request = CompileRequest(task, task.cases[0], Track.STATIC, candidate_of({"kernel.cpp": source}), _BUILD_S)
    return executor.compile(request), time.monotonic() - started


def _tried(executor: Runner, kernel: Kernel, build: Future[tuple[CompileResult, float]], *, runs: bool) -> Finding:
    name, started = f"{kernel.core.value} kernel", time.monotonic()

    def bad(detail: str, remedy: str) -> Finding:
        return Finding(name, FindingStatus.PROBLEM, detail, remedy)

    task, inputs = kernel.task, kernel.inputs()
    try:
        built, seconds = build.result()
        if built.artifact is None:
            words = "; ".join(map(str, built.diagnostics))
            return bad(
                f"does not compile: {words}", "the toolkit is not one that is supported: see docs/npu.md, Toolkits"
            )
        told = f"built in {seconds:.1f} s" + (", which is kept for the next time" if seconds > _SLOW_S else "")
        if not runs:
            return Finding(name, FindingStatus.WARNING, f"{told}; not run", "solve the problems above first")
        seen = executor.run(RunRequest(task, task.cases[0], built.artifact, dict(inputs), 0, _RUN_S))
    except NpukbError as error:
        return bad(error.message, error.remedy or "see docs/npu.md")
    if not seen.outputs:
        words = "; ".join(map(str, seen.diagnostics))
        return bad(f"{seen.outcome.value}: {words}", "docs/npu.md says what each outcome means")
    out = seen.outputs["out"]
    assert isinstance(out, np.ndarray)
    wrong = int(np.count_nonzero(out != kernel.expected(inputs["x"], inputs["y"])))
    if wrong:
        detail = f"{wrong} of {out.size} elements are wrong"
        return bad(detail, "the device or its toolkit computes wrongly: try another device, report it with this line")
    return Finding(name, FindingStatus.OK, f"right; {told}, run in {time.monotonic() - started:.1f} s")
