"""The device side of a lowered program: one class with a stage function per block."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from npukb_tile import ir
from npukb_tile.alignment import Aligned
from npukb_tile.compute import Computed, Instruction, Operand, Slot
from npukb_tile.cpp import TYPES, Writer, render, safe
from npukb_tile.device import device_functions
from npukb_tile.dtypes import DTYPES
from npukb_tile.instructions import element_type, spell
from npukb_tile.limits import MOST_ITEMS
from npukb_tile.loops import loop_head
from npukb_tile.multiplying import object_types, product_calls
from npukb_tile.storage import Storage, expressions, references

__all__ = ["DeviceParts", "block_instructions", "write_kernel"]


@dataclass(frozen=True, slots=True)
class DeviceParts:
    """What the passes found out about the device side. ``types`` binds type variables; unbound ones are templates."""

    program: ir.Program
    storage: Mapping[str, Storage]
    computed: Computed
    aligned: Aligned
    types: Mapping[str, str]

    def dtype(self, name: str) -> str:
        """An element type with type variables bound."""
        return self.types.get(name, name)

    def cpp(self, name: str) -> str:
        """Its name in C++."""
        return element_type(self.dtype(name))

    @property
    def variables(self) -> list[str]:
        """Template parameters of the kernel."""
        return [name for name in self.program.types if name not in self.types]


def write_kernel(parts: DeviceParts, tiling: str) -> tuple[str, list[str]]:
    """The class, and the functions that it uses. ``tiling`` is the tiling structure, "" where numbers are constants."""
    writer = Writer()
    _Class(parts, tiling, writer).write()
    body = _peeks_typed(writer.text(), parts)
    # What the text names is the one list of used functions that cannot be out of date.
    functions = device_functions(set(re.findall(r"[A-Za-z_]\w*", body)))
    return body, functions


def _peeks_typed(body: str, parts: DeviceParts) -> str:
    """Elements of buffers, which expressions read as ``float``, in their buffers' types."""

    def typed(match: re.Match[str]) -> str:
        # Inside a template C++ needs this word to read what follows as a call of a template.
        word = "template " if parts.variables else ""
        return f"{match[1]}Buffer.{word}Get<{parts.cpp(parts.program.buffers[match[1]].dtype)}>()"

    names = "|".join(name for name, storage in parts.storage.items() if storage is Storage.RESIDENT)
    return re.sub(rf"\b({names})Buffer\.Get<float>\(\)", typed, body) if names else body


