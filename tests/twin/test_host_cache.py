"""A host side is compiled again when anything that its compiler read has changed, and only then."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from npukb_twin.launch import process
from npukb_twin.operator import host_build
from npukb_twin.operator.host_cache import HostCache, HostCall, KeptHost, included
from npukernelbench.nouns import Outcome
from tests.twin.hosting import DEFINITION, HEAD, PLAIN, TILING, Hosting

HEADER = "op_kernel/sizes.h"
UNIT = {
    "op_host/probe.cpp": '#include "../op_kernel/sizes.h"\n#if __has_include("more.h")\n#endif\n'
    + HEAD
    + TILING.format(body="", before="")
    + DEFINITION.format(body=PLAIN),
    HEADER: "constexpr int SIZE = 64;\n",
    "op_kernel/probe.cpp": "// the kernel\n",
}


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Sources that a compiler was called for, in order; nothing is kept from other tests."""
    started: list[str] = []

    def counting(command: tuple[str, ...], *rest: Any, **more: Any) -> Any:
        if "-c" in command:
            unit: Path = more["work"] / command[command.index("-c") + 1]
            started.extend(re.findall('#include "(.*)"', unit.with_suffix(".inc").read_text(encoding="utf-8")))
        return process.run(command, *rest, **more)

    monkeypatch.setattr(host_build, "run", counting)
    monkeypatch.setattr(host_build, "_KEPT", HostCache())
    return started


def test_another_kernel_keeps_its_host_side(tmp_path: Path, compiled: list[str]) -> None:
    hosting = Hosting.ready(tmp_path)
    first, second = hosting.compile(UNIT), hosting.compile({**UNIT, "op_kernel/probe.cpp": "// a better kernel\n"})
    assert compiled == ["op_host/probe.cpp"]
    assert first.image is not None
    assert second.image is not None
    assert first.image != second.image
    assert first.image.read_bytes() == second.image.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {HEADER: "constexpr int SIZE = 128;\n"},
        {"op_host/more.h": ""},
        {"op_host/probe.cpp": UNIT["op_host/probe.cpp"] + "// more\n"},
        {"op_host/second.cpp": "int second() { return 2; }\n"},
    ],
    ids=["a header that is read", "a header that is asked for", "the source", "another source"],
)
def test_what_the_compiler_reads_counts(tmp_path: Path, compiled: list[str], change: Mapping[str, str]) -> None:
    hosting = Hosting.ready(tmp_path)
    hosting.compile(UNIT)
    compiled.clear()
    assert hosting.compile({**UNIT, **change}).outcome is Outcome.OK
    assert "op_host/probe.cpp" in compiled


def test_what_does_not_compile_is_not_kept(tmp_path: Path, compiled: list[str]) -> None:
    hosting = Hosting.ready(tmp_path)
    broken = {**UNIT, HEADER: "constexpr int SIZE = ;\n"}
    assert [hosting.compile(broken).outcome for _ in range(2)] == [Outcome.COMPILE_ERROR] * 2
    assert len(compiled) == 2


def test_the_oldest_makes_room() -> None:
    cache, kept = HostCache(2), KeptHost(b"image", ())
    calls = [HostCall(("cc",), ["op_host/a.cpp"], {"op_host/a.cpp": str(number)}) for number in range(3)]
    for call in calls:
        cache.keep(call, ["op_host/a.cpp"], kept)
    assert [cache.find(call) for call in calls] == [None, kept, kept]


def test_names_in_dependency_files() -> None:
    rule = "host0.o: op_host/a.cpp \\\n  op_host/../op_kernel/two\\ words.h /usr/include/x.h\n"
    assert included(rule) == ["op_host/a.cpp", "op_host/../op_kernel/two words.h", "/usr/include/x.h"]
