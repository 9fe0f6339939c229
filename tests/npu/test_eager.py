"""The eager baseline: torch computes what the task's reference does, and torch_npu has the names that are used."""

from __future__ import annotations

import ast
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from npukb_npu import eager, eager_craft, eager_operators, torchmemory
from npukb_npu.timing import Budget
from npukernelbench.reference.evaluate import expected_outputs
from npukernelbench.tasks import generate_inputs
from tests.suite import suite

TASKS = {task.name: task for task in suite().values()}
MEASURED = {name: task for name, task in TASKS.items() if eager.operator_of(task)}
WHEEL = os.environ.get("NPUKB_TORCH_NPU_WHEEL", "")
MODULES = [Path(module.__file__ or "") for module in (eager_operators, eager_craft)]


def test_every_task_is_measured_or_says_why_not() -> None:
    assert TASKS.keys() - MEASURED.keys() == eager.WITHOUT.keys()
    assert len(MEASURED) >= 200
    references = {task.reference for task in TASKS.values()}
    assert eager_operators.OPERATORS.keys() | eager_operators.HOST.keys() <= references
    assert eager_craft.CRAFT.keys() <= TASKS.keys()


def test_the_page_says_how_many_and_which_not() -> None:
    page = (Path(__file__).parents[2] / "docs" / "npu.md").read_text(encoding="utf-8")
    assert f"{len(MEASURED)} of {len(TASKS)} tasks" in page
    assert [name for name, why in eager.WITHOUT.items() if f"| {name} | {why} |" not in page] == []


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_operators_speak_of_their_tasks_names(name: str) -> None:
    task = TASKS[name]
    operator = eager.operator_of(task)
    assert operator is not None
    names = set(list(signature(operator).parameters)[1:])
    inputs = {spec.name for spec in task.inputs}
    # What takes no part in the result: GELU's value in its gradient; a batch that a shape already says.
    assert inputs - names <= {"GeluGrad": {"y"}}.get(name, set())
    assert names <= inputs | {spec.name for spec in task.attributes} | {"out_dtype", "out_device"}
    assert {one.removesuffix("[]") for one in eager_operators.HOST.get(task.reference, ())} <= inputs


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_torch_has_the_names(path: Path) -> None:
    torch = pytest.importorskip("torch")
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    texts = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)}
    names = {text for text in texts if re.fullmatch(r"t(\.\w+)+", text)}
    assert len(names) > 10
    for name in names:
        found = torch
        for part in name.split(".")[1:]:
            found = getattr(found, part)
        assert found is not None


def doubled(torch: Any, value: Any) -> Any:
    """Floating-point tensors in double precision, so that only the formula can differ."""
    if isinstance(value, list) and not all(isinstance(one, (int, float)) for one in value):
        return [doubled(torch, one) for one in value]
    if isinstance(value, torch.Tensor):
        return value.double() if value.is_floating_point() else value
    return value


def listed(value: object) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_torch_computes_the_same(name: str) -> None:
    torch = pytest.importorskip("torch")
    task = TASKS[name]
    case = next((one for one in task.cases if one.id == "smoke"), task.cases[-1])
    wanted = list(expected_outputs(task, case, generate_inputs(task, case, 3)).values())
    values = {key: doubled(torch, argument) for key, argument in eager.arguments(torch, task, case, 3, "cpu").items()}
    found = eager.evaluate(torch, task, values)
    found = [found] if len(wanted) == 1 else list(found)
    assert len(found) == len(wanted)
    for mine, reference in zip(found, wanted, strict=True):
        assert (mine is None) == (np.size(reference) == 0 if not isinstance(reference, list) else False)
        for one, right in zip(listed(mine), listed(reference), strict=True):
            if one is None:
                continue
            value = one.detach().resolve_conj().to(torch.complex128 if one.is_complex() else torch.float64).numpy()
            assert value.size == np.size(right)
            expected = np.asarray(right).reshape(value.shape)
            np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-7, equal_nan=True)


def test_every_public_way_of_rounding_is_computed() -> None:
    """By torch's functions on lists, here on NumPy's arrays."""

    def each(function: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
        return lambda parts: [function(part) for part in parts]

    def both(function: Callable[[Any, Any], Any]) -> Callable[[list[Any], Any], list[Any]]:
        return lambda parts, others: [
            function(part, others[i] if isinstance(others, list) else others) for i, part in enumerate(parts)
        ]

    named = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "frac": lambda x: np.modf(x)[0]}
    lists = SimpleNamespace(
        **{f"_foreach_{name}": each(function) for name, function in named.items()},
        _foreach_mul=both(np.multiply),
        _foreach_add=both(np.add),
        _foreach_sub=both(np.subtract),
    )
    task = TASKS["ForeachRoundOffNumber"]
    operator = eager_operators.OPERATORS[task.reference]
    ways = set()
    for case in task.cases:
        inputs = generate_inputs(task, case, 3)
        ways.add(way := int(inputs["roundMode"].reshape(())))
        [wanted] = expected_outputs(task, case, inputs).values()
        found = operator(lists, x=[np.float64(part) for part in inputs["x"]], roundMode=way)
        for mine, right in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine, np.float64(right))
    assert ways == {1, 2, 3, 4, 5, 6, 7}


