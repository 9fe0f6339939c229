"""Durable file operations: what returns has reached the disk, and no reader ever sees half a file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns.codec import JSON, to_json

__all__ = ["SCHEMA", "check_schema", "read_json", "read_object", "replace_json", "sync_folder", "write_all", "writing"]

#: Version of the run folder's formats. A reader takes this version and older ones.
SCHEMA = 1


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Boundary: an operating-system error inside becomes a StoreError that names ``path``."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot be written: {error.strerror or error}",
            location=SourceLocation(path),
            remedy="choose another folder with --output_path, or repair permissions and free space",
        ) from error


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte; the operating system may take fewer than it is given."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_folder(folder: Path) -> None:
    """Make names created in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_json(path: Path, content: Mapping[str, object]) -> None:
    """Write a JSON file, sorted and indented, in one step: a reader sees the old content or the new."""
    # Before the file is touched: a value that cannot be encoded leaves it alone.
    encoded = json.dumps(to_json(content), indent=2, sort_keys=True, allow_nan=False) + "\n"
    temporary = path.with_name(path.name + ".new")
    with writing(path):
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            write_all(descriptor, encoded.encode())
            # Before the rename: after a crash the new name could otherwise stand for an empty file.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        sync_folder(path.parent)


def read_json(path: Path) -> Mapping[str, JSON]:
    """A JSON object of this or an older schema. FileNotFoundError when there is no file, StoreError for all else."""
    content = read_object(path)
    check_schema(content.get("schema"), SourceLocation(path))
    return content


def read_object(path: Path) -> Mapping[str, JSON]:
    """A JSON object, whatever its schema. FileNotFoundError when there is no file, StoreError for all else."""
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror or error}", location=SourceLocation(path)) from error
    except ValueError as error:
        raise StoreError(
            f"is not JSON: {error}",
            location=SourceLocation(path, getattr(error, "lineno", 0), getattr(error, "colno", 0)),
            remedy="restore the file, or start again in another folder",
        ) from error
    if not isinstance(content, dict):
        raise StoreError("does not hold a JSON object", location=SourceLocation(path), remedy="restore the file")
    return content


def check_schema(schema: object, location: SourceLocation) -> None:
    """StoreError unless ``schema`` is a version that this harness reads."""
    # To Python, True is the integer 1.
    if isinstance(schema, bool) or not isinstance(schema, int) or schema < 1:
        raise StoreError(
            f"has no schema version this harness knows: {schema!r}", location=location, remedy="restore the file"
        )
    if schema > SCHEMA:
        raise StoreError(
            f"has schema version {schema}, this harness reads up to {SCHEMA}",
            location=location,
            remedy="update npukernelbench",
        )
