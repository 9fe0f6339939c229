from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from npukernelbench import nouns
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import validate_task
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.validate import Finding
from npukernelbench.testing.tasks import tiny_task
from tests.suite import suite

LIMITS = {nouns.DType.FLOAT32: nouns.ToleranceLimits(1e-6, 1e-5)}


@pytest.fixture
def reference(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], str]:
    """Makes a function resolvable as a task's reference."""

    def install(function: Callable[..., object]) -> str:
        module = ModuleType("planted_reference")
        module.planted = function  # type: ignore[attr-defined]
        monkeypatch.setitem(__import__("sys").modules, "planted_reference", module)
        return "planted_reference:planted"

    return install


def sound_task(reference: str = "math.sqrt", **changes: object) -> nouns.Task:
    tensor = nouns.TensorShape((6, 7), nouns.DType.FLOAT32)
    values = nouns.ValueSpec("uniform", {"low": 0.5, "high": 4.0})
    case = nouns.Case("smoke", {"x": nouns.TensorCase(tensor, values)}, {"y": tensor}, {}, frozenset({"smoke"}))
    task = replace(
        tiny_task(cases=(case,), reference=reference),
        tolerance=nouns.Tolerance("pcl", LIMITS),
        goldens=(nouns.Golden(nouns.Track.STATIC, Path("static.cpp")),),
    )
    return replace(task, **changes)  # type: ignore[arg-type]


def findings(plugins: Plugins, task: nouns.Task, *styles: object) -> set[tuple[str, str, str]]:
    """Everything but the note that a task which is not tagged elementwise has no hidden cases."""
    found = validate_task(task, plugins.checkers, styles)  # type: ignore[arg-type]
    return {(item.severity.value, item.code, item.case) for item in found if item.code != "no_hidden"}


def test_a_sound_task_has_no_findings(plugins: Plugins) -> None:
    styles = [registration.load() for registration in plugins.prompts.values()]
    assert findings(plugins, sound_task(), *styles) == set()


@pytest.mark.parametrize("part", range(8))
def test_no_installed_task_has_errors_or_warnings_of_its_own(plugins: Plugins, part: int) -> None:
    """In parts, which workers share: every task's mutants, prompts and hidden cases take most of a minute."""
    styles = [registration.load() for registration in plugins.prompts.values()]
    for task in list(suite().values())[part::8]:
        found = validate_task(task, plugins.checkers, styles)  # type: ignore[arg-type]
        assert [str(item) for item in found if item.severity is not nouns.Severity.NOTE] == []


def test_a_missing_smoke_case_is_a_warning_and_a_missing_golden_a_note(plugins: Plugins) -> None:
    task = sound_task()
    bare = replace(task, goldens=(), cases=(replace(task.cases[0], profiles=frozenset({"full"})),))
    assert findings(plugins, bare) == {("warning", "smoke", ""), ("note", "no_golden", "")}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tolerance": nouns.Tolerance("no-such-policy", LIMITS)}, "policy"),
        ({"tolerance": nouns.Tolerance("pcl", {})}, "limits"),
        ({"reference": "math.no_such_function"}, "reference"),
        ({"reference": "no_such_module.sqrt"}, "reference"),
    ],
)
def test_what_cannot_be_judged_is_an_error(plugins: Plugins, change: dict[str, object], code: str) -> None:
    assert findings(plugins, sound_task(**change)) == {("error", code, "")}  # type: ignore[arg-type]


