"""The executor from source to verdict, on the stand-in: real CMake, real ctypes, real processes.

What this shows is that the pieces fit together and that faults get the right verdict; nothing about hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_npu.device import Bench
from npukb_npu.executor import NpuExecutor
from npukb_npu.jobs import Report
from npukb_npu.process import Finished
from npukernelbench.errors import ExecutorError, ToolchainError, UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns.execution import CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Tier, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import AttributeSpec, OutputSpec, Task
from npukernelbench.testing.tasks import candidate, tiny_case, tiny_task

Make = Callable[..., NpuExecutor]
KERNEL = """
extern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {{
    auto* from = reinterpret_cast<float*>(x);
    auto* to = reinterpret_cast<float*>(y);
    for (int i = 0; i < 20; ++i) to[i] = __builtin_sqrtf(from[i]);
    {more}
}}
"""
X = np.linspace(0.5, 4.0, 20, dtype=np.float32).reshape(4, 5)


def compiled(executor: NpuExecutor, source: str, task: Task | None = None) -> CompileResult:
    task = task or tiny_task()
    return executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, candidate(source), 60.0))


def observed(executor: NpuExecutor, source: str, timeout_s: float = 10.0) -> Observation:
    task = tiny_task()
    built = compiled(executor, source)
    assert built.artifact is not None, built
    return executor.run(RunRequest(task, task.cases[0], built.artifact, {"x": X}, 7, timeout_s))


def test_a_right_kernel_is_right_and_timed(npu: Make) -> None:
    executor = npu(profile="time")
    seen = observed(executor, KERNEL.format(more=""))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)
    assert seen.inputs_intact
    profile = seen.profile
    assert profile is not None
    assert (profile.predicted, profile.machine, profile.blocks) == (False, "npu_standin910b3", 4)
    assert profile.low_us is not None
    assert profile.high_us is not None
    assert 0 < profile.low_us <= profile.time_us <= profile.high_us
    assert profile.counters["measured_samples"] >= 20
    assert "A/A noise" in profile.bottleneck
    assert executor.tier is Tier.NPU
    assert executor.describe()["status"] == "not yet run on hardware"


#: One kernel that does what its last input asks for.
ASKED = KERNEL.format(
    more="""
    switch (int(from[19])) {
        case 11: to[1024] = 1; break;
        case 12: to[-3] = 1; break;
        case 13: workspace[600] = 1; break;
        case 14: *(volatile int*)0 = 1; break;
        case 15: from[3] = 0; break;
        case 16: for (volatile int i = 0;; ++i) {}
        default: if (from[19] > 1000) standin_raise(int(from[19]));
    }
