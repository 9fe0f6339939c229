"""A candidate of the launch track: its host function compiled and called, its kernels compiled as it launches them.

The host function runs in the sandbox that tiling functions run in. It sees shapes and addresses, never values: device
memory is not there. What it did comes back as a list of steps, which is checked before anything follows from it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as Sequence_
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from threading import Lock

from npukb_twin.compile import driver
from npukb_twin.compile.borrowed_names import borrowed
from npukb_twin.compile.build import source_root
from npukb_twin.direct import calling, source
from npukb_twin.direct.calling import Call, Place
from npukb_twin.direct.steps import Kernel, Memory, Sequence, Step, memories_of, read_steps
from npukb_twin.operator import host_build, host_side, host_types
from npukb_twin.operator.dynamic import Failed, Tools, soc_numbers
from npukernelbench.nouns import (
    LAUNCH_FILE,
    Case,
    CompileRequest,
    Core,
    Diagnostic,
    Outcome,
    RunRequest,
    Severity,
    Task,
)

__all__ = ["BuiltDirect", "build", "compile_launching", "plan"]

_STUB, _NAMES = "direct.unit.cc", "npukb_names.h"
_CALLING_S = 10.0  # what takes milliseconds
_MOST_BLOCKS = 65535
_ENTRY = re.compile(r"(?P<scope>(?:[A-Za-z_]\w*::)*)(?P<name>[A-Za-z_]\w*)(?:<(?P<arguments>[\w:<>, ()-]{0,400})>)?\Z")
#: How the name of a launch's type begins, and a type that compilers write otherwise than kernels do.
_LAUNCHED = re.compile(r"npukb_direct::Launched<[&(]*(?:void )?(?=[A-Za-z_])")
_BFLOAT16 = re.compile(r"\bstd::bfloat16_t\b|\b__bf16\b")


@dataclass(frozen=True)
class BuiltDirect:
    """A compiled candidate in ``folder``. Kernels are compiled when a launch first names them."""

    folder: Path
    files: Mapping[str, str]
    task: Task
    call: Call
    image: Path
    images: dict[str, driver.Compiled] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


def build(request: CompileRequest, tools: Tools, work: Path) -> BuiltDirect | Failed:
    """Compile the host function, call it for every case of the request, and compile the kernels that it launches."""
    deadline = time.monotonic() + request.timeout_s
    files, task = request.candidate.files, request.task
    call = calling.call_of(files, task)
    if isinstance(call, Diagnostic):
        return Failed(Outcome.COMPILE_ERROR, (call,))
    compiled = _compile_host(files, call, tools, work / "host", deadline)
    if compiled.image is None:
        return Failed(compiled.outcome, compiled.diagnostics)
    sources = {name: text for name, text in files.items() if name != LAUNCH_FILE}
    built = BuiltDirect(work, sources, task, call, compiled.image)
    for case in request.cases:
        noted = _noted(built, case, tools, blocks=_blocks(task, tools, fewer=False), timeout_s=_left(deadline))
        if isinstance(noted, Failed):
            return noted
        # now: what does not compile is a compile error, and no fault of a run
        for kernel in (step for step in noted.steps if isinstance(step, Kernel)):
            made = _compile_kernel(built, kernel.name, tools, _left(deadline))
            if made.images is None:
                return Failed(made.outcome, made.diagnostics)
    return built


def plan(built: BuiltDirect, request: RunRequest, tools: Tools) -> Sequence | Failed:
    """What the host function does for the request's case, with the images of the kernels that it launches."""
    blocks = _blocks(built.task, tools, fewer=request.fewer_cores)
    limit = min(request.timeout_s, _CALLING_S)
    noted = _noted(built, request.case, tools, blocks=blocks, timeout_s=limit, fewer=request.fewer_cores)
    if isinstance(noted, Failed):
        return noted
    steps: list[Step] = []
    for step in noted.steps:
        if isinstance(step, Kernel):
            compiled = _compile_kernel(built, step.name, tools, request.timeout_s)
            if compiled.images is None:
                return Failed(compiled.outcome, compiled.diagnostics)
            composition = compiled.images.composition()
            step = replace(step, images=compiled.images, cores=tools.machine.blocks(composition))
        steps.append(step)
    return replace(noted, steps=tuple(steps))


