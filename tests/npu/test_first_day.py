"""What would fail on the first day with a device, each against a stand-in that behaves as documented (issue 25, 1a–1k).

One test per fault; ``docs/npu.md`` names the evidence for each behaviour.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_npu import interpreter
from npukb_npu.aclnn import Binding, Unbound, bind, parse_header
from npukb_npu.builds import parse_errors
from npukb_npu.confine import landlock_version
from npukb_npu.discovery import findings
from npukb_npu.executor import NpuExecutor
from npukb_npu.machine import Device, compute_unit, visible
from npukb_npu.projects import registered
from npukernelbench.errors import ToolchainError, UsageError
from npukernelbench.judge.executor import FindingStatus
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import CompileRequest, CompileResult, Observation, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.nouns.task import InputSpec, OutputSpec, Task, TensorShape
from npukernelbench.testing.standin import PACKAGES, Chip, Machine
from npukernelbench.testing.tasks import tiny_case, tiny_task
from tests.npu.conftest import site_of
from tests.npu.test_standin_device import KERNEL, X, observed

Make = Callable[..., NpuExecutor]
HOST = """
namespace ops {{
class TinySqrt : public OpDef {{
public:
    explicit TinySqrt(const char* name) : OpDef(name) {{
        this->Input("x").ParamType(REQUIRED);
        {outputs}
        this->AICore().AddConfig("ascend910b");
    }}
}};
OP_ADD(TinySqrt);
}}
{more}
"""
DEVICE = """
extern "C" __global__ __aicore__ void tiny_sqrt({arguments}, GM_ADDR workspace, GM_ADDR tiling) {{
    auto* from = reinterpret_cast<float*>(x);
    for (int i = 0; i < 20; ++i) reinterpret_cast<float*>({to})[i] = __builtin_sqrtf(from[i]);
    {more}
}}
"""
ONE = 'this->Output("y").ParamType(REQUIRED);'


def dynamic(task: Task | None = None) -> Task:
    return replace(task or tiny_task(), kernel="tiny_sqrt")


def built(
    executor: NpuExecutor,
    task: Task,
    *,
    outputs: str = ONE,
    arguments: str = "GM_ADDR x, GM_ADDR y",
    to: str = "y",
    host: str = "",
    device: str = "",
) -> CompileResult:
    files = {
        "op_host/tiny_sqrt.cpp": HOST.format(outputs=outputs, more=host),
        "op_kernel/tiny_sqrt.cpp": DEVICE.format(arguments=arguments, to=to, more=device),
    }
    request = CompileRequest(task, None, Track.DYNAMIC, Candidate(files, "hash"), 60.0, tuple(task.cases))
    return executor.compile(request)


def ran(executor: NpuExecutor, task: Task, result: CompileResult, timeout_s: float = 10.0) -> Observation:
    assert result.artifact is not None, result
    return executor.run(RunRequest(task, task.cases[0], result.artifact, {"x": X}, 7, timeout_s))


# (a) packages


def test_an_installed_package_is_found_where_the_runtime_looks(npu: Make) -> None:
    """``ASCEND_CUSTOM_OPP_PATH`` names ``vendors/NAME``; a folder above it gives 561003, which blames the model."""
    executor, task = npu(), dynamic()
    seen = ran(executor, task, built(executor, task))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)


def test_another_package_with_the_operator_is_not_run(npu: Make, tmp_path: Path) -> None:
    """The kernel is that of the first package in ``ASCEND_CUSTOM_OPP_PATH``: nothing of the user's own stays there."""
    config = tmp_path / "vendors/rival/op_impl/ai_core/tbe/config/ascend910b"
    config.mkdir(parents=True)
    (config / "aic-ascend910b-ops-info.json").write_text('{"TinySqrt": {}}', encoding="utf-8")
    environ = {"ASCEND_CUSTOM_OPP_PATH": str(tmp_path / "vendors/rival")}
    executor, task = npu(environ=environ, sandbox="off"), dynamic()  # walls alone would hide the other
    seen = ran(executor, task, built(executor, task))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)


# (b) host errors, (d) host standard


def test_errors_of_host_code_are_the_candidates(npu: Make) -> None:
    """They come through CMake's ``message``, indented and wrapped, while the project is configured."""
    line = "int lacking() { return a_name_that_is_nowhere_declared_and_long_enough_to_wrap + another_one_like_it; }"
    result = built(npu(), dynamic(), host=line)
    assert result.outcome is Outcome.COMPILE_ERROR
    [first, *_] = result.diagnostics
    assert (first.file, first.line) == ("op_host/tiny_sqrt.cpp", 13)
    assert "a_name_that_is_nowhere_declared_and_long_enough_to_wrap’ was not declared in this scope" in first.message


