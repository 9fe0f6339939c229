"""The stand-in's installer of operator packages does what documentation pages say; docs/npu.md names them."""

from __future__ import annotations

import os
import platform
import subprocess

import pytest

from npukernelbench.testing.standin.opbuild import TREE, Definition, installer, package

DEFINITION = Definition("TinySqrt", ["x"], ["y"], [], ["ascend910b"], {}, late=False)
PARTS = ("framework", "op_api", "op_impl", "op_proto")


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Makes the package of a vendor and installs it: ``make("v", "--install-path=/tmp/x", answers="oooo")``."""
    opp = tmp_path / "opp"
    (opp / "vendors").mkdir(parents=True)
    monkeypatch.setenv("ASCEND_OPP_PATH", str(opp))

    def install(vendor, *words, answers="", **environ):
        out = tmp_path / f"build-{vendor}"
        package(DEFINITION, out / TREE, "ascend910b")
        (out / TREE / "framework/plugin.so").touch()
        for name, value in environ.items():
            monkeypatch.setenv(f"ASCEND_STANDIN_{name}", value)
        script = installer(out, vendor)
        return subprocess.run(
            [script, *words], input="".join(f"{answer}\n" for answer in answers), text=True, capture_output=True,
            env={**os.environ}, cwd=tmp_path, timeout=20, check=False,
        )  # fmt: skip

    return install


@pytest.mark.parametrize("layout", ["vendors/v", "v"])
def test_a_named_folder_and_what_makes_its_package_known(make, tmp_path, layout):
    """Pages differ: below ``vendors/NAME``, or below ``NAME``. The last package to be sourced is first."""
    path = tmp_path / "own"
    done = make("v", f"--install-path={path}", LAYOUT="flat" if layout == "v" else "")
    assert done.returncode == 0, done.stdout
    assert (path / layout / "op_api/include/aclnn_tiny_sqrt.h").is_file()
    assert (path / layout / "version.info").is_file()
    script = path / layout / "bin/set_env.bash"
    shown = f"source {script}; source {script}; echo $ASCEND_CUSTOM_OPP_PATH $LD_LIBRARY_PATH"
    said = subprocess.run(
        ["bash", "-c", shown], env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": "/old"}, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    paths, libraries = said.stdout.split()
    assert paths == f"{path / layout}:" * 2
    assert libraries == f"{path / layout}/op_api/lib/:" * 2 + "/old"
    assert not (tmp_path / "opp/vendors/config.ini").exists()


def test_the_toolkits_folder_has_an_order(make, tmp_path):
    config = tmp_path / "opp/vendors/config.ini"
    assert make("one").returncode == make("two").returncode == 0
    assert config.read_text() == "load_priority=two,one\n"
    assert config.stat().st_mode & 0o777 == 0o640
    assert make("one", answers="oooo").returncode == 0
    assert config.read_text() == "load_priority=one,two\n"
    config.write_text("load_priority=\n")
    refused = make("three")
    assert (refused.returncode, "no load_priority" in refused.stdout) == (1, True)
    assert not (tmp_path / "opp/vendors/three").exists()


def test_every_part_of_a_package_that_is_there_is_asked_about(make, tmp_path):
    path = tmp_path / "own"
    old = path / "vendors/v/framework/old.so"
    asked = [f"has old version in {path}/vendors/v/{part}" for part in ("framework", "op_api", "op_impl", "op_proto")]
    assert "has old version" not in make("v", f"--install-path={path}").stdout
    old.touch()
    overlaid = make("v", f"--install-path={path}", answers="xoooo")
    assert (overlaid.returncode, old.exists()) == (0, True)
    assert [line in overlaid.stdout for line in asked] == [True] * len(PARTS)
    replaced = make("v", f"--install-path={path}", answers="rooo")
    assert (replaced.returncode, old.exists(), old.with_name("plugin.so").exists()) == (0, False, True)
    assert "SUCCESS" not in make("v", f"--install-path={path}", answers="n").stdout
    assert make("v", f"--install-path={path}").returncode == 1, "nobody answers"


def test_what_is_refused(make, tmp_path):
    """A place that cannot be written, one that is relative, another machine's libraries, no toolkit."""
    other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
    (tmp_path / "file").touch()
    denied = make("v", f"--install-path={tmp_path}/file")
    assert denied.returncode == 1
    assert "does not have sufficient permissions" in denied.stdout
    assert f"[ERROR] create {tmp_path}/file/vendors/v/framework failed" in denied.stdout
    assert "no absolute path" in make("v", "--install-path=own").stdout
    path = tmp_path / "own"
    assert f"built for {other}" in make("v", f"--install-path={path}", BUILT=other).stdout
    assert "asks for glibc 9.1" in make("v", f"--install-path={path}", BUILT=f"{platform.machine()} 9.1").stdout
    assert not path.exists()
    assert make("v", f"--install-path={path}", "--force").returncode == 0
