"""Kernels for data movement: rows of the result in equal shares, pieces of a row through the unified buffer."""

from __future__ import annotations

from kernelgen_lm.corpus.emit import Constant, block, constant_line, laid_out
from kernelgen_lm.corpus.lower import Lowered
from kernelgen_lm.corpus.measures import CORES, UB_BYTES, Kernel, Numbers, up
from kernelgen_lm.corpus.movement import Movement, Piece
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import Structure, Style

__all__ = ["write_mover"]

_BLOCK = 32
#: Most blocks of one copy that this writer asks for.
_MOST_ROWS = 64


def write_mover(spec: Spec, style: Style) -> Kernel | None:
    """A kernel that moves data; None where a row does not fit."""
    if not isinstance(spec.body, Movement):
        raise TypeError(f"{spec.family} is no movement")
    return _Mover(spec, spec.body, style).write()


class _Mover:
    def __init__(self, spec: Spec, movement: Movement, style: Style) -> None:
        self.spec, self.style = spec, style
        self.ctype, self.size = spec.dtype.ascend_c, spec.dtype.itemsize
        self.rows, self.columns = movement.shape(spec.rows, spec.columns)
        self.pieces = [piece for piece in movement.pieces(spec.rows, spec.columns) if piece.length]
        self.names, self.output = spec.names[:-1], spec.names[-1]
        #: Rows can be taken together where every piece comes from the row of the same number.
        self.together = style.batched and all(piece.row == "{r}" for piece in self.pieces)
        self.ROWS, self.OUT, self.IN, self.SHARE, self.TILE, self.AREA = (
            style.constant(*words.split())
            for words in ("rows", "out columns", "in columns", "share", "tile rows", "area")
        )

    def write(self) -> Kernel | None:
        widest = max(up(piece.length, _BLOCK // self.size) for piece in self.pieces)
        share = -(-self.rows // CORES)
        tile = max(1, min(share, _MOST_ROWS, self.style.tile_bytes // (widest * self.size))) if self.together else 1
        area = tile * widest
        # With flags there is one buffer: nothing overlaps.
        depth = 1 if self._flags else self.style.depth
        ub = depth * area * self.size
        if ub > UB_BYTES:
            return None
        constants = [
            Constant(self.ROWS, str(self.rows), self.rows, "rows of the result"),
            Constant(self.OUT, str(self.columns), self.columns, "elements per row of the result"),
            Constant(self.IN, str(self.spec.columns), self.spec.columns, "elements per row of the input"),
            Constant(self.SHARE, f"({self.ROWS} + {CORES} - 1) / {CORES}", share, "rows per core"),
            Constant(self.TILE, str(tile), tile, "rows at a time"),
            Constant(self.AREA, str(area), area, "elements of the buffer"),
        ]
        lines = ['#include "kernel_operator.h"', ""]
        if self.style.comments:
            lines.append(f"// {self.spec.formula()}")
        lines += ["using namespace AscendC;", "", *(constant_line(constant, self.style) for constant in constants), ""]
        lines += self._entry()
        numbers = Numbers("rows", self.rows, share, -(-self.rows // share), tile, -(-share // tile), ub)
        return Kernel(laid_out(lines, self.style), numbers, Lowered())

    @property
    def _flags(self) -> bool:
        return self.style.structure in (Structure.FLAGS, Structure.BARRIERS)

    def _entry(self) -> list[str]:
        style, name, pipe = self.style, self.style.global_name, self.style.pipe
        parameters = ", ".join(f"GM_ADDR {argument}" for argument in (*self.spec.names, "workspace"))
        tensors = ", ".join(name(argument) for argument in self.spec.names)
        body = [f"TPipe {pipe};", f"GlobalTensor<{self.ctype}> {tensors};"]
        body += [
            f"{name(argument)}.SetGlobalBuffer((__gm__ {self.ctype}*){argument}, {self.spec.rows} * {self.IN});"
            for argument in self.names
        ]
        body.append(
            f"{name(self.output)}.SetGlobalBuffer((__gm__ {self.ctype}*){self.output}, {self.ROWS} * {self.OUT});"
        )
        nbytes = f"{self.AREA} * sizeof({self.ctype})"
        if self._flags:
            body += ["TBuf<TPosition::VECCALC> rowBuf;", f"{pipe}.InitBuffer(rowBuf, {nbytes});"]
            body.append(f"LocalTensor<{self.ctype}> rowLocal = rowBuf.Get<{self.ctype}>();")
        else:
            body.append("TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> rowQueue;")
            body.append(f"{pipe}.InitBuffer(rowQueue, {style.depth}, {nbytes});")
        body += [
            f"const uint32_t first = GetBlockIdx() * {self.SHARE};",
            f"const uint32_t last = first + {self.SHARE} < {self.ROWS} ? first + {self.SHARE} : {self.ROWS};",
        ]
        inner = []
        if self.together:
            inner.append(f"const uint32_t rows = last - row < {self.TILE} ? last - row : {self.TILE};")
        for piece in self.pieces:
            inner += self._piece(piece)
        body += block(f"for (uint32_t row = first; row < last; row += {self.TILE})", inner)
        return block(f'extern "C" __global__ __aicore__ void {self.spec.kernel}({parameters})', body)

    def _piece(self, piece: Piece) -> list[str]:
        """In, or filled; then out."""
        fill = piece.source is None
        if self._flags:
            lines = [self._fill(piece)] if fill else [self._in(piece)]
            lines += self._order("V_MTE3" if fill else "MTE2_MTE3")
            return [*lines, self._out(piece), *self._order("MTE3_MTE2"), *self._order("MTE3_V")]
        alloc = f"LocalTensor<{self.ctype}> rowLocal = rowQueue.AllocTensor<{self.ctype}>();"
        load = [self._fill(piece), *self._order("V_MTE3")] if fill else [self._in(piece)]
        hand = ["rowQueue.EnQue(rowLocal);", f"rowLocal = rowQueue.DeQue<{self.ctype}>();"]
        # The queue orders copies among each other; a filled piece is written by the vector unit, which it does not
        # know.
        after = self._order("MTE3_V") if any(piece.source is None for piece in self.pieces) else []
        return block("", [alloc, *load, *hand, self._out(piece), *after, "rowQueue.FreeTensor(rowLocal);"])

    def _order(self, event: str) -> list[str]:
        if self.style.structure is Structure.BARRIERS:
            # One barrier serves both orders after a copy out.
            return ["PipeBarrier<PIPE_ALL>();"] if event != "MTE3_V" else []
        return [f"SetFlag<HardEvent::{event}>(EVENT_ID0);", f"WaitFlag<HardEvent::{event}>(EVENT_ID0);"]

    def _extent(self, length: int, gap: str, inward: bool) -> str:
        count = "static_cast<uint16_t>(rows)" if self.together else "1"
        distance = f"static_cast<uint32_t>({gap} * sizeof({self.ctype}))" if self.together and gap != "0" else "0"
        gaps = f"{distance}, 0" if inward else f"0, {distance}"
        return f"DataCopyExtParams{{{count}, static_cast<uint32_t>({length} * sizeof({self.ctype})), {gaps}, 0}}"

    def _in(self, piece: Piece) -> str:
        name = self.style.global_name(self.names[piece.source or 0])
        row = piece.row.format(r="row")
        row = row if row == "row" else f"({row})"
        begin = f" + {piece.begin}" if piece.begin else ""
        gap = "0" if piece.length == self.spec.columns else f"({self.IN} - {piece.length})"
        pad = f"DataCopyPadExtParams<{self.ctype}>{{false, 0, 0, 0}}"
        return (
            f"DataCopyPad(rowLocal, {name}[{row} * {self.IN}{begin}], {self._extent(piece.length, gap, True)}, {pad});"
        )

    def _out(self, piece: Piece) -> str:
        to = f" + {piece.to}" if piece.to else ""
        gap = "0" if piece.length == self.columns else f"({self.OUT} - {piece.length})"
        name = self.style.global_name(self.output)
        return f"DataCopyPad({name}[row * {self.OUT}{to}], rowLocal, {self._extent(piece.length, gap, False)});"

    def _fill(self, piece: Piece) -> str:
        return f"Duplicate(rowLocal, static_cast<{self.ctype}>({int(piece.value)}), {self.AREA});"
