"""Sessions: a handle that nobody can guess, with the files and the budget that belong to it.

The protocol's newest revision has no sessions of its own, and several agents may share one connection. So whoever
opens a workspace gets a handle, and every tool that reads files or spends budget asks for it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from threading import Lock

from npukb_mcp.results import Budget, Judged
from npukb_mcp.workspace import Brief, write_workspace
from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.generate.fences import relative_name
from npukernelbench.nouns import Track
from npukernelbench.tasks.goldens import OPERATOR_FOLDERS, SOURCE_SUFFIXES

__all__ = ["Limits", "Session", "Sessions", "accepted"]

_MOST_FILES = 32
_MOST_BYTES = 1 << 20
_MOST_PATHS = 500
# A session ends only with the server, whose memory its results would fill.
_MOST_RESULTS = 200


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server hands out: workspaces in its life, and per workspace calls and seconds of judging."""

    workspaces: int = 256
    calls: int = 100
    seconds: float = 3600.0


@dataclass(slots=True)
class Session:
    """One workspace. ``files`` are the kernel's, ``folder`` is where an agent edits them, if it does so on disk."""

    handle: str
    brief: Brief
    files: dict[str, str]
    folder: Path | None
    calls_left: int
    seconds_left: float
    results: dict[str, Judged] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    judged: int = 0

    @property
    def budget(self) -> Budget:
        """What is left."""
        return Budget(calls_left=self.calls_left, seconds_left=round(max(0.0, self.seconds_left), 2))

    def spend_call(self) -> None:
        """Take one call out of the budget. UsageError when nothing is left."""
        # Read and taken under one lock: two calls at a time must not both spend the last one.
        with self.lock:
            if self.calls_left < 1 or self.seconds_left <= 0:
                what = "calls" if self.calls_left < 1 else "seconds of judging"
                raise UsageError(
                    f"this session has no {what} left",
                    field="workspace",
                    remedy="end here: the last files are the answer; get_task, api, explain and compare cost nothing",
                )
            self.calls_left -= 1

    def settle(self, seconds: float, *, refund: bool) -> None:
        """Take the time of a call out of the budget, and give back the call where it failed by our fault."""
        with self.lock:
            self.seconds_left -= seconds
            self.calls_left += refund

    def next_name(self) -> str:
        """The name of the next result."""
        with self.lock:
            self.judged += 1
            return f"r{self.judged}"

    def remember(self, result: Judged) -> None:
        """Keep a result for comparison; the oldest goes when there are many."""
        with self.lock:
            self.results[result.result] = result
            while len(self.results) > _MOST_RESULTS:
                # A dictionary keeps the order in which results came.
                del self.results[next(iter(self.results))]

    def take(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """The kernel's files: those given, which are kept, or those of the workspace. UsageError for what is no
        kernel's file.
        """
        if given is not None:
            self.files = accepted(given, self.brief.track)
        elif self.folder is not None:
            self.files = accepted(_read_folder(self.folder, self.brief.track), self.brief.track)
        return dict(self.files)


class Sessions:
    """All sessions of a server."""

    def __init__(self, limits: Limits, folder: Path | None = None) -> None:
        self._limits, self._folder = limits, folder
        self._open: dict[str, Session] = {}
        self._lock = Lock()

    def open(self, brief: Brief, files: Mapping[str, str], editable: frozenset[str]) -> Session:
        """A new session with these files; UsageError when the server has handed out all it may."""
        limits = self._limits
        with self._lock:
            # Sessions never end: the limit bounds what a server holds in its life.
            if len(self._open) >= limits.workspaces:
                raise UsageError(
                    f"this server has handed out all of its {limits.workspaces} workspaces",
                    field="workspace",
                    remedy="go on with the workspace that you have, or start a server with a larger --workspaces",
                )
            # 128 bits: whoever knows a handle has the session, so that nobody may guess one.
            handle = secrets.token_urlsafe(16)
            folder = None if self._folder is None else self._folder / handle
            own = {name: text for name, text in files.items() if name in editable}
            session = Session(handle, brief, own, folder, limits.calls, limits.seconds)
            # Registered before the folder is written, so that the limit holds for calls side by side.
            self._open[handle] = session
        if folder is not None:
            write_workspace(folder, files)
        return session

    def find(self, handle: str) -> Session:
        """The session of a handle; UsageError for any other text, which is not repeated to the caller."""
        session = self._open.get(handle)
        if session is None:
            raise UsageError(
                "there is no such workspace", field="workspace", remedy="call new_workspace, and give what it returns"
            )
        return session


def accepted(files: Mapping[str, str], track: Track) -> dict[str, str]:
    """Files under plain relative names, of a size that a kernel may have."""
    wanted = DEVICE_SOURCE if track is Track.STATIC else f"files in {' and '.join(OPERATOR_FOLDERS)}"
    # JSON may hold lone surrogates, which plain UTF-8 refuses.
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in files.values())
    if len(files) > _MOST_FILES or size > _MOST_BYTES:
        raise UsageError(
            f"{len(files)} files of {size} bytes are too much",
            field="files",
            remedy=f"give at most {_MOST_FILES} files of {_MOST_BYTES} bytes together",
        )
    for name in files:
        in_place = name == DEVICE_SOURCE if track is Track.STATIC else name.split("/")[0] in OPERATOR_FOLDERS
        if relative_name(name) != name or not name.endswith(SOURCE_SUFFIXES) or not in_place:
            # Cut, and by repr: what a caller sends comes back into logs and prompts.
            raise UsageError(f"{name[:120]!r} is no file of a kernel", field="files", remedy=f"give {wanted}")
    if not files or (track is Track.STATIC and DEVICE_SOURCE not in files):
        raise UsageError("no kernel is given", field="files", remedy=f"give {wanted}")
    return dict(files)


def _read_folder(folder: Path, track: Track) -> dict[str, str]:
    """The kernel's files in an agent's folder. A link may lead anywhere, so none is followed."""
    # Only the parent is resolved: the folder itself may have been replaced by a link.
    home = folder.parent.resolve() / folder.name
    if track is Track.STATIC:
        paths = [folder / DEVICE_SOURCE]
    else:
        roots = [folder / name for name in OPERATOR_FOLDERS]
        below = (path for root in roots for path in ([root] if root.is_symlink() else root.rglob("*")))
        # A generator and a limit: an agent may have laid any number of files.
        paths = sorted(islice(below, _MOST_PATHS + 1))
        if len(paths) > _MOST_PATHS:
            raise UsageError(
                f"the workspace holds more than {_MOST_PATHS} files", field="files", remedy="remove what is no source"
            )
    texts: dict[str, str] = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if path.is_dir() and not path.is_symlink():
            continue
        # Also for a folder on the way that is a link.
        if path.resolve() != home / name or not path.is_file():
            raise UsageError(
                f"{name} is no plain file of the workspace", field="files", remedy="put the text itself there"
            )
        if path.suffix in SOURCE_SUFFIXES:
            texts[name] = _read(path, name)
    return texts


def _read(path: Path, name: str) -> str:
    try:
        # O_NOFOLLOW closes the gap between the check and the opening, in which the file may become a link.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            # One byte more than is allowed, so that a file that is too long is refused and not cut.
            return file.read(_MOST_BYTES + 1).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"cannot read {name}: {error.strerror or 'no file'}", field="files", remedy="put the text itself there"
        ) from None
