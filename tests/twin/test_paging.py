"""The compiler's file is read ahead once after a start of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npukb_twin.compile import build, paging, toolchain
from npukernelbench.config import default_cache_dir


@pytest.fixture
def boot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that says which start of the machine this is."""
    path = tmp_path / "boot_id"
    path.write_text("first\n")
    monkeypatch.setattr(paging, "_BOOT", path)
    return path


def test_a_program_is_read_once_after_each_start(tmp_path: Path, boot: Path) -> None:
    program, cache = tmp_path / "compiler", tmp_path / "cache"
    program.write_bytes(b"x" * 100)
    assert paging.read_ahead(program, cache)
    assert not paging.read_ahead(program, cache)
    os.utime(program, ns=(1, 1))
    assert paging.read_ahead(program, cache), "another file"
    boot.write_text("second\n")
    assert paging.read_ahead(program, cache), "another start"
    assert not paging.read_ahead(program, cache)
    other = tmp_path / "other"
    other.write_bytes(b"y")
    assert paging.read_ahead(other, cache), "another program"
    assert not paging.read_ahead(program, cache)


def test_a_note_or_a_program_that_cannot_be_is_no_failure(tmp_path: Path, boot: Path) -> None:
    program = tmp_path / "compiler"
    program.write_bytes(b"x")
    (tmp_path / "file").write_text("")
    assert not paging.read_ahead(program, tmp_path / "file")
    assert not paging.read_ahead(tmp_path / "absent", tmp_path / "cache")
    boot.unlink()
    assert not paging.read_ahead(program, tmp_path / "cache")


def test_the_executor_s_compiler_has_been_read(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Path] = []
    monkeypatch.setattr(build, "read_ahead", lambda program, cache: asked.append(program))
    compiler = toolchain.find()
    build.ensure(compiler, default_cache_dir())
    assert asked == ([Path(compiler.compile[0])] if compiler.is_clang else [])
