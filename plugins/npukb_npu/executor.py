"""The device as an executor: build with the vendor's toolkit, run on a leased device, measure there.

Nothing here ever falls back to the twin: what cannot be done on a device is a fault of the machine or said before the
run starts. Not yet run on hardware.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from enum import Enum
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, Field

from npukb_npu import discovery, flows, projects
from npukb_npu.aclnn import Binding, Prototype, Unbound, bind, parse_header
from npukb_npu.builds import Builder, Failure
from npukb_npu.calls import operator_call
from npukb_npu.confine import landlock_version
from npukb_npu.device import Bench, Layout, lay_out, read_outputs
from npukb_npu.direct import launches
from npukb_npu.discovery import Site
from npukb_npu.jobs import Job
from npukb_npu.lease import Leases, Sharing, default_folder
from npukb_npu.machine import Device
from npukb_npu.msprof import profile_case
from npukb_npu.profiles import measured_profile
from npukb_npu.status import STATUS
from npukb_npu.timing import Budget
from npukernelbench.config import default_cache_dir
from npukernelbench.errors import ExecutorError, ToolchainError, UsageError
from npukernelbench.judge.executor import Finding
from npukernelbench.judge.held import Held
from npukernelbench.judge.launchfile import WORKSPACE_BYTES
from npukernelbench.judge.scratch import Scratch
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.execution import Artifact, CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Severity, Tier, Track
from npukernelbench.nouns.task import Core, Task
from npukernelbench.strict import Strict

__all__ = ["Detail", "Memory", "NpuArgs", "NpuExecutor", "entry_file"]

_SHAPES_COME_LATE = "OutputShapeDependOnCompute"


class Detail(str, Enum):
    """How much is measured of a right kernel."""

    OFF = "off"  # nothing; devices are shared
    TIME = "time"  # its time by event pairs, on a device of its own
    FULL = "full"  # also the counters of the vendor's profiler


class Memory(str, Enum):
    """Whose device memory buffers are in. Guard bands and poison are the same."""

    ACL = "acl"  # the runtime's
    TORCH_NPU = "torch_npu"  # tensors of torch_npu
    AUTO = "auto"  # torch_npu for operators where it is installed, else acl


class NpuArgs(Strict):
    """Arguments of the executor, given by ``--executor_args key=value,…``."""

    devices: str = Field("", description="devices to use, such as 0;2;3; empty for all of this machine")
    profile: Detail = Field(Detail.TIME, description="off, time, or full: how much is measured")
    sampling_s: float = Field(1.0, gt=0, description="seconds of samples per case")
    warmup_s: float = Field(0.2, ge=0, description="seconds of launches before the first sample")
    lease_timeout_s: float = Field(600.0, gt=0, description="how long to wait for a device")
    sandbox: str = Field("auto", pattern="^(auto|off)$", description="auto or off: how builds and workers are confined")
    memory: Memory = Field(Memory.AUTO, description="acl, torch_npu, or auto: which device memory holds the buffers")
    threads: int = Field(0, ge=0, description="threads of one build; 0 uses every CPU")
    cache_dir: Path | None = Field(None, description="folder of builds")


@dataclass(frozen=True, slots=True)
class _Built:
    """A build that can be run. ``binding`` is there for custom operators; ``kernel`` is how its kernel's name begins,
    alternatives with bars between."""

    folder: Path
    library: Path
    kernel: str
    binding: Binding | None = None
    launched: launches.Written | None = None

    @property
    def package(self) -> str:
        """The folder ``vendors/NAME`` of an installed operator, under which the runtime looks for kernels."""
        return "" if self.binding is None else str(self.library.parents[2])


class NpuExecutor:
    """Runs kernels on Ascend devices of this machine. Safe to call from several threads."""

    Args: ClassVar[type[BaseModel]] = NpuArgs
    name = "npu"
    tier = Tier.NPU
    tracks = frozenset(Track)
    preference: ClassVar[int] = 10

    @classmethod
    def unusable(cls, executor_args: Mapping[str, object]) -> str:  # noqa: ARG003  the protocol's signature
        """The first thing that is missing, of everything that ``npukb doctor`` looks at."""
        return discovery.first_obstacle(discovery.findings(Site()))

    def __init__(self, args: NpuArgs, *, site: Site | None = None, leases: Leases | None = None) -> None:
        self._args = args
        self._site = site or Site()
        self._leases = leases or Leases(default_folder())
        confined = args.sandbox == "auto"
        self._cache = args.cache_dir or default_cache_dir()
        self._builder = Builder(self._site, self._cache, confined=confined, threads=args.threads or os.cpu_count() or 1)
        self._bench = Bench(self._site, self._leases, confined=confined)
        self._lock = threading.Lock()
        self._built: Held[Path, _Built] = Held()
        self._work: Scratch | None = None

    def describe(self) -> Mapping[str, str]:
        """Toolkit, driver and chip: what results depend on besides the harness's own version."""
        return {
            "executor": self.name,
            "status": STATUS,
            "cann": self._site.version,
            "driver": self._site.driver,
            "chip": self._site.chip,
            "profile": self._args.profile.value,
            "memory": self._memory(),
        }

    def sandbox_level(self) -> str:
        """Landlock around builds and workers, as far as the kernel has it; the device itself knows no walls."""
        version = landlock_version() if self._args.sandbox == "auto" else 0
        return f"landlock {version} (host side)" if version else "none"

    def prepare(self, say: Callable[[str], None], track: Track) -> None:  # noqa: ARG002  the protocol's signature
        """Refuse to start where builds or devices cannot work; nothing is repaired or replaced here."""
        # without torch the eager baseline cannot be measured, but kernels can be judged
        obstacle = discovery.first_obstacle(
            [finding for finding in discovery.findings(self._site) if finding.name not in ("torch_npu",)]
        )
        if obstacle:
            raise ExecutorError(f"the npu executor cannot work here: {obstacle}", remedy="npukb doctor --executor npu")
        say(f"npu: {len(self.devices)} devices, CANN {self._site.version}; {STATUS}")

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices that may be used, by the runtime's own numbers. UsageError for one that is not there."""
        if not self._args.devices:
            return self._site.devices
        known = {device.index: device for device in self._site.devices}
        # no comma: that one separates the executor's arguments
        words = re.split(r"[;:\s]+", self._args.devices.strip())
        if wrong := [word for word in words if not (word.isascii() and word.isdecimal())]:
            raise UsageError(
                f"{wrong[0]!r} is no number of a device", field="devices", remedy="for example devices=0;2;3"
            )
        wanted = [int(word) for word in words]
        if missing := [number for number in wanted if number not in known]:
            raise UsageError(
                f"there is no device {missing[0]}: this process sees {len(known)}, numbered from 0",
                field="devices",
                remedy="numbers count what ASCEND_RT_VISIBLE_DEVICES shows, not /dev/davinciN",
            )
        return tuple(known[number] for number in wanted)

    def clock_hz(self) -> float:
        """The rated clock of this machine's chip, as published; see the machine files of the twin for sources."""
        family = (
            "910b1" if "910b1" in self._site.chip.lower() else "910b4" if "910b4" in self._site.chip.lower() else ""
        )
        return {"910b1": 1.85e9, "910b4": 1.65e9}.get(family, 1.8e9)

    def compile(self, request: CompileRequest) -> CompileResult:
        """Build a launcher library around device code, or what launches it, or a custom-operator package around host
        and device code.
        """
        started = time.monotonic()
        self._require_toolkit()
        build = {Track.DYNAMIC: self._operator, Track.LAUNCH: self._launching}.get(request.track, self._direct)
        result = build(request)
        return replace(result, seconds=time.monotonic() - started)

    def _direct(self, request: CompileRequest) -> CompileResult:
        task, files = request.task, request.candidate.files
        source = entry_file(files, task.kernel)
        if source is None:
            return _refused("compile", f"no source file defines the kernel entry {task.kernel}")
        plan = flows.direct(self._site, files, source, task.kernel, task.arguments)
        built = self._builder.build(plan.project, plan.steps, plan.product, request.timeout_s)
        if isinstance(built, Failure):
            return CompileResult(built.outcome, None, built.diagnostics)
        folder, key = built
        return self._kept(key, _Built(folder, next(folder.glob(plan.product)), task.kernel))

    def _launching(self, request: CompileRequest) -> CompileResult:
        task, files = request.task, request.candidate.files
        how = launches.written(files, task)
        if isinstance(how, Diagnostic):
            return CompileResult(Outcome.COMPILE_ERROR, None, (how,))
        if isinstance(how, launches.Unsupported):
            return CompileResult(Outcome.INFRA_ERROR, None, (how.diagnostic,))
        plan = flows.launching(self._site, launches.project(files, how, task))
        built = self._builder.build(plan.project, plan.steps, plan.product, request.timeout_s)
        if isinstance(built, Failure):
            return CompileResult(built.outcome, None, built.diagnostics)
        folder, key = built
        return self._kept(key, _Built(folder, next(folder.glob(plan.product)), task.kernel, launched=how))

    def _operator(self, request: CompileRequest) -> CompileResult:
        task, files = request.task, request.candidate.files
        operator = _operator_type(files, task.kernel)
        if operator is None:
            return _refused("operator_definition", f"no OP_ADD registers an operator whose kernel is {task.kernel}")
        plan = flows.operator(self._site, files, operator, projects.vendor_of(request.candidate.hash))
        built = self._builder.build(plan.project, plan.steps, plan.product, request.timeout_s)
        if isinstance(built, Failure):
            return CompileResult(built.outcome, None, built.diagnostics)
        folder, key = built
        prototype = _prototype(folder, operator)
        if prototype is None:
            raise ToolchainError(f"the toolkit generated no interface for operator {operator}")
        host = "".join(text for name, text in files.items() if name.startswith("op_host/"))
        bound = bind(prototype, task, shapes_come_late=_SHAPES_COME_LATE in host)
        if isinstance(bound, Unbound):
            return _refused("operator_definition", bound.message)
        return self._kept(key, _Built(folder, next(folder.glob(plan.product)), f"{task.kernel}|{operator}", bound))

    def _kept(self, key: str, built: _Built) -> CompileResult:
        self._built.keep(built.folder, built)
        return CompileResult(Outcome.OK, Artifact(key=key, path=built.folder))

    def run(self, request: RunRequest) -> Observation:
        """Run one case on a leased device; a device that suffers from it is probed and, if need be, taken out."""
        built = self._built.get(request.artifact.path)
        sharing = Sharing.SHARED if self._args.profile is Detail.OFF else Sharing.EXCLUSIVE
        # leases are shared by all processes of a machine, which agree on nodes only
        by_node = {device.node: device for device in self.devices}
        with tempfile.TemporaryDirectory(prefix="run-", dir=self._folder()) as name:

            def probe(node: int) -> str:
                return self._bench.probe(by_node[node], Path(name))

            with self._leases.lend(tuple(by_node), sharing, self._args.lease_timeout_s, probe) as node:
                return self._on_device(request, built, by_node[node], Path(name))

    def _on_device(self, request: RunRequest, built: _Built, device: Device, work: Path) -> Observation:
        layout = lay_out(request, work)
        job = self._job(request, built, layout, device, work)
        budget_s = self._args.sampling_s + self._args.warmup_s if job.budget else 0.0
        report, finished = self._bench.run(job, work, request.timeout_s + 4 * budget_s, _package(built))
        unwell = self._bench.verdict(report, finished, device, work)
        if unwell is not None:
            return unwell
        profile = measured_profile(report, request.task, self._site)
        # before the profiler's run, which writes the same files
        outputs = read_outputs(request, layout)
        # The profiler's counters are of one kernel; a function may launch several.
        if profile is not None and self._args.profile is Detail.FULL and built.launched is None:
            job = replace(job, budget=None)
            read = _package(built)
            profile = profile_case(self._site, self._bench, job, profile, work, read, kernel=built.kernel)
        return Observation(
            Outcome.OK, outputs, profile=profile, inputs_intact=not report.changed, seconds=finished.seconds
        )

    def _job(self, request: RunRequest, built: _Built, layout: Layout, device: Device, work: Path) -> Job:
        call = None if built.binding is None else operator_call(built.binding, request)
        budget = Budget(warmup_s=self._args.warmup_s, sampling_s=self._args.sampling_s)
        timed = self._args.profile is not Detail.OFF
        return Job(
            device=device.index,
            library=str(built.library),
            folders=tuple(str(library_folder) for library_folder in self._site.library_folders),
            arguments=layout.arguments,
            # an operator's tiling function chooses blocks and workspace
            blocks=0 if call else "vector" if request.task.core is Core.VECTOR else "cube",
            workspace_bytes=0 if call else _workspace_bytes(request.task, built),
            seed=request.seed,
            timeout_ms=max(int(request.timeout_s * 1e3), 1),
            report=str(work / "report.json"),
            call=call,
            torch_memory=self._takes_torch(is_operator=call is not None),
            budget=asdict(budget) if timed else None,
            package=built.package,
            words=launches.words(built.launched, request.task, request.case) if built.launched else (),
        )

    def _takes_torch(self, *, is_operator: bool) -> bool:
        """Whether buffers are tensors of torch_npu. What was asked for and is missing is a fault of the worker."""
        if self._args.memory is Memory.AUTO:
            return is_operator and bool(self._site.installed("torch") and self._site.installed("torch-npu"))
        return self._args.memory is Memory.TORCH_NPU

    def _memory(self) -> str:
        """For provenance: whose memory kernels of either track are given."""
        names = {True: f"torch_npu {self._site.installed('torch-npu')}".rstrip(), False: "acl"}
        direct, operator = (names[self._takes_torch(is_operator=is_operator)] for is_operator in (False, True))
        return direct if direct == operator else f"{operator} for operators, {direct} for direct launch"

    def release(self, artifact: Artifact) -> None:
        """Forget the artifact; its build stays in the cache."""
        self._built.release(artifact.path)

    def close(self) -> None:
        """Remove temporary files; builds stay in the cache."""
        self._built.clear()
        with self._lock:
            if self._work is not None:
                self._work.close()
                self._work = None

    def diagnose(self) -> Sequence[Finding]:
        """For ``npukb doctor``: every piece with its remedy."""
        return discovery.findings(self._site)

    def try_out(self, say: Callable[[str], None]) -> Iterator[Finding]:
        """For ``npukb doctor --npu``: folders, walls, every device, a vector and a cube kernel."""
        from npukb_npu import trial

        bare = Bench(self._site, self._leases, confined=False)
        work = Path(self._folder())

        def answers(bench: Bench) -> Callable[[Device], str]:
            def answer(device: Device) -> str:
                with tempfile.TemporaryDirectory(prefix="probe-", dir=work) as name:
                    return bench.probe(device, Path(name), trial.PROBE_S)

            return answer

        def look() -> list[Finding]:
            with ThreadPoolExecutor(1) as beside:
                loading = beside.submit(self._loads_torch) if self._takes_torch(is_operator=True) else None
                findings = list(trial.try_devices(self.devices, answers(self._bench), answers(bare)))
                return findings + ([trial.try_torch(loading.result())] if loading else [])

        yield from trial.try_folders((("cache", self._cache), ("leases", self._leases.folder)))
        yield trial.try_walls(self._args.sandbox == "auto")
        say(f"opening {len(self.devices)} devices, building {len(trial.KERNELS)} kernels; builds are kept")
        yield from trial.try_kernels(self, trial.KERNELS, meanwhile=look, say=say)

    def _loads_torch(self) -> str:
        from npukb_npu import trial

        with tempfile.TemporaryDirectory(prefix="torch-", dir=self._folder()) as name:
            return self._bench.loads_torch(Path(name), trial.TORCH_S)

    def _require_toolkit(self) -> None:
        if self._site.home is None or self._site.compiler is None:
            raise ToolchainError(
                "there is no CANN toolkit here", remedy="npukb doctor --executor npu says what is missing"
            )

    def _folder(self) -> str:
        with self._lock:
            if self._work is None:
                self._work = Scratch("npu")
            return str(self._work.path)


