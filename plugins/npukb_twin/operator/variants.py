"""Variants of a dynamic kernel: one compilation per combination of element types, as the vendor's project build does.

What a kernel sees of its variant are macros, ``DTYPE_X`` (a type), ``ORIG_DTYPE_X`` (a number to compare with
``DT_FLOAT``) and ``FORMAT_X`` for every argument that is there, and the operator's tiling structures as plain C++.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from npukb_twin.compile.build import source_root
from npukb_twin.compile.dialect import masked
from npukb_twin.operator.host_types import OpArgument, OperatorDescription, TilingStruct
from npukb_twin.operator.interface import Bound, shapes_of
from npukernelbench.nouns import Case, DType

__all__ = [
    "Variant",
    "default_structure",
    "element_types",
    "macros_of_row",
    "prelude",
    "types_by_name",
    "variant_of",
    "wants_key",
]

#: Where the graph engine's element types and formats stand with their documented numbers, for host code as well.
_NUMBERED = re.compile(r"^NPUKB_(?:DTYPE|FORMAT)\((?P<name>\w+), (?P<number>\d+)", re.MULTILINE)
_NUMBERS = ("include_host/twin_host/dtypes.def", "include_host/twin_host/formats.def")
_REGISTERED = re.compile(
    r"\bREGISTER_TILING_(?:DEFAULT\s*\(|FOR_TILINGKEY\s*\(\s*\"(?P<expression>[^\"\n]*)\"\s*,)\s*(?P<type>[\w:]+)\s*\)"
)
#: A choice by the tiling key that the preprocessor makes.
_KEY_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:el)?if\b[^\n]*\bTILING_KEY_VAR\b", re.MULTILINE)
#: Everything that opens or closes a scope: namespaces and structures by name.
_SCOPE = re.compile(
    r"(?P<close>\})|(?:\bnamespace\s+(?P<space>\w+(?:::\w+)*)\s*"
    r"|\b(?:struct|class)\s+(?:alignas\s*\([^()]*\)\s*)?(?P<structure>\w+)\s*(?:final\s*)?(?::[^;{}()]*)?)?\{"
)
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: Mapping[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    # whole numbers, as in the preprocessor; keys are not negative
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.RShift: operator.rshift,
}
_TYPES = {dtype.ge: dtype.ascend_c for dtype in DType} | {"DT_INT4": "int4b_t"}


@dataclass(frozen=True, slots=True)
class Variant:
    """One compilation. ``macros`` are name and value; ``key`` is the tiling key it is compiled for, None for all."""

    macros: tuple[tuple[str, str], ...]
    key: int | None = None

    @property
    def id(self) -> str:
        """A short name for files."""
        text = "\n".join(f"{name}={value}" for name, value in self.macros) + f"\n{self.key}"
        return sha256(text.encode()).hexdigest()[:12]

    @property
    def summary(self) -> str:
        """For people: the element types, and the key if it has one of its own."""
        types = ", ".join(f"{name[6:].lower()} {value}" for name, value in self.macros if name.startswith("DTYPE_"))
        return types if self.key is None else f"{types}, tiling key {self.key}"


def element_types() -> Mapping[int, str]:
    """The C++ type of every element type's number."""
    numbers = _numbers()
    return {numbers[name]: type_ for name, type_ in _TYPES.items() if name in numbers}


def types_by_name() -> Mapping[str, str]:
    """The C++ type of every element type by the graph engine's name."""
    return _TYPES


def macros_of_row(description: OperatorDescription, row: int) -> tuple[tuple[str, str], ...]:
    """The macros of a compilation for one combination of types, with every argument there."""
    macros: dict[str, str] = {}
    for argument in (*description.inputs, *description.outputs):
        macros.update(_macros(argument, row))
    names = {argument.name for argument in description.inputs}
    for output in description.outputs:
        if output.name in names:
            macros.update(_macros(output, row, "_REF"))
    return tuple(macros.items())


def variant_of(bound: Bound, case: Case, row: int, key: int | None = None) -> Variant:
    """The variant that ``case`` runs, whose element types are in ``row`` of the definition."""
    macros: dict[str, str] = {}
    for argument, spec in bound.inputs:
        if case.inputs.get(spec.name) is not None:
            macros.update(_macros(argument, row))
    for argument, output in bound.outputs:
        if output.alias_of is None or shapes_of(case.inputs.get(output.alias_of)):
            macros.update(_macros(argument, row))
            if any(argument.name == other.name for other, _ in bound.inputs):
                macros.update(_macros(argument, row, "_REF"))
    return Variant(tuple(macros.items()), key)


@cache
def _numbers() -> Mapping[str, int]:
    """Element types and formats by name."""
    texts = [(source_root() / name).read_text(encoding="utf-8") for name in _NUMBERS]
    return {match["name"]: int(match["number"]) for text in texts for match in _NUMBERED.finditer(text)}


