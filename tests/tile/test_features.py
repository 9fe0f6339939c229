"""What programs can say beyond one output of always given tensors: on arrays and lowered for both tracks."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_tile.dtypes import numpy_dtype
from npukb_tile.fault import ProgramError
from npukb_tile.interpret import interpret
from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_program
from tests.tile.everywhere import everywhere
from tests.tile.running import changed, elementwise, refused
from tests.twin.running import Twin

#: A bias that may be absent, an input behind it, a text, an output that may be empty, one that begins as an input.
SUM = """
T = float16, float32

@host
def plan(x, bias, scale):
    n = x.shape[0]
    d = x.size // n
    weight = 1.0
    if bias is not None:
        weight = 0.5 if bias.size == d else 0.25
    y.shape = x.shape
    sums.shape = (1,) * (x.rank - 1) + x.shape[0:1] if mode == "sums" else (0,)
    launch(cores=1, n=n, d=d, weight=weight, tail=scale.size)

@kernel
def probe(x: Input[T], bias: Input[T] | None, scale: Input[float32], y: Output[T, x], sums: Output[float32],
          mode: Attribute[str] = "a b", *, n, d, weight, tail):
    x_in = buffer(n, d, T)
    b_in = buffer(d, T)
    total = buffer(n, d, float32)
    column = buffer(n, 1, float32)
    result = buffer(n, d, T)
    with copy_in:
        load(x_in, x[0], n, d)
    with compute(n, d):
        total[:] = float32(x_in)
    if bias is not None:
        with copy_in:
            load(b_in, bias[0], d)
        with compute(n, d):
            total[:] = total + float32(b_in) * weight
    with compute(n, d):
        total[:] = total * (scale[0] + float(tail - 1))
        column[:] = row_sum(total)
        result[:] = T(total)
    if mode == "sums":
        with copy_out:
            store(sums[0], column, n)
    if mode != "keep it":
        with copy_out:
            store(y[0], result, n, d)
"""


def drawn(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(dtype)


@pytest.mark.parametrize(("mode", "given"), [("sums", True), ("sums", False), ("keep it", True), ("a b", False)])
def test_absent_inputs_texts_and_outputs_in_the_memory_of_inputs(twin: Twin, mode: str, given: bool) -> None:
    x, bias, scale = drawn(3, 37), drawn(37, seed=1), np.full(1, 2.0, np.float32)
    made = everywhere(twin, SUM, {"x": x, "bias": bias if given else None, "scale": scale}, {"mode": mode})
    expected = (x + 0.5 * bias if given else x) * 2.0
    np.testing.assert_array_equal(made["y"], x if mode == "keep it" else expected)
    assert made["sums"].shape == ((1, 3) if mode == "sums" else (0,))
    if mode == "sums":
        np.testing.assert_array_equal(made["sums"][0], expected.sum(axis=1))


def test_a_use_of_what_is_absent_is_a_fault_of_the_case() -> None:
    text = SUM.replace("    if bias is not None:\n        with copy_in:", "    if d > 0:\n        with copy_in:")
    given = {"x": drawn(3, 7), "scale": np.ones(1, np.float32)}
    with pytest.raises(ProgramError, match="bias is absent in this case") as caught:
        interpret(parse_program(text), given, {})
    assert caught.value.rule == "absent"
    with pytest.raises(ProgramError, match="bias is absent"):
        interpret(
            parse_program(text.replace("    if bias is not None:\n        weight", "    if n > 0:\n        weight")),
            given,
            {},
        )


def test_texts_with_letters_that_no_name_has() -> None:
    host = lower_dynamic(parse_program(SUM.replace('"keep it"', '"a/\\"b ß"'))).files["op_host/probe.cpp"]
    assert '"a/\\042b \\303\\237"' in host


#: Sums of rows that begin at zeros; three workspaces of different types.
SPACES = """
@host
def plan(x):
    n = x.shape[0]
    d = x.shape[1]
    y.shape = (n, d)
    a.shape = (d,)
    b.shape = (3, d)
    c.shape = (n,)
    launch(cores=1, n=n, d=d)

