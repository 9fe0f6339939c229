"""Bounds and baselines: what no kernel can be faster than, and how scores are made of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.bounds import PAGE, page
from benchmarks.golden_times import FOLDER
from npukb_npu.eager import entry as entry_of_eager
from npukb_npu.timing import Timing
from npukb_twin.timing import machine
from npukernelbench.judge import operations
from npukernelbench.judge.metrics import load_metrics, measured
from npukernelbench.judge.operations import least_operations
from npukernelbench.judge.reads import depends_on_part, needed_bytes
from npukernelbench.judge.roofline import Roof, bound, bound_us, least_traffic
from npukernelbench.judge.score import score
from npukernelbench.judge.speed import EAGER, GOLDEN, RENEW, anchored, baseline_us, speed_facts
from npukernelbench.nouns import Case, CaseInput, CaseResult, Core, Outcome, Stage, Task, Tier, Track
from npukernelbench.reference import expected_outputs
from npukernelbench.tasks import generate_inputs
from npukernelbench.tasks.sizes import input_bytes
from tests.suite import suite

ROOF = Roof(1e12, 4e12, 100e6)
TIMES = st.floats(0.01, 1e6)


@pytest.fixture(scope="module")
def tasks():  # type: ignore[no-untyped-def]
    return suite()


def case_of(task: Task) -> Case:
    return task.case("0")


def test_an_elementwise_task_reads_and_writes_everything_once(tasks) -> None:  # type: ignore[no-untyped-def]
    task = tasks["AddCustom"]
    case = case_of(task)
    size = 48 * 128 * 512 * 2
    assert least_traffic(task, case) == (2 * size, size)
    assert bound_us(task, case, ROOF) == pytest.approx(2 * size / 1e12 * 1e6)  # what is written stays in the cache
    small = replace_roof(cache_bytes=size / 2)
    assert bound_us(task, case, small) == pytest.approx(2.5 * size / 1e12 * 1e6)
    slow_cache = replace_roof(cache_bytes_per_s=1e11)
    assert bound_us(task, case, slow_cache) == pytest.approx(3 * size / 1e11 * 1e6)


def test_products_bind_what_multiplies_matrices(tasks) -> None:  # type: ignore[no-untyped-def]
    """By hand: 24 cube cores of 4096 products per cycle at 1.8 GHz, 48 vector cores of 256 bytes per cycle."""
    cores = Roof(1.76e12, 7.78e12, 192 << 20, 48 * 256 * 1.8e9, 24 * 4096 * 1.8e9)
    product = tasks["BasicMatmul"]
    limits = bound(product, product.case("0"), cores)
    assert limits.cube_us == pytest.approx(128 * 1280 * 640 / (24 * 4096 * 1.8e9) * 1e6)
    assert limits.memory_us == pytest.approx((128 * 1280 + 1280 * 640) * 2 / 1.76e12 * 1e6)
    assert limits.vector_us == 0.0
    attention = tasks["FlashAttentionScoreWithLargeHeadDim"]
    limits = bound(attention, attention.case("0"), cores)
    assert limits.cube_us == pytest.approx(2 * 2 * 2048 * 2048 * 1024 / (24 * 4096 * 1.8e9) * 1e6)
    assert bound_us(attention, attention.case("0"), cores) == limits.cube_us
    added = tasks["AddCustom"]
    limits = bound(added, added.case("0"), cores)
    assert limits.cube_us == 0.0
    assert limits.vector_us == pytest.approx(48 * 128 * 512 * 2 / (48 * 256 * 1.8e9) * 1e6)
    integers, singles = tasks["QuantMatmul"], tasks["Gemm"]
    assert least_operations(integers, integers.case("0"), partial=False).products == 128 * 1280 * 640 / 2
    assert least_operations(singles, singles.case("0"), partial=False).products == 128 * 256 * 512 * 2


def test_every_counted_product_belongs_to_a_task(tasks) -> None:  # type: ignore[no-untyped-def]
    names = {
        task.name
        for task in tasks.values()
        for case in task.cases
        if least_operations(task, case, partial=True).products
    }
    folder = Path(operations.__file__).parent
    assert names == set(yaml.safe_load((folder / "operations.yaml").read_text(encoding="utf-8")))
    cubes = {task.name for task in tasks.values() if task.core is not Core.VECTOR}
    assert names <= cubes
    assert cubes - names == {"GroupGemm", "Mla"}  # what they multiply depends on values


def test_no_golden_kernel_beats_its_bound(tasks) -> None:  # type: ignore[no-untyped-def]
    """On the machine that the baselines are predicted for."""
    roof = machine.load("ascend910b2").roof
    known = json.loads((FOLDER / "ascend910b2.json").read_text(encoding="utf-8"))["tasks"]
    beaten = [
        (name, track, case, time_us)
        for name, entry in known.items()
        for track in ("static", "dynamic")
        for case, time_us in entry.get(track, {}).items()
        if time_us is not None and time_us < bound_us(tasks[name], tasks[name].case(case), roof)
    ]
    assert not beaten


def test_the_page_of_bounds_is_current() -> None:
    assert page() == PAGE.read_text(encoding="utf-8"), "run python -m benchmarks.bounds"


def test_moving_data_needs_no_arithmetic(tasks) -> None:  # type: ignore[no-untyped-def]
    for task in tasks.values():
        if task.category in ("TensorMove", "Index"):
            assert least_operations(task, task.cases[0], partial=False) == (0.0, 0.0)


def replace_roof(**changes: float) -> Roof:
    return ROOF._replace(**changes)


def test_inputs_that_may_be_read_in_part_do_not_count(tasks) -> None:  # type: ignore[no-untyped-def]
    for name in tasks:
        task = tasks[name]
        if depends_on_part(task):
            for case in task.cases:
                needed = needed_bytes(task, case)
                whole = {key: bytes_in(case.inputs[key]) for key in needed}
                assert all(0 <= needed[key] <= whole[key] for key in needed)
                assert least_traffic(task, case).reads == sum(needed.values())


def test_what_has_to_be_read_in_any_case(tasks) -> None:  # type: ignore[no-untyped-def]
    """Both halves of what is split, the tokens that a sequence has, one group at least."""
    split = tasks["SwiGlu"].cases[0]
    assert least_traffic(tasks["SwiGlu"], split).reads == input_bytes(split)
    paged = tasks["Mla"].case("0")
    queries = 2 * 128 * (512 + 64) * 2
    assert least_traffic(tasks["Mla"], paged).reads == queries + 4 * (512 + 64) * 2
    grouped = tasks["GroupedMatmulSliceM"].case("0")
    assert needed_bytes(tasks["GroupedMatmulSliceM"], grouped)["b"] == 1280 * 640 * 2
    assert "y" not in needed_bytes(tasks["GeluGrad"], tasks["GeluGrad"].cases[0])


def test_needed_inputs_belong_to_tasks_that_depend_on_a_part(tasks) -> None:  # type: ignore[no-untyped-def]
    folder = Path(operations.__file__).parent
    for name, inputs in yaml.safe_load((folder / "reads.yaml").read_text(encoding="utf-8")).items():
        assert depends_on_part(tasks[name]), name
        assert inputs.keys() <= {spec.name for spec in tasks[name].inputs}, name


def bytes_in(value: CaseInput) -> int:
    return sum(
        tensor_case.tensor.nbytes
        for tensor_case in (value if isinstance(value, tuple) else (value,))
        if tensor_case is not None
    )


def test_inputs_that_count_are_needed(tasks) -> None:  # type: ignore[no-untyped-def]
    """Other values of an input give other results, or the bound would ask for reading what nobody needs."""
    counted = 0
    for name in tasks:
        task = tasks[name]
        case = next((one for one in task.cases if "smoke" in one.profiles), task.cases[0])
        if least_traffic(task, case).reads == 0:
            continue
        counted += 1
        drawn, other = generate_inputs(task, case, 1), generate_inputs(task, case, 2)
        expected = expected_outputs(task, case, drawn)
        needed = needed_bytes(task, case)
        large = [one for one in drawn if one in needed and 20 * bytes_of(drawn[one]) > input_bytes(case)]
        for one in large:
            changed = expected_outputs(task, case, {**drawn, one: other[one]})
            assert any(not equal(expected[key], changed[key]) for key in expected), (name, one)
    assert counted > 100


def bytes_of(value: object) -> int:
    arrays = value if isinstance(value, list) else [value]
    return sum(np.asarray(array).nbytes for array in arrays if array is not None)


def equal(one: object, other: object) -> bool:
    ones, others = (value if isinstance(value, list) else [value] for value in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(ones, others, strict=True))


@given(TIMES, TIMES, TIMES)
def test_hardware_anchored_performance(time_us: float, golden: float, bound: float) -> None:
    score = anchored(time_us, golden, bound)
    assert (score is None) == (golden <= bound)
    if score is None:
        return
    assert 0 < score <= 1
    assert anchored(golden, golden, bound) == pytest.approx(0.5)
    assert anchored(bound, golden, bound) == 1.0
    slower = anchored(time_us * 2, golden, bound)
    assert slower is not None
    assert slower <= score


def speed_metrics(task: Task, case: Case, time_us: float, machine: str, roof: Roof | None, model: str = "") -> dict:
    """What a right kernel's metrics say of its speed."""
    facts = speed_facts(task, case, Track.STATIC, machine, roof, model=model)
    result = CaseResult(case.id, Stage.DONE, Outcome.OK, metrics={"predicted_time_us": time_us, **facts})
    metrics = measured(score(Track.STATIC, Tier.TWIN, [result], (), {}), load_metrics(None)).metrics
    alone = {"compiled", "correct", "cases_passed", "cases_total", "predicted_time_us"}
    return {name: value for name, value in metrics.items() if name not in alone}