"""
)


def asked(executor: NpuExecutor, what: int, timeout_s: float = 10.0) -> Observation:
    task, values = tiny_task(), X.copy()
    values[3, 4] = what
    built = compiled(executor, ASKED)
    assert built.artifact is not None, built
    return executor.run(RunRequest(task, task.cases[0], built.artifact, {"x": values}, 7, timeout_s))


@pytest.mark.parametrize(
    ("what", "outcome", "rule"),
    [
        (11, Outcome.RULE_VIOLATION, "illegal_write"),
        (12, Outcome.RULE_VIOLATION, "illegal_write"),
        (13, Outcome.RULE_VIOLATION, "illegal_write"),
        (14, Outcome.CRASH, "crash"),
        (507015, Outcome.RULE_VIOLATION, "device_exception"),
        (507035, Outcome.RULE_VIOLATION, "device_exception"),
        (507014, Outcome.TIMEOUT, "device_timeout"),
        (507046, Outcome.TIMEOUT, "device_timeout"),
        (507054, Outcome.INFRA_ERROR, "infra_error"),
        (599999, Outcome.INFRA_ERROR, "infra_error"),
    ],
)
def test_faults_get_their_verdict(npu: Make, what: int, outcome: Outcome, rule: str) -> None:
    seen = asked(npu(), what)
    assert seen.outcome is outcome, seen
    assert seen.diagnostics[0].rule == rule
    assert not seen.outputs


LAUNCHES = """
#include "count.h"
extern "C" __global__ __aicore__ void rooted(GM_ADDR x, GM_ADDR between, Count count) {
    for (int64_t i = 0; i < count.elements; ++i) ((float*)between)[i] = __builtin_sqrtf(((float*)x)[i]);
}
extern "C" __global__ __aicore__ void scaled(GM_ADDR between, GM_ADDR y, int64_t n, float by) {
    for (int64_t i = 0; i < n; ++i) ((float*)y)[i] = ((float*)between)[i] * by;
}
namespace mine {
void tinysqrt_do(uint32_t blocks, void* stream, uint8_t* x, void* y, uint8_t* space, int64_t n, float by) {
    { rooted<<<blocks, nullptr, stream>>>(x, space, Count{n}); }
    { scaled<<<blocks, nullptr, stream>>>(space, (uint8_t*)y, n, by); }
}
}
"""
SAID = "function: mine::tinysqrt_do\narguments: [blocks, stream, x, y, workspace, x.size, {by}]\n"


def launching(executor: NpuExecutor, source: str, said: str) -> CompileResult:
    files = {"src/do.cpp": source, "src/count.h": "#pragma once\nstruct Count { int64_t elements; };\n"}
    task = tiny_task()
    given = candidate_of({**files, "launch.yaml": said})
    return executor.compile(CompileRequest(task, None, Track.LAUNCH, given, 60.0, task.cases))


def test_a_host_function_launches_its_kernels_itself(npu: Make) -> None:
    """Two in sequence, a structure by value, memory between them; the time is that of the whole call."""
    executor, task = npu(profile="full"), tiny_task()
    built = launching(executor, LAUNCHES, SAID.format(by=0.5))
    assert built.artifact is not None, built
    seen = executor.run(RunRequest(task, task.cases[0], built.artifact, {"x": X}, 7, 10.0))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X) / 2, rtol=1e-6)
    assert seen.profile is not None
    assert seen.profile.time_us > 0


def test_what_a_device_does_not_launch_is_said(npu: Make) -> None:
    """Builds of another kind are no fault of the answer; a launch file that lacks something is."""
    for source, said, outcome, words in (
        (
            "#include <torch/extension.h>\n" + LAUNCHES,
            SAID,
            Outcome.INFRA_ERROR,
            "a launch file of a PyTorch extension",
        ),
        (LAUNCHES.replace("rooted<<<", "aclrtlaunch_rooted(<<<"), SAID, Outcome.INFRA_ERROR, "a launch by name"),
        (LAUNCHES, "function: tinysqrt_do", Outcome.COMPILE_ERROR, "names the function and its arguments"),
        (LAUNCHES, SAID.replace("tinysqrt_do", "other"), Outcome.COMPILE_ERROR, "no source defines the function"),
        (LAUNCHES, SAID.replace("x.size", "z.size"), Outcome.COMPILE_ERROR, "'z.size' is nothing that can be passed"),
    ):
        built = launching(npu(), source, said.format(by=1))
        assert built.outcome is outcome, built
        assert words in built.diagnostics[0].message


def test_inputs_that_a_kernel_changes_are_noticed(npu: Make) -> None:
    assert not asked(npu(), 15).inputs_intact


def test_a_kernel_that_works_only_once_is_wrong(npu: Make) -> None:
    """The outputs that are judged are those of a late launch, on memory that holds nobody's data."""
    source = KERNEL.format(more="static int calls = 0; if (++calls > 3) for (int i = 0; i < 20; ++i) to[i] = 0;")
    seen = observed(npu(profile="time"), source)
    assert seen.outcome is Outcome.OK
    assert not np.any(seen.outputs["y"])


