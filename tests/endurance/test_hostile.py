"""What a child does to the machine, or the machine to a child: the harness goes on, and says whose fault it was."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from npukb_twin.launch.process import Limits, run
from npukb_twin.launch.sandbox import Mode, Sandbox, open_sandbox
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Outcome, Owner, Task, Track
from npukernelbench.plugins import Plugins
from tests.adversarial.candidates import right
from tests.judging import on_the_twin
from tests.leaks import children

if TYPE_CHECKING:
    from npukb_twin.executor import TwinExecutor
    from npukb_twin.launch.process import Finished

LIMITS = Limits(wall_s=3.0, memory_bytes=1 << 30, file_bytes=1 << 16)
PYTHON = (Path(sys.base_prefix), Path(sys.prefix))
ENDLESS = right().replace("    Add2 op;", "    for (volatile int i = 0;;) i = i;\n    Add2 op;")


@pytest.fixture(scope="module")
def executor() -> Iterator[TwinExecutor]:
    with on_the_twin() as (made, _):
        yield made  # type: ignore[misc]


@pytest.fixture(scope="module")
def confined(executor: TwinExecutor) -> Sandbox:
    return open_sandbox(Mode.AUTO, executor._ready().host.parent).reaching(run=PYTHON)


#: For children that end by themselves, on machines as busy as they like.
PATIENT = replace(LIMITS, wall_s=120.0)


def python(code: str, work: Path, how: Sandbox, limits: Limits = LIMITS) -> Finished:
    return run((sys.executable, "-I", "-c", code), work=work, environment={"PATH": ""}, limits=limits, sandbox=how)


@pytest.mark.parametrize("how", ["confined", "free"])
def test_a_child_that_fills_the_disk_is_stopped(how: str, confined: Sandbox, tmp_path: Path) -> None:
    usual = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)"  # which Python ignores
    code = f"{usual}\nf = open('f', 'wb')\nwhile True: f.write(b'x' * 65536)"
    done = python(code, tmp_path, confined if how == "confined" else Sandbox(), PATIENT)
    assert done.returncode == -signal.SIGXFSZ
    assert (tmp_path / "f").stat().st_size <= LIMITS.file_bytes


def test_a_child_that_takes_all_memory_is_stopped(confined: Sandbox, tmp_path: Path) -> None:
    done = python("a = []\nwhile True: a.append(bytearray(1 << 26))", tmp_path, confined, PATIENT)
    assert done.returncode == 1
    assert "MemoryError" in done.output


def test_a_fork_bomb_does_not_start(confined: Sandbox, tmp_path: Path) -> None:
    if not confined.measures.seccomp:
        pytest.skip("this machine has no seccomp filters")
    done = python("import os\nwhile True: os.fork()", tmp_path, confined, PATIENT)
    assert (done.returncode, done.timed_out) == (1, False)


def test_grandchildren_end_with_the_child(tmp_path: Path) -> None:
    """Without the sandbox children can have children: the whole group is killed at the deadline."""
    code = "import os, time\nfor _ in range(20): os.fork() or time.sleep(60)\ntime.sleep(60)"
    before = children()
    assert python(code, tmp_path, Sandbox()).timed_out
    deadline = time.monotonic() + 10
    while children() - before and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not children() - before


def test_a_flood_of_output_is_cut_off(confined: Sandbox, tmp_path: Path) -> None:
    done = python("while True: print('x' * 100000)", tmp_path, confined)
    assert done.timed_out
    assert len(done.output) <= 256 * 1024


def test_a_kernel_that_somebody_kills_is_no_fault_of_the_model(
    executor: TwinExecutor, subject: tuple[Task, Case]
) -> None:
    over = threading.Event()
    killer = threading.Thread(target=_kill_hosts, args=(over,))
    killer.start()
    plugins = Plugins.load(autoload=False)
    settings = JudgeSettings(compile_timeout_s=60.0, run_timeout_s=60.0, infra_retries=1)
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings)
    verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": ENDLESS}))
    over.set()
    killer.join()
    assert (verdict.outcome, verdict.owner) == (Outcome.INFRA_ERROR, Owner.INFRA)
    assert "killed from outside" in verdict.cases[0].diagnostics[0].message


def _kill_hosts(over: threading.Event) -> None:
    """Kill our own children that run a kernel, a moment after they began."""
    while not over.wait(0.3):
        for pid in children():
            try:
                if b"npukb-twin-host" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                    os.kill(pid, signal.SIGKILL)
            except OSError:
                continue


def test_the_order_of_candidates_does_not_matter(executor: TwinExecutor, subject: tuple[Task, Case]) -> None:
    plugins = Plugins.load(autoload=False)
    settings = JudgeSettings(compile_timeout_s=60.0, run_timeout_s=2.0)
    sources = [right(), right().replace("Add(zs", "Sub(zs"), right().replace("TOTAL, 0", "TOTAL 0"), ENDLESS]

    def verdicts(order: list[str]) -> dict[str, object]:
        judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=settings)
        verdicts = {}
        for source in order:
            verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": source}))
            verdicts[source] = (verdict.outcome, verdict.metrics, verdict.diagnostics)
        return verdicts

    assert verdicts(sources) == verdicts(sources[::-1])


def test_jumps_of_the_clock_change_nothing(
    executor: TwinExecutor, subject: tuple[Task, Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(10**9, 0, -(10**7)))
    monkeypatch.setattr(time, "time", lambda: float(next(times)))
    plugins = Plugins.load(autoload=False)
    judge = Judge(executor, checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
    verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": right()}))
    assert verdict.outcome is Outcome.OK
    assert all(0 <= seconds < 60 for seconds in verdict.timings.values())