def test_a_time_below_the_bound_is_flagged(tasks) -> None:  # type: ignore[no-untyped-def]
    task = tasks["AddCustom"]
    case = case_of(task)
    bound = bound_us(task, case, ROOF)
    fair = speed_metrics(task, case, 2 * bound, "nowhere", ROOF)
    assert fair["roofline"] == pytest.approx(0.5)
    assert "impossible" not in fair
    assert speed_metrics(task, case, 0.9 * bound, "nowhere", ROOF)["impossible"] == 1.0
    assert speed_metrics(task, case, 1.0, "nowhere", None) == {}


def test_golden_times_belong_to_a_definition_a_machine_and_a_track(tasks, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "suite.yaml").write_text("suite: s\n", encoding="utf-8")
    (tmp_path / "baselines").mkdir()
    task = replace(tasks["AddCustom"], path=tmp_path / "level1" / "add" / "task.yaml")
    case = case_of(task)
    entry = {"hash": task.content_hash, "static": {case.id: 40.0}, "dynamic": {case.id: None}}
    (tmp_path / "baselines" / "m.json").write_text(json.dumps({"tasks": {"AddCustom": entry}}), encoding="utf-8")
    assert baseline_us(GOLDEN, task, [case], Track.STATIC, "m") == 40.0
    assert baseline_us(GOLDEN, task, [case], Track.DYNAMIC, "m") is None
    assert baseline_us(GOLDEN, task, [case], Track.STATIC, "other") is None
    assert baseline_us(GOLDEN, task, list(task.cases), Track.STATIC, "m") is None
    assert baseline_us(GOLDEN, replace(task, content_hash="changed"), [case], Track.STATIC, "m") is None
    metrics = speed_metrics(task, case, 20.0, "m", ROOF)
    assert metrics["speedup_golden"] == 2.0
    assert "speedup_eager" not in metrics
    assert metrics["hap"] == pytest.approx(anchored(20.0, 40.0, bound_us(task, case, ROOF)))
    assert baseline_us(GOLDEN, task, [case], Track.STATIC, "m", "a model of time") is None
    eager = entry_of_eager(task, {case.id: Timing(10.0, 9.0, 11.0, 0.01, 100)})
    (tmp_path / "baselines" / "d.eager.json").write_text(json.dumps({"tasks": {"AddCustom": eager}}), encoding="utf-8")
    assert baseline_us(EAGER, task, [case], Track.DYNAMIC, "d") == 10.0
    metrics = speed_metrics(task, case, 20.0, "d", ROOF)
    assert (metrics["speedup_eager"], metrics.get("speedup_golden")) == (0.5, None)