def test_a_hang_of_the_worker_is_the_kernels(npu: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukb_npu.device._STARTUP_S", 1.0)
    seen = asked(npu(), 16, timeout_s=1.0)
    assert seen.outcome is Outcome.TIMEOUT
    assert "launch" in seen.diagnostics[0].message


def test_a_device_that_fails_its_probe_is_in_quarantine(npu: Make) -> None:
    executor = npu(environ={"ASCEND_STANDIN_STATUS": "1"}, lease_timeout_s=0.01)
    seen = asked(executor, 507015)
    assert [diagnostic.rule for diagnostic in seen.diagnostics] == ["device_exception", "device_quarantined"]
    with pytest.raises(ExecutorError, match=r"no device of 0 answers: device 0: .*normal state"):
        asked(executor, 0)


@pytest.mark.parametrize("environ", [{"ASCEND_STANDIN_INIT": "507033"}, {"ASCEND_STANDIN_HBM": "1000"}])
def test_faults_before_the_kernel_are_ours(npu: Make, environ: dict[str, str]) -> None:
    assert asked(npu(environ=environ), 0).outcome is Outcome.INFRA_ERROR


def test_compile_errors_are_at_the_candidates_lines(npu: Make) -> None:
    result = compiled(npu(), KERNEL.format(more="\n    nonsense(y);"))
    assert result.outcome is Outcome.COMPILE_ERROR
    assert any(
        (diagnostic.file, diagnostic.line) == ("kernel.cpp", 7) and "nonsense" in diagnostic.message
        for diagnostic in result.diagnostics
    )
    missing = compiled(npu(), "int nothing;")
    assert missing.outcome is Outcome.COMPILE_ERROR
    assert "tinysqrt" in missing.diagnostics[0].message


def test_builds_are_kept_by_content(npu: Make) -> None:
    first, again = compiled(npu(), KERNEL.format(more="")), compiled(npu(), KERNEL.format(more=""))
    other = compiled(npu(), KERNEL.format(more="to[0] = 1;"))
    assert first.artifact is not None
    assert again.artifact is not None
    assert other.artifact is not None
    assert first.artifact.key == again.artifact.key != other.artifact.key


def test_a_build_without_its_product_is_built_again(npu: Make, tmp_path: Path) -> None:
    first = compiled(npu(cache_dir=tmp_path), KERNEL.format(more="")).artifact
    assert first is not None
    for library in first.path.rglob("*.so"):
        library.unlink()
    assert compiled(npu(cache_dir=tmp_path), KERNEL.format(more="")).artifact == first
    assert list(first.path.rglob("*.so"))


@pytest.mark.parametrize("devices", ["0;x", ";0", "-1", "²"])
def test_devices_are_named_by_numbers(npu: Make, devices: str) -> None:
    with pytest.raises(UsageError, match="is no number of a device"):
        _ = npu(devices=devices).devices


def test_without_a_toolkit_it_refuses(npu: Make) -> None:
    executor = npu(environ={"ASCEND_HOME_PATH": ""})
    with pytest.raises(ToolchainError, match="no CANN toolkit"):
        compiled(executor, KERNEL.format(more=""))
    with pytest.raises(ExecutorError, match="ASCEND_HOME_PATH"):
        executor.prepare(lambda text: None, Track.STATIC)


def in_place() -> Task:
    case = tiny_case()
    task = tiny_task(cases=(replace(case, outputs={"x_out": case.outputs["y"]}),))
    return replace(task, outputs=(OutputSpec("x_out", dtype_like="x", shape_like="x", alias_of="x"),))


def test_in_place_outputs_share_the_inputs_memory(npu: Make) -> None:
    source = """
extern "C" __global__ __aicore__ void tinysqrt(GM_ADDR x, GM_ADDR out, GM_ADDR workspace) {
    if (x != out) return;
    for (int i = 0; i < 20; ++i) reinterpret_cast<float*>(x)[i] += 1;
}
"""
    executor, task = npu(profile="time"), in_place()
    built = compiled(executor, source, task)
    assert built.artifact is not None
    seen = executor.run(RunRequest(task, task.cases[0], built.artifact, {"x": X}, 7, 10.0))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_array_equal(seen.outputs["x_out"], X + 1)


HOST = """
// STANDIN_WORKSPACE={workspace} STANDIN_TILING={tiling}
namespace ops {{
class TinySqrt : public OpDef {{
public:
    explicit TinySqrt(const char* name) : OpDef(name) {{
        this->Input("x").ParamType(REQUIRED);
        this->Output("y").ParamType(REQUIRED);
        this->Attr("scale_by").AttrType(OPTIONAL).Float(1.0);
        {more}
        this->AICore().AddConfig("ascend910b");
    }}
}};
OP_ADD(TinySqrt);
}}
"""
DEVICE = """
extern "C" __global__ __aicore__ void tiny_sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {{
    auto* numbers = reinterpret_cast<float*>(tiling);
    for (int i = 0; i < int(numbers[0]); ++i)
        reinterpret_cast<float*>(y)[i] = numbers[1] * __builtin_sqrtf(reinterpret_cast<float*>(x)[i]);
    {more}
}}
"""


def operator(
    executor: NpuExecutor, *, workspace: int = 0, tiling: int = 0, more: str = "", device: str = DEVICE, host: str = ""
) -> Observation:
    case = replace(tiny_case(), attributes={"scale_by": 2.0})
    task = replace(tiny_task(cases=(case,)), kernel="tiny_sqrt", attributes=(AttributeSpec("scale_by", "float", 1.0),))
    files = {
        "op_host/tiny_sqrt.cpp": HOST.format(workspace=workspace, tiling=tiling, more=host),
        "op_kernel/tiny_sqrt.cpp": device.format(more=more),
        "op_host/CMakeLists.txt": 'message(FATAL_ERROR "the candidate\'s own build files are not used")\n',
    }
    answer = Candidate(files, "hash-of-the-answer")
    result = executor.compile(CompileRequest(task, None, Track.DYNAMIC, answer, 60.0, (case,)))
    assert result.artifact is not None, result
    return executor.run(RunRequest(task, case, result.artifact, {"x": X}, 7, 10.0))


def test_a_custom_operator_is_called_through_its_interface(npu: Make) -> None:
    seen = operator(npu(profile="time"), workspace=100)
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], 2 * np.sqrt(X), rtol=1e-6)
    assert seen.profile is not None


