"""Runs in object storage: ``s3://``, ``gs://`` and whatever else fsspec knows, an extra (``npukernelbench[objects]``).

Such storage has neither appending nor locks. So a log becomes segments: objects of whole lines, written once and never
changed, whose names say where in the log they stand and what they hold::

    manifest.json
    events/000000000000000-000000000008192-1f0c….jsonl      first byte, length, digest
    results.json                                             written last

A run is still written by one process, on a disk of its own. Pushing sends what is new, any number of times.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from npukernelbench.errors import NpukbError, SourceLocation, StoreError, UsageError
from npukernelbench.store.files import sync_folder
from npukernelbench.store.log import LOG_NAME
from npukernelbench.store.manifest import MANIFEST_NAME, read_manifest
from npukernelbench.store.results import RESULTS_NAME

__all__ = ["Moved", "pull", "push", "reaching"]

_FOLDER = "events"
#: A segment holds so many bytes, or one line if that is longer.
_SEGMENT_BYTES = 8 << 20


class Moved(NamedTuple):
    """What was sent or fetched: segments, and their bytes."""

    segments: int
    size: int


class _Segment(NamedTuple):
    first: int
    length: int
    digest: str

    @property
    def name(self) -> str:
        return f"{self.first:015d}-{self.length:015d}-{self.digest}.jsonl"

    @classmethod
    def parse(cls, name: str) -> _Segment:
        """ValueError for the name of something else."""
        first, length, digest = name.removesuffix(".jsonl").split("-")
        return cls(int(first), int(length), digest)


def push(directory: Path, url: str) -> Moved:
    """Send what of a run ``url`` does not hold yet. The run may go on meanwhile: what is whole is sent.

    UsageError when no run is in ``directory``, or another one, or another machine's continuation of this one, at
    ``url``; StoreError when the storage cannot be used.
    """
    if not (directory / MANIFEST_NAME).is_file():
        raise UsageError("no run is here", location=SourceLocation(directory), remedy="name the folder of a run")
    # For its errors: a manifest that is damaged or was edited is not sent.
    read_manifest(directory)
    with reaching(url) as (files, root):
        _send_manifest(files, root, (directory / MANIFEST_NAME).read_bytes(), url)
        events = (directory / LOG_NAME).read_bytes()
        events = events[: events.rfind(b"\n") + 1]  # a line that is being written is left for the next time
        there = _segments(files, root, url)
        # The whole log is compared: a run that went on elsewhere has other bytes at the same places.
        for segment in there:
            part = events[segment.first : segment.first + segment.length]
            if len(part) < segment.length or _digest(part) != segment.digest:
                raise _another(url, "events that this folder does not have")
        sent, at = [], sum(segment.length for segment in there)
        while at < len(events):
            part = _part(events, at)
            segment = _Segment(at, len(part), _digest(part))
            # `create`: a segment is never written over, whoever else pushes at the same time.
            files.pipe_file(f"{root}/{_FOLDER}/{segment.name}", part, mode="create")
            sent.append(segment)
            at += len(part)
        # Last: results are made of the events before them.
        if (directory / RESULTS_NAME).is_file():
            files.pipe_file(f"{root}/{RESULTS_NAME}", (directory / RESULTS_NAME).read_bytes())
    return Moved(len(sent), sum(segment.length for segment in sent))


def pull(url: str, directory: Path) -> Moved:
    """Write the run at ``url`` into a new folder, which appears whole or not at all.

    UsageError when the folder is there already or no run is at ``url``; StoreError when a segment is missing or is not
    what its name says, or the storage cannot be used.
    """
    if directory.exists():
        raise UsageError("the folder is there already", location=SourceLocation(directory), remedy="name a new one")
    # Beside its goal, as a rename does not cross file systems.
    making = directory.with_name(f".{directory.name}.part")
    try:
        with reaching(url) as (files, root):
            segments = _fetch(files, root, url, making)
        making.rename(directory)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    sync_folder(directory.parent)
    return Moved(len(segments), sum(segment.length for segment in segments))


def _fetch(files: Any, root: str, url: str, making: Path) -> Sequence[_Segment]:
    if not files.isfile(f"{root}/{MANIFEST_NAME}"):
        raise UsageError(f"no run is at {url}", field="URL", remedy="npukb push RUN URL puts one there")
    segments = _segments(files, root, url)
    making.mkdir(parents=True, exist_ok=True)
    (making / MANIFEST_NAME).write_bytes(files.cat_file(f"{root}/{MANIFEST_NAME}"))
    with (making / LOG_NAME).open("wb") as log:
        for segment in segments:
            part = files.cat_file(f"{root}/{_FOLDER}/{segment.name}")
            if _digest(part) != segment.digest:
                raise StoreError(f"{url}: {segment.name} is damaged", remedy="push the run again to another place")
            log.write(part)
    if files.isfile(f"{root}/{RESULTS_NAME}"):
        (making / RESULTS_NAME).write_bytes(files.cat_file(f"{root}/{RESULTS_NAME}"))
    return segments


def _send_manifest(files: Any, root: str, content: bytes, url: str) -> None:
    files.makedirs(f"{root}/{_FOLDER}", exist_ok=True)
    path = f"{root}/{MANIFEST_NAME}"
    try:
        files.pipe_file(path, content, mode="create")
    except FileExistsError:
        # The same run may be pushed again; the bytes say so, since a manifest is written once.
        if files.cat_file(path) != content:
            raise _another(url, "another run") from None


def _segments(files: Any, root: str, url: str) -> Sequence[_Segment]:
    """Those at the place, in order. StoreError when they do not join."""
    # fsspec keeps listings, and another machine may have pushed since.
    files.invalidate_cache()
    segments = sorted(_Segment.parse(path.rsplit("/", 1)[-1]) for path in files.glob(f"{root}/{_FOLDER}/*.jsonl"))
    end = 0
    for segment in segments:
        if segment.first != end:
            what = "is missing" if segment.first > end else "is there twice"
            raise StoreError(f"{url}: what follows byte {end} {what}", remedy="push the run to another place")
        end += segment.length
    return segments


def _part(events: bytes, at: int) -> bytes:
    """Whole lines from ``at`` on: as many as fit, one at least."""
    end = events.rfind(b"\n", at, at + _SEGMENT_BYTES) + 1
    return events[at : end if end > at else events.index(b"\n", at) + 1]


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()[:16]


def _another(url: str, what: str) -> UsageError:
    return UsageError(f"{url} holds {what}", field="URL", remedy="push to a place of its own for each run")


@contextmanager
def reaching(url: str) -> Iterator[tuple[Any, str]]:
    """Boundary: the file system of a URL and the path in it; what its client raises becomes a StoreError."""
    try:
        import fsspec
    except ImportError:
        remedy = "pip install 'npukernelbench[objects]', and s3fs or gcsfs for your storage"
        raise StoreError("fsspec is not installed", remedy=remedy) from None
    try:
        files, root = fsspec.core.url_to_fs(url)
        yield files, root.rstrip("/")
    except NpukbError:
        # The caller's block runs inside: its own errors are no fault of the storage.
        raise
    except Exception as error:
        reason = f"{url} cannot be used: {type(error).__name__}: {error}"
        raise StoreError(
            reason, remedy="check the address, the credentials, and that its client is installed"
        ) from error
