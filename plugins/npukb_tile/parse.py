"""Reads a tile program: Python's grammar, our meaning. Nothing of the file is executed."""

from __future__ import annotations

import ast
import warnings
from dataclasses import replace
from pathlib import Path

from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.ir import (
    Assign,
    Attribute,
    Expr,
    For,
    If,
    Kind,
    Launch,
    Num,
    OutputShape,
    Program,
    ShapeExpr,
    ShapePart,
    Statement,
    Sync,
    Tensor,
    TensorRole,
)
from npukb_tile.ir import statements as all_statements
from npukb_tile.kernelreader import KernelReader
from npukb_tile.limits import MOST_CHARACTERS, MOST_DEPTH
from npukb_tile.memory import workspace_places
from npukb_tile.scalars import ScalarReader, fault, is_name, read_range
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = ["parse_file", "parse_program", "parse_text"]

_ROLES = {"Input": TensorRole.INPUT, "Output": TensorRole.OUTPUT, "Workspace": TensorRole.WORKSPACE}
#: Lists of tensors, which the operator's definition calls dynamic.
_LISTS = {"Inputs": TensorRole.INPUT, "Outputs": TensorRole.OUTPUT}
_KINDS = {"int": Kind.INT, "float": Kind.FLOAT, "bool": Kind.BOOL, "str": Kind.TEXT, "ints": Kind.INTS}


def parse_file(path: Path) -> Program:
    """The program of a file; ProgramError with file and line otherwise."""
    return parse_text(path.read_text(encoding="utf-8"), path)


def parse_text(source: str, path: Path) -> Program:
    """The program of a text that lies in a file; ProgramError with file and line otherwise."""
    try:
        return parse_program(source)
    except ProgramError as error:
        raise ProgramError(error.rule, error.detail, line=error.line, remedy=error.remedy, path=path) from error


def parse_program(source: str) -> Program:
    """The typed program of a text. However long, deep or strange it is, what is wrong is a ProgramError."""
    try:
        return _read(source)
    except (RecursionError, MemoryError) as error:
        # Python's own parser raises either of them for text that is nested deep enough.
        raise ProgramError("limit", "the program is nested too deeply", line=1, remedy=_FLATTER) from error


_FLATTER = "write several statements, each with a buffer or a variable for its result"


def _read(source: str) -> Program:
    tree = _tree(source)
    types: dict[str, tuple[str, ...]] = {}
    functions: dict[str, ast.FunctionDef] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            marks = [mark.id for mark in node.decorator_list if isinstance(mark, ast.Name)]
            if marks not in (["host"], ["kernel"]) or marks[0] in functions or len(node.decorator_list) > 1:
                raise fault(node, "syntax", "a program has one @host and one @kernel function")
            _plain_arguments(node, host=marks == ["host"])
            functions[marks[0]] = node
        elif isinstance(node, ast.Assign):
            _type_variable(node, types)
        # A lone constant is a docstring.
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            raise fault(node, "syntax", "a program is type variables, one @host and one @kernel function")
    for mark in ("host", "kernel"):
        if mark not in functions:
            raise ProgramError("syntax", f"there is no @{mark} function", line=1)
    return _program(source, ast.get_docstring(tree) or "", types, functions["host"], functions["kernel"])


def _plain_arguments(node: ast.FunctionDef, *, host: bool) -> None:
    """Arguments have names, and there are no others."""
    given = node.args
    if given.vararg or given.kwarg or given.posonlyargs or (host and (given.kwonlyargs or given.defaults)):
        remedy = "@host def plan(x): names inputs; @kernel def name(x: Input[float32], y: Output[float32], *, tile):"
        raise fault(node, "syntax", "there are no arguments like *a, **k or a, /", remedy)
    if any(given.kw_defaults):
        raise fault(node, "syntax", "what launch() gives has no default")


