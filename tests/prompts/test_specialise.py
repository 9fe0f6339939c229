from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench import nouns
from npukernelbench.errors import TaskError
from npukernelbench.prompts import case_prelude, specialise
from npukernelbench.testing.tasks import tiny_task
from tests.suite import suite

VALUES = nouns.ValueSpec()


def rich_task() -> tuple[nouns.Task, nouns.Case]:
    """A task with every kind of argument and attribute."""
    attributes: dict[str, tuple[str, nouns.AttributeValue]] = {
        "dim": ("int", -1),
        "big": ("int", 2**40),
        "epsilon": ("float", 1e-6),
        "one": ("float", 1.0),
        "ceiling": ("float", float("inf")),
        "exact": ("bool", True),
        "reduction": ("str", "no-ne"),
        "axes": ("list_int", (0, 2)),
        "weights": ("list_float", (0.5, 2.0)),
        "nothing": ("list_int", ()),
    }
    task = replace(
        tiny_task(),
        name="Rich",
        inputs=(
            nouns.InputSpec("x", (nouns.DType.FLOAT16, nouns.DType.BFLOAT16)),
            nouns.InputSpec("bias", (nouns.DType.FLOAT32,), nouns.Presence.OPTIONAL),
            nouns.InputSpec("mask", (nouns.DType.BOOL,), nouns.Presence.OPTIONAL),
            nouns.InputSpec("parts", (nouns.DType.FLOAT16,), nouns.Presence.DYNAMIC),
        ),
        outputs=(nouns.OutputSpec("y", nouns.DType.COMPLEX64), nouns.OutputSpec("total", nouns.DType.FLOAT32)),
        attributes=tuple(nouns.AttributeSpec(name, kind) for name, (kind, _) in attributes.items()),
    )
    case = nouns.Case(
        "c1",
        {
            "x": nouns.TensorCase(nouns.TensorShape((2, 0, 3), nouns.DType.BFLOAT16), VALUES),
            "bias": None,
            "mask": nouns.TensorCase(nouns.TensorShape((5,), nouns.DType.BOOL), VALUES),
            "parts": tuple(
                nouns.TensorCase(nouns.TensorShape(shape, nouns.DType.FLOAT16), VALUES) for shape in [(7, 3), ()]
            ),
        },
        {"y": nouns.TensorShape((7, 301), nouns.DType.COMPLEX64), "total": nouns.TensorShape((), nouns.DType.FLOAT32)},
        {name: value for name, (_, value) in attributes.items()},
    )
    return task, case


def test_every_kind_of_argument_has_its_constants() -> None:
    lines = case_prelude(*rich_task()).splitlines()
    assert (
        lines
        == """\
// Task Rich, case c1: constants of the static track.
#define DTYPE_X bfloat16_t
#define X_IS_FLOAT16 0
#define X_IS_BFLOAT16 1
#define DTYPE_MASK bool
#define MASK_IS_BOOL 1
#define DTYPE_PARTS half
#define PARTS_IS_FLOAT16 1
#define DTYPE_Y float
#define Y_IS_COMPLEX64 1
#define DTYPE_TOTAL float
#define TOTAL_IS_FLOAT32 1
#define REDUCTION_NO_NE 1
namespace task_case {
constexpr uint32_t X_SIZE = 0;
constexpr int32_t X_RANK = 3;
constexpr int64_t X_SHAPE[] = {2, 0, 3};
constexpr bool BIAS_PRESENT = false;
constexpr bool MASK_PRESENT = true;
constexpr uint32_t MASK_SIZE = 5;
constexpr int32_t MASK_RANK = 1;
constexpr int64_t MASK_SHAPE[] = {5};
constexpr uint32_t PARTS_COUNT = 2;
constexpr uint32_t PARTS_SIZES[] = {21, 1};
constexpr uint32_t Y_SIZE = 2107;
constexpr int32_t Y_RANK = 2;
constexpr int64_t Y_SHAPE[] = {7, 301};
constexpr uint32_t TOTAL_SIZE = 1;
constexpr int32_t TOTAL_RANK = 0;
constexpr int64_t TOTAL_SHAPE[] = {1};
constexpr int64_t DIM = -1;
constexpr int64_t BIG = 1099511627776LL;
constexpr float EPSILON = 1e-06f;
constexpr float ONE = 1.0f;
constexpr float CEILING = __builtin_inff();
constexpr bool EXACT = true;
constexpr const char* REDUCTION = "no-ne";
constexpr uint32_t AXES_COUNT = 2;
constexpr int64_t AXES[] = {0, 2};
constexpr uint32_t WEIGHTS_COUNT = 2;
constexpr float WEIGHTS[] = {0.5f, 2.0f};
constexpr uint32_t NOTHING_COUNT = 0;
constexpr int64_t NOTHING[] = {0};
}  // namespace task_case""".splitlines()
    )