def entry_file(files: Mapping[str, str], kernel: str) -> str | None:
    """The source file that defines the kernel; None when there is none."""
    # with the body's brace: a declaration may stand in another file than the definition
    entry = re.compile(rf"__global__[^;{{]*\b{re.escape(kernel)}\s*\([^;{{]*\)\s*\{{", re.DOTALL)
    return next((name for name in sorted(files) if entry.search(files[name])), None)


def _operator_type(files: Mapping[str, str], kernel: str) -> str | None:
    """The registered operator type whose kernel has that name."""
    host = "\n".join(text for name, text in sorted(files.items()) if name.startswith("op_host/"))
    types = re.findall(r"\bOP_ADD\s*\(\s*(\w+)\s*[,)]", host)
    return next((type_ for type_ in types if projects.snake_case(type_) == kernel), None)


def _prototype(folder: Path, operator: str) -> Prototype | None:
    for header in sorted(folder.glob(f"installed/**/op_api/include/aclnn_{projects.snake_case(operator)}.h")):
        if prototype := parse_header(header.read_text(encoding="utf-8", errors="replace")):
            return prototype
    return None


def _package(built: _Built) -> tuple[Path, ...]:
    """Folders of a build that the worker needs."""
    return (built.folder, built.library.parent)


def _workspace_bytes(task: Task, built: _Built) -> int:
    return max(task.workspace_bytes, WORKSPACE_BYTES if built.launched else 512)


def _refused(rule: str, message: str) -> CompileResult:
    remedy = "npukb golden TASK --track dynamic, or static, prints an answer with the names that the task asks for."
    return CompileResult(Outcome.COMPILE_ERROR, None, (Diagnostic(Severity.ERROR, rule, message, remedy=remedy),))