def _blocks(task: Task, tools: Tools, *, fewer: bool) -> int:
    """What ``blocks`` stands for: the cores of the task's kind."""
    numbers = soc_numbers(tools.machine, fewer=fewer)
    return numbers.vector_cores if task.core is Core.VECTOR else numbers.cube_cores


def _compile_host(
    files: Mapping[str, str], call: Call, tools: Tools, work: Path, deadline: float
) -> host_types.HostResult:
    """The image with the host function. Functions of the device are compiled too, and left out: nothing calls them."""
    work.mkdir()
    stub = f'#include "{call.function.file}"\nNPUKB_DIRECT({call.function.name})\n'
    # the stub includes that file
    units = [name for name in source.host_units(files) if name != call.function.file]
    return _compile_units(files, {_STUB: stub}, units, tools, work, _left(deadline))


def compile_launching(
    files: Mapping[str, str], tools: Tools, work: Path, timeout_s: float
) -> host_types.HostResult | None:
    """Everything that launches kernels among ``files``, compiled for the host; None where nothing does."""
    if not source.launches_something(files):
        return None
    return _compile_units(files, {}, source.host_units(files), tools, work, timeout_s)


def _compile_units(
    files: Mapping[str, str],
    stubs: Mapping[str, str],
    units: Sequence_[str],
    tools: Tools,
    work: Path,
    timeout_s: float,
) -> host_types.HostResult:
    """The image of the sources ``units``, and of ``stubs``, which include others."""
    made = source.host_files({name: text for name, text in files.items() if name != LAUNCH_FILE})
    made |= stubs
    if names := borrowed(files):  # device code in the same file uses them
        made[_NAMES] = f'#include "kernel_operator.h"\n{names}'
    root, toolchain = source_root(), tools.toolchain
    folders = (*dict.fromkeys(str(Path(name).parent) for name in made), "include")
    folders += tuple(str(root / name) for name in ("include_direct", "include_host", "include"))
    # launches are C++ only with this, in whatever file
    seen = ("-include", "twin_direct/call.h", *(("-include", _NAMES) if _NAMES in made else ()))
    kept = ("-fvisibility=hidden", "-ffunction-sections", "-fdata-sections", "-D__ac__=", "-DNPUKB_DIRECT_HOST=1")
    command = (
        *toolchain.compile,
        *host_build.host_flags(toolchain),
        *kept,
        *(f"-I{folder}" for folder in folders),
        *seen,
    )
    return host_build.build_image(
        made,
        [*stubs, *units],
        command,
        toolchain=toolchain,
        runtime=tools.host,
        work=work,
        timeout_s=timeout_s,
        linked=toolchain.link_word("--gc-sections"),
    )


def _noted(
    built: BuiltDirect, case: Case, tools: Tools, *, blocks: int, timeout_s: float, fewer: bool = False
) -> Sequence | Failed:
    """Call the host function for a case."""
    places = calling.places_of(built.task, case)
    free = calling.first_free(places)
    workspace = Memory("workspace", free, calling.workspace_bytes(built.task))
    # what the function allocates itself lies behind the workspace
    own = calling.first_free((*places, Place("workspace", workspace.tensor, free)))
    lines = [f"memory {own}", *calling.values_of(built.call, built.task, case, places, blocks)]
    limits = host_types.HostLimits(wall_s=timeout_s)
    soc = soc_numbers(tools.machine, fewer=fewer)
    answer = host_side.call_direct(built.image, lines, soc, tools.host, limits)
    if isinstance(answer, host_types.HostFailure):
        return Failed(answer.outcome, tuple(_placed(built, answer.diagnostics)))
    asked = "workspace" in built.call.arguments
    memories = memories_of(built.task, places, (workspace,) if asked else (), answer[0]["memory"])
    passed = frozenset(word for word in built.call.arguments if isinstance(word, str))
    steps = read_steps(answer[0], built.task, case, memories, passed, kernel_of=_kernel_name)
    if isinstance(steps, Failed):
        return Failed(steps.outcome, tuple(_placed(built, steps.diagnostics)))
    too_many = next((s for s in steps.steps if isinstance(s, Kernel) and not 1 <= s.blocks <= _MOST_BLOCKS), None)
    if too_many is not None:
        message = f"{too_many.name} is launched with {too_many.blocks} blocks; a launch has 1 to {_MOST_BLOCKS}"
        said = Diagnostic(Severity.ERROR, "launch", message)
        return Failed(Outcome.LAUNCH_ERROR, tuple(_placed(built, (said,))))
    return steps


