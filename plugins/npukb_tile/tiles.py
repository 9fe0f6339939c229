"""Reads what compute blocks say about tiles: operations, element types, and how shapes broadcast."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from npukb_tile.dtypes import ARITHMETIC, DTYPES, FLOATS
from npukb_tile.ir import Buffer, BufferRef, Expr, Kind, Scalar, ShapeClass, TileExpr, TileOp
from npukb_tile.limits import MOST_OPERATIONS
from npukb_tile.operations import COMPARISONS, OPERATIONS, OPERATORS
from npukb_tile.scalars import ScalarReader, fault, is_name

__all__ = ["TileReader"]

_CAST_MODES = ("rint", "floor", "ceil", "round", "trunc", "none")
_FULL, _ROW, _COLUMN = ShapeClass.FULL, ShapeClass.ROW, ShapeClass.COLUMN


class TileReader:
    """Reads tile expressions of one block. ``single`` says that the block has one row."""

    def __init__(
        self,
        buffers: Mapping[str, Buffer],
        types: Mapping[str, tuple[str, ...]],
        scalars: ScalarReader,
        *,
        single: bool,
    ) -> None:
        self.buffers, self.types, self.scalars, self.single = buffers, types, scalars, single

    def members(self, dtype: str) -> tuple[str, ...]:
        """The element types that a name may mean."""
        return self.types.get(dtype, (dtype,))

    def buffer(self, node: ast.expr, name: str) -> BufferRef:
        """A buffer as an operand, with its shape in this block."""
        held = self.buffers[name]
        if held.column:
            shape = _COLUMN
        elif held.rank == 1 and not self.single:
            shape = _ROW
        else:
            shape = _FULL
        return BufferRef(name, held.dtype, shape, line=node.lineno)

    def read(self, node: ast.expr) -> TileExpr:
        """The typed tile expression of a node; what has no tile in it is a scalar."""
        if not self._has_tile(node):
            return Scalar(self.scalars.read(node), line=node.lineno)
        if isinstance(node, ast.Name):
            return self.buffer(node, node.id)
        if isinstance(node, ast.BinOp):
            return self._operator(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            raise fault(
                node, "syntax", f"{ast.unparse(node)} is no tile", "name the whole buffer: the block says how much"
            )
        raise fault(node, "syntax", f"{ast.unparse(node)} is no operation on tiles")

    def _has_tile(self, node: ast.expr) -> bool:
        # iota() has no operand, so that no buffer would show it to be a tile.
        return any(
            (isinstance(part, ast.Name) and part.id in self.buffers)
            or (isinstance(part, ast.Call) and is_name(part.func, "iota", "iota_rows"))
            for part in ast.walk(node)
        )

    def _operator(self, node: ast.BinOp) -> TileExpr:
        symbol = type(node.op).__name__
        # The vector unit's own power is far slower than a product.
        if symbol == "Pow" and isinstance(node.right, ast.Constant) and node.right.value == 2:
            return self._square(node)
        op = OPERATORS.get(symbol)
        if op is None:
            raise fault(node, "syntax", f"there is no operator {symbol} for tiles", "use + - * / & | and functions")
        if op in ("and", "or"):
            return self._logic(node, op, [self.read(node.left), self.read(node.right)])
        return self._binary(node, op, node.left, node.right)

    def _square(self, node: ast.BinOp) -> TileExpr:
        """``x ** 2``: x times itself. What x is made of is then there twice."""
        base = self.read(node.left)
        dtype, shape = self._common(node, base, base)
        self._computes(node, dtype, OPERATIONS["mul"].floats_only)
        square = TileOp("mul", (base, base), dtype, shape, line=node.lineno)
        # Squares of squares double their tree each time: a short line could ask for millions of instructions.
        if _operations(square) > MOST_OPERATIONS:
            raise fault(
                node,
                "limit",
                f"an expression of more than {MOST_OPERATIONS} operations",
                "put what is squared into a buffer first",
            )
        return square

    def _unary(self, node: ast.UnaryOp) -> TileExpr:
        if isinstance(node.op, ast.Invert):
            return self._logic(node, "not", [self.read(node.operand)])
        if isinstance(node.op, ast.USub):
            return self._unary_op(node, "neg", self.read(node.operand))
        raise fault(node, "syntax", f"{ast.unparse(node)} is no operation on tiles", "~mask is the opposite of a mask")

    def _compare(self, node: ast.Compare) -> TileExpr:
        op = COMPARISONS.get(type(node.ops[0]).__name__)
        if op is None or len(node.ops) != 1:
            raise fault(node, "syntax", "one comparison at a time", "write (a < x) & (x < b)")
        left, right = self.read(node.left), self.read(node.comparators[0])
        dtype, shape = self._common(node, left, right)
        self._computes(node, dtype)
        members = self.members(dtype)
        # These cores compare no int16, and int32 by EQ alone.
        if "int16" in members or ("int32" in members and op != "eq"):
            detail = "integers are compared for equality only, and as int32"
            raise fault(node, "dtype", detail, "cast to float32 first")
        return TileOp(op, (left, right), "mask", shape, line=node.lineno)

    def _binary(self, node: ast.expr, op: str, left_node: ast.expr, right_node: ast.expr) -> TileExpr:
        left, right = self.read(left_node), self.read(right_node)
        dtype, shape = self._common(node, left, right)
        self._computes(node, dtype, OPERATIONS[op].floats_only)
        return TileOp(op, (left, right), dtype, shape, line=node.lineno)

    def _logic(self, node: ast.expr, op: str, masks: list[TileExpr]) -> TileExpr:
        for mask in masks:
            if isinstance(mask, Scalar) or mask.dtype != "mask":
                raise fault(node, "dtype", "& | ~ are for masks", "compare first: x > 0.0")
        first = masks[0]
        assert not isinstance(first, Scalar)
        if any(not isinstance(mask, Scalar) and mask.shape is not first.shape for mask in masks):
            raise fault(node, "shape", "masks must have one shape")
        return TileOp(op, tuple(masks), "mask", first.shape, line=node.lineno)

    def _call(self, node: ast.Call) -> TileExpr:
        if not isinstance(node.func, ast.Name):
            raise fault(node, "syntax", f"{ast.unparse(node.func)} is no function of the language")
        name = node.func.id
        if name in DTYPES or name in self.types:
            return self._cast(node, name)
        operation = OPERATIONS.get(name)
        # Operations that have a symbol are written by it alone.
        if operation is None or operation.kind in ("compare", "logic") or name in OPERATORS.values():
            known = ", ".join(
                sorted(name for name, operation in OPERATIONS.items() if operation.kind in ("unary", "across", "down"))
            )
            raise fault(
                node, "unknown_name", f"there is no operation {name} on tiles", f"among others there are {known}"
            )
        if name in ("gather", "shift", "iota", "iota_rows"):
            return self._placed(node, name)
        wanted = {"binary": 2, "where": 3}.get(operation.kind, 1)
        if len(node.args) != wanted or node.keywords:
            raise fault(node, "syntax", f"{name} takes {wanted} operands")
        if operation.kind == "binary":
            return self._binary(node, name, node.args[0], node.args[1])
        if operation.kind == "where":
            return self._where(node)
        value = self.read(node.args[0])
        if operation.kind in ("across", "down"):
            return self._reduction(node, name, value)
        if operation.kind == "sort":
            return self._sort(node, name, value)
        return self._unary_op(node, name, value)

    def _unary_op(self, node: ast.expr, name: str, value: TileExpr) -> TileExpr:
        assert not isinstance(value, Scalar)
        self._computes(node, value.dtype, OPERATIONS[name].floats_only)
        return TileOp(name, (value,), value.dtype, value.shape, line=node.lineno)

    def _reduction(self, node: ast.expr, name: str, value: TileExpr) -> TileExpr:
        across = OPERATIONS[name].kind == "across"
        if isinstance(value, Scalar) or value.shape is not _FULL:
            raise fault(node, "shape", f"{name} takes a tile of rows and columns")
        if not across and self.single:
            raise fault(
                node,
                "shape",
                f"{name} reduces the rows of a block that has one row",
                "open it with compute(rows, cols)",
            )
        if any(member != "float32" for member in self.members(value.dtype)):
            raise fault(node, "dtype", f"{name} sums in float32", "cast first: float32(x)")
        return TileOp(name, (value,), value.dtype, _COLUMN if across else _ROW, line=node.lineno)

    def _sort(self, node: ast.expr, name: str, value: TileExpr) -> TileExpr:
        if isinstance(value, Scalar) or not self.single or value.shape is not _FULL:
            raise fault(node, "shape", f"{name} works on tiles of one row", "open the block with compute(cols)")
        if any(member != "float32" for member in self.members(value.dtype)):
            raise fault(node, "dtype", f"{name} compares in float32", "cast first: float32(x)")
        return TileOp(name, (value,), "int32", _FULL, line=node.lineno)

    def _where(self, node: ast.Call) -> TileExpr:
        mask, yes, no = (self.read(argument) for argument in node.args)
        if isinstance(mask, Scalar) or mask.dtype != "mask":
            raise fault(node, "dtype", "where takes a mask first", "compare: where(x > 0.0, a, b)")
        if isinstance(yes, Scalar) and isinstance(no, Scalar):
            # Two scalars leave open which type is meant; a mask has none.
            dtype = "float32"
        else:
            dtype, shape = self._common(node, yes, no)
            if shape is not mask.shape:
                raise fault(
                    node, "shape", f"a mask of shape {mask.shape.value} chooses between tiles of shape {shape.value}"
                )
        if any(member not in ("float32", "float16") for member in self.members(dtype)):
            raise fault(node, "dtype", f"where chooses between floats, not {dtype}", "cast first: float32(x)")
        return TileOp("where", (mask, yes, no), dtype, mask.shape, line=node.lineno)

    def _placed(self, node: ast.Call, name: str) -> TileExpr:
        """Operations that say where elements come from."""
        if name in ("iota", "iota_rows"):
            if node.args or node.keywords:
                raise fault(node, "syntax", f"{name} takes nothing", f"multiply and add: {name}() * 2 + 1")
            shape = _COLUMN if name == "iota_rows" else _FULL if self.single else _ROW
            return TileOp(name, (), "int32", shape, line=node.lineno)
        if not 2 <= len(node.args) <= 3:
            raise fault(node, "syntax", f"{name} takes two or three operands")
        arguments = tuple(self.read(argument) for argument in node.args)
        source = arguments[0]
        if not self.single or isinstance(source, Scalar) or source.shape is not _FULL:
            raise fault(node, "shape", f"{name} works on tiles of one row", "open the block with compute(cols)")
        if any(member != "float32" for member in self.members(source.dtype)) or not isinstance(source, BufferRef):
            raise fault(node, "dtype", f"{name} takes a buffer of float32", "put what you compute into a buffer first")
        if name == "gather":
            index = arguments[1]
            if isinstance(index, Scalar) or index.dtype != "int32":
                raise fault(node, "dtype", "gather takes places of type int32", "gather(x, iota() * 2)")
        elif not isinstance(arguments[1], Scalar) or arguments[1].value.kind is not Kind.INT or len(arguments) != 3:
            raise fault(node, "syntax", "shift takes a tile, a distance and a filling", "shift(x, 1, 0.0)")
        return TileOp(name, arguments, source.dtype, _FULL, line=node.lineno)

    def _cast(self, node: ast.Call, name: str) -> TileExpr:
        mode = ""
        if len(node.args) == 2 and isinstance(node.args[1], ast.Constant):
            mode = str(node.args[1].value)
        if not 1 <= len(node.args) <= 2 or mode not in ("", *_CAST_MODES):
            raise fault(
                node, "syntax", f"{name} takes a tile and perhaps a rounding", "one of " + ", ".join(_CAST_MODES)
            )
        value = self.read(node.args[0])
        if isinstance(value, Scalar):
            raise fault(node, "dtype", "a scalar needs no cast here")
        if value.dtype == "mask" and name not in ("bool", "float32", "float16"):
            raise fault(node, "dtype", f"a mask does not become {name}", "bool(mask) or float32(mask)")
        return TileOp("cast", (value,), name, value.shape, mode, line=node.lineno)

    def _computes(self, node: ast.expr, dtype: str, floats: bool = False) -> None:
        allowed = ARITHMETIC & FLOATS if floats else ARITHMETIC
        wrong = [member for member in self.members(dtype) if member not in allowed]
        if wrong:
            raise fault(
                node,
                "dtype",
                f"the vector unit does not compute this in {' or '.join(wrong)}",
                "cast first: float32(x), and back at the end",
            )

    def _common(self, node: ast.expr, left: TileExpr, right: TileExpr) -> tuple[str, ShapeClass]:
        """Type and shape of two operands next to each other."""
        tiles = [operand for operand in (left, right) if not isinstance(operand, Scalar)]
        dtypes = {tile.dtype for tile in tiles}
        if "mask" in dtypes:
            raise fault(node, "dtype", "a mask is no number", "where(mask, a, b) or float32(mask)")
        if len(dtypes) != 1:
            raise fault(node, "dtype", f"operands of types {' and '.join(sorted(dtypes))}", "cast one of them")
        dtype = dtypes.pop()
        for scalar in (left, right):
            if isinstance(scalar, Scalar):
                self._fits(node, scalar.value, dtype)
        shapes = {tile.shape for tile in tiles}
        if shapes == {_ROW, _COLUMN}:
            raise fault(node, "shape", "a row and a column do not make a tile", "add one of them to a full tile")
        # The functions that broadcast are written for float32.
        if len(shapes) == 2 and any(member != "float32" for member in self.members(dtype)):
            raise fault(node, "dtype", "tiles of different shapes work in float32 only", "cast first: float32(x)")
        return dtype, _FULL if len(shapes) == 2 else shapes.pop()

    def _fits(self, node: ast.expr, value: Expr, dtype: str) -> None:
        floats = all(member in FLOATS for member in self.members(dtype))
        if value.kind is Kind.FLOAT and not floats:
            raise fault(node, "dtype", f"a float next to a tile of {dtype}", "cast the tile: float32(x)")


def _operations(node: TileExpr) -> int:
    """Operations of an expression."""
    return 1 + sum(_operations(argument) for argument in node.arguments) if isinstance(node, TileOp) else 0