@pytest.mark.parametrize(
    "output",
    [
        "/w/op_host/a.cpp:3:5: error: 'b' was not declared in this scope\n",
        "build ops lib error: /w/op_host/a.cpp:3:5: error: 'b' was not declared in this scope\n",
        "\x1b[1m/w/op_host/a.cpp:3:5: \x1b[31merror: \x1b[0m'b' was not declared in this scope\n",
        "CMake Error at /t/f.cmake:30 (message):\n  build ops lib error:\n  /w/op_host/a.cpp:3:5: error: 'b' was not\n"
        "  declared in this scope\n\n      3 | b;\n\nCall Stack (most recent call first):\n  CMakeLists.txt:2 (f)\n",
    ],
)
def test_every_way_in_which_an_error_is_told_is_read(output: str) -> None:
    [diagnostic] = parse_errors(output, Path("/w"), {"op_host/a.cpp": ""})
    assert (diagnostic.file, diagnostic.line, diagnostic.column) == ("op_host/a.cpp", 3, 5)
    assert diagnostic.message == "'b' was not declared in this scope"


def test_a_message_without_a_place_is_no_error_of_the_candidate() -> None:
    output = "CMake Error at /t/func.cmake:30 (message):\n  opbuild run failed! error: no space left on device\n\n"
    assert list(parse_errors(output, Path("/w"), {"op_host/a.cpp": ""})) == []


def test_host_code_is_compiled_to_the_standard_of_the_twin(npu: Make) -> None:
    """The toolkit's ``-std=c++11`` comes after a project's options: only what comes last counts."""
    host = "#include <optional>\nstd::optional<int> f(int n) { if (n > 2) return n; return std::nullopt; }"
    task = dynamic()
    assert built(npu(), task, host=host).outcome is Outcome.OK


# (c) in place, and outputs that the definition leaves out


def in_place(name: str) -> Task:
    case = tiny_case()
    task = dynamic(tiny_task(cases=(replace(case, outputs={name: case.outputs["y"]}),)))
    return replace(task, outputs=(OutputSpec(name, dtype_like="x", shape_like="x", alias_of="x"),))


@pytest.mark.parametrize("declared", ["x", "x_ref"])
def test_outputs_in_the_memory_of_inputs(npu: Make, declared: str) -> None:
    """Under the input's name the interface has one parameter ``xRef``; under another name it has two."""
    executor, task = npu(), in_place("x_ref")
    result = built(
        executor, task, outputs=f'this->Output("{declared}").ParamType(REQUIRED);',
        arguments="GM_ADDR x, GM_ADDR x_ref", to="x_ref",
    )  # fmt: skip
    seen = ran(executor, task, result)
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["x_ref"], np.sqrt(X), rtol=1e-6)


def test_a_shape_that_the_kernel_decides_is_an_output_of_the_task(npu: Make) -> None:
    """The definition of MaskedSelectV3 has one output, the task two: the second is what the framework tells."""
    case = tiny_case()
    case = replace(case, outputs={**case.outputs, "shapeout": TensorShape((3,), DType.UINT64)})
    task = dynamic(tiny_task(cases=(case,)))
    task = replace(task, outputs=(*task.outputs, OutputSpec("shapeout", dtype=DType.UINT64)))
    executor = npu()
    result = built(
        executor, task, outputs='this->Output("y").ParamType(REQUIRED).OutputShapeDependOnCompute();',
        arguments="GM_ADDR x, GM_ADDR y, GM_ADDR shape",
        device="auto* s = reinterpret_cast<uint64_t*>(shape); s[0] = 2; s[1] = 3; s[2] = 5;",
    )  # fmt: skip
    seen = ran(executor, task, result)
    assert seen.outcome is Outcome.OK, seen
    assert seen.outputs["shapeout"].tolist() == [2, 3, 5]
    silent = built(executor, task)
    assert silent.outcome is Outcome.COMPILE_ERROR
    assert "has no parameter for shapeout" in silent.diagnostics[0].message
    assert "outputs (y, shapeout)" in silent.diagnostics[0].message


