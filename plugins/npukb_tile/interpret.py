"""Runs a tile program on NumPy arrays, core after core: what the program means, and a check of how it uses memory.

Loads and stores must stay inside their tensors, tiles inside their buffers, and nothing may be read before it is
written. Cores run one after another up to each ``sync_all``.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from npukb_tile import ir
from npukb_tile.dtypes import numpy_dtype
from npukb_tile.fault import ProgramError
from npukb_tile.launching import Facts, Number, Planned, Setting, absent, evaluate, numbers_of, plan, run_range
from npukb_tile.limits import MOST_VALUES
from npukb_tile.multiplying import multiply_arrays
from npukb_tile.numpy_ops import apply

__all__ = ["interpret"]

Array = np.ndarray[Any, np.dtype[Any]]


def interpret(
    program: ir.Program,
    inputs: Mapping[str, Array | Sequence[Array]],
    attributes: Mapping[str, Setting],
    steps: int = 10**12,
) -> dict[str, Array | list[Array]]:
    """The outputs of a program. ProgramError with rule ``limit`` where its cores take more than ``steps`` steps."""
    defaults = {a.name: a.default for a in program.attributes.values() if a.default is not None}
    values: dict[str, Setting] = {**defaults, **attributes}
    given = _parts(inputs)
    planned = plan(program, {name: _facts(x) for name, x in inputs.items()}, values)
    # Flat, as global memory is to a kernel.
    memory = {name: np.ascontiguousarray(x).reshape(-1) for name, x in given.items()}
    written: dict[str, Array] = {}
    shapes = _shapes(program, planned, inputs)
    for tensor in program.tensors.values():
        if tensor.role is not ir.TensorRole.INPUT:
            for name, shape in shapes[tensor.name].items():
                size = int(np.prod(shape, dtype=np.int64))
                memory[name] = np.zeros(size, numpy_dtype(planned.types.get(tensor.dtype, tensor.dtype)))
                # What begins as an input or as zeros needs no store.
                written[name] = np.full(size, bool(tensor.begins))
                if tensor.begins not in ("", "0"):
                    held = name.replace(tensor.name, tensor.begins, 1)
                    if memory[held].size != size:
                        raise ProgramError(
                            "output_shape",
                            f"{name} has {size} elements, {held}, whose memory it is, {memory[held].size}",
                            line=tensor.line,
                        )
                    # One array under both names, as on the device; a copy, because inputs belong to the caller.
                    memory[name] = memory[held] = memory[held].copy()
    names = numbers_of(values, planned)
    # One iterator for all cores: they share the limit.
    left = iter(range(steps))
    cores = [_Core(program, planned, dict(names), memory, written, number, left) for number in range(planned.cores)]
    _together([core.run() for core in cores])
    outputs: dict[str, Array | list[Array]] = {}
    for tensor in program.of_role(ir.TensorRole.OUTPUT):
        for name in shapes[tensor.name]:
            _require_written(tensor, name, written[name])
        made = [memory[name].reshape(shape) for name, shape in shapes[tensor.name].items()]
        outputs[tensor.name] = made if tensor.listed else made[0]
    return outputs


def _key(name: str, item: int) -> str:
    """The name of one tensor of a list."""
    return f"{name}[{item}]"


def _parts(inputs: Mapping[str, Array | Sequence[Array]]) -> dict[str, Array]:
    """Every tensor by name, those of lists too."""
    parts: dict[str, Array] = {}
    for name, given in inputs.items():
        if isinstance(given, np.ndarray):
            parts[name] = given
        else:
            parts |= {_key(name, item): array for item, array in enumerate(given)}
    return parts


def _facts(given: Array | Sequence[Array]) -> Facts:
    """What the host knows; of a list the element type alone."""
    if isinstance(given, np.ndarray):
        few = given.size <= MOST_VALUES and given.dtype.kind in "iu"
        return Facts(given.shape, str(given.dtype), tuple(given.reshape(-1).tolist()) if few else None)
    return Facts((), str(given[0].dtype))


def _shapes(
    program: ir.Program, planned: Planned, inputs: Mapping[str, Array | Sequence[Array]]
) -> dict[str, dict[str, tuple[int, ...]]]:
    """By output and workspace the shapes of its tensors by name."""
    shapes = {name: {name: shape} for name, shape in planned.shapes.items()}
    for held in program.shapes:
        if program.tensors[held.tensor].listed:
            like = inputs[held.shape[0].tensor]
            shapes[held.tensor] = {_key(held.tensor, item): array.shape for item, array in enumerate(like)}
    return shapes


def _require_written(tensor: ir.Tensor, name: str, written: Array) -> None:
    missing = int(np.count_nonzero(~written))
    if missing:
        raise ProgramError(
            "missing_tail",
            f"{missing} elements of {name} are never written, the first is number {int(np.argmin(written))}",
            line=tensor.line,
            remedy="the last share and the last tile of a share may be shorter, but must not be left out",
        )


def _together(runs: Sequence[Generator[int, None, None]]) -> None:
    """All cores up to where they meet, then all from there on."""
    waiting = list(runs)
    while waiting:
        # Each generator runs to its next sync_all, or to its end, which gives None.
        met = [next(run, None) for run in waiting]
        lines = {line for line in met if line is not None}
        # On the device such a kernel hangs: SyncAll counts every core at the same place.
        if lines and (None in met or len(lines) > 1):
            raise ProgramError(
                "sync",
                "not every core reaches this sync_all",
                line=max(lines),
                remedy="conditions and bounds around it must be the same on all cores",
            )
        waiting = [run for run, line in zip(waiting, met, strict=True) if line is not None]


@dataclass
class _Core:
    """One core: its scalars and what its buffers hold, ``[rows, cols]`` each."""

    program: ir.Program
    planned: Planned
    names: dict[str, Number]
    memory: Mapping[str, Array]
    written: Mapping[str, Array]
    number: int
    steps: Iterator[int]
    tiles: dict[str, Array] = field(default_factory=dict)
    rows: int = 1
    cols: int = 0

    def value(self, node: ir.Expr) -> Number:
        return evaluate(node, self.names, {}, core=self.number, reader=self._read)

    def run(self) -> Generator[int, None, None]:
        yield from self._body(self.program.kernel)

    def _read(self, node: ir.Element | ir.Peek | ir.ListFact, index: int) -> Number:
        if isinstance(node, ir.ListFact):
            return self._list(node, index)
        # Inputs that are absent have no memory.
        if isinstance(node, ir.Element) and node.tensor not in self.memory:
            raise absent(node.tensor, node.line)
        source = self.memory[node.tensor] if isinstance(node, ir.Element) else self._held(node.buffer, node.line)
        if not 0 <= index < source.size:
            what = node.tensor if isinstance(node, ir.Element) else node.buffer
            raise ProgramError("out_of_bounds", f"{what}[{index}] of {source.size} elements", line=node.line)
        element: Number = source.reshape(-1)[index].item()
        return element

    def _list(self, node: ir.ListFact, index: int) -> int:
        count = sum(name.startswith(f"{node.tensor}[") for name in self.memory)
        if node.index is None:
            return count
        if not 0 <= index < count:
            raise ProgramError("out_of_bounds", f"{node.tensor}[{index}] of {count} tensors", line=node.line)
        return int(self.memory[_key(node.tensor, index)].size)

    def _tensor(self, move: ir.Move) -> str:
        """The name of the tensor that a copy is of."""
        if move.item is None:
            if move.tensor not in self.memory:
                raise absent(move.tensor, move.line)
            return move.tensor
        item = int(self.value(move.item))
        self._list(ir.ListFact(move.tensor, move.item, line=move.line), item)
        return _key(move.tensor, item)

    def _step(self, line: int) -> None:
        if next(self.steps, None) is None:
            raise ProgramError("limit", "the kernel takes too many steps to be tried", line=line)

    def _body(self, body: tuple[ir.Statement, ...]) -> Generator[int, None, None]:
        for statement in body:
            self._step(statement.line)
            if isinstance(statement, ir.Assign):
                self.names[statement.name] = self.value(statement.value)
            elif isinstance(statement, ir.If):
                yield from self._body(statement.then if self.value(statement.condition) else statement.otherwise)
            elif isinstance(statement, ir.For):
                for number in run_range(statement, self.value):
                    # Rounds count, too: a loop without statements would otherwise be free.
                    self._step(statement.line)
                    self.names[statement.name] = number
                    yield from self._body(statement.body)
            elif isinstance(statement, ir.Block):
                self._open(statement)
                yield from self._body(statement.body)
            elif isinstance(statement, ir.Sync):
                yield statement.line
            elif isinstance(statement, ir.Multiply):
                multiply_arrays(self.program, statement, self.value, self.memory, self.written, self.names)
            else:
                self._tile(statement)

    def _open(self, block: ir.Block) -> None:
        if block.cols is not None:
            self.rows = int(self.value(block.rows)) if block.rows is not None else 1
            self.cols = int(self.value(block.cols))
            if self.rows < 1 or self.cols < 1:
                raise ProgramError(
                    "extent",
                    f"a block works on {self.rows} x {self.cols} elements",
                    line=block.line,
                    remedy="put it under a loop or a condition that leaves empty tiles out",
                )

    def _tile(self, statement: ir.Statement) -> None:
        if isinstance(statement, ir.TileSet):
            shape = self._shape(statement.target)
            self._fits(statement.target.buffer, shape, statement.line)
            value = self._operand(statement.value)
            dtype = numpy_dtype(self._type(statement.target.dtype))
            with np.errstate(all="ignore"):
                self.tiles[statement.target.buffer] = np.broadcast_to(np.asarray(value), shape).astype(dtype)
        elif isinstance(statement, ir.Load):
            places, shape = self._places(statement)
            self._fits(statement.buffer, shape, statement.line)
            tensor = self._tensor(statement)
            seen = self.written.get(tensor)
            if seen is not None and not seen[places].all():
                raise ProgramError(
                    "uninitialised", f"{statement.tensor} is loaded before it is written", line=statement.line
                )
            # Indexing by an array copies, so that a later store does not change what was loaded.
            self.tiles[statement.buffer] = self.memory[tensor][places].reshape(shape)
        elif isinstance(statement, ir.Store):
            places, shape = self._places(statement)
            tile = self._part(statement.buffer, shape, statement.line)
            tensor = self._tensor(statement)
            self.memory[tensor][places] = tile.reshape(-1)
            self.written[tensor][places] = True

    def _places(self, move: ir.Move) -> tuple[Array, tuple[int, int]]:
        start, rows, cols, stride = (int(self.value(e)) for e in (move.start, move.rows, move.cols, move.stride))
        size = self.memory[self._tensor(move)].size
        if rows < 1 or cols < 1:
            raise ProgramError(
                "extent",
                f"a copy of {rows} x {cols} elements",
                line=move.line,
                remedy="leave empty tiles out with a condition or a loop",
            )
        last = start + (rows - 1) * stride + cols
        if start < 0 or last > size or stride < 0:
            raise ProgramError(
                "out_of_bounds",
                f"elements {start} to {last} of {move.tensor}, which has {size}",
                line=move.line,
                remedy="the last tile is shorter: min(tile, count - offset)",
            )
        if rows > 1 and stride < cols:
            raise ProgramError(
                "limit",
                f"rows of {cols} elements that begin {stride} apart overlap",
                line=move.line,
                remedy="load overlapping rows one at a time",
            )
        # blockCount of a copy is limited to 4095 by the instruction.
        if rows > 4095:
            raise ProgramError("limit", f"one copy moves {rows} rows, at most 4095", line=move.line)
        places = start + np.arange(rows)[:, None] * stride + np.arange(cols)
        return places.reshape(-1), (rows, cols)

    def _type(self, dtype: str) -> str:
        return self.planned.types.get(dtype, dtype)

    def _shape(self, ref: ir.BufferRef) -> tuple[int, int]:
        if ref.shape is ir.ShapeClass.COLUMN:
            return self.rows, 1
        return (1 if ref.shape is ir.ShapeClass.ROW else self.rows), self.cols

    def _fits(self, name: str, shape: tuple[int, int], line: int) -> None:
        buffer = self.program.buffers[name]
        rows, cols = (int(evaluate(extent, self.names, {})) for extent in (buffer.rows, buffer.cols))
        if shape[0] * shape[1] > rows * cols or shape[0] > rows:
            raise ProgramError(
                "buffer_size",
                f"{shape[0]} x {shape[1]} elements do not fit {name}, {rows} x {cols}",
                line=line,
                remedy="no tile may be longer than its buffer",
            )

    def _held(self, name: str, line: int) -> Array:
        if name not in self.tiles:
            raise ProgramError("uninitialised", f"{name} is read before it is written", line=line)
        return self.tiles[name]

    def _part(self, name: str, shape: tuple[int, int], line: int) -> Array:
        """What a buffer holds, as much of it as is asked."""
        tile = self._held(name, line)
        if tile.shape == shape:
            return tile
        if tile.shape[0] == 1 == shape[0] and tile.shape[1] > shape[1]:
            return tile[:, : shape[1]]
        if tile.shape[1] == 1 and shape[0] == 1 and tile.shape[0] >= shape[1]:
            return tile.reshape(1, -1)[:, : shape[1]]  # a column is stored as a run
        if tile.shape[0] == 1 and shape[1] == 1 and tile.shape[1] >= shape[0]:
            return tile.reshape(-1, 1)[: shape[0]]
        if tile.shape[1] == shape[1] and tile.shape[0] > shape[0]:
            return tile[: shape[0]]
        raise ProgramError(
            "extent",
            f"{name} holds {tile.shape[0]} x {tile.shape[1]} elements, {shape[0]} x {shape[1]} are used",
            line=line,
            remedy="load and compute with the same extents",
        )

    def _operand(self, node: ir.TileExpr) -> Any:
        if isinstance(node, ir.Scalar):
            return self.value(node.value)
        if isinstance(node, ir.BufferRef):
            return self._part(node.buffer, self._shape(node), node.line)
        return self._operation(node)

    def _operation(self, node: ir.TileOp) -> Any:
        with np.errstate(all="ignore"):
            values = [self._operand(argument) for argument in node.arguments[1:]]
            if node.arguments:
                values.insert(0, self._first(node, node.arguments[0]))
            dtype = node.dtype if node.dtype == "mask" else self._type(node.dtype)
            return apply(node, values, dtype, self.rows, self.cols)

    def _first(self, node: ir.TileOp, first: ir.TileExpr) -> Any:
        if node.op == "gather" and isinstance(first, ir.BufferRef):
            return self._held(first.buffer, node.line)  # it may reach beyond the extent of the block
        return self._operand(first)
