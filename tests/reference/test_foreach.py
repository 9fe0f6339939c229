"""The references of the list operators against plain Python, and against torch where it is installed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pytest

from npukernelbench.nouns import Case, Task
from npukernelbench.reference import expected_outputs, foreach, foreach_unary
from npukernelbench.tasks import generate_inputs
from tests.suite import suite

RNG = np.random.default_rng(11)
SHAPES: tuple[tuple[int, ...], ...] = ((), (1,), (3, 5), (2, 1, 7))


def reals(low: float = -2.0, high: float = 2.0) -> list[Any]:
    return [RNG.uniform(low, high, size=shape) for shape in SHAPES]


def away(low: float = 0.5, high: float = 4.0) -> list[Any]:
    return [np.copysign(item, RNG.uniform(-1, 1, size=item.shape)) for item in reals(low, high)]


def whole(low: int, high: int) -> list[Any]:
    return [RNG.integers(low, high, size=shape, dtype=np.int32) for shape in SHAPES]


def assert_alike(actual: Sequence[Any], expected: Sequence[Any], rtol: float = 1e-13) -> None:
    """Equal types and shapes, and values up to ``rtol``; integers exactly."""
    assert len(actual) == len(expected)
    for got, want in zip(actual, expected, strict=True):
        assert np.shape(got) == np.shape(want)
        if np.asarray(got).dtype.kind in "iub":
            assert np.asarray(got).dtype == np.asarray(want).dtype
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-300)


def each(function: Callable[..., float], *lists: Sequence[Any]) -> list[Any]:
    """A scalar formula applied to every element of every tensor."""
    return [np.vectorize(function, otypes=[np.float64])(*tensors) for tensors in zip(*lists, strict=True)]


#: Reference, formula in plain Python, name in torch, inputs.
UNARY: dict[str, tuple[Callable[[float], float], str, list[Any]]] = {
    "absolute": (abs, "abs", reals()),
    "acos": (math.acos, "acos", reals(-1, 1)),
    "asin": (math.asin, "asin", reals(-1, 1)),
    "atan": (math.atan, "atan", reals(-9, 9)),
    "copy": (lambda t: t, "", reals()),
    "cos": (math.cos, "cos", reals(-9, 9)),
    "cosh": (lambda t: (math.exp(t) + math.exp(-t)) / 2, "cosh", reals()),
    "erf": (math.erf, "erf", reals()),
    "erfc": (math.erfc, "erfc", reals()),
    "exp": (math.exp, "exp", reals(-6, 6)),
    "expm1": (lambda t: 2 * math.exp(t / 2) * math.sinh(t / 2), "expm1", reals()),
    "log": (math.log, "log", reals(0.01, 9)),
    "log1p": (lambda t: 2 * math.atanh(t / (2 + t)), "log1p", reals(-0.9, 9)),
    "log2": (lambda t: math.log(t) / math.log(2), "log2", reals(0.01, 9)),
    "log10": (lambda t: math.log(t) / math.log(10), "log10", reals(0.01, 9)),
    "neg": (lambda t: 0.0 - t, "neg", reals()),
    "reciprocal": (lambda t: 1.0 / t, "reciprocal", away()),
    "sigmoid": (lambda t: 0.5 + 0.5 * math.tanh(t / 2), "sigmoid", reals()),
    "sign": (lambda t: (t > 0) - (t < 0), "sign", [np.array([-2.0, -0.0, 0.0, 1e-300])]),
    "sin": (math.sin, "sin", reals(-9, 9)),
    "sinh": (lambda t: (math.exp(t) - math.exp(-t)) / 2, "sinh", away()),
    "sqrt": (lambda t: t**0.5, "sqrt", reals(0, 9)),
    "tan": (lambda t: math.sin(t) / math.cos(t), "tan", reals(-1.4, 1.4)),
    "tanh": (lambda t: (math.exp(2 * t) - 1) / (math.exp(2 * t) + 1), "tanh", away()),
}


def test_every_function_of_one_list_is_here() -> None:
    assert set(UNARY) | {"round_off_number"} == set(foreach_unary.__all__)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_list_element_by_element(name: str) -> None:
    formula, _, x = UNARY[name]
    assert_alike(getattr(foreach_unary, name)(x), each(formula, x), 1e-12)


@pytest.mark.parametrize("name", ["absolute", "copy", "neg", "sign"])
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_functions_of_one_list_keep_integer_types(name: str, dtype: Any) -> None:
    x = [np.array([-7, 0, 5], dtype=dtype), np.array([[np.iinfo(dtype).max]], dtype=dtype)]
    table = {"absolute": abs, "copy": int, "neg": lambda t: -t, "sign": lambda t: (t > 0) - (t < 0)}
    expected = [np.array([table[name](int(t)) for t in item.flat], dtype=dtype).reshape(item.shape) for item in x]
    assert_alike(getattr(foreach_unary, name)(x), expected)


def test_small_and_large_arguments_keep_their_digits() -> None:
    tiny = [np.array([1e-12, -1e-12])]
    for name in ("expm1", "log1p", "sinh", "tanh", "asin", "atan", "erf"):
        slope = 2 / math.sqrt(math.pi) if name == "erf" else 1.0
        assert_alike(getattr(foreach_unary, name)(tiny), [tiny[0] * slope], 1e-11)
    assert_alike(foreach_unary.erfc([np.array([10.0])]), [np.array([2.0884875837625446e-45])], 1e-12)
    assert_alike(foreach_unary.sigmoid([np.array([-700.0])]), [np.array([math.exp(-700.0)])], 1e-12)


def test_a_copy_is_memory_of_its_own() -> None:
    x = [np.zeros(3)]
    assert not np.shares_memory(foreach_unary.copy(x)[0], x[0])


DECIMAL = {1: ROUND_HALF_EVEN, 2: ROUND_FLOOR, 3: ROUND_CEILING, 4: ROUND_HALF_UP, 5: ROUND_DOWN}
QUARTERS = [np.arange(-40, 41) / 4, np.array([[2.5, -0.5], [0.49999997, -1e6 - 0.5]])]


@pytest.mark.parametrize("mode", DECIMAL)
def test_rounding_modes_against_decimal_arithmetic(mode: int) -> None:
    def rounded(t: float) -> float:
        return float(Decimal(t).to_integral_value(DECIMAL[mode]))

    assert_alike(foreach_unary.round_off_number(QUARTERS, np.array(float(mode))), each(rounded, QUARTERS))


def test_rounding_to_odd_and_fractions() -> None:
    x = [np.array([-2.25, -1.75, -1.0, -0.5, 0.0, 0.5, 1.5, 2.0, 2.5, 3.75])]
    odd = [np.array([-3.0, -1.0, -1.0, -1.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0])]
    assert_alike(foreach_unary.round_off_number(x, np.array([6.0])), odd)
    fractions = [np.array([-0.25, -0.75, 0.0, -0.5, 0.0, 0.5, 0.5, 0.0, 0.5, 0.75])]
    assert_alike(foreach_unary.round_off_number(x, np.array([7.0])), fractions)
    for mode in (0, 8):
        with pytest.raises(ValueError, match="must be 1 to 7"):
            foreach_unary.round_off_number(x, np.array([mode]))


def scalar(value: float, dtype: Any = np.float64) -> Any:
    """A scalar as operators get it: of one element, of rank 0 or 1."""
    return np.array(value, dtype=dtype) if RNG.random() < 0.5 else np.array([value], dtype=dtype)


def of_first(formula: Callable[..., float], scalars: Sequence[float], *lists: Sequence[Any]) -> list[Any]:
    """``formula(scalar, *elements)`` with one scalar per tensor."""
    return [
        np.vectorize(lambda *t, s=s: formula(s, *t), otypes=[np.float64])(*tensors)
        for s, *tensors in zip(scalars, *lists, strict=True)
    ]


#: Reference: (formula of two elements).
LISTS: dict[str, Callable[[float, float], float]] = {
    "mul_list": lambda a, b: a * b,
    "div_list": lambda a, b: a / b,
    "maximum_list": max,
    "minimum_list": min,
}
SCALED: dict[str, Callable[[float, float, float], float]] = {
    "add_list": lambda s, a, b: a + s * b,
    "sub_list": lambda s, a, b: a - s * b,
    "lerp_scalar": lambda s, a, b: a + s * (b - a),
}
#: Reference: formula of scalar and element.
SCALARS: dict[str, Callable[[float, float], float]] = {
    "add_scalar": lambda s, t: t + s,
    "sub_scalar": lambda s, t: t - s,
    "mul_scalar": lambda s, t: t * s,
    "div_scalar": lambda s, t: t / s,
    "maximum_scalar": max,
    "minimum_scalar": min,
}
TERNARY: dict[str, Callable[[float, float, float, float], float]] = {
    "addcdiv": lambda s, a, b, c: a + s * b / c,
    "addcmul": lambda s, a, b, c: a + s * b * c,
}


@pytest.mark.parametrize("name", LISTS)
def test_operations_on_two_lists(name: str) -> None:
    a, b = reals(), away()
    assert_alike(getattr(foreach, name)(a, b), each(LISTS[name], a, b))


@pytest.mark.parametrize("name", SCALED)
def test_operations_on_two_lists_and_a_scalar(name: str) -> None:
    a, b = reals(), reals(3, 5)
    assert_alike(getattr(foreach, name)(a, b, scalar(0.3)), of_first(SCALED[name], [0.3] * 4, a, b), 1e-12)


@pytest.mark.parametrize("name", SCALARS)
def test_operations_on_a_list_and_a_scalar(name: str) -> None:
    x = reals()
    assert_alike(getattr(foreach, name)(x, scalar(-0.7)), of_first(SCALARS[name], [-0.7] * 4, x))


@pytest.mark.parametrize("name", ["add_scalar", "sub_scalar", "mul_scalar", "div_scalar"])
def test_every_tensor_has_its_own_scalar(name: str) -> None:
    x, scalars = reals(), [1.0, -2.5, 0.75, 3.0]
    actual = getattr(foreach, f"{name}_list")(x, np.array(scalars))
    assert_alike(actual, of_first(SCALARS[name], scalars, x))
    with pytest.raises(ValueError, match="zip"):
        getattr(foreach, f"{name}_list")(x, np.array([1.0, 2.0]))


@pytest.mark.parametrize("name", TERNARY)
def test_operations_on_three_lists(name: str) -> None:
    a, b, c, scalars = reals(), reals(), away(), [1.0, -2.5, 0.75, 3.0]
    assert_alike(
        getattr(foreach, f"{name}_scalar")(a, b, c, scalar(-0.7)), of_first(TERNARY[name], [-0.7] * 4, a, b, c), 1e-12
    )
    assert_alike(
        getattr(foreach, f"{name}_list")(a, b, c, np.array(scalars)), of_first(TERNARY[name], scalars, a, b, c), 1e-12
    )


def wrapped(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


def test_integers_are_computed_in_their_type_and_wrap() -> None:
    a, b, c = whole(-(2**31), 2**31), whole(-50000, 50000), whole(-50000, 50000)
    two, three = scalar(2, np.int32), scalar(3, np.int32)
    many = np.array([2, -3, 5, 7], dtype=np.int64)

    def expect(formula: Callable[..., int], scalars: Sequence[int], *lists: Sequence[Any]) -> list[Any]:
        return [
            np.array(
                [wrapped(formula(int(s), *map(int, t))) for t in zip(*(i.flat for i in tensors), strict=True)], np.int32
            ).reshape(tensors[0].shape)
            for s, *tensors in zip(scalars, *lists, strict=True)
        ]

    assert_alike(foreach.add_list(a, b, two), expect(lambda s, p, q: p + s * q, [2] * 4, a, b))
    assert_alike(foreach.sub_list(a, b, three), expect(lambda s, p, q: p - s * q, [3] * 4, a, b))
    assert_alike(foreach.mul_list(a, b), expect(lambda s, p, q: p * q, [0] * 4, a, b))
    assert_alike(foreach.maximum_list(a, b), expect(lambda s, p, q: max(p, q), [0] * 4, a, b))
    assert_alike(foreach.minimum_scalar(a, two), expect(lambda s, p: min(p, s), [2] * 4, a))
    assert_alike(foreach.mul_scalar(a, three), expect(lambda s, p: p * s, [3] * 4, a))
    assert_alike(foreach.add_scalar_list(a, many), expect(lambda s, p: p + s, [2, -3, 5, 7], a))
    assert_alike(foreach.sub_scalar_list(a, many), expect(lambda s, p: p - s, [2, -3, 5, 7], a))
    assert_alike(foreach.mul_scalar_list(a, many), expect(lambda s, p: p * s, [2, -3, 5, 7], a))
    assert_alike(foreach.addcmul_scalar(a, b, c, three), expect(lambda s, p, q, r: p + s * q * r, [3] * 4, a, b, c))
    assert_alike(foreach.addcmul_list(a, b, c, many), expect(lambda s, p, q, r: p + s * q * r, [2, -3, 5, 7], a, b, c))
    assert_alike(foreach.pow_scalar(b, three), expect(lambda s, p: p**s, [3] * 4, b))
    small = whole(0, 12)
    assert_alike(foreach.pow_scalar_and_tensor(scalar(-3, np.int64), small), expect(lambda s, p: s**p, [-3] * 4, small))


def test_powers_and_their_special_cases() -> None:
    x = reals(0.1, 4)
    assert_alike(foreach.pow_scalar(x, scalar(1.7)), each(lambda t: math.exp(1.7 * math.log(t)), x), 1e-12)
    assert_alike(foreach.pow_scalar_and_tensor(scalar(1.7), x), each(lambda t: math.exp(t * math.log(1.7)), x), 1e-12)
    base = [np.array([-2.0, 0.0])]
    assert foreach.pow_scalar(base, scalar(3.0))[0].tolist() == [-8.0, 0.0]
    assert foreach.pow_scalar(base, scalar(0.0))[0].tolist() == [1.0, 1.0]
    with np.errstate(invalid="ignore"):
        assert np.isnan(foreach.pow_scalar(base, scalar(0.5))[0]).tolist() == [True, False]
    assert foreach.pow_scalar_and_tensor(scalar(0.0), [np.array([0.0, 2.0])])[0].tolist() == [1.0, 0.0]


def test_interpolation_is_exact_at_its_ends() -> None:
    a, b = reals(-1e-9, 1e-9), reals(1e9, 2e9)
    assert_alike(foreach.lerp_scalar(a, b, scalar(0.0)), a, 0.0)
    assert_alike(foreach.lerp_scalar(a, b, scalar(1.0)), b, 0.0)


@pytest.mark.parametrize("p", [1, 2, 3.5])
def test_norms_of_whole_tensors(p: float) -> None:
    x = reals()
    expected = [np.array(math.fsum(abs(t) ** p for t in item.flat) ** (1 / p)) for item in x]
    assert_alike(foreach.norm(x, np.array(p)), expected, 1e-12)


def test_limits_of_norms() -> None:
    x = [np.array([[3.0, -4.0], [0.0, 1.0]])]
    norms = [foreach.norm(x, np.array(p))[0] for p in (math.inf, -math.inf, 0, np.int64(1))]
    assert [(float(item), item.shape) for item in norms] == [(4.0, ()), (0.0, ()), (3.0, ()), (8.0, ())]


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("place", [0, 3])
def test_unscaling_finds_what_is_not_finite_wherever_it_is(bad: float, place: int) -> None:
    grads = reals()
    scaled = [item.copy() for item in grads]
    scaled[place].reshape(-1)[-1] = bad
    unscaled, flag = foreach.non_finite_check_and_unscale(scaled, np.array(0.0), np.array(0.25))
    assert_alike(unscaled, [item * 0.25 for item in scaled])
    assert (flag.tolist(), flag.shape) == (1.0, ())


@pytest.mark.parametrize("before", [0.0, 1.0])
def test_unscaling_keeps_the_flag_where_all_is_finite(before: float) -> None:
    grads = reals()
    unscaled, flag = foreach.non_finite_check_and_unscale(grads, np.array([before]), np.array([8.0]))
    assert_alike(unscaled, [item * 8.0 for item in grads])
    assert flag.tolist() == [before]


def test_zero_keeps_shapes_and_types() -> None:
    x = [*reals(), *whole(-5, 5)]
    zeros = foreach.zero(x)
    assert [(item.shape, item.dtype) for item in zeros] == [(item.shape, item.dtype) for item in x]
    assert not any(item.any() for item in zeros)


def smoke(name: str) -> tuple[Task, Case]:
    task = suite()[name]
    return task, task.case("smoke")


def test_lists_updated_in_place_are_expected_as_lists() -> None:
    task, case = smoke("ForeachNonFiniteCheckAndUnscale")
    inputs = generate_inputs(task, case, 0)
    expected = expected_outputs(task, case, inputs)
    grads, flag, scaled = expected["scaled_grads_ref"], expected["found_inf_ref"], inputs["scaled_grads"]
    assert isinstance(grads, list)
    assert isinstance(scaled, list)
    assert isinstance(flag, np.ndarray)
    assert_alike(grads, [item.astype(np.float64) / 1024 for item in scaled])
    assert (flag.shape, float(flag)) == ((), 1.0)
    task, case = smoke("ForeachZeroInplace")
    zeros = expected_outputs(task, case, generate_inputs(task, case, 0))["x_ref"]
    assert isinstance(zeros, list)
    assert [item.shape for item in zeros] == [(7, 301), (129,), (3, 5, 7)]


def test_norms_are_one_number_per_tensor() -> None:
    task, case = smoke("ForeachNorm")
    norms = expected_outputs(task, case, generate_inputs(task, case, 0))["y"]
    assert isinstance(norms, list)
    assert [item.shape for item in norms] == [(), (), ()]


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch", reason="torch is not installed; the formulas above stand alone")


def tensors(torch: Any, arrays: Sequence[Any]) -> list[Any]:
    return [torch.from_numpy(np.asarray(item)) for item in arrays]


def numbers(results: Iterable[Any]) -> list[Any]:
    return [item.numpy() for item in results]


@pytest.mark.parametrize("name", [name for name, (_, function, _) in UNARY.items() if function])
def test_functions_of_one_list_agree_with_torch(torch: Any, name: str) -> None:
    _, function, x = UNARY[name]
    expected = getattr(torch, f"_foreach_{function}")(tensors(torch, x))
    assert_alike(getattr(foreach_unary, name)(x), numbers(expected), 1e-12)
    special = [np.array([np.nan, np.inf, -np.inf, 0.0, -0.0])]
    expected = getattr(torch, f"_foreach_{function}")(tensors(torch, special))
    with np.errstate(all="ignore"):
        actual = getattr(foreach_unary, name)(special)
    if name == "sign":  # NumPy has NaN for NaN, torch has zero; the task draws none
        actual[0][0] = 0.0
    assert_alike(actual, numbers(expected))


@pytest.mark.parametrize("name", ["absolute", "neg", "sign"])
def test_integer_functions_agree_with_torch(torch: Any, name: str) -> None:
    x = whole(-(2**31) + 1, 2**31)
    expected = getattr(torch, f"_foreach_{UNARY[name][1]}")(tensors(torch, x))
    assert_alike(getattr(foreach_unary, name)(x), numbers(expected))


@pytest.mark.parametrize(("mode", "function"), [(1, "round"), (2, "floor"), (3, "ceil"), (5, "trunc"), (7, "frac")])
def test_rounding_agrees_with_torch(torch: Any, mode: int, function: str) -> None:
    expected = getattr(torch, f"_foreach_{function}")(tensors(torch, QUARTERS))
    assert_alike(foreach_unary.round_off_number(QUARTERS, np.array(mode)), numbers(expected))


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_operations_on_lists_agree_with_torch(torch: Any, dtype: Any) -> None:
    a, b, c = (whole(-(2**31), 2**31), whole(-9, 9), whole(1, 9)) if dtype is np.int32 else (reals(), away(), away())
    s, many = dtype(3), np.array([2, -3, 5, 7], dtype=dtype)
    p, q, r = (tensors(torch, item) for item in (a, b, c))
    values = many.tolist()
    assert_alike(foreach.add_list(a, b, s), numbers(torch._foreach_add(p, q, alpha=3)))
    assert_alike(foreach.sub_list(a, b, s), numbers(torch._foreach_sub(p, q, alpha=3)))
    assert_alike(foreach.mul_list(a, b), numbers(torch._foreach_mul(p, q)))
    assert_alike(foreach.maximum_list(a, b), numbers(torch._foreach_maximum(p, q)))
    assert_alike(foreach.minimum_list(a, b), numbers(torch._foreach_minimum(p, q)))
    assert_alike(foreach.add_scalar(a, s), numbers(torch._foreach_add(p, 3)))
    assert_alike(foreach.sub_scalar(a, s), numbers(torch._foreach_sub(p, 3)))
    assert_alike(foreach.mul_scalar(a, s), numbers(torch._foreach_mul(p, 3)))
    assert_alike(foreach.maximum_scalar(a, s), numbers(torch._foreach_maximum(p, 3)))
    assert_alike(foreach.minimum_scalar(a, s), numbers(torch._foreach_minimum(p, 3)))
    assert_alike(foreach.add_scalar_list(a, many), numbers(torch._foreach_add(p, values)))
    assert_alike(foreach.sub_scalar_list(a, many), numbers(torch._foreach_sub(p, values)))
    assert_alike(foreach.mul_scalar_list(a, many), numbers(torch._foreach_mul(p, values)))
    assert_alike(foreach.addcmul_scalar(a, b, c, s), numbers(torch._foreach_addcmul(p, q, r, 3)), 1e-12)
    assert_alike(foreach.addcmul_list(a, b, c, many), numbers(torch._foreach_addcmul(p, q, r, values)), 1e-12)
    assert_alike(foreach.pow_scalar(b, s), numbers(torch._foreach_pow(q, 3)), 1e-12)
    assert_alike(foreach.pow_scalar_and_tensor(s, c), numbers(torch._foreach_pow(3, r)), 1e-12)


def test_operations_on_real_lists_agree_with_torch(torch: Any) -> None:
    a, b, c, many = reals(), away(), away(), np.array([2.0, -3.0, 0.5, 7.0])
    p, q, r = (tensors(torch, item) for item in (a, b, c))
    assert_alike(foreach.div_list(a, b), numbers(torch._foreach_div(p, q)))
    assert_alike(foreach.div_scalar(a, scalar(1.2)), numbers(torch._foreach_div(p, 1.2)))
    assert_alike(foreach.div_scalar_list(a, many), numbers(torch._foreach_div(p, many.tolist())))
    assert_alike(foreach.addcdiv_scalar(a, b, c, scalar(1.2)), numbers(torch._foreach_addcdiv(p, q, r, 1.2)), 1e-12)
    assert_alike(foreach.addcdiv_list(a, b, c, many), numbers(torch._foreach_addcdiv(p, q, r, many.tolist())), 1e-12)
    assert_alike(foreach.lerp_scalar(a, b, scalar(0.3)), numbers(torch._foreach_lerp(p, q, 0.3)), 1e-12)
    for order in (0, 1, 2, 3, math.inf, -math.inf):
        assert_alike(foreach.norm(a, np.array(order)), numbers(torch.linalg.vector_norm(t, order) for t in p), 1e-12)
    for order in (1, 2, math.inf):
        assert_alike(foreach.norm(a, np.array(order)), numbers(torch._foreach_norm(p, order)), 1e-12)
    torch._foreach_zero_(p)
    assert_alike(foreach.zero(a), numbers(p))


@pytest.mark.parametrize("bad", [1.0, math.inf, math.nan])
def test_unscaling_agrees_with_torch(torch: Any, bad: float) -> None:
    grads = [item.astype(np.float32) for item in reals()]
    grads[2][1, 1] = bad
    copies = [torch.from_numpy(item.copy()) for item in grads]
    flag = torch.zeros(1)
    torch._amp_foreach_non_finite_check_and_unscale_(copies, flag, torch.tensor([0.125]))
    unscaled, found_inf = foreach.non_finite_check_and_unscale(grads, np.zeros(1), np.array([0.125]))
    assert_alike(unscaled, numbers(copies))
    assert found_inf.tolist() == flag.tolist()
