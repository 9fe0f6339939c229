"""The toolkit without a device: its host mode (``cann-cpu``) and its simulator (``cann-sim``), as tiers of their own.

Both build the candidate's kernel and a generated program with the toolkit's run modes; the program copies files in and
out. The host mode gives values, the simulator also predicts a time; neither is a device, and neither is the twin. Only
the static track: the generated operator interface exists on devices only. Not yet run with a toolkit.
"""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, Field

from npukb_npu import discovery, projects
from npukb_npu.builds import Builder, Failure, environment_for
from npukb_npu.confine import FAILED, Reach, landlock_version, wrap
from npukb_npu.device import Layout, lay_out, read_outputs
from npukb_npu.discovery import Site
from npukb_npu.executor import entry_file
from npukb_npu.jobs import Buffer
from npukb_npu.process import Finished, run
from npukb_npu.projects import RunMode
from npukb_npu.status import STATUS
from npukernelbench.config import default_cache_dir
from npukernelbench.errors import ExecutorError, ToolchainError
from npukernelbench.judge.executor import Finding
from npukernelbench.judge.held import Held
from npukernelbench.judge.poison import poison
from npukernelbench.judge.scratch import Scratch
from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.execution import Artifact, CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.machine import DEFAULT_MACHINE
from npukernelbench.nouns.outcomes import Outcome, Severity, Tier, Track
from npukernelbench.nouns.task import Core, Presence, Task
from npukernelbench.strict import Strict

__all__ = ["CannCpuExecutor", "CannSimExecutor", "HostModeArgs", "simulated_us"]

_PROGRAM = "**/npukb_program"
_FILE_BYTES = 16 << 30


class HostModeArgs(Strict):
    """Arguments of both executors, given by ``--executor_args key=value,…``."""

    soc: str = Field("Ascend910B2", description="chip that the simulator models")
    vector_cores: int = Field(DEFAULT_MACHINE.vector_cores, ge=1, description="vector cores of that chip")
    cube_cores: int = Field(24, ge=1, description="cube cores of that chip")
    sandbox: str = Field(
        "auto", pattern="^(auto|off)$", description="auto or off: how builds and programs are confined"
    )
    threads: int = Field(0, ge=0, description="threads of one build; 0 uses every CPU")
    cache_dir: Path | None = Field(None, description="folder of builds")


@dataclass(frozen=True, slots=True)
class _Built:
    folder: Path
    program: Path


