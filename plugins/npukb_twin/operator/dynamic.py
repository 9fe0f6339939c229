"""The dynamic track: host and device code of one operator, compiled once for all cases, tiled for each launch.

``build`` compiles the host side, asks it for the operator's definition, pairs that with the task's interface and
compiles the kernel once per variant that the cases call for. ``plan`` runs the tiling function for one case and says
how to launch what it decided. Nothing of the candidate runs in this process.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from npukb_twin.compile import driver
from npukb_twin.compile.build import Runtime, source_root
from npukb_twin.compile.dialect import Translated, entry_named, translate_files
from npukb_twin.compile.templates import NO_KEY, TemplateParameter, arguments_of, template_of
from npukb_twin.compile.toolchain import Toolchain
from npukb_twin.compile.units import write_files
from npukb_twin.launch.buffers import Plan, Slot, SlotKind, largest_output_bytes
from npukb_twin.operator import host_build, host_side, host_types
from npukb_twin.operator.interface import Bound, bind, place_of, row_of, shapes_of
from npukb_twin.operator.variants import Variant, element_types, prelude, variant_of, wants_key
from npukb_twin.timing.machine import Machine
from npukernelbench.judge.executor import ALIKE_UNITS
from npukernelbench.nouns import (
    AttributeValue,
    Case,
    CompileRequest,
    Diagnostic,
    DType,
    Outcome,
    RunRequest,
    Severity,
    Task,
)
from npukernelbench.nouns.machine import DEFAULT_MACHINE
from npukernelbench.tasks.sizes import input_bytes, output_bytes

__all__ = [
    "Built",
    "Failed",
    "Tiled",
    "Tools",
    "api_structures",
    "build",
    "open_operator",
    "other_chip",
    "plan",
    "soc_numbers",
    "tile_case",
]

HOST, DEVICE = "op_host/", "op_kernel/"
#: The part of a workspace that belongs to the system: the documented reserve of this chip.
SYSTEM_WORKSPACE_BYTES = 16 << 20
#: What the platform query leaves out of UB and L1, as it answers on a device.
_RESERVED_BYTES = DEFAULT_MACHINE.ub_reserved_bytes
_MOST_BLOCKS = 65535
_TILING_S = 10.0  # what takes milliseconds
_GE = {dtype.ge: dtype for dtype in DType}


@dataclass(frozen=True, slots=True)
class Tools:
    """What compiling and tiling needs, the same for every candidate."""

    toolchain: Toolchain
    runtime: Runtime
    host: host_types.HostRuntime
    machine: Machine


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no artifact, or no launch."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class Built:
    """A compiled candidate in ``folder``. Variants that nobody foresaw are compiled when a case needs them."""

    folder: Path
    host_files: Mapping[str, str]
    device_files: Mapping[str, str]
    source: str
    entry: str
    image: Path
    translated: Translated
    description: host_types.OperatorDescription
    bound: Bound
    per_key: bool
    template: tuple[TemplateParameter, ...] | None = None
    images: dict[Variant, driver.Compiled] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    late: Lock = field(default_factory=Lock)  # held while a variant that nobody foresaw is compiled


def build(request: CompileRequest, tools: Tools, work: Path) -> Built | Failed:
    """Compile everything that the request's cases need."""
    deadline = time.monotonic() + request.timeout_s
    built = open_operator(request.candidate.files, request.task, tools, work, request.timeout_s)
    if isinstance(built, Failed):
        return built
    failed = _compile_foreseen(built, request, tools, deadline)
    return failed if failed is not None else built


