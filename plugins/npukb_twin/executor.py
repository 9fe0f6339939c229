"""The twin as an executor: compile for the host, run in a child process under the machine model, report what it saw."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, Field

from npukb_twin import documentation, teaching
from npukb_twin.compile import build, driver, lacking, toolchain
from npukb_twin.compile.guards import missing_guards, require_guards, verifies
from npukb_twin.compile.kinds import Images
from npukb_twin.direct import building
from npukb_twin.direct.steps import Sequence as Steps
from npukb_twin.launch.buffers import Plan, static_slots
from npukb_twin.launch.launching import Checker, Detail, Launcher, Start, Switch, run_case
from npukb_twin.launch.sandbox import LAUNCHER, Mode, open_sandbox, probe
from npukb_twin.launch.sequence import run_sequence
from npukb_twin.operator import dynamic, host_build, host_types
from npukb_twin.timing import machine
from npukb_twin.timing.model import time_model
from npukernelbench.config import default_cache_dir
from npukernelbench.judge.documented import ApiEntry, ApiStatus, RuleEntry
from npukernelbench.judge.executor import Finding, FindingStatus
from npukernelbench.judge.held import Held
from npukernelbench.judge.roofline import Roof
from npukernelbench.judge.scratch import Scratch, discard
from npukernelbench.nouns import (
    Artifact,
    CompileRequest,
    CompileResult,
    Diagnostic,
    Observation,
    Outcome,
    RunRequest,
    Tier,
    Track,
)
from npukernelbench.nouns.knowledge import Topic
from npukernelbench.strict import Strict

__all__ = ["TwinArgs", "TwinExecutor"]


class TwinArgs(Strict):
    """Arguments of the twin, given by ``--executor_args key=value,…``."""

    soc: str = Field("ascend910b2", description="machine file to model")
    toolchain: str = Field("auto", description="auto, zig, or a system compiler by name or path")
    threads: int = Field(0, ge=0, description="host threads per kernel; 0 uses every CPU")
    memory_mb: int = Field(8192, ge=64, description="address space a kernel process may use")
    checker: Checker = Field(Checker.FAST, description="off, fast, or full: how much is checked in a run")
    auto_sync: Switch = Field(
        Switch.ON, description="whether the compiler is assumed to insert missing synchronisation inside a core"
    )
    profile: Detail = Field(Detail.TIME, description="off, time, or full: how much of the predicted time is reported")
    launch: Start = Field(
        Start.WARM, description="warm or cold: whether the predicted launch is the first of its kernel"
    )
    sandbox: Mode = Field(
        Mode.AUTO, description="auto, strict, or off: how compilers and kernels are confined; strict fails without all"
    )
    cache_dir: Path | None = Field(None, description="folder of the built runtime")


class TwinExecutor:
    """The default executor. Safe to call from several threads."""

    Args: ClassVar[type[BaseModel]] = TwinArgs
    name = "twin"
    tier = Tier.TWIN
    tracks = frozenset(Track)
    preference: ClassVar[int] = 0

    @classmethod
    def unusable(cls, executor_args: Mapping[str, object]) -> str:  # noqa: ARG003  the protocol's signature
        """The twin needs nothing but itself."""
        return ""

    def __init__(self, args: TwinArgs) -> None:
        self._args = args
        self._machine = machine.load(args.soc)
        self._toolchain = toolchain.find(args.toolchain)
        self._cache = args.cache_dir or default_cache_dir()
        self._threads = args.threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._runtime: build.Runtime | None = None
        self._host: host_types.HostRuntime | None = None
        self._work: Scratch | None = None
        self._built: Held[Path, dynamic.Built | building.BuiltDirect | Images] = Held()

    def describe(self) -> Mapping[str, str]:
        """Toolchain and machine: what a verdict depends on besides the harness's own version."""
        return {
            "executor": self.name,
            "machine": self._machine.name,
            "machine_digest": self._machine.digest,
            "time_model": time_model(self._machine, self._args.launch),
            "launch": self._args.launch.value,
            "toolchain": self._toolchain.description,
            "checker": self._args.checker.value,
            "auto_sync": self._args.auto_sync.value,
        }

    def roof(self) -> Roof:
        """The peaks of the machine file."""
        return self._machine.roof

    def sandbox_level(self) -> str:
        """The measures that hold for every compiler and kernel: each launch takes all of them or fails."""
        measures = str(self._ready().sandbox.measures)
        missing = missing_guards(self._toolchain)
        return f"{measures}; no {', no '.join(missing)}" if missing else measures

    def api_names(self) -> Sequence[str]:
        """Every name of the API that the twin has, lacks, or knows to be other chips'."""
        return documentation.api_names()

    def api_status(self, name: str) -> ApiStatus | None:
        """Whether a kernel may use a name."""
        return documentation.api_status(name)

    def api_entry(self, name: str) -> ApiEntry | None:
        """What the twin's headers and tables say about a name."""
        return teaching.entry(name)

    @staticmethod
    def topics() -> Sequence[Topic]:
        """What authors of kernels need to know, by class of kernel."""
        return teaching.topics()

    def rule_entries(self) -> Sequence[RuleEntry]:
        """The hardware's rules as the twin checks them."""
        return documentation.rule_entries()

    def prepare(self, say: Callable[[str], None], track: Track) -> None:
        """Build what the track needs when this machine has none yet."""
        compiler = self._toolchain.description
        if build.locate(self._toolchain, self._cache) is None:
            say(f"building the twin's runtime with {compiler}, once per machine (about 20 s)")
        self._ready()
        if track is not Track.STATIC:
            if host_build.locate_host(self._toolchain, self._cache) is None:
                say(f"building the twin's host side with {compiler}, once per machine (about a minute)")
            self.tools()

    def compile(self, request: CompileRequest) -> CompileResult:
        """Compile the candidate's ``kernel.cpp``, or its host and device files, for the task's interface."""
        started = time.monotonic()
        result = self._compile_static(request) if request.track is Track.STATIC else self._compile_host_too(request)
        return replace(result, seconds=time.monotonic() - started)

    def _compile_static(self, request: CompileRequest) -> CompileResult:
        task = request.task
        if driver.KERNEL_FILE not in request.candidate.files:
            return CompileResult(Outcome.NO_CODE, None)
        runtime, column = self._ready(), self._machine.column
        key = self._key(request, runtime.key)
        with self._fresh() as work:
            compiled = driver.compile_kernel(
                request.candidate,
                entry=task.kernel,
                arguments=task.arguments,
                toolchain=self._toolchain,
                runtime=runtime,
                work=work,
                timeout_s=request.timeout_s,
                prelude=column.prelude if column else "",
            )
        if column is not None:
            compiled = lacking.checked(compiled, column, request.candidate.files)
        if compiled.images is None:
            discard(work)
            return CompileResult(compiled.outcome, None, compiled.diagnostics)
        self._built.keep(work, compiled.images)
        return CompileResult(compiled.outcome, Artifact(key=key, path=work), compiled.diagnostics)

    def _compile_host_too(self, request: CompileRequest) -> CompileResult:
        if self._machine.column is not None:
            return CompileResult(Outcome.INFRA_ERROR, None, (lacking.host_side_refused(self._machine.column),))
        tools = self.tools()
        with self._fresh() as work:
            made = building.build if request.track is Track.LAUNCH else dynamic.build
            built = made(request, tools, work)
        if isinstance(built, dynamic.Failed):
            discard(work)
            return CompileResult(built.outcome, None, built.diagnostics)
        key = self._key(request, f"{tools.runtime.key} {tools.host.key}")
        self._built.keep(work, built)
        warnings: list[Diagnostic] = []
        for diagnostic in (one for compiled in built.images.values() for one in compiled.diagnostics):
            if diagnostic not in warnings:  # their details cannot be hashed
                warnings.append(diagnostic)
        return CompileResult(Outcome.OK, Artifact(key=key, path=work), tuple(warnings))

    def run(self, request: RunRequest) -> Observation:
        """Run one case in a child process."""
        runtime = self._ready()
        plan = self._plan(request)
        if isinstance(plan, dynamic.Failed):
            return Observation(plan.outcome, {}, plan.diagnostics)
        with tempfile.TemporaryDirectory(prefix="run-", dir=self._folder()) as name:
            launcher = Launcher(
                host=runtime.host,
                sandbox=runtime.sandbox,
                machine=self._machine,
                threads=self._threads,
                memory_bytes=self._args.memory_mb << 20,
                checker=self._checker(request),
                auto_sync=self._args.auto_sync,
                detail=self._args.profile,
                start=self._args.launch,
                verifies=verifies(self._toolchain),
            )
            if isinstance(plan, Steps):
                return run_sequence(request, plan, launcher, Path(name))
            return run_case(request, plan, launcher, Path(name))

    def _checker(self, request: RunRequest) -> Checker:
        """How much is checked; whoever wants nothing checked gets nothing checked."""
        off = self._args.checker is Checker.OFF
        if request.watched and off:  # operands are known to who checks them
            return Checker.FAST
        return Checker.FULL if request.thorough and not off else self._args.checker

    def _plan(self, request: RunRequest) -> Plan | Steps | dynamic.Failed:
        built = self._built.get(request.artifact.path)
        if isinstance(built, building.BuiltDirect):
            return building.plan(built, request, self.tools())
        if isinstance(built, dynamic.Built):
            return dynamic.plan(built, request, self.tools())
        composition = built.composition()
        blocks = self._machine.blocks(composition)
        return Plan(
            images=built,
            composition=composition,
            slots=static_slots(request.task),
            blocks=blocks,
            cores=blocks,
            workspace_bytes=request.task.workspace_bytes,
        )

    def release(self, artifact: Artifact) -> None:
        """Remove a compiled kernel."""
        if self._built.release(artifact.path) is not None:
            discard(artifact.path)

    def close(self) -> None:
        """Remove every compiled kernel, and end the compilers that wait for the next one."""
        self._built.clear()
        with self._lock:
            for used in (self._runtime, self._host):
                if used is not None:
                    used.sandbox.close()
            if self._work is not None:
                self._work.close()
                self._work = None

    def diagnose(self) -> Sequence[Finding]:
        """For ``npukb doctor``: which compiler is used, which others could be, whether the runtime is there."""
        used = self._toolchain
        findings = [Finding("twin toolchain", FindingStatus.OK, used.description)]
        if used.loss:
            findings.append(Finding("twin toolchain", FindingStatus.WARNING, used.loss, "pip install ziglang==0.13.0"))
        others = [t.description for t in toolchain.candidates() if t.name != used.name]
        findings.append(Finding("other compilers", FindingStatus.OK, "; ".join(others) or "none"))
        findings.append(Finding("twin machine", FindingStatus.OK, f"{self._machine.name}: {self._machine.description}"))
        runtime = build.locate(used, self._cache)
        state = (
            f"ready: {runtime.host.parent}" if runtime else f"not built yet: the first run builds it in {self._cache}"
        )
        findings.append(Finding("twin runtime", FindingStatus.OK, state))
        host = host_build.locate_host(used, self._cache)
        state = f"ready: {host.runner.parent}" if host else "not built yet: the first run of track dynamic builds it"
        findings.append(Finding("twin host side", FindingStatus.OK, state))
        findings.append(self._guard_finding())
        findings.append(self._sandbox_finding(runtime))
        return findings

    def _guard_finding(self) -> Finding:
        """What keeps kernels from the runtime in their process, with the compiler in use."""
        name, missing = "twin guards", missing_guards(self._toolchain)
        if not missing:
            return Finding(name, FindingStatus.OK, "all")
        strict = self._args.sandbox is Mode.STRICT
        status = FindingStatus.PROBLEM if strict else FindingStatus.WARNING
        return Finding(name, status, f"missing: {', '.join(missing)}", "use the packaged compiler on x86-64")

    def _sandbox_finding(self, runtime: build.Runtime | None) -> Finding:
        """How well compilers and kernels are confined here."""
        name, mode = "twin sandbox", self._args.sandbox
        if mode is Mode.OFF:
            remedy = "leave executor_args sandbox at auto unless all kernels are your own"
            return Finding(name, FindingStatus.WARNING, "off: kernels have all your permissions", remedy)
        if runtime is None:
            return Finding(name, FindingStatus.OK, f"{mode.value}; its measures are known once the runtime is built")
        measures = probe(runtime.host.parent / LAUNCHER)
        if not measures.missing:
            return Finding(name, FindingStatus.OK, f"{mode.value}: {measures}")
        status = FindingStatus.PROBLEM if mode is Mode.STRICT else FindingStatus.WARNING
        remedy = "Landlock needs Linux 5.13 or newer; containers may forbid seccomp filters or user namespaces"
        return Finding(name, status, f"{mode.value}: {measures}; missing: {', '.join(measures.missing)}", remedy)

    def _ready(self) -> build.Runtime:
        with self._lock:
            if self._runtime is None:
                if self._args.sandbox is Mode.STRICT:
                    require_guards(self._toolchain)
                runtime = build.ensure(self._toolchain, self._cache)
                self._runtime = replace(runtime, sandbox=open_sandbox(self._args.sandbox, runtime.host.parent))
            return self._runtime

    def tools(self) -> dynamic.Tools:
        """What compiles both sides of operators, built when this machine has none yet."""
        # before the lock, which it takes itself and which no thread can take twice
        runtime = self._ready()
        with self._lock:
            if self._host is None:
                self._host = host_build.confined_host(self._toolchain, self._cache, self._args.sandbox)
            return dynamic.Tools(self._toolchain, runtime, self._host, self._machine)

    @contextmanager
    def _fresh(self) -> Iterator[Path]:
        """A new folder for one compilation; nothing of it stays when the compilation itself fails."""
        work = Path(tempfile.mkdtemp(prefix="compile-", dir=self._folder()))
        try:
            yield work
        # an interrupted run must not leave its folder either
        except BaseException:
            discard(work)
            raise

    def _folder(self) -> str:
        with self._lock:
            if self._work is None:
                fast = _fast_folder()
                self._work = Scratch("twin", Path(fast) if fast else None)
            return str(self._work.path)

    def _key(self, request: CompileRequest, runtime: str) -> str:
        column = self._machine.column
        parts = (runtime, request.task.kernel, *request.task.arguments, request.candidate.hash)
        # what a chip lacks decides what is compiled for it
        parts = (*parts, column.text) if column else parts
        return sha256("\0".join(parts).encode()).hexdigest()


def _fast_folder() -> str | None:
    """A folder in memory for buffers when the system has one with room; otherwise the usual temporary folder."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        return None
    stat = os.statvfs(shared)
    return str(shared) if stat.f_bavail * stat.f_frsize > (2 << 30) else None
