"""Reads the kernel function: buffers, loops, and the three kinds of blocks."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from npukb_tile import ir
from npukb_tile.cpp import safe
from npukb_tile.device import DEVICE_FUNCTIONS
from npukb_tile.dtypes import DTYPES
from npukb_tile.multiplying import read_multiplier, read_multiply
from npukb_tile.operations import OPERATIONS
from npukb_tile.scalars import ScalarReader, fault, is_name, read_range
from npukb_tile.tiles import TileReader

__all__ = ["KernelReader"]

#: What stage functions call, and what they must therefore not be called.
_INSTRUCTIONS = {
    *(name for operation in OPERATIONS.values() for name in (operation.instruction, operation.scalar_instruction)),
    *DEVICE_FUNCTIONS,
    *[
        "Adds",
        "Muls",
        "Cast",
        "Compare",
        "CompareScalar",
        "CreateVecIndex",
        "DataCopy",
        "DataCopyPad",
        "Duplicate",
        "Init",
        "Process",
        "Select",
        "Shift",
        "Widen",
        "Narrow",
        "Flag",
        "Bytes",
        "Least",
        "Greatest",
        "Magnitude",
        "CeilDiv",
        "RoundUp",
    ],
    *(f"{way}{name}" for way in ("Row", "Col") for name in ("Sum", "Max", "Min", "Prod")),
}


class KernelReader:
    """Reads statements in the order of the text. Outside blocks there are scalars, inside blocks what their stage does.

    ``fixed`` are the names that nothing may assign: attributes and launch numbers.
    """

    def __init__(self, scalars: ScalarReader, types: Mapping[str, tuple[str, ...]], fixed: set[str]) -> None:
        self.scalars, self.types, self.fixed = scalars, types, fixed
        self.buffers: dict[str, ir.Buffer] = {}
        self.multipliers: dict[str, ir.Multiplier] = {}
        scalars.buffers = self.buffers
        self._block: ir.Stage | None = None
        self._tiles: TileReader | None = None
        self._used: set[str] = set()
        self._names: set[str] = set()

    def body(self, nodes: list[ast.stmt]) -> tuple[ir.Statement, ...]:
        """The statements of a body."""
        statements = (self._statement(node) for node in nodes if not _is_text(node))
        return tuple(statement for statement in statements if statement is not None)

    def finish(self, kernel: ast.FunctionDef) -> None:
        """Checks of the whole kernel: everything that is declared is used."""
        lines = {name: ("buffer", buffer.line) for name, buffer in self.buffers.items()}
        lines |= {name: ("multiplier", held.line) for name, held in self.multipliers.items()}
        for name, (what, line) in lines.items():
            if name not in self._used:
                raise fault(ast.Name(name, lineno=line), "unused", f"nothing uses the {what} {name}", "remove it")
        for tensor in self.scalars.tensors.values():
            if tensor.role is ir.TensorRole.OUTPUT and tensor.name not in self._used:
                raise fault(
                    kernel, "unused", f"nothing stores to the output {tensor.name}", f"store({tensor.name}[…], …)"
                )

    def _statement(self, node: ast.stmt) -> ir.Statement | None:
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.If):
            condition = self.scalars.condition(node.test)
            return ir.If(condition, self.body(node.body), self.body(node.orelse), line=node.lineno)
        if isinstance(node, ast.With):
            return self._with(node)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self._assign(node, node.targets[0])
        if isinstance(node, ast.AugAssign):
            target = node.target
            # Read as the assignment it stands for, so that no later pass has to know it.
            plain = ast.Assign([target], ast.BinOp(_read(target), node.op, node.value))
            return self._assign(ast.fix_missing_locations(ast.copy_location(plain, node)), target)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            return self._call(node.value)
        raise fault(node, "syntax", f"{ast.unparse(node).splitlines()[0]} is no statement of the kernel function")

    def _for(self, node: ast.For) -> ir.Statement:
        name, start, stop, step = read_range(self.scalars, node)
        return ir.For(name, start, stop, step, self.body(node.body), line=node.lineno)

    def _call(self, node: ast.Call) -> ir.Statement:
        if is_name(node.func, "load", "store"):
            return self._move(node)
        if is_name(node.func, "sync_all"):
            if self._block is not None:
                raise fault(node, "stage", "cores synchronise between blocks, not inside one")
            return ir.Sync(line=node.lineno)
        if is_name(node.func, "multiply"):
            if self._block is not None:
                raise fault(node, "stage", "matrices are multiplied between blocks, not inside one")
            product = read_multiply(self, node)
            # An output may be written by products alone, without any store.
            self._used |= {product.multiplier, *product.tensors}
            return product
        raise fault(
            node, "syntax", f"{ast.unparse(node)} does nothing", "load, store, multiply and sync_all are the statements"
        )

    # --- buffers and tiles ------------------------------------------------------------------------------------------

    def _assign(self, node: ast.Assign, target: ast.expr) -> ir.Statement | None:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            return self._set(node, target, target.value.id)
        if not isinstance(target, ast.Name):
            raise fault(node, "syntax", f"{ast.unparse(target)} cannot be assigned")
        if isinstance(node.value, ast.Call) and is_name(node.value.func, "buffer"):
            self._buffer(node.value, target.id)
            return None
        if isinstance(node.value, ast.Call) and is_name(node.value.func, "multiplier"):
            self._new(node, target.id)
            self.multipliers[target.id] = read_multiplier(self, node.value, target.id)
            return None
        if target.id in self.buffers:
            raise fault(node, "syntax", f"{target.id} is a buffer", f"write {target.id}[:] = … to fill it")
        if target.id in self.multipliers:
            raise fault(node, "syntax", f"{target.id} is a multiplier", "choose another name")
        if target.id in self.fixed or target.id in self.scalars.tensors:
            raise fault(node, "syntax", f"{target.id} is an argument of the kernel", "choose another name")
        # Read as a tile first, for a fault that says what to do; as a scalar it would only be unknown.
        if self._tiles is not None and not isinstance(self._tiles.read(node.value), ir.Scalar):
            raise fault(
                node,
                "syntax",
                f"{target.id} would be a tile without memory",
                f"declare {target.id} = buffer(…) before the loop and write {target.id}[:] = …",
            )
        value = self.scalars.read(node.value)
        known = self.scalars.kinds.setdefault(target.id, value.kind)
        if known is not value.kind:
            raise fault(node, "dtype", f"{target.id} was {known.value} and would become {value.kind.value}")
        return ir.Assign(target.id, value, line=node.lineno)

    def _set(self, node: ast.Assign, target: ast.Subscript, name: str) -> ir.Statement:
        if name in self.scalars.tensors:
            raise fault(
                node,
                "global_memory",
                f"{name} lies in global memory, which a {self._where()} cannot write",
                f"fill a buffer here and store it in a copy_out block: store({name}[start], buffer, count)",
            )
        if name not in self.buffers:
            raise fault(node, "unknown_name", f"there is no buffer {name}", f"{name} = buffer(tile, float32)")
        if self._block is not ir.Stage.COMPUTE or self._tiles is None:
            raise fault(
                node,
                "stage",
                f"tiles are computed in compute blocks, not in a {self._where()}",
                "with compute(length):",
            )
        if not (isinstance(target.slice, ast.Slice) and target.slice.lower is None and target.slice.upper is None):
            raise fault(
                node,
                "syntax",
                f"{ast.unparse(target)}: the block says how much of a buffer is meant",
                f"write {name}[:]",
            )
        self._used.add(name)
        self._mark(node.value)
        to = self._tiles.buffer(target, name)
        value = self._tiles.read(node.value)
        if not isinstance(value, ir.Scalar):
            self._same(node, to, value.dtype, value.shape)
        return ir.TileSet(to, value, line=node.lineno)

    def _same(self, node: ast.stmt, to: ir.BufferRef, dtype: str, shape: ir.ShapeClass) -> None:
        if dtype == "mask":
            raise fault(
                node, "dtype", f"a mask does not fit the buffer {to.buffer}", "bool(mask), or where(mask, 1.0, 0.0)"
            )
        if dtype != to.dtype:
            raise fault(node, "dtype", f"{to.buffer} holds {to.dtype}, the value is {dtype}", f"write {to.dtype}(…)")
        if shape is not to.shape:
            raise fault(
                node,
                "shape",
                f"{to.buffer} is {to.shape.value} in this block, the value is {shape.value}",
                "a buffer(rows, 1) holds one element per row, a buffer(n) one per column, a buffer(rows, cols) both",
            )

    def _new(self, node: ast.AST, name: str) -> None:
        if self._block is not None:
            raise fault(node, "stage", "buffers and multipliers are declared outside blocks")
        taken = {*self.buffers, *self.multipliers, *self.scalars.kinds, *self.scalars.tensors}
        if name in taken:
            raise fault(node, "syntax", f"{name} exists already")
        # Only scalars are renamed: a buffer's name becomes part of several names of the class.
        if safe(name) != name:
            raise fault(node, "syntax", f"{name} means something else in the lowered code", "choose another name")

    def _buffer(self, node: ast.Call, name: str) -> None:
        self._new(node, name)
        if not 2 <= len(node.args) <= 3 or not isinstance(node.args[-1], ast.Name):
            raise fault(
                node, "syntax", "a buffer has one or two extents and an element type", "buffer(tile, float32, depth=2)"
            )
        dtype = node.args[-1].id
        if dtype not in DTYPES and dtype not in self.types:
            raise fault(node, "dtype", f"{dtype} is no element type", ", ".join([*DTYPES, *self.types]))
        depth = {word.arg: word.value for word in node.keywords}.pop("depth", ast.Constant(1))
        if (
            not isinstance(depth, ast.Constant)
            or not isinstance(depth.value, int)
            or depth.value not in (1, 2)
            or len(node.keywords) > 1
        ):
            raise fault(
                node, "syntax", "depth is 1 or 2", "depth=2 lets the copy of the next tile run beside the computation"
            )
        extents = [self.scalars.integer(extent, "an extent") for extent in node.args[:-1]]
        num = ir.Num(1, ir.Kind.INT, line=node.lineno)
        rows, cols = (num, extents[0]) if len(extents) == 1 else (extents[0], extents[1])
        self.check_constant(node, node.args[:-1])
        self.buffers[name] = ir.Buffer(name, rows, cols, len(extents), dtype, depth.value, line=node.lineno)

    def check_constant(self, node: ast.Call, extents: list[ast.expr]) -> None:
        """Buffers are laid out once, before anything runs, and products are cut."""
        names = {part.id for argument in extents for part in ast.walk(argument) if isinstance(part, ast.Name)}
        # Functions are names to Python's grammar as well.
        local = names - self.fixed - {"min", "max", "ceil_div", "round_up"}
        if local:
            raise fault(
                node,
                "buffer_size",
                f"an extent depends on {', '.join(sorted(local))}",
                "compute it in the host function and hand it on with launch()",
            )

    # --- blocks -----------------------------------------------------------------------------------------------------

    def _with(self, node: ast.With) -> ir.Statement:
        if self._block is not None:
            raise fault(node, "stage", "blocks cannot be nested")
        item = node.items[0]
        call = item.context_expr
        name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ast.unparse(call)
        if len(node.items) != 1 or name not in (stage.value for stage in ir.Stage):
            raise fault(
                node, "stage", f"there is no block {name}", "with copy_in: … with compute(length): … with copy_out:"
            )
        stage = ir.Stage(name)
        extents = (
            [self.scalars.integer(extent, "an extent") for extent in call.args] if isinstance(call, ast.Call) else []
        )
        if (stage is ir.Stage.COMPUTE) != bool(extents) or len(extents) > 2:
            raise fault(
                node,
                "stage",
                "compute takes extents; copies have their own",
                "with compute(length): or with compute(rows, cols):",
            )
        rows = extents[0] if len(extents) == 2 else None
        label = item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else ""
        known = set(self.scalars.kinds)
        self._block = stage
        if stage is ir.Stage.COMPUTE:
            self._tiles = TileReader(self.buffers, self.types, self.scalars, single=rows is None)
        body = self.body(node.body)
        self._block, self._tiles = None, None
        # A block becomes a function of its own, whose variables end with it.
        for local in set(self.scalars.kinds) - known:
            del self.scalars.kinds[local]  # what a block assigns is its own
        return ir.Block(
            stage, self._label(label, stage), rows, extents[-1] if extents else None, body, line=node.lineno
        )

    def _label(self, label: str, stage: ir.Stage) -> str:
        words = (label or stage.value).split("_")
        base = "".join(word[:1].upper() + word[1:] for word in words)
        # A member function of that name would hide the instruction inside the class.
        base += "Stage" if base in _INSTRUCTIONS else ""
        name, number = base, 1
        while name in self._names:
            number += 1
            name = f"{base}{number}"
        self._names.add(name)
        return name

    def _move(self, node: ast.Call) -> ir.Statement:
        loads = is_name(node.func, "load")
        wanted = ir.Stage.COPY_IN if loads else ir.Stage.COPY_OUT
        what = "load" if loads else "store"
        if self._block is not wanted:
            raise fault(
                node,
                "stage",
                f"{what} belongs in a {wanted.value} block, this is a {self._where()}",
                f"with {wanted.value}:",
            )
        form = "load(buffer, x[start], cols)" if loads else "store(y[start], buffer, cols)"
        words = {word.arg: word.value for word in node.keywords}
        if not 3 <= len(node.args) <= 4 or set(words) - {"stride"}:
            raise fault(node, "syntax", f"write {form}, or with rows: {form[:-5]}rows, cols, stride=…)")
        buffer_node, place = (node.args[0], node.args[1]) if loads else (node.args[1], node.args[0])
        buffer = buffer_node.id if isinstance(buffer_node, ast.Name) else ""
        tensor = self.place(place, form)
        if buffer not in self.buffers:
            raise fault(node, "unknown_name", f"{ast.unparse(buffer_node)} is no buffer", form)
        held = self.scalars.tensors[tensor.name]
        item = self._item(place, held, form)
        if held.role is ir.TensorRole.INPUT and not loads:
            raise fault(node, "global_memory", f"{tensor.name} is an input and cannot be written")
        if held.dtype != self.buffers[buffer].dtype:
            raise fault(
                node,
                "dtype",
                f"{tensor.name} holds {held.dtype}, the buffer {buffer} {self.buffers[buffer].dtype}",
                "copies do not convert: cast in a compute block",
            )
        if self.buffers[buffer].column and len(node.args) == 4:
            raise fault(
                node,
                "shape",
                f"{buffer} holds one element per row, next to each other",
                f"copy it as a run: {what}(…, rows)",
            )
        self._used |= {buffer, tensor.name}
        start = self.scalars.integer(place.slice, "a place")  # type: ignore[attr-defined]
        extents = [self.scalars.integer(extent, "an extent") for extent in node.args[2:]]
        rows = extents[0] if len(extents) == 2 else ir.Num(1, ir.Kind.INT, line=node.lineno)
        stride = self.scalars.integer(words["stride"], "a stride") if "stride" in words else extents[-1]
        kind = ir.Load if loads else ir.Store
        return kind(buffer, tensor.name, start, rows, extents[-1], stride, item, line=node.lineno)

    def _item(self, place: ast.expr, held: ir.Tensor, form: str) -> ir.Expr | None:
        """Which tensor of a list is meant; None for a tensor by itself."""
        inner = place.value if isinstance(place, ast.Subscript) else place
        if isinstance(inner, ast.Subscript) is not held.listed:
            listed = form.replace("x[", "x[k][").replace("y[", "y[k][")
            what = f"{held.name} is a list of tensors" if held.listed else f"{held.name} is one tensor"
            raise fault(place, "shape", what, f"write {listed if held.listed else form}")
        return self.scalars.integer(inner.slice, "a place in a list") if isinstance(inner, ast.Subscript) else None

    def place(self, node: ast.expr, form: str) -> ir.Tensor:
        """The tensor of ``x[start]``."""
        name = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(name, ast.Subscript) and not isinstance(name.slice, ast.Slice):
            name = name.value
        if not (isinstance(node, ast.Subscript) and isinstance(name, ast.Name)) or isinstance(node.slice, ast.Slice):
            raise fault(node, "syntax", f"{ast.unparse(node)} has no start", f"write {form}")
        tensor = self.scalars.tensors.get(name.id)
        if tensor is None:
            raise fault(node, "unknown_name", f"{name.id} is no tensor in global memory", form)
        return tensor

    def _mark(self, node: ast.expr) -> None:
        self._used |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in self.buffers}

    def _where(self) -> str:
        return f"{self._block.value} block" if self._block else "place outside blocks"


def _read(target: ast.expr) -> ast.expr:
    """The buffer or variable that ``+=`` reads."""
    return target.value if isinstance(target, ast.Subscript) else ast.Name(getattr(target, "id", ""), ast.Load())


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
