"""Operators judged with an executor that does as it is told: what is recorded, and that a second sitting goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_conformance.checkout import Checkout, Variant
from npukb_conformance.dispatch import Dispatch, Rule
from npukb_conformance.record import Records
from npukb_conformance.sitting import OperatorResult, Remembering, plan, sit
from npukb_conformance.verified import Verification
from npukernelbench.errors import StoreError
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import Artifact, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.task import Case, TensorCase, TensorShape, ValueSpec
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import Selected, TaskRegistry
from npukernelbench.testing import FakeExecutor, FakeExecutorArgs, tiny_case, tiny_task

TASKS = TaskRegistry(
    [tiny_task("Right", cases=(tiny_case("0"), tiny_case("1"))), tiny_task("Wrong"), tiny_task("Sick")]
)


@pytest.fixture
def root(write_operator) -> Path:
    write_operator("Right")
    write_operator("Wrong", word="tail")
    write_operator("Stranger")
    return write_operator("Sick", word="compile_error")


@pytest.fixture
def executor() -> FakeExecutor:
    return FakeExecutor(FakeExecutorArgs(tracks=(Track.DYNAMIC,)))


def sitting(
    root: Path,
    executor: FakeExecutor,
    path: Path,
    *,
    rules: Dispatch | None = None,
    verification: Verification = Verification(),  # noqa: B008 - frozen
    **options: object,
):
    plugins = Plugins.load(autoload=False)
    selected = [Selected(task, task.cases) for task in TASKS.values()]
    rules = rules or Dispatch({})
    planned = plan(Checkout(root), TASKS, selected, dispatch=rules, variant=Variant.ANSWER, executor=executor)
    results = sit(
        planned,
        judge=lambda one: Judge(one, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings()),
        dispatch=rules,
        verification=verification,
        executor=executor,
        records=Records(path),
        variant=Variant.ANSWER,
        **options,
    )
    return {result.planned.task.name: result for result in results}


def outcomes(result: OperatorResult) -> list[Outcome]:
    return [case.verdict.outcome for case in result.cases]


def test_operators_compile_run_and_match_or_do_not(root, executor, tmp_path):
    found = sitting(root, executor, tmp_path / "records")
    assert list(found) == ["Right", "Sick", "Wrong"]  # the stranger has no task
    assert outcomes(found["Right"]) == [Outcome.OK, Outcome.OK]
    assert found["Right"].passes
    assert outcomes(found["Wrong"]) == [Outcome.WRONG_VALUE]
    assert found["Wrong"].compiles
    assert not found["Wrong"].passes
    assert found["Sick"].compiled.verdict.outcome is Outcome.COMPILE_ERROR
    assert not found["Sick"].compiles


def test_a_candidate_is_compiled_once_for_all_its_cases(root, executor, tmp_path):
    sitting(root, executor, tmp_path / "records")
    assert sum(call.startswith("compile") for call in executor.calls) == 3


def test_each_case_is_a_line_and_a_second_sitting_runs_nothing_again(root, executor, tmp_path):
    path = tmp_path / "deep" / "records"
    first = sitting(root, executor, path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    cases = [(line["operator"], line["case"]) for line in lines if line["event"] == "case"]
    assert cases == [("Right", "0"), ("Right", "1"), ("Wrong", "smoke")]
    executor.calls.clear()
    second = sitting(root, executor, path)
    assert not [call for call in executor.calls if call.startswith("run")]
    assert {name: outcomes(one) for name, one in second.items()} == {n: outcomes(one) for n, one in first.items()}


def test_an_interrupted_line_is_cut_off_and_its_case_judged_again(root, executor, tmp_path):
    path = tmp_path / "records"
    sitting(root, executor, path)
    path.write_text(path.read_text()[:-20])
    executor.calls.clear()
    found = sitting(root, executor, path)
    assert {call.split()[1] for call in executor.calls if call.startswith("run")} == {"Wrong/smoke"}
    assert outcomes(found["Wrong"]) == [Outcome.WRONG_VALUE]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_changed_source_is_judged_again(root, executor, tmp_path, write_operator):
    path = tmp_path / "records"
    sitting(root, executor, path)
    write_operator("Wrong", word="ok, repaired")
    assert sitting(root, executor, path)["Wrong"].passes


def test_a_fault_of_ours_is_tried_again(write_operator, executor, tmp_path):
    root = write_operator("Right", word="raise")
    path = tmp_path / "records"
    assert outcomes(sitting(root, executor, path)["Right"])[0] is Outcome.INFRA_ERROR
    executor.calls.clear()
    sitting(root, executor, path)
    assert [call for call in executor.calls if call.startswith("run")]


def test_a_damaged_line_names_its_place(tmp_path):
    path = tmp_path / "records"
    path.write_text('{"event": "compile"}\n{"event": "case"}\n')
    with pytest.raises(StoreError) as caught:
        Records(path)
    assert caught.value.location.line == 2


def test_compiling_only_runs_nothing(root, executor, tmp_path):
    found = sitting(root, executor, tmp_path / "records", compile_only=True)
    assert found["Wrong"].compiles
    assert found["Wrong"].cases == ()
    assert not [call for call in executor.calls if call.startswith("run")]


def test_an_operator_that_no_case_reaches_is_compiled_and_does_not_pass(root, executor, tmp_path):
    found = sitting(root, executor, tmp_path / "records", rules=Dispatch({"Right": Rule(none="elsewhere")}))
    assert found["Right"].compiles
    assert not found["Right"].passes
    assert found["Right"].planned.kept_back == {"0": "elsewhere", "1": "elsewhere"}


def test_what_the_executor_refuses_is_not_tried(root, executor, tmp_path, monkeypatch):
    monkeypatch.setattr(FakeExecutor, "refuses", lambda *_: "no such core", raising=False)
    found = sitting(root, executor, tmp_path / "records")
    assert found["Right"].compiled is None
    assert found["Right"].planned.refused == "no such core"


def test_several_operators_at_a_time_give_the_same_results(root, executor, tmp_path):
    alone = sitting(root, executor, tmp_path / "one")
    together = sitting(root, executor, tmp_path / "three", jobs=3)
    assert {name: outcomes(one) for name, one in alone.items()} == {n: outcomes(one) for n, one in together.items()}
    assert list(alone) == list(together)


def test_a_task_is_judged_on_the_cases_that_arrive(root, executor, tmp_path):
    rule = Rule(shapes={"0": {"x": (20,), "y": (20,)}}, reason="flattened")
    found = sitting(root, executor, tmp_path / "records", rules=Dispatch({"Right": rule}))
    (task,) = [one.planned.task for name, one in found.items() if name == "Right"]
    assert [case.outputs["y"].shape for case in task.cases] == [(20,), (4, 5)]
    assert replace(task, cases=TASKS["Right"].cases) == TASKS["Right"]


class Echo(FakeExecutor):
    """An executor that gives back ones, as many as the case asks for."""

    def run(self, request: RunRequest) -> Observation:
        outputs = {name: np.ones(output.shape, output.dtype.value) for name, output in request.case.outputs.items()}
        return Observation(Outcome.OK, outputs)


@pytest.mark.parametrize(
    ("rule", "dtype", "shape"),
    [(Rule(room={"y": "x"}), DType.FLOAT32, (0,)), (Rule(real=("y",)), DType.COMPLEX64, (4, 5))],
)
def test_a_kernel_gets_what_the_interface_allocates_and_the_task_what_it_declares(rule, dtype, shape, tmp_path):
    (task,) = [one for one in TASKS.values() if one.name == "Right"]
    x, y = TensorCase(TensorShape((4, 5), dtype), ValueSpec()), TensorShape(shape, DType.FLOAT32)
    request = RunRequest(task, Case("0", {"x": x}, {"y": y}, {}), Artifact("0", tmp_path), {}, 0, 1.0)
    array = Remembering(Echo(FakeExecutorArgs()), Dispatch({"Right": rule})).run(request).outputs["y"]
    assert (array.shape, array.dtype.name) == (shape, "float32")
