"""Remedies in the sources, as texts with ``{0}`` for each value: what a catalogue of translations has to hold.

Sources mark nothing. In Python the argument ``remedy`` is followed to where its text stands: through variables,
constants, tables, parameters and what functions return.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias

from npukernelbench.language.words import PLACE


class Where(NamedTuple):
    """The module and the function in which an expression stands."""

    path: Path
    function: Function | None


class Remedies:
    """Every text that Python sources give as a remedy, and the places of each."""

    def __init__(self, root: Path, paths: Iterable[Path]) -> None:
        self.found: dict[str, list[str]] = {}
        #: What the terminal says in fixed words, given to ``words.text`` and ``words.sentence``.
        self.said: dict[str, list[str]] = {}
        #: What could not be followed: place and expression.
        self.lost: list[str] = []
        self._root = root
        self._modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in paths}
        self._functions: dict[str, list[Function]] = defaultdict(list)
        self._constants: dict[str, list[tuple[Path, ast.expr]]] = defaultdict(list)
        self._calls: dict[str, list[tuple[Where, ast.Call]]] = defaultdict(list)
        self._done: set[tuple[Function, str]] = set()
        for path, tree in self._modules.items():
            self._index(tree, Where(path, None), None)
        self._follow_given()
        self._follow_named()
        self._follow_said()

    def _index(self, node: ast.AST, where: Where, owner: ast.ClassDef | None) -> None:
        """Note functions, classes with fields, constants and calls, with the function they stand in."""
        for child in ast.iter_child_nodes(node):
            inner, within = where, owner
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner, within = Where(where.path, Function(where, child, _parameters(child, owner is not None))), None
                name = owner.name if owner is not None and child.name == "__init__" else child.name
                self._functions[name].append(_known(inner))
            elif isinstance(child, ast.ClassDef):
                within = child
                if "__init__" not in [getattr(item, "name", "") for item in child.body]:
                    self._functions[child.name].append(Function(where, child, _fields(child)))
            elif isinstance(child, ast.Call):
                self._calls[_name(child.func)].append((where, child))
            elif where.function is None and isinstance(child, (ast.Assign, ast.AnnAssign)) and child.value is not None:
                for target in child.targets if isinstance(child, ast.Assign) else [child.target]:
                    if isinstance(target, ast.Name):
                        self._constants[target.id].append((where.path, child.value))
            self._index(child, inner, within)

    def _follow_given(self) -> None:
        """What is given for a parameter or field ``remedy``, whatever has it."""
        for name, functions in [*self._functions.items()]:
            for function in functions:
                if "remedy" in function.parameters:
                    self._follow_parameter(name, function, "remedy")
        for calls in [*self._calls.values()]:
            for where, call in calls:
                for keyword in call.keywords:
                    if keyword.arg == "remedy":
                        self._keep(keyword.value, where)

    def _follow_named(self) -> None:
        """What is called a remedy: variables, constants and functions. It may travel in tuples and attributes."""
        for functions in [*self._functions.values()]:
            for function in functions:
                where = Where(function.where.path, function)
                for value in _assigned(function.node, "remedy"):
                    self._keep(value, where)
                if function.name in ("remedy", "_remedy"):
                    for value in _returned(function.node):
                        self._keep(value, where)
        for name, constants in self._constants.items():
            if name.endswith("REMEDY"):
                for path, value in constants:
                    self._keep(value, Where(path, None))

    def _follow_said(self) -> None:
        lost = [*self.lost]
        for where, call in [*self._calls["text"], *self._calls["sentence"]]:
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value).endswith("words"):
                for text in self._texts(call.args[0], where, 0):
                    self.said.setdefault(_numbered(text), []).append(self._place(where))
        self.lost = lost  # what else is said there comes from the help, or is a remedy itself

    def _follow_parameter(self, name: str, function: Function, parameter: str) -> None:
        """What the calls of one function give for one parameter."""
        if (function, parameter) in self._done:
            return
        self._done.add((function, parameter))
        place = function.parameters.index(parameter)
        for where, call in self._calls[name]:
            # A name that begins with _ is its module's, but for what a class hands down.
            handed_down = isinstance(call.func, ast.Attribute) and parameter == "remedy"
            if name.startswith("_") and where.path != function.where.path and not handed_down:
                continue
            if place < len(call.args) and not any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
                self._keep(call.args[place], where)
            for keyword in call.keywords:
                if keyword.arg == parameter:
                    self._keep(keyword.value, where)

    def _keep(self, value: ast.expr, where: Where) -> None:
        for text in self._texts(value, where, 0):
            # What begins with a blank is a part of a line in which a remedy is shown.
            if PLACE.sub("", text).strip(" .,:;") and not text[0].isspace():
                self.found.setdefault(_numbered(text), []).append(self._place(where))

    def _texts(self, node: ast.expr, where: Where, depth: int) -> Iterator[str]:
        """The texts that an expression may be, ``{0}`` for each value."""
        if depth > _DEEPEST:
            return
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node.value:
                yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield from (
                "".join(parts) for parts in product(*(self._piece(value, where, depth) for value in node.values))
            )
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            sides = ([*self._texts(side, where, depth)] or ["{0}"] for side in (node.left, node.right))
            yield from ("".join(parts) for parts in product(*sides))
        elif (parts := _parts(node)) is not None:
            for part in parts:
                yield from self._texts(part, where, depth)
        elif isinstance(node, ast.Name):
            yield from self._named(node, where, depth)
        elif isinstance(node, ast.Call):
            yield from self._called(node, where, depth)
        elif isinstance(node, _Picked):
            yield from self._picked(node, where, depth)
        elif isinstance(node, ast.Attribute) and node.attr in self._constants:
            yield from self._constant(node.attr, where, depth)
        elif not (isinstance(node, ast.Attribute) and node.attr in ("remedy", "_remedy")):
            self._lose(node, where)

    def _piece(self, node: ast.expr, where: Where, depth: int) -> list[str]:
        """A part of a formatted text: a constant of the module and a choice of words are no values."""
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        value = node.value if isinstance(node, ast.FormattedValue) else node
        is_constant = isinstance(value, ast.Name) and where.path in [
            path for path, _ in self._constants.get(value.id, [])
        ]
        return ([*self._texts(value, where, depth)] if is_constant or isinstance(value, ast.IfExp) else []) or ["{0}"]

    def _named(self, node: ast.Name, where: Where, depth: int) -> Iterator[str]:
        """What a variable holds: assigned in the function, a parameter that callers give, or a constant."""
        function = where.function
        while function is not None:
            within = Where(where.path, function)
            if values := [*_assigned(function.node, node.id)]:
                for value in values:
                    yield from self._texts(value, within, depth + 1)
                return
            if node.id in function.parameters:
                # A public name that several functions have does not say which of them a call means.
                is_ours = function.name.startswith("_") or len(self._functions[function.name]) == 1
                if node.id != "remedy" and depth == 0 and is_ours:
                    self._follow_parameter(function.name, function, node.id)
                elif node.id != "remedy":
                    self._lose(node, where)
                return
            function = function.where.function
        if node.id in self._constants:
            yield from self._constant(node.id, where, depth)
        else:
            self._lose(node, where)

    def _constant(self, name: str, where: Where, depth: int) -> Iterator[str]:
        """What a constant of the module holds, or of the only module that has one of that name."""
        for path, value in self._constants[name]:
            if path == where.path or len(self._constants[name]) == 1:
                yield from self._texts(value, Where(path, None), depth + 1)

    def _called(self, node: ast.Call, where: Where, depth: int) -> Iterator[str]:
        """What a function of ours returns; what others make is a value."""
        name = _name(node.func)
        if name in _TAKING and isinstance(node.func, ast.Attribute):
            yield from self._texts(node.func.value, where, depth + 1)
        if name in (*_TAKING, "next"):
            for argument in node.args[1:]:
                yield from self._texts(argument, where, depth + 1)
        elif name not in _MAKING:
            functions = self._named_so(name, where)
            if not functions:
                self._lose(node, where)
            for function in functions:
                for value in _returned(function.node):
                    yield from self._texts(value, Where(function.where.path, function), depth + 1)

    def _named_so(self, name: str, where: Where) -> list[Function]:
        """The functions that a call can mean: the module's, or the only one of that name."""
        functions = [one for one in self._functions.get(name, []) if not isinstance(one.node, ast.ClassDef)]
        own = [function for function in functions if function.where.path == where.path]
        return own or (functions if len(functions) == 1 else [])

    def _picked(self, node: _Picked, where: Where, depth: int) -> Iterator[str]:
        """One part of the tuples that an expression gives."""
        found = [*self._tuples(node.value, where, depth)]
        if not found:
            self._lose(node.value, where)
        for place, item in found:
            if node.index < len(item.elts):
                yield from self._texts(item.elts[node.index], place, depth + 1)

    def _tuples(self, node: ast.expr, where: Where, depth: int) -> Iterator[tuple[Where, ast.Tuple]]:
        """The tuples that an expression is, holds or returns."""
        inner: list[tuple[Where, ast.expr]] = []
        # A tuple of tuples is a table: its rows are wanted, one by one.
        if isinstance(node, ast.Tuple) and not all(isinstance(item, (ast.Tuple, ast.Starred)) for item in node.elts):
            yield where, node
        elif (parts := _parts(node)) is not None:
            inner = [(where, part) for part in parts]
        elif isinstance(node, ast.Name):
            values = [*_assigned(where.function.node, node.id)] if where.function is not None else []
            values = values or [value for path, value in self._constants.get(node.id, []) if path == where.path]
            inner = [(where, value) for value in values]
        elif isinstance(node, ast.Call):
            for function in self._named_so(_name(node.func), where):
                inner += [(Where(function.where.path, function), value) for value in _returned(function.node)]
        for place, value in inner if depth < _DEEPEST else []:
            yield from self._tuples(value, place, depth + 1)

    def _place(self, where: Where) -> str:
        return where.path.relative_to(self._root).as_posix()

    def _lose(self, node: ast.AST, where: Where) -> None:
        place = f"{self._place(where)}: {ast.unparse(node)}"
        if place not in self.lost:
            self.lost.append(place)


