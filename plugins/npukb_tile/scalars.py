"""Reads scalar expressions: of the host function and of the kernel outside its tiles. Types are inferred."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from npukb_tile.fault import ProgramError
from npukb_tile.ir import (
    Binary,
    Buffer,
    Call,
    Choice,
    Element,
    Expr,
    HostValue,
    Item,
    Kind,
    Known,
    ListFact,
    Name,
    Num,
    Peek,
    Tensor,
    TensorFact,
    TensorRole,
)
from npukb_tile.limits import MOST_INTEGER

__all__ = ["ScalarReader", "fault", "is_name", "read_range"]

_ARITHMETIC = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%"}
_ORDER = {"Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=", "Eq": "==", "NotEq": "!="}
#: Scalar functions: how many arguments, and the result's type (None: that of the arguments).
_FUNCTIONS: dict[str, tuple[int, Kind | None]] = {
    "min": (2, None),
    "max": (2, None),
    "abs": (1, None),
    "float": (1, Kind.FLOAT),
    "int": (1, Kind.INT),
    "sqrt": (1, Kind.FLOAT),
    "power": (2, Kind.FLOAT),
    "ceil_div": (2, Kind.INT),
    "round_up": (2, Kind.INT),
    "core": (0, Kind.INT),
    "vector_cores": (0, Kind.INT),
    "cube_cores": (0, Kind.INT),
    "ub_bytes": (0, Kind.INT),
}
#: Integers that the scalar unit reads.
_READABLE = {"int32", "int64", "int16", "uint8", "int8", "bool"}
_HOST_ONLY = {"vector_cores", "cube_cores", "ub_bytes", "power"}


def fault(node: ast.AST, rule: str, message: str, remedy: str | None = None) -> ProgramError:
    """The fault of a place in the program, to be raised."""
    return ProgramError(rule, message, line=getattr(node, "lineno", 0), remedy=remedy)


def is_name(node: ast.expr, *names: str) -> bool:
    """Whether a node is one of these names."""
    return isinstance(node, ast.Name) and node.id in names


class ScalarReader:
    """Reads expressions over ``kinds``, the scalars that are known at this place.

    ``host`` says which function it is in: facts of tensors belong to the host, the core's number and elements to the
    kernel.
    """

    def __init__(
        self,
        kinds: dict[str, Kind],
        tensors: Mapping[str, Tensor],
        types: Mapping[str, tuple[str, ...]] | None = None,
        *,
        host: bool,
    ) -> None:
        self.kinds = kinds
        self.types: Mapping[str, tuple[str, ...]] = types or {}
        self.tensors = tensors
        self.buffers: dict[str, Buffer] = {}
        self.host = host
        #: Questions about absent inputs and texts, in the order in which they are asked.
        self.known: list[Known] = []

    def read(self, node: ast.expr) -> Expr:
        """The typed expression of a node."""
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node, _ARITHMETIC.get(type(node.op).__name__), self.read(node.left), node.right)
        if isinstance(node, ast.Compare):
            # C++ reads a < b < c as (a < b) < c.
            if len(node.ops) != 1:
                raise fault(node, "syntax", "one comparison at a time", "write a < b and b < c")
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            op = "and" if isinstance(node.op, ast.And) else "or"
            parts = [self.condition(value) for value in node.values]
            result = parts[0]
            for part in parts[1:]:
                result = Binary(op, result, part, Kind.BOOL, line=node.lineno)
            return result
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.IfExp):
            yes, no = self._alike(self.read(node.body), self.read(node.orelse))
            return Choice(self.condition(node.test), yes, no, yes.kind, line=node.lineno)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Attribute):
            return self._fact(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        raise fault(node, "syntax", f"{ast.unparse(node)} is no scalar expression of the language")

    def integer(self, node: ast.expr, what: str) -> Expr:
        """An expression that must be an integer."""
        value = self.read(node)
        if value.kind is not Kind.INT:
            raise fault(node, "dtype", f"{what} must be an integer; {ast.unparse(node)} is {value.kind.value}")
        return value

    def condition(self, node: ast.expr) -> Expr:
        """An expression that must be true or false."""
        value = self.read(node)
        if value.kind is Kind.FLOAT:
            raise fault(node, "dtype", f"{ast.unparse(node)} is a float, not a condition", "compare it with something")
        return value

    def _constant(self, node: ast.Constant) -> Expr:
        value = node.value
        # Before integers: Python's booleans are integers, too.
        if isinstance(value, bool):
            return Num(value, Kind.BOOL, line=node.lineno)
        if isinstance(value, int):
            # Literals are never negative: the sign is an operator.
            if value >= MOST_INTEGER:
                raise fault(node, "number", "an integer beyond 64 bits")
            return Num(value, Kind.INT, line=node.lineno)
        if isinstance(value, float):
            return Num(value, Kind.FLOAT, line=node.lineno)
        raise fault(node, "syntax", f"{value!r} is no number")

    def _name(self, node: ast.Name) -> Expr:
        if node.id == "inf":
            return Num(math.inf, Kind.FLOAT, line=node.lineno)
        if node.id in self.buffers:
            raise fault(
                node, "scalar", f"{node.id} is a buffer, not a scalar", f"write {node.id}[0] for its first element"
            )
        if node.id in self.tensors:
            raise fault(
                node,
                "global_memory",
                f"{node.id} is a tensor in global memory, not a scalar",
                f"load it into a buffer, or read one element with {node.id}[i] outside blocks",
            )
        if self.kinds.get(node.id) is Kind.INTS:
            raise fault(
                node, "dtype", f"{node.id} is a list of integers", f"{node.id}[i] is one, len({node.id}) how many"
            )
        if self.kinds.get(node.id) is Kind.TEXT:
            raise fault(node, "dtype", f"{node.id} is a text, not a number", f'compare it: {node.id} == "mean"')
        if node.id not in self.kinds:
            known = ", ".join(sorted(self.kinds)) or "none"
            raise fault(node, "unknown_name", f"there is no {node.id} here", f"known scalars: {known}")
        return Name(node.id, self.kinds[node.id], line=node.lineno)

    def _binary(self, node: ast.BinOp, op: str | None, left: Expr, right_node: ast.expr) -> Expr:
        if op is None:
            raise fault(node, "syntax", f"there is no scalar operator {type(node.op).__name__}", "use + - * / // %")
        left, right = self._alike(left, self.read(right_node))
        # Python and C++ disagree on / between integers, so neither meaning is guessed.
        if op == "/" and left.kind is not Kind.FLOAT:
            raise fault(node, "dtype", "/ divides floats", "use // for integers, or float(a) / float(b)")
        if op in ("//", "%") and left.kind is not Kind.INT:
            raise fault(node, "dtype", f"{op} is for integers")
        return Binary(op, left, right, left.kind, line=node.lineno)

    def _compare(self, node: ast.Compare) -> Expr:
        # First: texts and absent inputs are no scalars, and reading them would be a fault.
        known = self._known(node)
        if known is not None:
            return known
        left, right = self._alike(self.read(node.left), self.read(node.comparators[0]))
        op = _ORDER.get(type(node.ops[0]).__name__)
        if op is None:
            raise fault(node, "syntax", "use < <= > >= == !=")
        return Binary(op, left, right, Kind.BOOL, line=node.lineno)

    def _known(self, node: ast.Compare) -> Expr | None:
        """``x is None``, ``x is not None``, ``mode == "mean"``, ``mode != "mean"``; None for anything else."""
        op, right = node.ops[0], node.comparators[0]
        name = node.left.id if isinstance(node.left, ast.Name) else ""
        if isinstance(op, ast.Is | ast.IsNot):
            held = self.tensors.get(name)
            if held is None or not held.optional or not (isinstance(right, ast.Constant) and right.value is None):
                remedy = "an input that may be absent is declared x: Input[float32] | None"
                raise fault(node, "syntax", f"{ast.unparse(node)} asks about nothing that may be absent", remedy)
            text = None
        elif isinstance(op, ast.Eq | ast.NotEq) and self.kinds.get(name) is Kind.TEXT:
            if not isinstance(right, ast.Constant) or not isinstance(right.value, str):
                raise fault(node, "dtype", f"{name} is a text", f'compare it with one: {name} == "mean"')
            text = right.value
        else:
            return None
        known = Known(name, text, line=node.lineno)
        self.known.append(known)
        wanted = isinstance(op, ast.IsNot | ast.Eq)
        return known if wanted else Call("not", (known,), Kind.BOOL, line=node.lineno)

    def _unary(self, node: ast.UnaryOp) -> Expr:
        if isinstance(node.op, ast.Not):
            return Call("not", (self.condition(node.operand),), Kind.BOOL, line=node.lineno)
        if isinstance(node.op, ast.USub):
            value = self.read(node.operand)
            if isinstance(value, Num) and value.kind is not Kind.BOOL:
                # A negative number stays a literal, so that later passes see a constant.
                return Num(-value.value, value.kind, line=node.lineno)
            return Call("neg", (value,), value.kind, line=node.lineno)
        raise fault(node, "syntax", f"{ast.unparse(node)} is no scalar expression of the language")

    def _call(self, node: ast.Call) -> Expr:
        if not isinstance(node.func, ast.Name):
            raise fault(node, "syntax", f"{ast.unparse(node.func)} is no function of the language")
        name = node.func.id
        if name == "prod" and self.host:
            return self._product(node)
        if name == "len":
            return self._length(node)
        if name not in _FUNCTIONS or (name in _HOST_ONLY and not self.host) or (name == "core" and self.host):
            where = "host function" if self.host else "kernel function"
            raise fault(
                node,
                "unknown_name",
                f"there is no scalar function {name} in the {where}",
                "scalar functions: " + ", ".join(sorted(_FUNCTIONS)),
            )
        count, kind = _FUNCTIONS[name]
        if len(node.args) != count or node.keywords:
            raise fault(node, "syntax", f"{name} takes {count} arguments")
        arguments = tuple(self.read(argument) for argument in node.args)
        # power() takes both as double, whatever they are.
        if count == 2 and name != "power":
            arguments = self._alike(*arguments)
        if name in ("ceil_div", "round_up") and arguments[0].kind is not Kind.INT:
            raise fault(node, "dtype", f"{name} is for integers")
        return Call(name, arguments, kind or arguments[0].kind, line=node.lineno)

    def _length(self, node: ast.Call) -> Expr:
        """``len(x)``."""
        [given] = node.args if len(node.args) == 1 else [node]
        if isinstance(given, ast.Name) and self.kinds.get(given.id) is Kind.INTS and not node.keywords:
            return Item(given.id, None, line=node.lineno)
        held = self.tensors.get(given.id) if isinstance(given, ast.Name) else None
        if self.host or held is None or not held.listed or node.keywords:
            remedy = "the kernel function has len(x) of a list x: Inputs[float32]"
            raise fault(node, "syntax", f"{ast.unparse(node)} is no length of a list", remedy)
        return ListFact(held.name, None, line=node.lineno)

    def _listed_size(self, node: ast.Attribute) -> Expr | None:
        """``x[k].size`` in the kernel; None for anything else."""
        place = node.value
        if self.host or node.attr != "size" or not isinstance(place, ast.Subscript):
            return None
        held = self.tensors.get(place.value.id) if isinstance(place.value, ast.Name) else None
        if held is None or not held.listed or isinstance(place.slice, ast.Slice):
            return None
        return ListFact(held.name, self.integer(place.slice, "a place in a list"), line=node.lineno)

    def _product(self, node: ast.Call) -> Expr:
        part = self._slice(node.args[0]) if len(node.args) == 1 else None
        if part is not None:
            self._single(node, part[0])
        if part is None:
            raise fault(node, "syntax", "prod takes part of a shape", "write prod(x.shape[a:b])")
        return TensorFact(part[0], "product", part[1], part[2], line=node.lineno)

    def _slice(self, node: ast.expr) -> tuple[str, Expr | None, Expr | None] | None:
        """``x.shape[a:b]``."""
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            return None
        tensor = self._shaped(node.value)
        if tensor is None or node.slice.step is not None:
            return None
        first = self.integer(node.slice.lower, "an axis") if node.slice.lower else None
        last = self.integer(node.slice.upper, "an axis") if node.slice.upper else None
        return tensor, first, last

    def shape_slice(self, node: ast.expr) -> tuple[str, Expr | None, Expr | None] | None:
        """``x.shape`` or part of it; None for anything else."""
        tensor = self._shaped(node)
        return (tensor, None, None) if tensor is not None else self._slice(node)

    def _shaped(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
            return self._tensor(node, node.value.id)
        return None

    def _tensor(self, node: ast.expr, name: str) -> str:
        if name not in self.tensors:
            raise fault(node, "unknown_name", f"{name} is no tensor of the kernel")
        if self.host and self.tensors[name].role is not TensorRole.INPUT:
            raise fault(node, "shape", f"the shape of {name} is what you say it is", "use what it is made of")
        return name

    def _fact(self, node: ast.Attribute) -> Expr:
        if (listed := self._listed_size(node)) is not None:
            return listed
        if not self.host or not isinstance(node.value, ast.Name) or node.attr not in ("size", "rank", "itemsize"):
            raise fault(
                node,
                "syntax",
                f"{ast.unparse(node)} is not known here",
                "the host function has x.size, x.rank, x.itemsize, x.shape[i] and prod(x.shape[a:b]); "
                "hand on to the kernel what it needs with launch()",
            )
        name = self._tensor(node, node.value.id)
        self._single(node, name)
        return TensorFact(name, node.attr, None, None, line=node.lineno)

    def _value(self, node: ast.Subscript, name: str) -> Expr:
        """``k[0]`` in the host function: an element of an input whose values are known at the launch."""
        self._single(node, self._tensor(node, name))
        dtype = self.tensors[name].dtype
        if dtype not in ("int32", "int64") or self.tensors[name].optional or isinstance(node.slice, ast.Slice):
            remedy = "the host function reads single elements of inputs of int32 or int64 that are always given"
            raise fault(node, "scalar", f"{ast.unparse(node)} is not known at the launch", remedy)
        return HostValue(name, dtype, self.integer(node.slice, "a place"), line=node.lineno)

    def _single(self, node: ast.expr, name: str) -> None:
        if self.tensors[name].listed:
            raise fault(node, "shape", f"{name} is a list of tensors", "the kernel function has len(x) and x[k].size")

    def _subscript(self, node: ast.Subscript) -> Expr:
        if isinstance(node.value, ast.Name) and self.kinds.get(node.value.id) is Kind.INTS:
            if isinstance(node.slice, ast.Slice):
                raise fault(node, "syntax", f"{ast.unparse(node)} is no scalar", f"{node.value.id}[i] is one integer")
            return Item(node.value.id, self.integer(node.slice, "a place in a list"), line=node.lineno)
        if self.host and isinstance(node.value, ast.Name) and node.value.id in self.tensors:
            return self._value(node, node.value.id)
        if self.host:
            tensor = self._shaped(node.value)
            if tensor is None or isinstance(node.slice, ast.Slice):
                raise fault(node, "syntax", f"{ast.unparse(node)} is no scalar", "write x.shape[i]")
            self._single(node, tensor)
            return TensorFact(tensor, "extent", self.integer(node.slice, "an axis"), None, line=node.lineno)
        if not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Slice):
            raise fault(node, "syntax", f"{ast.unparse(node)} is no scalar")
        name, index = node.value.id, self.integer(node.slice, "a place")
        if name in self.buffers:
            return Peek(name, index, self._kind_of(node, self.buffers[name].dtype), line=node.lineno)
        if name in self.tensors and self.tensors[name].listed:
            raise fault(node, "scalar", f"{name}[…] is a tensor of a list", f"write {name}[k].size, or load from it")
        if name in self.tensors:
            return Element(name, index, self._kind_of(node, self.tensors[name].dtype), line=node.lineno)
        raise fault(node, "unknown_name", f"there is no buffer or tensor {name}")

    def _kind_of(self, node: ast.AST, dtype: str) -> Kind:
        members = self.types.get(dtype, (dtype,))
        if members == ("float32",):
            return Kind.FLOAT
        if not set(members) <= _READABLE:
            raise fault(
                node, "dtype", f"the scalar unit does not read {dtype}", "load it into a buffer and cast it to float32"
            )
        return Kind.INT

    def _alike(self, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Both with one type: integers next to floats become floats."""
        if left.kind is right.kind:
            return left, right
        # Booleans beside integers stay: they are numbers in both languages.
        if Kind.FLOAT in (left.kind, right.kind):
            return _float(left), _float(right)
        return left, right


