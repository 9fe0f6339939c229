"""Runs the scalar side of a program: the host function for given shapes, and scalar expressions of the kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from npukb_tile import ir
from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.limits import MOST_AXES, MOST_INTEGER, MOST_STEPS
from npukb_tile.storage import expressions, parts_of
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = [
    "UB_BYTES",
    "VECTOR_CORES",
    "Facts",
    "Number",
    "Planned",
    "Setting",
    "absent",
    "buffer_bytes",
    "evaluate",
    "numbers_of",
    "pitch_unit",
    "plan",
    "run_range",
]

#: The Ascend 910B: vector cores of the largest part, bytes of each core's unified buffer.
VECTOR_CORES = DEFAULT_MACHINE.vector_cores
CUBE_CORES = DEFAULT_MACHINE.cube_cores
UB_BYTES = DEFAULT_MACHINE.ub_bytes

Number = int | float | bool
#: The value of an attribute.
Setting = Number | str | tuple[int, ...]


class Facts(NamedTuple):
    """What the host knows of a tensor."""

    shape: tuple[int, ...]
    dtype: str
    values: tuple[int, ...] | None = None  # of short inputs of integers, where they are known


@dataclass(frozen=True, slots=True)
class Planned:
    """What the host function decided for a case."""

    cores: int
    numbers: Mapping[str, Number]
    shapes: Mapping[str, tuple[int, ...]]
    types: Mapping[str, str]


#: Reads an element of global memory or of a buffer, or a fact of a list.
Reader = Callable[[ir.Element | ir.Peek | ir.ListFact, int], Number]


def evaluate(
    node: ir.Expr,
    names: Mapping[str, Number],
    facts: Mapping[str, Facts],
    *,
    core: int = 0,
    reader: Reader | None = None,
) -> Number:
    """The value of an expression."""

    def value(inner: ir.Expr) -> Number:
        return evaluate(inner, names, facts, core=core, reader=reader)

    if isinstance(node, ir.Num):
        return node.value
    if isinstance(node, ir.Name):
        if node.name not in names:
            raise ProgramError("unassigned", f"{node.name} has no value yet", line=node.line)
        return names[node.name]
    if isinstance(node, ir.Binary):
        return _binary(node, value)
    if isinstance(node, ir.Choice):
        return value(node.yes) if value(node.condition) else value(node.no)
    if isinstance(node, ir.TensorFact):
        return _fact(node, facts, value)
    if isinstance(node, ir.Item):
        return _item(node, names, None if node.index is None else int(value(node.index)))
    if isinstance(node, ir.HostValue):
        return _host_value(node, facts[node.tensor].values, int(value(node.index)))
    if isinstance(node, ir.Known):
        return names[node.flag]
    if isinstance(node, ir.Call):
        if node.function == "core":
            return core
        return _bounded(node.line, lambda: _call(node, [value(argument) for argument in node.arguments]))
    assert reader is not None
    return reader(node, -1 if node.index is None else int(value(node.index)))


def _binary(node: ir.Binary, value: Callable[[ir.Expr], Number]) -> Number:
    left = value(node.left)
    if node.op == "and":
        # As in both languages the right side is not computed where the left one decides: it might have no value.
        return bool(left) and bool(value(node.right))
    if node.op == "or":
        return bool(left) or bool(value(node.right))
    right = value(node.right)
    if node.op in ("/", "//", "%") and right == 0:
        raise ProgramError("division", f"division by zero: {left} {node.op} 0", line=node.line)
    if node.op in ("//", "%"):
        # C++ rounds towards zero, Python down; floats are exact up to 2^53.
        if abs(left) < 2**52:
            quotient = math.trunc(left / right)
        else:
            quotient = abs(int(left)) // abs(int(right)) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if node.op == "//" else left - quotient * right
    results: dict[str, Callable[[], Number]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
        "<": lambda: left < right,
        "<=": lambda: left <= right,
        ">": lambda: left > right,
        ">=": lambda: left >= right,
        "==": lambda: left == right,
        "!=": lambda: left != right,
    }
    return _bounded(node.line, results[node.op])


def _bounded(line: int, compute: Callable[[], Number]) -> Number:
    """A number as the AI core has it: integers of 64 bits, and only what is defined."""
    try:
        result = compute()
    # A root of a negative number, or a float too large for an integer.
    except (ValueError, OverflowError) as error:
        raise ProgramError("number", f"this has no value: {error}", line=line) from error
    # A fractional power of a negative number is complex in Python.
    if isinstance(result, complex):
        raise ProgramError("number", "this has no real value", line=line)
    if isinstance(result, int) and not -MOST_INTEGER <= result < MOST_INTEGER:
        raise ProgramError("number", "an integer beyond 64 bits", line=line)
    return result


def _call(node: ir.Call, values: list[Number]) -> Number:
    name = node.function
    if name in ("ceil_div", "round_up") and values[1] <= 0:
        raise ProgramError("division", f"{name} by {values[1]}", line=node.line)
    functions: dict[str, Callable[..., Number]] = {
        "min": min,
        "max": max,
        "abs": abs,
        "float": float,
        "int": int,
        "sqrt": lambda x: math.sqrt(x),
        "power": lambda x, y: float(x) ** float(y),
        "neg": lambda x: -x,
        "not": lambda x: not x,
        "ceil_div": lambda a, b: -(-a // b),
        "round_up": lambda a, b: -(-a // b) * b,
        "vector_cores": lambda: VECTOR_CORES,
        "cube_cores": lambda: CUBE_CORES,
        "ub_bytes": lambda: UB_BYTES,
    }
    return functions[name](*values)


def _item(node: ir.Item, names: Mapping[str, Number], index: int | None) -> Number:
    count = names[f"len({node.attribute})"]
    if index is None:
        return count
    if not 0 <= index < count:
        raise ProgramError("out_of_bounds", f"{node.attribute}[{index}] of {count} integers", line=node.line)
    return names[f"{node.attribute}[{index}]"]


def _host_value(node: ir.HostValue, values: tuple[int, ...] | None, index: int) -> Number:
    if values is None:
        raise ProgramError(
            "interface",
            f"the values of {node.tensor} are not known before the launch",
            line=node.line,
            remedy="read them in the kernel function",
        )
    if not 0 <= index < len(values):
        raise ProgramError("out_of_bounds", f"{node.tensor}[{index}] of {len(values)} elements", line=node.line)
    return values[index]


def _fact(node: ir.TensorFact, facts: Mapping[str, Facts], value: Callable[[ir.Expr], Number]) -> Number:
    if node.tensor not in facts:
        raise absent(node.tensor, node.line)
    shape, dtype, _ = facts[node.tensor]
    if node.fact == "size":
        return math.prod(shape)
    if node.fact == "rank":
        return len(shape)
    if node.fact == "itemsize":
        return DTYPES[dtype].itemsize
    if node.fact == "product":
        return math.prod(_between(shape, node.first, node.last, value))
    assert node.first is not None
    axis = int(value(node.first))
    # A fault with its line instead of an IndexError; C++ would read beyond the shape.
    if not -len(shape) <= axis < len(shape):
        raise ProgramError("shape", f"{node.tensor} has no axis {axis}: its shape is {list(shape)}", line=node.line)
    return shape[axis]


def absent(name: str, line: int) -> ProgramError:
    """The fault of a use of an input that is absent."""
    detail, remedy = f"{name} is absent in this case", f"put it under if {name} is not None"
    return ProgramError("absent", detail, line=line, remedy=remedy)


def _flags(program: ir.Program, inputs: Mapping[str, Facts], attributes: Mapping[str, Setting]) -> dict[str, Number]:
    """What host and kernel ask about absent inputs and texts, with the answers."""
    asked = [part for statement in (*program.host, *program.shapes) for part in expressions(statement)]
    asked += [part for _, value in program.launch.numbers for part in parts_of(value)]
    known = [part for part in asked if isinstance(part, ir.Known)]
    return {
        part.flag: part.subject in inputs if part.text is None else attributes.get(part.subject) == part.text
        for part in known
    }


def _between(
    shape: tuple[int, ...], first: ir.Expr | None, last: ir.Expr | None, value: Callable[[ir.Expr], Number]
) -> tuple[int, ...]:
    start = int(value(first)) if first is not None else 0
    stop = int(value(last)) if last is not None else len(shape)
    return shape[start:stop]


def run_range(node: ir.For, value: Callable[[ir.Expr], Number]) -> Iterator[int]:
    """The values of a loop's variable."""
    step = int(value(node.step))
    if step <= 0:
        raise ProgramError("loop", f"the step of {node.name} is {step}", line=node.line, remedy="steps are positive")
    return iter(range(int(value(node.start)), int(value(node.stop)), step))


