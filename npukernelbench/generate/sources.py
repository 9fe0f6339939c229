"""A candidate in files: one source on the static track, a folder or several files on the others, each with the headers
that it includes. Reading and writing them, and telling apart what is no candidate yet.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from npukernelbench.errors import UsageError
from npukernelbench.generate.arrange import DEVICE_FOLDER, HOST_FOLDER, arranged, place_of_file
from npukernelbench.generate.fences import HEADER_SUFFIXES, wrap
from npukernelbench.generate.includes import carry, carry_sources, include_folders
from npukernelbench.generate.parsers import DEVICE_SOURCE
from npukernelbench.nouns import LAUNCH_FILE, Case, Prompt, Task, Track
from npukernelbench.tasks.goldens import SOURCE_SUFFIXES, source_files

__all__ = ["Sources", "as_answer", "as_completion", "read_answer", "read_sources", "require_complete", "write_sources"]

#: The constants of a case, and where they are defined: what ``specialise`` puts in front of a golden kernel.
_CONSTANTS, _PRELUDE = re.compile(r"\btask_case\s*::"), re.compile(r"\bnamespace\s+task_case\b")
_TILED, _TILES = re.compile(r"\bGET_TILING_DATA\s*\("), re.compile(r"#[ \t]*define[ \t]+GET_TILING_DATA\b")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

#: In which some prompts ask for the answer to stand.
_TAG = "kernel_impl"
#: More than this is not read: every guard refuses far smaller sources.
_MOST_BYTES = 64 << 20


class Sources(NamedTuple):
    """Texts by the candidate's names for them, and where each came from."""

    files: Mapping[str, str]
    paths: Mapping[str, str]


def read_sources(sources: Sequence[str], track: Track, include: Sequence[str] = ()) -> Sources:
    """Read a candidate and what it includes from beside it or out of the folders ``include``. UsageError for what
    cannot be read or is not what the track takes.
    """
    readers = {Track.STATIC: _static_sources, Track.DYNAMIC: _operator_sources, Track.LAUNCH: _launch_sources}
    own = readers[track](sources)
    folders = include_folders(include)
    carried = carry(own.files, own.paths, folders)
    if track is Track.DYNAMIC and folders:
        carried = carry_sources(carried, folders)
    return Sources(carried.files, carried.paths)


def _static_sources(sources: Sequence[str]) -> Sources:
    """One source file, which is called ``kernel.cpp`` here, and the headers that are given with it."""
    kernels = [source for source in sources if not source.endswith(HEADER_SUFFIXES)]
    if len(kernels) != 1 or any(Path(source).is_dir() for source in sources):
        raise UsageError(
            f"an answer of the static track is one source file, with its headers: {' '.join(sources)}",
            field="FILE",
            remedy="judge several sources with --track dynamic",
        )
    paths = {DEVICE_SOURCE if source in kernels else PurePosixPath(source).name: source for source in sources}
    shown = {name: "<stdin>" if path == "-" else path for name, path in paths.items()}
    return Sources({name: _read(path) for name, path in paths.items()}, shown)


def _launch_sources(sources: Sequence[str]) -> Sources:
    """Files under their names, those of a folder under their paths in it. A launch file is one of them."""
    named: dict[str, str] = {}
    for source in sources:
        root = Path(source)
        paths = sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else [root]
        wanted = [path for path in paths if path.suffix in SOURCE_SUFFIXES or path.name == LAUNCH_FILE]
        if not wanted:
            raise UsageError(
                f"{source} holds no source file", field="FILE", remedy="give a folder of sources, or files"
            )
        for path in wanted:
            named[path.relative_to(root).as_posix() if root.is_dir() else path.name] = str(path)
    return Sources({name: _read(path) for name, path in named.items()}, named)


def _operator_sources(sources: Sequence[str]) -> Sources:
    texts = {path: _read(path) for source in sources for path in _named_files(source)}
    return Sources(arranged(texts), {place_of_file(path, text): path for path, text in texts.items()})


def require_complete(files: Mapping[str, str], task: Task, case: Case | None, track: Track) -> None:
    """UsageError for what lies beside tasks and is no kernel of the static track yet: a golden text without the
    constants of a case, the device half of a dynamic operator. Every newcomer tries to judge those.
    """
    if track is not Track.STATIC or case is None:
        return
    text = _COMMENT.sub(" ", "\n".join(files.values()))
    remedy = f"npukb golden {task.name} --case {case.id} --out FILE writes a complete one"
    if _CONSTANTS.search(text) and not _PRELUDE.search(text):
        what = "this is a golden kernel's text without the constants of a case (namespace task_case)"
        raise UsageError(what, field="FILE", remedy=remedy)
    if _TILED.search(text) and not _TILES.search(text):
        what = "this is the device code of an operator of the dynamic track: it asks its host code for tiling data"
        remedy = f"judge the folder with op_host and op_kernel with --track dynamic; {remedy}"
        raise UsageError(what, field="FILE", remedy=remedy)


def as_answer(files: Mapping[str, str]) -> str:
    """One text of a candidate: a single source as it is, several in fenced blocks with their names."""
    if len(files) == 1:
        return next(iter(files.values()))
    return "\n".join(wrap(text, name=name) for name, text in files.items())


def as_completion(files: Mapping[str, str], prompt: Prompt) -> str:
    """A model's answer that holds a candidate: blocks, between tags where the prompt asks for them."""
    if len(files) != 1:
        return as_answer(files)
    [source] = files.values()
    answer, tag = wrap(source), _TAG if any(_TAG in turn.content for turn in prompt.messages) else ""
    return f"<{tag}>\n{answer}\n</{tag}>" if tag else answer


def write_sources(files: Mapping[str, str], out: Path, track: Track) -> Iterator[Path]:
    """Write a candidate where nothing is yet, and say what was written. UsageError where something is."""
    if out.exists() and not (track is not Track.STATIC and out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{out} is there already", field="--out", remedy="name another path, or remove it")
    for name, text in files.items():
        path = out if track is Track.STATIC else out / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"cannot write {path}: {error.strerror}", field="--out", remedy="name another path"
            ) from error
        yield path


def read_answer(sources: Sequence[str]) -> str:
    """Read what a model wrote: one file, on every track. UsageError for more, and for what cannot be read."""
    if len(sources) != 1:
        raise UsageError(
            f"a model's answer is one text: {' '.join(sources)}",
            field="FILE",
            remedy="leave --parser out to judge source files",
        )
    return _read(sources[0])


def _named_files(source: str) -> list[str]:
    path = Path(source)
    if not path.is_dir():
        return [source]
    files = [str(file) for file in source_files(path)]
    if not files:
        raise UsageError(
            f"{source} holds no source file in {HOST_FOLDER}/ or {DEVICE_FOLDER}/",
            field="FILE",
            remedy="give the folder that holds both, or the files themselves",
        )
    return files


def _read(source: str) -> str:
    """The file's text; bytes that are no UTF-8 stay recognisable for the guard that refuses them."""
    try:
        if source == "-":
            # Bounded, as standard input may be endless.
            raw = sys.stdin.buffer.read(_MOST_BYTES)
        else:
            with Path(source).open("rb") as file:
                raw = file.read(_MOST_BYTES)
    except OSError as error:
        raise UsageError(
            f"cannot read {source}: {error.strerror or error}",
            field="FILE",
            remedy="give the path of a source file, or -",
        ) from None
    return raw.decode("utf-8", "surrogateescape")
