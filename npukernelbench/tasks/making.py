"""Golden kernels that are made, not written: what a plugin's maker makes of a program or of another golden kernel.

A maker is registered by name (hook ``register_goldens``) and named by the task file. What it makes is kept in the cache
folder under a digest of everything that decides it, so that it is made once. A file there can always be lost: one that
is damaged is made again, and a folder that cannot be written is done without. Processes that make the same at once
write the same file, each atomically.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from npukernelbench.errors import NpukbError, PluginError, SourceLocation, TaskError

if TYPE_CHECKING:
    from npukernelbench.nouns import Case, Task
    from npukernelbench.plugins.registry import Registry

__all__ = ["GoldenMaker", "Makers", "Making", "digest_of", "sources_digest"]


@dataclass(frozen=True, slots=True)
class Making:
    """What is to be made: a golden kernel out of ``sources``, texts by name. ``path`` is where they lie.

    ``task`` and ``case`` are given where the result is for one case, else None.
    """

    sources: Mapping[str, str]
    path: Path
    task: Task | None = None
    case: Case | None = None


@runtime_checkable
class GoldenMaker(Protocol):
    """Makes golden kernels. The same request and version give the same files, on every machine."""

    def version(self) -> str:
        """A digest of everything besides the request that decides what is made."""
        ...

    def make(self, request: Making) -> Mapping[str, str]:
        """Texts by name, as a candidate has them. NpukbError, with file and line where there is one."""
        ...


class Makers:
    """The makers of the installed plugins, in front of what they made before.

    A maker that is registered as a class lives as long as this object: :meth:`close` ends it.
    """

    def __init__(self, registry: Registry | None = None, cache_dir: Path | None = None) -> None:
        self._registry = registry
        self._cache_dir = cache_dir
        self._loaded: dict[str, GoldenMaker] = {}

    def make(self, name: str, request: Making) -> Mapping[str, str]:
        """What the maker ``name`` makes, out of the cache where it is there. TaskError when it cannot be made."""
        try:
            maker = self._maker(name)
            file = self._file(_key(name, maker, request))
            files = _read(file)
            if files is None:
                files = dict(maker.make(request))
                _write(file, files)
        except PluginError as error:
            raise TaskError(
                f"the golden kernel in {request.path} cannot be made: {error.message}", remedy=error.remedy
            ) from error
        except NpukbError as error:
            raise TaskError(error.message, location=error.location, remedy=error.remedy) from error
        return files

    def close(self) -> None:
        """Let the makers give back what they hold."""
        for maker in self._loaded.values():
            if callable(close := getattr(maker, "close", None)):
                close()
        self._loaded.clear()

    def _maker(self, name: str) -> GoldenMaker:
        if name not in self._loaded:
            registration = (_installed() if self._registry is None else self._registry).find(name)
            maker = registration.instance()
            if not isinstance(maker, GoldenMaker):
                raise registration.broken("lacks 'version' or 'make'")
            self._loaded[name] = maker
        return self._loaded[name]

    def _file(self, key: str) -> Path:
        if self._cache_dir is None:
            from npukernelbench.config import default_cache_dir

            self._cache_dir = default_cache_dir()
        return self._cache_dir / "goldens" / key[:2] / f"{key}.json"


def digest_of(files: Mapping[str, str]) -> str:
    """SHA-256 of texts by name, in whatever order."""
    return hashlib.sha256(json.dumps(dict(files), sort_keys=True).encode()).hexdigest()


def sources_digest(*folders: Path) -> str:
    """SHA-256 of every file below ``folders``, by name and content; for :meth:`GoldenMaker.version`."""
    digest = hashlib.sha256()
    for folder in folders:
        for base, below, names in os.walk(folder):
            # Byte code differs from run to run.
            below[:] = sorted(name for name in below if name != "__pycache__")
            for name in sorted(names):
                path = Path(base, name)
                digest.update(bytes(path.relative_to(folder)))
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


# Loading plugins looks through the metadata of every installed package.
@cache
def _installed() -> Registry:
    from npukernelbench.plugins import Plugins

    return Plugins.load().goldens


def _key(name: str, maker: GoldenMaker, request: Making) -> str:
    parts = [name, maker.version(), digest_of(request.sources)]
    if (task := request.task) is not None:
        # What a maker may read of a task; a new description or limit must not make every kernel anew.
        interface = (task.inputs, task.outputs, task.attributes)
        parts.append(repr((task.name, task.kernel, task.core, interface, task.workspace_bytes)))
    if (case := request.case) is not None:
        parts.append(repr((case.id, dict(case.inputs), dict(case.outputs), dict(case.attributes))))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _read(file: Path) -> dict[str, str] | None:
    """What was kept; None when there is nothing, or not what was written."""
    try:
        kept = json.loads(file.read_bytes())
        files: dict[str, str] = kept["files"]
        return files if kept["sha256"] == digest_of(files) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(file: Path, files: Mapping[str, str]) -> None:
    """Keep it, at once or not at all; where nothing can be written it is made again next time."""
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        # In the same folder: a rename replaces a file at once only within one file system.
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"files": dict(files), "sha256": digest_of(files)}, stream)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)


def broken(path: Path, expected: str, files: Mapping[str, str]) -> TaskError:
    """The complaint about a golden kernel that is not the one that the task file names."""
    return TaskError(
        f"what is made of {path.name} has the sha256 {digest_of(files)}, the task file says {expected}",
        location=SourceLocation(path),
        remedy="judge the kernel anew, then write the new digest into the task file (of all at once: "
        "python -m benchmarks.golden_digests)",
    )