def numbers_of(attributes: Mapping[str, Setting], planned: Planned) -> dict[str, Number]:
    """The numbers that a kernel is given."""
    return {**_plain(attributes), **planned.numbers}


def _plain(attributes: Mapping[str, Setting]) -> dict[str, Number]:
    """Attributes as numbers: texts are none, and a list is its elements and their count."""
    values: dict[str, Number] = {}
    for name, value in attributes.items():
        if isinstance(value, tuple):
            values |= {f"{name}[{place}]": item for place, item in enumerate(value)}
            values[f"len({name})"] = len(value)
        elif not isinstance(value, str):
            values[name] = value
    return values


def plan(program: ir.Program, inputs: Mapping[str, Facts], attributes: Mapping[str, Setting]) -> Planned:
    """Run the host function. ProgramError if what it decides cannot be launched."""
    types = _bind(program, inputs)
    facts = dict(inputs)
    names = _plain(attributes)
    names |= _flags(program, inputs, attributes)

    def value(node: ir.Expr) -> Number:
        return evaluate(node, names, facts)

    steps = count(1)

    def run(body: tuple[ir.Statement, ...]) -> None:
        for statement in body:
            if next(steps) > MOST_STEPS:
                raise ProgramError("limit", "the host function does not end", line=statement.line)
            if isinstance(statement, ir.Assign):
                names[statement.name] = value(statement.value)
            elif isinstance(statement, ir.If):
                run(statement.then if value(statement.condition) else statement.otherwise)
            elif isinstance(statement, ir.For):
                for number in run_range(statement, value):
                    if next(steps) > MOST_STEPS:
                        raise ProgramError("limit", "the host function does not end", line=statement.line)
                    names[statement.name] = number
                    run(statement.body)

    run(program.host)
    numbers = {name: value(node) for name, node in program.launch.numbers}
    shapes = {shape.tensor: _shape(_chosen(shape, value), facts, value, shape.line) for shape in program.shapes}
    planned = Planned(int(value(program.launch.cores)), numbers, shapes, types)
    _check(program, planned, {**names, **numbers})
    return planned