class _Class:
    """Writes one kernel class."""

    def __init__(self, parts: DeviceParts, tiling: str, writer: Writer) -> None:
        self.parts, self.tiling, self.out = parts, tiling, writer
        self.program = parts.program
        self.locals = _local_kinds(self.program)
        self.copies = 0  # of the stage function that is being written

    def write(self) -> None:
        if self.parts.variables:
            self.out.line("template <" + ", ".join(f"typename {name}" for name in self.parts.variables) + ">")
        self.out.open(f"class Kernel{self.program.operator}")
        self.out.lines[-1] = f"class Kernel{self.program.operator} {{"
        self._access("public")
        self._init()
        self.out.line()
        self.out.open("__aicore__ inline void Process()")
        self._body(self.program.kernel)
        self.out.close()
        self.out.line()
        for held in self.program.multipliers.values():
            for line in object_types(held, self.parts.cpp, cube=self.program.launch.cube):
                self.out.line(line)
        if self.program.multipliers:
            self.out.line()
        self._access("private")
        for tensor in self.program.lists:
            self._list(tensor)
        for block in ir.walk_blocks(self.program.kernel):
            self._stage(block)
            self.out.line()
        self._members()
        self.out.close("};")

    def _list(self, tensor: ir.Tensor) -> None:
        """A function that gives one tensor of a list; its address is read once for all of its tiles."""
        cpp, name = self.parts.cpp(tensor.dtype), tensor.name
        self.out.open(f"__aicore__ inline GlobalTensor<{cpp}>& {_item(name)}(int64_t index)")
        self.out.open(f"if (index != {name}Held)")
        self.out.line(f"{name}Held = index;")
        self.out.line(f"{name}Global.SetGlobalBuffer(ListData<{cpp}>({name}List, index));")
        self.out.close()
        self.out.line(f"return {name}Global;")
        self.out.close()
        self.out.line()

    def _access(self, word: str) -> None:
        self.out.lines.append(f"  {word}:")

    # --- initialisation ---------------------------------------------------------------------------------------------

    def _init(self) -> None:
        arguments = [f"GM_ADDR {safe(name)}" for name in self.program.tensors]
        if self.tiling:
            arguments.append(f"const {self.tiling}& numbers")
        self.out.open(f"__aicore__ inline void Init(TPipe* pipe, {', '.join(arguments)})")
        if self.tiling:
            for name in self._given():
                self.out.line(f"{safe(name)} = numbers.{name};")
            for name in self.program.listed_attributes:
                self.out.line(f"{name}Count = numbers.{name}Count;")
                self.out.open(f"for (int64_t item = 0; item < {name}Count; ++item)")
                self.out.line(f"{name}[item] = numbers.{name}[item];")
                self.out.close()
        for tensor in self.program.tensors.values():
            if tensor.listed:
                self.out.line(f"{tensor.name}List = {safe(tensor.name)};")
                continue
            self.out.line(
                f"{tensor.name}Global.SetGlobalBuffer((__gm__ {self.parts.cpp(tensor.dtype)}*){safe(tensor.name)});"
            )
        for buffer in self.program.buffers.values():
            size = self._bytes(buffer.name, buffer.dtype)
            if self.parts.storage[buffer.name] is Storage.RESIDENT:
                self.out.line(f"pipe->InitBuffer({buffer.name}Buffer, {size});")
            else:
                self.out.line(f"pipe->InitBuffer({buffer.name}Queue, {buffer.depth}, {size});")
        for number, slot in enumerate(self.parts.computed.slots):
            self.out.line(f"pipe->InitBuffer(temporary{number}Buffer, {self._slot_bytes(slot)});")
        self.out.close()

    def _given(self) -> list[str]:
        return [*self.program.numeric, *self.program.numbers]

    def _elements(self, buffer: ir.Buffer) -> str:
        unit = self.parts.aligned.unit
        if buffer.rank == 1:
            return render(buffer.cols)
        if buffer.column:
            return render(buffer.rows)
        cols = f"RoundUp({render(buffer.cols)}, {unit})" if unit > 1 else render(buffer.cols, level=7)
        return f"{render(buffer.rows, level=6)} * {cols}"

    def _bytes(self, name: str, dtype: str) -> str:
        elements = self._elements(self.program.buffers[name])
        if dtype == "mask":
            return f"Bytes<uint8_t>(CeilDiv({elements}, 8))"
        return f"Bytes<{self.parts.cpp(dtype)}>({elements})"

    def _slot_bytes(self, slot: Slot) -> str:
        sizes = set()
        for name, dtype, rows_only in slot.tiles:
            buffer = self.program.buffers[name]
            if rows_only and not buffer.column:
                sizes.add(f"Bytes<{self.parts.cpp(dtype)}>({render(buffer.rows)})")
            else:
                sizes.add(self._bytes(name, dtype))
        # Sorted, so that equal programs give equal text, whatever order a set has.
        ordered = sorted(sizes)
        # Every rendered size is at least 256 bytes, so that a smaller least size need not be said.
        text = f"{slot.least_bytes}u" if slot.least_bytes > 256 or not ordered else ordered.pop(0)
        for size in ordered:
            text = f"Greatest<uint32_t>({text}, {size})"
        return text

    def _members(self) -> None:
        for tensor in self.program.lists:
            self.out.line(f"GM_ADDR {tensor.name}List;")
            self.out.line(f"int64_t {tensor.name}Held = -1;")
        for tensor in self.program.tensors.values():
            self.out.line(f"GlobalTensor<{self.parts.cpp(tensor.dtype)}> {tensor.name}Global;")
        for name, storage in self.parts.storage.items():
            kinds = {
                # Depth 1: each EnQue is followed by its DeQue. How many buffers there are is said by InitBuffer.
                Storage.INPUT_QUEUE: f"TQue<TPosition::VECIN, 1> {name}Queue;",
                Storage.OUTPUT_QUEUE: f"TQue<TPosition::VECOUT, 1> {name}Queue;",
                Storage.THROUGH_QUEUE: f"TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> {name}Queue;",
                Storage.RESIDENT: f"TBuf<TPosition::VECCALC> {name}Buffer;",
            }
            self.out.line(kinds[storage])
        for number in range(len(self.parts.computed.slots)):
            self.out.line(f"TBuf<TPosition::VECCALC> temporary{number}Buffer;")
        if self.tiling:
            for name in self._given():
                kind = self.program.numbers.get(name) or self.program.attributes[name].kind
                self.out.line(f"{TYPES[kind]} {safe(name)};")
            for name in self.program.listed_attributes:
                self.out.line(f"int64_t {name}[{MOST_ITEMS}];")
                self.out.line(f"int64_t {name}Count;")

    # --- statements -------------------------------------------------------------------------------------------------

    def _body(self, body: tuple[ir.Statement, ...]) -> None:
        declared: set[str] = set()
        self._statements(body, declared)

    def _statements(self, body: tuple[ir.Statement, ...], declared: set[str]) -> None:
        for statement in body:
            if not isinstance(statement, ir.Block):
                self._wait_for_peeks(expressions(statement, deep=False))
            if isinstance(statement, ir.Assign):
                self._assign(statement, declared)
            elif isinstance(statement, ir.For):
                self._for(statement, declared)
            elif isinstance(statement, ir.If):
                # Declared before the condition: what a branch assigns may be read behind it.
                for name in sorted(_assigned(statement) - declared):
                    self.out.line(f"{TYPES[self.locals[name]]} {safe(name)} = 0;")
                    declared.add(name)
                self.out.open(f"if ({render(statement.condition)})")
                # Copies: what a branch declares is gone behind it.
                self._statements(statement.then, set(declared))
                if statement.otherwise:
                    self.out.between("} else {")
                    self._statements(statement.otherwise, set(declared))
                self.out.close()
            elif isinstance(statement, ir.Block):
                self.out.line(f"{statement.name}({', '.join(safe(name) for name in self._free(statement))});")
            elif isinstance(statement, ir.Sync):
                # SyncAll waits for the other cores, not for this core's own copies: their data must be out before.
                self.out.line("PipeBarrier<PIPE_ALL>();")
                self.out.line("SyncAll();")
            elif isinstance(statement, ir.Multiply):
                for line in product_calls(statement, self.program.multipliers[statement.multiplier]):
                    self.out.line(line)
            elif isinstance(statement, ir.TileSet):
                for instruction in self.parts.computed.instructions[id(statement)]:
                    for line in spell(instruction):
                        self.out.line(line)
            elif isinstance(statement, ir.Move):
                self._move(statement)

    def _wait_for_peeks(self, parts: Iterable[ir.Expr]) -> None:
        if any(isinstance(part, ir.Peek) for part in parts):
            # The scalar unit waits for no other unit by itself, and the buffer may be filled by either of these two.
            self.out.line("Flag<HardEvent::V_S>();")
            self.out.line("Flag<HardEvent::MTE2_S>();")

    def _assign(self, statement: ir.Assign, declared: set[str]) -> None:
        text = render(statement.value)
        if statement.name in declared:
            self.out.line(f"{safe(statement.name)} = {text};")
            return
        declared.add(statement.name)
        once = _times(self.program.kernel, statement.name) == 1
        self.out.line(f"{'const ' if once else ''}{TYPES[statement.value.kind]} {safe(statement.name)} = {text};")

    def _for(self, statement: ir.For, declared: set[str]) -> None:
        for name in sorted(_assigned_in(statement.body) & self._outer(statement) - declared):
            self.out.line(f"{TYPES[self.locals[name]]} {safe(name)} = 0;")
            declared.add(name)
        self.out.open(loop_head(statement))
        self._statements(statement.body, {*declared, statement.name})
        self.out.close()

    def _outer(self, loop: ir.For) -> set[str]:
        """Names that something after the loop reads: those the loop must not keep to itself."""
        return _read_after(self.program.kernel, loop)

    def _free(self, block: ir.Block) -> list[str]:
        """Scalars of Process that a block uses, in the order of their names' first use."""
        names: dict[str, None] = {}
        own = _assigned_in(block.body) | _loops_in(block.body)
        for part in expressions(block):
            if isinstance(part, ir.Name) and part.name in self.locals and part.name not in own:
                names[part.name] = None
        return list(names)

    # --- stages -----------------------------------------------------------------------------------------------------

    def _stage(self, block: ir.Block) -> None:
        arguments = ", ".join(f"{TYPES[self.locals[name]]} {safe(name)}" for name in self._free(block))
        self.out.open(f"__aicore__ inline void {block.name}({arguments})")
        self.copies = 0
        if block.stage is ir.Stage.COMPUTE:
            self._compute(block)
        elif block.stage is ir.Stage.COPY_IN:
            self._copy_in(block)
        else:
            self._copy_out(block)
        self.out.close()

    def _local(self, name: str) -> str:
        return f"LocalTensor<{self.parts.cpp(self.program.buffers[name].dtype)}> {name}"

    def _take(self, name: str, way: str) -> None:
        """A local tensor: from a queue by ``way``, or the buffer itself."""
        cpp = self.parts.cpp(self.program.buffers[name].dtype)
        word = "template " if self.parts.variables else ""
        source = (
            f"{name}Buffer.{word}Get<{cpp}>()"
            if self.parts.storage[name] is Storage.RESIDENT
            else f"{name}Queue.{word}{way}<{cpp}>()"
        )
        self.out.line(f"{self._local(name)} = {source};")

    def _copy_in(self, block: ir.Block) -> None:
        names = _moved(block)
        resident = [name for name in names if self.parts.storage[name] is Storage.RESIDENT]
        if resident:
            # No queue orders these copies: the vector unit may still read the buffer, and a copy out may still be under
            # way.
            self.out.line("Flag<HardEvent::V_MTE2>();")
            self.out.line("Flag<HardEvent::MTE3_MTE2>();")
        for name in names:
            self._take(name, "AllocTensor")
        self._body(block.body)
        for name in names:
            if name not in resident:
                self.out.line(f"{name}Queue.EnQue({name});")
        if resident:
            self.out.line("Flag<HardEvent::MTE2_V>();")

    def _copy_out(self, block: ir.Block) -> None:
        names = _moved(block)
        resident = [name for name in names if self.parts.storage[name] is Storage.RESIDENT]
        if resident:
            self.out.line("Flag<HardEvent::V_MTE3>();")
            # A buffer that is copied through is filled by a copy, not by the vector unit.
            self.out.line("Flag<HardEvent::MTE2_MTE3>();")
        for name in names:
            self._take(name, "DeQue")
        self._body(block.body)
        for name in names:
            if name not in resident:
                self.out.line(f"{name}Queue.FreeTensor({name});")
        if resident:
            # The next computation must not write the buffer before the copy has left it.
            self.out.line("Flag<HardEvent::MTE3_V>();")

    def _compute(self, block: ir.Block) -> None:
        instructions = block_instructions(block.body, self.parts.computed)
        read, written = _used(block)
        self._wait_for_peeks(expressions(block, deep=False))
        self._extents(block, instructions)
        for name in [*read, *(name for name in written if name not in read)]:
            output = self.parts.storage[name] is Storage.OUTPUT_QUEUE
            self._take(name, "AllocTensor" if output else "DeQue")
        for temporary in _temporaries(instructions):
            word = "template " if self.parts.variables else ""
            cpp = self.parts.cpp(temporary.dtype)
            held = f"temporary{temporary.slot}Buffer.{word}Get<{cpp}>()"
            self.out.line(f"LocalTensor<{cpp}> {temporary.name} = {held};")
        self._body(block.body)
        for name in written:
            if self.parts.storage[name] is Storage.OUTPUT_QUEUE:
                self.out.line(f"{name}Queue.EnQue({name});")
        for name in read:
            if self.parts.storage[name] is Storage.INPUT_QUEUE:
                self.out.line(f"{name}Queue.FreeTensor({name});")

    def _extents(self, block: ir.Block, instructions: list[Instruction]) -> None:
        """The numbers that the instructions are given, as far as these use them."""
        text = " ".join(line for instruction in instructions for line in spell(instruction))
        words = set(re.findall(r"[A-Za-z_]\w*", text))
        assert block.cols is not None
        cols = f"static_cast<uint32_t>({render(block.cols)})"
        if block.rows is None:
            values = {"rows": "1", "cols": cols, "pitch": "cols", "count": "cols" if "cols" in words else cols}
            if "pitch" in words and "cols" not in words:
                values["pitch"] = cols
        else:
            unit = self.parts.aligned.unit
            values = {
                "rows": f"static_cast<uint32_t>({render(block.rows)})",
                "cols": cols,
                "pitch": f"static_cast<uint32_t>(RoundUp({render(block.cols)}, {unit}))",
                # With the padding between rows, so that one instruction covers the whole tile.
                "count": "rows * pitch",
            }
            if "count" in words:
                words |= {"rows", "pitch"}
        for name in ("rows", "cols", "pitch", "count"):
            if name in words:
                self.out.line(f"const uint32_t {name} = {values[name]};")

    def _move(self, move: ir.Move) -> None:
        buffer = self.program.buffers[move.buffer]
        cpp = self.parts.cpp(buffer.dtype)
        held = f"{move.tensor}Global"
        if move.item is not None:
            held = f"{_item(move.tensor)}({render(move.item)})"
        place = f"{held}[{render(move.start)}]"
        loads = isinstance(move, ir.Load)
        ends = (move.buffer, place) if loads else (place, move.buffer)
        if id(move) in self.parts.aligned.plain:
            self.out.line(f"DataCopy({ends[0]}, {ends[1]}, static_cast<uint32_t>({render(move.cols)}));")
            return
        size = f"sizeof({cpp})"
        if isinstance(move.rows, ir.Num) and move.rows.value == 1:
            length = f"static_cast<uint32_t>({render(move.cols, level=6)} * {size})"
            params = f"{{1, {length}, 0, 0, 0}}"
            padding = f", DataCopyPadExtParams<{cpp}>{{false, 0, 0, 0}}" if loads else ""
        else:
            params, padding = self._rows(move, buffer, cpp)
            padding = padding if loads else ""
        self.copies += 1
        name = "copy" if self.copies == 1 else f"copy{self.copies}"
        self.out.line(f"const DataCopyExtParams {name}{params};")
        self.out.line(f"DataCopyPad({ends[0]}, {ends[1]}, {name}{padding});")

    def _rows(self, move: ir.Move, buffer: ir.Buffer, cpp: str) -> tuple[str, str]:
        """Parameters of a copy of several rows. The gap of a tile's rows is counted in blocks of 32 bytes."""
        members = self.program.members(self.parts.dtype(buffer.dtype))
        size = f"sizeof({cpp})"
        # Elements of a block, for the narrowest type that the template may stand for.
        block = 32 // min(DTYPES[member].itemsize for member in members)
        rows, cols = f"static_cast<uint16_t>({render(move.rows)})", render(move.cols, level=6)
        width = f"static_cast<uint32_t>({cols} * {size})"
        gap = f"static_cast<uint32_t>(({render(move.stride)} - {render(move.cols, level=6)}) * {size})"
        unit = self.parts.aligned.unit
        # Rows that are padded to whole blocks lie next to each other: there is no gap to say.
        if len(members) == 1 and unit == block:
            inner = "0"
        else:
            pitch = f"RoundUp({render(move.cols)}, {unit}) * {size}"
            inner = f"static_cast<uint32_t>(({pitch} - RoundUp({cols} * {size}, 32)) / 32)"
        outer = (gap, inner) if isinstance(move, ir.Load) else (inner, gap)
        if render(move.stride) == render(move.cols):
            outer = tuple("0" if part is gap else part for part in outer)  # type: ignore[assignment]
        params = f"{{{rows}, {width}, {outer[0]}, {outer[1]}, 0}}"
        # Zeros up to the end of the block: instructions on rows * pitch elements read the padding, too.
        fill = f"static_cast<uint8_t>((RoundUp({cols} * {size}, 32) - {cols} * {size}) / {size})"
        return params, f", DataCopyPadExtParams<{cpp}>{{true, 0, {fill}, 0}}"


