"""Direct launches of templates: with arguments of their own, out of host templates, out of what a launch file names."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_twin.direct.calling import call_of
from npukb_twin.direct.source import functions
from npukernelbench.nouns import Diagnostic, DType, Outcome
from tests.twin.running import Twin, task_for
from tests.twin.test_direct import HERE, X, compiled, run

KERNEL = (HERE / "scaled.cpp").read_text()
TASK = task_for({"x": X}, {"y": ((64,), DType.FLOAT32)}, "scaled")
SAID = "arguments: [x, y, x.size, stream]\n"
TAKES = "(uint8_t* x, uint8_t* y, uint32_t n, void* stream)"
HOST = f'extern "C" void run{TAKES} {{ %s }}\n'
CALLED = "<<<1, nullptr, stream>>>(x, y, n);"
OUTER = f"template <typename T, int N> void launch{TAKES} {{ scaled<T, N>{CALLED} }}\n"


@pytest.mark.parametrize(
    "host",
    [
        HOST % f"scaled<float, 2>{CALLED}",
        OUTER + HOST % "launch<float, 2>(x, y, n, stream);",
        OUTER
        + "template void launch<float, 2>(uint8_t*, uint8_t*, uint32_t, void*);\n"
        + HOST % "launch<float, 2>(x, y, n, stream);",
        "constexpr int kTimes = 2;\n" + HOST % f"using T = float; scaled<T, kTimes>{CALLED}",
        f"template <typename T> struct L {{ static void Go{TAKES} {{ scaled<T, 2>{CALLED} }} }};\n"
        + HOST % "L<float>::Go(x, y, n, stream);",
    ],
    ids=["plain", "host template", "explicit", "names", "class"],
)
def test_a_launch_gives_a_template_its_arguments(twin: Twin, host: str) -> None:
    seen = run(twin, TASK, {"k.cpp": KERNEL + host, "launch.yaml": f"function: run\n{SAID}"}, {"x": X})
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["y"]), X * 2)


def test_a_launch_file_names_a_template_with_its_arguments(twin: Twin) -> None:
    seen = run(twin, TASK, {"k.cpp": KERNEL + OUTER, "launch.yaml": f"function: launch<float, 3>\n{SAID}"}, {"x": X})
    assert seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in seen.diagnostics]
    assert np.array_equal(np.asarray(seen.outputs["y"]), X * 3)


def test_an_argument_that_the_kernel_refuses_does_not_compile(twin: Twin) -> None:
    text = KERNEL.replace("if (GetBlockIdx", 'static_assert(Times < 4, "too often");\n    if (GetBlockIdx')
    made = compiled(twin, TASK, {"k.cpp": text + OUTER, "launch.yaml": f"function: launch<float, 4>\n{SAID}"})
    assert made.outcome is Outcome.COMPILE_ERROR
    assert "too often" in made.diagnostics[0].message


def test_what_calls_a_template_that_launches_is_the_function() -> None:
    files = {"k.cpp": KERNEL + OUTER + HOST % "launch<float, 2>(x, y, n, stream);", "launch.yaml": SAID}
    assert [(one.name, one.launches, one.template) for one in functions(files)] == [
        ("launch", True, True),
        ("run", True, False),
    ]
    call = call_of(files, TASK)
    assert not isinstance(call, Diagnostic)
    assert call.function.name == "run"


def test_a_template_without_arguments_is_asked_for_them() -> None:
    for said in (SAID, f"function: launch\n{SAID}"):
        asked = call_of({"k.cpp": KERNEL + OUTER, "launch.yaml": said}, TASK)
        assert isinstance(asked, Diagnostic)
        assert (asked.message, asked.file) == ("launch is a template", "k.cpp")
        assert "function: launch<float>" in asked.remedy