def test_the_prelude_stands_between_the_framework_and_the_golden() -> None:
    task, case = rich_task()
    text = specialise(task, case, '#include "kernel_operator.h"\n// golden\n')
    assert text.startswith('#include "kernel_operator.h"\n// Task Rich, case c1')
    assert text.endswith('\n#include "kernel_operator.h"\n// golden\n')


def test_types_of_outputs_follow_the_interface_and_the_case() -> None:
    task = suite()["AbsMath"]
    prelude = case_prelude(task, task.case("16"))
    flags = [line for line in prelude.splitlines() if line.startswith("#define Y_IS_")]
    types = ("BFLOAT16", "FLOAT16", "FLOAT32", "INT32", "INT64", "COMPLEX64")
    assert flags == [f"#define Y_IS_{name} {int(name == 'FLOAT32')}" for name in types]
    assert "#define DTYPE_X float\n" in prelude
    assert "#define X_IS_COMPLEX64 1\n" in prelude


def test_texts_have_a_macro_for_every_value_that_occurs() -> None:
    task = suite()["MseLoss"]
    flags = [line for line in case_prelude(task, task.case("2")).splitlines() if line.startswith("#define REDUCTION")]
    assert flags == ["#define REDUCTION_MEAN 0", "#define REDUCTION_NONE 0", "#define REDUCTION_SUM 1"]


def with_attributes(**values: nouns.AttributeValue) -> tuple[nouns.Task, nouns.Case]:
    task, case = rich_task()
    case = replace(case, attributes={**case.attributes, **values})
    return replace(task, cases=(case,)), case


def test_two_texts_of_one_macro_are_refused() -> None:
    task, case = with_attributes(reduction="a-b")
    other = replace(case, attributes={**case.attributes, "reduction": "a_b"})
    with pytest.raises(TaskError, match="'a-b' and 'a_b' have the same macro REDUCTION_A_B") as refused:
        case_prelude(replace(task, cases=(case, other)), case)
    assert (refused.value.field, refused.value.owner) == ("reduction", nouns.Owner.TASK)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("big", 2**63, "9223372036854775808 is beyond int64_t"),
        ("weights", (1.0, -1e300), r"-1e\+300 is beyond float"),
    ],
)
def test_numbers_beyond_their_type_are_refused(name: str, value: nouns.AttributeValue, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        case_prelude(*with_attributes(**{name: value}))


def test_the_extremes_of_a_type_are_its_constants() -> None:
    prelude = case_prelude(*with_attributes(big=-(2**63), one=3.4028235e38, axes=(2**63 - 1, -(2**31))))
    assert "BIG = (-9223372036854775807LL - 1);" in prelude
    assert "ONE = 3.4028235e+38f;" in prelude
    assert "AXES[] = {9223372036854775807LL, -2147483648LL};" in prelude


def test_an_empty_list_has_no_element_type() -> None:
    task, case = rich_task()
    prelude = case_prelude(task, replace(case, inputs={**case.inputs, "parts": ()}))
    assert "PARTS_COUNT = 0;" in prelude
    assert "DTYPE_PARTS" not in prelude


def test_every_prelude_is_valid_cpp17(tmp_path: Path) -> None:
    """All installed cases and the rich one, each in a namespace of its own, in one translation unit."""
    pytest.importorskip("ziglang", reason="the pinned compiler is not installed")
    cases = [(task, case) for task in suite().values() for case in task.cases]
    preludes = [
        case_prelude(task, case).replace("namespace task_case", f"namespace task_case_{number}")
        for number, (task, case) in enumerate([*cases, rich_task()])
    ]
    source = tmp_path / "preludes.cpp"
    types = "using uint32_t = unsigned; using int32_t = int; using int64_t = long long;\n"
    use = 'constexpr bool flags = X_IS_BFLOAT16 && !X_IS_FLOAT16;\nstatic_assert(flags, "");\n'
    check = f'static_assert(task_case_{len(cases)}::EPSILON < 2e-6f && REDUCTION_NO_NE, "");\n'
    guard = "#if X_IS_NOTHING\n#error an undefined name must read as 0\n#endif\n"
    source.write_text(types + "".join(preludes) + guard + use + check)
    flags = ["-std=c++17", "-nostdinc", "-nostdinc++", "-Wno-macro-redefined", "-c", "-o", str(tmp_path / "preludes.o")]
    command = [sys.executable, "-m", "ziglang", "c++", *flags, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("char", "written"),
    [
        ("\x01", r"\001"),
        ("\n", r"\n"),
        ('"', r"\""),
        ("\\", r"\\"),
        ("\u00e9", r"\u00e9"),
        ("\U0001f600", "\U0001f600"),
    ],
)
def test_texts_are_strings_of_c_plus_plus(char: str, written: str) -> None:
    """It has no ``\\u`` for control characters and halves of a character."""
    task, case = rich_task()
    case = replace(case, attributes={**case.attributes, "reduction": f"a{char}1"})
    assert f'constexpr const char* REDUCTION = "a{written}1";' in case_prelude(task, case)