def open_operator(files: Mapping[str, str], task: Task, tools: Tools, work: Path, timeout_s: float) -> Built | Failed:
    """Compile the host side and pair its definition with the task; no variant of the kernel is compiled yet."""
    deadline = time.monotonic() + timeout_s
    host_files = {name: text for name, text in files.items() if name.startswith(HOST)}
    device_files = {name: text for name, text in files.items() if not name.startswith(HOST)}
    entry = entry_named(device_files.values(), task.kernel)
    source = driver.device_file(device_files, entry)
    if not any(name.endswith((".cpp", ".cc", ".cxx")) for name in host_files):
        return _no_code(f"no source file in {HOST}: the operator's definition and tiling function are missing")
    if source is None:
        return _no_code(f"no source file in {DEVICE} defines the kernel entry {task.kernel}")
    compiled = host_build.compile_host(
        files, toolchain=tools.toolchain, runtime=tools.host, work=work, timeout_s=_left(deadline)
    )
    if compiled.image is None:
        return Failed(compiled.outcome, compiled.diagnostics)
    description = host_side.describe(compiled.image, tools.host, limits=host_types.HostLimits(wall_s=_left(deadline)))
    if isinstance(description, host_types.HostFailure):
        return Failed(description.outcome, _placed(description, host_files))
    bound = bind(description, task, host_files)
    if isinstance(bound, tuple):
        return Failed(Outcome.COMPILE_ERROR, bound)
    problem = other_chip(description, tools.machine, host_files)
    if problem is not None:
        return Failed(Outcome.LAUNCH_ERROR, (problem,))
    template = template_of(device_files, entry)
    return Built(
        folder=work,
        host_files=host_files,
        device_files=device_files,
        source=source,
        entry=entry,
        image=compiled.image,
        translated=translate_files(device_files, entry),
        description=description,
        bound=bound,
        per_key=template is not None or wants_key(description, "\n".join(device_files.values())),
        template=template,
    )


def _compile_foreseen(built: Built, request: CompileRequest, tools: Tools, deadline: float) -> Failed | None:
    """Compile the variants of the request's cases, side by side. Kernels that depend on the tiling key wait for it."""
    if built.per_key:
        return None
    rows = {case.id: row_of(built.description, built.bound, case) for case in request.cases}
    # a case without a row fails by itself when it runs; without any row there is nothing to compile
    if rows and all(isinstance(row, str) for row in rows.values()):
        return Failed(Outcome.LAUNCH_ERROR, (_missing_row(built, str(next(iter(rows.values())))),))
    variants = {
        variant_of(built.bound, case, row): None for case in request.cases if isinstance(row := rows[case.id], int)
    }
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        results = list(pool.map(lambda variant: compile_variant(built, variant, tools, _left(deadline)), variants))
    for variant, result in zip(variants, results, strict=True):
        if result.images is None:
            return Failed(result.outcome, _about(result.diagnostics, variant, among=len(variants)))
    return None


def compile_variant(built: Built, variant: Variant, tools: Tools, timeout_s: float) -> driver.Compiled:
    """The variant's image, compiled unless it is there."""
    with built.lock:
        known = built.images.get(variant)
    if known is not None:
        return known
    unit = driver.Unit(
        source=built.source,
        entry=built.entry,
        arguments=built.bound.parameters,
        prelude=prelude(built.description, variant, "\n".join(built.device_files.values()), api_structures()),
        folder=DEVICE.rstrip("/"),
        template=_template(built, variant.key),
    )
    work = built.folder / f"kernel-{variant.id}"
    # kernels may include headers of the host side, such as that of the tiling data
    write_files({**built.host_files, **built.translated.files}, work)
    result = driver.compile_unit(
        unit,
        built.device_files,
        built.translated,
        toolchain=tools.toolchain,
        runtime=tools.runtime,
        work=work,
        timeout_s=timeout_s,
    )
    with built.lock:
        # two threads may have compiled the same: one result counts for both
        return built.images.setdefault(variant, result)


class Tiled(NamedTuple):
    """What the tiling function says about a case, whose element types are in ``row`` of the definition."""

    row: int
    answer: host_types.TilingResult


