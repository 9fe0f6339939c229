"""Tiling functions are native code of the model, too: what they try against the machine and the harness."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from npukb_suites.definitions import read_definition
from npukb_twin.operator.derive import Deriver
from npukb_twin.operator.host_types import HostFailure, HostLimits
from npukernelbench.nouns import Outcome, Track
from npukernelbench.tasks.goldens import golden_of, read_golden
from tests.suite import suite
from tests.twin.hosting import DEFINITION, FLOAT, HEAD, Hosting

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
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosting]:
    hosting = Hosting.ready(tmp_path_factory.mktemp("hostile"))
    if missing := hosting.runtime.sandbox.measures.missing:
        pytest.skip(f"this machine offers no {', '.join(missing)}")
    yield hosting
    hosting.runtime.sandbox.close()


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


def test_definitions_and_golden_operators_are_confined_too(hostile: Hosting, tmp_path: Path) -> None:
    """The constructor of the one and the tiling function of the other try to write a file."""
    out = tmp_path / "out"
    writes = f'if (FILE* out = fopen("{out}", "w")) fclose(out);'
    definition = tmp_path / "probe.cpp"
    defines = f'{writes} this->Input("x").{FLOAT}; this->Output("y").{FLOAT};'
    definition.write_text(f"{HEAD}#include <cstdio>\n{DEFINITION.format(body=defines)}", encoding="utf-8")
    _, [given], *_ = read_definition(definition)
    assert given.name == "x"

    task = suite()["Swish"]
    golden = golden_of(task, Track.DYNAMIC)
    assert golden is not None
    files = dict(read_golden(golden))
    host, begins = "op_host/swish.cpp", "TilingFunc(gert::TilingContext* context) {"
    assert begins in files[host]
    files[host] = "#include <cstdio>\n" + files[host].replace(begins, f"{begins} {writes}")
    deriver = Deriver()
    source, why = deriver.source(task, task.case("smoke"), files)
    deriver.close()
    assert source, why
    assert not out.exists()