class Function:
    """A function, or a class without an own ``__init__``; ``parameters`` in the order of positional arguments."""

    def __init__(self, where: Where, node: Definition, parameters: tuple[str, ...]) -> None:
        self.where, self.node, self.parameters = where, node, parameters
        self.name = node.name


Definition: TypeAlias = "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef"


class _Picked(ast.expr):
    """One part of each tuple that an expression gives, as ``a, remedy = …`` takes it."""

    def __init__(self, value: ast.expr, index: int) -> None:
        super().__init__()
        self.value, self.index = value, index


_GIVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr, ast.For)
#: How many steps a text is followed.
_DEEPEST = 7
#: Methods that give their object again or a part of it, and functions whose results are values.
_TAKING = ("get", "format", "removesuffix", "strip")
_MAKING = ("join", "sorted", "repr", "list", "str")


def _known(where: Where) -> Function:
    assert where.function is not None
    return where.function


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef, is_method: bool) -> tuple[str, ...]:
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    is_static = any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)
    # Behind `*args` nothing has a place: what stands there in a call is one of those.
    keywords = [argument.arg for argument in node.args.kwonlyargs] if node.args.vararg is None else []
    return (*(names[1:] if is_method and not is_static else names), *keywords)


def _fields(node: ast.ClassDef) -> tuple[str, ...]:
    fields = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
    return tuple(target.id for target in fields if isinstance(target, ast.Name))


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _parts(node: ast.expr) -> list[ast.expr] | None:
    """The expressions one of which is chosen; None for an expression that chooses none."""
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, (ast.BoolOp, ast.Dict)):
        return node.values
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return [node.value] if isinstance(node, (ast.Subscript, ast.NamedExpr, ast.Starred)) else None


