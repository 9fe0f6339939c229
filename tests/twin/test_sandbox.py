"""The sandbox: what a child cannot do, that it is all or nothing, and that a dead parent leaves nothing running."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from npukb_twin.compile import driver
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch import sandbox
from npukb_twin.launch.namespaces import shared_namespaces
from npukb_twin.launch.process import Limits, run
from npukb_twin.launch.sandbox import Measures, Mode, Sandbox, open_sandbox
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import FindingStatus
from npukernelbench.nouns import Outcome
from tests.twin.running import Twin, kernel

if TYPE_CHECKING:
    from npukb_twin.launch.process import Finished as Ended

NAMESPACES = ("user", "net", "ipc", "uts")
LIMITS = Limits(wall_s=20.0, memory_bytes=4 << 30, file_bytes=1 << 20)
PYTHON = (Path(sys.base_prefix), Path(sys.prefix))


@pytest.fixture(scope="module")
def folder(twin: Twin) -> Path:
    """Where the launcher lies."""
    return twin.executor._ready().host.parent


@pytest.fixture(scope="module")
def confined(folder: Path) -> Sandbox:
    sandbox = open_sandbox(Mode.AUTO, folder)
    if sandbox.measures.missing:
        pytest.skip(f"this machine offers no {', '.join(sandbox.measures.missing)}")
    return sandbox.reaching(run=PYTHON)


def python(code: str, work: Path, how: Sandbox) -> Ended:
    return run((sys.executable, "-I", "-c", code), work=work, environment={"PATH": ""}, limits=LIMITS, sandbox=how)


FORBIDDEN = {
    "read a file": "open('/etc/passwd')",
    "list a folder": "import os; os.listdir('/')",
    "read another process": "import os; open(f'/proc/{os.getppid()}/environ')",
    "read its own memory": "open('/proc/self/mem')",
    "write a file": "open('/tmp/npukb-forbidden', 'w')",
    "leave a device open": "open('/dev/shm/npukb-forbidden', 'w')",
    "signal its parent": "import os; os.kill(os.getppid(), 0)",
    "signal everybody": "import os; os.kill(-1, 0)",
    "start a process": "import os; os.fork()",
    "leave its session": "import os; os.setpgid(0, 0)",
    "open a socket": "import socket; socket.socket()",
    "open a socket pair": "import socket; socket.socketpair()",
    "raise a limit": "import resource; resource.prlimit(1, resource.RLIMIT_CPU)",
    "make anonymous files": "import os; os.memfd_create('x')",
}


@pytest.mark.parametrize("code", FORBIDDEN.values(), ids=FORBIDDEN)
def test_what_a_child_cannot_do(confined: Sandbox, tmp_path: Path, code: str) -> None:
    done = python(code, tmp_path, confined)
    assert done.returncode == 1
    assert "Error" in done.output.splitlines()[-1]
    assert any(word in done.output for word in ("PermissionError", "Operation not permitted")), done.output


#: Their numbers on x86-64 and on aarch64.
CALLS = {
    "ptrace": (101, 117),
    "bpf": (321, 280),
    "io_uring_setup": (425, 425),
    "perf_event_open": (298, 241),
    "mount": (165, 40),
    "unshare": (272, 97),
    "setns": (308, 268),
    "keyctl": (250, 219),
    "init_module": (175, 105),
}


@pytest.mark.parametrize("numbers", CALLS.values(), ids=CALLS)
def test_calls_that_no_compiler_needs(confined: Sandbox, tmp_path: Path, numbers: tuple[int, int]) -> None:
    number = dict(zip(("x86_64", "aarch64"), numbers, strict=True))[os.uname().machine]
    call = f"ctypes.CDLL(None, use_errno=True).syscall({number}, 0, 0, 0, 0, 0, 0)"
    done = python(f"import ctypes; print({call}, ctypes.get_errno())", tmp_path, confined)
    assert done.output.strip() == "-1 1"


def test_what_a_child_can_do(confined: Sandbox, tmp_path: Path) -> None:
    code = "open('own', 'w').write('x'); import os, threading; threading.Thread(target=print, args=['on']).start()"
    done = python(code, tmp_path, confined)
    assert (done.returncode, done.output) == (0, "on\n")
    assert (tmp_path / "own").read_text() == "x"


def test_a_launch_that_is_refused_a_measure_fails(folder: Path, tmp_path: Path) -> None:
    wanting = Sandbox(folder / sandbox.LAUNCHER, Measures(), readable=())
    with pytest.raises(ExecutorError, match="the sandbox cannot be set up: /no/such/program: No such file"):
        run(("/no/such/program",), work=tmp_path, environment={}, limits=LIMITS, sandbox=wanting)


def test_what_a_child_prints_is_no_failure_of_the_sandbox(confined: Sandbox, tmp_path: Path) -> None:
    done = python("import os; print('seccomp: refused'); os._exit(125)", tmp_path, confined)
    assert (done.returncode, done.output) == (125, "")


def test_strict_is_all_or_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "probe", lambda launcher: Measures(landlock=0, seccomp=True, namespaces=False))
    assert open_sandbox(Mode.AUTO, folder).measures == Measures(seccomp=True)
    with pytest.raises(ExecutorError, match="no landlock, namespaces, which sandbox=strict requires"):
        open_sandbox(Mode.STRICT, folder)


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.AUTO])
def test_compilers_are_copied_where_a_filter_can_stop_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    monkeypatch.setattr(sandbox, "probe", lambda launcher: Measures(landlock=1))
    assert open_sandbox(mode, folder).servers is None
    monkeypatch.setattr(sandbox, "probe", lambda launcher: Measures(seccomp=True))
    assert open_sandbox(mode, folder).servers is not None


def test_off_is_told(twin: Twin) -> None:
    twin.executor._ready()
    for mode, status in ((Mode.OFF, FindingStatus.WARNING), (Mode.AUTO, FindingStatus.OK)):
        executor = TwinExecutor(TwinArgs(sandbox=mode))
        [finding] = [finding for finding in executor.diagnose() if finding.name == "twin sandbox"]
        if mode is Mode.OFF or not sandbox.probe(twin.executor._ready().host.parent / sandbox.LAUNCHER).missing:
            assert finding.status is status
        assert finding.detail.startswith(mode.value)
    assert TwinExecutor(TwinArgs(sandbox=Mode.OFF)).sandbox_level() == "none"


@pytest.mark.parametrize(
    "line",
    [
        '#include "/etc/passwd"',
        '#include "/proc/self/environ"',
        '#include "../../../../../../etc/passwd"',
        "#embed </etc/passwd>",
    ],
)
def test_the_compiler_reads_nothing_outside(twin: Twin, confined: Sandbox, line: str) -> None:
    """The guard refuses such a source; here the compiler is on its own."""
    result = twin.compile(kernel("", ("y", "workspace"), before=line))
    assert result.outcome is Outcome.COMPILE_ERROR
    assert "root" not in "".join(str(diagnostic) for diagnostic in result.diagnostics)


def test_compilations_do_not_see_each_other(twin: Twin, confined: Sandbox) -> None:
    other = twin.compile(kernel("", ("y", "workspace"), before="// SECRET OF ANOTHER"))
    assert other.artifact is not None
    theirs = other.artifact.path / driver.KERNEL_FILE
    result = twin.compile(kernel("", ("y", "workspace"), before=f'#include "{theirs}"'))
    assert "cannot open file" in result.diagnostics[0].message


def test_limits_from_outside_leave_a_child_its_own(tmp_path: Path) -> None:
    # whoever reads its limits and then sets some of its own, as sanitizers do, must not find less allowed in between
    code = """
