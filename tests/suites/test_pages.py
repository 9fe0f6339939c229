"""The pages on bringing one's own: every command is executed in order, with the files that the page shows beside it."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from npukb_suites.definitions import interface_of
from npukb_suites.sketching import MEMBERS
from npukb_suites.torch_client import VARIABLE, torch_host
from npukb_twin.operator.host_types import OpArgument, OperatorDescription
from npukernelbench.nouns import Presence
from npukernelbench.tasks.load import load_task
from tests.cli.conftest import Npukb, _clean_surroundings, npukb  # noqa: F401
from tests.docs.shown import ROOT, in_blocks
from tests.suites.conftest import INVENTED, TORCH, needs_torch
from tests.twin.hosting import DEFINITION

#: Executed here: docs/new_task.md, docs/new_from_pytorch.md, docs/new_from_definition.md, docs/suites.md
_FILE = re.compile(r'```\w+ title="([\w.]+)"\n(.*?)```', re.DOTALL)


def defined(name: str, body: str) -> str:
    """The definition of an operator, with the statements of its constructor."""
    definition = DEFINITION.format(body=body).replace("Probe", name)
    return f'#include "register/op_def_registry.h"\n{definition}'


def execute(page: str, npukb: Npukb) -> list[str]:  # noqa: F811
    """What each command printed."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    for name, content in _FILE.findall(text):
        Path(name).write_text(content)
    printed = []
    for command in in_blocks(ROOT / "docs" / page):
        done = npukb(*shlex.split(command.text)[1:])
        assert done.code == 0, f"{command.text}\n{done.err}{done.out}"
        printed.append(done.out)
    assert printed
    return printed


def test_a_task_from_a_signature(npukb: Npukb) -> None:  # noqa: F811
    fresh, validated, judged, unfinished, listed = execute("new_task.md", npukb)
    for printed, *words in (
        (fresh, "wrong answers refused", "kernel.cpp compiles"),
        (validated, "RowScale"),
        (judged, "wrong_value"),
        (unfinished, "unfinished: write the right answer into", "NotImplementedError"),
        (listed, "12 hidden", "kernel.cpp compiles"),
    ):
        assert [word for word in words if word not in printed] == []
    assert "error" not in fresh + listed
    text = Path("ScaledList/task.yaml").read_text()
    assert "{name: ys, presence: dynamic, dtype_like: xs, shape_like: xs}" in text
    assert "{name: tops, presence: dynamic, dtype: float32}" in text
    assert "factor: [count]" in text


def test_a_task_from_an_operator_definition(npukb: Npukb) -> None:  # noqa: F811
    (printed,) = execute("new_from_definition.md", npukb)
    assert "unfinished" in printed
    text = Path("ScaledAdd/task.yaml").read_text()
    assert "{name: alpha, type: float, default: 1.0}" in text
    assert "presence: optional" in text
    assert "dtypes: [float16, float32]" in text
    assert "{name: z, dtype_like: x, shape_like: x}" in text


IN_PLACE = defined(
    "Grow",
    """this->Input("step").ParamType(REQUIRED).DataType({ge::DT_INT64}).Format({ge::FORMAT_ND});
    this->Input("var").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("var").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->AICore().AddConfig("ascend910b");""",
)


def test_what_a_definition_writes_in_place_is_so_in_the_task(npukb: Npukb) -> None:  # noqa: F811
    # A comment in another encoding than UTF-8, as projects have them.
    Path("grow.cpp").write_bytes("// \u957f\n".encode("gbk") + IN_PLACE.encode())
    Path("grow.py").write_text("def grow(step, var):\n    return var + step\n")
    done = npukb("new", "Grow", "--op_def", "grow.cpp", "--reference", "grow.py:grow")
    assert done.code == 0, done.err
    assert "{name: var_ref, dtype_like: var, shape_like: var, alias_of: var}" in Path("Grow/task.yaml").read_text()
    assert "kernel.cpp compiles" in done.out + done.err
    assert "wrong answers refused" in done.out + done.err
    told = npukb("new", "Told", "--inputs", "x:float32[n]", "--outputs", "x_ref:inplace(x)")
    assert told.code == 0, told.err
    assert "{name: x_ref, dtype_like: x, shape_like: x, alias_of: x}" in Path("Told/task.yaml").read_text()


def test_a_definitions_attributes_are_the_tasks(npukb: Npukb) -> None:  # noqa: F811
    """Texts among them; a type that tasks do not have may keep its default, and is refused where there is none."""
    attributes = 'this->Attr("mode").String("plain"); this->Attr("pairs").AttrType(OPTIONAL).ListListInt({{1, 2}});'
    text = IN_PLACE.replace("this->AICore()", f"{attributes}\n        this->AICore()")
    Path("grow.cpp").write_text(text)
    Path("grow.py").write_text("def grow(step, var, mode):\n    return var + step\n")
    done = npukb("new", "Grow", "--op_def", "grow.cpp", "--reference", "grow.py:grow")
    assert done.code == 0, done.err
    told = Path("Grow/task.yaml").read_text()
    assert "{name: mode, type: str, default: plain}" in told
    assert "pairs" not in told
    Path("grow.cpp").write_text(text.replace("AttrType(OPTIONAL).ListListInt({{1, 2}})", "ListListInt()"))
    done = npukb("new", "Other", "--op_def", "grow.cpp", "--reference", "grow.py:grow")
    assert done.code == 3
    assert "the attribute pairs is a list_list_int, which no task has" in done.err


def test_an_operator_may_have_no_inputs() -> None:
    result = OpArgument("y", Presence.REQUIRED, ("DT_FLOAT",), ("FORMAT_ND",))
    _, inputs, outputs, _ = interface_of(OperatorDescription("Fill", (), (result,), (), (), {}), Path("fill.cpp"))
    assert inputs == ()
    assert [(output.name, output.dtypes) for output in outputs] == [("y", ("float32",))]


