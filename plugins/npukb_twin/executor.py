"""The twin as an executor: compile for the host, run in a child process under the machine model, report what it saw."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from npukb_twin import build, driver, dynamic, hostside, launch, machine, toolchain
from npukb_twin.buffers import Plan, static_slots
from npukernelbench.judge.executor import Finding, FindingStatus
from npukernelbench.nouns import (
    Artifact,
    CompileRequest,
    CompileResult,
    Core,
    Observation,
    Outcome,
    RunRequest,
    Task,
    Tier,
    Track,
)

__all__ = ["TwinArgs", "TwinExecutor"]


class TwinArgs(BaseModel):
    """Arguments of the twin, given by ``--executor_args key=value,…``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    soc: str = Field("ascend910b2", description="machine file to model")
    toolchain: str = Field("auto", description="auto, zig, or a system compiler by name or path")
    threads: int = Field(0, ge=0, description="host threads per kernel; 0 uses every CPU")
    memory_mb: int = Field(8192, ge=64, description="address space a kernel process may use")
    checker: launch.Checker = Field(launch.Checker.FAST, description="off, fast, or full: how much is checked in a run")
    auto_sync: launch.Switch = Field(
        launch.Switch.ON, description="whether the compiler is taken to insert missing synchronisation inside a core"
    )
    cache_dir: Path | None = Field(None, description="where the built runtime is kept")


