from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, DType, OutputSpec, Task, TensorShape
from npukernelbench.reference import (
    activation,
    comparison,
    expected_outputs,
    foreach,
    loss,
    norm,
    resolve,
    tensor_creation,
)
from npukernelbench.reference import math as elementwise
from npukernelbench.tasks import generate_inputs
from npukernelbench.testing.tasks import tiny_task
from tests.reference.plain import assert_closest, each
from tests.suite import suite

RNG = np.random.default_rng(5)


def test_elementwise_arithmetic() -> None:
    x, y = RNG.normal(size=(2, 3, 5))
    assert_closest(elementwise.sqrt(np.abs(x)), each(math.sqrt, np.abs(x)))
    assert_closest(elementwise.add(x, y), each(lambda a, b: math.fsum((a, b)), x, y))
    with np.errstate(invalid="ignore"):
        assert np.isnan(elementwise.sqrt(np.array([-1.0]))).all()


def test_absolute_values() -> None:
    assert elementwise.absolute(np.array([-(2**62), 3], dtype=np.int64)).tolist() == [2**62, 3]
    assert elementwise.absolute(np.array([-5], dtype=np.int32)).dtype == np.int32
    assert not np.signbit(elementwise.absolute(np.array([-0.0])))[0]
    z = np.array([3 - 4j, -5 + 12j])
    assert elementwise.absolute(z).tolist() == [5.0, 13.0]


def test_products_with_a_scalar() -> None:
    assert elementwise.multiply_by_scalar(np.array([2.0, -3.0]), np.array([1.5])).tolist() == [3.0, -4.5]
    whole = elementwise.multiply_by_scalar(np.array([7, -7], dtype=np.int16), np.array([1.5]))
    assert (whole.tolist(), whole.dtype.name) == ([10, -10], "int16")
    assert elementwise.multiply_by_scalar(np.array([1 + 2j]), np.array([3.0])).tolist() == [3 + 6j]


def test_equality_follows_ieee() -> None:
    a = np.array([0.0, np.nan, 1.0, np.inf])
    b = np.array([-0.0, np.nan, 1.0 + 2**-52, np.inf])
    assert comparison.equal(a, b).tolist() == [True, False, False, True]
    big = np.array([2**24, 2**24], dtype=np.int32)
    assert comparison.equal(big, big + np.array([0, 1], dtype=np.int32)).tolist() == [True, False]


def test_fill_takes_shape_and_type_from_its_inputs() -> None:
    y = tensor_creation.fill(np.array([2, 3], dtype=np.int64), np.array([-7], dtype=np.int8))
    assert (y.shape, y.dtype.name, set(y.reshape(-1).tolist())) == ((2, 3), "int8", {-7})
    assert tensor_creation.fill(np.array([], dtype=np.int64), np.array(True)).shape == ()


def sigmoid(t: float) -> float:
    return 1.0 / (1.0 + math.exp(-t)) if t >= 0 else math.exp(t) / (1.0 + math.exp(t))


@given(hnp.arrays(np.float64, st.integers(1, 30), elements=st.floats(-80, 80)), st.floats(0.25, 2.0, width=32))
@settings(max_examples=50, deadline=None)
def test_activations_against_scalar_formulas(x: Any, scale: float) -> None:
    assert_closest(activation.swish(x, scale), each(lambda t: t * sigmoid(scale * t), x), 1e-12)
    half = each(lambda t: 0.5 * t * (1 + math.tanh(math.sqrt(2 / math.pi) * (t + 0.044715 * t**3))), x)
    np.testing.assert_allclose(activation.gelu(x), half, rtol=1e-9, atol=1e-13)
    pair = np.stack([x, x[::-1]])
    assert_closest(activation.swiglu(pair, 0), [each(lambda a, b: a * sigmoid(a) * b, x, x[::-1])], 1e-12)


def test_gelu_is_near_the_error_function_form_but_not_it() -> None:
    x = np.linspace(-6, 6, 1001)
    exact = each(lambda t: 0.5 * t * (1 + math.erf(t / math.sqrt(2))), x)
    assert 1e-4 < np.abs(activation.gelu(x) - exact).max() < 5e-4


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2])
def test_swiglu_cuts_along_its_axis(dim: int) -> None:
    x = RNG.normal(size=(4, 6, 8))
    y = activation.swiglu(x, dim)
    extent = x.shape[dim] // 2
    first, second = np.moveaxis(x, dim, 0)[:extent], np.moveaxis(x, dim, 0)[extent:]
    assert_closest(np.moveaxis(y, dim, 0), each(lambda a, b: a * sigmoid(a) * b, first, second), 1e-12)


def test_rms_norm_row_by_row() -> None:
    x, gamma = RNG.normal(size=(3, 2, 7)), RNG.normal(size=7)
    y, rstd = norm.rms_norm(x, gamma, 1e-6)
    assert (y.shape, rstd.shape) == ((3, 2, 7), (3, 2, 1))
    epsilon = float(np.float32(1e-6))
    for index in np.ndindex(3, 2):
        root = 1 / math.sqrt(math.fsum(t * t for t in x[index]) / 7 + epsilon)
        assert_closest(rstd[index][0], root)
        assert_closest(y[index], [t * root * g for t, g in zip(x[index], gamma, strict=True)])


def test_rms_norm_over_two_axes() -> None:
    x, gamma = RNG.normal(size=(3, 2, 7)), RNG.normal(size=(2, 7))
    y, rstd = norm.rms_norm(x, gamma, 0.5)
    assert rstd.shape == (3, 1, 1)
    assert_closest(y[1], x[1] * gamma / math.sqrt(np.square(x[1]).sum() / 14 + 0.5))


