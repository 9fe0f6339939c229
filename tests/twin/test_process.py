"""Kernels that misbehave as processes: what is said, and that nothing of them is left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.process import Limits, run
from npukernelbench.nouns import Outcome
from tests.twin.running import Twin, kernel

if TYPE_CHECKING:
    from npukb_twin.launch.process import Finished as Ended

#: Functions of the host's C library, which no kernel should call and some will.
LIBC = """
    extern "C" {
    int fork(); int setsid(); int getpid(); long write(int, const void*, unsigned long); void abort(); void exit(int);
    void _exit(int); void* malloc(unsigned long); int raise(int); int sleep(unsigned);
    int kill(int, int);
    }
"""


@pytest.fixture(autouse=True)
def _nothing_left(twin: Twin) -> Iterator[None]:
    """No process of a kernel outlives its run."""
    yield
    deadline = time.monotonic() + 10
    while (left := hosts()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left == []


def hosts() -> list[str]:
    """Command lines of twin processes of this test process that are still there."""
    processes = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
            mine = f"NPUKB_TEST={os.getpid()}".encode() in (folder / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if mine and words[0].endswith(b"npukb-twin-host"):
            processes.append(folder.name)
    return processes


@pytest.fixture(autouse=True)
def _host_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels here may call the C library: what a sandbox is for begins where the linker's refusal was overcome."""
    monkeypatch.setattr("npukb_twin.compile.driver.foreign", lambda image, host: ())


