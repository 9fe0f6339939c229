"""Running ``npukb`` inside the test process, with a fake model and a fake executor installed as a plugin would be."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.cli import main
from tests.suite import furnished

FAKE_PLUGIN = """
    from npukernelbench import hookimpl

    @hookimpl
    def register_backends(register):
        register("fake", "npukernelbench.testing:FakeBackend", description="answers what it is told")

    @hookimpl
    def register_executors(register):
        register("fake", "npukernelbench.testing:FakeExecutor", description="compiles nothing")
"""


@dataclass(frozen=True)
class Finished:
    """What a command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output, which must be one JSON value."""
        assert self.out, self.err
        return json.loads(self.out)


Npukb = Callable[..., Finished]


@pytest.fixture(autouse=True)
def _clean_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty current folder, an own cache with nothing but tasks and builds, and no settings from outside."""
    furnished(tmp_path / "cache/npukernelbench")
    for name in [name for name in os.environ if name.startswith("NPUKB_")]:
        monkeypatch.delenv(name)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)


@pytest.fixture
def npukb(capfd: pytest.CaptureFixture[str]) -> Npukb:
    """``npukb("ls", "tasks")`` runs that command line here and returns exit code and output."""

    def call(*argv: str | Path) -> Finished:
        capfd.readouterr()
        code = main([str(word) for word in argv])
        captured = capfd.readouterr()
        return Finished(code, captured.out, captured.err)

    return call


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """``plugin("name", source)`` puts a distribution ``npukb-name`` with one plugin module on the path."""
    site = tmp_path / "site"

    def install(name: str, source: str) -> Path:
        info = site / f"npukb_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: npukb-{name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[npukernelbench]\n{name} = npukb_{name}\n")
        module = site / f"npukb_{name}.py"
        module.write_text(textwrap.dedent(source))
        monkeypatch.delitem(sys.modules, module.stem, raising=False)
        monkeypatch.syspath_prepend(str(site))
        path = os.environ.get("PYTHONPATH")
        monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{path}" if path else str(site))
        return module

    return install


@pytest.fixture
def fake(plugin: Callable[[str, str], Path]) -> None:
    """The backend ``fake`` and the executor ``fake``."""
    plugin("fakes", FAKE_PLUGIN)


@pytest.fixture
def kernel(tmp_path: Path) -> Callable[..., Path]:
    """``kernel("compile_error")`` is a source file that the fake executor gives that outcome."""

    def write(word: str = "ok", name: str = "kernel_of_mine.cpp", before: str = "") -> Path:
        path = tmp_path / name
        path.write_text(f"{before}// fake: {word}\n")
        return path

    return write


@pytest.fixture
def sound_task() -> str:
    """The text of a task file with nothing wrong in it."""
    return textwrap.dedent("""\
        name: Flat
        suite: mine
        level: 1
        category: Math
        version: 1
        kernel: flat
        core: vector
        summary: Square roots.
        description: Square roots.
        formula: y = sqrt(x)
        interface:
          inputs:
            - {name: x, dtypes: [float32], values: {uniform: [0.5, 4.0]}, description: Input.}
          outputs:
            - {name: y, dtype_like: x, shape_like: x, description: Output.}
        reference: math.sqrt
        tolerance: {policy: pcl, limits: {float32: {atol: 1.0e-6, rtol: 1.0e-5}}}
        cases:
          - {id: smoke, inputs: {x: {shape: [3, 7], dtype: float32}}, profiles: [smoke]}
          - {id: big, inputs: {x: {shape: [30, 7], dtype: float32}}, profiles: [full]}
          - {id: bigger, inputs: {x: {shape: [60, 7], dtype: float32}}, profiles: [full]}
        """)