def test_mse_loss_in_exact_arithmetic() -> None:
    a, b = RNG.integers(-50, 50, size=(2, 11)) / 8
    terms = [(Fraction(p) - Fraction(q)) ** 2 for p, q in zip(a, b, strict=True)]
    assert loss.mse_loss(a, b, "none").tolist() == [float(term) for term in terms]
    assert_closest(loss.mse_loss(a, b, "sum"), float(sum(terms)))
    assert_closest(loss.mse_loss(a, b, "mean"), float(sum(terms) / 11))
    assert loss.mse_loss(a, b, "mean").shape == ()
    with pytest.raises(ValueError, match="none, mean or sum"):
        loss.mse_loss(a, b, "max")


def test_foreach_add_scalar_keeps_types_and_wraps() -> None:
    x = [np.array([1, 2**31 - 1], dtype=np.int32), np.array([[5]], dtype=np.int32)]
    y = foreach.add_scalar(x, np.array([1], dtype=np.int32))
    assert [(item.tolist(), item.dtype.name) for item in y] == [([2, -(2**31)], "int32"), ([[6]], "int32")]
    assert foreach.add_scalar([np.array([1.5])], np.array([0.25]))[0].tolist() == [1.75]


def smoke(name: str) -> tuple[Task, Case]:
    task = suite()[name]
    return task, task.case("smoke")


def test_expected_outputs_see_inputs_rounded_to_the_element_type() -> None:
    task, case = smoke("AddCustom")
    inputs = generate_inputs(task, case, 3)
    assert inputs["x"].dtype == np.float16  # type: ignore[union-attr]
    z = expected_outputs(task, case, inputs)["z"]
    assert isinstance(z, np.ndarray)
    assert z.dtype == np.float64
    assert np.array_equal(z, inputs["x"].astype(float) + inputs["y"].astype(float))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("name", "output", "dtype"),
    [("Equal", "y", "bool"), ("RmsNorm", "rstd", "float64"), ("MseLoss", "y", "float64")],
)
def test_expected_outputs_have_the_judged_type_and_shape(name: str, output: str, dtype: str) -> None:
    task, case = smoke(name)
    outputs = expected_outputs(task, case, generate_inputs(task, case, 0))
    array, declared = outputs[output], case.outputs[output]
    assert isinstance(array, np.ndarray)
    assert isinstance(declared, TensorShape)
    assert (array.dtype.name, array.shape) == (dtype, declared.shape)
    assert list(outputs) == list(case.outputs)


def test_lists_and_complex_numbers_come_out_as_such() -> None:
    task, case = smoke("ForeachAddScalar")
    outputs = expected_outputs(task, case, generate_inputs(task, case, 0))["y"]
    assert isinstance(outputs, list)
    assert [item.shape for item in outputs] == [(7, 301), (129,), (3, 5, 7)]
    muls = suite()["Muls"]
    case = muls.case("complex64_by_3")
    y = expected_outputs(muls, case, generate_inputs(muls, case, 0))["y"]
    assert isinstance(y, np.ndarray)
    assert y.dtype == np.complex128


def test_every_installed_reference_gives_what_its_cases_declare() -> None:
    seen = 0
    for task in suite().values():
        for case in task.cases:
            if {"smoke", "extra"} & case.profiles:
                expected_outputs(task, case, generate_inputs(task, case, 1))
                seen += 1
    assert seen >= 15


@pytest.mark.parametrize("name", ["math.nothing", "nothing.sqrt", "sqrt", "os.path:nothing", "nowhere:f"])
def test_an_unknown_reference_is_a_task_error(name: str) -> None:
    with pytest.raises(TaskError, match="no reference") as caught:
        resolve(name)
    assert caught.value.field == "reference"


def test_a_reference_may_live_anywhere_but_must_be_a_function() -> None:
    assert resolve("math:hypot") is math.hypot
    with pytest.raises(TaskError, match="not a function"):
        resolve("math:pi")


def declared(*outputs: OutputSpec, **shapes: TensorShape | tuple[TensorShape, ...]) -> tuple[Task, Case]:
    task = tiny_task()
    case = replace(task.cases[0], outputs=shapes)
    return replace(task, outputs=outputs, cases=(case,)), case


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (TensorShape((5, 4), DType.FLOAT32), "gives 'y' the shape"),
        (TensorShape((4, 5), DType.INT32), "float64 for the int32 output"),
        ((TensorShape((4, 5), DType.FLOAT32),), "must return 1 tensors"),
    ],
)
def test_a_reference_at_odds_with_its_case_is_a_task_error(
    shape: TensorShape | tuple[TensorShape, ...], words: str
) -> None:
    task, case = declared(OutputSpec("y"), y=shape)
    inputs = generate_inputs(task, case, 0)
    with pytest.raises(TaskError, match=words) as caught:
        expected_outputs(task, case, inputs)
    assert caught.value.field == "cases.smoke"
    assert caught.value.exit_code == 3


def test_references_agree_with_torch() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed; the formulas above stand alone")
    x, y = RNG.normal(size=(2, 6, 8))
    t, u = torch.from_numpy(x), torch.from_numpy(y)
    functional = torch.nn.functional
    assert_closest(elementwise.absolute(x + 1j * y), torch.abs(torch.complex(t, u)).numpy())
    assert_closest(activation.swish(x, 1.0), functional.silu(t).numpy(), 1e-12)
    assert_closest(activation.gelu(x), functional.gelu(t, approximate="tanh").numpy(), 1e-9)
    assert_closest(loss.mse_loss(x, y, "mean"), functional.mse_loss(t, u).numpy(), 1e-12)
    assert_closest(comparison.equal(x, y), torch.eq(t, u).numpy())