def _item(name: str) -> str:
    """The function that gives one tensor of a list."""
    return f"{name}Item"


def block_instructions(body: tuple[ir.Statement, ...], computed: Computed) -> list[Instruction]:
    """The instructions of a body, in the order of the text."""
    sets = (statement for statement in ir.statements(body) if isinstance(statement, ir.TileSet))
    return [instruction for statement in sets for instruction in computed.instructions[id(statement)]]


def _temporaries(instructions: list[Instruction]) -> list[Operand]:
    temporaries: dict[str, Operand] = {}
    for instruction in instructions:
        for operand in (instruction.target, *instruction.operands, *instruction.work):
            # Tensors of that name are declared by the instruction that decides whether they are the temporary.
            if isinstance(operand, Operand) and operand.slot >= 0 and not operand.name.endswith("Wide"):
                temporaries[operand.name] = Operand(operand.name, operand.dtype, ir.ShapeClass.FULL, operand.slot)
    return sorted(temporaries.values(), key=lambda operand: (operand.slot, operand.name))


def _used(block: ir.Block) -> tuple[list[str], list[str]]:
    """Buffers that a compute block reads and writes, each once, in the order of the text."""
    sets = [statement for statement in ir.statements(block.body) if isinstance(statement, ir.TileSet)]
    read = dict.fromkeys(name for statement in sets for name in references(statement.value))
    return list(read), list(dict.fromkeys(statement.target.buffer for statement in sets))


