"""What a launch costs before a kernel does anything: pages that are touched, and images that are read."""

from __future__ import annotations

import platform
import resource
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest

from npukb_twin.compile import build, imports, toolchain
from npukb_twin.compile.elf import Elf
from npukb_twin.launch import launching, process
from npukernelbench.config import default_cache_dir
from npukernelbench.nouns import Outcome
from tests.twin.running import Twin


@pytest.fixture(scope="module")
def host() -> Path:
    return build.ensure(toolchain.find(), default_cache_dir()).host


def test_threads_begin_without_tables(host: Path) -> None:
    """Every thread of a process pays for all variables of threads as it begins, whether it needs them or not."""
    assert sum(section.size for section in Elf(host).sections if section.name in (".tdata", ".tbss")) < 4096


@pytest.mark.skipif(platform.machine() != "x86_64", reason="pages have other sizes elsewhere")
def test_launches_touch_few_pages(twin: Twin) -> None:
    """Tables of what might be known are zeros that nobody touched: 1,000 pages, not 1,300; 260 where the system gives
    large ones.
    """
    faults = []

    def refused() -> str:
        """How often the system had no large page for somebody who asked."""
        return next(
            line for line in Path("/proc/vmstat").read_text().splitlines() if line.startswith("thp_fault_fallback ")
        )

    before_all = refused()

    def run(*words: object, **how: object) -> process.Finished:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
        done = process.run(*words, **how)  # type: ignore[arg-type]
        faults.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before)
        return done

    for _ in range(3):  # other children may end meanwhile
        with patch.object(launching, "run", run):
            done = twin.run("", {"x": np.zeros(256, np.float32)}, block=None)
        assert done.outcome is Outcome.OK, done.diagnostics
    large = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    if not large.exists() or "[never]" in large.read_text():
        assert min(faults) < 1200
    elif refused() == before_all:
        assert min(faults) < 450


def test_images_are_read_once(host: Path) -> None:
    image = Elf(host)
    first = image.symbols(".dynsym")
    assert first
    assert image.symbols(".dynsym") is first
    assert image.symbols(".nothing") == ()
    assert image.path == host


def test_names_of_the_runtime_are_known_to_both_checks(host: Path) -> None:
    """What a kernel may need holds the mangled names of the API; what it must not define does not."""
    calls = {symbol.name for symbol in Elf(host).symbols(".dynsym") if symbol.section and "npukb_" in symbol.name}
    offered = {name for name in calls if name.startswith("npukb_")}
    assert offered <= imports._known(host)
    assert offered <= imports._own(host)
    assert not any(name.startswith("_Z") for name in imports._own(host))
    assert any(name.startswith("_Z") for name in imports._known(host))
