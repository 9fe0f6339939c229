"""Third pass, computation: nested tile expressions become instructions with three addresses and temporaries.

Intermediate results live in the buffer that is being filled wherever nothing else still reads it, else in temporaries,
which all blocks share. The pass knows nothing of C++: an :class:`Instruction` names an operation and its operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from npukb_tile import ir
from npukb_tile.dtypes import DTYPES, FLOATS
from npukb_tile.fault import ProgramError
from npukb_tile.operations import OPERATIONS
from npukb_tile.storage import references

__all__ = ["LIBRARY_SCRATCH", "Computed", "Instruction", "Operand", "Slot", "lower_compute"]

LIBRARY_SCRATCH = 16384
#: Bytes of the blocks into which a column is spread, at most: 248 rows of 32 bytes.
# 248 is the largest multiple of 8, the blocks that Brcb makes at a time, within 255 repeats.
_SPREAD_BYTES = 248 * 32
#: What a reduction of the longest tile keeps of its repeats.
_REDUCE_BYTES = 4096
#: Ends of the names of temporaries, by element type.
_SUFFIX = {"float32": "", "words": "", "mask": "Mask", "bytes": "Scratch", "float16": "Half", "int32": "Int"}


@dataclass(frozen=True, slots=True)
class Operand:
    """A tile in UB. ``slot`` is the number of a temporary, -1 for a buffer of the program."""

    name: str
    dtype: str
    shape: ir.ShapeClass
    slot: int = -1


@dataclass(frozen=True, slots=True)
class Instruction:
    """``target = operation(operands)``; ``work`` are temporaries that the operation needs for itself."""

    operation: str
    target: Operand
    operands: tuple[Operand | ir.Expr, ...]
    line: int
    work: tuple[Operand, ...] = ()
    mode: str = ""


@dataclass(slots=True)
class Slot:
    """A temporary: the buffers whose extents it must hold with bytes per element, and fixed sizes."""

    tiles: set[tuple[str, str, bool]] = field(default_factory=set)  # buffer, type ("mask" is a bit), its rows only
    least_bytes: int = 256


@dataclass(frozen=True, slots=True)
class Computed:
    """The instructions of every tile statement, by the statement, and the temporaries of the program."""

    instructions: Mapping[int, tuple[Instruction, ...]]
    slots: tuple[Slot, ...]


def lower_compute(program: ir.Program, types: Mapping[str, str]) -> Computed:
    """Instructions for every TileSet (keyed by its ``id``). ``types`` binds type variables; unbound ones stay."""
    slots: list[Slot] = []
    instructions: dict[int, tuple[Instruction, ...]] = {}

    def visit(body: tuple[ir.Statement, ...], block: ir.Block) -> None:
        for statement in body:
            if isinstance(statement, ir.TileSet):
                instructions[id(statement)] = _Lowering(program, types, block, slots).statement(statement)
            elif isinstance(statement, ir.For):
                visit(statement.body, block)
            elif isinstance(statement, ir.If):
                visit(statement.then, block)
                visit(statement.otherwise, block)

    for block in ir.walk_blocks(program.kernel):
        if block.stage is ir.Stage.COMPUTE:
            visit(block.body, block)
    return Computed(instructions, tuple(slots))


class _Lowering:
    """Lowers one statement. Temporaries are free again when it is done."""

    def __init__(self, program: ir.Program, types: Mapping[str, str], block: ir.Block, slots: list[Slot]) -> None:
        self.program, self.types, self.block, self.slots = program, types, block, slots
        self.emitted: list[Instruction] = []
        self.busy: set[int] = set()
        self.model = ""  # the largest tile of the statement: temporaries are as long
        self.row = ""

    def statement(self, statement: ir.TileSet) -> tuple[Instruction, ...]:
        names = [statement.target.buffer, *references(statement.value)]
        held = [self.program.buffers[name] for name in names]
        # A column holds one element per row: a temporary as long as a column would be too short for a tile.
        wide = [buffer for buffer in held if not buffer.column]
        # A buffer of two axes before one of one: with rows, the second holds a single row of the block.
        tall = [buffer for buffer in wide if buffer.rank == 2]
        self.model = (tall or wide or held)[0].name
        # A row of the program decides how long a temporary for a row is; without one it is as long as a tile.
        self.row = next((buffer.name for buffer in wide if buffer.rank == 1), self.model)
        target = self._buffer(statement.target)
        self._into(statement.value, target, statement.line)
        return tuple(self.emitted)

    def _resolve(self, dtype: str) -> str:
        return self.types.get(dtype, dtype)

    def _buffer(self, ref: ir.BufferRef) -> Operand:
        return Operand(ref.buffer, self._resolve(ref.dtype), ref.shape)

    def _take(self, dtype: str, shape: ir.ShapeClass, least: int = 256) -> Operand:
        """A free temporary."""
        # The lowest free number, so that a program needs as few temporaries as its deepest statement.
        number = next((i for i in range(len(self.slots)) if i not in self.busy), len(self.slots))
        if number == len(self.slots):
            self.slots.append(Slot())
        self.busy.add(number)
        slot = self.slots[number]
        slot.least_bytes = max(slot.least_bytes, least)
        # These two have fixed sizes, whatever the tile.
        if dtype not in ("bytes", "words"):
            rows_only = shape is ir.ShapeClass.COLUMN
            slot.tiles.add((self.row if shape is ir.ShapeClass.ROW else self.model, dtype, rows_only))
        return Operand(f"temporary{number}{_SUFFIX.get(dtype, dtype.capitalize())}", dtype, shape, number)

    def _release(self, *operands: Operand | ir.Expr) -> None:
        for operand in operands:
            if isinstance(operand, Operand) and operand.slot >= 0:
                self.busy.discard(operand.slot)

    def _emit(
        self,
        operation: str,
        target: Operand,
        *operands: Operand | ir.Expr,
        line: int,
        mode: str = "",
        work: tuple[Operand, ...] = (),
    ) -> Operand:
        self.emitted.append(Instruction(operation, target, operands, line, work, mode))
        # Work memory is free again behind its instruction: vector instructions run one after the other.
        self._release(*work)
        return target

    # --- expressions ------------------------------------------------------------------------------------------------

    def _into(self, node: ir.TileExpr, target: Operand, line: int) -> None:
        """Make ``target`` hold the value of an expression."""
        if isinstance(node, ir.Scalar):
            self._emit("fill", target, node.value, line=line)
        elif isinstance(node, ir.BufferRef):
            source = self._buffer(node)
            # A buffer that is set to itself needs no instruction.
            if source.name != target.name:
                self._emit("copy", target, source, line=line)
        else:
            result = self._operation(node, target)
            if result != target:
                self._emit("copy", target, result, line=line)

    def _operand(self, node: ir.TileExpr, want: Operand | None) -> Operand | ir.Expr:
        """Where the value of an expression lies; it may be computed in ``want``."""
        if isinstance(node, ir.Scalar):
            return node.value
        if isinstance(node, ir.BufferRef):
            return self._buffer(node)
        return self._operation(node, want)

    def _tile(self, node: ir.TileExpr, like: ir.TileOp, want: Operand | None = None) -> Operand:
        """As ``_operand``, but scalars become tiles."""
        value = self._operand(node, want)
        if isinstance(value, Operand):
            return value
        # Only a scalar is left: it fills a tile, as the instruction takes no number there.
        place = self._take(self._resolve(like.dtype), like.shape)
        return self._emit("fill", place, value, line=like.line)

    def _fits(self, want: Operand | None, dtype: str, shape: ir.ShapeClass) -> Operand | None:
        return want if want is not None and want.dtype == dtype and want.shape is shape else None

    def _operation(self, node: ir.TileOp, want: Operand | None) -> Operand:
        kind = OPERATIONS[node.op].kind if node.op != "cast" else "cast"
        lowered = {
            "unary": self._unary,
            "binary": self._binary,
            "compare": self._compare,
            "logic": self._logic,
            "where": self._where,
            "cast": self._cast,
            "across": self._across,
            "down": self._down,
            "gather": self._gather,
            "iota": self._iota,
            "shift": self._shift,
            "sort": self._sort,
        }
        return lowered[kind](node, want)

    def _result(
        self, node: ir.TileOp, want: Operand | None, *inputs: Operand | ir.Expr, apart: bool = False
    ) -> Operand:
        """Where an operation writes: what is wanted, an operand that is not read again, or a new temporary."""
        dtype = self._resolve(node.dtype)
        place = self._fits(want, dtype, node.shape)
        taken = {operand.name for operand in inputs if isinstance(operand, Operand)}
        if place is not None and not (apart and place.name in taken):
            return place
        for operand in inputs:
            # Buffers of the program keep their contents: only temporaries may be written over.
            if apart or not isinstance(operand, Operand) or operand.slot < 0:
                continue
            if operand.dtype == dtype and operand.shape is node.shape:
                return operand
        return self._take(dtype, node.shape)

    def _done(self, result: Operand, *inputs: Operand | ir.Expr) -> None:
        self._release(*(operand for operand in inputs if operand != result))

    def _unary(self, node: ir.TileOp, want: Operand | None) -> Operand:
        library = OPERATIONS[node.op].library
        # Library functions must not write where they read, so their operand may not lie in the result.
        [value] = [self._tile(node.arguments[0], node, None if library else want)]
        result = self._result(node, want, value, apart=library)
        work = (self._take("bytes", ir.ShapeClass.FULL, LIBRARY_SCRATCH),) if library else ()
        self._emit(node.op, result, value, line=node.line, work=work)
        self._done(result, value)
        return result

    def _binary(self, node: ir.TileOp, want: Operand | None) -> Operand:
        left_node, right_node = node.arguments
        target = want.name if want is not None else ""
        # The left side may be computed in the target only if the right side does not read it afterwards.
        in_left = want if target not in set(references(right_node)) else None
        left = self._operand(left_node, in_left)
        used = isinstance(left, Operand) and left.name == target
        right = self._operand(right_node, None if used else want)
        # Instructions take a scalar on the right; these operations may swap their sides.
        if not isinstance(left, Operand) and node.op in ("add", "mul", "max", "min"):
            left, right = right, left
        if not isinstance(left, Operand):
            if node.op == "sub":
                return self._from_scalar(node, want, left, right)
            left = self._emit("fill", self._take(self._resolve(node.dtype), node.shape), left, line=node.line)
        # Broadcasting a column spreads its elements over blocks first, which needs memory.
        mixed = isinstance(right, Operand) and right.shape is not left.shape
        result = self._result(node, want, left, right, apart=False)
        work: tuple[Operand, ...] = ()
        if mixed and ir.ShapeClass.COLUMN in (left.shape, right.shape if isinstance(right, Operand) else left.shape):
            work = (self._take("words", ir.ShapeClass.FULL, _SPREAD_BYTES),)
        self._emit(node.op, result, left, right, line=node.line, work=work)
        self._done(result, left, right)
        return result

    def _from_scalar(self, node: ir.TileOp, want: Operand | None, scalar: ir.Expr, tile: Operand | ir.Expr) -> Operand:
        """``scalar - tile``."""
        assert isinstance(tile, Operand)
        result = self._result(node, want, tile)
        # No instruction subtracts from a scalar.
        self._emit("neg", result, tile, line=node.line)
        self._emit("add", result, result, scalar, line=node.line)
        self._done(result, tile)
        return result

    def _compare(self, node: ir.TileOp, _: Operand | None) -> Operand:
        left, right = (self._operand(argument, None) for argument in node.arguments)
        operation = node.op
        if not isinstance(left, Operand):
            left, right = right, left
            # A comparison turned round keeps its meaning only with the other sign.
            operation = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(operation, operation)
        assert isinstance(left, Operand)
        if isinstance(right, Operand) and right.shape is not left.shape:
            raise ProgramError(
                "shape", "comparisons do not broadcast", line=node.line, remedy="compare the difference with 0.0"
            )
        result = self._take("mask", node.shape)
        self._emit(operation, result, left, right, line=node.line)
        self._release(left, right)
        return result

    def _logic(self, node: ir.TileOp, _: Operand | None) -> Operand:
        masks = [self._operand(argument, None) for argument in node.arguments]
        # Masks are always temporaries, so that the first can take the result.
        result = masks[0]
        assert isinstance(result, Operand)
        self._emit(f"mask_{node.op}", result, *masks, line=node.line)
        self._release(*masks[1:])
        return result

    def _where(self, node: ir.TileOp, want: Operand | None) -> Operand:
        mask = self._operand(node.arguments[0], None)
        # The first choice is computed before the second: it must not overwrite what that one reads.
        free = want if want is not None and want.name not in set(references(node.arguments[2])) else None
        yes = self._tile(node.arguments[1], node, free)
        no = self._operand(node.arguments[2], None)
        result = self._result(node, want, yes, no)
        self._emit("where", result, mask, yes, no, line=node.line)
        self._release(mask)
        self._done(result, yes, no)
        return result

    def _across(self, node: ir.TileOp, want: Operand | None) -> Operand:
        value = self._tile(node.arguments[0], node)
        result = self._result(node, want, apart=True)
        # No instruction multiplies along a row: it is folded in halves, which needs memory for a whole row of float32.
        folds = node.op == "row_prod"
        work = (self._take("float32" if folds else "words", ir.ShapeClass.FULL, _REDUCE_BYTES),)
        self._emit(node.op, result, value, line=node.line, work=work)
        self._done(result, value)
        return result

    def _down(self, node: ir.TileOp, want: Operand | None) -> Operand:
        value = self._tile(node.arguments[0], node)
        result = self._result(node, want, apart=True)
        work = (self._take("float32", ir.ShapeClass.FULL),)
        self._emit(node.op, result, value, line=node.line, work=work)
        self._done(result, value)
        return result

    def _gather(self, node: ir.TileOp, want: Operand | None) -> Operand:
        source = self._operand(node.arguments[0], None)
        index = self._operand(node.arguments[1], None)
        assert isinstance(index, Operand)
        # An index in a temporary may be overwritten by its offsets in bytes; one in a buffer is the program's.
        offsets = index if index.slot >= 0 else self._take("int32", ir.ShapeClass.FULL)
        shift = [argument.value for argument in node.arguments[2:] if isinstance(argument, ir.Scalar)]
        result = self._result(node, want, source, apart=True)
        self._emit("gather", result, source, index, *shift, line=node.line, work=(offsets,))
        self._release(index, source)
        return result

    def _iota(self, node: ir.TileOp, want: Operand | None) -> Operand:
        result = self._result(node, want)
        return self._emit(node.op, result, line=node.line)

    def _sort(self, node: ir.TileOp, want: Operand | None) -> Operand:
        value = self._tile(node.arguments[0], node)
        result = self._result(node, want, apart=True)
        # Keys and places, filled up to whole groups of 32; records of both, and as many to merge them.
        # A record is a number and its place, 8 bytes together.
        work = tuple(self._take(dtype, ir.ShapeClass.FULL) for dtype in ("float32", "int32", "int64", "int64"))
        self._emit("argsort", result, value, line=node.line, work=work)
        self._release(value)
        return result

    def _shift(self, node: ir.TileOp, want: Operand | None) -> Operand:
        source, distance, fill = (self._operand(argument, None) for argument in node.arguments)
        result = self._result(node, want, source, apart=True)
        work = (self._take("int32", ir.ShapeClass.FULL),)
        self._emit("shift", result, source, distance, fill, line=node.line, work=work)
        self._release(source)
        return result

    # --- casts ------------------------------------------------------------------------------------------------------

    def _cast(self, node: ir.TileOp, want: Operand | None) -> Operand:
        to = self._resolve(node.dtype)
        inner = node.arguments[0]
        assert not isinstance(inner, ir.Scalar)
        origin = inner.dtype if inner.dtype == "mask" else self._resolve(inner.dtype)
        if origin == to:
            return self._same(inner, want)
        if origin == "mask":
            return self._of_mask(node, inner, to, want)
        if {origin, to} & set(self.program.types):
            return self._of_variable(node, inner, origin, to, want)
        free = want if want is not None and want.dtype == origin else None
        value = self._operand(inner, free)
        assert isinstance(value, Operand)
        for step in _path(origin, to, node.line):
            last = step == to
            place = self._fits(want, to, node.shape) if last else None
            place = place or self._take(step, node.shape)
            self._emit("cast", place, value, line=node.line, mode=node.mode)
            self._done(place, value)
            value = place
        return value

    def _same(self, inner: ir.TileExpr, want: Operand | None) -> Operand:
        value = self._operand(inner, want)
        assert isinstance(value, Operand)
        return value

    def _of_mask(self, node: ir.TileOp, inner: ir.TileExpr, to: str, want: Operand | None) -> Operand:
        """1 where the mask is true, else 0."""
        mask = self._operand(inner, None)
        number = "float16" if to == "bool" else to
        # Select writes no bytes, so a bool comes about as a half and is cast.
        ones = self._take(number, node.shape)
        self._emit("fill", ones, ir.Num(1.0, ir.Kind.FLOAT, line=node.line), line=node.line)
        self._emit("where", ones, mask, ones, ir.Num(0.0, ir.Kind.FLOAT, line=node.line), line=node.line)
        self._release(mask)
        if to != "bool":
            return ones
        result = self._fits(want, "bool", node.shape) or self._take("bool", node.shape)
        self._emit("cast", result, ones, line=node.line)
        self._release(ones)
        return result

    def _read_once(self, name: str) -> bool:
        """Whether this is the only time that a computation reads a buffer, so that its memory is free afterwards."""
        reads = [part for block in ir.walk_blocks(self.program.kernel) for part in _reads(block.body, once=True)]
        # A second reading, also a later one of a loop, would find what the first one wrote there.
        return reads.count(name) == 1

    def _of_variable(self, node: ir.TileOp, inner: ir.TileExpr, origin: str, to: str, want: Operand | None) -> Operand:
        """Between float32 and a type that is known when the kernel is compiled: no cast where they are one."""
        members = set(self.program.members(origin)) | set(self.program.members(to))
        numbers = members - FLOATS
        if to == "float32" and numbers and numbers <= {"int16", "int32"}:
            value = self._operand(inner, None)
            place = self._fits(want, to, node.shape) or self._take(to, node.shape)
            self._emit("widen_number", place, value, line=node.line)
            self._done(place, value)
            return place
        if "float32" not in (origin, to) or not members <= FLOATS:
            raise ProgramError(
                "dtype",
                f"{origin} cannot be cast to {to} for all of {', '.join(sorted(members))}",
                line=node.line,
                remedy="between float32 and a variable of floating types",
            )
        if to == "float32":
            value = self._operand(inner, None)
            given = self._fits(want, "float32", node.shape)
            if given is not None and given.slot < 0:
                self._emit("widen", given, value, line=node.line)
                self._release(value)
                return given
            place = self._take("float32", node.shape)
            if isinstance(inner, ir.BufferRef) and self._read_once(inner.buffer):
                # Under a name of its own: where the type is float, this is the buffer itself.
                place = replace(place, name=f"{inner.buffer}Wide")
                return self._emit("widened", place, value, line=node.line)
            self._emit("widen", place, value, line=node.line)
            self._release(value)
            return place
        if want is not None and want.dtype == to and want.slot < 0 and want.name not in set(references(inner)):
            wide = replace(self._take("float32", node.shape), name=f"{want.name}Wide")
            self._emit("wide_result", wide, want, line=node.line)
            value = self._operand(inner, wide)
            # Narrowed does nothing for float, whose result is in place already; Narrow would have to copy it.
            self._emit("narrowed" if value == wide else "narrow", want, value, line=node.line)
            self._release(value, wide)
            return want
        value = self._operand(inner, None)
        result = self._fits(want, to, node.shape) or self._take(to, node.shape)
        self._emit("narrow", result, value, line=node.line)
        self._release(value)
        return result


def _reads(body: tuple[ir.Statement, ...], *, once: bool) -> Iterator[str]:
    """Buffers that a body reads; those in loops twice, as they are read again."""
    for statement in body:
        if isinstance(statement, ir.TileSet):
            for name in references(statement.value):
                yield from (name,) if once else (name, name)
        elif isinstance(statement, ir.For):
            yield from _reads(statement.body, once=False)
        elif isinstance(statement, ir.If):
            yield from _reads((*statement.then, *statement.otherwise), once=once)


def _path(origin: str, to: str, line: int) -> list[str]:
    """The element types on the way of a cast."""
    bytes_, halves = {"bool", "int8", "uint8"}, {"float16"}
    # What the instruction Cast offers on these cores; anything else takes two steps or more.
    direct = {
        ("int16", "float32"),
        ("float32", "int16"),
        ("int32", "float32"),
        ("float32", "int32"),
        ("int64", "float32"),
        ("float32", "int64"),
        ("int64", "int32"),
        ("int32", "int64"),
        ("float16", "int32"),
        ("float16", "int16"),
        ("int16", "float16"),
        ("float16", "float32"),
        ("float32", "float16"),
        ("bfloat16", "float32"),
        ("float32", "bfloat16"),
        ("bfloat16", "int32"),
    }
    if (origin, to) in direct or (origin in bytes_ and to in halves) or (origin in halves and to in bytes_):
        return [to]
    # Cast between bytes and anything but half does not exist.
    if origin in bytes_ and to not in bytes_:
        return ["float16", *_path("float16", to, line)]
    if to in bytes_ and origin not in bytes_:
        return [*_path(origin, "float16", line), to]
    if "float32" not in (origin, to) and origin in DTYPES and to in DTYPES:
        return ["float32", *_path("float32", to, line)]
    raise ProgramError("dtype", f"there is no way from {origin} to {to}", line=line)