@cache
def _own_nodes(function: ast.AST) -> tuple[ast.AST, ...]:
    """The statements and named expressions of a function that give or return something, without those of functions
    inside it.
    """
    found: list[ast.AST] = []
    # Backwards, so that the stack gives them in the order of the source.
    waiting = [*ast.iter_child_nodes(function)][::-1]
    while waiting:
        node = waiting.pop()
        if isinstance(node, _GIVING):
            found.append(node)
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += [*ast.iter_child_nodes(node)][::-1]
    return tuple(found)


def _returned(function: ast.AST) -> list[ast.expr]:
    nodes = (node for node in _own_nodes(function) if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom)))
    return [node.value for node in nodes if node.value is not None]


def _assigned(function: ast.AST, name: str) -> Iterator[ast.expr]:
    """What a function puts into a variable."""
    for node in _own_nodes(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _given(target, node.value, name)
        elif isinstance(node, ast.For):
            index = _index_in(node.target, name)
            yield from () if index is None else (_Picked(node.iter, index),)
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
            yield from _given(node.target, node.value, name)


def _given(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if isinstance(target, ast.Name) and target.id == name:
        yield value
    elif (index := _index_in(target, name)) is not None:
        yield value.elts[index] if isinstance(value, ast.Tuple) else _Picked(value, index)


def _index_in(target: ast.expr, name: str) -> int | None:
    names = [getattr(elt, "id", "") for elt in target.elts] if isinstance(target, ast.Tuple) else []
    return names.index(name) if name in names else None


def _numbered(text: str) -> str:
    """``text`` with its values numbered in their order."""
    count = iter(range(10))
    return re.sub(r"\{0\}", lambda _: f"{{{next(count)}}}", text)