def _moved(block: ir.Block) -> list[str]:
    return list(dict.fromkeys(part.buffer for part in ir.statements(block.body) if isinstance(part, ir.Move)))


def _local_kinds(program: ir.Program) -> dict[str, ir.Kind]:
    """Types of the scalars that the kernel assigns and counts with."""
    kinds: dict[str, ir.Kind] = {}
    for statement in ir.statements(program.kernel):
        if isinstance(statement, ir.Assign):
            kinds[statement.name] = statement.value.kind
        elif isinstance(statement, ir.For):
            kinds[statement.name] = ir.Kind.INT
    return kinds


def _assigned(statement: ir.Statement) -> set[str]:
    if isinstance(statement, ir.Assign):
        return {statement.name}
    if isinstance(statement, ir.For):
        return _assigned_in(statement.body)
    if isinstance(statement, ir.If):
        return _assigned_in((*statement.then, *statement.otherwise))
    return set()


def _assigned_in(body: tuple[ir.Statement, ...]) -> set[str]:
    return {name for statement in body for name in _assigned(statement)}


def _loops_in(body: tuple[ir.Statement, ...]) -> set[str]:
    return {statement.name for statement in ir.statements(body) if isinstance(statement, ir.For)}


def _times(body: tuple[ir.Statement, ...], name: str) -> int:
    """How many assignments there are to a name."""
    return sum(isinstance(statement, ir.Assign) and statement.name == name for statement in ir.statements(body))


def _read_after(body: tuple[ir.Statement, ...], loop: ir.For) -> set[str]:
    """Names read after a loop, in any body that it lies in."""
    for number, statement in enumerate(body):
        # Also in the bodies around it, which go on behind the one that holds the loop.
        rest = {part.name for later in body[number + 1 :] for part in expressions(later) if isinstance(part, ir.Name)}
        if statement is loop:
            return rest
        inner: tuple[ir.Statement, ...] = ()
        if isinstance(statement, ir.For | ir.Block):
            inner = statement.body
        elif isinstance(statement, ir.If):
            inner = (*statement.then, *statement.otherwise)
        if any(part is loop for part in ir.statements(inner)):
            return rest | _read_after(inner, loop)
    return set()