class Style:
    """A prompt style that says one thing."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def render(self, task: nouns.Task, case: nouns.Case | None, track: nouns.Track) -> nouns.Prompt:
        if self._text is None:
            raise RuntimeError("no ink")
        return nouns.Prompt((nouns.Message("user", self._text),), "style@1", "")


def test_a_prompt_that_fails_or_says_too_little_is_an_error(plugins: Plugins) -> None:
    assert findings(plugins, sound_task(), Style("tinysqrt x y workspace")) == set()
    both = {("error", "prompt", "smoke"), ("error", "prompt", "")}
    assert findings(plugins, sound_task(), Style("tinysqrt x workspace")) == both
    found = validate_task(sound_task(), plugins.checkers, [Style(None)])
    assert [(item.case, item.message) for item in found] == [
        ("smoke", "the prompt of track static does not render: RuntimeError: no ink"),
        ("", "the prompt of track dynamic does not render: RuntimeError: no ink"),
        ("", "the prompt of track launch does not render: RuntimeError: no ink"),
    ]


def planted(plugins: Plugins, task: nouns.Task) -> dict[str, nouns.Severity]:
    result: dict[str, nouns.Severity] = {}
    for item in validate_task(task, plugins.checkers):
        result[item.code] = min(item.severity, result.get(item.code, item.severity), key=list(nouns.Severity).index)
    return result


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: np.where(x > 2, np.nan, x + 1), "non_finite"),
        (lambda x: x * 1e300, "non_finite"),
        (lambda x: np.full_like(x, x.sum()), "constant_output"),
        (lambda x: np.arange(x.size, dtype=np.float64).reshape(x.shape), "input_unused"),
        (lambda x: x * 1e-9, "zeros"),
        (lambda x: 1 + x * 1e-9, "ones"),
        (lambda x: x * (1 + 1e-9), "passthrough"),
        (lambda x: x * (np.arange(6) < 5)[:, None], "tail_dropped"),
        (lambda x: np.rint(x * 4), "low_precision"),
    ],
)
def test_planted_defects_are_found(
    plugins: Plugins,
    reference: Callable[[Callable[..., object]], str],
    function: Callable[..., object],
    code: str,
) -> None:
    found = planted(plugins, sound_task(reference(function)))
    assert found.get(code) is nouns.Severity.ERROR


def test_a_wrong_answer_that_one_case_accepts_is_a_warning(
    plugins: Plugins, reference: Callable[[Callable[..., object]], str]
) -> None:
    task = sound_task(reference(lambda x: np.maximum(x, 3.0) - 3.0))
    low = replace(
        task.cases[0],
        id="low",
        inputs={
            "x": nouns.TensorCase(
                nouns.TensorShape((6, 7), nouns.DType.FLOAT32), nouns.ValueSpec("uniform", {"low": 0.0, "high": 1.0})
            )
        },
        profiles=frozenset({"full"}),
    )
    reported = findings(plugins, replace(task, cases=(task.cases[0], low)))
    assert ("warning", "zeros", "low") in reported
    assert ("warning", "zeros", "smoke") not in reported
    assert ("error", "zeros", "") not in reported


def test_an_attribute_without_effect_is_an_error(
    plugins: Plugins, reference: Callable[[Callable[..., object]], str]
) -> None:
    def with_attribute(function: Callable[..., object]) -> nouns.Task:
        task = sound_task(reference(function), attributes=(nouns.AttributeSpec("scale", "float", 1.0),))
        return replace(task, cases=(replace(task.cases[0], attributes={"scale": 1.0}),))

    assert findings(plugins, with_attribute(lambda x, scale: np.exp(scale * x))) == set()
    assert findings(plugins, with_attribute(lambda x, scale: np.exp(x))) == {("error", "attribute_unused", "smoke")}


def test_a_reference_that_fails_or_returns_the_wrong_thing_is_an_error(
    plugins: Plugins, reference: Callable[[Callable[..., object]], str]
) -> None:
    def complaint(function: Callable[..., object]) -> str:
        finding, _ = validate_task(sound_task(reference(function)), plugins.checkers)
        assert (finding.severity, finding.code, finding.case) == (nouns.Severity.ERROR, "reference", "smoke")
        return finding.message

    assert "ZeroDivisionError" in complaint(lambda x: 1 / 0)
    assert "returned 2 outputs, not 1" in complaint(lambda x: (x, x))
    assert "[42], but the case declares [6, 7]" in complaint(lambda x: x.reshape(-1))
    assert "complex values for the real output" in complaint(lambda x: x + 1j)


def test_exact_outputs_are_compared_exactly(
    plugins: Plugins, reference: Callable[[Callable[..., object]], str]
) -> None:
    tensor = nouns.TensorShape((6, 7), nouns.DType.INT32)
    values = nouns.ValueSpec("integers", {"low": -5, "high": 6})
    task = sound_task(reference(lambda x: np.maximum(x, -4)), inputs=(nouns.InputSpec("x", (nouns.DType.INT32,)),))
    task = replace(
        task,
        outputs=(replace(task.outputs[0], dtype=nouns.DType.INT32, dtype_like=None),),
        cases=(nouns.Case("smoke", {"x": nouns.TensorCase(tensor, values)}, {"y": tensor}, {}, frozenset({"smoke"})),),
    )
    assert findings(plugins, task) == set()
    same = replace(task, reference=reference(lambda x: x))
    assert ("error", "passthrough", "") in findings(plugins, same)


def test_a_waiver_turns_a_finding_into_a_note_with_its_reason(
    write_task: Callable[..., Path], plugins: Plugins
) -> None:
    path = write_task(("dtype: float16}}}", "dtype: float16}}, waivers: {attribute_unused: ours}}"))
    path.write_text(path.read_text() + "waivers: {no_golden: none yet}\n")
    found = validate_task(load_task(path).task, plugins.checkers)
    assert found == (
        Finding(
            nouns.Severity.NOTE,
            "no_golden",
            "there is no golden kernel; waived: none yet",
            "Twice",
        ),
    )


def test_only_affordable_cases_are_run(plugins: Plugins, reference: Callable[[Callable[..., object]], str]) -> None:
    ran: list[tuple[int, ...]] = []

    def recording(x: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> object:
        ran.append(x.shape)
        return np.sqrt(x)

    big = nouns.TensorShape((500, 7), nouns.DType.FLOAT32)
    task = sound_task(reference(recording))
    x = task.cases[0].inputs["x"]
    assert isinstance(x, nouns.TensorCase)
    case = replace(
        task.cases[0], id="big", inputs={"x": replace(x, tensor=big)}, outputs={"y": big}, profiles=frozenset()
    )
    validate_task(replace(task, cases=(case, *task.cases)), plugins.checkers, max_elements=100)
    assert set(ran) == {(6, 7)}
    ran.clear()
    validate_task(replace(task, cases=(case,)), plugins.checkers, max_elements=100)
    assert set(ran) == {(500, 7)}
