"""Kernels for generated questions: numbers of the partition, copies, compute; then the text and the reasoning."""

from __future__ import annotations

from kernelgen_lm.corpus.emit import Constant, GlobalTensor, Parts, Transfer, WorkBuffer, render
from kernelgen_lm.corpus.lower import Layout, Lowered, lower
from kernelgen_lm.corpus.measures import CORES, UB_BYTES, Kernel, Numbers, up
from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.mover import write_mover
from kernelgen_lm.corpus.operations import REDUCTIONS
from kernelgen_lm.corpus.program import Kind, Program
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import Partition, Structure, Style
from npukernelbench.nouns import DType

__all__ = ["flat_writer", "write_kernel"]

_BLOCK = 32


def write_kernel(spec: Spec, style: Style) -> Kernel | None:
    """A kernel for ``spec`` in ``style``; None where the style does not fit."""
    if isinstance(spec.body, Movement):
        return write_mover(spec, style)
    if spec.family == "whole":
        return _Whole(spec, spec.body, style).write()
    return flat_writer(spec, spec.body, style).write()


def flat_writer(spec: Spec, program: Program, style: Style) -> _Flat:
    """What writes kernels whose cores have nothing to say to each other."""
    return _Rows(spec, program, style) if spec.family == "rows" else _Flat(spec, program, style)