def test_every_in_place_interface_is_paired() -> None:
    """As the toolkit writes it when the definition gives both one name, and when it does not."""
    task = replace(
        tiny_task(),
        inputs=(InputSpec("var", (DType.FLOAT32,)), InputSpec("m", (DType.FLOAT32,))),
        outputs=(OutputSpec("var_out", alias_of="var"), OutputSpec("m_out", alias_of="m"), OutputSpec("norm")),
    )
    tail = "uint64_t *workspaceSize, aclOpExecutor **executor);"
    names = {
        "const aclTensor *varRef, const aclTensor *mRef, const aclTensor *out, ": ("norm", "output"),
        "const aclTensor *var, const aclTensor *m, const aclTensor *varOutOut, const aclTensor *mOutOut, "
        "const aclTensor *normOut, ": ("norm", "output"),
    }
    for parameters, (name, role) in names.items():
        prototype = parse_header(f"aclnnStatus aclnnTGetWorkspaceSize({parameters}{tail}")
        assert prototype is not None
        bound = bind(prototype, task)
        assert isinstance(bound, Binding), bound
        assert bound.roles[:2] == (("input", "var"), ("input", "m"))
        assert bound.roles[-1] == (role, name)
    prototype = parse_header(f"aclnnStatus aclnnTGetWorkspaceSize(const aclTensor *varRef, {tail}")
    assert prototype is not None
    lacking = bind(prototype, task)
    assert isinstance(lacking, Unbound)
    assert "no parameter for m, norm" in lacking.message


# (e) time


def test_the_time_is_the_kernels_and_not_that_of_its_way_to_the_device(npu: Make) -> None:
    """A blocking flush leaves the device idle: then the 20 µs until it gets the next task are counted, too."""
    environ = {"ASCEND_STANDIN_KERNEL_US": "3", "ASCEND_STANDIN_DISPATCH_US": "20"}
    seen = observed(npu(profile="time", environ=environ), KERNEL.format(more=""))
    assert seen.profile is not None, seen
    assert seen.profile.time_us == pytest.approx(3.0, abs=0.1)


# (f) Python


def test_the_toolkits_scripts_get_a_python_that_has_their_packages(
    npu: Make, npukb_standin: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = npukb_standin(packages=())
    monkeypatch.setattr(interpreter, "find_spec", lambda name: None)
    monkeypatch.setattr(interpreter, "_OTHERS", ())
    lacking = next(finding for finding in findings(site_of(bare)) if finding.name == "toolkit's Python")
    assert lacking.status is FindingStatus.PROBLEM
    assert "lacks attrs, decorator, psutil" in lacking.detail
    assert "pip install attrs decorator psutil" in lacking.remedy
    environment = tmp_path / "environment/bin"  # as an activated one is: first on the path, without any of them
    environment.mkdir(parents=True)
    shutil.copy(bare / "bin/python3", environment)
    executor, task = npu(environ={"PATH": f"{environment}:{site_of(npukb_standin()).environ['PATH']}"}), dynamic()
    assert built(executor, task, host="// with a Python of its own").outcome is Outcome.OK
    assert len(PACKAGES) == 3


# (g) numbers of devices


@pytest.mark.parametrize(
    ("named", "count", "seen"),
    [
        (None, 3, (0, 1, 2)),
        ("", 3, ()),
        ("1,2", 3, (1, 2)),
        ("1, 2", 3, (1,)),
        ("0,7", 3, (0,)),
        ("0,x,2", 3, (0,)),
        ("2x,1", 3, (2,)),
    ],
)
def test_which_devices_a_process_sees(named: str | None, count: int, seen: tuple[int, ...]) -> None:
    assert visible(named, count) == seen


def test_devices_are_counted_as_the_runtime_counts_them(npu: Make, npukb_standin: Callable[..., Path]) -> None:
    """Nodes 3 and 5 in a container, of which the variable shows the second: index 0 is /dev/davinci5."""
    root = npukb_standin(nodes=(3, 5))
    machine = Machine(cards=(4, 6))
    executor = npu(root=root, machine=machine, environ={"ASCEND_RT_VISIBLE_DEVICES": "1"})
    assert executor.devices == (Device(index=0, node=5, card=6, chip=0),)
    seen = observed(executor, KERNEL.format(more=""))
    assert seen.outcome is Outcome.OK, seen
    with pytest.raises(UsageError, match="there is no device 5: this process sees 1"):
        _ = npu(root=root, machine=machine, environ={"ASCEND_RT_VISIBLE_DEVICES": "1"}, devices="5").devices
    ill = replace(machine, ill=frozenset({(6, 0)}))
    found = {finding.name: finding for finding in findings(site_of(root, machine=ill))}
    assert found["device 0"].status is FindingStatus.OK
    assert "health Alarm (card 6, chip 0, /dev/davinci5)" in found["device 1"].detail


# (h) A3


def test_an_a3_server_is_one(npu: Make, npukb_standin: Callable[..., Path]) -> None:
    """Two chips on a card, ``Ascend910`` and an NPU Name; operators are looked for under ``ascend910_93``."""
    root = npukb_standin(nodes=(0, 1))
    machine = Machine(chip=Chip.A3, per_card=2)
    executor = npu(root=root, machine=machine, environ={"ASCEND_STANDIN_SOC": "StandIn910_9392"})
    assert executor.describe()["chip"] == "910_9392"
    assert [(device.card, device.chip) for device in executor.devices] == [(0, 0), (0, 1)]
    task = dynamic()
    seen = ran(executor, task, built(executor, task))
    assert seen.outcome is Outcome.OK, seen


def test_families_of_chips() -> None:
    assert {compute_unit(name) for name in ("910B3", "Ascend910B4-1")} == {"ascend910b"}
    assert {compute_unit(name) for name in ("910_9392", "Ascend910_9382")} == {"ascend910_93"}
    for unknown in ("910", "", "310P3"):
        with pytest.raises(ToolchainError, match="910B and 910_93 chips"):
            compute_unit(unknown)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('this->AICore().AddConfig("ascend910b");', 'this->AICore().AddConfig("ascend910_93");'),
        ('AICore().SetTiling(f).AddConfig( "ascend910b" , config);', 'AICore().AddConfig("ascend910_93" , config);'),
    ],
)
def test_a_definition_does_for_both_families(before: str, after: str) -> None:
    files = {"op_host/a.cpp": f"{before}\n", "op_kernel/a.cpp": before}
    assert registered(files, "ascend910_93") == {**files, "op_host/a.cpp": f"{before} {after}\n"}
    assert registered(files, "ascend910b") == files
    other = {"op_host/a.cpp": 'this->AICore().AddConfig("ascend310p");'}
    assert registered(other, "ascend910_93") == other