class TwinExecutor:
    """The default executor. Safe to call from several threads."""

    Args: ClassVar[type[BaseModel]] = TwinArgs
    name = "twin"
    tier = Tier.TWIN
    tracks = frozenset({Track.STATIC, Track.DYNAMIC})

    def __init__(self, args: TwinArgs) -> None:
        self._args = args
        self._machine = machine.load(args.soc)
        self._toolchain = toolchain.find(args.toolchain)
        self._cache = args.cache_dir or default_cache_dir()
        self._threads = args.threads or os.cpu_count() or 1
        self._lock = threading.Lock()
        self._runtime: build.Runtime | None = None
        self._host: hostside.HostRuntime | None = None
        self._work: tempfile.TemporaryDirectory[str] | None = None
        self._built: dict[Path, dynamic.Built] = {}

    def describe(self) -> Mapping[str, str]:
        """Toolchain and machine: what a verdict depends on besides the harness's own version."""
        return {
            "executor": self.name,
            "machine": self._machine.name,
            "machine_digest": self._machine.digest,
            "toolchain": self._toolchain.description,
            "checker": self._args.checker.value,
            "auto_sync": self._args.auto_sync.value,
        }

    def refuses(self, task: Task, track: Track) -> str | None:  # noqa: ARG002
        """Kernels for other than vector cores."""
        return None if task.core is Core.VECTOR else "the twin has no cube core yet"

    def prepare(self, say: Callable[[str], None], track: Track) -> None:
        """Build what the track needs when this machine has none yet."""
        compiler = self._toolchain.description
        if build.locate(self._toolchain, self._cache) is None:
            say(f"building the twin's runtime with {compiler}, once per machine (about 20 s)")
        self._ready()
        if track is Track.DYNAMIC:
            if hostside.locate_host(self._toolchain, self._cache) is None:
                say(f"building the twin's host side with {compiler}, once per machine (about a minute)")
            self._tools()

    def compile(self, request: CompileRequest) -> CompileResult:
        """Compile the candidate's ``kernel.cpp``, or its host and device files, for the task's interface."""
        started = time.monotonic()
        result = self._compile_dynamic(request) if request.track is Track.DYNAMIC else self._compile_static(request)
        return replace(result, seconds=time.monotonic() - started)

    def _compile_static(self, request: CompileRequest) -> CompileResult:
        task = request.task
        if driver.KERNEL_FILE not in request.candidate.files:
            return CompileResult(Outcome.NO_CODE, None)
        runtime = self._ready()
        key = self._key(request, runtime.key)
        work = Path(tempfile.mkdtemp(prefix="compile-", dir=self._folder()))
        compiled = driver.compile_kernel(
            request.candidate,
            entry=task.kernel,
            arguments=task.arguments,
            toolchain=self._toolchain,
            runtime=runtime,
            work=work,
            timeout_s=request.timeout_s,
        )
        if compiled.image is None:
            shutil.rmtree(work, ignore_errors=True)
        artifact = None if compiled.image is None else Artifact(key=key, path=compiled.image)
        return CompileResult(compiled.outcome, artifact, compiled.diagnostics)

    def _compile_dynamic(self, request: CompileRequest) -> CompileResult:
        tools = self._tools()
        work = Path(tempfile.mkdtemp(prefix="compile-", dir=self._folder()))
        built = dynamic.build(request, tools, work)
        if isinstance(built, dynamic.Failed):
            shutil.rmtree(work, ignore_errors=True)
            return CompileResult(built.outcome, None, built.diagnostics)
        key = self._key(request, f"{tools.runtime.key} {tools.host.key}")
        with self._lock:
            self._built[work] = built
        warnings = tuple(one for compiled in built.images.values() for one in compiled.diagnostics)
        return CompileResult(Outcome.OK, Artifact(key=key, path=work), tuple(dict.fromkeys(warnings)))

    def run(self, request: RunRequest) -> Observation:
        """Run one case in a child process."""
        runtime = self._ready()
        plan = self._plan(request)
        if isinstance(plan, dynamic.Failed):
            return Observation(plan.outcome, {}, plan.diagnostics)
        with tempfile.TemporaryDirectory(prefix="run-", dir=self._folder()) as name:
            return launch.run_case(
                request,
                plan,
                host=runtime.host,
                machine=self._machine,
                threads=self._threads,
                memory_bytes=self._args.memory_mb << 20,
                checker=self._args.checker,
                auto_sync=self._args.auto_sync,
                work=Path(name),
            )

    def _plan(self, request: RunRequest) -> Plan | dynamic.Failed:
        with self._lock:
            built = self._built.get(request.artifact.path)
        if built is not None:
            return dynamic.plan(built, request, self._tools())
        cores = self._machine.blocks(request.task.core)
        return Plan(
            image=request.artifact.path,
            slots=static_slots(request.task),
            blocks=cores,
            cores=cores,
            workspace_bytes=request.task.workspace_bytes,
        )

    def close(self) -> None:
        """Remove every compiled kernel."""
        with self._lock:
            self._built.clear()
            if self._work is not None:
                self._work.cleanup()
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
        found = build.locate(used, self._cache)
        state = f"ready: {found.host.parent}" if found else f"not built yet: the first run builds it in {self._cache}"
        findings.append(Finding("twin runtime", FindingStatus.OK, state))
        host = hostside.locate_host(used, self._cache)
        state = f"ready: {host.runner.parent}" if host else "not built yet: the first run of track dynamic builds it"
        findings.append(Finding("twin host side", FindingStatus.OK, state))
        return findings

    def _ready(self) -> build.Runtime:
        with self._lock:
            if self._runtime is None:
                self._runtime = build.ensure(self._toolchain, self._cache)
            return self._runtime

    def _tools(self) -> dynamic.Tools:
        runtime = self._ready()
        with self._lock:
            if self._host is None:
                self._host = hostside.ensure_host(self._toolchain, self._cache)
            return dynamic.Tools(self._toolchain, runtime, self._host, self._machine)

    def _folder(self) -> str:
        with self._lock:
            if self._work is None:
                self._work = tempfile.TemporaryDirectory(prefix="npukb-twin-", dir=_fast_folder())
            return self._work.name

    def _key(self, request: CompileRequest, runtime: str) -> str:
        parts = (runtime, request.task.kernel, *request.task.arguments, request.candidate.hash)
        return sha256("\0".join(parts).encode()).hexdigest()


def default_cache_dir() -> Path:
    """Where built runtimes are kept unless told otherwise."""
    if own := os.environ.get("NPUKB_CACHE_DIR"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "npukernelbench"


def _fast_folder() -> str | None:
    """A folder in memory for buffers when the system has one with room; otherwise the usual temporary folder."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        return None
    stat = os.statvfs(shared)
    return str(shared) if stat.f_bavail * stat.f_frsize > (2 << 30) else None
