"""Reading a candidate from files: one source on the static track, a folder or several files on the dynamic one."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from npukernelbench.errors import UsageError
from npukernelbench.generate.arrange import DEVICE_FOLDER, HOST_FOLDER, arranged, place_of_file
from npukernelbench.generate.parsers import DEVICE_SOURCE
from npukernelbench.nouns import Track
from npukernelbench.tasks.goldens import source_files

__all__ = ["Sources", "read_answer", "read_sources"]

#: More than this is not read: every guard refuses far smaller sources.
_MOST_BYTES = 64 << 20


class Sources(NamedTuple):
    """Texts by the candidate's names for them, and where each came from."""

    files: Mapping[str, str]
    paths: Mapping[str, str]


def read_sources(sources: Sequence[str], track: Track) -> Sources:
    """Read a candidate. UsageError for what cannot be read or is not what the track takes."""
    if track is Track.STATIC:
        if len(sources) != 1 or Path(sources[0]).is_dir():
            raise UsageError(
                f"an answer of the static track is one source file: {' '.join(sources)}",
                field="FILE",
                remedy="judge several files with --track dynamic",
            )
        shown = "<stdin>" if sources[0] == "-" else sources[0]
        return Sources({DEVICE_SOURCE: _read(sources[0])}, {DEVICE_SOURCE: shown})
    paths = [path for source in sources for path in _named_files(source)]
    texts = {path: _read(path) for path in paths}
    files = arranged(texts)
    return Sources(files, {place_of_file(path, text): path for path, text in texts.items()})


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