# (i) kernels that do not end


def test_a_kernel_that_does_not_end_is_stopped_and_costs_no_device(npu: Make) -> None:
    executor = npu(lease_timeout_s=0.01)
    seen = observed(executor, KERNEL.format(more="standin_hang();"))
    assert (seen.outcome, [diagnostic.rule for diagnostic in seen.diagnostics]) == (Outcome.TIMEOUT, ["device_timeout"])
    assert "507014" in seen.diagnostics[0].message
    assert observed(executor, KERNEL.format(more="")).outcome is Outcome.OK


def test_a_device_that_hangs_heals_by_a_probe(npu: Make, npukb_standin: Callable[..., Path]) -> None:
    """What the hardware did not stop stays on the device; the device is lent again when a fresh process can open it."""
    root = npukb_standin()
    (root / "dev/davinci0").write_text("4")
    executor = npu()
    seen = observed(executor, KERNEL.format(more=""))
    assert seen.outcome is Outcome.INFRA_ERROR
    assert seen.diagnostics[-1].rule == "device_quarantined"
    (root / "dev/davinci0").write_text("0")
    executor._leases._wall = lambda: 2e18  # the quarantine is over
    assert observed(executor, KERNEL.format(more="")).outcome is Outcome.OK
    assert executor._leases.quarantine(0) is None


# (j) walls


@pytest.mark.skipif(landlock_version() == 0, reason="needs Landlock")
def test_walls_leave_locks_and_nodes_usable(npu: Make) -> None:
    """Python's locks and the driver's messages lie in /dev/shm; nodes are opened for reading and writing."""
    executor, task = npu(sandbox="auto", memory="acl"), dynamic()
    seen = ran(executor, task, built(executor, task, host="// behind walls"))
    assert seen.outcome is Outcome.OK, seen


# HBM


def test_a_large_case_is_timed_on_as_many_copies_as_fit(npu: Make) -> None:
    """One copy of the tensors and the memory that flushes the cache fit, two copies do not."""
    environ = {"ASCEND_STANDIN_HBM": str((2 << 16) + 2 * 17000)}
    seen = observed(npu(profile="time", environ=environ), KERNEL.format(more=""))
    assert seen.outcome is Outcome.OK, seen
    assert seen.profile is not None