class _HostMode:
    """What both have in common."""

    Args: ClassVar[type[BaseModel]] = HostModeArgs
    name = ""
    tier = Tier.CANN_CPU
    tracks = frozenset({Track.STATIC})
    mode: ClassVar[RunMode] = RunMode.CPU

    def __init__(self, args: HostModeArgs, *, site: Site | None = None) -> None:
        self._args, self._site = args, site or Site()
        cache = args.cache_dir or default_cache_dir()
        self._confined = args.sandbox == "auto"
        threads = args.threads or os.cpu_count() or 1
        self._builder = Builder(self._site, cache, confined=self._confined, threads=threads)
        self._built: Held[Path, _Built] = Held()

    def describe(self) -> Mapping[str, str]:
        """Toolkit and mode."""
        facts = {"executor": self.name, "status": STATUS, "cann": self._site.version, "mode": self.mode.value}
        return facts if self.mode is RunMode.CPU else {**facts, "soc": self._args.soc}

    def sandbox_level(self) -> str:
        """Landlock around builds and programs, as far as the kernel has it."""
        version = landlock_version() if self._confined else 0
        return f"landlock {version}" if version else "none"

    def refuses(self, task: Task, track: Track) -> str | None:  # noqa: ARG002  the protocol's signature
        """Tensor lists need a table of device addresses, which the generated program does not build."""
        presences = {*(spec.presence for spec in task.inputs), *(spec.presence for spec in task.outputs)}
        return "tensor lists are not passed to CANN's host modes" if Presence.DYNAMIC in presences else None

    def prepare(self, say: Callable[[str], None], track: Track) -> None:  # noqa: ARG002  one signature for all
        """Refuse to start without the toolkit."""
        if obstacle := discovery.first_obstacle(discovery.host_mode_findings(self._site)):
            raise ExecutorError(
                f"{self.name} cannot work here: {obstacle}", remedy=f"npukb doctor --executor {self.name}"
            )
        say(f"{self.name}: CANN {self._site.version}; {STATUS}")

    def compile(self, request: CompileRequest) -> CompileResult:
        """Build kernel and program."""
        started = time.monotonic()
        if self._site.home is None or self._site.cmake_package is None:
            what = "CANN toolkit" if self._site.home is None else "CMake package ASC in this toolkit"
            raise ToolchainError(f"there is no {what}", remedy=f"npukb doctor --executor {self.name}")
        task, files = request.task, request.candidate.files
        source = entry_file(files, task.kernel)
        if source is None:
            note = Diagnostic(Severity.ERROR, "compile", f"no source file defines the kernel entry {task.kernel}")
            return CompileResult(Outcome.COMPILE_ERROR, None, (note,))
        project = projects.direct_launch(files, source, task.kernel, task.arguments, self.mode)
        configure = (
            "cmake", "-S", ".", "-B", "build", f"-DCMAKE_ASC_RUN_MODE={self.mode.value}",
            f"-DCMAKE_ASC_ARCHITECTURES={projects.ARCHITECTURE}", f"-DASCEND_CANN_PACKAGE_PATH={self._site.home}",
            f"-DASC_DIR={self._site.cmake_package}",
        )  # fmt: skip
        build = ("cmake", "--build", "build", "-j{jobs}")
        built = self._builder.build(project, (configure, build), _PROGRAM, request.timeout_s)
        if isinstance(built, Failure):
            return CompileResult(built.outcome, None, built.diagnostics)
        folder, key = built
        self._built.keep(folder, _Built(folder, next(folder.glob(_PROGRAM))))
        return CompileResult(Outcome.OK, Artifact(key, folder), seconds=time.monotonic() - started)

    def run(self, request: RunRequest) -> Observation:
        """Run the program on files of the case's inputs."""
        built = self._built.get(request.artifact.path)
        with Scratch("cann") as work:
            layout = lay_out(request, work)
            arguments = list(_arguments(request, layout, work))
            finished = self._program(
                (str(built.program), str(self._blocks(request)), *arguments), work, request.timeout_s
            )
            if finished.timed_out or finished.returncode:
                return _ended(finished)
            _fill_aliases(layout)
            intact = _inputs_intact(request, layout, work)
            outputs = read_outputs(request, layout)
            profile = self._profile(request, work)
        return Observation(Outcome.OK, outputs, profile=profile, inputs_intact=intact, seconds=finished.seconds)

    def release(self, artifact: Artifact) -> None:
        """Forget the artifact; its build stays in the cache."""
        self._built.release(artifact.path)

    def close(self) -> None:
        """Builds stay in the cache."""
        self._built.clear()

    def diagnose(self) -> Sequence[Finding]:
        """For ``npukb doctor``."""
        return discovery.host_mode_findings(self._site)

    def _command(self, command: Sequence[str], work: Path) -> tuple[str, ...]:  # noqa: ARG002  the simulator needs it
        return tuple(command)

    def _profile(self, request: RunRequest, work: Path) -> Profile | None:  # noqa: ARG002  the simulator has one
        return None

    def _blocks(self, request: RunRequest) -> int:
        return self._args.vector_cores if request.task.core is Core.VECTOR else self._args.cube_cores

    def _program(self, command: Sequence[str], work: Path, wall_s: float) -> Finished:
        libraries = tuple(map(str, self._site.library_folders))
        environment = environment_for(self._site, work / "private", libraries=libraries)
        whole = self._command(command, work)
        if self._confined:
            home = (self._site.home,) if self._site.home else ()
            reach = Reach((*home, Path(__file__).parents[1], Path(command[0]).parent), (work, Path("/dev/shm")))
            # the limit counts the CPU time of all threads together
            whole = wrap(whole, reach, file_bytes=_FILE_BYTES, cpu_s=int(wall_s * (os.cpu_count() or 1)) + 10)
            environment["PYTHONPATH"] = str(Path(__file__).parents[1])
        return run(whole, work=work, environment=environment, wall_s=wall_s)


class CannCpuExecutor(_HostMode):
    """Values from the toolkit's host mode. It knows no time and no missing synchronisation."""

    name = "cann-cpu"
    tier = Tier.CANN_CPU
    mode = RunMode.CPU


