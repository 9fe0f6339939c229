"""Operator packages, from the installer to the kernel that is launched, on the stand-in; nothing of a real toolkit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from npukb_npu import executor as executors
from npukb_npu import packages
from npukb_npu.builds import Builder, Failure, environment_for
from npukb_npu.discovery import Site
from npukb_npu.executor import NpuExecutor
from npukb_npu.process import Finished
from npukernelbench.errors import ToolchainError
from npukernelbench.nouns.execution import CompileResult
from npukernelbench.nouns.outcomes import Outcome
from tests.npu.test_first_day import built, dynamic, ran
from tests.npu.test_standin_device import X

Make = Callable[..., NpuExecutor]
OTHER = "aarch64" if platform.machine() == "x86_64" else "x86_64"
STEP = packages.step(".")


def folder_of(result: CompileResult) -> Path:
    assert result.artifact is not None, result
    return result.artifact.path


def package_of(folder: Path) -> Path:
    [library] = folder.glob(packages.LIBRARY)
    return library.parents[2]


def variables(environment: dict[str, str]) -> list[list[str]]:
    return [
        [part.rstrip("/") for part in environment.get(name, "").split(":") if part]
        for name in ("ASCEND_CUSTOM_OPP_PATH", "LD_LIBRARY_PATH")
    ]


def test_both_documented_layouts_are_found(npu: Make, tmp_path: Path) -> None:
    executor, task = npu(environ={"ASCEND_STANDIN_LAYOUT": "flat"}, cache_dir=tmp_path / "flat"), dynamic()
    result = built(executor, task)
    assert package_of(folder_of(result)).parent.name == "installed"
    seen = ran(executor, task, result)
    assert seen.outcome is Outcome.OK, seen
    np.testing.assert_allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)


def test_the_environment_is_that_of_the_packages_script(npu: Make, site: Site, tmp_path: Path) -> None:
    executor = npu()
    package = package_of(folder_of(built(executor, dynamic())))
    assert package.parent.name == "vendors"
    text = next(package.glob("bin/set_env.bash")).read_text(encoding="utf-8")
    built_in = text[text.index("=") + 1 : text.index(f"/vendors/{package.name}")]  # a build moves to its place
    (tmp_path / "set_env.bash").write_text(text.replace(built_in, str(package.parents[1])), encoding="utf-8")
    own = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/usr/local/Ascend/cann/lib64"}
    said = subprocess.run(
        ["bash", "-c", f"source {tmp_path}/set_env.bash && env"], env=own, text=True, capture_output=True, check=True
    )
    sourced = dict(line.split("=", 1) for line in said.stdout.splitlines())
    ours = environment_for(replace(site, environ={**site.environ, **own}), tmp_path, package)
    assert variables(ours) == variables(sourced)
    assert ours["ASCEND_OPP_PATH"] == f"{site.home}/opp"


def test_packages_below_the_toolkit_come_last_in_their_own_order(
    npu: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its own folder the answer's kernel is launched, whatever the toolkit holds. Without it, order decides."""
    vendors, task = tmp_path / "opp/vendors", dynamic()
    executor = npu(environ={"ASCEND_OPP_PATH": str(vendors.parent)}, sandbox="off")
    result = built(executor, task)
    mine = package_of(folder_of(result))
    config = "op_impl/ai_core/tbe/config/ascend910b/aic-ascend910b-ops-info.json"
    for name in ("rival", mine.name):
        file = vendors / name / config
        file.parent.mkdir(parents=True)
        file.write_text('{"TinySqrt": {}}', encoding="utf-8")

    def right() -> bool:
        seen = ran(executor, task, result)
        assert seen.outcome is Outcome.OK, seen
        return np.allclose(seen.outputs["y"], np.sqrt(X), rtol=1e-6)

    (vendors / "config.ini").write_text(f"load_priority=rival,{mine.name}\n", encoding="utf-8")
    assert right()
    monkeypatch.setattr(executors._Built, "package", property(lambda built: ""))
    assert not right()
    (vendors / "config.ini").write_text(f"load_priority={mine.name},rival\n", encoding="utf-8")
    assert right()
    (vendors / "config.ini").unlink()
    assert "561003" in ran(executor, task, result).diagnostics[0].message


def test_what_is_lacking_in_host_code_is_the_answers(npu: Make) -> None:
    """Shared libraries may lack functions; an installer that loads them says which. The answer lacks it, not we."""
    result = built(npu(), dynamic(), host="int nowhere(int n);\nint asks(int n) { return nowhere(n); }")
    assert result.outcome is Outcome.COMPILE_ERROR
    assert "undefined symbol: _Z7nowherei" in result.diagnostics[0].message


def test_another_machines_package_is_a_fault_of_the_machine(npu: Make, tmp_path: Path) -> None:
    executor = npu(environ={"ASCEND_STANDIN_BUILT": OTHER}, cache_dir=tmp_path / "other")
    with pytest.raises(ToolchainError, match=f"for another machine.*{OTHER}.*{platform.machine()}") as raised:
        built(executor, dynamic())
    assert "cross compiler" in raised.value.remedy


