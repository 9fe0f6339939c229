"""Golden kernels on disk: one file on the static track, a folder with ``op_host`` and ``op_kernel`` on the dynamic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import Golden

__all__ = ["OPERATOR_FOLDERS", "SOURCE_SUFFIXES", "golden_paths", "read_golden", "source_files"]

#: Where the files of an operator lie: definition, shape inference and tiling; device code.
OPERATOR_FOLDERS = ("op_host", "op_kernel")
SOURCE_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".inc", ".cpp", ".cc", ".cxx", ".c", ".cce", ".asc")


def read_golden(golden: Golden) -> Mapping[str, str]:
    """Texts by name: ``kernel.cpp`` for a single file, else paths relative to the folder. TaskError if unreadable."""
    if not golden.path.is_dir():
        return {"kernel.cpp": _read(golden.path)}
    return {path.relative_to(golden.path).as_posix(): _read(path) for path in source_files(golden.path)}


def source_files(folder: Path) -> Iterator[Path]:
    """Sources and headers in the two folders of an operator, in a fixed order."""
    for name in OPERATOR_FOLDERS:
        found = (path for path in (folder / name).rglob("*") if path.suffix in SOURCE_SUFFIXES and path.is_file())
        yield from sorted(found)


def golden_paths(golden: Golden) -> Iterator[Path]:
    """Every path whose state decides what the golden kernel is: its files, and the folders that could get others."""
    yield golden.path
    if golden.path.is_dir():
        for name in OPERATOR_FOLDERS:
            yield golden.path / name
            yield from sorted(path for path in (golden.path / name).rglob("*") if path.is_dir())
        yield from source_files(golden.path)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TaskError(f"cannot read the golden kernel: {error.strerror}", location=SourceLocation(path)) from error