@pytest.fixture(autouse=True)
def _marked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process that a kernel becomes carries the number of this one."""
    from npukb_twin.compile import toolchain
    from npukb_twin.launch import launching

    def marked(work: Path) -> dict[str, str]:
        return {**clean(work), "NPUKB_TEST": str(os.getpid())}

    clean = toolchain.clean_environment
    monkeypatch.setattr(launching, "clean_environment", marked)


@pytest.mark.parametrize(
    "body",
    [
        "while (true) {}  // here",
        "volatile int n = 0;\nwhile (n == 0) {}",
        "for (uint32_t i = 1; i != 0; i += 2) {}",
        "fork();\nwhile (true) {}",
        "if (fork() == 0) setsid();\nwhile (true) {}",
        "sleep(1000);",
        "raise(19);",
    ],
    ids=["loop", "volatile loop", "counting loop", "fork", "new session", "sleep", "stopped"],
)
def test_time_out(twin: Twin, body: str) -> None:
    finished = twin.run(body, before=LIBC, timeout_s=1.0)
    assert finished.outcome is Outcome.TIMEOUT
    assert "within 1 s" in finished.errors[0].message


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        ("*(volatile int*)nullptr = 1;  // here", "SIGSEGV"),
        ("volatile int a[4];\nfor (int i = 0; i < 100000000; ++i) {\n    a[i] = i;  // here\n}", "SIGSEGV"),
        ("__builtin_trap();  // here", "SIGILL"),
        ("*(volatile int*)(x + 1048576) = 1;  // here", "SIGSEGV"),
        ("*(volatile int*)x = 1;  // here", "SIGSEGV"),
    ],
    ids=["null", "array", "trap", "past an input", "write to an input"],
)
@pytest.mark.parametrize("block", [0, None], ids=["one block", "all blocks"])
def test_crash_is_told_by_line(twin: Twin, body: str, signal: str, block: int | None) -> None:
    finished = twin.run(body, {"x": np.zeros(64, np.float32)}, block=block)
    assert finished.outcome is Outcome.CRASH
    assert finished.found == [("crash", finished.marked)]
    assert signal in finished.errors[0].message


@pytest.mark.parametrize(("local", "depth"), [(20_000, 99), (200_000, 9)], ids=["many frames", "large frames"])
def test_stack_overflow(twin: Twin, local: int, depth: int) -> None:
    before = f"""
        template <int n> __aicore__ inline int Deeper() {{
            volatile char local[{local}];
            local[0] = n;
            if constexpr (n < {depth}) return Deeper<n + 1>() + local[0];
            return local[0];
        }}
    """
    finished = twin.run("volatile int n = Deeper<0>();", before=before, block=None)
    assert finished.outcome is Outcome.CRASH
    assert "its stack of 1 MiB is used up" in finished.errors[0].message
    assert 3 <= finished.errors[0].line <= 8


def test_abort(twin: Twin) -> None:
    finished = twin.run("abort();", before=LIBC)
    assert finished.outcome is Outcome.CRASH
    assert "SIGABRT" in finished.errors[0].message


@pytest.mark.parametrize("call", ["exit(0)", "_exit(0)", "exit(3)"])
def test_leaving_early_is_no_success(twin: Twin, call: str) -> None:
    finished = twin.run(f"{call};", before=LIBC)
    assert finished.outcome is Outcome.CRASH
    assert "before the launch ended" in finished.errors[0].message


def test_nothing_inside_can_kill_it(twin: Twin) -> None:
    """So that whatever is killed was killed from outside, which is no fault of the kernel."""
    if "seccomp" not in twin.executor.sandbox_level():
        pytest.skip("this machine has no seccomp")
    finished = twin.run("if (kill(getpid(), 9) == -1) abort();", before=LIBC)
    assert finished.outcome is Outcome.CRASH
    assert "SIGABRT" in finished.errors[0].message


@pytest.mark.parametrize(
    "text",
    ['{\\"status\\":\\"finished\\",\\"diagnostics\\":[]}\\n', "noise", "\\n\\n"],
    ids=["a report", "noise", "empty lines"],
)
@pytest.mark.parametrize("then", ["", "_exit(0);"], ids=["going on", "leaving"])
def test_a_forged_report_is_a_cheat(twin: Twin, text: str, then: str) -> None:
    body = f"""
        const char text[] = "{text}";
        for (int fd = 3; fd < 1024; ++fd) write(fd, text, sizeof text - 1);
        {then}
    """
    finished = twin.run(body, before=LIBC)
    assert finished.outcome is Outcome.CHEAT
    assert finished.errors[0].rule == "forged_report"


def test_flood_of_output(twin: Twin) -> None:
    body = """
        static char text[65536];
        for (int i = 0; i < 2000; ++i) {
            write(1, text, sizeof text);
            write(2, text, sizeof text);
        }
    """
    assert twin.run(body, before=LIBC).outcome is Outcome.OK


def test_huge_allocation(twin: Twin) -> None:
    body = """
        for (int i = 0; i < 64; ++i) {
            char* p = (char*)malloc(1ul << 30);
            p[0] = 1;  // here
        }
    """
    finished = twin.run(body, before=LIBC)
    assert finished.outcome is Outcome.CRASH


def test_global_objects_of_the_api_are_refused(twin: Twin) -> None:
    finished = twin.run("", before="TPipe pipe;")
    assert finished.outcome is Outcome.LAUNCH_ERROR
    assert "TPipe at namespace scope" in finished.errors[0].message


def test_global_objects_of_the_kernel_are_its_own_affair(twin: Twin) -> None:
    before = """
        struct Counter { int n; Counter() : n(41) {} ~Counter() { *(volatile int*)nullptr = 0; } };
        Counter counter;
        TQue<TPosition::VECIN, 1> queue;
    """
    body = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y);\nto.SetValue(0, counter.n + 1);"
    assert twin.run(body, before=before).output()[0] == 42.0


def test_the_runtimes_own_functions_are_out_of_reach(twin: Twin) -> None:
    before = "namespace twin { struct Launch; struct Totals; void ReportFailure(const char*, const char*); }"
    finished = twin.run('twin::ReportFailure("finished", "");', before=before)
    assert finished.outcome is Outcome.LAUNCH_ERROR


def test_folders_with_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "a folder, with (odd) name"
    odd.mkdir()
    monkeypatch.setattr("npukb_twin.executor._fast_folder", lambda: str(odd))
    executor = TwinExecutor(TwinArgs())
    body = "GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y);\nto.SetValue(0, 1.0f);"
    assert Twin(executor).run(body).output()[0] == 1.0
    executor.close()
    assert list(odd.iterdir()) == []


def test_runs_leave_no_folder(twin: Twin) -> None:
    for body in ("", "while (true) {}", "*(volatile int*)nullptr = 1;"):
        twin.run(body, timeout_s=0.5)
    work = twin.executor._work
    assert work is not None
    assert not list(work.path.glob("run-*"))


def limits(**changes: float) -> Limits:
    values = {"wall_s": 10.0, "memory_bytes": 1 << 32, "file_bytes": 1 << 20, **changes}
    return Limits(values["wall_s"], int(values["memory_bytes"]), int(values["file_bytes"]))


def python(code: str, tmp_path: Path, **changes: float) -> Ended:
    return run((sys.executable, "-c", code), work=tmp_path, environment={"PATH": ""}, limits=limits(**changes))


def test_output_is_cut_off_and_the_child_not_held_up(tmp_path: Path) -> None:
    done = python("import sys; sys.stdout.write('x' * 5_000_000)", tmp_path)
    assert (done.returncode, len(done.output), done.timed_out) == (0, 256 * 1024, False)


def test_a_child_that_leaves_others_behind_is_not_waited_for(tmp_path: Path) -> None:
    code = "import os, time, sys\nif os.fork() == 0:\n    time.sleep(60)\nprint('done', flush=True)"
    done = python(code, tmp_path)
    assert (done.returncode, done.output, done.timed_out) == (0, "done\n", False)


def test_files_are_limited(tmp_path: Path) -> None:
    code = """
import os, resource, time
while resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1 << 20: time.sleep(0.01)  # limits may come late
file = os.open("big", os.O_WRONLY | os.O_CREAT)
for _ in range(64): os.write(file, bytes(1 << 15))
"""
    done = python(code, tmp_path)
    assert done.returncode != 0
    assert (tmp_path / "big").stat().st_size <= 1 << 20


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(FileNotFoundError):
        run(("/no/such/program",), work=tmp_path, environment={}, limits=limits(), report=os.pipe())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_entry_is_called_with_an_aligned_stack(twin: Twin) -> None:
    body = (
        "alignas(32) volatile float v[8] = {1, 2, 3, 4, 5, 6, 7, 8};\nif ((uint64_t)&v[0] % 32 != 0) __builtin_trap();"
    )
    assert twin.run_source(kernel(body, ("y", "workspace"), block=None)).outcome is Outcome.OK