def tile_case(built: Built, request: RunRequest, tools: Tools) -> Tiled | Failed:
    """Run the tiling function for the request's case."""
    row = row_of(built.description, built.bound, request.case)
    if isinstance(row, str):
        return Failed(Outcome.LAUNCH_ERROR, (_missing_row(built, row),))
    question = _question(built, request, row, tools.machine)
    limits = host_types.HostLimits(wall_s=min(request.timeout_s, _TILING_S))
    answer = host_side.tile(built.image, question, tools.host, limits=limits)
    if isinstance(answer, host_types.HostFailure):
        return Failed(answer.outcome, _placed(answer, built.host_files))
    if not 1 <= answer.block_dim <= _MOST_BLOCKS:
        message = f"the tiling function asks for {answer.block_dim} blocks; a launch has 1 to {_MOST_BLOCKS}"
        remedy = "Call context->SetBlockDim with the number of cores to use."
        return Failed(Outcome.LAUNCH_ERROR, (_tiling_problem(built, message, remedy),))
    if too_much := _beyond_memory(answer, request.case):
        remedy = "Ask for less workspace: as much as the cores use at the same time."
        return Failed(Outcome.OUT_OF_MEMORY, (_tiling_problem(built, too_much, remedy),))
    if built.template is not None:
        try:
            _template(built, answer.tiling_key)
        except ValueError as error:
            message = f"tiling key {answer.tiling_key} matches no template arguments: {error}; {answer.log.strip()}"
            remedy = "Set the key with ASCENDC_TPL_SEL_PARAM, to values that ASCENDC_TPL_SEL lists."
            return Failed(Outcome.LAUNCH_ERROR, (_tiling_problem(built, message, remedy),))
    return Tiled(row, answer)


def _beyond_memory(answer: host_types.TilingResult, case: Case) -> str:
    """What is wrong with a workspace that the device's memory cannot hold beside the tensors; "" where it can.

    Nobody makes such a buffer here: it would take the judge's memory, not the kernel's.
    """
    wanted, taken, room = sum(answer.workspace_bytes), input_bytes(case) + output_bytes(case), host_types.HBM_BYTES
    if wanted + taken <= room:
        return ""
    return f"the tiling function asks for a workspace of {wanted} bytes; of the device's {room} tensors take {taken}"


def _template(built: Built, key: int | None) -> str:
    """Template arguments of the entry for this key; "" for an entry that is no template."""
    if built.template is None or key is None:
        return ""
    if key == NO_KEY:
        raise ValueError("no combination has these values")
    return arguments_of(built.template, key, element_types())


def plan(built: Built, request: RunRequest, tools: Tools) -> Plan | Failed:
    """Run the tiling function for the request's case and lay out the launch."""
    tiled = tile_case(built, request, tools)
    if isinstance(tiled, Failed):
        return tiled
    row, answer = tiled
    variant = variant_of(built.bound, request.case, row, answer.tiling_key if built.per_key else None)
    with built.late:
        compiled = compile_variant(built, variant, tools, request.timeout_s)
    if compiled.images is None:
        return Failed(compiled.outcome, _about(compiled.diagnostics, variant, among=2))
    wanted = sum(answer.workspace_bytes)
    composition = compiled.images.composition(answer.tiling_key)
    return Plan(
        images=compiled.images,
        composition=composition,
        slots=_slots(built.bound, request.case, row),
        blocks=answer.block_dim,
        cores=tools.machine.blocks(composition),
        # a request smaller than the system's part cannot include it
        workspace_bytes=wanted if wanted >= SYSTEM_WORKSPACE_BYTES else wanted + SYSTEM_WORKSPACE_BYTES,
        system_workspace_bytes=SYSTEM_WORKSPACE_BYTES,
        tiling=answer.data,
        tiling_key=answer.tiling_key,
    )


def _slots(bound: Bound, case: Case, row: int) -> tuple[Slot, ...]:
    """The signature of the dynamic track, as the operator's definition has it."""
    slots = [Slot(SlotKind.INPUT, spec.name, dtype=_converted(arg, row)) for arg, spec in bound.inputs]
    position = {spec.name: index for index, (_, spec) in enumerate(bound.inputs)}
    for argument, output in bound.outputs:
        if output.alias_of is not None:
            slots.append(Slot(SlotKind.SAME, output.name, same=position[output.alias_of]))
            continue
        shapes = shapes_of(case.outputs[output.name])
        room = largest_output_bytes(case, shapes[0].dtype.itemsize) if argument.depends_on_compute else 0
        fill = b"\0" if output.zeroed else _initial(argument, row, shapes[0].dtype)
        slots.append(Slot(SlotKind.OUTPUT, output.name, at_least_bytes=room, fill=fill))
    if bound.late is not None:
        slots.append(Slot(SlotKind.OUTPUT, bound.late.name))
    elif bound.shapes_come_late:
        slots.append(Slot(SlotKind.SHAPES))
    return (*slots, Slot(SlotKind.WORKSPACE), Slot(SlotKind.TILING))


