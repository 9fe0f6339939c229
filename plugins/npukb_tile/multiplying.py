"""Products of matrices: how they are read, what they mean, and what they are lowered to.

A *multiplier* is declared like a buffer, with the largest extents that it will meet. ``multiply`` stands between
blocks: it takes matrices in global memory and leaves their product there, in float32, or in int32 where they are of
int8. The lowered kernel runs on blocks of one cube core and two vector cores; every vector core has a Matmul object of
its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from npukb_tile.cpp import render
from npukb_tile.dtypes import DTYPES
from npukb_tile.fault import ProgramError
from npukb_tile.ir import Expr, Multiplier, Multiply, Program, Tensor, TensorRole
from npukb_tile.launching import Number, absent, evaluate
from npukb_tile.scalars import ScalarReader, fault

__all__ = [
    "CUT_PRODUCT",
    "CUT_PRODUCT_WITH_BIAS",
    "constant_tiling",
    "cut_products",
    "multiply_arrays",
    "object_types",
    "product_calls",
    "read_multiplier",
    "read_multiply",
    "sum_dtype",
]

_FORM = "multiply(product, sums[start], a[start], b[start], rows, inner, cols)"
_WAYS = ("transpose_a", "transpose_b")
_FACTORS = ("float16", "bfloat16", "float32", "int8")


class Reader(Protocol):
    """What reading a product asks of the reader of kernels."""

    scalars: ScalarReader
    types: Mapping[str, tuple[str, ...]]
    multipliers: dict[str, Multiplier]

    def check_constant(self, node: ast.Call, extents: list[ast.expr]) -> None:
        """Refuse extents that are known only when the kernel runs."""

    def place(self, node: ast.expr, form: str) -> Tensor:
        """The tensor of ``x[start]``."""


# --- reading ---------------------------------------------------------------------------------------------------------


def read_multiplier(reader: Reader, node: ast.Call, name: str) -> Multiplier:
    """``product = multiplier(rows, inner, cols, float16, transpose_a=False, transpose_b=False)``."""
    if len(node.args) != 4 or not isinstance(node.args[3], ast.Name):
        raise fault(
            node, "syntax", "a multiplier has three extents and an element type", "multiplier(128, k, 256, float16)"
        )
    turned = {word.arg: word.value for word in node.keywords}
    for word, given in turned.items():
        known = word in ("transpose_a", "transpose_b") and isinstance(given, ast.Constant)
        if not known or not isinstance(given.value, bool):  # type: ignore[attr-defined]
            remedy = "transpose_a=True says that a lies column by column, transpose_b=True the same of b"
            raise fault(node, "syntax", f"a multiplier has no {word}={ast.unparse(given)}", remedy)
    dtype = node.args[3].id
    members = reader.types.get(dtype, (dtype,))
    if not set(members) <= set(_FACTORS) or ("int8" in members and len(members) > 1):
        raise fault(node, "dtype", f"the cube unit does not multiply {dtype}", ", ".join(_FACTORS) + "; int8 by itself")
    reader.check_constant(node, node.args[:-1])
    rows, inner, cols = (reader.scalars.integer(extent, "an extent") for extent in node.args[:3])
    ways = [isinstance(way := turned.get(word), ast.Constant) and way.value is True for word in _WAYS]
    return Multiplier(name, rows, inner, cols, dtype, (ways[0], ways[1]), line=node.lineno)


def read_multiply(reader: Reader, node: ast.Call) -> Multiply:
    """``multiply(product, sums[start], a[start], b[start], rows, inner, cols, strides=(of sums, of a, of b),
    bias=row[start])``.
    """
    words = {word.arg: word.value for word in node.keywords}
    if len(node.args) != 7 or set(words) - {"strides", "bias"}:
        raise fault(node, "syntax", f"write {_FORM}, strides=(of sums, of a, of b)) if rows are not contiguous")
    used = node.args[0].id if isinstance(node.args[0], ast.Name) else ""
    if used not in reader.multipliers:
        raise fault(
            node,
            "unknown_name",
            f"{ast.unparse(node.args[0])} is no multiplier",
            "product = multiplier(rows, inner, cols, float16)",
        )
    target, left, right = (reader.place(part, _FORM) for part in node.args[1:4])
    held = reader.multipliers[used]
    _check_types(node, held, reader.types.get(held.dtype, (held.dtype,)), target, (left, right))
    # A Matmul object has one type of sums and of bias: the first product decides, later ones must agree.
    held = replace(held, sums=target.dtype)
    bias, bias_start = "", None
    if "bias" in words:
        row = reader.place(words["bias"], "bias=row[start]")
        _check_bias(node, held, row)
        held = replace(held, bias=row.dtype)
        bias = row.name
        bias_start = reader.scalars.integer(words["bias"].slice, "a place")  # type: ignore[attr-defined]
    reader.multipliers[used] = held
    starts = [reader.scalars.integer(part.slice, "a place") for part in node.args[1:4]]  # type: ignore[attr-defined]
    rows, inner, cols = (reader.scalars.integer(extent, "an extent") for extent in node.args[4:])
    strides: tuple[Expr, ...] = (cols, rows if held.turned[0] else inner, inner if held.turned[1] else cols)
    if "strides" in words:
        given = words["strides"]
        if not isinstance(given, ast.Tuple) or len(given.elts) != 3:
            raise fault(node, "syntax", "there are three strides: of sums, of a and of b", "strides=(n, k, n)")
        strides = tuple(reader.scalars.integer(stride, "a stride") for stride in given.elts)
    names = (target.name, left.name, right.name)
    begin = (starts[0], starts[1], starts[2])
    return Multiply(used, names, begin, (rows, inner, cols), strides, bias, bias_start, line=node.lineno)


def _check_bias(node: ast.Call, held: Multiplier, row: Tensor) -> None:
    # In the type of the factors, or in that in which they are added up, as the library has it.
    if held.dtype == "int8" or row.dtype not in (held.dtype, "float32") or held.bias not in ("", row.dtype):
        raise fault(
            node,
            "dtype",
            f"{row.name} holds {row.dtype}, which {held.name} adds to no sum",
            f"a bias of {held.dtype} or float32, the same in all products of a multiplier of floats",
        )


def _check_types(
    node: ast.Call, held: Multiplier, members: tuple[str, ...], target: Tensor, factors: tuple[Tensor, ...]
) -> None:
    sums = sum_dtype(members)
    if target.role is TensorRole.INPUT:
        raise fault(node, "global_memory", f"{target.name} is an input and cannot be written")
    for factor in factors:
        if factor.dtype != held.dtype:
            raise fault(node, "dtype", f"{factor.name} holds {factor.dtype}, {held.name} multiplies {held.dtype}")
    # The cube core rounds on the way out, but only to what its factors are.
    rounded = target.dtype == held.dtype and "int8" not in members
    if target.dtype != sums and not rounded:
        raise fault(
            node,
            "dtype",
            f"{target.name} holds {target.dtype}, products of {held.dtype} are {sums}",
            f"a Workspace[{sums}], from which a compute block casts",
        )
    if held.sums not in ("", target.dtype):
        detail = f"{held.name} makes {held.sums} elsewhere, {target.name} holds {target.dtype}"
        raise fault(node, "dtype", detail, "declare a multiplier for each of them")


def sum_dtype(factors: tuple[str, ...]) -> str:
    """The element type of sums, for all element types that factors may have."""
    return "int32" if "int8" in factors else "float32"


# --- meaning ---------------------------------------------------------------------------------------------------------


def multiply_arrays(
    program: Program,
    node: Multiply,
    value: Callable[[Expr], Number],
    memory: Mapping[str, np.ndarray[Any, np.dtype[Any]]],
    written: Mapping[str, np.ndarray[Any, np.dtype[Any]]],
    names: Mapping[str, Number],
) -> None:
    """Run the statement on arrays."""
    rows, inner, cols = (int(value(extent)) for extent in node.extents)
    held = program.multipliers[node.multiplier]
    most = [int(evaluate(extent, names, {})) for extent in (held.rows, held.inner, held.cols)]
    if min(rows, inner, cols) < 1:
        raise ProgramError(
            "extent",
            f"a product of {rows} x {inner} by {inner} x {cols} elements",
            line=node.line,
            remedy="leave empty products out with a condition or a loop",
        )
    if rows > most[0] or inner > most[1] or cols > most[2]:
        raise ProgramError(
            "buffer_size",
            f"{rows} x {inner} by {inner} x {cols} elements exceed {held.name}, {most[0]} x {most[1]} by {most[2]}",
            line=node.line,
            remedy="declare the multiplier with the largest extents",
        )
    shapes = [(rows, cols), (rows, inner), (inner, cols)]
    for number in (1, 2):
        if held.turned[number - 1]:
            shapes[number] = (shapes[number][1], shapes[number][0])
    for name in node.tensors:
        if name not in memory:
            raise absent(name, node.line)
    places = [_places(node, number, shapes[number], value, memory) for number in range(3)]
    factors = []
    for number in (1, 2):
        name = node.tensors[number]
        if name in written and not written[name][places[number]].all():
            raise ProgramError("uninitialised", f"{name} is multiplied before it is written", line=node.line)
        # In double the order of additions, which the cube unit does not promise, makes no difference that a tolerance
        # sees.
        factor = memory[name][places[number]].astype(np.float64)
        factors.append(factor.T if held.turned[number - 1] else factor)
    sums = factors[0] @ factors[1]
    if node.bias_start is not None:
        sums += _row(node, int(value(node.bias_start)), cols, memory)
    # NumPy casts on assignment, which is the one rounding that the cube core does on the way out.
    memory[node.tensors[0]][places[0]] = sums
    written[node.tensors[0]][places[0]] = True


def _row(
    node: Multiply, start: int, cols: int, memory: Mapping[str, np.ndarray[Any, np.dtype[Any]]]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    size = memory[node.bias].size if node.bias in memory else 0
    if start < 0 or start + cols > size:
        detail = f"elements {start} to {start + cols} of {node.bias}, which has {size}"
        raise ProgramError("out_of_bounds", detail, line=node.line)
    return memory[node.bias][start : start + cols].astype(np.float64)


def _places(
    node: Multiply,
    number: int,
    shape: tuple[int, int],
    value: Callable[[Expr], Number],
    memory: Mapping[str, np.ndarray[Any, np.dtype[Any]]],
) -> np.ndarray[Any, np.dtype[np.int64]]:
    start, stride = int(value(node.starts[number])), int(value(node.strides[number]))
    size, last = memory[node.tensors[number]].size, start + (shape[0] - 1) * stride + shape[1]
    if start < 0 or last > size:
        raise ProgramError(
            "out_of_bounds",
            f"elements {start} to {last} of {node.tensors[number]}, which has {size}",
            line=node.line,
            remedy="the last product is smaller: min(tile, n - offset)",
        )
    # Overlapping rows would be written twice, in an order that the device does not promise.
    if stride < shape[1]:
        raise ProgramError("limit", f"rows of {shape[1]} elements that begin {stride} apart overlap", line=node.line)
    return start + np.arange(shape[0])[:, None] * stride + np.arange(shape[1])


# --- lowering --------------------------------------------------------------------------------------------------------

# What both ways of cutting say of the factors, and of the extents.
_SET_FACTORS = """\
    using namespace matmul_tiling;
    const DataType factor = static_cast<DataType>(type);
    MatmulApiTiling search(platform_ascendc::PlatformAscendC(context->GetPlatformInfo()));
    search.SetAType(TPosition::GM, CubeFormat::ND, factor, aTurned);
    search.SetBType(TPosition::GM, CubeFormat::ND, factor, bTurned);
    search.SetCType(TPosition::GM, CubeFormat::ND, static_cast<DataType>(sum));