def test_what_torch_lacks_on_the_device_is_said() -> None:
    torch = pytest.importorskip("torch")

    def timer(call):  # type: ignore[no-untyped-def]
        call()
        return 5.0

    def lacking(*_: object) -> object:
        raise NotImplementedError("no kernel\nfor this type")

    class Lacking:
        def __getattr__(self, name: str) -> object:
            return lacking if name == "sqrt" else getattr(torch, name)

    small = [replace(TASKS[name], cases=(TASKS[name].case("smoke"),)) for name in ("Sqrt", "Neg", "Spence")]
    budget = Budget(warmup_s=0, sampling_s=1e-9, least_samples=2, most_samples=2, copies=1)
    found = eager.measure_all(Lacking(), small, timer, "cpu", budget)
    assert found["tasks"].keys() == {"Neg"}
    assert found["without"] == {"Sqrt": "NotImplementedError: no kernel", "Spence": eager.WITHOUT["Spence"]}


def test_operators_are_timed_as_kernels_are() -> None:
    """Flush, event, operator, event on one stream, and nothing waits in between: as the worker times a candidate."""
    said: list[str] = []

    class Event:
        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing

        def record(self) -> None:
            said.append("event")

        def elapsed_time(self, end: object) -> float:
            assert said[-1] == "waits", "times of events that have not been reached"
            return 0.0025 if end is not self else 0.0

    flush = SimpleNamespace(zero_=lambda: said.append("flush"))
    torch = SimpleNamespace(empty=lambda size, dtype, device: flush, uint8=None)
    npu = SimpleNamespace(Event=Event, synchronize=lambda: said.append("waits"))
    timer = eager._event_timer(torch, npu, "npu:0")
    assert timer(lambda: said.append("operator")) == 2.5
    assert said == ["flush", "event", "operator", "event", "waits"]


def test_cases_are_timed_on_rotated_inputs() -> None:
    torch = pytest.importorskip("torch")
    calls = []

    def timer(call):  # type: ignore[no-untyped-def]
        calls.append(call())
        return 5.0

    budget = Budget(warmup_s=0, sampling_s=1e-9, least_samples=4, most_samples=4, copies=2)
    task = TASKS["Sqrt"]
    small = [case for case in task.cases if case.id == "smoke"]
    found = dict(eager.measure_task(torch, replace(task, cases=tuple(small)), timer, "cpu", budget))
    assert found["smoke"].median_us == 5.0
    assert not torch.equal(calls[0], calls[1])
    assert torch.equal(calls[0], calls[2])


def test_torch_npu_has_the_names() -> None:
    """Reads the wheel, imports nothing: NPUKB_TORCH_NPU_WHEEL names a file that ``pip download torch_npu`` fetched."""
    if not WHEEL:
        pytest.skip("NPUKB_TORCH_NPU_WHEEL is not set")
    with zipfile.ZipFile(Path(WHEEL)) as wheel:
        tree = ast.parse(wheel.read("torch_npu/npu/__init__.py"))
        streams = wheel.read("torch_npu/npu/streams.py").decode()
    offered = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert {*eager.TORCH_NPU, *torchmemory.TORCH_NPU_NAMES} <= set(offered)
    assert "self.npu_stream" in streams


def used(path: str, module: str) -> set[str]:
    """Names that a source takes from what it calls ``module``."""
    nodes = ast.walk(ast.parse(Path(path).read_text(encoding="utf-8")))
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == module}


def test_nothing_else_of_torch_npu_is_used() -> None:
    assert used(eager.__file__, "npu") == set(eager.TORCH_NPU)
    assert used(torchmemory.__file__, "self._npu") == set(torchmemory.TORCH_NPU_NAMES)
    assert used(torchmemory.__file__, "self._torch") == set(torchmemory.TORCH_NAMES)


def test_torch_has_what_memory_is_made_of() -> None:
    torch = pytest.importorskip("torch")
    assert [name for name in torchmemory.TORCH_NAMES if not hasattr(torch, name)] == []
    assert torch.empty(512, dtype=torch.uint8).data_ptr() > 0