def test_stale_times_are_refused_with_the_command_that_renews_them(  # type: ignore[no-untyped-def]
    tasks, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "suite.yaml").write_text("suite: s\n", encoding="utf-8")
    (tmp_path / "baselines").mkdir()
    task = replace(tasks["AddCustom"], path=tmp_path / "level1" / "add" / "task.yaml")
    case = case_of(task)
    entry = {"hash": task.content_hash, "static": {case.id: 40.0}}
    document = {"model": "of then", "tasks": {"AddCustom": entry}}
    (tmp_path / "baselines" / "m.json").write_text(json.dumps(document), encoding="utf-8")
    fresh = speed_metrics(task, case, 20.0, "m", ROOF, "of then")
    assert fresh["speedup_golden"] == 2.0
    assert not caplog.records
    for _ in range(2):
        assert "speedup_golden" not in speed_metrics(task, case, 20.0, "m", ROOF, "of now")
    assert len(caplog.records) == 1  # said once
    assert "m.json is stale, another model predicted its times" in caplog.text
    assert RENEW in caplog.text
    caplog.clear()
    edited = replace(task, content_hash="edited")
    assert "hap" not in speed_metrics(edited, case, 20.0, "m", ROOF, "of then")
    assert "AddCustom has changed since" in caplog.text