def _kernel_name(text: str) -> str:
    """The kernel that a launch names, with scopes and template arguments; empty where it is no name at all."""
    launched = _LAUNCHED.match(text)
    if launched is None:
        return text if _ENTRY.match(text) else ""
    depth, name = 0, ""
    for letter in text[launched.end() :]:
        if depth == 0 and letter in "()>":
            break
        depth += (letter in "<(") - (letter in ">)")
        name += letter
    name = _BFLOAT16.sub("bfloat16_t", name)
    return name if _ENTRY.match(name) else ""


def _placed(built: BuiltDirect, said: tuple[Diagnostic, ...]) -> Iterator[Diagnostic]:
    """Diagnostics; what has no place of its own is told at the host function."""
    function = built.call.function
    for diagnostic in said:
        yield diagnostic if diagnostic.file else replace(diagnostic, file=function.file, line=function.line)


def _compile_kernel(built: BuiltDirect, name: str, tools: Tools, timeout_s: float) -> driver.Compiled:
    """The images of one kernel, compiled unless they are there."""
    # whoever needs the same kernel waits instead of compiling it again
    with built.lock:
        if name not in built.images:
            built.images[name] = _compiled(built, name, tools, timeout_s)
        return built.images[name]


def _compiled(built: BuiltDirect, name: str, tools: Tools, timeout_s: float) -> driver.Compiled:
    named = _ENTRY.match(name)
    assert named is not None
    entry = named["name"]
    file = _source_of(built, entry)
    if file is None:
        said = Diagnostic(Severity.ERROR, "launch", f"the sources define no kernel named {entry}")
        return driver.Compiled(Outcome.COMPILE_ERROR, None, tuple(_placed(built, (said,))))
    # names with template arguments have signs that a folder's name should not
    work = built.folder / f"kernel-{sha256(name.encode()).hexdigest()[:12]}"
    work.mkdir()
    files = {**source.launch_headers(built.files), **built.files}
    translated = driver.write_sources(files, entry, work)
    unit = driver.Unit(file, entry, (), scope=named["scope"], template=named["arguments"] or "", direct=True)
    return driver.compile_unit(
        unit, built.files, translated, toolchain=tools.toolchain, runtime=tools.runtime, work=work, timeout_s=timeout_s
    )


def _source_of(built: BuiltDirect, entry: str) -> str | None:
    """The file to compile for a kernel: where it is launched by ``<<<>>>``, else where it is defined."""
    units = [name for name in built.files if name.endswith((".cpp", ".cc", ".cxx", ".cce", ".asc"))]
    launching = re.compile(rf"\b{entry}\s*(?:<[^;{{}}]*>)?\s*<<<")
    names = [name for name in units if launching.search(built.files[name])]
    defined = driver.device_file({name: built.files[name] for name in units}, entry)
    if names or defined is not None:
        return names[0] if names else defined
    kernels = [name for name in units if "__global__" in built.files[name]]
    return kernels[0] if len(kernels) == 1 else None


def _left(deadline: float) -> float:
    return max(1.0, deadline - time.monotonic())