def _float(value: Expr) -> Expr:
    if value.kind is Kind.FLOAT:
        return value
    if isinstance(value, Num):
        return Num(float(value.value), Kind.FLOAT, line=value.line)
    return Call("float", (value,), Kind.FLOAT, line=value.line)


def read_range(scalars: ScalarReader, node: ast.For) -> tuple[str, Expr, Expr, Expr]:
    """Variable and bounds of ``for i in range(…)``; the variable is known from here on."""
    call = node.iter
    if not (isinstance(node.target, ast.Name) and isinstance(call, ast.Call) and is_name(call.func, "range")):
        raise fault(node, "syntax", "loops run over range(…)")
    if not 1 <= len(call.args) <= 3 or node.orelse:
        raise fault(node, "syntax", "range takes one to three numbers, and loops have no else")
    numbers = [scalars.integer(argument, "a bound of a loop") for argument in call.args]
    zero, num = Num(0, Kind.INT, line=node.lineno), Num(1, Kind.INT, line=node.lineno)
    start, stop, step = (
        (zero, numbers[0], num)
        if len(numbers) == 1
        else (numbers[0], numbers[1], num)
        if len(numbers) == 2
        else (numbers[0], numbers[1], numbers[2])
    )
    if scalars.kinds.setdefault(node.target.id, Kind.INT) is not Kind.INT:
        raise fault(node, "dtype", f"{node.target.id} is not an integer")
    return node.target.id, start, stop, step
