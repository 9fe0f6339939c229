"""Small contents under names that say what they hold, shared by many writers: a folder, or object storage.

A name is a digest of all that its content follows from, so writers never disagree: whoever comes first or last writes
what is meant. A content is whole or not there; one that is damaged counts as not there.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path
from typing import Protocol

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.store.objects import reaching

__all__ = ["Contents", "open_contents"]

_DIGEST = hashlib.sha256


class Contents(Protocol):
    """Safe to use from several threads, processes and machines. StoreError when the place cannot be used."""

    def get(self, name: str) -> bytes | None:
        """What is there under a name; None where nothing is, or nothing whole."""
        ...

    def put(self, name: str, content: bytes) -> None:
        """Keep a content for everybody."""
        ...


def open_contents(place: str) -> Contents:
    """A folder, which is made, or a URL such as ``s3://bucket/verdicts``. StoreError when it cannot be used."""
    contents: _Folder | _Objects = _Objects(place.rstrip("/")) if "://" in place else _Folder(Path(place))
    contents.open()
    return contents


class _Folder:
    def __init__(self, root: Path) -> None:
        self._root = root

    def open(self) -> None:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            if not os.access(self._root, os.R_OK | os.W_OK | os.X_OK):
                # Said once at the start, not with every verdict.
                raise PermissionError(0, "no permission to write")
        except OSError as error:
            raise self._broken(error) from error

    def get(self, name: str) -> bytes | None:
        try:
            return _unsealed(self._path(name).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._broken(error) from error

    def put(self, name: str, content: bytes) -> None:
        path = self._path(name)
        # A name per writer, since several may keep the same content at once. Nothing waits for the disk: what a crash
        # leaves incomplete does not match its digest and counts as not there.
        being_written = path.with_name(f".{name}.{secrets.token_hex(4)}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            being_written.write_bytes(_sealed(content))
            being_written.replace(path)
        except OSError as error:
            being_written.unlink(missing_ok=True)
            raise self._broken(error) from error

    def _path(self, name: str) -> Path:
        # In folders by their first digits: one folder of a million files is slow to work with.
        return self._root / name[:2] / name

    def _broken(self, error: OSError) -> StoreError:
        return StoreError(
            f"cannot be used: {error.strerror or error}",
            location=SourceLocation(self._root),
            remedy="name a folder that every judge may write to",
        )


class _Objects:
    def __init__(self, url: str) -> None:
        self._url = url

    def open(self) -> None:
        with reaching(self._url) as (files, root):
            files.makedirs(root, exist_ok=True)

    def get(self, name: str) -> bytes | None:
        with reaching(self._url) as (files, root):
            try:
                return _unsealed(files.cat_file(f"{root}/{name[:2]}/{name}"))
            except FileNotFoundError:
                return None

    def put(self, name: str, content: bytes) -> None:
        with reaching(self._url) as (files, root):
            files.makedirs(f"{root}/{name[:2]}", exist_ok=True)
            files.pipe_file(f"{root}/{name[:2]}/{name}", _sealed(content))


def _sealed(content: bytes) -> bytes:
    """A content behind its own digest: not every storage writes in one step."""
    return _DIGEST(content).digest() + content


def _unsealed(stored: bytes) -> bytes | None:
    size = _DIGEST().digest_size
    digest, content = stored[:size], stored[size:]
    return content if _DIGEST(content).digest() == digest else None
