"""Tile programs for operators whose golden kernels are written by hand: what :mod:`benchmarks.tile.comparison` lowers.

Most are one expression of tiles of equal shapes; the others are written out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from benchmarks.tile.gates import GATES
from benchmarks.tile.norms import NORMS
from benchmarks.tile.pointwise import POINTWISE
from benchmarks.tile.reductions import REDUCTIONS
from benchmarks.tile.written import FLOATS, HALF, PLAIN, SINGLE, Written, program, written

__all__ = ["PROGRAMS", "Written"]


def elementwise(
    kernel: str,
    inputs: Sequence[str],
    expression: str,
    types: tuple[str, ...],
    *,
    output: str = "y",
    result: str = "T",
    numbers: Mapping[str, str] = MappingProxyType({}),
    attributes: str = "",
    tile: int = 8192,
    wide: bool = False,
) -> Written:
    """A program for one expression of tiles: every core a share, every share tile by tile.

    The tile of an input ``x`` is ``tx`` in the expression. ``numbers`` are inputs of one element: kept in a buffer, the
    expression calls that of ``c`` ``nc``, in float32. With ``wide`` there is a buffer ``w`` of float32, and the
    expression has several lines.
    """
    first = inputs[0]
    arguments = [f"{name}: Input[T]" for name in inputs]
    arguments += [f"{name}: Input[{dtype}]" for name, dtype in numbers.items()]
    arguments += [f"{output}: Output[{result}]", *([attributes] if attributes else [])]
    statements = expression.strip().split("\n")
    statements[-1] = f"t{output}[:] = {statements[-1]}"
    lines = [
        f"T = {', '.join(types)}",
        "",
        "",
        "@host",
        f"def plan({first}):",
        f"    total = {first}.size",
        "    share = max(1024, round_up(ceil_div(total, vector_cores()), 128))",
        f"    {output}.shape = {first}.shape",
        f"    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, tile=min(share, {tile}))",
        "",
        "",
        "@kernel",
        f"def {kernel}({', '.join(arguments)}, *, total, share, tile):",
        *[f"    t{name} = buffer(tile, T, depth=2)" for name in inputs],
        f"    t{output} = buffer(tile, {result}, depth=2)",
        *(["    w = buffer(tile, float32)"] if wide else []),
    ]
    for name, dtype in numbers.items():
        lines += [f"    given_{name} = buffer(1, {dtype})", f"    n{name} = buffer(1, float32)"]
    if numbers:
        lines += ["    with copy_in as read_numbers:"]
        lines += [f"        load(given_{name}, {name}[0], 1)" for name in numbers]
        lines += ["    with compute(1) as widen_numbers:"]
        lines += [f"        n{name}[:] = {_widened(f'given_{name}', dtype)}" for name, dtype in numbers.items()]
    lines += [
        "    begin = core() * share",
        "    count = min(share, total - begin)",
        "    for offset in range(0, count, tile):",
        "        length = min(tile, count - offset)",
        "        with copy_in:",
        *[f"            load(t{name}, {name}[begin + offset], length)" for name in inputs],
        "        with compute(length):",
        *[f"            {statement}" for statement in statements],
        "        with copy_out:",
        f"            store({output}[begin + offset], t{output}, length)",
    ]
    return Written("\n".join(lines) + "\n", types)


def _widened(name: str, dtype: str) -> str:
    return name if dtype == "float32" else f"float32({name})"


def unary(kernel: str, expression: str, types: tuple[str, ...] = FLOATS, tile: int = 4096) -> Written:
    """``expression`` of ``x`` in float32."""
    # Every x is replaced: a function with one in its name, such as exp, cannot stand in such an expression.
    return elementwise(kernel, ["x"], f"T({expression.replace('x', 'float32(tx)')})", types, tile=tile)


def product_added(kernel: str, sign: str, types: tuple[str, ...], tile: int) -> Written:
    """A tensor, and the product or quotient of two others times a number."""
    expression = f"T(float32(tinput_data) + float32(tx1) {sign} float32(tx2) * nvalue)"
    return elementwise(kernel, ["input_data", "x1", "x2"], expression, types, numbers={"value": "T"}, tile=tile)


def comparison(kernel: str, condition: str) -> Written:
    """A comparison of two tensors."""
    return elementwise(kernel, ["x1", "x2"], f"bool({condition})", PLAIN, result="bool")


_RMS_NORM = """
def plan(x, gamma):
    d = gamma.size
    n = x.size // d
    width = min(d, 4096)
    most = 1 if d > 4096 else max(1, min(64, 4096 // round_up(d, 16)))
    share = max(1, ceil_div(n, vector_cores()))
    y.shape = x.shape
    rstd.shape = x.shape[0 : x.rank - 1] + (1,)
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, width=width, most=min(most, share))


@kernel
def rms_norm(x: Input[T], gamma: Input[T], y: Output[T], rstd: Output[float32],
             epsilon: Attribute[float] = 1.0e-6, *, n, d, share, width, most):
    a = buffer(most, width, T, depth=2)
    scale = buffer(width, T)
    wide_scale = buffer(width, float32)
    wide = buffer(most, width, float32)
    factor = buffer(most, 1, float32)
    result = buffer(most, width, T, depth=2)
    begin, end = rows_of_core()
    with copy_in as read_scale:
        load(scale, gamma[0], width)
    with compute(1, width) as widen_scale:
        wide_scale[:] = float32(scale)
    for first, rows in tiles_between(begin, end):
        with copy_in:
            load(a, x[first * d], rows, width)
        with compute(rows, width) as normalise:
            wide[:] = float32(a)
            factor[:] = 1.0 / sqrt(row_sum(wide * wide) / float(d) + epsilon)
            result[:] = T(wide * factor * wide_scale)
        with copy_out:
            store(y[first * d], result, rows, width)
            store(rstd[first], factor, rows)
"""

_SELECTED_SOFTMAX = """
def plan(sel, input1):
    d = input1.shape[input1.rank - 1]
    n = input1.size // d
    share = max(1, ceil_div(n, vector_cores()))
    most = min(share, max(1, 4096 // round_up(d, 32)))
    ouput.shape = input1.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, d=d, share=share, most=most)


@kernel
def select_reduce_max_d_sub_exp_reduce_sum_d_real_div(sel: Input[bool], input1: Input[T], input2: Input[T],
                                                      ouput: Output[T], *, n, d, share, most):
    chosen = buffer(most, d, bool, depth=2)
    left = buffer(most, d, T, depth=2)
    right = buffer(most, d, T, depth=2)
    wide = buffer(most, d, float32)
    result = buffer(most, d, T, depth=2)
    for first, rows in own_rows():
        with copy_in:
            load(chosen, sel[first * d], rows, d)
            load(left, input1[first * d], rows, d)
            load(right, input2[first * d], rows, d)
        with compute(rows, d) as normalise:
            wide[:] = where(float32(float16(chosen)) > 0.0, float32(left), float32(right))
            wide[:] = exp(wide - row_max(wide))
            result[:] = T(wide / row_sum(wide))
        with copy_out:
            store(ouput[first * d], result, rows, d)
"""

_SWI_GLU = """
def plan(x, dim):
    axis = dim if dim >= 0 else dim + x.rank
    half = prod(x.shape[axis : x.rank]) // 2
    n = prod(x.shape[0:axis])
    pieces = max(1, ceil_div(vector_cores(), n)) if half > 2048 else 1
    width = min(half, 4096 if half > 2048 else 2048)
    width = min(width, max(256, round_up(ceil_div(half, pieces), 128)))
    width = min(half, width)
    cuts = ceil_div(half, width)
    most = max(1, min(128, 4096 // round_up(half, 16))) if cuts == 1 else 1
    units = ceil_div(n, most) * cuts
    share = max(1, ceil_div(units, vector_cores()))
    y.shape = x.shape[0:axis] + (x.shape[axis] // 2,) + x.shape[axis + 1 : x.rank]
    launch(cores=max(1, ceil_div(units, share)), n=n, half=half, width=width, cuts=cuts, most=most,
           units=units, share=share)


@kernel
def swi_glu(x: Input[T], y: Output[T], dim: Attribute[int] = -1, *, n, half, width, cuts, most, units, share):
    gate = buffer(most, width, T, depth=2)
    linear = buffer(most, width, T, depth=2)
    wide = buffer(most, width, float32)
    result = buffer(most, width, T, depth=2)
    begin = core() * share
    for unit in range(begin, min(begin + share, units)):
        first, c, rows, cols = extents_of_unit(half)
        with copy_in:
            load(gate, x[first * 2 * half + c], rows, cols, stride=2 * half)
            load(linear, x[(first * 2 + 1) * half + c], rows, cols, stride=2 * half)
        with compute(rows, cols):
            wide[:] = float32(gate)
            result[:] = T(wide / (exp(-wide) + 1.0) * float32(linear))
        with copy_out:
            store(y[first * half + c], result, rows, cols, stride=half)
"""

_CROSS = """
def plan(x1, dim):
    axis = dim if dim >= 0 else dim + x1.rank
    if dim == -65530:
        axis = x1.rank
        for i in range(x1.rank):
            if x1.shape[i] == 3 and axis == x1.rank:
                axis = i
    inner = prod(x1.shape[axis + 1 : x1.rank])
    n = prod(x1.shape[0:axis])
    width = min(inner, 1024)
    cuts = ceil_div(inner, width)
    most = max(1, min(64, 1024 // round_up(width, 16))) if cuts == 1 else 1
    units = ceil_div(n, most) * cuts
    share = max(1, ceil_div(units, vector_cores()))
    y.shape = x1.shape
    launch(cores=max(1, ceil_div(units, share)), n=n, inner=inner, width=width, cuts=cuts, most=most,
           units=units, share=share)


@kernel
def cross(x1: Input[T], x2: Input[T], y: Output[T], dim: Attribute[int] = -65530, *,
          n, inner, width, cuts, most, units, share):
    u0, u1, u2 = tiles_of_vectors()
    v0, v1, v2 = tiles_of_vectors()
    y0, y1, y2 = tiles_of_vectors()
    begin = core() * share
    for unit in range(begin, min(begin + share, units)):
        first = unit // cuts * most
        c = unit % cuts * width
        at = first * 3 * inner + c
        rows = min(most, n - first)
        cols = min(width, inner - c)
        with copy_in:
            load(u0, x1[at], rows, cols, stride=3 * inner)
            load(u1, x1[at + inner], rows, cols, stride=3 * inner)
            load(u2, x1[at + 2 * inner], rows, cols, stride=3 * inner)
            load(v0, x2[at], rows, cols, stride=3 * inner)
            load(v1, x2[at + inner], rows, cols, stride=3 * inner)
            load(v2, x2[at + 2 * inner], rows, cols, stride=3 * inner)
        with compute(rows, cols):
            y0[:] = T(float32(u1) * float32(v2) - float32(u2) * float32(v1))
            y1[:] = T(float32(u2) * float32(v0) - float32(u0) * float32(v2))
            y2[:] = T(float32(u0) * float32(v1) - float32(u1) * float32(v0))
        with copy_out:
            store(y[at], y0, rows, cols, stride=3 * inner)
            store(y[at + inner], y1, rows, cols, stride=3 * inner)
            store(y[at + 2 * inner], y2, rows, cols, stride=3 * inner)
"""

_TRIANGLE = """
def plan(x, diagonal):
    cols = x.shape[x.rank - 1]
    height = x.shape[x.rank - 2]
    n = x.size // cols
    share = ceil_div(n, vector_cores())
    y.shape = x.shape
    launch(cores=max(1, ceil_div(n, share)), n=n, height=height, cols=cols, share=share)


@kernel
def NAME(x: Input[T], y: Output[T], diagonal: Attribute[int] = 0, *, n, height, cols, share):
    given = buffer(cols, T, depth=2)
    place = buffer(cols, float32)
    result = buffer(cols, T, depth=2)
    begin = core() * share
    with compute(cols) as number_columns:
        place[:] = float32(iota())
    for row in range(begin, min(begin + share, n)):
        last = row % height + diagonal
        with copy_in:
            load(given, x[row * cols], cols)
        with compute(cols):
            result[:] = T(where(place SIGN float(last), float32(given), 0.0))
        with copy_out:
            store(y[row * cols], result, cols)
"""

PROGRAMS: Mapping[str, Written] = {
    "AbsMath": elementwise("abs_math", ["x"], "abs(tx)", PLAIN),
    "AddCustom": elementwise("add_custom", ["x", "y"], "tx + ty", HALF, output="z"),
    "UnalignAdd": elementwise("unalign_add", ["x", "y"], "tx + ty", HALF, output="z"),
    "Addcdiv": product_added("addcdiv", "/", SINGLE, 4096),
    "Addcmul": product_added("addcmul", "*", FLOATS, 2048),
    "ClipByValue": elementwise(
        "clip_by_value",
        ["x"],
        "T(min(max(float32(tx), nclip_value_min), nclip_value_max))",
        PLAIN,
        numbers={"clip_value_min": "T", "clip_value_max": "T"},
    ),
    "Lerp": elementwise(
        "lerp",
        ["start", "end", "weight"],
        "T(float32(tstart) + float32(tweight) * (float32(tend) - float32(tstart)))",
        PLAIN,
        tile=2048,
    ),
    "Muls": elementwise("muls", ["x"], "T(float32(tx) * nvalue)", FLOATS, numbers={"value": "float32"}),
    "Neg": elementwise("neg", ["x"], "-tx", PLAIN),
    "Sqrt": unary("sqrt", "sqrt(x)", tile=8192),
    "Rsqrt": unary("rsqrt", "1.0 / sqrt(x)", tile=8192),
    "CosMath": unary("cos_math", "cos(x)"),
    "SinMath": unary("sin_math", "sin(x)"),
    "TanhMath": unary("tanh_math", "tanh(x)"),
    "Gelu": elementwise(
        "gelu",
        ["x"],
        "w[:] = float32(tx)\nT(w / (exp(w * (w * w * -0.07135481282556484 - 1.5957691216057308)) + 1.0))",
        FLOATS,
        tile=4096,
        wide=True,
    ),
    "Swish": elementwise(
        "swish",
        ["x"],
        "w[:] = float32(tx)\nT(w / (exp(w * -scale) + 1.0))",
        FLOATS,
        attributes="scale: Attribute[float] = 1.0",
        tile=4096,
        wide=True,
    ),
    "MulSigmoidMulAddCustom": elementwise(
        "mul_sigmoid_mul_add_custom",
        ["input"],
        "T(nmulscalar2 / (exp(-(float32(tinput) * nmulscalar1)) + 1.0) + naddscalar3)",
        HALF,
        output="outputs",
        numbers={"mulscalar1": "T", "mulscalar2": "T", "addscalar3": "T"},
        tile=4096,
    ),
    "Equal": comparison("equal", "tx1 == tx2"),
    "Less": comparison("less", "tx1 < tx2"),
    "LessEqual": comparison("less_equal", "tx1 <= tx2"),
    "IsFinite": elementwise("is_finite", ["x"], "bool(abs(tx) < inf)", PLAIN, result="bool"),
    "IsInf": elementwise("is_inf", ["x"], "bool(abs(tx) == inf)", PLAIN, result="bool"),
    "RmsNorm": written(_RMS_NORM, FLOATS),
    "SelectReduceMaxDSubExpReduceSumDRealDiv": written(_SELECTED_SOFTMAX, FLOATS),
    "SwiGlu": written(_SWI_GLU, FLOATS),
    "Cross": written(_CROSS, PLAIN),
    "Tril": Written(program(_TRIANGLE, PLAIN).replace("NAME", "tril").replace("SIGN", "<="), SINGLE),
    "Triu": Written(program(_TRIANGLE, PLAIN).replace("NAME", "triu").replace("SIGN", ">="), SINGLE),
    **POINTWISE,
    **NORMS,
    **REDUCTIONS,
    **GATES,
}