def _chosen(shape: ir.OutputShape, value: Callable[[ir.Expr], Number]) -> ir.ShapeExpr:
    return shape.shape if shape.condition is None or value(shape.condition) else shape.otherwise


def _shape(
    shape: ir.ShapeExpr, facts: Mapping[str, Facts], value: Callable[[ir.Expr], Number], line: int
) -> tuple[int, ...]:
    extents: list[int] = []
    for part in shape:
        if part.extent is not None:
            times = int(value(part.times)) if part.times is not None else 1
            # More axes than this no tensor has, and a tuple of millions would be slow to make.
            if times > MOST_AXES:
                raise ProgramError("output_shape", f"a shape of {times} axes", line=line)
            extents.extend([int(value(part.extent))] * times)
        elif part.tensor not in facts:
            raise absent(part.tensor, line)
        else:
            extents.extend(_between(facts[part.tensor].shape, part.first, part.last, value))
    return tuple(extents)


def _bind(program: ir.Program, inputs: Mapping[str, Facts]) -> dict[str, str]:
    """Which element type every type variable is."""
    types: dict[str, str] = {}
    for tensor in program.of_role(ir.TensorRole.INPUT):
        given = inputs.get(tensor.name)
        if given is None and tensor.optional:
            continue
        if given is None:
            raise ProgramError("interface", f"nothing is given for the input {tensor.name}", line=tensor.line)
        known = types.setdefault(tensor.dtype, given.dtype) if tensor.dtype in program.types else tensor.dtype
        if given.dtype != known or given.dtype not in program.members(tensor.dtype):
            raise ProgramError(
                "interface", f"{tensor.name} is {given.dtype}, the program says {known}", line=tensor.line
            )
    for name, members in program.types.items():
        types.setdefault(name, members[0])  # of absent inputs alone: nothing computes with them
    return types