LISTS = defined(
    "Each",
    """this->Input("x").ParamType(DYNAMIC).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
    this->Input("scalar").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND});
    this->Output("y").ParamType(DYNAMIC).DataType({ge::DT_FLOAT16}).Format({ge::FORMAT_ND});
    this->AICore().AddConfig("ascend910b");""",
)


def test_a_definitions_lists_are_lists_beside_scalars(npukb: Npukb) -> None:  # noqa: F811
    Path("each.cpp").write_text(LISTS)
    Path("each.py").write_text("def each(x, scalar):\n    return [one * scalar for one in x]\n")
    done = npukb("new", "Each", "--op_def", "each.cpp", "--reference", "each.py:each")
    assert done.code == 0, done.err
    assert "12 hidden" in done.out
    assert "kernel.cpp compiles" in done.out
    task, _ = load_task(Path("Each/task.yaml"))
    assert [len(shapes) for shapes in (task.cases[0].inputs["x"], task.cases[0].outputs["y"])] == [MEMBERS, MEMBERS]
    assert task.cases[0].inputs["scalar"].tensor.shape == ()


@pytest.fixture
def with_own_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, TORCH)


@needs_torch
def test_tasks_from_pytorch(npukb: Npukb, with_own_torch: None) -> None:  # noqa: F811
    gated, norm, decayed, erf, judged = execute("new_from_pytorch.md", npukb)
    torch_host().close()
    for printed in (gated, norm, decayed, erf):
        assert "12 hidden" in printed
        assert "error" not in printed
        assert "compiles" in printed
    assert "wrong_value" in judged
    assert "name: norm_weight" in Path("RowNorm/task.yaml").read_text()


@needs_torch
def test_a_suite(npukb: Npukb, with_own_torch: None) -> None:  # noqa: F811
    for name in ("1_Rectify.py", "7_Soft.py"):
        Path("checkout/level1").mkdir(parents=True, exist_ok=True)
        shutil.copy(INVENTED / "level1" / name, Path("checkout/level1") / name)
    added, listed, tasks, _, gone = execute("suites.md", npukb)
    torch_host().close()
    assert "kernelbench: 2 tasks, 0 refused" in added
    assert "2 tasks" in listed
    assert "KernelBench_1_7_Soft" in tasks
    assert "forgotten" in gone


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--inputs", "x:float17[n]", "--outputs", "y:like(x)"), "there is no element type 'float17'"),
        (("--inputs", "x:float16[n", "--outputs", "y:like(x)"), "'x:float16[n' is no tensor"),
        (("--inputs", "x:float16[n]", "--outputs", "y:like(z)"), "there is no input 'z'"),
        (("--inputs", "x:float16[n]", "--outputs", "y:float16"), "an output has one type and a shape"),
        (("--inputs", "x:float16[n]", "--outputs", "y:inplace(x)[n]"), "written in place has its input's shape"),
        (("--inputs", "x:float16[n]", "--outputs", "y:inplace(x), z:inplace(x)"), "two outputs are written into x"),
        (("--inputs", "x:float16[n]", "--outputs", "y:float16[m]", "--axes", "k=1..4"), "no shape has the axis 'k'"),
        (
            ("--inputs", "x:float16[n]", "--outputs", "y:like(x)", "--reference", "gone.py:f"),
            "there is no file gone.py",
        ),
        (("--inputs", "x:float16[n]", "--outputs", "y:like(x)", "--attributes", "a:real"), "'a:real' is no attribute"),
        (("--inputs", "xs:[float16[n]", "--outputs", "y:like(xs)"), "'xs:[float16[n]' is no tensor"),
        (("--inputs", "xs?:[float16[n]]", "--outputs", "y:like(xs)"), "a list is not optional"),
        (("--inputs", "xs:[[float16[n]]]", "--outputs", "y:like(xs)"), "is no tensor"),
        (("--inputs", "xs:[float17[n]]", "--outputs", "y:like(xs)"), "there is no element type 'float17'"),
        (
            ("--inputs", "xs:[float16[n]], w:float16[n]", "--outputs", "y:like(xs)"),
            "w: n differs from tensor to tensor",
        ),
        (("--inputs", "xs:[float16], w:float16", "--outputs", "y:like(xs)"), "w: .. differs from tensor to tensor"),
        (
            ("--inputs", "xs:[float16[n]]", "--outputs", "y:float16[n]"),
            "y: n differs from tensor to tensor of the list",
        ),
        (("--inputs", "x:float16[n]", "--outputs", "ys:[float16[n]]"), "ys: no input is a list"),
        (("--inputs", "xs:[float16[n]], w:float16[m]", "--outputs", "y:[like(w)]"), "w is one tensor, whose shape"),
        (("--inputs", "xs:[float16[n]]", "--outputs", "y:like(xs)", "--data", "."), "recorded data do not have"),
        (("--inputs", "x:float16[n ** n]", "--outputs", "y:like(x)"), "is no extent"),
        (("--torch", "gone.py:f"), "there is no file"),
        (("--torch", "mine.py:f", "--reference", "a:b"), "do not go together"),
        (("--op_def", "wrong.cpp"), "wrong.cpp"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(npukb: Npukb, words: tuple[str, ...], said: str) -> None:  # noqa: F811
    Path("wrong.cpp").write_text('#include "register/op_def_registry.h"\nnonsense\n')
    done = npukb("new", "Mine", *words)
    assert done.code in (2, 3)
    assert said in done.err
    assert words[0] in done.err or words[-2] in done.err or "--" in done.err or ".cpp:2" in done.err
    assert not Path("Mine").exists()
