"""Toolkits without the CMake package ASC (CANN 8.0 to 8.2), as the stand-in behaves like one: which projects are built
is decided by what a toolkit offers. Of a real toolkit this shows nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_npu import flows
from npukb_npu.discovery import Site, findings, host_mode_findings
from npukb_npu.executor import NpuExecutor
from npukb_npu.hostmodes import CannCpuExecutor, HostModeArgs
from npukernelbench.errors import ToolchainError
from npukernelbench.judge.executor import FindingStatus
from npukernelbench.nouns.execution import CompileRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.sample import Candidate
from npukernelbench.testing.standin import Chip, Machine, Toolkit
from npukernelbench.testing.tasks import candidate, tiny_task
from tests.npu.conftest import site_of
from tests.npu.test_first_day import DEVICE, HOST, ONE, built, dynamic, ran
from tests.npu.test_standin_device import KERNEL, X, observed

Make = Callable[..., NpuExecutor]
NAME = "CMake package ASC"


@pytest.fixture
def root(npukb_standin: Callable[..., Path]) -> Path:
    return npukb_standin(toolkit=Toolkit.CANN_82)


@pytest.fixture
def old(root: Path) -> Site:
    return site_of(root)


def test_kernels_are_launched_by_the_functions_of_the_toolkit(npu: Make, root: Path) -> None:
    seen = observed(npu(root=root, profile="time"), KERNEL.format(more=""))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)
    assert seen.profile is not None


def test_a_kernel_that_does_not_end_is_stopped_by_a_time_out_in_seconds(npu: Make, root: Path) -> None:
    seen = observed(npu(root=root), KERNEL.format(more="standin_hang();"), timeout_s=3.0)
    assert (seen.outcome, "507014" in seen.diagnostics[0].message) == (Outcome.TIMEOUT, True), seen


def test_an_answer_takes_the_place_of_the_generators_stubs(npu: Make, root: Path) -> None:
    """The host code needs C++17, and the kernel is not where these projects look for it."""
    executor, task = npu(root=root, sandbox="auto"), dynamic()
    host = HOST.format(outputs=ONE, more="#include <optional>\nstd::optional<int> f() { return std::nullopt; }")
    files = {
        "op_host/tiny_sqrt.cpp": host,
        "op_kernel/impl/sqrt.cpp": DEVICE.format(arguments="GM_ADDR x, GM_ADDR y", to="y", more=""),
        "CMakeLists.txt": "message(FATAL_ERROR no)",
    }
    request = CompileRequest(task, None, Track.DYNAMIC, Candidate(files, "hash"), 60.0, tuple(task.cases))
    seen = ran(executor, task, executor.compile(request))
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)


def test_errors_are_at_the_answers_own_lines(npu: Make, root: Path) -> None:
    host = built(npu(root=root), dynamic(), host="int lacking() { return nowhere; }")
    assert host.outcome is Outcome.COMPILE_ERROR
    assert (host.diagnostics[0].file, host.diagnostics[0].line) == ("op_host/tiny_sqrt.cpp", 13)
    task = tiny_task()
    source = candidate(KERNEL.format(more="nowhere();"))
    static = npu(root=root).compile(CompileRequest(task, task.cases[0], Track.STATIC, source, 60.0))
    assert static.outcome is Outcome.COMPILE_ERROR
    assert (static.diagnostics[0].file, static.diagnostics[0].line) == (next(iter(source.files)), 6)


def test_chips_of_both_families(root: Path) -> None:
    """The functions take the chip's name, projects of operators its family."""
    site = site_of(root, machine=Machine(chip=Chip.A3))
    static = flows.direct(site, {"k.cpp": ""}, "k.cpp", "k", ("x",))
    assert "-DSOC_VERSION=Ascend910_9392" in static.steps[0]
    operator = flows.operator(site, {"op_host/k.cpp": ""}, "K", "v")
    assert "ai_core-Ascend910_9392" in operator.steps[0]
    assert '"ASCEND_COMPUTE_UNIT": "ascend910_93"' in operator.project["settings.json"]
    other = site_of(root, machine=Machine(chip=Chip.P3))
    for build in (flows.direct, flows.operator):
        with pytest.raises(ToolchainError, match="910B and 910_93 chips"):
            build(other, {"k.cpp": ""}, *(("k.cpp", "k", ("x",)) if build is flows.direct else ("K", "v")))  # type: ignore[operator]


def test_what_is_looked_at_is_what_is_there_and_not_a_version(old: Site, site: Site) -> None:
    assert (old.version, old.cmake_package, site.kernel_functions) == ("8.2.RC1", None, None)
    found = {finding.name: finding for finding in findings(old)}
    assert (found[NAME].status, found["runtime library"].status) == (FindingStatus.OK, FindingStatus.OK)
    assert "ascendc.cmake in" in found[NAME].detail
    assert "read and not run" in found[NAME].detail
    newer = flows.direct(site, {"k.cpp": ""}, "k.cpp", "k", ("x",))
    assert f"-DASC_DIR={site.cmake_package}" in newer.steps[0]


def test_half_of_what_is_needed_is_named(old: Site, site: Site) -> None:
    lacking = replace(old)
    lacking.__dict__["generator"] = None  # what is cached is what was found
    finding = next(one for one in findings(lacking) if one.name == NAME)
    assert finding.status is FindingStatus.PROBLEM
    assert "but no msopgen" in finding.detail
    with pytest.raises(ToolchainError, match="neither the CMake package ASC nor msopgen"):
        flows.operator(lacking, {"op_host/k.cpp": ""}, "K", "v")
    bare = replace(site)
    bare.__dict__.update(cmake_package=None, kernel_functions=None)
    with pytest.raises(ToolchainError, match=r"nor ascendc\.cmake"):
        flows.direct(bare, {"k.cpp": ""}, "k.cpp", "k", ("x",))


def test_the_toolkits_own_modes_need_the_package(old: Site, tmp_path: Path) -> None:
    finding = next(host_mode_finding for host_mode_finding in host_mode_findings(old) if host_mode_finding.name == NAME)
    assert (finding.status, "8.3" in finding.remedy) == (FindingStatus.PROBLEM, True)
    executor = CannCpuExecutor(HostModeArgs(cache_dir=tmp_path), site=old)
    task = tiny_task()
    request = CompileRequest(task, task.cases[0], Track.STATIC, candidate(KERNEL.format(more="")), 60.0)
    with pytest.raises(ToolchainError, match="no CMake package ASC"):
        executor.compile(request)