def reinstalled(site: Site, folder: Path, cache: Path, words: tuple[str, ...]) -> tuple[Path, str] | Failure:
    """A package that was built, installed once more."""
    [script] = folder.glob("build_out/custom_opp_*.run")
    copy = ("sh", "-c", f"cp -r '{script.parent}/.' . && mkdir -p installed")
    return Builder(site, cache, confined=False, threads=1).build({"file": ""}, (copy, *words), "**/version.info", 9.0)


def test_no_installer_is_waited_for_and_none_is_the_answers_fault(npu: Make, site: Site, tmp_path: Path) -> None:
    folder = folder_of(built(npu(), dynamic()))
    into_a_file = (STEP[0], "--install-path={work}/file")
    with pytest.raises(ToolchainError, match=r"(?s)may not write.*\[ERROR\] create .*/framework failed") as denied:
        reinstalled(site, folder, tmp_path / "denied", (into_a_file,))
    assert "cache_dir=" in denied.value.remedy
    with pytest.raises(ToolchainError, match="asks what to do with a package that is already there") as asked:
        reinstalled(site, folder, tmp_path / "twice", (STEP, STEP))
    assert "remove the folder of builds" in asked.value.remedy


def test_other_reasons_are_told_as_they_were_said(site: Site, tmp_path: Path) -> None:
    name = f"custom_opp_ubuntu_{site.machine}.run"
    for said, remedy in (("no room on Sundays", "docs/npu.md"), ("GLIBC_2.99 not found", "cross compiler")):
        project = {name: f"#!/bin/sh\necho '{said}'\nexit 3\n"}
        with pytest.raises(ToolchainError, match=said) as raised:
            Builder(site, tmp_path, confined=False, threads=1).build(project, (STEP,), "installed", 9.0)
        assert remedy in raised.value.remedy


def test_a_build_without_a_package(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError, match=r"made no package \./custom_opp"):
        Builder(site, tmp_path, confined=False, threads=1).build({"file": ""}, (STEP,), "installed", 9.0)


def test_installers_that_do_not_end(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer's time is over, and still the installer's fault is not the answer's."""
    monkeypatch.setattr(packages, "INSTALL_S", 0.1)
    builder = Builder(site, tmp_path, confined=False, threads=1)
    project = {f"custom_opp_ubuntu_{site.machine}.run": "#!/bin/sh\nsleep 60\n"}
    with pytest.raises(ToolchainError, match="did not end in time"):
        builder.build(project, (STEP,), "installed", 0.5)


def test_a_slow_build_leaves_its_installer_time(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def run(builder: Builder, step: object, work: Path, environment: object, wall_s: float) -> Finished:
        given.append(wall_s)
        return Finished(0, "", timed_out=False, seconds=0.0)

    monkeypatch.setattr(Builder, "_run", run)
    project = {f"custom_opp_ubuntu_{site.machine}.run": ""}
    Builder(site, tmp_path, confined=False, threads=1).build(project, (("make",), STEP), "*.run", 9.0)
    assert given[0] <= 9.0
    assert given[1:] == [packages.INSTALL_S]


def test_places_are_absolute_and_can_be_written(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    builder = Builder(site, Path("builds"), confined=False, threads=1)
    script = '#!/bin/sh\ncase "$1" in --install-path=/*) mkdir "${1#*=}" ;; *) exit 1 ;; esac\n'
    done = builder.build({f"custom_opp_ubuntu_{site.machine}.run": script}, (STEP,), "installed", 9.0)
    assert not isinstance(done, Failure)
    (tmp_path / "file").touch()
    with pytest.raises(ToolchainError, match="builds cannot be written") as raised:
        Builder(site, Path("file"), confined=False, threads=1).build({}, (STEP,), "installed", 9.0)
    assert "cache_dir=" in raised.value.remedy


def test_machines_that_share_a_home_share_no_builds(site: Site, tmp_path: Path) -> None:
    """What is built on a system or an architecture is not for another one."""

    def key(root: Path, machine: str) -> str:
        machine_of = replace(site, root=root, machine=machine)
        return Builder(machine_of, tmp_path, confined=False, threads=1).key({"a": "b"}, (STEP,))

    roots = []
    for name, text in (("a", 'ID=ubuntu\nVERSION_ID="22.04"\n'), ("b", 'ID="openEuler"\nVERSION_ID="24.03"\n')):
        (tmp_path / name / "etc").mkdir(parents=True)
        (tmp_path / name / "etc/os-release").write_text(f"NAME=x\n{text}", encoding="utf-8")
        roots.append(tmp_path / name)
    keys = {key(root, machine) for root in roots for machine in ("x86_64", "aarch64")}
    assert len(keys) == 4
    assert key(roots[0], "x86_64") in keys
