"""Working out what a function of a Python file returns, without running it.

A walk over the syntax tree with a small part of the language: assignments, branches, loops over what is there, calls of
functions that are handed in. Whatever is not known is :data:`UNKNOWN`, and so is all that follows from it; a branch on
it makes everything unknown that it would assign.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from npukernelbench.errors import SourceLocation, UsageError

__all__ = ["UNKNOWN", "Functions", "Program", "Unknown", "read_program"]


class Unknown:
    """A value that cannot be told."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()

#: Calls by dotted name, and methods by ``.name``, whose first argument is what they belong to.
Functions = Mapping[str, Callable[..., object]]

_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
#: Steps of a function, calls included: a text of a checkout must not keep the reader for ever.
_MOST_STEPS = 200_000
#: Bits of a number, and elements of a text or a list.
_MOST_SIZE = 100_000
# Recursion is cut long before Python's own limit would be reached by this walk.
_DEEPEST = 20
_FAULTS = (TypeError, ValueError, KeyError, IndexError, AttributeError, ArithmeticError, re.error)


class _Return(Exception):  # noqa: N818
    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


@dataclass(frozen=True)
class Program:
    """One file: its functions by name, those of classes by ``Class.name``, and its constants."""

    path: Path
    functions: Mapping[str, ast.FunctionDef]
    constants: Mapping[str, object]

    def call(
        self, name: str, arguments: Mapping[str, object], functions: Functions, names: Mapping[str, object] = {}
    ) -> object:
        """What the function returns for these arguments."""
        return self.trace(name, arguments, functions, names)[0]

    def trace(
        self, name: str, arguments: Mapping[str, object], functions: Functions, names: Mapping[str, object] = {}
    ) -> tuple[object, Mapping[str, object]]:
        """What the function returns, and the values of its variables when it does."""
        walk = _Walk(self, functions, {**self.constants, **names})
        return walk.run(self.functions[name], arguments)


