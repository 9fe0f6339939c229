"""Cases cut down along an axis that has a name: everything that belongs to it is cut with it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from npukb_conformance.axes import has_form, scale_axis
from npukb_conformance.dispatch import Rule, as_judged
from npukb_conformance.scale import MOST_ELEMENTS, elements
from npukernelbench.nouns import Case, DType, HiddenAxis, HiddenForm, TensorCase, TensorShape, ValueSpec
from npukernelbench.testing import tiny_case, tiny_task

MATMUL = HiddenForm(shapes={"a": ("m", "k"), "b": ("k", "n")}, outputs={"c": ("m * n",)})
GROUPS = HiddenForm(
    shapes={"a": ("m", "k"), "b": ("g", "k", "n"), "ends": ("g",)},
    outputs={"c": ("m", "n")},
    values={"ends": {"group_ends": "m"}},
)


def case(inputs: dict[str, tuple[int, ...]], output: tuple[int, ...], **values: ValueSpec) -> Case:
    tensors = {
        name: TensorCase(TensorShape(shape, DType.FLOAT16), values.get(name, ValueSpec()))
        for name, shape in inputs.items()
    }
    return Case("0", tensors, {"c": TensorShape(output, DType.FLOAT16)}, {})


def matmul(m: int, k: int, n: int) -> Case:
    return case({"a": (m, k), "b": (k, n)}, (m * n,))


def ends(total: int) -> ValueSpec:
    return ValueSpec("group_ends", {"total": total})


def shapes(one: Case) -> dict[str, tuple[int, ...]]:
    found = {name: value.tensor.shape for name, value in one.inputs.items() if isinstance(value, TensorCase)}
    return found | {"c": one.outputs["c"].shape}


def task(*forms: HiddenForm):
    return replace(tiny_task(cases=(tiny_case("0"),)), outputs=(), hidden=forms)


def test_the_outer_axis_of_the_largest_input_is_cut_wherever_it_appears():
    scaled = scale_axis(task(MATMUL), matmul(10, 100, 640), 32_400)
    assert scaled is not None
    assert shapes(scaled.case) == {"a": (10, 44), "b": (44, 640), "c": (6400,)}
    assert (scaled.before, scaled.after) == ((100, 640), (44, 640))


def test_rows_are_cut_with_the_results_that_they_make_and_nothing_else():
    scaled = scale_axis(task(MATMUL), matmul(1000, 64, 8), 64 * 8 + 64 * 500)
    assert scaled is not None
    assert shapes(scaled.case) == {"a": (472, 64), "b": (64, 8), "c": (472 * 8,)}


def test_generators_go_with_the_axes_that_they_name():
    rows = case({"a": (4000, 10), "b": (2, 10, 5), "ends": (2,)}, (4000, 5), ends=ends(4000))
    scaled = scale_axis(task(GROUPS), rows, 20_000)
    assert scaled is not None
    kept = shapes(scaled.case)["a"][0]
    assert scaled.case.inputs["ends"].values == ends(kept)
    assert shapes(scaled.case) == {"a": (kept, 10), "b": (2, 10, 5), "ends": (2,), "c": (kept, 5)}
    groups = case({"a": (40, 10), "b": (64, 10, 5), "ends": (64,)}, (40, 5), ends=ends(40))
    scaled = scale_axis(task(GROUPS), groups, 2_500)
    assert scaled is not None
    assert shapes(scaled.case) == {"a": (40, 10), "b": (40, 10, 5), "ends": (40,), "c": (40, 5)}
    assert scaled.case.inputs["ends"].values == ends(40)


def test_a_case_agrees_with_a_form_only_in_every_extent_and_generator():
    good = case({"a": (40, 10), "b": (64, 10, 5), "ends": (64,)}, (40, 5), ends=ends(40))
    assert has_form(task(MATMUL, GROUPS), good)
    assert not has_form(task(MATMUL), good)
    other = replace(good.inputs["ends"], values=ends(39))
    assert not has_form(task(GROUPS), replace(good, inputs={**good.inputs, "ends": other}))
    assert not has_form(task(GROUPS), replace(good, outputs={"c": TensorShape((40, 6), DType.FLOAT16)}))
    assert not has_form(task(), good)


def test_what_no_form_names_is_not_cut():
    fixed = HiddenForm(shapes={"a": ("m", "k"), "b": (100, "n")}, outputs={"c": ("m * n",)})
    assert scale_axis(task(fixed), matmul(10, 100, 640), 32_400) is None
    assert scale_axis(task(MATMUL), case({"a": (10, 99), "b": (100, 640)}, (6400,)), 32_400) is None


def test_an_axis_of_multiples_stays_one():
    sixteens = replace(MATMUL, axes={"m": HiddenAxis(1, 9), "k": HiddenAxis(16, 512, 16), "n": HiddenAxis(1, 9)})
    scaled = scale_axis(task(sixteens), matmul(2, 480, 10), 12 * 250)
    assert scaled is not None
    assert shapes(scaled.case)["b"][0] % 16 == 0


def test_judging_cuts_by_name_only_what_would_not_agree_any_more():
    large = matmul(640, 65536, 256)
    assert shapes(as_judged(task(MATMUL), large, Rule()).case) == {"a": (256, 65536), "b": (65536, 256), "c": (65536,)}
    unnamed = as_judged(task(), large, Rule()).case
    assert shapes(unnamed)["a"][1] != shapes(unnamed)["b"][0]
    assert elements(unnamed) <= MOST_ELEMENTS


@given(st.integers(2, 400), st.integers(2, 400), st.integers(1, 50), st.integers(500, 4000))
def test_what_is_cut_keeps_to_the_limit_and_to_its_form(m, k, n, limit):
    scaled = scale_axis(task(MATMUL), matmul(m, k, n), limit)
    if scaled is None:
        assert m * k + k * n > limit
        return
    assert elements(scaled.case) <= limit
    assert has_form(task(MATMUL), scaled.case)