class _Flat:
    """Element-wise: the tensor is one run of elements."""

    unit = "elements"

    def __init__(self, spec: Spec, program: Program, style: Style) -> None:
        self.spec, self.program, self.style = spec, program, style
        self.work = self._work()
        self.in_type, self.out_type = spec.dtype.ascend_c, spec.result.ascend_c
        self.inputs, self.output = spec.names[:-1], spec.names[-1]
        constant = style.constant
        self.TOTAL, self.TILE, self.SHARE = constant("total"), constant("tile"), constant("share")
        self.parts = Parts(
            spec.kernel,
            f"Kernel{''.join(word.capitalize() for word in spec.kernel.split('_'))}",
            (*spec.names, "workspace"),
            spec.formula().replace("\n", "; "),
        )

    def _work(self) -> str:
        """The type of the arithmetic."""
        if self.spec.dtype is DType.INT32 and self.spec.result is DType.INT32:
            return "int32_t"
        simple = len(self.program.steps) <= 2 and self.spec.family == "elementwise"
        if self.spec.dtype is self.spec.result is DType.FLOAT16 and simple and not self.style.wide:
            return "half"
        return "float"

    def write(self) -> Kernel | None:
        fitted = self.fit()
        return None if fitted is None else Kernel(render(self.parts, self.style), *fitted, self.parts)

    def fit(self) -> tuple[Numbers, Lowered] | None:
        """Fill the parts of the kernel; None where it takes more of the unified buffer than there is."""
        numbers = self.measure()
        if numbers is None:
            return None
        lowered = self.fill(numbers)
        ub = self.ub_bytes(numbers)
        return None if ub > UB_BYTES else (numbers._replace(ub_bytes=ub), lowered)

    def measure(self) -> Numbers | None:
        """Share and tile, in elements."""
        smallest = min(self.spec.dtype.itemsize, self.spec.result.itemsize)
        # Whole repeats of 256 bytes, which comparisons need, and whole blocks, which copies need.
        step = up(_BLOCK // smallest, 64 if self.work != "half" else 128)
        tile = max(step, self.style.tile_bytes // 4 // step * step)
        # Shares begin at whole blocks: two cores must not write the same 32 bytes.
        share = up(-(-self.spec.total // CORES), _BLOCK // smallest)
        cores = -(-self.spec.total // share)
        tiles = -(-min(share, self.spec.total) // tile)
        return Numbers(self.unit, self.spec.total, share, cores, tile, tiles, 0)

    def fill(self, numbers: Numbers) -> Lowered:
        """Put everything into the parts."""
        spec, style, parts = self.spec, self.style, self.parts
        block = _BLOCK // min(spec.dtype.itemsize, spec.result.itemsize)
        share = f"(({self.TOTAL} + {CORES} - 1) / {CORES} + {block} - 1) / {block} * {block}"
        parts.constants = [
            Constant(self.TOTAL, str(spec.total), spec.total, "elements"),
            Constant(self.TILE, str(numbers.tile), numbers.tile, "elements per tile"),
        ]
        self.partition(share, numbers, "1")
        plain = style.plain_copies and self._aligned(numbers)
        parts.inputs = [self.transfer(name, self.in_type, spec.dtype, plain, True) for name in self.inputs]
        parts.outputs = [self.transfer(self.output, self.out_type, spec.result, plain, False)]
        return self.arithmetic(style.length, self.TILE, numbers.tile)

    def partition(self, share: str, numbers: Numbers, width: str) -> None:
        """The loop over tiles, over a share or over every ``CORES``-th tile; ``width`` elements per unit."""
        style, parts = self.style, self.parts
        offset, length, scale = style.offset, style.length, "" if width == "1" else f" * {width}"
        if style.partition is Partition.STRIPES:
            parts.loop = (
                f"for (uint32_t {offset} = GetBlockIdx() * {self.TILE}; {offset} < {self.TOTAL}; "
                f"{offset} += GetBlockNum() * {self.TILE})"
            )
            rest, start, size = f"{self.TOTAL} - {offset}", "", f"{self.TOTAL}{scale}"
        else:
            parts.constants.append(Constant(self.SHARE, share, numbers.share, f"{self.unit} per core"))
            parts.members = [("uint32_t", "count")]
            parts.setup = [
                f"const uint32_t first = GetBlockIdx() * {self.SHARE};",
                f"if (first < {self.TOTAL}) {{",
                f"    count = {self.TOTAL} - first < {self.SHARE} ? {self.TOTAL} - first : {self.SHARE};",
                "}",
            ]
            parts.loop = f"for (uint32_t {offset} = 0; {offset} < count; {offset} += {self.TILE})"
            rest, start, size = f"count - {offset}", f" + first{scale}", f"count{scale}"
        parts.loop_locals = [f"const uint32_t {length} = {rest} < {self.TILE} ? {rest} : {self.TILE};"]
        parts.parameters = [offset, length]
        for name, ctype in (*((name, self.in_type) for name in self.inputs), (self.output, self.out_type)):
            parts.tensors.append(GlobalTensor(name, ctype, start, size))

    def transfer(self, name: str, ctype: str, dtype: DType, plain: bool, inward: bool) -> Transfer:
        """The copy of one tile."""
        style, local = self.style, "{}"
        remote = f"{style.global_name(name)}[{style.offset}]"
        if plain:
            copy = (
                f"DataCopy({local}, {remote}, {style.length});"
                if inward
                else f"DataCopy({remote}, {local}, {style.length});"
            )
        else:
            nbytes = f"static_cast<uint32_t>({style.length} * sizeof({ctype}))"
            extent = f"DataCopyExtParams{{{{1, {nbytes}, 0, 0, 0}}}}"
            pad = f"DataCopyPadExtParams<{ctype}>{{{{false, 0, 0, 0}}}}"
            copy = (
                f"DataCopyPad({local}, {remote}, {extent}, {pad});"
                if inward
                else f"DataCopyPad({remote}, {local}, {extent});"
            )
        del dtype
        return Transfer(name, ctype, f"{self.TILE} * sizeof({ctype})", copy)

    def _aligned(self, numbers: Numbers) -> bool:
        sizes = (self.spec.dtype.itemsize, self.spec.result.itemsize)
        return all(self.spec.total * size % _BLOCK == 0 and numbers.tile * size % _BLOCK == 0 for size in sizes)

    def layout(self, count: str) -> Layout:
        """What the instructions are about."""
        return Layout(self.work, count, self.style.temporary)

    def arithmetic(self, count: str, length: str, elements: int) -> Lowered:
        """Casts, the program's instructions, casts; and the buffers that they need."""
        local, parts = self.style.local, self.parts
        places, lines = [], []
        for name, kind in zip(self.inputs, self.program.inputs, strict=True):
            if kind is Kind.COL:
                places.append(f"{name}Row")
            elif self.in_type == self.work:
                places.append(local(name))
            else:
                parts.buffers.append(WorkBuffer(f"{name}Wide", self.work, f"{length} * sizeof({self.work})"))
                lines.append(f"Cast({name}Wide, {local(name)}, RoundMode::CAST_NONE, {count});")
                places.append(f"{name}Wide")
        direct = self.out_type == self.work
        lowered = lower(
            self.program,
            places,
            self.layout(count),
            output=local(self.output) if direct else "",
            reuse=self.style.reuse,
        )
        lines += lowered.lines
        if not direct:
            lines.append(
                f"Cast({local(self.output)}, {lowered.result}, RoundMode::CAST_RINT, {self.result_count(count)});"
            )
        parts.compute = lines
        self.add_buffers(lowered, length, elements)
        return lowered

    def result_count(self, count: str) -> str:
        """Elements of the result's tile."""
        return count

    def add_buffers(self, lowered: Lowered, length: str, elements: int) -> None:
        """Temporaries, scratch and mask."""
        del elements
        size = f"{length} * sizeof({self.work})"
        names = [*lowered.full, *(["scratch"] if lowered.scratch else [])]
        self.parts.buffers += [WorkBuffer(name, self.work, size) for name in names]
        if lowered.mask:
            self.parts.buffers.append(WorkBuffer("mask", "uint8_t", f"{length} / 8"))

    def ub_bytes(self, numbers: Numbers) -> int:
        """Bytes of all queues and buffers."""
        values = {constant.name: constant.value for constant in self.parts.constants}
        depth = self.style.depth if self.style.structure in (Structure.CLASS, Structure.INLINE) else 1
        total = sum(
            depth * up(_bytes(transfer.nbytes, values), _BLOCK)
            for transfer in (*self.parts.inputs, *self.parts.outputs)
        )
        del numbers
        return total + sum(up(_bytes(buffer.nbytes, values), _BLOCK) for buffer in self.parts.buffers)


def _bytes(text: str, constants: dict[str, int]) -> int:
    """The value of a length that we wrote: constants, element sizes, products, quotients."""
    sizes = {"sizeof(half)": 2, "sizeof(bfloat16_t)": 2, "sizeof(float)": 4, "sizeof(int32_t)": 4, "sizeof(uint8_t)": 1}
    product = 1
    for factor in text.replace(" / ", " * /").split(" * "):
        divisor = factor.startswith("/")
        name = factor.lstrip("/")
        value = sizes.get(name) or constants.get(name) or int(name)
        product = product // value if divisor else product * value
    return product


class _Rows(_Flat):
    """Over rows: a tile is some whole rows, each at a distance of whole blocks from the next."""

    unit = "rows"

    def measure(self) -> Numbers | None:
        columns, rows = self.spec.columns, self.spec.rows
        block = _BLOCK // self.spec.dtype.itemsize
        pitch = up(columns, block)
        tile = min(self.style.tile_bytes // 4 // pitch, 128)
        if tile < 1:
            return None
        share = -(-rows // CORES)
        tile = min(tile, share)
        return Numbers(self.unit, rows, share, -(-rows // share), tile, -(-share // tile), 0, pitch)

    def fill(self, numbers: Numbers) -> Lowered:
        spec, style, parts = self.spec, self.style, self.parts
        names = {word: style.constant(word) for word in ("columns", "pitch", "area")}
        self.COLUMNS, self.PITCH, self.AREA = names["columns"], names["pitch"], names["area"]
        self.TOTAL, self.TILE = style.constant("rows"), style.constant("tile", "rows")
        block = _BLOCK // spec.dtype.itemsize
        parts.constants = [
            Constant(self.TOTAL, str(spec.rows), spec.rows, "rows"),
            Constant(self.COLUMNS, str(spec.columns), spec.columns, "elements per row"),
            Constant(
                self.PITCH,
                f"({self.COLUMNS} + {block} - 1) / {block} * {block}",
                numbers.pitch,
                "distance of rows in the unified buffer",
            ),
            Constant(self.TILE, str(numbers.tile), numbers.tile, "rows per tile"),
            Constant(
                self.AREA,
                f"({self.TILE} * {self.PITCH} + 63) / 64 * 64",
                up(numbers.tile * numbers.pitch, 64),
                "elements per tile",
            ),
        ]
        self.partition(f"({self.TOTAL} + {CORES} - 1) / {CORES}", numbers, self.COLUMNS)
        self._result_tensor()
        full = [name for name, kind in zip(self.inputs, self.program.inputs, strict=True) if kind is Kind.FULL]
        self._columns_tensors()
        parts.inputs = [self._tile(name, self.in_type, True) for name in full]
        parts.outputs = [self._tile(self.output, self.out_type, False)]
        return self.arithmetic(f"{style.length} * {self.PITCH}", self.AREA, 0)

    def _result_tensor(self) -> None:
        """A result of one number per row has its own extent."""
        if self.program.result is Kind.ROW:
            last = self.parts.tensors[-1]
            cut = f" * {self.COLUMNS}"
            self.parts.tensors[-1] = last._replace(offset=last.offset.replace(cut, ""), size=last.size.replace(cut, ""))

    def _columns_tensors(self) -> None:
        """The rows that are the same for all stay in the unified buffer; they are loaded once, in float."""
        parts, style = self.parts, self.style
        columns = [name for name, kind in zip(self.inputs, self.program.inputs, strict=True) if kind is Kind.COL]
        for name in columns:
            position = next(i for i, tensor in enumerate(parts.tensors) if tensor.argument == name)
            parts.tensors[position] = GlobalTensor(name, self.in_type, "", self.COLUMNS)
            nbytes = f"static_cast<uint32_t>({self.COLUMNS} * sizeof({self.in_type}))"
            extent, pad = (
                f"DataCopyExtParams{{1, {nbytes}, 0, 0, 0}}",
                f"DataCopyPadExtParams<{self.in_type}>{{false, 0, 0, 0}}",
            )
            target = f"{name}Row" if self.in_type == "float" else f"{name}Raw"
            parts.prologue.append(f"DataCopyPad({target}, {style.global_name(name)}, {extent}, {pad});")
            parts.buffers.append(WorkBuffer(f"{name}Row", "float", f"{self.PITCH} * sizeof(float)"))
            if target != f"{name}Row":
                parts.buffers.append(WorkBuffer(target, self.in_type, f"{self.PITCH} * sizeof({self.in_type})"))
        if columns:
            # Outside of the queues nothing orders this copy before the instructions that read it.
            parts.prologue.append("PipeBarrier<PIPE_ALL>();")
        if self.in_type != "float":
            parts.prologue += [f"Cast({name}Row, {name}Raw, RoundMode::CAST_NONE, {self.COLUMNS});" for name in columns]

    def _tile(self, name: str, ctype: str, inward: bool) -> Transfer:
        style = self.style
        row = not inward and self.program.result is Kind.ROW
        width = "" if row else f"{self.COLUMNS} * "
        at = style.offset if row else f"{style.offset} * {self.COLUMNS}"
        remote = f"{style.global_name(name)}[{at}]"
        size = f"static_cast<uint32_t>({width}sizeof({ctype}))"
        extent = f"DataCopyExtParams{{{{static_cast<uint16_t>({style.length}), {size}, 0, 0, 0}}}}"
        pad = f"DataCopyPadExtParams<{ctype}>{{{{false, 0, 0, 0}}}}"
        copy = f"DataCopyPad({{}}, {remote}, {extent}, {pad});" if inward else f"DataCopyPad({remote}, {{}}, {extent});"
        extent_bytes = f"{self.TILE} * {_BLOCK}" if row else f"{self.AREA} * sizeof({ctype})"
        return Transfer(name, ctype, extent_bytes, copy)

    def layout(self, count: str) -> Layout:
        stat = str(_BLOCK // self.spec.result.itemsize)
        return Layout("float", count, self.style.temporary, self.style.length, self.PITCH, self.COLUMNS, stat)

    def result_count(self, count: str) -> str:
        stat = _BLOCK // self.spec.result.itemsize
        return f"{self.style.length} * {stat}" if self.program.result is Kind.ROW else count

    def add_buffers(self, lowered: Lowered, length: str, elements: int) -> None:
        super().add_buffers(lowered, length, elements)
        stat = _BLOCK // self.spec.result.itemsize
        names = [*lowered.stats, *(["statScratch"] if lowered.stat_scratch else [])]
        self.parts.buffers += [WorkBuffer(name, "float", f"{self.TILE} * {stat} * sizeof(float)") for name in names]
        if lowered.reduces:
            self.parts.buffers.append(WorkBuffer("reduceWork", "float", f"{self.PITCH} * sizeof(float)"))


class _Whole(_Flat):
    """One number out of everything: every core reduces its share, core 0 what the cores left in the workspace."""

    def fill(self, numbers: Numbers) -> Lowered:
        spec, parts, style = self.spec, self.parts, self.style
        before, reduction, after = _split(self.program)
        block = _BLOCK // spec.dtype.itemsize
        parts.constants = [
            Constant(self.TOTAL, str(spec.total), spec.total, "elements"),
            Constant(self.TILE, str(numbers.tile), numbers.tile, "elements per tile"),
        ]
        self.partition(f"(({self.TOTAL} + {CORES} - 1) / {CORES} + {block} - 1) / {block} * {block}", numbers, "1")
        parts.tensors[-1] = GlobalTensor(self.output, self.out_type, "", "1")
        parts.tensors.append(GlobalTensor("workspace", "float", "", f"{CORES} * 8"))
        parts.inputs = [self.transfer(name, self.in_type, spec.dtype, False, True) for name in self.inputs]
        result = WorkBuffer("result", self.out_type, str(_BLOCK))
        lowered = self._partial(before, reduction, style.length)
        parts.buffers += [
            WorkBuffer("acc", "float", str(_BLOCK)),
            WorkBuffer("part", "float", str(_BLOCK)),
            WorkBuffer("parts", "float", f"{CORES} * {_BLOCK}"),
            result,
        ]
        parts.buffers.append(WorkBuffer("reduceWork", "float", f"{self.TILE} * sizeof(float)"))
        self._finish(reduction, after)
        return lowered

    def _partial(self, before: Program, reduction: str, count: str) -> Lowered:
        """The tile's elements, reduced, onto what the core has so far."""
        local, parts = self.style.local, self.parts
        places, lines = [], []
        for name in self.inputs:
            places.append(local(name) if self.in_type == "float" else f"{name}Wide")
            if self.in_type != "float":
                parts.buffers.append(WorkBuffer(f"{name}Wide", "float", f"{self.TILE} * sizeof(float)"))
                lines.append(f"Cast({name}Wide, {local(name)}, RoundMode::CAST_NONE, {count});")
        lowered = (
            lower(before, places, self.layout(count), reuse=self.style.reuse)
            if before.steps
            else Lowered(result=places[0])
        )
        instruction = REDUCTIONS[reduction].instruction
        join = {"ReduceSum": "Add", "ReduceMax": "Max", "ReduceMin": "Min"}[instruction]
        lines += [
            *lowered.lines,
            f"{instruction}(part, {lowered.result}, reduceWork, {count});",
            f"{join}(acc, acc, part, 1);",
        ]
        parts.compute = lines
        self.add_buffers(lowered, self.TILE, 0)
        identity = {"Add": "0.0f", "Max": "-3.0e38f", "Min": "3.0e38f"}[join]
        parts.prologue = [f"Duplicate(acc, {identity}, 8);"]
        return lowered

    def _finish(self, reduction: str, after: Program) -> None:
        style, parts = self.style, self.parts
        instruction = REDUCTIONS[reduction].instruction
        workspace, output = style.global_name("workspace"), style.global_name(self.output)
        lowered = lower(after, ["acc"], Layout("float", "1", style.temporary, "1", "1", "1", "8"), reuse=True)
        scratch = [*lowered.stats, *(["statScratch"] if lowered.stat_scratch else [])]
        parts.buffers += [WorkBuffer(name, "float", str(_BLOCK)) for name in scratch]
        mean = [f"Muls(acc, acc, 1.0f / {self.TOTAL}, 1);"] if REDUCTIONS[reduction].mean else []
        final = lowered.result or "acc"
        store = (
            f"Cast(result, {final}, RoundMode::CAST_RINT, 1);"
            if self.out_type != "float"
            else f"Adds(result, {final}, 0.0f, 1);"
        )
        last = [
            f"DataCopy(parts, {workspace}, GetBlockNum() * 8);",
            "PipeBarrier<PIPE_ALL>();",
            f"{instruction}(acc, parts, reduceWork, GetBlockNum() * 8);",
            *mean,
            *lowered.lines,
            store,
            "PipeBarrier<PIPE_ALL>();",
            f"DataCopyPad({output}, result, DataCopyExtParams{{1, sizeof({self.out_type}), 0, 0, 0}});",
        ]
        parts.epilogue = [
            "PipeBarrier<PIPE_ALL>();",
            f"DataCopy({workspace}[GetBlockIdx() * 8], acc, 8);",
            "PipeBarrier<PIPE_ALL>();",
            "SyncAll();",
            "if (GetBlockIdx() == 0) {",
            *(f"    {line}" for line in last),
            "}",
        ]


def _split(program: Program) -> tuple[Program, str, Program]:
    """What comes before the reduction, the reduction, and what comes after it."""
    position = next(i for i, step in enumerate(program.steps) if step.operation in REDUCTIONS)
    before = Program(program.inputs, program.steps[:position])
    first = len(program.inputs) + position
    after = tuple(
        step._replace(operands=tuple(operand - first for operand in step.operands))
        for step in program.steps[position + 1 :]
    )
    return before, program.steps[position].operation, Program((Kind.ROW,), after, True)
