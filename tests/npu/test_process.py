"""Child processes and their walls: floods, deadlines, what outlives a parent, and what Landlock refuses."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from npukb_npu.builds import environment_for, parse_errors
from npukb_npu.confine import FAILED, Reach, landlock_version, wrap
from npukb_npu.discovery import Site
from npukb_npu.process import Finished, run

PLUGINS = Path(__file__).parents[2] / "plugins"


def python(source: str, work: Path, reach: Reach | None = None, wall_s: float = 30.0, cpu_s: int = 20) -> Finished:
    command: tuple[str, ...] = (sys.executable, "-c", source)
    if reach is not None:
        command = wrap(command, reach, file_bytes=1 << 20, cpu_s=cpu_s)
    environment = {"PYTHONPATH": f"{PLUGINS}:{PLUGINS.parent}", "PATH": os.environ["PATH"]}
    return run(command, work=work, environment=environment, wall_s=wall_s)


def test_output_is_kept_and_a_flood_is_cut(tmp_path: Path) -> None:
    finished = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (finished.returncode, finished.timed_out) == (3, False)
    assert sorted(finished.output.split()) == ["err", "out"]
    flood = python("import sys; sys.stdout.write('x' * (8 << 20))", tmp_path)
    assert flood.returncode == 0
    assert len(flood.output) == 256 * 1024


def test_the_deadline_ends_the_whole_session(tmp_path: Path) -> None:
    source = (
        "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep(60)"
    )
    finished = python(source, tmp_path, wall_s=1.5)
    assert finished.timed_out
    assert finished.returncode == -9
    assert gone(int(finished.output))


def test_an_interrupt_ends_the_whole_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(child: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        monkeypatch.undo()
        started.append(child.pid)
        raise KeyboardInterrupt

    started: list[int] = []
    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    with pytest.raises(KeyboardInterrupt):
        python("import time; time.sleep(60)", tmp_path)
    assert gone(started[0])


def test_nothing_outlives_a_program_that_ends_well(tmp_path: Path) -> None:
    source = "import subprocess; print(subprocess.Popen(['sleep', '60'], stdout=-3).pid)"
    finished = python(source, tmp_path)
    assert finished.returncode == 0
    assert gone(int(finished.output))


def gone(pid: int) -> bool:
    """Whether a killed process has ended; its new parent may take a moment to notice."""
    for _ in range(500):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


landlock = pytest.mark.skipif(landlock_version() == 0, reason="this kernel has no Landlock")


@landlock
@pytest.mark.parametrize(
    "action",
    [
        "open('{outside}/secret').read()",
        "open('{outside}/new', 'w')",
        "__import__('os').listdir('{outside}')",
        "__import__('os').unlink('{outside}/secret')",
        "open('/usr/npukb', 'w')",
        "__import__('os').rename('{work}/mine', '{outside}/mine')",
    ],
)
def test_walls_hold(tmp_path: Path, action: str) -> None:
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    work.mkdir()
    (outside / "secret").write_text("secret")
    (work / "mine").touch()
    reach = Reach((PLUGINS, PLUGINS.parent), (work,))
    finished = python(action.format(outside=outside, work=work), work, reach)
    assert finished.returncode == 1
    assert "Permission" in finished.output or "cross-device" in finished.output
    assert "secret" not in finished.output.replace("/secret", "")
    assert sorted(path.name for path in outside.iterdir()) == ["secret"]


@landlock
def test_a_module_in_the_working_folder_does_not_replace_the_walls(tmp_path: Path) -> None:
    outside, work = tmp_path / "outside", tmp_path / "work"
    outside.mkdir()
    forged = f"open({str(outside / 'new')!r}, 'w')\n"
    for name in ("npukb_npu/__init__.py", "npukb_npu/confine.py", "ctypes.py", "sitecustomize.py"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(forged)
    python("1", work, Reach((PLUGINS, PLUGINS.parent), (work,)))
    assert list(outside.iterdir()) == []


def test_what_is_allowed_works(tmp_path: Path) -> None:
    reach = Reach((PLUGINS, PLUGINS.parent), (tmp_path,))
    source = "import json, os; open('a', 'w').write('1'); os.rename('a', 'b'); print(open('b').read(), os.getpid() > 0)"
    assert python(source, tmp_path, reach).output == "1 True\n"


def test_walls_that_fail_are_told_from_the_program(tmp_path: Path) -> None:
    command = wrap((str(tmp_path / "missing"),), Reach((), (tmp_path,)), file_bytes=1 << 20, cpu_s=20)
    finished = run(command, work=tmp_path, environment=os.environ, wall_s=30.0)
    assert (finished.returncode, finished.timed_out) == (FAILED, False)
    assert "npukb: no walls around the program" in finished.output


def test_limits_hold(tmp_path: Path) -> None:
    reach = Reach((PLUGINS, PLUGINS.parent), (tmp_path,))
    large = python("f = open('f', 'wb')\nf.write(b'x' * (2 << 20))\nf.flush()", tmp_path, reach)
    assert large.returncode != 0
    assert (tmp_path / "f").stat().st_size <= 1 << 20
    endless = python("while True: pass", tmp_path, reach, cpu_s=1)
    assert not endless.timed_out
    assert endless.returncode == -9


def test_everything_a_build_writes_is_its_own(site: Site, tmp_path: Path) -> None:
    shared = Site(
        environ={**site.environ, "ASCEND_CUSTOM_OPP_PATH": "/shared/opp", "SECRET_TOKEN": "s", "HOME": "/root"}
    )
    environment = environment_for(shared, tmp_path)
    assert "SECRET_TOKEN" not in environment
    assert environment["ASCEND_CUSTOM_OPP_PATH"] == "", "packages of the user's own would shadow the candidate's"
    package = tmp_path / "installed/vendors/npukb_1"
    assert environment_for(shared, tmp_path, package)["ASCEND_CUSTOM_OPP_PATH"] == str(package)
    written = {"HOME", "TMPDIR", "ASCEND_PROCESS_LOG_PATH", "ASCEND_CACHE_PATH", "ASCEND_WORK_PATH",
               "ASCENDC_BUILD_LOG_DIR"}  # fmt: skip
    for name in written:
        assert Path(environment[name]).is_relative_to(tmp_path), name
        assert Path(environment[name]).is_dir()
    assert environment["ASCEND_HOME_PATH"] == site.environ["ASCEND_HOME_PATH"]


def test_errors_of_the_compiler_are_at_the_candidates_lines(tmp_path: Path) -> None:
    project = {"candidate/kernel.cpp": "", "launcher.asc": "", "op_host/add.cpp": ""}
    output = f"""
{tmp_path}/candidate/kernel.cpp:7:3: error: use of undeclared identifier 'foo'
{tmp_path}/candidate/kernel.cpp:7:3: error: use of undeclared identifier 'foo'
op_host/add.cpp:12: fatal error: nothing.h: No such file or directory
{tmp_path}/launcher.asc:12:5: error: no matching function
/usr/include/other.h:1:1: error: not yours
{tmp_path}/candidate/kernel.cpp:9:1: warning: unused
"""
    found = [(error.file, error.line, error.message) for error in parse_errors(output, tmp_path, project)]
    assert found == [
        ("kernel.cpp", 7, "use of undeclared identifier 'foo'"),
        ("op_host/add.cpp", 12, "nothing.h: No such file or directory"),
        ("", 0, "no matching function"),
        ("", 0, "not yours"),
    ]