def _tree(source: str) -> ast.Module:
    """Python's syntax tree, of a size that the rest can walk."""
    if len(source) > MOST_CHARACTERS:
        detail = f"the program has {len(source)} characters, the limit is {MOST_CHARACTERS}"
        raise ProgramError("limit", detail, line=1, remedy="a program of this language has some dozens of lines")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python would warn of is not run
            tree = ast.parse(source)
    except SyntaxError as error:
        raise ProgramError("syntax", error.msg or "not Python's grammar", line=error.lineno or 0) from error
    # Lone surrogates, and zero bytes in older versions of Python, are no SyntaxError.
    except ValueError as error:
        raise ProgramError("syntax", str(error), line=1) from error
    # Level by level without recursion: this check must survive what would break the others.
    level: list[ast.AST] = [tree]
    for _ in range(MOST_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        for node in level:
            _plain_name(node)
        if not level:
            return tree
    line = next((node.lineno for node in level if isinstance(node, ast.expr | ast.stmt)), 1)
    raise ProgramError("limit", f"more than {MOST_DEPTH} levels of nesting", line=line, remedy=_FLATTER)


def _plain_name(node: ast.AST) -> None:
    """Names become names of C++."""
    # Names, arguments and functions have their name under different attributes.
    name = getattr(node, "id", None) or getattr(node, "arg", None) or getattr(node, "name", None)
    if isinstance(name, str) and not name.isascii():
        raise fault(node, "syntax", f"the name {name} has letters beyond ASCII", "use a-z, A-Z, 0-9 and _")


def _type_variable(node: ast.Assign, types: dict[str, tuple[str, ...]]) -> None:
    """``T = float16, float32``."""
    target, value = node.targets[0], node.value
    members = value.elts if isinstance(value, ast.Tuple) else [value]
    names = [member.id for member in members if isinstance(member, ast.Name)]
    if not isinstance(target, ast.Name) or len(names) != len(members) or not set(names) <= set(DTYPES):
        raise fault(node, "syntax", "outside functions there are type variables only", "T = float16, float32")
    types[target.id] = tuple(names)


def _program(
    source: str, summary: str, types: dict[str, tuple[str, ...]], host: ast.FunctionDef, kernel: ast.FunctionDef
) -> Program:
    tensors, attributes = _signature(kernel, types)
    kinds = {name: attribute.kind for name, attribute in attributes.items()}
    # A copy: variables of the host function are unknown to the kernel.
    reader = HostReader(ScalarReader(dict(kinds), tensors, types, host=True))
    body = reader.body(host.body)
    if reader.launch is None:
        raise fault(host, "launch", "the host function does not end with launch()", "launch(cores=…, share=share)")
    numbers = {name: value.kind for name, value in reader.launch.numbers}
    asked = [argument.arg for argument in kernel.args.kwonlyargs]
    for name in asked:
        if name not in numbers:
            raise fault(kernel, "launch", f"the kernel asks for {name}, which launch() does not give")
    for name in numbers:
        if name not in asked:
            raise fault(
                kernel,
                "launch",
                f"launch() gives {name}, which the kernel does not ask for",
                f"add it after the star of {kernel.name}",
            )
    for tensor in tensors.values():
        if tensor.role is not TensorRole.INPUT and tensor.name not in {shape.tensor for shape in reader.shapes}:
            raise fault(
                host, "output_shape", f"nothing says which shape {tensor.name} has", f"{tensor.name}.shape = x.shape"
            )
    scalars = ScalarReader({**kinds, **numbers}, tensors, types, host=False)
    inner = KernelReader(scalars, types, set(kinds) | set(numbers))
    statements = inner.body(kernel.body)
    # Only at the end is it known what nothing uses.
    inner.finish(kernel)
    # What the kernel asks about inputs and texts is handed on like the numbers of the launch.
    asked_of = {held.flag: held for held in scalars.known}
    numbers |= dict.fromkeys(asked_of, Kind.BOOL)
    launch = replace(reader.launch, numbers=(*reader.launch.numbers, *asked_of.items()))
    # So is where each workspace begins, which follows from the sizes of those before it.
    places = workspace_places(tensors.values(), reader.shapes, types)
    numbers |= dict.fromkeys(places, Kind.INT)
    launch = replace(launch, numbers=(*launch.numbers, *places.items()))
    if launch.cube:
        _for_cube_cores(inner, statements, launch)
    return Program(
        name=kernel.name,
        summary=summary or ast.get_docstring(kernel) or "",
        types=types,
        tensors=tensors,
        attributes=attributes,
        host=body,
        launch=launch,
        shapes=tuple(reader.shapes),
        numbers=numbers,
        buffers=inner.buffers,
        kernel=statements,
        multipliers=inner.multipliers,
        source=source,
    )


def _signature(
    kernel: ast.FunctionDef, types: dict[str, tuple[str, ...]]
) -> tuple[dict[str, Tensor], dict[str, Attribute]]:
    tensors: dict[str, Tensor] = {}
    attributes: dict[str, Attribute] = {}
    arguments = kernel.args.args
    # Python stores defaults for the last arguments only.
    defaults = [None] * (len(arguments) - len(kernel.args.defaults)) + list(kernel.args.defaults)
    for argument, default in zip(arguments, defaults, strict=True):
        what, of, begins, optional = _mark(argument)
        if what == "Attribute" and of in _KINDS and not begins and not optional:
            held = Attribute(argument.arg, _KINDS[of], _default(default), line=argument.lineno)
            if held.default is not None and not _is_default(held.default, held.kind):
                raise fault(argument, "dtype", f"the default of {held.name} is no {of}")
            attributes[argument.arg] = held
        elif what in {**_ROLES, **_LISTS} and (of in DTYPES or of in types):
            role = {**_ROLES, **_LISTS}[what]
            if optional and what != "Input":
                raise fault(argument, "syntax", "only single inputs may be absent", "bias: Input[float32] | None")
            _check_beginning(argument, role, of, begins, tensors, listed=what in _LISTS)
            tensors[argument.arg] = Tensor(
                argument.arg, role, of, what in _LISTS, optional, begins, line=argument.lineno
            )
        else:
            raise fault(
                argument,
                "dtype",
                f"{ast.unparse(argument)} is no argument of a kernel",
                "element types: " + ", ".join([*DTYPES, *types]) + "; attributes are int, float, bool, str or ints",
            )
    if not any(tensor.role is TensorRole.OUTPUT for tensor in tensors.values()):
        raise fault(kernel, "syntax", "the kernel has no output")
    return tensors, attributes


def _mark(argument: ast.arg) -> tuple[str, str, str, bool]:
    """What an argument is, of which type, what it holds at the beginning (see ``Tensor.begins``), whether it may be
    absent.
    """
    mark, optional = argument.annotation, False
    if isinstance(mark, ast.BinOp) and isinstance(mark.op, ast.BitOr) and _is_none(mark.right):
        mark, optional = mark.left, True
    if isinstance(mark, ast.Subscript) and isinstance(mark.value, ast.Name):
        if isinstance(mark.slice, ast.Name):
            return mark.value.id, mark.slice.id, "", optional
        if isinstance(mark.slice, ast.Tuple) and len(mark.slice.elts) == 2:
            of, begins = mark.slice.elts
            # False equals 0 in Python.
            if isinstance(begins, ast.Constant) and begins.value == 0 and not isinstance(begins.value, bool):
                # As a name, so that zeros and inputs take one way from here on. No input can be called so.
                begins = ast.Name("0")
            if isinstance(of, ast.Name) and isinstance(begins, ast.Name):
                return mark.value.id, of.id, begins.id, optional
    raise fault(
        argument,
        "syntax",
        f"what is {argument.arg}?",
        "annotate it: Input[float32], Output[float32], Workspace[float32], Attribute[float]; "
        "Inputs[float32] and Outputs[float32] are lists of tensors; Input[float32] | None may be absent; "
        "Output[float32, x] lies in the memory of x, Output[float32, 0] is filled with zeros before",
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _check_beginning(
    node: ast.arg, role: TensorRole, dtype: str, begins: str, tensors: dict[str, Tensor], *, listed: bool
) -> None:
    """An output lies in the memory of an input of its kind."""
    if not begins:
        return
    if role is not TensorRole.OUTPUT:
        raise fault(node, "syntax", f"{node.arg} is no output, which alone may begin as something")
    held = tensors.get(begins)
    if begins != "0" and (held is None or held.role is not TensorRole.INPUT or held.listed is not listed):
        raise fault(node, "unknown_name", f"{begins} is no input in whose memory {node.arg} could lie")
    if held is not None and held.dtype != dtype:
        detail = f"{node.arg} holds {dtype}, {begins}, whose memory it is, {held.dtype}"
        raise fault(node, "dtype", detail, "both have one element type")


def _for_cube_cores(inner: KernelReader, statements: tuple[Statement, ...], launch: Launch) -> None:
    """Cube cores multiply; they have no unified buffer, and no other cores beside them that could compute."""
    for name, buffer in inner.buffers.items():
        detail = f"{name} is a buffer, and cube cores have no unified buffer"
        remedy = "launch(cores=…): a cube core and two vector cores work together"
        raise ProgramError("launch", detail, line=buffer.line, remedy=remedy)
    for statement in all_statements(statements):
        if isinstance(statement, Sync):
            raise ProgramError("launch", "cube cores alone do not synchronise", line=statement.line)
    if not inner.multipliers:
        raise ProgramError("launch", "cube cores multiply, and this kernel does not", line=launch.line)


def _is_default(value: int | float | bool | str | tuple[int, ...], kind: Kind) -> bool:
    """Whether a default is one of its attribute."""
    if isinstance(value, str | tuple):
        return kind is (Kind.TEXT if isinstance(value, str) else Kind.INTS)
    return kind not in (Kind.TEXT, Kind.INTS)


def _default(node: ast.expr | None) -> int | float | bool | str | tuple[int, ...] | None:
    if node is None:
        return None
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Tuple):
        items = [_default(item) for item in node.elts]
        integers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
        if len(integers) != len(items):
            raise fault(node, "syntax", "a default is a number, a text or a tuple of integers")
        return integers
    # Read as an expression, because a negative number is an operator and its operand to Python.
    value = ScalarReader({}, {}, host=True).read(node)
    if not isinstance(value, Num):
        raise fault(node, "syntax", "a default is a number")
    return value.value


class HostReader:
    """Reads the host function: assignments, conditions, loops, shapes of outputs, one launch at the end."""

    def __init__(self, scalars: ScalarReader) -> None:
        self.scalars = scalars
        self.launch: Launch | None = None
        self.shapes: list[OutputShape] = []
        self.depth = 0

    def body(self, nodes: list[ast.stmt]) -> tuple[Statement, ...]:
        """The statements, without launch and shapes, which are kept apart and therefore stand in no condition."""
        self.depth += 1
        statements = [self._statement(node) for node in nodes if not _is_text(node)]
        self.depth -= 1
        return tuple(statement for statement in statements if statement is not None)

    def _statement(self, node: ast.stmt) -> Statement | None:
        if self.launch is not None:
            raise fault(node, "launch", "nothing comes after launch()")
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Name):
                return self._assign(node, target)
            if isinstance(target, ast.Attribute) and target.attr == "shape" and isinstance(target.value, ast.Name):
                self._shape(node, target.value.id)
                return None
        if isinstance(node, ast.If):
            condition = self.scalars.condition(node.test)
            return If(condition, self.body(node.body), self.body(node.orelse), line=node.lineno)
        if isinstance(node, ast.For):
            return self._for(node)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and is_name(node.value.func, "launch"):
            self._launch(node.value)
            return None
        raise fault(node, "syntax", f"{ast.unparse(node).splitlines()[0]} is no statement of the host function")

    def _assign(self, node: ast.Assign, target: ast.Name) -> Statement:
        value = self.scalars.read(node.value)
        # Variables become C++ variables, which have one type.
        known = self.scalars.kinds.setdefault(target.id, value.kind)
        if known is not value.kind:
            raise fault(node, "dtype", f"{target.id} was {known.value} and would become {value.kind.value}")
        return Assign(target.id, value, line=node.lineno)

    def _for(self, node: ast.For) -> Statement:
        name, start, stop, step = read_range(self.scalars, node)
        return For(name, start, stop, step, self.body(node.body), line=node.lineno)

    def _launch(self, node: ast.Call) -> None:
        if self.depth > 1:
            remedy = "launch once, at the end, with numbers that depend on the condition"
            raise fault(node, "launch", "launch() stands in a condition or a loop", remedy)
        given = {word.arg: self.scalars.read(word.value) for word in node.keywords if word.arg}
        cube = "cube_cores" in given
        if node.args or ("cores" in given) is cube or len(given) != len(node.keywords):
            remedy = f"launch(cores={DEFAULT_MACHINE.vector_cores}, tile=4096)"
            raise fault(node, "launch", "launch takes cores and the kernel's numbers by name", remedy)
        cores = given.pop("cube_cores" if cube else "cores")
        if cores.kind is not Kind.INT:
            raise fault(node, "dtype", "cores must be an integer")
        self.launch = Launch(cores, tuple(given.items()), cube, line=node.lineno)

    def _shape(self, node: ast.Assign, tensor: str) -> None:
        held = self.scalars.tensors.get(tensor)
        if held is None or held.role is TensorRole.INPUT:
            raise fault(node, "output_shape", f"{tensor} is no output of the kernel")
        if self.depth > 1 or any(shape.tensor == tensor for shape in self.shapes):
            detail = f"the shape of {tensor} is said once, outside of conditions and loops"
            raise fault(node, "output_shape", detail, f"{tensor}.shape = x.shape if condition else (0,)")
        value = node.value
        condition: Expr | None = None
        otherwise: ShapeExpr = ()
        if isinstance(value, ast.IfExp):
            condition, otherwise = self.scalars.condition(value.test), self._parts(value.orelse)
            value = value.body
            if held.role is TensorRole.WORKSPACE:
                raise fault(node, "output_shape", "the shape of the workspace has no condition", "(n if some else 1,)")
        parts = (*self._parts(value), *otherwise)
        listed = [part.tensor in self.scalars.tensors and self.scalars.tensors[part.tensor].listed for part in parts]
        # The host knows no shapes of the tensors in a list, so that nothing can be made of them.
        whole = len(parts) == 1 and parts[0].extent is None and parts[0].first is None and parts[0].last is None
        if held.listed is not any(listed) or (any(listed) and not whole):
            raise fault(
                node,
                "output_shape",
                f"{tensor} has a list of shapes, or takes its shape from one",
                "the shapes of a list of outputs are those of a list of inputs: y.shape = x.shape",
            )
        shape = parts[: len(parts) - len(otherwise)]
        self.shapes.append(OutputShape(tensor, shape, condition, otherwise, line=node.lineno))

    def _parts(self, node: ast.expr) -> ShapeExpr:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            return (*self._parts(node.left), *self._parts(node.right))
        times: Expr | None = None
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and isinstance(node.left, ast.Tuple):
            times = self.scalars.integer(node.right, "a number of axes")
            node = node.left
            if len(node.elts) != 1:
                raise fault(node, "output_shape", "one extent may be repeated", "(1,) * n")
        if isinstance(node, ast.Tuple):
            return tuple(ShapePart(self.scalars.integer(extent, "an extent"), times=times) for extent in node.elts)
        part = self.scalars.shape_slice(node)
        if part is None:
            raise fault(
                node,
                "output_shape",
                f"{ast.unparse(node)} is no shape",
                "write x.shape, x.shape[a:b], (n, m), (1,) * n or sums of them",
            )
        return (ShapePart(None, *part),)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