"""
_SET_EXTENTS = """\
    search.SetOrgShape(static_cast<int32_t>(rows), static_cast<int32_t>(cols), static_cast<int32_t>(inner));
    search.SetShape(static_cast<int32_t>(rows), static_cast<int32_t>(cols), static_cast<int32_t>(inner));
    search.SetBufferSpace(-1, -1, -1);
    return search.GetTiling(tiling) != -1;
}"""

CUT_PRODUCT = (
    """\
// How the library cuts a product of so many elements into base blocks. False if it finds no way. What is turned lies
// column by column.
bool CutProduct(gert::TilingContext* context, int64_t rows, int64_t inner, int64_t cols, ge::DataType type,
                ge::DataType sum, bool aTurned, bool bTurned, optiling::TCubeTiling& tiling) {
"""
    + _SET_FACTORS
    + _SET_EXTENTS
)

CUT_PRODUCT_WITH_BIAS = (
    """\
// How the library cuts a product of so many elements, to which a row is added, into base blocks. False if it finds no
// way. What is turned lies column by column.
bool CutProductWithBias(gert::TilingContext* context, int64_t rows, int64_t inner, int64_t cols, ge::DataType type,
                        ge::DataType sum, ge::DataType bias, bool aTurned, bool bTurned,
                        optiling::TCubeTiling& tiling) {
"""
    + _SET_FACTORS
    + """\
    search.SetBiasType(TPosition::GM, CubeFormat::ND, static_cast<DataType>(bias));
    search.SetBias(true);
"""
    + _SET_EXTENTS
)


def cut_products(program: Program) -> list[str]:
    """Lines of the tiling function, behind those that set the numbers of the launch."""
    # Read back from the structure: the numbers of the launch are no variables of the tiling function.
    given = {name: f"tiling.get_{name}()" for name in (*program.numeric, *program.numbers)}
    inputs = program.of_role(TensorRole.INPUT)
    required = "Required" if program.by_instance else ""

    def ge(dtype: str) -> str:
        # A type variable is known from the first input that has it.
        like = next((number for number, tensor in enumerate(inputs) if tensor.dtype == dtype), None)
        fixed = dtype in DTYPES or like is None
        return DTYPES[dtype].ge if fixed else f"context->Get{required}InputDesc({like})->GetDataType()"

    lines = []
    for held in program.multipliers.values():
        extents = [render(extent, given) for extent in (held.rows, held.inner, held.cols)]
        types = [ge(dtype) for dtype in (held.dtype, held.sums, held.bias) if dtype]
        turned = ["true" if turned else "false" for turned in held.turned]
        name = "CutProductWithBias" if held.bias else "CutProduct"
        arguments = ", ".join(["context", *extents, *types, *turned, f"tiling.{held.name}Cube"])
        lines += [f"if (!{name}({arguments})) {{", "    return ge::GRAPH_FAILED;", "}"]
    return lines


def constant_tiling(program: Program, numbers: Mapping[str, Number], types: Mapping[str, str]) -> list[str]:
    """Lines of the entry on the static track: the same structures, cut for one case by plain rules."""
    lines = []
    for held in program.multipliers.values():
        rows, inner, cols = (int(evaluate(extent, numbers, {})) for extent in (held.rows, held.inner, held.cols))
        itemsize = DTYPES[types.get(held.dtype, held.dtype)].itemsize
        # 128 x 128 float32 sums are 64 KiB: half of L0C, and each factor fits its half of L0A and L0B.
        base_m, base_n = min(128, -(-rows // 16) * 16), min(128, -(-cols // 32) * 32)
        base_k = min(256 // itemsize // 2, -(-inner // 32) * 32)
        # Four steps in L1 let the next factors arrive while the cube unit works.
        steps = min(4, -(-inner // base_k))
        fields = {
            "usedCoreNum": 1,
            "M": rows,
            "N": cols,
            "Ka": inner,
            "Kb": inner,
            "singleCoreM": rows,
            "singleCoreN": cols,
            "singleCoreK": inner,
            "baseM": base_m,
            "baseN": base_n,
            "baseK": base_k,
            "depthA1": steps,
            "depthB1": steps,
            "stepM": 1,
            "stepN": 1,
            "stepKa": steps,
            "stepKb": steps,
            "dbL0A": 2,
            "dbL0B": 2,
            "dbL0C": 1,
            "shareL1Size": steps * base_k * (base_m + base_n) * itemsize,
            "shareL0CSize": base_m * base_n * 4,
            **({"isBias": 1} if held.bias else {}),
        }
        lines.append(f"    TCubeTiling {held.name}Cube{{}};")
        lines += [f"    {held.name}Cube.{name} = {number};" for name, number in fields.items()]
    return lines


def object_types(held: Multiplier, cpp: Callable[[str], str], *, cube: bool) -> list[str]:
    """Members of the kernel class: the types of matrices, and what multiplies them. ``cpp`` names element types."""
    types = "".join(word[:1].upper() + word[1:] for word in held.name.split("_"))

    def matrix(name: str, dtype: str, turned: bool = False) -> str:
        more = ", true" if turned else ""
        return f"using {types}{name} = matmul::MatmulType<TPosition::GM, CubeFormat::ND, {cpp(dtype)}{more}>;"

    left, right = held.turned
    if left or right:
        factors = [matrix("Left", held.dtype, left), matrix("Right", held.dtype, right)]
        arguments = [f"{types}Left", f"{types}Right", f"{types}Sums"]
    else:
        factors = [matrix("Factors", held.dtype)]
        arguments = [f"{types}Factors", f"{types}Factors", f"{types}Sums"]
    bias = [matrix("Bias", held.bias)] if held.bias else []
    arguments += [f"{types}Bias"] if held.bias else []
    return [
        *factors,
        matrix("Sums", held.sums),
        *bias,
        f"matmul::{'MatmulImpl' if cube else 'Matmul'}<{', '.join(arguments)}> {held.name}Object;",
    ]


def product_calls(node: Multiply, held: Multiplier) -> list[str]:
    """Lines of Process. What other pipes still read or write of the matrices comes first."""
    rows, inner, cols = (f"static_cast<int>({render(extent)})" for extent in node.extents)
    of_sums, of_a, of_b = (f"static_cast<int>({render(stride)})" for stride in node.strides)
    target, left, right = (
        f"{name}Global[{render(start)}]" for name, start in zip(node.tensors, node.starts, strict=True)
    )
    # The library takes the extents of whole matrices, which for it tell how far apart rows lie.
    across, down = held.turned
    tall, inner_of_a = (of_a, inner) if across else (rows, of_a)
    wide, inner_of_b = (cols, of_b) if down else (of_b, inner)
    bias = []
    if node.bias_start is not None:
        bias = [f"{node.multiplier}Object.SetBias({node.bias}Global[{render(node.bias_start)}]);"]
    elif held.bias:
        # The object keeps the bias of the product before.
        bias = [f"{node.multiplier}Object.ClearBias();"]
    return [
        # The library reads and writes global memory by itself, so everything of ours must be out before.
        "PipeBarrier<PIPE_ALL>();",
        f"{node.multiplier}Object.SetOrgShape({tall}, {wide}, {inner_of_a}, {inner_of_b}, {of_sums});",
        f"{node.multiplier}Object.SetTensorA({left}{', true' if across else ''});",
        f"{node.multiplier}Object.SetTensorB({right}{', true' if down else ''});",
        *bias,
        f"{node.multiplier}Object.SetTail({rows}, {cols}, {inner});",
        f"{node.multiplier}Object.IterateAll({target});",
    ]