MEMORIES = {"acl": "acl", "torch_npu": "torch_npu 2.12.0+standin", "auto": "torch_npu 2.12.0+standin"}


@pytest.mark.parametrize("memory", MEMORIES)
def test_operators_are_given_tensors_of_torch_npu(npu: Make, memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in of torch_npu says that it is one. Values, guard bands and poison are the same in either memory."""
    executor, said = npu(profile="time", memory=memory), []

    def run(self: Bench, *arguments: object) -> tuple[Report, Finished]:
        report, finished = Bench_run(self, *arguments)  # type: ignore[arg-type]
        said.append(report.memory)
        return report, finished

    Bench_run = Bench.run
    monkeypatch.setattr(Bench, "run", run)
    seen = operator(executor, workspace=100)
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], 2 * np.sqrt(X), rtol=1e-6)
    assert said == [MEMORIES[memory]]
    assert (
        executor.describe()["memory"]
        == {
            "acl": "acl",
            "torch_npu": "torch_npu 2.12.0",
            "auto": "torch_npu 2.12.0 for operators, acl for direct launch",
        }[memory]
    )
    observed(executor, KERNEL.format(more=""))
    assert said[1] == ("torch_npu 2.12.0+standin" if memory == "torch_npu" else "acl")
    for more in ("reinterpret_cast<float*>(y)[20] = 1;", "reinterpret_cast<float*>(x)[-1] = 1;"):
        damaged = operator(executor, more=more)
        assert (damaged.outcome, damaged.diagnostics[0].rule) == (Outcome.RULE_VIOLATION, "illegal_write")


def test_nothing_is_left_of_an_earlier_result_in_torchs_memory(npu: Make) -> None:
    """A kernel that writes nothing finds the pattern of nobody's data, another one in every buffer."""
    kernel = DEVICE.replace("reinterpret_cast<float*>(y)[i] =", "volatile float f =")
    other = npu(memory="torch_npu")
    untouched = operator(other, device=kernel)
    assert untouched.outcome is Outcome.OK
    assert not (untouched.outputs["y"] == 0).any()
    assert not np.isclose(untouched.outputs["y"], 2 * np.sqrt(X)).any()


def test_torch_npu_that_is_missing_or_broken_is_no_verdict_on_the_kernel(npu: Make) -> None:
    """What was asked for is not replaced by the runtime's memory."""
    for environ in ({"ASCEND_STANDIN_TORCH": "broken"}, {"PYTHONPATH": ""}):
        seen = operator(npu(memory="torch_npu", environ=environ))
        assert seen.outcome is Outcome.INFRA_ERROR
        assert "Error" in seen.diagnostics[0].message


def test_auto_takes_the_runtimes_memory_where_there_is_no_torch_npu(npu: Make) -> None:
    executor = npu(memory="auto", installed={})
    assert executor.describe()["memory"] == "acl"
    assert operator(executor).outcome is Outcome.OK


@pytest.mark.parametrize("memory", ["acl", "torch_npu"])
@pytest.mark.parametrize(
    ("options", "outcome", "rule"),
    [
        ({"tiling": 561002}, Outcome.LAUNCH_ERROR, "operator_definition"),
        ({"workspace": 200, "more": "workspace[512] = 1;"}, Outcome.RULE_VIOLATION, "illegal_write"),
    ],
)
def test_faults_of_custom_operators(
    npu: Make, memory: str, options: dict[str, object], outcome: Outcome, rule: str
) -> None:
    seen = operator(npu(memory=memory), **options)  # type: ignore[arg-type]
    assert (seen.outcome, seen.diagnostics[0].rule) == (outcome, rule)


@pytest.mark.parametrize("memory", ["acl", "torch_npu"])
def test_a_workspace_that_does_not_fit_is_the_candidates(npu: Make, memory: str) -> None:
    seen = operator(npu(memory=memory, environ={"ASCEND_STANDIN_HBM": "1000000"}), workspace=2000000)
    assert (seen.outcome, seen.diagnostics[0].rule) == (Outcome.OUT_OF_MEMORY, "workspace")