def _initial(argument: host_types.OpArgument, row: int, dtype: DType) -> bytes | None:
    """One element of what an output is filled with before the launch."""
    import numpy as np

    if not argument.initial:
        return None
    value = argument.initial[row if row < len(argument.initial) else 0]
    return np.array(value).astype(dtype.numpy()).tobytes()


def _converted(argument: host_types.OpArgument, row: int) -> DType | None:
    """The type that a scalar's value is converted to; None for tensors."""
    if not (argument.scalar or argument.scalar_list) or row >= len(argument.dtypes):
        return None
    return _GE.get(argument.dtypes[row])


def _question(built: Built, request: RunRequest, row: int, machine: Machine) -> host_types.TilingRequest:
    case, bound = request.case, built.bound
    inputs: list[host_types.TensorArgument | tuple[host_types.TensorArgument, ...] | None] = []
    for argument, spec in bound.inputs:
        values = request.inputs[spec.name]
        tensor = None
        if isinstance(values, list):
            inputs.append(tuple(_tensor(argument, row, item.shape, item.dtype, None) for item in values))
            continue
        if values is not None:
            dtype = _converted(argument, row)
            array = values if dtype is None else values.astype(dtype.numpy(), copy=False)
            # scalars come as tensors of one axis: a single element, or those of a list
            shape = array.shape if dtype is None else (max(array.size, 1),)
            # other values are in device memory, which a tiling function cannot read
            tensor = _tensor(argument, row, shape, array.dtype, array.tobytes() if argument.value_depend else None)
        inputs.append(tensor)
    outputs: list[host_types.TensorArgument | tuple[host_types.TensorArgument, ...] | None] = []
    for argument, output in bound.outputs:
        tensors = tuple(
            host_types.TensorArgument(shape.shape, shape.dtype.ge, _format(argument, row))
            for shape in shapes_of(case.outputs[output.name])
        )
        outputs.append(tensors if isinstance(case.outputs[output.name], tuple) else tensors[0])
    attributes = tuple(
        (declared.name, _attribute(declared.type, case.attributes[spec.name]))
        for declared, spec in bound.attributes
        if spec.name in case.attributes
    )
    return host_types.TilingRequest(
        operator=built.description.name,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        attributes=attributes,
        soc=soc_numbers(machine, fewer=request.fewer_cores),
    )


def _tensor(
    argument: host_types.OpArgument, row: int, shape: tuple[int, ...], dtype: object, data: bytes | None
) -> host_types.TensorArgument:
    ge = next((known.ge for known in DType if known.value == str(dtype)), "DT_UNDEFINED")
    return host_types.TensorArgument(tuple(shape), ge, _format(argument, row), data)


def _format(argument: host_types.OpArgument, row: int) -> str:
    return argument.formats[row] if row < len(argument.formats) else "FORMAT_ND"


def _attribute(kind: str, value: AttributeValue) -> host_types.AttributeValue:
    """A value as the definition's type wants it; what does not fit is passed as it is, for the runner to refuse."""
    if kind == "float" and isinstance(value, (int, float)):
        return float(value)
    if kind == "int" and isinstance(value, (bool, int)):
        return int(value)
    if kind == "bool" and isinstance(value, (bool, int)):
        return bool(value)
    if kind == "list_float" and isinstance(value, tuple):
        return tuple(float(item) for item in value)
    return value


