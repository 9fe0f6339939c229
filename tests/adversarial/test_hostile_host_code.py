"""Tiling functions are native code of the model, too: what they try against the machine and the harness."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from npukb_twin.launch.sandbox import Mode, open_sandbox
from npukb_twin.operator.host_types import HostFailure, HostLimits
from npukernelbench.nouns import Outcome
from tests.twin.hosting import Hosting

DECLARED = """extern "C" {
int open(const char*, int, ...); long read(int, void*, unsigned long); long write(int, const void*, unsigned long);
int socket(int, int, int); int kill(int, int); int fork(); int execl(const char*, const char*, ...);
long syscall(long, ...); unsigned sleep(unsigned); void (*signal(int, void (*)(int)))(int);
}
static void* Stay(void*) { for (;;) sleep(1); }
static void Ignore(int) {}"""

CAPGET = {"x86_64": 125, "aarch64": 90}[platform.machine()]
#: What is tried, and what comes of it: 1 where it was refused.
REFUSED = {
    "reads a file": 'said[0] = open("/etc/passwd", 0) < 0;',
    "reads the harness's memory": 'said[0] = open("/proc/self/mem", 2) < 0;',
    "reads other tasks": 'said[0] = open("/dev/shm", 0) < 0;',
    "writes outside": 'said[0] = open("/tmp/npukb-hostile", 0101, 0600) < 0;',
    "opens a socket": "said[0] = socket(2, 1, 0) < 0;",
    "signals everybody": "said[0] = kill(-1, 0) < 0;",
    "starts a process": "said[0] = fork() < 0;",
    "becomes a program": 'said[0] = execl("/bin/true", "true", nullptr) < 0;',
    "has a capability": f"""unsigned header[] = {{0x20080522, 0}}, sets[6] = {{1, 1, 1, 1, 1, 1}};
        said[0] = syscall({CAPGET}, header, sets) == 0 && (sets[0] | sets[1] | sets[3] | sets[4]) == 0;""",
    "sees a secret": 'said[0] = getenv("NPUKB_CACHE_DIR") == nullptr && getenv("USER") == nullptr;',
}


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Hosting:
    hosting = Hosting.ready(tmp_path_factory.mktemp("hostile"))
    confined = open_sandbox(Mode.AUTO, hosting.runtime.runner.parent)
    if confined.measures.missing:
        pytest.skip(f"this machine offers no {', '.join(confined.measures.missing)}")
    return replace(hosting, runtime=replace(hosting.runtime, sandbox=confined))


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_a_tiling_function_cannot_do(hostile: Hosting, body: str) -> None:
    assert hostile.said(body, before=DECLARED)[0] == 1


def test_a_thread_that_stays_ends_with_the_call(hostile: Hosting) -> None:
    """The answer is there at once, and the process ends with it; the suite's fixture looks for what is left."""
    body = "pthread_t thread; said[0] = pthread_create(&thread, nullptr, Stay, nullptr) == 0;"
    assert hostile.said(body, before=DECLARED)[0] == 1


def test_signal_handlers_do_not_outlive_the_deadline(hostile: Hosting) -> None:
    quick = replace(hostile, limits=HostLimits(wall_s=1.0))
    failure = quick.tile("for (int i = 1; i < 32; ++i) signal(i, Ignore); for (;;) {}", before=DECLARED)
    assert isinstance(failure, HostFailure)
    assert failure.outcome is Outcome.TIMEOUT


def test_an_answer_of_its_own_is_a_cheat(hostile: Hosting) -> None:
    """Written to every descriptor there may be."""
    text = '{\\"status\\":\\"tiled\\",\\"tiling_key\\":7}\\n'
    failure = hostile.tile(f'for (int i = 3; i < 64; ++i) write(i, "{text}", 36);', before=DECLARED)
    assert isinstance(failure, HostFailure)
    assert (failure.outcome, failure.diagnostics[0].rule) == (Outcome.CHEAT, "forged_report")
