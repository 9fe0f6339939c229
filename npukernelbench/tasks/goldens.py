"""Golden kernels on disk: one file on the static track, a folder with ``op_host`` and ``op_kernel`` on the dynamic.

A dynamic golden kernel may name further folders of that kind. Their files are added to its own, so that a category has
its common headers once.
"""

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
    """Texts by name: ``kernel.cpp`` for a single file, else paths relative to the folder, shared files first.

    TaskError if a file is unreadable, or if two folders hold one of the same name.
    """
    if not golden.path.is_dir():
        return {"kernel.cpp": _read(golden.path)}
    texts: dict[str, str] = {}
    for folder in (*golden.shared, golden.path):
        for path in source_files(folder):
            name = path.relative_to(folder).as_posix()
            if name in texts:
                raise TaskError(f"{name} of the golden kernel is in two folders", location=SourceLocation(path))
            texts[name] = _read(path)
    return texts


def source_files(folder: Path) -> Iterator[Path]:
    """Sources and headers in the two folders of an operator, in a fixed order."""
    for name in OPERATOR_FOLDERS:
        found = (path for path in (folder / name).rglob("*") if path.suffix in SOURCE_SUFFIXES and path.is_file())
        yield from sorted(found)


def golden_paths(golden: Golden) -> Iterator[Path]:
    """Every path whose state decides what the golden kernel is: its files, and the folders that could get others."""
    for folder in (golden.path, *golden.shared):
        yield folder
        if folder.is_dir():
            for name in OPERATOR_FOLDERS:
                yield folder / name
                yield from sorted(path for path in (folder / name).rglob("*") if path.is_dir())
            yield from source_files(folder)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TaskError(f"cannot read the golden kernel: {error.strerror}", location=SourceLocation(path)) from error
