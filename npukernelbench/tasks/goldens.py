"""The files of a golden kernel: one on the static track, those in ``op_host`` and ``op_kernel`` on the dynamic, all
sources of a folder on the launch track.

They lie beside the task, or are made of a program that does. A dynamic golden kernel may name further folders of that
kind. Their files are added to its own, so that a category has its common headers once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import LAUNCH_FILE, Golden, Task, Track
from npukernelbench.tasks.canary import without_canary
from npukernelbench.tasks.making import Makers, Making, broken, digest_of

__all__ = [
    "DERIVED",
    "OPERATOR_FOLDERS",
    "SOURCE_SUFFIXES",
    "files_of",
    "golden_digest",
    "golden_of",
    "golden_paths",
    "read_golden",
    "source_files",
]

#: Where the files of an operator lie: definition, shape inference and tiling; device code.
OPERATOR_FOLDERS = ("op_host", "op_kernel")
#: The maker of static kernels out of dynamic operators, each for one case.
DERIVED = "derived"
SOURCE_SUFFIXES = (".h", ".hh", ".hpp", ".hxx", ".inc", ".cpp", ".cc", ".cxx", ".c", ".cce", ".asc")


def golden_of(task: Task, track: Track) -> Golden | None:
    """The golden kernel of that track."""
    return next((golden for golden in task.goldens if golden.track is track), None)


def read_golden(golden: Golden, makers: Makers | None = None) -> Mapping[str, str]:
    """Texts by name: ``kernel.cpp`` for a single file, else paths relative to the folder, shared files first.

    TaskError if a file is unreadable, if two folders hold one of the same name, or if what ``makers`` make of it is not
    what the task file says. One that is derived is only there for a case: see ``prompts.golden``.
    """
    if golden.maker == DERIVED:
        raise TaskError(
            "the static kernel is derived from the dynamic one, for one case at a time",
            location=SourceLocation(golden.path),
            remedy="ask for it with a case: npukb golden TASK --case ID",
        )
    if golden.maker:
        request = Making({golden.path.name: _read(golden.path)}, golden.path)
        files = (makers or Makers()).make(golden.maker, request)
        if golden.sha256 and digest_of(files) != golden.sha256:
            raise broken(golden.path, golden.sha256, files)
        return files
    if not golden.path.is_dir():
        return {"kernel.cpp": _read(golden.path)}
    texts: dict[str, str] = {}
    for folder in (*golden.shared, golden.path):
        for path in files_of(golden, folder):
            name = path.relative_to(folder).as_posix()
            if name in texts:
                raise TaskError(f"{name} of the golden kernel is in two folders", location=SourceLocation(path))
            texts[name] = _read(path)
    return texts


def golden_digest(golden: Golden) -> str:
    """What identifies a golden kernel in the hash of its task. It needs no maker, so that a task is the same one
    whatever plugins there are: a made kernel is known by the digest in the task file, or else by its program.
    """
    # It follows from the dynamic kernel, whose own digest takes part.
    if golden.maker == DERIVED:
        return DERIVED
    if golden.maker:
        return golden.sha256 or hashlib.sha256(f"{golden.maker}\0{_read(golden.path)}".encode()).hexdigest()
    files = read_golden(golden)
    if not golden.path.is_dir():
        return hashlib.sha256("".join(files.values()).encode()).hexdigest()
    return digest_of(files)


def source_files(folder: Path) -> Iterator[Path]:
    """Sources and headers in the two folders of an operator, in a fixed order."""
    for name in OPERATOR_FOLDERS:
        sources = (path for path in (folder / name).rglob("*") if path.suffix in SOURCE_SUFFIXES and path.is_file())
        yield from sorted(sources)


def files_of(golden: Golden, folder: Path) -> Iterator[Path]:
    """The files that a golden kernel has in one of its folders, in a fixed order."""
    if golden.track is not Track.LAUNCH:
        yield from source_files(folder)
        return
    files = (path for path in folder.rglob("*") if path.is_file())
    yield from sorted(path for path in files if path.suffix in SOURCE_SUFFIXES or path.name == LAUNCH_FILE)


def golden_paths(golden: Golden) -> Iterator[Path]:
    """Every path whose state decides what the golden kernel is: its files, and the folders that could get others."""
    for folder in (golden.path, *golden.shared):
        yield folder
        if folder.is_dir():
            for place in (
                (folder / name for name in OPERATOR_FOLDERS) if golden.track is not Track.LAUNCH else (folder,)
            ):
                yield place
                yield from sorted(path for path in place.rglob("*") if path.is_dir())
            yield from files_of(golden, folder)


def _read(path: Path) -> str:
    try:
        return without_canary(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TaskError(f"cannot read the golden kernel: {error.strerror}", location=SourceLocation(path)) from error