def soc_numbers(machine: Machine, *, fewer: bool) -> host_types.SocNumbers:
    """What host code is told of the machine; with ``fewer``, of one of its family with fewer cores."""
    numbers = machine.numbers
    cube_cores = _fewer(machine.cube_cores) if fewer else machine.cube_cores
    return replace(
        host_types.SocNumbers(),
        # as many per cube core as the machine itself has
        vector_cores=machine.vector_cores * cube_cores // machine.cube_cores,
        cube_cores=cube_cores,
        ub_bytes=int(numbers["ub_bytes"]) - _RESERVED_BYTES,
        l0a_bytes=int(numbers["l0a_bytes"]),
        l0b_bytes=int(numbers["l0b_bytes"]),
        l0c_bytes=int(numbers["l0c_bytes"]),
        bt_bytes=int(numbers["bt_bytes"]),
        load_rate=round(numbers["l1_in_bytes_per_s"] / numbers["clock_hz"]),
        feed_a_rate=int(numbers["load_a_bytes_per_cycle"]),
        feed_b_rate=int(numbers["load_b_bytes_per_cycle"]),
        workspace_reserve_bytes=SYSTEM_WORKSPACE_BYTES,
    )


def _fewer(cores: int) -> int:
    """As chips of one family differ: 20 of 24 cores."""
    return max(1, cores * 5 // 6)


@cache
def api_structures() -> frozenset[str]:
    """Structures that the kernel headers define themselves, such as those that library functions take as tiling."""
    import re

    headers = (path for path in (source_root() / "include" / "twin").rglob("*") if path.is_file())
    text = "\n".join(path.read_text(encoding="utf-8") for path in headers)
    return frozenset(re.findall(r"^(?:struct |NPUKB_TILING_BEGIN\()(\w+)", text, re.MULTILINE))


def other_chip(
    description: host_types.OperatorDescription, machine: Machine, files: Mapping[str, str]
) -> Diagnostic | None:
    """Whether the definition leaves the modelled chip out."""
    # a definition names families (ascend910b), of which the machine is one chip (ascend910b2)
    family = machine.chip.lower().replace("ascend", "")
    units = [unit for unit in ALIKE_UNITS if family.startswith(unit.replace("ascend", ""))]
    # a definition for one of these chips, such as ascend910b, does for ascend910_93, too
    wanted = {*description.socs, *(ALIKE_UNITS if ALIKE_UNITS & set(description.socs) and units else ())}
    known = [soc for soc in wanted if family.startswith(soc.lower().replace("ascend", ""))]
    # a definition that names no chip is for any
    if known or not description.socs:
        return None
    file, line = place_of(r"\bAddConfig\s*\(", files)
    message = f"the definition of {description.name} supports {', '.join(description.socs)}, not {machine.chip}"
    return Diagnostic(
        Severity.ERROR, "interface", message, file=file, line=line, remedy='Add this->AICore().AddConfig("ascend910b").'
    )


def _missing_row(built: Built, what: str) -> Diagnostic:
    file, line = place_of(r"\.DataType(?:List)?\s*\(", built.host_files)
    message = f"the definition of {built.description.name} has {what}"
    return Diagnostic(
        Severity.ERROR, "interface", message, file=file, line=line, remedy="List every combination of the task's cases."
    )


def _tiling_problem(built: Built, message: str, remedy: str) -> Diagnostic:
    file, line = place_of(r"\bSetBlockDim\s*\(|\bgert::TilingContext\s*\*", built.host_files)
    return Diagnostic(Severity.ERROR, "tiling", message, file=file, line=line, remedy=remedy)


def _placed(failure: host_types.HostFailure, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """The failure's diagnostics; what has no place of its own is told at the tiling function."""
    file, line = place_of(r"\b(?:gert::)?TilingContext\s*\*", files)
    return tuple(
        diagnostic if diagnostic.file else replace(diagnostic, file=file, line=line)
        for diagnostic in failure.diagnostics
    )


def _about(said: Iterable[Diagnostic], variant: Variant, *, among: int) -> tuple[Diagnostic, ...]:
    """Diagnostics of one variant; where there are several, each says which."""
    if among < 2:
        return tuple(said)
    return tuple(
        replace(diagnostic, message=f"{diagnostic.message} (compiled for {variant.summary})") for diagnostic in said
    )


def _no_code(message: str) -> Failed:
    return Failed(Outcome.NO_CODE, (Diagnostic(Severity.ERROR, "no_code", message),))


def _left(deadline: float) -> float:
    return max(1.0, deadline - time.monotonic())
