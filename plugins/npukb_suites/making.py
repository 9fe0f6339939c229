"""From a user's torch file to a task's folder: asked, drafted, written, loaded once to be sure."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from npukb_suites.drafts import Draft, draft_task
from npukb_suites.torch_client import torch_host
from npukb_suites.writing import torch_folder
from npukernelbench.errors import TaskError
from npukernelbench.tasks.importing import Folder
from npukernelbench.tasks.load import load_task

__all__ = ["BUDGETS", "torch_task"]

#: What cases may cost: the file's own sizes, those for a CPU, those of the first look.
BUDGETS: Mapping[str, Mapping[str, float]] = {
    # Bytes with the reference's double precision; elements and work keep the small cases quick.
    "full": {"bytes": 24e9},
    "cpu": {"bytes": 1e9, "elements": float(1 << 20), "work": float(1 << 30)},
    "smoke": {"bytes": 1e8, "elements": float(1 << 13), "work": float(1 << 22)},
}
_SURVEY_S = 300.0


def torch_task(
    name: str,
    *,
    target: Mapping[str, Any],
    suite: str,
    level: int = 1,
    summary: str = "",
    init: Mapping[str, Any] | None = None,
    given: Sequence[Mapping[str, Any]] = (),
    small: Sequence[Mapping[str, Any]] = (),
    lists: Mapping[str, Any] | None = None,
) -> Folder:
    """The folder of the task that a file's function or class is. ``given`` are its inputs where the file does not say
    them, ``small`` the same for the smoke case, ``lists`` their extents over axes where some are lists of tensors.
    TaskError with the place where it cannot be one."""
    question: dict[str, Any] = {
        "action": "survey",
        "target": dict(target),
        "budgets": BUDGETS,
        "init": dict(init or {}),
    }
    question |= {"inputs": list(given), "small": list(small), "lists": lists}
    survey = torch_host().ask(question, timeout_s=_SURVEY_S).header
    model = Path(target["file"]) if "file" in target else None
    sha256 = hashlib.sha256(model.read_bytes()).hexdigest() if model else ""
    own = {**target, "file": "model.py"} if model else dict(target)
    first = next((line.strip() for line in survey["doc"].splitlines() if line.strip()), "")
    draft = draft_task(
        name,
        survey,
        suite=suite,
        level=level,
        summary=summary or first or f"{target['name']}.",
        target=own,
        sha256=sha256,
        init=init,
        given=given,
    )
    return _loadable(draft, model)


def _loadable(draft: Draft, model: Path | None) -> Folder:
    """The folder, without the hidden section where the loader does not take that."""
    try:
        files = torch_folder(draft, model)
        _load(files)
    except TaskError as error:
        # Only a fault of the hidden section: the task is good without it, and a note says what is missing.
        if not (error.field or "").startswith("hidden"):
            raise
        del draft.task["hidden"]
        draft.notes.append(f"no hidden cases: {error.message}")
        files = torch_folder(draft, model)
        _load(files)
    return Folder(files, tuple(draft.notes))


def _load(files: Mapping[str, str]) -> None:
    # Loaded from a folder of its own: what the loader refuses must not lie in the user's folder.
    with tempfile.TemporaryDirectory(prefix="npukb-suites-") as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text, encoding="utf-8")
        load_task(Path(folder) / "task.yaml")