import resource, time
while resource.getrlimit(resource.RLIMIT_NOFILE)[0] != 512: time.sleep(0.01)
print(*resource.getrlimit(resource.RLIMIT_FSIZE))
"""
    ended = python(code, tmp_path, Sandbox())
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    assert (ended.returncode, ended.output.split()) == (0, [str(LIMITS.file_bytes), str(most)]), ended.output


def test_a_killed_parent_leaves_no_child(confined: Sandbox, tmp_path: Path) -> None:
    child = f"import time; open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid())); time.sleep(60)"
    parent = f"""
from pathlib import Path
from npukb_twin.launch.process import Limits, run
from npukb_twin.launch.sandbox import Measures, Sandbox
how = Sandbox(Path({str(confined.launcher)!r}), Measures({confined.measures.landlock}, True, True))
how = how.reaching(run=(Path({str(PYTHON[0])!r}), Path({str(PYTHON[1])!r})))
limits = Limits(60.0, 4 << 30, 1 << 20)
command = ({sys.executable!r}, "-I", "-c", {child!r})
run(command, work=Path({str(tmp_path)!r}), environment={{}}, limits=limits, sandbox=how)
"""
    process = subprocess.Popen([sys.executable, "-c", parent])
    mark = tmp_path / "pid"
    deadline = time.monotonic() + 30
    while not (mark.exists() and mark.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    pid = int(mark.read_text())
    while Path(f"/proc/{pid}").exists() and _running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not _running(pid)


def test_the_programs_that_run_strangers_code_are_told_all_measures(confined: Sandbox) -> None:
    parent = f"parent {os.getpid()}"
    namespaces = " ".join(["namespaces", *map(str, confined.inherited)])
    assert tuple(confined.directives()) == (namespaces, parent, "confine", "filter")
    assert tuple(Sandbox(confined.launcher, Measures(seccomp=True)).directives()) == (parent, "filter")
    assert not tuple(Sandbox().directives())


def spaces(confined: Sandbox) -> list[str]:
    """The namespaces that launches join, as the system names them."""
    return [str(Path(f"/proc/self/fd/{descriptor}").readlink()) for descriptor in confined.inherited]


def test_only_what_the_filter_keeps_apart_shares_namespaces(confined: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = spaces(confined)
    assert [space.partition(":")[0] for space in shared] == list(NAMESPACES)
    assert not set(shared) & {str(Path(f"/proc/self/ns/{kind}").readlink()) for kind in NAMESPACES}
    assert confined.launcher is not None
    assert open_sandbox(Mode.AUTO, confined.launcher.parent).inherited == confined.inherited  # made once
    monkeypatch.setattr(sandbox, "probe", lambda launcher: Measures(landlock=1, namespaces=True))
    unfiltered = open_sandbox(Mode.AUTO, confined.launcher.parent)
    assert unfiltered.inherited == ()
    assert "namespaces" in tuple(unfiltered.directives())


def test_namespaces_that_cannot_be_had_are_not_shared(tmp_path: Path) -> None:
    refused = tmp_path / "launcher"
    refused.write_text("#!/bin/sh\nexit 1\n")
    refused.chmod(0o755)
    assert shared_namespaces(refused) == ()


def test_threads_that_begin_together_share_namespaces(folder: Path, tmp_path: Path) -> None:
    """One set by which all launches go, and no descriptor of another is left."""
    launcher = tmp_path / "launcher"
    launcher.symlink_to(folder / sandbox.LAUNCHER)
    opened = Path("/proc/self/fd")
    before = len([*opened.iterdir()])
    with ThreadPoolExecutor(8) as pool:
        seen = set(pool.map(shared_namespaces, [launcher] * 8))
    assert len(seen) == 1
    assert len([*opened.iterdir()]) - before == len(seen.pop())


def test_a_kernel_runs_under_all_measures(twin: Twin, confined: Sandbox) -> None:
    """The process that runs it has confined itself: no capability is left of those that namespaces bring."""
    seen: dict[str, str] = {}

    def look() -> None:
        deadline = time.monotonic() + 30
        while seen.get("Seccomp") != "2" and time.monotonic() < deadline:
            for status in Path("/proc").glob("[0-9]*/status"):
                with suppress(OSError):
                    fields = dict(re.findall(r"^(\w+):\s*(.*)$", status.read_text(), re.MULTILINE))
                    if fields["Name"] == "npukb-twin-host" and fields["PPid"] == str(os.getpid()):
                        kinds = {kind: str((status.with_name("ns") / kind).readlink()) for kind in NAMESPACES}
                        seen.update(fields, **kinds)
            time.sleep(0.01)

    looking = Thread(target=look)
    looking.start()
    finished = twin.run("volatile int n = 0; while (true) ++n;", timeout_s=2.0)
    looking.join()
    assert finished.outcome is Outcome.TIMEOUT
    assert (seen["Seccomp"], seen["NoNewPrivs"]) == ("2", "1")
    assert [seen[kind] for kind in NAMESPACES] == spaces(confined)
    assert [int(seen[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0, 0, 0, 0]


@pytest.mark.parametrize("program", ["host", "runner"])
def test_our_programs_end_where_their_parent_is_another(twin: Twin, tmp_path: Path, program: str) -> None:
    path = twin.executor._ready().host if program == "host" else twin.executor.tools().host.runner
    script = tmp_path / "script"
    script.write_text("parent 1\n")
    ended = run((str(path), str(script)), work=tmp_path, environment={}, limits=LIMITS)
    assert ended.returncode == 125


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