def prelude(description: OperatorDescription, variant: Variant, device_text: str, known: frozenset[str]) -> str:
    """What stands in front of the kernel's text. Structures in ``known`` are the API's own and left out, and so are
    those that the device code defines itself: of one that it is given, the name goes ahead.
    """
    own = _defined_structures(device_text)
    lines = [f"#define {name} {number}" for name, number in _numbers().items()]
    lines += [f"#define {name} {value}" for name, value in variant.macros]
    lines += _structures(description, known | own.keys())
    registered = None if variant.key is None else _registered(device_text, variant.key)
    chosen = default_structure(description, variant.key)
    if registered is not None:
        lines.append(f"#define NpukbTiling {registered}")
    elif chosen is not None:
        scopes = own.get(chosen.name)
        if scopes is not None:
            opened = "".join(f"namespace {scope} {{ " for scope in scopes)
            lines.append(f"{opened}struct {chosen.name};{' }' * len(scopes)}")
        lines.append(f"using NpukbTiling = {'::'.join((*(scopes or ()), chosen.name))};")
    if variant.key is not None:
        lines += ["#undef TILING_KEY_VAR", f"#define TILING_KEY_VAR {variant.key}ull"]
        # what these say was read out of the text (_registered)
        lines.append("#define REGISTER_TILING_FOR_TILINGKEY(expression, type)")
    if registered is not None:
        lines += ["#undef REGISTER_TILING_DEFAULT", "#define REGISTER_TILING_DEFAULT(type)"]
    return "\n".join([*lines, ""])


def wants_key(description: OperatorDescription, device_text: str) -> bool:
    """Whether what the kernel's text means depends on the tiling key, so that each key is a compilation of its own."""
    if "REGISTER_TILING_FOR_TILINGKEY" in device_text or _KEY_DIRECTIVE.search(device_text):
        return True
    per_key = any(name != description.name for name in description.tiling)
    return per_key and re.search(r"\bGET_TILING_DATA\s*\(", device_text) is not None and len(description.tiling) > 1


def _registered(device_text: str, key: int) -> str | None:
    """The structure that the kernel itself registers for ``key``: by expression, else by default; None for neither."""
    chosen = None
    for match in _REGISTERED.finditer(device_text):
        if match["expression"] is None:
            chosen = chosen or match["type"]
        elif _holds(match["expression"], key):
            return match["type"]
    return chosen


def _holds(expression: str, key: int) -> bool:
    """The value of an expression over TILING_KEY_VAR; one that is not understood does not hold."""
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", expression).replace("&&", " and ").replace("||", " or ")
    text = re.sub(r"!(?!=)", " not ", text)
    try:
        # no eval: the text is the candidate's
        return bool(_value(ast.parse(text.strip(), mode="eval").body, key))
    # the last two: the text may be nested deeper than it can be read
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return False


def _value(node: ast.expr, key: int) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id == "TILING_KEY_VAR":
        return key
    if isinstance(node, ast.BoolOp):
        values = [_value(value, key) for value in node.values]
        return int(all(values) if isinstance(node.op, ast.And) else any(values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return int(not _value(node.operand, key))
    if isinstance(node, ast.Compare):
        sides = [_value(side, key) for side in (node.left, *node.comparators)]
        known = all(type(op) in _COMPARISONS for op in node.ops)
        if known:
            return int(all(_COMPARISONS[type(op)](a, b) for op, a, b in zip(node.ops, sides, sides[1:], strict=False)))
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return _ARITHMETIC[type(node.op)](_value(node.left, key), _value(node.right, key))
    raise ValueError(ast.dump(node))


def _macros(argument: OpArgument, row: int, suffix: str = "") -> Iterator[tuple[str, str]]:
    """``suffix`` tells an output from the input of the same name."""
    name = re.sub(r"\W", "_", argument.name, flags=re.ASCII).upper() + suffix
    dtype = argument.dtypes[row] if row < len(argument.dtypes) else "DT_UNDEFINED"
    layout = argument.formats[row] if row < len(argument.formats) else "FORMAT_ND"
    if dtype in _TYPES:
        yield f"DTYPE_{name}", _TYPES[dtype]
    yield f"ORIG_DTYPE_{name}", dtype
    yield f"FORMAT_{name}", layout


def _defined_structures(device_text: str) -> dict[str, tuple[str, ...]]:
    """Structures that the text defines at namespace scope, and the namespaces around each."""
    result: dict[str, tuple[str, ...]] = {}
    scopes: list[str] = []
    for match in _SCOPE.finditer(masked(device_text)):
        if match["close"]:
            # a slice: a brace that nothing opened must not raise
            del scopes[-1:]
            continue
        structure, space = match["structure"], match["space"]
        if structure and "" not in scopes:
            result[structure] = tuple(name for scope in scopes for name in scope.split("::"))
        # "" is a scope that is no namespace
        scopes.append(space or "")
    return result


def _structures(description: OperatorDescription, known: frozenset[str]) -> Iterator[str]:
    """C++ definitions of every structure, what is nested first."""
    done: set[str] = set(known)

    def define(struct: TilingStruct, nested: Mapping[str, TilingStruct]) -> Iterator[str]:
        if struct.name in done:
            return
        # before the members, so that structures that name each other come to an end
        done.add(struct.name)
        for field in struct.fields:
            if field.struct and field.struct in nested:
                yield from define(nested[field.struct], nested)
        members = (
            f"    {field.struct or field.ctype} {field.name}{f'[{field.count}]' if field.count else ''};"
            for field in struct.fields
        )
        yield "\n".join((f"struct {struct.name} {{", *members, "};"))

    for struct in description.tiling.values():
        yield from define(struct, {**struct.nested, **{s.name: s for s in description.tiling.values()}})


def default_structure(description: OperatorDescription, key: int | None) -> TilingStruct | None:
    """What GET_TILING_DATA gives: the key's own structure, else the operator's, else the only one there is."""
    tiling = description.tiling
    if key is not None and f"{description.name}_{key}" in tiling:
        return tiling[f"{description.name}_{key}"]
    if description.name in tiling:
        return tiling[description.name]
    return next(iter(tiling.values())) if len(tiling) == 1 else None
