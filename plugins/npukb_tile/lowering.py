"""From a program to Ascend C: host, kernel initialisation, computation, alignment. Each pass is a pure function, and
what it promises is checked before the next one runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from npukb_tile.alignment import lower_alignment
from npukb_tile.compute import lower_compute
from npukb_tile.cpp import wrapped
from npukb_tile.dtypes import DTYPES
from npukb_tile.host import constants, write_definition, write_tiling_header
from npukb_tile.invariants import check_computed, check_storage, check_unified_buffer
from npukb_tile.ir import Program, Sync, Tensor, TensorRole, statements
from npukb_tile.kernel import DeviceParts, write_kernel
from npukb_tile.launching import Facts, Number, Setting, numbers_of, plan
from npukb_tile.memory import place_name
from npukb_tile.multiplying import constant_tiling
from npukb_tile.storage import assign_storage

__all__ = ["Lowered", "lower_dynamic", "lower_parts", "lower_static"]


@dataclass(frozen=True, slots=True)
class Lowered:
    """The files of an answer, and what the passes decided."""

    files: Mapping[str, str]
    parts: DeviceParts


def lower_parts(program: Program, types: Mapping[str, str], numbers: Mapping[str, Number]) -> DeviceParts:
    """The device passes. ``types`` and ``numbers`` are what is known of the case, nothing on the dynamic track."""
    storage = assign_storage(program)
    check_storage(program, storage)
    computed = lower_compute(program, types)
    check_computed(program, computed)
    return DeviceParts(program, storage, computed, lower_alignment(program, types, numbers), types)


def lower_dynamic(program: Program) -> Lowered:
    """The answer of the dynamic track: definition, tiling, shape inference, kernel."""
    # A variable with one type needs no template.
    single = {name: members[0] for name, members in program.types.items() if len(members) == 1}
    parts = lower_parts(program, single, {})
    tiling = f"{program.operator}TilingData"
    body, functions = write_kernel(parts, tiling)
    arguments = _entry_arguments(program)
    entry = [
        *_types_of_absent(program, parts),
        f'extern "C" __global__ __aicore__ void {program.name}({arguments}, GM_ADDR workspace, GM_ADDR tiling) {{',
        *_mixed(program),
        "    GET_TILING_DATA(numbers, tiling);",
        *_launch(program, parts, "numbers"),
        "}",
    ]
    return Lowered(
        {
            f"op_host/{program.name}_tiling.h": write_tiling_header(program),
            f"op_host/{program.name}.cpp": wrapped(write_definition(program)),
            f"op_kernel/{program.name}.cpp": _file(program, functions, "", body, entry),
        },
        parts,
    )


def lower_static(program: Program, inputs: Mapping[str, Facts], attributes: Mapping[str, Setting]) -> Lowered:
    """The answer of the static track for one case: a kernel with constants."""
    defaults = {a.name: a.default for a in program.attributes.values() if a.default is not None}
    values: dict[str, Setting] = {**defaults, **attributes}
    planned = plan(program, inputs, values)
    numbers = numbers_of(values, planned)
    parts = lower_parts(program, planned.types, numbers)
    check_unified_buffer(parts, planned, numbers)
    body, functions = write_kernel(parts, "")
    entry = [f'extern "C" __global__ __aicore__ void {program.name}({_entry_arguments(program)}, GM_ADDR workspace) {{']
    entry += _mixed(program)
    # A static launch starts all cores; where cores meet, those without work must come along.
    idle = [] if _meets(program) else [f"    if (GetBlockIdx() >= {planned.cores}) {{", "        return;", "    }"]
    body_lines = _launch(program, parts, "")
    if program.multipliers and not program.launch.cube:
        entry += constant_tiling(program, numbers, planned.types)
        place = next(i for i, line in enumerate(body_lines) if "op.Init" in line)
        entry += [*body_lines[:place], *idle, *body_lines[place:], "}"]  # an idle core is known to its cube core, too
    else:
        cut = constant_tiling(program, numbers, planned.types)  # of cube cores; nothing where nothing multiplies
        entry += [*idle, *cut, *body_lines, "}"]
    return Lowered({"kernel.cpp": _file(program, functions, constants(program, planned, values), body, entry)}, parts)


def _meets(program: Program) -> bool:
    return any(isinstance(statement, Sync) for statement in statements(program.kernel))


def _entry_arguments(program: Program) -> str:
    tensors = [*program.of_role(TensorRole.INPUT), *program.of_role(TensorRole.OUTPUT)]
    return ", ".join(f"GM_ADDR {tensor.name}" for tensor in tensors)


def _telling(program: Program, name: str) -> Tensor:
    """The tensor whose element type a type variable is: one that is always there, if there is any."""
    held = [*program.of_role(TensorRole.INPUT), *program.of_role(TensorRole.OUTPUT)]
    # False sorts before True.
    return min((tensor for tensor in held if tensor.dtype == name), key=lambda tensor: tensor.optional)


def _types_of_absent(program: Program, parts: DeviceParts) -> list[str]:
    """A type for what is absent, of which the compiler is told nothing."""
    lines = []
    for name in parts.variables:
        tensor = _telling(program, name)
        if tensor.optional:
            macro = f"DTYPE_{tensor.name.upper()}"
            lines += [f"#ifndef {macro}", f"#define {macro} {DTYPES[program.types[name][0]].cpp}", "#endif", ""]
    return lines


def _launch(program: Program, parts: DeviceParts, numbers: str) -> list[str]:
    """The body of the entry: one pipe, one kernel."""
    types = []
    for name in parts.variables:
        types.append(f"DTYPE_{_telling(program, name).name.upper()}")
    kernel = f"Kernel{program.operator}" + (f"<{', '.join(types)}>" if types else "")
    given = []
    for tensor in program.tensors.values():
        if tensor.role is TensorRole.WORKSPACE:
            place = place_name(tensor)
            offset = f" + {numbers + '.' if numbers else ''}{place}" if place in program.numbers else ""
            # An operator's workspace begins with a part of the system's; a static kernel is given its own part.
            given.append(f"{'GetUserWorkspace(workspace)' if numbers else 'workspace'}{offset}")
        else:
            given.append(tensor.name)
    if numbers:
        given.append(numbers)
    owner = f"{numbers}." if numbers else ""
    if program.launch.cube:
        return [
            "    TPipe pipe;",
            f"    {kernel} op;",
            *[line for name in program.multipliers for line in _cube_object(name, owner)],
            f"    op.Init(&pipe, {', '.join(given)});",
            "    op.Process();",
            *[f"    op.{name}Object.End();" for name in program.multipliers],
        ]
    objects = [f"op.{name}Object, &{owner}{name}Cube" for name in program.multipliers]
    register = [f"    REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), {', '.join(objects)});"] if objects else []
    return [
        "    TPipe pipe;",
        f"    {kernel} op;",
        *register,
        f"    op.Init(&pipe, {', '.join(given)});",
        "    op.Process();",
    ]


def _cube_object(name: str, owner: str) -> list[str]:
    """What multiplies, where there are cube cores alone."""
    return [f"    op.{name}Object.SetSubBlockIdx(0);", f"    op.{name}Object.Init(&{owner}{name}Cube, &pipe);"]


def _mixed(program: Program) -> list[str]:
    """Products want cube cores beside the vector cores."""
    kind = "AIC_ONLY" if program.launch.cube else "MIX_AIC_1_2"
    return [f"    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{kind});"] if program.multipliers else []


def _file(program: Program, functions: list[str], numbers: str, body: str, entry: list[str]) -> str:
    head = [f"// {line}".rstrip() for line in (program.summary.strip() or program.operator).splitlines()]
    parts = [
        "\n".join([*head, "//", "// Lowered from a tile program."]),
        # The library reads this macro where its header is included.
        ("#define ASCENDC_CUBE_ONLY\n" if program.launch.cube else "")
        + '#include "kernel_operator.h"'
        + ('\n#include "lib/matmul_intf.h"' if program.multipliers else ""),
        "using namespace AscendC;",
    ]
    inner = [part for part in (numbers, *functions) if part]
    if inner:
        parts.append("namespace {\n" + "\n\n".join(inner) + "\n}  // namespace")
    parts += [body.rstrip(), "\n".join(entry)]
    return wrapped("\n\n".join(parts) + "\n")
