"""CANN's host modes and its profiler, on the stand-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from npukb_npu.discovery import Site
from npukb_npu.executor import NpuExecutor
from npukb_npu.hostmodes import CannCpuExecutor, CannSimExecutor, HostModeArgs
from npukb_npu.jobs import Buffer, Job
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Profile
from npukernelbench.nouns.execution import CompileRequest, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Tier, Track
from npukernelbench.nouns.task import InputSpec, OutputSpec, Presence, Task
from npukernelbench.testing.tasks import candidate, tiny_case, tiny_task

X = np.linspace(0.5, 4.0, 20, dtype=np.float32).reshape(4, 5)
KERNEL = """
extern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {{
    for (int i = 0; i < 20; ++i) reinterpret_cast<float*>(y)[i] = __builtin_sqrtf(reinterpret_cast<float*>(x)[i]);
    {more}
}}
"""

Make = Callable[..., Any]


@pytest.fixture
def host_mode(site: Site, build_cache: Path) -> Iterator[Make]:
    """Makes executors of the host modes: ``host_mode(CannCpuExecutor)``."""
    made = []

    def make(kind: type[CannCpuExecutor] | type[CannSimExecutor], **environ: str) -> CannCpuExecutor | CannSimExecutor:
        machine = replace(site, environ={**site.environ, "ASCEND_STANDIN_NODES": "0", **environ})
        sandbox = "auto" if kind is CannCpuExecutor else "off"  # the profiler itself is not confined
        values = {"cache_dir": build_cache, "threads": 1, "vector_cores": 3, "sandbox": sandbox}
        executor = kind(HostModeArgs.model_validate(values), site=machine)
        made.append(executor)
        return executor

    yield make
    for executor in made:
        executor.close()


def observed(executor: Any, more: str = "", timeout_s: float = 20.0, task: Task | None = None) -> Observation:
    task = task or tiny_task()
    answer = candidate(KERNEL.format(more=more))
    built = executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, answer, 60.0))
    assert built.artifact is not None, built
    seen: Observation = executor.run(RunRequest(task, task.cases[0], built.artifact, {"x": X}, 7, timeout_s))
    return seen


def test_the_host_mode_gives_values_and_no_time(host_mode: Make) -> None:
    executor = host_mode(CannCpuExecutor)
    executor.prepare(lambda text: None, Track.STATIC)
    seen = observed(executor)
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)
    assert seen.inputs_intact
    assert seen.profile is None
    assert executor.tier is Tier.CANN_CPU
    assert executor.refuses(tiny_task(), Track.STATIC) is None


def test_the_simulator_predicts_a_time(host_mode: Make) -> None:
    executor = host_mode(CannSimExecutor)
    seen = observed(executor)
    assert seen.profile is not None
    assert (seen.profile.time_us, seen.profile.predicted, seen.profile.blocks) == (3.5, True, 3)
    assert seen.profile.machine == "cann_sim_ascend910b2"
    assert executor.tier is Tier.CANN_SIM
    silent = observed(host_mode(CannSimExecutor, ASCEND_STANDIN_EMPTY="1"))
    assert silent.outcome is Outcome.OK
    assert silent.profile is None


def test_a_changed_input_is_noticed(host_mode: Make) -> None:
    assert not observed(host_mode(CannCpuExecutor), "reinterpret_cast<float*>(x)[3] = 0;").inputs_intact


@pytest.mark.parametrize(
    ("more", "outcome", "rule"),
    [
        ("*(volatile int*)0 = 1;", Outcome.CRASH, "crash"),
        ("for (volatile int i = 0;; ++i) {}", Outcome.TIMEOUT, "timeout"),
    ],
)
def test_faults_of_a_kernel(host_mode: Make, more: str, outcome: Outcome, rule: str) -> None:
    seen = observed(host_mode(CannCpuExecutor), more, timeout_s=2.0)
    assert (seen.outcome, seen.diagnostics[0].rule) == (outcome, rule)


def test_faults_of_the_toolkit_are_not_the_kernels(host_mode: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExecutorError, match="aclInit returned 507033"):
        observed(host_mode(CannCpuExecutor, ASCEND_STANDIN_INIT="507033"))
    monkeypatch.setattr("npukb_npu.hostmodes._FILE_BYTES", "none")
    with pytest.raises(ExecutorError, match="no walls around the program"):
        observed(host_mode(CannCpuExecutor))
    broken = host_mode(CannCpuExecutor, ASCEND_HOME_PATH="")
    with pytest.raises(ExecutorError, match="cann-cpu cannot work here"):
        broken.prepare(lambda text: None, Track.STATIC)


def test_outputs_in_place_are_in_the_inputs_file(host_mode: Make) -> None:
    case = tiny_case()
    task = tiny_task(cases=(replace(case, outputs={"x_out": case.outputs["y"]}),))
    task = replace(task, outputs=(OutputSpec("x_out", dtype_like="x", shape_like="x", alias_of="x"),))
    seen = observed(host_mode(CannCpuExecutor), task=task)
    np.testing.assert_allclose(seen.outputs["x_out"], np.sqrt(X), rtol=1e-6)
    # in one memory: what is written through the input's address is in the output
    seen = observed(host_mode(CannCpuExecutor), "reinterpret_cast<float*>(x)[3] = 77;", task=task)
    assert seen.outputs["x_out"].reshape(-1)[3] == 77


def test_tensor_lists_are_refused(host_mode: Make) -> None:
    spec = replace(tiny_task().inputs[0], presence=Presence.DYNAMIC)
    assert isinstance(spec, InputSpec)
    assert "tensor lists" in host_mode(CannCpuExecutor).refuses(replace(tiny_task(), inputs=(spec,)), Track.STATIC)


@pytest.mark.parametrize("version", ["8.0", "9.1"])
def test_the_profilers_counters_join_the_measured_time(npu: Callable[..., NpuExecutor], version: str) -> None:
    other = (
        '}\nstatic struct Other { Other() { StandinLaunch first("other_kernel"); standin_spend(1); } } other;\n'
        "static void rest() {"  # a kernel of somebody else's, before the candidate's
    )
    seen = observed(npu(profile="full", environ={"ASCEND_STANDIN_MSPROF": version}), other)
    assert seen.profile is not None, seen
    assert not seen.profile.predicted
    assert seen.profile.counters["aiv_vec_ratio"] == 0.5
    assert seen.profile.counters["msprof_task_duration_us"] == 3.0, "of a warm launch of the candidate's kernel"
    assert seen.profile.counters["msprof_clock_mhz"] == 1800
    assert seen.profile.bottleneck.startswith(
        "50% of the cores' time aiv_vec works, more than any other unit; A/A noise"
    )
    assert seen.profile.counters["measured_samples"] >= 20


def test_outputs_are_judged_as_they_were_before_the_profiler(npu: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def profile(site: Site, bench: object, job: Job, profile: Profile, *_: object, **__: object) -> Profile:
        result = Path(next(one.result for one in job.arguments if isinstance(one, Buffer) and one.result))
        result.write_bytes(bytes(X.nbytes))
        return profile

    monkeypatch.setattr("npukb_npu.executor.profile_case", profile)
    np.testing.assert_allclose(observed(npu(profile="full")).outputs["y"], np.sqrt(X), rtol=1e-6)


def test_a_profiler_that_writes_nothing_is_said(npu: Callable[..., NpuExecutor]) -> None:
    with pytest.raises(ExecutorError, match=r"msprof op wrote no tables for kernel tinysqrt"):
        observed(npu(profile="full", environ={"ASCEND_STANDIN_EMPTY": "1"}))