@kernel
def probe(x: Input[float32], y: Output[float32, 0], a: Workspace[float16],
          b: Workspace[float32], c: Workspace[int32], *, n, d):
    x_in = buffer(d, float32)
    narrow = buffer(d, float16)
    number = buffer(d, int32)
    again = buffer(d, float32)
    with copy_in:
        load(x_in, x[0], d)
    with compute(d):
        narrow[:] = float16(x_in)
        number[:] = int32(x_in)
    with copy_out:
        store(a[0], narrow, d)
        store(b[d], x_in, d)
        store(c[0], number, n)
    with copy_in as read_back:
        load(narrow, a[0], d)
        load(again, b[d], d)
        load(number, c[0], n)
    with compute(n) as of_numbers:
        x_in[:] = float32(number)
    with compute(d) as add:
        again[:] = again + float32(narrow)
    with copy_out as write:
        store(y[0], again, d)
        store(y[d], x_in, n)
"""


def test_workspaces_lie_apart_and_outputs_begin_as_zeros(twin: Twin) -> None:
    x = drawn(4, 21)
    made = everywhere(twin, SPACES, {"x": x})["y"]
    np.testing.assert_array_equal(made[0], 2 * x[0])
    np.testing.assert_array_equal(made[1, :4], x[0, :4])
    assert not made[1, 4:].any()
    assert not made[2:].any()


#: A matrix as it is after every row got its number times the number of the column, cut at a diagonal.
PLACES = """
@host
def plan(x):
    n = x.shape[0]
    d = x.shape[1]
    y.shape = x.shape
    launch(cores=1, n=n, d=d)

@kernel
def probe(x: Input[T], y: Output[T], *, n, d):
    x_in = buffer(n, d, T)
    ahead = buffer(n, d, float32)
    result = buffer(n, d, T)
    with copy_in:
        load(x_in, x[0], n, d)
    with compute(n, d):
        ahead[:] = 0.0
        ahead[:] = ahead + float32(iota())
        ahead[:] = ahead - float32(iota_rows())
        result[:] = where(ahead > 1.0, 0.0, x_in)
    with copy_out:
        store(y[0], result, n, d)
"""


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_numbers_of_rows(twin: Twin, dtype: str) -> None:
    x = drawn(9, 21, dtype=dtype)
    made = everywhere(twin, f"T = {dtype}\n" + PLACES, {"x": x})["y"]
    np.testing.assert_array_equal(made, np.tril(x, 1))


#: The largest elements of rows, how many an input says.
LARGEST = """
@host
def plan(x, k):
    d = x.shape[1]
    count = k[0]
    values.shape = (x.shape[0], count)
    places.shape = (x.shape[0], count)
    launch(cores=min(x.shape[0], 2), lanes=min(x.shape[0], 2), n=x.shape[0], d=d, count=count)

@kernel
def probe(x: Input[float32], k: Input[int32], values: Output[float32], places: Output[int32], *, lanes, n, d, count):
    x_in = buffer(d, float32)
    order = buffer(d, int32)
    best = buffer(d, float32)
    for row in range(core(), n, lanes):
        with copy_in:
            load(x_in, x[row * d], d)
        with compute(d):
            order[:] = argsort(x_in)
            best[:] = gather(x_in, order)
        with copy_out:
            store(values[row * count], best, count)
            store(places[row * count], order, count)
