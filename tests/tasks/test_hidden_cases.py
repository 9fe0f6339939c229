"""Hidden cases: drawn from a secret, as the task says, within bounds, and covering what must be covered."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from npukernelbench import nouns
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.hidden import MAX_ELEMENTS, HiddenCases, hidden_cases, secret_hash
from npukernelbench.tasks.hidden_default import combinations, default_forms
from npukernelbench.testing.tasks import tiny_task
from tests.suite import suite

SUITE = suite()
#: Some tasks of every sort, for many secrets.
SORTS = [
    "AbsMath",
    "CastMath",
    "Fill",
    "ForeachAddScalar",
    "ForeachAddScalarList",
    "MseLoss",
    "RmsNorm",
    "SwiGlu",
    "Swish",
]
SECRETS = st.text(min_size=1, max_size=12)


def tensors(case: nouns.Case) -> list[nouns.TensorShape]:
    items = [
        item for value in case.inputs.values() if value for item in (value if isinstance(value, tuple) else (value,))
    ]
    shapes = [item.tensor for item in items]
    for value in case.outputs.values():
        shapes += value if isinstance(value, tuple) else (value,)
    return shapes


def shape(case: nouns.Case, name: str) -> tuple[int, ...]:
    value = case.inputs[name]
    assert isinstance(value, nouns.TensorCase)
    return value.tensor.shape


def values_of(case: nouns.Case) -> list[nouns.ValueSpec]:
    return [
        item.values
        for value in case.inputs.values()
        if value
        for item in (value if isinstance(value, tuple) else (value,))
    ]


def drawn(form: nouns.HiddenForm, count: int = 24, **changes: object) -> tuple[nouns.Case, ...]:
    return hidden_cases(replace(tiny_task(), hidden=(form,), **changes), "s", count)  # type: ignore[arg-type]


@settings(max_examples=12, deadline=None)
@given(SECRETS, SECRETS)
@pytest.mark.parametrize("name", SORTS)
def test_one_secret_repeats_and_two_differ(name: str, secret: str, other: str) -> None:
    cases = hidden_cases(SUITE[name], secret)
    assert cases == hidden_cases(SUITE[name], secret)
    assert [case.id for case in cases] == [f"hidden-{number:03d}" for number in range(12)]
    assert hidden_cases(SUITE[name], secret, 5) == cases[:5]
    if other != secret:
        others = hidden_cases(SUITE[name], other)
        assert [case.inputs for case in others] != [case.inputs for case in cases]
        assert all(mine.salt != theirs.salt for mine, theirs in zip(cases, others, strict=True))


@settings(max_examples=15, deadline=None)
@given(SECRETS)
@pytest.mark.parametrize("name", SORTS)
def test_every_case_of_any_secret_fits(name: str, secret: str) -> None:
    assert_fits(SUITE[name], hidden_cases(SUITE[name], secret))


@pytest.mark.parametrize("name", sorted(SUITE))
def test_every_task_has_hidden_cases_that_fit_and_differ(name: str) -> None:
    cases, others = (hidden_cases(SUITE[name], secret) for secret in ("one", "two"))
    assert_fits(SUITE[name], cases)
    assert [case.inputs for case in others] != [case.inputs for case in cases]


def assert_fits(task: nouns.Task, cases: tuple[nouns.Case, ...]) -> None:
    """Interface, budget, profile and salt are right."""
    assert len(cases) == 12
    for case in cases:
        assert sum(item.size for item in tensors(case)) <= MAX_ELEMENTS
        assert tuple(case.inputs) == tuple(spec.name for spec in task.inputs)
        assert tuple(case.outputs) == tuple(spec.name for spec in task.outputs)
        assert tuple(case.attributes) == tuple(spec.name for spec in task.attributes)
        assert case.profiles == {"hidden"}
        assert case.salt
        assert all(len(item.shape) <= 8 for item in tensors(case))
        for spec in task.inputs:
            value = case.inputs[spec.name]
            assert value is not None or spec.presence is nouns.Presence.OPTIONAL
            for item in value if isinstance(value, tuple) else (value,) if value else ():
                assert item.tensor.dtype in spec.dtypes


@pytest.mark.parametrize("name", SORTS)
def test_the_reference_takes_every_case(name: str) -> None:
    task = SUITE[name]
    for case in hidden_cases(task, "any secret"):
        found = expected_outputs(task, case, generate_inputs(task, case, 0))
        assert found.keys() == case.outputs.keys()


@pytest.mark.parametrize("name", sorted(task.name for task in SUITE.values() if task.goldens))
def test_every_element_type_occurs(name: str) -> None:
    task = SUITE[name]
    spec = task.inputs[1] if name == "Fill" else task.inputs[0]
    stated = [form.dtypes for form in task.hidden or default_forms(task)] or [()]
    wanted = {combination[spec.name] for dtypes in stated for combination in combinations(task, dtypes)}
    seen = set()
    for case in hidden_cases(task, "types", 24 if len(wanted) < 7 else 64):
        value = case.inputs[spec.name]
        seen.add((value[0] if isinstance(value, tuple) else value).tensor.dtype)  # type: ignore[union-attr]
    assert seen == wanted


def test_an_element_wise_task_sees_every_kind_of_shape() -> None:
    cases = hidden_cases(SUITE["Sqrt"], "shapes")
    shapes = [shape(case, "x") for case in cases]
    assert any(prod(one) == 1 for one in shapes)
    assert any(one[-1] >= 50_000 for one in shapes)
    assert any(len(one) > 1 and one[0] >= 20_000 for one in shapes)
    assert any(one[-1] % 2 for one in shapes if prod(one) > 1000)
    assert any(all(extent & (extent - 1) == 0 for extent in one) and prod(one) > 1 for one in shapes)
    assert {len(one) for one in shapes} == {1, 2, 3, 4}


def test_primes_occur() -> None:
    def is_prime(number: int) -> bool:
        return number > 1 and all(number % divisor for divisor in range(2, int(number**0.5) + 1))

    form = nouns.HiddenForm(axes={"n": nouns.HiddenAxis(1, 4096)}, shapes={"x": ("n",)})
    assert sum(is_prime(shape(case, "x")[0]) and shape(case, "x")[0] > 1 for case in drawn(form, 28)) >= 4


def test_axes_stay_in_their_bounds_and_outputs_follow() -> None:
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(3, 50), "d": nouns.HiddenAxis(2, 640, 16)},
        shapes={"x": ("...", "n", "d")},
        outputs={"y": ("...", "d / 2", "n + 1")},
    )
    ranks = set()
    for case in drawn(form, 42):
        *rest, n, d = shape(case, "x")
        output = case.outputs["y"]
        assert isinstance(output, nouns.TensorShape)
        assert 3 <= n <= 50
        assert d % 16 == 0
        assert 16 <= d <= 640
        assert output.shape == (*rest, d // 2, n + 1)
        ranks.add(len(rest))
    assert ranks == {0, 1, 2, 3}


def test_what_cannot_be_small_enough_is_an_error_of_the_task() -> None:
    from npukernelbench.errors import TaskError

    form = nouns.HiddenForm(axes={"n": nouns.HiddenAxis(1 << 20, 1 << 21)}, shapes={"x": ("n",)})
    with pytest.raises(TaskError, match="smallest shapes have more than") as raised:
        drawn(form)
    assert raised.value.field == "hidden"


def test_broadcast_axes_are_one_or_whole() -> None:
    inputs = (nouns.InputSpec("x", (nouns.DType.FLOAT32,)), nouns.InputSpec("b", (nouns.DType.FLOAT32,)))
    case = tiny_task().cases[0]
    public = replace(case, inputs={"x": case.inputs["x"], "b": case.inputs["x"]})
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(2, 9), "d": nouns.HiddenAxis(2, 9)}, shapes={"x": ("n", "d"), "b": ("n|1", "d|1")}
    )
    seen = set()
    for one in drawn(form, 60, inputs=inputs, cases=(public,)):
        x, b = shape(one, "x"), shape(one, "b")
        assert all(mine in (1, whole) for mine, whole in zip(b, x, strict=True))
        seen.add(tuple(mine == 1 for mine in b))
    assert seen == {(False, False), (False, True), (True, False), (True, True)}


def optional_task(form: nouns.HiddenForm) -> nouns.Task:
    x = nouns.InputSpec("x", (nouns.DType.FLOAT32,))
    more = tuple(nouns.InputSpec(name, (nouns.DType.FLOAT32,), nouns.Presence.OPTIONAL) for name in ("a", "b", "c"))
    case = tiny_task().cases[0]
    public = replace(case, inputs={"x": case.inputs["x"], "a": case.inputs["x"], "b": None, "c": None})
    return replace(tiny_task(), inputs=(x, *more), cases=(public,), hidden=(form,))


def test_optional_inputs_come_and_go() -> None:
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(1, 9)}, shapes={"x": ("n",), "a": ("n",), "b": ("n",)}, required=("b",)
    )
    cases = hidden_cases(optional_task(form), "s")
    assert {case.inputs["a"] is None for case in cases} == {True, False}
    assert all(case.inputs["b"] is not None for case in cases)
    assert all(case.inputs["c"] is None for case in cases)


def test_inputs_that_an_output_follows_are_never_left_out() -> None:
    form = nouns.HiddenForm(axes={"n": nouns.HiddenAxis(1, 9)}, shapes={"x": ("n",), "a": ("n",)})
    task = replace(optional_task(form), outputs=(nouns.OutputSpec("y", dtype_like="a", shape_like="a"),))
    assert all(case.inputs["a"] is not None for case in hidden_cases(task, "s"))


def test_attributes_are_chosen_from_choices_ranges_and_extents() -> None:
    attributes = (
        nouns.AttributeSpec("dim", "int"),
        nouns.AttributeSpec("alpha", "float"),
        nouns.AttributeSpec("k", "int"),
        nouns.AttributeSpec("axes", "list_int"),
        nouns.AttributeSpec("mode", "str"),
        nouns.AttributeSpec("kept", "float", 2.5),
    )
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(4, 90)},
        shapes={"x": ("n",)},
        attributes={
            "dim": (0, -1),
            "alpha": nouns.HiddenRange(-1.0, 1.0),
            "k": ("n - 1",),
            "axes": ((0, "n"), (1,)),
            "mode": ("mean", "sum"),
        },
    )
    public = replace(
        tiny_task().cases[0],
        attributes={"dim": 0, "alpha": 0.0, "k": 1, "axes": (0,), "mode": "sum", "kept": 1.0},
    )
    cases = drawn(form, attributes=attributes, cases=(public,))
    assert {case.attributes["dim"] for case in cases} == {0, -1}
    alphas = [case.attributes["alpha"] for case in cases]
    assert len(set(alphas)) > 15
    assert all(isinstance(alpha, float) and -1 <= alpha <= 1 for alpha in alphas)
    assert all(case.attributes["k"] == shape(case, "x")[0] - 1 for case in cases)
    assert all(case.attributes["axes"] in ((1,), (0, shape(case, "x")[0])) for case in cases)
    assert {case.attributes["mode"] for case in cases} == {"mean", "sum"}
    assert {case.attributes["kept"] for case in cases} == {2.5}


def test_values_may_depend_on_extents() -> None:
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(2, 9)}, shapes={"x": ("n",)}, values={"x": {"uniform": [0, "n"]}}
    )
    for case in drawn(form):
        assert values_of(case) == [nouns.ValueSpec("uniform", {"low": 0.0, "high": float(shape(case, "x")[0])})]


def test_half_of_the_cases_have_unusual_values() -> None:
    form = nouns.HiddenForm(
        axes={"n": nouns.HiddenAxis(2, 9)},
        shapes={"x": ("n",)},
        value_classes={"x": (nouns.ValueClass("nan"), nouns.ValueClass("large", 10.0))},
    )
    kinds = [values_of(case)[0] for case in drawn(form, 16)]
    special = [item for item in kinds if item.kind == "special"]
    assert len(special) == 8
    assert sorted(str(item.args["class"]) for item in special) == ["large"] * 4 + ["nan"] * 4
    assert {item.args.get("limit") for item in special} == {None, 10.0}


def test_integers_are_spared_unusual_values() -> None:
    found = {
        (values.kind, tensors(case)[0].dtype)
        for case in hidden_cases(SUITE["AbsMath"], "s", 60)
        for values in values_of(case)
    }
    assert ("special", nouns.DType.COMPLEX64) in found
    assert {dtype for kind, dtype in found if kind == "special"}.isdisjoint({nouns.DType.INT32, nouns.DType.INT64})


def test_lists_vary_in_length_and_their_tensors_in_shape() -> None:
    lengths = set()
    for case in hidden_cases(SUITE["ForeachAddScalar"], "s", 24):
        x, y = case.inputs["x"], case.outputs["y"]
        assert isinstance(x, tuple)
        assert isinstance(y, tuple)
        assert [item.tensor.shape for item in x] == [item.shape for item in y]
        assert len({item.tensor.dtype for item in x}) == 1
        lengths.add(len(x))
    assert 1 in lengths
    assert len(lengths) >= 4


def test_a_form_without_shapes_has_those_of_the_default_rule_and_its_own_attributes() -> None:
    cases = hidden_cases(SUITE["Swish"], "s")
    assert len({case.attributes["scale"] for case in cases}) == 12
    assert all(-2 <= float(case.attributes["scale"]) <= 2 for case in cases)  # type: ignore[arg-type]


def test_a_task_that_says_nothing_and_is_not_element_wise_has_none() -> None:
    assert hidden_cases(replace(SUITE["RmsNorm"], hidden=()), "s") == ()
    assert len(hidden_cases(replace(SUITE["Sqrt"], hidden=()), "s")) == 12
    assert hidden_cases(replace(SUITE["Sqrt"], hidden=(), tags=frozenset()), "s") == ()


def test_a_section_without_shapes_where_the_rule_does_not_fit_is_an_error() -> None:
    from npukernelbench.errors import TaskError

    task = replace(SUITE["RmsNorm"], hidden=(nouns.HiddenForm(value_classes={"x": (nouns.ValueClass("tiny"),)}),))
    with pytest.raises(TaskError, match="the section has no shapes"):
        hidden_cases(task, "s")


def test_whole_numbers_among_attributes_keep_the_rank_they_came_with() -> None:
    case = tiny_task().cases[0]
    tensor = nouns.TensorShape((4, 5, 6), nouns.DType.FLOAT32)
    public = replace(
        case, inputs={"x": nouns.TensorCase(tensor, nouns.ValueSpec())}, outputs={"y": tensor}, attributes={"dim": 2}
    )
    task = replace(
        tiny_task(),
        tags=frozenset({"elementwise"}),
        attributes=(nouns.AttributeSpec("dim", "int"),),
        cases=(public,),
    )
    assert {len(shape(hidden_case, "x")) for hidden_case in hidden_cases(task, "s")} == {3}


def test_inputs_depend_on_the_secret_and_not_only_on_the_shape() -> None:
    task = SUITE["Sqrt"]
    case = max(hidden_cases(task, "one"), key=lambda case: tensors(case)[0].size)
    other = replace(case, salt=hidden_cases(task, "two")[0].salt)
    first, second, again = (generate_inputs(task, one, 3)["x"] for one in (case, other, case))
    assert first.tobytes() == again.tobytes()  # type: ignore[union-attr]
    assert case.salt != other.salt
    assert first.tobytes() != second.tobytes()  # type: ignore[union-attr]


def test_on_the_dynamic_track_hidden_cases_belong_to_what_is_judged() -> None:
    static, dynamic = HiddenCases("s", nouns.Track.STATIC), HiddenCases("s", nouns.Track.DYNAMIC)
    task = SUITE["Sqrt"]
    assert "zebra" not in repr(HiddenCases("zebra", nouns.Track.STATIC))
    [plain] = SUITE.select(["Sqrt"], static)
    [whole] = SUITE.select(["Sqrt"], dynamic)
    assert [case.id for case in plain.cases] == ["0", "1", "2", "3", "4"]
    assert [case.id for case in whole.cases[:5]] == ["0", "1", "2", "3", "4"]
    assert [case.id for case in whole.cases[5:]] == [case.id for case in static(task)]
    assert whole.task.cases == task.cases


@pytest.mark.parametrize("hidden", [HiddenCases("s", nouns.Track.STATIC), HiddenCases("s", nouns.Track.DYNAMIC)])
def test_hidden_cases_are_selected_by_name(hidden: HiddenCases) -> None:
    [selected] = SUITE.select(["Sqrt:hidden-003"], hidden)
    assert [case.id for case in selected.cases] == ["hidden-003"]
    [selected] = SUITE.select(["Sqrt:0,Sqrt:hidden-00?"], hidden)
    assert [case.id for case in selected.cases] == ["0", *(f"hidden-{number:03d}" for number in range(10))]
    assert [one.task.name for one in SUITE.select(["all:hidden"], hidden)] == list(SUITE)
    assert {len(one.cases) for one in SUITE.select(["math:hidden"], hidden)} == {12}
    [selected] = SUITE.select(["Sqrt:smoke"], hidden)
    assert [case.id for case in selected.cases] == ["smoke"]


def test_without_a_secret_the_remedy_names_the_option() -> None:
    from npukernelbench.errors import UsageError

    with pytest.raises(UsageError) as raised:
        SUITE.select(["Sqrt:hidden-003"])
    assert "--hidden_seed" in str(raised.value.remedy)
    with pytest.raises(UsageError, match="there is no task or group 'hidden'"):
        SUITE.select(["hidden"])


def test_the_hash_tells_secrets_apart_and_nothing_of_them() -> None:
    assert secret_hash("a") == secret_hash("a")
    assert secret_hash("a") != secret_hash("b")
    assert len(secret_hash("zebra")) == 32


def test_drawing_imports_no_numpy() -> None:
    code = (
        "import sys\nfrom npukernelbench.plugins import Plugins\nfrom npukernelbench.tasks import load_registry\n"
        "from npukernelbench.tasks.hidden import hidden_cases\nfrom npukernelbench.testing.tasks import tiny_task\n"
        "hidden_cases(tiny_task(), 's')\nprint('numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "False"