class CannSimExecutor(_HostMode):
    """Values and a predicted time from the toolkit's simulator."""

    name = "cann-sim"
    tier = Tier.CANN_SIM
    mode = RunMode.SIM

    def _command(self, command: Sequence[str], work: Path) -> tuple[str, ...]:
        (work / "sim").mkdir(exist_ok=True)
        if not self._site.profiler:
            raise ExecutorError("neither msprof nor msopprof is on the path", remedy="source the toolkit's set_env.sh")
        return (
            *self._site.profiler,
            "simulator",
            f"--output={work / 'sim'}",
            f"--soc-version={self._args.soc}",
            *command,
        )

    def _profile(self, request: RunRequest, work: Path) -> Profile | None:
        time_us = simulated_us(work / "sim")
        if time_us is None:
            return None
        machine = "cann_sim_" + self._args.soc.lower().replace("-", "_")
        return Profile(time_us, predicted=True, machine=machine, blocks=self._blocks(request))


def simulated_us(folder: Path) -> float | None:
    """The slowest core's time in the simulator's tables of source lines; None where they tell none."""
    totals = []
    for path in sorted(folder.glob("**/*code_exe.csv")):
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            rows = list(csv.DictReader(stream))
        times = [float(row["running_time(us)"]) for row in rows if _is_number(row.get("running_time(us)"))]
        if times:
            # lines of one core follow each other, cores run side by side
            totals.append(sum(times))
    return max(totals) if totals else None


def _is_number(text: str | None) -> bool:
    try:
        return text is not None and float(text) >= 0
    except ValueError:
        return False


def _arguments(request: RunRequest, layout: Layout, work: Path) -> list[str]:
    """Bytes and file of every kernel argument; outputs and workspace are files of nobody's data."""
    words: list[str] = []
    for argument in layout.arguments:
        buffer = layout.arguments[argument] if isinstance(argument, int) else argument
        if buffer is None:
            words += ["0", "-"]
            continue
        assert isinstance(buffer, Buffer)
        if not buffer.file:
            data = poison(buffer.nbytes, request.seed, buffer.name)
            if buffer.fill is not None:
                data[:] = buffer.fill
            data.tofile(buffer.result)
        words += [str(buffer.nbytes), buffer.file or buffer.result]
    workspace, size = work / "workspace", max(request.task.workspace_bytes, 512)
    poison(size, request.seed, "workspace").tofile(workspace)
    return [*words, str(size), str(workspace)]


def _fill_aliases(layout: Layout) -> None:
    """Outputs in the memory of an input are in that input's file."""
    for argument in layout.arguments:
        if isinstance(argument, Buffer) and argument.file and argument.result:
            Path(argument.result).write_bytes(Path(argument.file).read_bytes())


def _inputs_intact(request: RunRequest, layout: Layout, work: Path) -> bool:  # noqa: ARG001
    """Whether inputs that may only be read are what they were."""
    import numpy as np

    for spec, buffer in zip(request.task.inputs, layout.arguments, strict=False):
        value = request.inputs[spec.name]
        if not isinstance(buffer, Buffer) or buffer.restore or value is None or isinstance(value, list):
            continue
        # the program writes every argument back to its file, inputs as well
        now = np.fromfile(buffer.file, dtype=np.uint8)
        if not np.array_equal(now, np.ascontiguousarray(value).reshape(-1).view(np.uint8)):
            return False
    return True


def _ended(finished: Finished) -> Observation:
    """A program that did not end well. Its exit codes 2 and 3 are faults of files, of the toolkit and of its walls."""
    tail = (finished.output.strip().splitlines() or [""])[-1]
    if finished.timed_out:
        note = Diagnostic(Severity.ERROR, "timeout", f"no end within {finished.seconds:.0f} s")
        return Observation(Outcome.TIMEOUT, {}, (note,), seconds=finished.seconds)
    if finished.returncode in (2, FAILED):
        raise ExecutorError(f"the generated program failed: {tail}")
    how = f"signal {-finished.returncode}" if finished.returncode < 0 else f"exit code {finished.returncode}"
    note = Diagnostic(Severity.ERROR, "crash", f"the kernel ended with {how}: {tail}")
    return Observation(Outcome.CRASH, {}, (note,), seconds=finished.seconds)