def read_program(path: Path) -> Program:
    """The functions and constants of a Python file. UsageError when it cannot be read or is not Python."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}", field="--checkout") from error
    except (SyntaxError, UnicodeDecodeError, ValueError) as error:
        line = error.lineno if isinstance(error, SyntaxError) else None
        raise UsageError(
            f"not a Python file: {error}", location=SourceLocation(path, line or 1), field="--checkout"
        ) from error
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, object] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            functions[node.name] = node
        elif isinstance(node, ast.ClassDef):
            functions.update(
                (f"{node.name}.{item.name}", item) for item in node.body if isinstance(item, ast.FunctionDef)
            )
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                constants[node.targets[0].id] = ast.literal_eval(node.value)
            # Not a literal: a call, or an expression of names.
            except ValueError:
                constants[node.targets[0].id] = UNKNOWN
    return Program(path, functions, constants)


@dataclass
class _Walk:
    program: Program
    functions: Functions
    names: Mapping[str, object]
    steps: int = 0
    depth: int = 0
    local: dict[str, object] = field(default_factory=dict)

    def run(self, function: ast.FunctionDef, arguments: Mapping[str, object]) -> tuple[object, Mapping[str, object]]:
        # Each call has variables of its own, and its caller's come back behind it.
        outer, self.local = self.local, dict(arguments)
        self.depth += 1
        try:
            defaults = function.args.defaults
            # Defaults belong to the last arguments; [-0:] would be all of them.
            for item, default in zip(function.args.args[-len(defaults) :] if defaults else [], defaults, strict=True):
                self.local.setdefault(item.arg, self.value(default))
            if self.depth > _DEEPEST:
                return UNKNOWN, self.local
            try:
                self.block(function.body)
            except _Return as returned:
                return returned.value, self.local
            return None, self.local
        finally:
            self.depth -= 1
            self.local = outer

    def block(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def step(self, node: ast.stmt | ast.expr) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise UsageError(
                "this function does not come to an end",
                location=SourceLocation(self.program.path, node.lineno),
                field="--checkout",
            )

    def statement(self, node: ast.stmt) -> None:
        self.step(node)
        if isinstance(node, ast.Return):
            raise _Return(None if node.value is None else self.value(node.value))
        if isinstance(node, ast.Assign):
            value = self.value(node.value)
            for target in node.targets:
                self.assign(target, value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, self.value(node.value))
        elif isinstance(node, ast.AugAssign):
            self.assign(node.target, self.binary(node.op, self.value(_loaded(node.target)), self.value(node.value)))
        elif isinstance(node, ast.Expr):
            self.value(node.value)
        elif isinstance(node, ast.If):
            self.branch(node)
        elif isinstance(node, ast.For):
            self.loop(node)
        # Nothing runs, so nothing is raised: handlers play no part.
        elif isinstance(node, (ast.With, ast.Try)):
            self.block(node.body)

    def branch(self, node: ast.If) -> None:
        test = self.value(node.test)
        if isinstance(test, Unknown):
            # Either branch may have run.
            self.forget([*node.body, *node.orelse])
        else:
            self.block(node.body if test else node.orelse)

    def loop(self, node: ast.For) -> None:
        values = self.value(node.iter)
        # Only what ends: iterators of functions that are handed in might not.
        if isinstance(values, Unknown) or not isinstance(values, (list, tuple, range, str)):
            self.forget(node.body)
            return
        for value in values:
            self.assign(node.target, value)
            self.block(node.body)

    def forget(self, statements: Sequence[ast.stmt]) -> None:
        """Everything that these would assign or change is unknown from here on."""
        for statement in statements:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.local[node.id] = UNKNOWN
                if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                    self.assign(node, UNKNOWN)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
                    self.assign(node.func.value, UNKNOWN)

    def assign(self, target: ast.expr, value: object) -> None:
        if isinstance(target, ast.Name):
            self.local[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value if isinstance(value, (list, tuple)) and len(value) == len(target.elts) else None
            for position, part in enumerate(target.elts):
                self.assign(part, UNKNOWN if parts is None else parts[position])
        elif isinstance(target, ast.Subscript):
            self.change(_root(target))

    def change(self, name: str) -> None:
        """Part of what a name stands for is replaced: there, and wherever else it is held."""
        # Names share one object in Python. Here a stand-in is replaced, so that every name of it has to follow.
        held, part = self.local.get(name, UNKNOWN), self.functions.get("[]=")
        new = UNKNOWN if part is None or isinstance(held, Unknown) else part(held)
        for other, value in self.local.items():
            if value is held:
                self.local[other] = new
            elif isinstance(value, list):
                value[:] = [new if item is held else item for item in value]

    def value(self, node: ast.expr) -> object:
        # By the kind of node; kinds without a method are beyond this part of the language.
        method = getattr(self, f"_{type(node).__name__.lower()}", None)
        if method is None:
            return UNKNOWN
        try:
            result: object = method(node)
        # It may lie on a way that the checkout itself never takes: its value is unknown, and no fault.
        except _FAULTS:
            return UNKNOWN
        return result

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _name(self, node: ast.Name) -> object:
        return self.local.get(node.id, self.names.get(node.id, UNKNOWN))

    def _list(self, node: ast.List) -> object:
        return self.items(node.elts)

    def _tuple(self, node: ast.Tuple) -> object:
        return tuple(self.items(node.elts))

    def _dict(self, node: ast.Dict) -> object:
        return {self.value(key): self.value(item) for key, item in zip(node.keys, node.values, strict=True) if key}

    def items(self, nodes: Sequence[ast.expr]) -> list[object]:
        result: list[object] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                spread = self.value(node.value)
                if not isinstance(spread, (list, tuple)):
                    # value() makes UNKNOWN of it.
                    raise ValueError
                result += spread
            else:
                result.append(self.value(node))
        return result

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> object:
        part = node.generators[0]
        values = self.value(part.iter)
        if len(node.generators) > 1 or not isinstance(values, (list, tuple, range)):
            return UNKNOWN
        result = []
        for value in values:
            self.step(node)
            self.assign(part.target, value)
            # UNKNOWN is true to Python, and a test that cannot be told is not met.
            if all(self.value(test) is True for test in part.ifs):
                result.append(self.value(node.elt))
        return result

    _generatorexp = _listcomp

    def _ifexp(self, node: ast.IfExp) -> object:
        test = self.value(node.test)
        return UNKNOWN if isinstance(test, Unknown) else self.value(node.body if test else node.orelse)

    def _boolop(self, node: ast.BoolOp) -> object:
        wanted = isinstance(node.op, ast.Or)
        result: object = UNKNOWN
        for part in node.values:
            result = self.value(part)
            # As in Python the rest is not looked at, and the value is that of the last part.
            if isinstance(result, Unknown) or bool(result) is wanted:
                return result
        return result

    def _unaryop(self, node: ast.UnaryOp) -> object:
        value = self.value(node.operand)
        if isinstance(value, Unknown):
            return UNKNOWN
        if isinstance(node.op, ast.Not):
            return not value
        return self.binary(ast.Mult(), value, -1) if isinstance(node.op, ast.USub) else UNKNOWN

    def _binop(self, node: ast.BinOp) -> object:
        return self.binary(node.op, self.value(node.left), self.value(node.right))

    def binary(self, sign: ast.operator, left: object, right: object) -> object:
        if isinstance(left, Unknown) or isinstance(right, Unknown) or type(sign) not in _BINARY:
            return UNKNOWN
        # A text of the checkout could else ask for a number, a text or a list that fills the memory.
        if isinstance(sign, ast.Pow) and not (isinstance(right, (int, float)) and abs(right) < 64):
            return UNKNOWN
        if _size(left) + _size(right) > _MOST_SIZE:
            return UNKNOWN
        if isinstance(sign, ast.Mult) and any(
            isinstance(held, (str, list, tuple)) and isinstance(times, int) and len(held) * times > _MOST_SIZE
            for held, times in ((left, right), (right, left))
        ):
            return UNKNOWN
        return _BINARY[type(sign)](left, right)

    def _compare(self, node: ast.Compare) -> object:
        left = self.value(node.left)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part)
            if isinstance(left, Unknown) or isinstance(right, Unknown):
                return UNKNOWN
            if not _COMPARISONS[type(sign)](left, right):
                return False
            # a < b < c compares b again.
            left = right
        return True

    def _subscript(self, node: ast.Subscript) -> object:
        held = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            ends = (self.value(end) if end else None for end in (node.slice.lower, node.slice.upper, node.slice.step))
            return held[slice(*ends)]  # type: ignore[index]
        index = self.value(node.slice)
        return UNKNOWN if isinstance(index, Unknown) else held[index]  # type: ignore[index]

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        parts = [self.value(part.value if isinstance(part, ast.FormattedValue) else part) for part in node.values]
        return UNKNOWN if any(isinstance(part, Unknown) for part in parts) else "".join(map(str, parts))

    def _attribute(self, node: ast.Attribute) -> object:
        dotted = ast.unparse(node)
        if dotted in self.names:
            return self.names[dotted]
        known = self.functions.get(f".{node.attr}")
        return UNKNOWN if known is None or node.attr not in _PROPERTIES else known(self.value(node.value))

    def _call(self, node: ast.Call) -> object:
        self.step(node)
        arguments = self.items(node.args)
        named = {item.arg: self.value(item.value) for item in node.keywords if item.arg}
        dotted = ast.unparse(node.func)
        # Functions that are handed in come first: they stand for torch, NumPy and what would open files.
        known = self.functions.get(dotted)
        if known is not None:
            # Such as list() and sum(), which go through all of it.
            if any(isinstance(argument, range) and len(argument) > _MOST_STEPS for argument in arguments):
                return UNKNOWN
            return known(*arguments, **named)
        own = self.program.functions.get(dotted)
        if own is not None:
            names = [item.arg for item in own.args.args]
            return self.run(own, {**dict(zip(names, arguments, strict=False)), **named})[0]
        if not isinstance(node.func, ast.Attribute):
            return UNKNOWN
        held = self.value(node.func.value)
        # The one method of lists that generators build their results with.
        if node.func.attr == "append" and isinstance(held, list):
            held.append(arguments[0])
            return None
        known = self.functions.get(f".{node.func.attr}")
        return UNKNOWN if known is None or isinstance(held, Unknown) else known(held, *arguments, **named)


def _size(value: object) -> int:
    if isinstance(value, int):
        return value.bit_length()
    return len(value) if isinstance(value, (str, list, tuple)) else 0


#: Methods without a call.
_PROPERTIES = frozenset({"shape", "dtype", "empty"})


def _root(node: ast.expr) -> str:
    """The name that ``x.flat[...]`` or ``x.view(-1)[...]`` begins with; empty for anything else."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _loaded(target: ast.expr) -> ast.expr:
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target