"""


@pytest.mark.parametrize("d", [1, 31, 32, 33, 700])
def test_sorting_keeps_the_order_of_equal_elements(twin: Twin, d: int) -> None:
    x = drawn(3, d)
    x[0, 0], x[1, 0], x[2, d // 2] = np.inf, -np.inf, np.nan
    count = min(d, 5)
    made = everywhere(twin, LARGEST, {"x": x, "k": np.array([count], np.int32)})
    for row in range(3):
        keys = [(not np.isnan(value), -value if not np.isnan(value) else 0, at) for at, value in enumerate(x[row])]
        assert made["places"][row].tolist() == [at for _, _, at in sorted(keys)][:count]


def test_more_elements_than_are_sorted_at_once() -> None:
    with pytest.raises(ProgramError, match="9000 elements to sort, at most 8160") as caught:
        interpret(parse_program(LARGEST), {"x": np.zeros((1, 9000), np.float32), "k": np.ones(1, np.int32)}, {})
    assert caught.value.rule == "limit"


def test_values_that_are_not_known_before_the_launch() -> None:
    with pytest.raises(ProgramError, match="not known before the launch") as caught:
        interpret(parse_program(LARGEST), {"x": np.zeros((1, 4), np.float32), "k": np.ones(65, np.int32)}, {})
    assert caught.value.rule == "interface"


#: Whether a list has an element that is not finite, beside the list divided by a number.
LISTS = """
T = float16, float32

@host
def plan(scale):
    y.shape = x.shape
    z.shape = x.shape
    most.shape = (scale.size,)
    launch(cores=1, tile=64)

@kernel
def probe(x: Inputs[T], scale: Input[float32], y: Outputs[T, x], most: Output[float32], z: Outputs[T], *, tile):
    x_in = buffer(tile, T)
    largest = buffer(1, float32)
    result = buffer(tile, T)
    with compute(1):
        largest[:] = 0.0
    for k in range(len(x)):
        for offset in range(0, x[k].size, tile):
            length = min(tile, x[k].size - offset)
            with copy_in:
                load(x_in, x[k][offset], length)
            with compute(length):
                largest[:] = max(largest, row_max(abs(float32(x_in))))
                result[:] = T(float32(x_in) * scale[0])
            with copy_out:
                store(z[k][offset], result, length)
                if k > 0:
                    store(y[k][offset], result, length)
    with copy_out:
        store(most[0], largest, 1)
"""


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_several_outputs_beside_lists(twin: Twin, dtype: str) -> None:
    x = [drawn(3, 25, dtype=dtype), drawn(130, dtype=dtype, seed=1)]
    made = everywhere(twin, LISTS, {"x": x, "scale": np.array([2.0], np.float32)})
    assert made["most"][0] == max(np.abs(part).max() for part in x)
    for part, twice in zip(x, made["z"], strict=True):
        np.testing.assert_array_equal(twice, part * 2)
    np.testing.assert_array_equal(made["y"][0], x[0])
    np.testing.assert_array_equal(made["y"][1], x[1] * 2)


#: Products of factors that lie either way, on the cores that the launch names.
PRODUCT = """
@host
def plan(a, b, bias):
    m = bias.size // 2
    n = m
    k = a.size // m
    y.shape = (m, n)
    launch(CORES=2, m=m, k=k, n=n)

@kernel
def probe(a: Input[F], b: Input[F], bias: Input[B], y: Output[S], *, m, k, n):
    product = multiplier(16, k, n, F, transpose_a=LEFT, transpose_b=RIGHT)
    for row in range(core() * 16, m, 32):
        multiply(product, y[row * n], a[row * STEP], b[0], min(16, m - row), k, n, strides=(n, PITCH_A, PITCH_B)BIAS)