def pitch_unit(program: ir.Program, types: Mapping[str, str]) -> int:
    """Elements of the narrowest type of a tile with rows in 32 bytes."""
    rows = any(block.rows is not None for block in ir.walk_blocks(program.kernel) if block.stage is ir.Stage.COMPUTE)
    # Copies fill whole blocks of 32 bytes per row, whatever is computed in between.
    rows = rows or any(
        isinstance(part, ir.Move) and not (isinstance(part.rows, ir.Num) and part.rows.value == 1)
        for part in ir.statements(program.kernel)
    )
    names = {types.get(buffer.dtype, buffer.dtype) for buffer in program.buffers.values() if not buffer.column}
    sizes = [DTYPES[member].itemsize for name in names for member in program.members(name)]
    # At most 4 bytes: casts to float32 and temporaries lie in the same rows.
    return 32 // min([*sizes, 4]) if rows else 1


def buffer_bytes(program: ir.Program, planned: Planned, names: Mapping[str, Number]) -> dict[str, int]:
    """Bytes of every buffer, all depths together: whole units of 256 bytes each."""
    sizes: dict[str, int] = {}
    unit = pitch_unit(program, planned.types)
    for buffer in program.buffers.values():
        rows, cols = (int(evaluate(extent, names, {})) for extent in (buffer.rows, buffer.cols))
        if buffer.rank == 2 and not buffer.column:
            # Rows of a tile begin at multiples of 32 bytes.
            cols = -(-cols // unit) * unit
        dtype = planned.types.get(buffer.dtype, buffer.dtype)
        sizes[buffer.name] = buffer.depth * (-(-rows * cols * DTYPES[dtype].itemsize // 256) * 256)
    return sizes


def _check(program: ir.Program, planned: Planned, names: Mapping[str, Number]) -> None:
    line = program.launch.line
    kind, most = ("cube", CUBE_CORES) if program.launch.cube else ("vector", VECTOR_CORES)
    if not 1 <= planned.cores <= most:
        raise ProgramError(
            "launch",
            f"{'cube_cores' if program.launch.cube else 'cores'} is {planned.cores}",
            line=line,
            remedy=f"between 1 and {kind}_cores(), which is {most} here",
        )
    meets = any(isinstance(statement, ir.Sync) for statement in ir.statements(program.kernel))
    if meets and planned.cores != VECTOR_CORES:
        raise ProgramError(
            "launch",
            f"sync_all waits for every core, and {planned.cores} are launched",
            line=line,
            remedy="cores=vector_cores(); cores without work have an empty share",
        )
    if program.multipliers and not program.launch.cube and planned.cores % 2 != 0:
        raise ProgramError(
            "launch",
            f"{planned.cores} cores multiply, and a cube core serves two vector cores",
            line=line,
            remedy="cores=round_up(…, 2); a core without work has an empty share",
        )
    for held in program.multipliers.values():
        rows, inner, cols = (int(evaluate(extent, names, {})) for extent in (held.rows, held.inner, held.cols))
        # TCubeTiling and the library's calls take 32-bit integers.
        if not all(1 <= extent < 2**31 for extent in (rows, inner, cols)):
            raise ProgramError(
                "buffer_size",
                f"the multiplier {held.name} is for {rows} x {inner} by {inner} x {cols} elements",
                line=held.line,
                remedy="extents are between 1 and 2147483647",
            )
    for name, kind in program.numbers.items():
        if kind is ir.Kind.INT and not -(2**63) <= planned.numbers[name] < 2**63:
            raise ProgramError("launch", f"{name} = {planned.numbers[name]} does not fit 64 bits", line=line)
    sizes = buffer_bytes(program, planned, names)
    total = sum(sizes.values())
    if total > UB_BYTES:
        largest = max(sizes, key=lambda name: sizes[name])
        listing = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise ProgramError(
            "ub_budget",
            f"the buffers take {total} bytes ({listing}), the unified buffer has {UB_BYTES}",
            line=program.buffers[largest].line,
            remedy=f"a tile of {UB_BYTES / total:.2f} times the length fits",
        )
