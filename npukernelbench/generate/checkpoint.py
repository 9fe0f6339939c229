"""Which checkpoint it is: a print of its files, so that a run is not resumed with another model in the same folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from npukernelbench.errors import BackendError

__all__ = ["checkpoint_facts", "checkpoint_print"]

#: Files up to this size are read whole, of larger ones both ends.
_WHOLE_BYTES = 1 << 20


def checkpoint_facts(model: str, revision: str | None = None) -> dict[str, str]:
    """What decides a checkpoint's answers: the content of a local folder, or name and revision on the hub.

    BackendError when ``model`` looks like a folder but is not one, or holds no checkpoint.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return {"checkpoint": checkpoint_print(folder)}
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
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.relative_to(folder).as_posix()}\0{size}\0".encode())
        with path.open("rb") as file:
            digest.update(file.read(_WHOLE_BYTES))
            if size > _WHOLE_BYTES:
                # Both ends: reading every weight would take minutes, and training changes all of them.
                file.seek(max(_WHOLE_BYTES, size - _WHOLE_BYTES))
                digest.update(file.read())
    return digest.hexdigest()[:16]