"""


def product(cores: str, factors: str, sums: str, left: bool, right: bool, bias: str) -> str:
    words = {
        "CORES": cores,
        "[F]": f"[{factors}]",
        ", F,": f", {factors},",
        "[B]": f"[{bias or 'float32'}]",
        "[S]": f"[{sums}]",
        "LEFT": str(left),
        "RIGHT": str(right),
        "STEP": "1" if left else "k",
        "PITCH_A": "m" if left else "k",
        "PITCH_B": "k" if right else "n",
        "BIAS": ", bias=bias[m]" if bias else "",
    }
    text = PRODUCT
    for old, new in words.items():
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(
    ("cores", "factors", "sums", "left", "right", "bias"),
    [
        ("cores", "float16", "float32", True, False, ""),
        ("cores", "int8", "int32", True, True, ""),
        ("cores", "float32", "float32", False, True, "float32"),
        ("cube_cores", "float16", "float16", False, True, "float16"),
        ("cube_cores", "bfloat16", "float32", True, True, ""),
        ("cube_cores", "float16", "float32", False, False, "float32"),
    ],
)
def test_products(twin: Twin, cores: str, factors: str, sums: str, left: bool, right: bool, bias: str) -> None:
    m, k = 37, 53
    a, b = drawn(m, k).astype(numpy_dtype(factors)), drawn(k, m, seed=1).astype(numpy_dtype(factors))
    row = drawn(2 * m, seed=2).astype(numpy_dtype(bias or "float32"))
    inputs = {
        "a": np.ascontiguousarray(a.T) if left else a,
        "b": np.ascontiguousarray(b.T) if right else b,
        "bias": row,
    }
    made = everywhere(twin, product(cores, factors, sums, left, right, bias), inputs)["y"]
    expected = a.astype(np.float64) @ b.astype(np.float64) + (row[m:].astype(np.float64) if bias else 0.0)
    np.testing.assert_array_equal(made, expected.astype(numpy_dtype(sums)))


#: What is broken in a program of products, by what, the rule, and a word of message or remedy.
BROKEN = {
    "unknown option": ("transpose_a=False", "turned=True", "syntax", "transpose_a=True"),
    "option of the launch": ("transpose_a=False", "transpose_a=k", "syntax", "transpose_a=True"),
    "bias of integers": ("bias: Input[float32]", "bias: Input[int32]", "dtype", "bias of float16 or float32"),
    "sync": ("    for row", "    sync_all()\n    for row", "launch", "synchronise"),
    "too many cores": ("cube_cores=2", "cube_cores=25", "launch", "cube_cores()"),
    "bias beyond its end": ("bias[m]", "bias[m + n]", "out_of_bounds", "bias"),
    "rows that overlap": ("(n, k, n), bias", "(n, k, n - 1), bias", "limit", "overlap"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_wrong_products(name: str) -> None:
    old, new, rule, word = BROKEN[name]
    text = changed(product("cube_cores", "float16", "float32", False, False, "float32"), old, new)
    inputs = {"a": np.ones((37, 5), np.float16), "b": np.ones((5, 37), np.float16), "bias": np.ones(74, np.float32)}
    with refused(rule, word):
        interpret(parse_program(text), inputs, {})


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64"])
def test_types_that_are_moved_only(twin: Twin, dtype: str) -> None:
    text = f"""
@host
def plan(x):
    y.shape = x.shape
    launch(cores=1, n=x.size)

@kernel
def probe(x: Input[{dtype}], y: Output[{dtype}], *, n):
    held = buffer(n, {dtype})
    with copy_in:
        load(held, x[0], n)
    with copy_out:
        store(y[0], held, n)
"""
    x = np.arange(37).astype(dtype) * 3
    np.testing.assert_array_equal(everywhere(twin, text, {"x": x})["y"], x)
    with pytest.raises(ProgramError, match=f"does not compute this in {dtype}"):
        parse_program(
            text.replace(
                "    with copy_out:", "    with compute(n):\n        held[:] = held + held\n    with copy_out:"
            )
        )


def test_rows_that_are_only_copied(twin: Twin) -> None:
    text = """
@host
def plan(x):
    y.shape = x.shape
    launch(cores=1, n=x.shape[0], d=x.shape[1])

@kernel
def probe(x: Input[int8], y: Output[int8], *, n, d):
    held = buffer(n, d, int8)
    with copy_in:
        load(held, x[0], n, d)
    with copy_out:
        store(y[0], held, n, d)
"""
    x = drawn(5, 37, dtype="int8")
    np.testing.assert_array_equal(everywhere(twin, text, {"x": x})["y"], x)


#: Rows of the lengths that a list says, each times its place in the list.
PARTS = """
@host
def plan(x, sizes):
    longest = 1
    for part in range(len(sizes)):
        longest = max(longest, sizes[part])
    y.shape = (len(sizes) * longest,)
    launch(cores=1, longest=longest)

