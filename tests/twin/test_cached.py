"""What builds of the runtime share."""

from __future__ import annotations

from pathlib import Path

from npukb_twin.compile.cached import make
from npukb_twin.compile.toolchain import clean_environment


def zig_cache(work: Path) -> Path:
    """Where a compiler called in ``work`` keeps what it made."""
    folders = {path for name, path in clean_environment(work).items() if name.startswith("ZIG_")}
    assert len(folders) == 1
    return Path(folders.pop())


def test_what_zig_made_for_one_build_is_there_for_the_next(tmp_path: Path) -> None:
    said: list[str] = []

    def first(work: Path) -> None:
        (zig_cache(work) / "crt1.o").write_text("startup files")
        (work / "program").touch()

    def second(work: Path) -> None:
        said.append((zig_cache(work) / "crt1.o").read_text())

    make(tmp_path / "twin-programs/a", first)
    make(tmp_path / "twin-host-programs/b", second)
    assert said == ["startup files"]
    left = {path.name for path in (tmp_path / "twin-programs/a").iterdir()}
    assert left == {"program", "complete"}, "what is published holds no link into the cache"
