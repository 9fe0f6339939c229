"""Fork servers: a copy makes what the program itself makes, is confined as it would be, and leaves nothing running."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from npukb_twin.compile import driver, toolchain
from npukb_twin.launch import forkserver
from npukb_twin.launch.forkserver import ForkServers, Stop
from npukb_twin.launch.process import Finished, Limits, run
from npukb_twin.launch.sandbox import Mode, Sandbox, open_sandbox
from npukernelbench.errors import ExecutorError
from npukernelbench.nouns import Candidate, Outcome
from tests.twin.running import HEAD, Twin

LIMITS = Limits(wall_s=20.0, memory_bytes=4 << 30, file_bytes=1 << 20)
STOP = Stop("input", "made")

#: A program without a C library: it opens what it writes, then what it reads, and does what it has read: a letter for
#: each call that it tries. What it writes is what each call returned.
PROGRAM = r"""
static long call(long n, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = 0;
    asm volatile("syscall" : "+a"(n) : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
    return n;
}
static long at(const char* path) { return (long)path; }
static void say(long out, long value) {
    char text[24];
    int i = 23;
    bool negative = value < 0;
    text[i] = ' ';
    for (value = negative ? -value : value; i == 23 || value; value /= 10) text[--i] = '0' + value % 10;
    if (negative) text[--i] = '-';
    call(1, out, (long)(text + i), 24 - i);
}
extern "C" void _start() {
    long out = call(2, at("made"), 1 | 0100 | 01000, 0644);
    static char asked[64];
    long in = call(2, at("input"), 0), length = call(0, in, (long)asked, sizeof asked);
    call(3, in);
    for (long i = 0; i < length; ++i) switch (asked[i]) {
        case 'r': say(out, call(2, at("/etc/passwd"), 0)); break;
        case 'w': say(out, call(2, at("/tmp/npukb-forbidden"), 1 | 0100, 0644)); break;
        case 'c': say(out, call(2, at("mine"), 1 | 0100, 0644)); break;
        case 'f': say(out, call(57)); break;
        case 'k': say(out, call(62, call(110), 0)); break;
        case 's': say(out, call(41, 1, 1, 0)); break;
        case 'p': say(out, call(101, 16, call(110), 0, 0)); break;
        case 'm': say(out, call(310, call(110), 0, 0, 0, 0)); break;
        case 'n': for (int fd = 0; fd < 64; ++fd) if (call(72, fd, 1) >= 0) say(out, fd); break;
        case 'a': {  // pages that are new, or were given back with something in them, hold zeros
            long wrong = 0;
            for (long turn = 0, pages = 1; turn < 400; ++turn, pages = pages % 40 + 1) {
                char* got = (char*)call(9, 0, pages * 4096, 3, 0x22, -1);
                for (long i = 0; i < pages * 4096; ++i) wrong += got[i] != 0, got[i] = 'x';
                if (turn % 3) wrong += call(11, (long)got, pages * 4096) != 0;
            }
            say(out, wrong);
            break;
        }
        case 'h': call(1, 1, at("hello"), 5); break;
        case 'l': for (;;) asm volatile("pause"); break;
        case 'x': call(231, 7); break;
        case 'z': *(volatile int*)8 = 0; break;
    }
    call(231, 0);
}
"""
EPERM, EACCES = -1, -13


@pytest.fixture(scope="module")
def sandbox(twin: Twin) -> Iterator[Sandbox]:
    made = open_sandbox(Mode.AUTO, twin.executor._ready().host.parent)
    if made.measures.missing or toolchain.processor() != toolchain.REFERENCE:
        pytest.skip("fork servers need all measures, and x86-64")
    alone = replace(made, servers=ForkServers(own=True))
    yield alone
    alone.close()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program above, linked statically."""
    folder = tmp_path_factory.mktemp("program")
    chosen = toolchain.find("zig")
    (folder / "p.cc").write_text(PROGRAM, encoding="ascii")
    compile_ = (*chosen.compile, "-O1", "-fno-pic", "-fno-stack-protector", "-c", "p.cc", "-o", "p.o")
    subprocess.run(compile_, cwd=folder, check=True)
    subprocess.run((chosen.link_kernel[0], "ld.lld", "-static", "p.o", "-o", "p"), cwd=folder, check=True)
    return folder / "p"


@pytest.fixture(scope="module", autouse=True)
def _called_once(sandbox: Sandbox, program: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Servers are started at the second call."""
    assert copy(program, "hx", tmp_path_factory.mktemp("first"), sandbox).returncode == 7
    assert running(sandbox) == []


@pytest.fixture
def how(sandbox: Sandbox, program: Path, tmp_path: Path) -> Iterator[Sandbox]:
    """The same measures with servers of their own, where the program was called once."""
    own = replace(sandbox.reaching(run=(program.parent,)), servers=ForkServers(own=True))
    assert copy(program, "x", tmp_path, own).returncode == 7
    yield own
    own.close()


def copy(program: Path, asked: str, work: Path, how: Sandbox, limits: Limits = LIMITS, stop: Stop = STOP) -> Finished:
    work.mkdir(exist_ok=True)
    (work / "input").write_text(asked, encoding="ascii")
    return run((str(program),), work=work, environment={}, limits=limits, sandbox=how, stop=stop)


def made(program: Path, asked: str, work: Path, how: Sandbox, stop: Stop = STOP) -> list[int]:
    done = copy(program, asked, work, how, stop=stop)
    assert done.returncode == 0, done
    return [int(word) for word in (work / "made").read_text(encoding="ascii").split()]


def running(how: Sandbox) -> list[subprocess.Popen[bytes]]:
    assert how.servers is not None
    return how.servers.processes()


@pytest.mark.parametrize(
    ("asked", "refused"),
    [("r", EACCES), ("w", EACCES), ("f", EPERM), ("k", EPERM), ("s", EPERM), ("p", EPERM), ("m", EPERM)],
    ids=["read a file", "write a file", "start a process", "signal", "open a socket", "trace", "read its server"],
)
def test_what_a_copy_cannot_do(sandbox: Sandbox, program: Path, tmp_path: Path, asked: str, refused: int) -> None:
    assert made(program, asked, tmp_path, sandbox) == [refused]
    assert [process.args for process in running(sandbox) if str(program) in process.args]  # it was a copy


def test_a_copy_holds_no_descriptor_of_its_server(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    """Neither the socket that asks for copies, nor those of other copies: its own three, and what it writes."""
    with ThreadPoolExecutor(4) as pool:
        slow = [
            pool.submit(copy, program, "l", tmp_path / str(i), sandbox, replace(LIMITS, wall_s=1.5)) for i in range(3)
        ]
        time.sleep(0.5)
        open_ones = made(program, "n", tmp_path / "looks", sandbox)
        assert all(task.result().timed_out for task in slow)
    assert len(open_ones) == 4
    assert open_ones[:3] == [0, 1, 2]


def test_a_copy_works_in_its_own_folder(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert made(program, "c", tmp_path / name, sandbox) >= [0]
        assert (tmp_path / name / "mine").exists()


@pytest.mark.parametrize("large", [False, True])
def test_memory_of_a_copy_is_cleared(
    how: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    """Also where its pages come from large ones of its server's and are used again."""
    monkeypatch.setattr(forkserver, "_MANY_COPIES", 1)
    stop = replace(STOP, large=large)
    for _ in range(4):
        assert made(program, "a", tmp_path, how, stop) == [0]
    *_, server = running(how)
    assert ("--large" in server.args) == (large and forkserver._has_room())


@pytest.mark.skipif(not forkserver._has_room(), reason="needs large pages, and memory to spare")
def test_a_server_with_many_copies_gets_memory_of_its_own(
    how: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the one before goes on until it ends, and that server with it."""
    monkeypatch.setattr(forkserver, "_MANY_COPIES", 3)
    stop = replace(STOP, large=True)
    assert copy(program, "x", tmp_path, how, stop=stop).returncode == 7  # not served: the first of this kind
    large = []
    with waiting(program, tmp_path, how, stop) as waits:
        [before] = running(how)
        for _ in range(4):
            assert copy(program, "x", tmp_path / "other", how, stop=stop).returncode == 7
            [server] = running(how)
            large.append("--large" in server.args)
        assert before.poll() is None
        assert waits.result().timed_out
    assert large == [False, False, True, True]
    before.wait(LIMITS.wall_s)


def test_how_a_copy_ends_is_told(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    assert copy(program, "hx", tmp_path, sandbox).returncode == 7
    assert copy(program, "h", tmp_path, sandbox).output == "hello"
    assert copy(program, "z", tmp_path, sandbox).returncode == -signal.SIGSEGV
    few = replace(LIMITS, file_bytes=0)
    assert copy(program, "n", tmp_path, sandbox, few).returncode == -signal.SIGXFSZ


def test_without_measures_a_copy_may_do_what_its_caller_may_within_its_limits(
    sandbox: Sandbox, program: Path, tmp_path: Path
) -> None:
    off = Sandbox(servers=ForkServers(own=True), copier=sandbox.launcher)
    assert copy(program, "x", tmp_path, off).returncode == 7
    assert min(made(program, "rs", tmp_path, off)) > 0
    assert copy(program, "n", tmp_path, off, replace(LIMITS, file_bytes=0)).returncode == -signal.SIGXFSZ
    assert len(running(off)) == 1
    off.close()


def test_a_copy_is_killed_at_its_deadline(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    done = copy(program, "l", tmp_path, sandbox, replace(LIMITS, wall_s=0.3))
    assert done.timed_out
    assert done.returncode == -signal.SIGKILL
    assert copy(program, "hx", tmp_path, sandbox).returncode == 7  # its server goes on


def test_many_at_once(how: Sandbox, program: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        ended = list(pool.map(lambda i: copy(program, "hx", tmp_path / str(i), how), range(200)))
    assert [(done.returncode, done.output) for done in ended] == [(7, "hello")] * 200
    assert len(running(how)) == 1


def test_a_lost_server_costs_nothing_but_time(how: Sandbox, program: Path, tmp_path: Path) -> None:
    assert copy(program, "hx", tmp_path, how).returncode == 7
    [server] = running(how)
    server.kill()
    for _ in range(2):
        assert copy(program, "hx", tmp_path, how).returncode == 7
    assert running(how) == []


@contextmanager
def waiting(program: Path, tmp_path: Path, how: Sandbox, stop: Stop = STOP) -> Iterator[Future[Finished]]:
    """A copy that waits, and has begun to."""
    (tmp_path / "made").unlink()
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(copy, program, "l", tmp_path, how, replace(LIMITS, wall_s=1.5), stop)
        while not (tmp_path / "made").exists():
            time.sleep(0.01)
        yield waits


def test_a_server_that_dies_with_its_copy(how: Sandbox, program: Path, tmp_path: Path) -> None:
    with waiting(program, tmp_path, how) as waits:
        running(how)[0].kill()
        assert waits.result().timed_out  # begun again, by itself


def test_a_server_that_made_room_comes_back(
    how: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a copy of it still ran: that one is begun again, and the server was not at fault."""
    monkeypatch.setattr(forkserver, "_MOST_SERVERS", 1)
    with waiting(program, tmp_path, how) as waits:
        (tmp_path / "other").mkdir()
        (tmp_path / "other/input").write_text("x", encoding="ascii")
        for _ in range(2):
            words = (str(program), "another")
            run(words, work=tmp_path / "other", environment={}, limits=LIMITS, sandbox=how, stop=STOP)
        assert waits.result().timed_out
    assert copy(program, "x", tmp_path, how).returncode == 7
    [server] = running(how)
    assert "another" not in server.args


def test_what_cannot_be_copied_is_started(sandbox: Sandbox, tmp_path: Path) -> None:
    """A program that needs shared libraries, and one that never stops."""
    for words, output in (((sys.executable, "--version"), "Python"), (("/bin/echo", "said"), "said")):
        how = replace(
            sandbox.reaching(run=(Path(sys.base_prefix), Path(sys.prefix), Path("/bin"))), servers=ForkServers(own=True)
        )
        for _ in range(3):
            done = run(words, work=tmp_path, environment={}, limits=LIMITS, sandbox=how, stop=STOP)
            assert (done.returncode, done.output[: len(output)]) == (0, output)
            assert running(how) == []


def test_a_program_that_never_comes_to_its_stop(
    sandbox: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody answers: the call is made without a server, with its whole time."""
    monkeypatch.setattr(forkserver, "_END_S", 0.2)
    how = replace(sandbox, servers=ForkServers(own=True))
    never = Stop("another", "made", (("input", "l"),))
    for _ in range(3):
        done = copy(program, "hx", tmp_path, how, replace(LIMITS, wall_s=0.5), never)
        assert (done.returncode, done.output) == (7, "hello")
    assert running(how) == []


@pytest.mark.parametrize(
    ("pages", "free_kib", "limit", "room"),
    [
        ("always [madvise] never", 8 << 20, "max", True),
        ("always madvise [never]", 8 << 20, "max", False),
        ("always [madvise] never", 1 << 20, "max", False),
        ("always [madvise] never", 8 << 20, str(3 << 30), False),
        ("always [madvise] never", 8 << 20, str(6 << 30), True),
        (None, 8 << 20, "max", False),
    ],
    ids=["room", "no large pages", "little memory", "a small container", "a large container", "no such file"],
)
def test_memory_of_its_own_is_for_machines_that_have_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pages: str | None, free_kib: int, limit: str, room: bool
) -> None:
    if pages is not None:
        (tmp_path / "enabled").write_text(pages, encoding="ascii")
    (tmp_path / "meminfo").write_text(f"MemTotal: 1 kB\nMemAvailable:   {free_kib} kB\n", encoding="ascii")
    (tmp_path / "memory.max").write_text(limit, encoding="ascii")
    (tmp_path / "memory.current").write_text(str(2 << 30), encoding="ascii")
    monkeypatch.setattr(forkserver, "_LARGE_PAGES", tmp_path / "enabled")
    monkeypatch.setattr(forkserver, "_MEMORY", tmp_path / "meminfo")
    monkeypatch.setattr(forkserver, "_CONTAINER", tmp_path)
    assert forkserver._has_room.__wrapped__() is room


def test_a_copy_that_cannot_be_confined_is_our_fault(how: Sandbox, program: Path, tmp_path: Path) -> None:
    with pytest.raises(ExecutorError, match=r"sandbox cannot be set up: .*No such file"):
        run((str(program),), work=tmp_path / "gone", environment={}, limits=LIMITS, sandbox=how, stop=STOP)


def test_servers_end_with_their_sandbox(how: Sandbox, program: Path, tmp_path: Path) -> None:
    assert copy(program, "x", tmp_path, how).returncode == 7
    [server] = running(how)
    how.close()
    assert server.poll() is not None
    assert copy(program, "x", tmp_path, how).returncode == 7  # in the usual way
    assert running(how) == []


def test_sandboxes_share_servers_until_the_last_of_them_ends(
    how: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    common = forkserver._Pool()
    monkeypatch.setattr(forkserver, "_pool_of", lambda process: common)
    first, second = (replace(how, servers=ForkServers()) for _ in range(2))
    idle = ForkServers()  # asks for nothing, and holds nothing
    assert copy(program, "x", tmp_path, first).returncode == 7
    assert copy(program, "x", tmp_path, second).returncode == 7
    [server] = running(first)
    assert running(second) == [server]
    for _ in range(2):
        first.close()  # again: it has no part to give back any more
        assert copy(program, "x", tmp_path, second).returncode == 7
        assert running(second) == [server]
    del second  # nor does one that nobody closes hold them
    assert server.poll() is not None
    assert idle.processes() == []


def test_a_part_may_be_collected_while_its_pool_is_at_work() -> None:
    part = ForkServers(own=True)
    part.join()

    def collected_inside() -> None:
        with part._pool._lock:
            part.close()

    inside = Thread(target=collected_inside, daemon=True)
    inside.start()
    inside.join(20.0)
    assert not inside.is_alive(), "it waits for itself"


def test_few_servers_wait(how: Sandbox, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forkserver, "_MOST_SERVERS", 3)
    assert copy(program, "x", tmp_path, how).returncode == 7
    [first] = running(how)
    for number in range(4):
        words = (str(program), str(number))
        for _ in range(2):
            run(words, work=tmp_path, environment={}, limits=LIMITS, sandbox=how, stop=STOP)
    assert len(running(how)) == 3
    assert first.poll() is not None


CHILD = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from npukb_twin.launch.process import Limits, run
from npukb_twin.launch.forkserver import Stop
from npukb_twin.launch.sandbox import Mode, open_sandbox
how = open_sandbox(Mode.AUTO, Path(sys.argv[1]))
def copy():
    limits = Limits(wall_s=20.0, memory_bytes=4 << 30, file_bytes=1 << 20)
    run((sys.argv[2],), work=Path(sys.argv[3]), environment={}, limits=limits, sandbox=how, stop=Stop("input", "made"))
    return [process.pid for process in how.servers.processes()]
assert copy() == []
print(*copy())
sys.stdout.flush()
"""


def python(tail: str, sandbox: Sandbox, program: Path, work: Path) -> subprocess.CompletedProcess[str]:
    (work / "input").write_text("x", encoding="ascii")
    assert sandbox.launcher is not None
    words = (sys.executable, "-c", CHILD + textwrap.dedent(tail), str(sandbox.launcher.parent), str(program), str(work))
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_servers_end_with_a_killed_harness(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    done = python("os.kill(os.getpid(), signal.SIGKILL)", sandbox, program, tmp_path)
    server = int(done.stdout)
    ends = time.monotonic() + 20
    while is_running(server) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not is_running(server)


def test_a_fork_of_the_harness_has_servers_of_its_own(sandbox: Sandbox, program: Path, tmp_path: Path) -> None:
    tail = """
        child = os.fork()
        print(*copy())
        sys.stdout.flush()
        if child == 0:
            how.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        print(*copy())
        how.close()
    """
    done = python(tail, sandbox, program, tmp_path)
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.split()
    assert others.count(first) == 2  # the parent's goes on
    assert len({first, *others}) == 2


BODY = 'extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y) {\n    %s\n}\n'


@pytest.mark.parametrize(
    "body",
    [
        "TPipe pipe; TQue<TPosition::VECIN, 1> queue; pipe.InitBuffer(queue, 2, 256);",
        "int wrong = missing;",
        "DataCopy(1, 2, 3);",
        'static_assert(sizeof(int) == 3, "no");',
        "if ASCEND_IS_AIC { GlobalTensor<float> t; t.SetGlobalBuffer((__gm__ float*)x); }",
    ],
    ids=["right", "a missing name", "wrong types", "an assertion", "both kinds of cores"],
)
def test_copies_of_the_compiler_make_the_same(
    twin: Twin, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    """The same diagnostics at the same lines, and images that are equal to the byte. From the third copy on its code
    lies in memory of its own.
    """
    monkeypatch.setattr(forkserver, "_MANY_COPIES", 2)
    runtime = twin.executor._ready()
    made = []
    for name, servers, turns in (("plain", None, 1), ("copy", sandbox.servers, 4)):
        how = replace(runtime, sandbox=replace(sandbox, servers=servers))
        for turn in range(turns):
            work = tmp_path / f"{name}{turn}"
            work.mkdir()
            candidate = Candidate({driver.KERNEL_FILE: HEAD + BODY % body}, "")
            compiled = driver.compile_kernel(
                candidate,
                entry="probe",
                arguments=("x", "y"),
                toolchain=toolchain.find(),
                runtime=how,
                work=work,
                timeout_s=60.0,
            )
            images = compiled.images
            paths = [] if images is None else [path for path in (images.vector, images.cube) if path is not None]
            made.append((compiled.outcome, compiled.diagnostics, [path.read_bytes() for path in paths]))
    assert made[1:] == made[:-1]
    assert (made[0][0] is Outcome.OK) == bool(made[0][2])
    compilers = [process.args for process in running(sandbox) if "kernel.unit.cc" in process.args]
    assert compilers
    assert any("--large" in words for words in compilers) == forkserver._has_room()
