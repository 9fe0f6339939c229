"""``pytest -p tests.twin.sanitized``: tests on a runtime that the address and undefined behaviour sanitizers watch.

The runtime is compiled by the same clang as always, with the sanitizers' checks in it, and linked by the system's g++,
which brings the sanitizers' libraries: the ziglang package has none. It takes the place of the usual runtime in a cache
folder of its own, so that nothing else changes: kernels are compiled as always, every test runs as it is. One of its
threads gets little time, as on a busy machine: no verdict may depend on that. What a sanitizer says is kept in a file,
whatever the test makes of the process that it ended; a file makes the session fail.

Limits on address space are lifted, because the sanitizer's shadow memory is larger than any of them; there is no
sandbox, because it reads files that no kernel may.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from npukb_twin import executor
from npukb_twin.compile import build, cached, toolchain
from npukb_twin.launch import launching, process
from npukb_twin.launch.sandbox import Sandbox

# Handlers of signals and their stacks are the runtime's own.
OPTIONS = (
    "exitcode=99:detect_leaks=0:handle_segv=0:handle_sigbus=0:handle_sigill=0:handle_sigfpe=0:"
    "handle_abort=0:use_sigaltstack=0:detect_stack_use_after_return=0:allocator_may_return_null=1"
)
FINDINGS = ("AddressSanitizer", "runtime error:")
CHECKS = ("-fsanitize=address,undefined", "-fno-sanitize=function,vptr", "-fno-sanitize-recover=undefined")


def pytest_configure(config: pytest.Config) -> None:
    """Put a sanitized runtime where the executor looks for one, and have an eye on what its processes say."""
    cache = Path(os.environ["NPUKB_CACHE_DIR"])
    reports = cache / "found"
    reports.mkdir(parents=True, exist_ok=True)
    patch = pytest.MonkeyPatch()
    patch.setattr(launching, "Limits", _Unlimited)
    patch.setattr(executor, "open_sandbox", lambda mode, folder: Sandbox())

    def watched(*arguments: Any, **options: Any) -> process.Finished:
        finished = process.run(*arguments, **options)
        if any(word in finished.output for word in FINDINGS):
            (reports / sha256(finished.output.encode()).hexdigest()[:12]).write_text(finished.output, encoding="utf-8")
        return finished

    patch.setattr(launching, "run", watched)
    chosen = toolchain.find("zig")
    folder = build.ensure(chosen, cache).host.parent
    with cached.turn(cache / "sanitize.lock"):
        if not (folder / "sanitized").exists():
            compile_runtime(chosen, folder / "npukb-twin-host")
            (folder / "sanitized").touch()


class _Unlimited(process.Limits):
    """Limits without one on address space."""

    def numbers(self) -> dict[str, int]:
        return {name: value for name, value in super().numbers().items() if name != "AS"}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Print what has been found."""
    if hasattr(session.config, "workerinput"):
        return
    reports = sorted((Path(os.environ["NPUKB_CACHE_DIR"]) / "found").iterdir())
    for path in reports:
        print(f"\n{path.name}\n{path.read_text(encoding='utf-8', errors='replace')[:4000]}")  # noqa: T201
    if reports:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def compile_runtime(chosen: toolchain.Toolchain, host: Path) -> None:
    """Compile and link the runtime with checks, and move it to ``host``."""
    with tempfile.TemporaryDirectory(dir=host.parent) as name:
        work = Path(name)
        defaults = work / "defaults.cc"
        text = [f'extern "C" const char* __{s}_default_options() {{ return "{OPTIONS}"; }}' for s in ("asan", "ubsan")]
        defaults.write_text("\n".join(text), encoding="utf-8")
        flags = [*build.runtime_flags(), "-Wno-pass-failed", "-D_GNU_SOURCE", "-DNPUKB_UNFAIR", "-O1", "-g", *CHECKS]
        flags.remove("-O3")
        sources = [*build.runtime_sources(), defaults]
        jobs = [[*chosen.compile, *flags, "-c", str(path), "-o", build.object_name(path)] for path in sources]
        jobs[-1].append("-fvisibility=default")
        what = "the sanitized runtime"
        cached.call_all(jobs, work, what)
        link = ["g++", "-rdynamic", "-fsanitize=address,undefined", *map(build.object_name, sources)]
        cached.call([*link, "-o", "host", "-ldl", "-lpthread", "-lm"], work, what)
        shutil.move(work / "host", host)