@kernel
def probe(x: Input[float32], y: Output[float32, 0], sizes: Attribute[ints] = (2, 3), *, longest):
    held = buffer(longest, float32)
    begin = 0
    for part in range(len(sizes)):
        with copy_in:
            load(held, x[begin], sizes[part])
        with compute(sizes[part]):
            held[:] = held * float(part + 1)
        with copy_out:
            store(y[part * longest], held, sizes[part])
        begin = begin + sizes[part]
"""


@pytest.mark.parametrize("sizes", [(2, 3), (1, 70, 8)])
def test_lists_of_integers(twin: Twin, sizes: tuple[int, ...]) -> None:
    x = drawn(sum(sizes))
    made = everywhere(twin, PARTS, {"x": x}, {"sizes": sizes})["y"].reshape(len(sizes), -1)
    begin = 0
    for place, size in enumerate(sizes):
        np.testing.assert_array_equal(made[place, :size], x[begin : begin + size] * (place + 1))
        assert not made[place, size:].any()
        begin += size


@pytest.mark.parametrize(
    ("old", "new", "rule", "word"),
    [
        (
            "sizes[part])\n        with compute",
            "sizes[part + 2])\n        with compute",
            "out_of_bounds",
            "of 2 integers",
        ),
        ("longest = 1\n", "longest = sizes\n", "dtype", "list of integers"),
        ("= (2, 3)", "= 2", "dtype", "default"),
        ("= (2, 3)", "= (2, 0.5)", "syntax", "integers"),
    ],
)
def test_wrong_lists_of_integers(old: str, new: str, rule: str, word: str) -> None:
    with refused(rule, word):
        interpret(parse_program(changed(PARTS, old, new)), {"x": np.ones(5, np.float32)}, {})


#: Elements of a buffer of integers wherever a number may stand.
PEEKS = """
@host
def plan(a, k):
    total = a.size
    y.shape = a.shape
    launch(cores=1, total=total)

@kernel
def probe(a: Input[float32], k: Input[int32], y: Output[float32], *, total):
    ta = buffer(total, float32)
    tk = buffer(8, int32)
    ty = buffer(total, float32)
    with copy_in:
        load(tk, k[0], 8)
        load(ta, a[0], total)
    with compute(8):
        tk[:] = tk + 1
    if tk[0] > 3:
        with compute(total):
            ty[:] = ta + 6.0
    else:
        with compute(total):
            ty[:] = ta - 6.0
    for i in range(tk[0], tk[2]):
        with compute(tk[3]):
            ty[:] = ty * 2.0
    with copy_out:
        store(y[tk[4]], ty, total)
"""


@pytest.mark.parametrize("first", [3, 2])
def test_elements_of_buffers_stand_wherever_numbers_do(twin: Twin, first: int) -> None:
    a = np.linspace(-2, 2, 64, dtype=np.float32)
    k = np.array([first, 5, first + 2, 63, -1, 0, 0, 0], np.int32)
    meant = everywhere(twin, PEEKS, {"a": a, "k": k})
    np.testing.assert_allclose(meant["y"], (a + (6 if first == 3 else -6)) * 4, rtol=1e-6)


@pytest.mark.parametrize("to", ["int64", "int32", "int16"])
def test_casts_of_what_does_not_fit_saturate(to: str) -> None:
    program = parse_program(elementwise(f"{to}(ta)", {"a": "float32"}, to))
    bounds = np.iinfo(np.dtype(to))
    a = np.array([2.0**63, 1e30, np.inf, -1e30, -np.inf, np.nan, -(2.0**63), 5.5], np.float32)
    low, high = bounds.min, bounds.max
    assert interpret(program, {"a": a}, {})["y"].tolist() == [high, high, high, low, low, 0, low, 6]
