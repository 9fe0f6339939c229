"""Who may ask a judge, and how much of each may wait there.

A file gives every trainer a token of its own, so nobody passes for another::

    trainer-a: {token: "…"}
    nightly: {token: "…", most: 200}

Without one, a single token (or none, on this machine) lets in whoever has it, and callers name themselves.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import yaml
from pydantic import Field, TypeAdapter, ValidationError

from npukernelbench.errors import UsageError
from npukernelbench.strict import Strict

__all__ = ["CALLER_HEADER", "Admission", "Caller", "Callers"]

#: Where a request says who sends it.
CALLER_HEADER = "Npukb-Caller"
#: The longest name that is taken from a request.
_LONGEST_NAME = 64
#: How many callers may fill their rooms before everybody is turned away: what waits is memory.
_FULL_ROOMS = 16


class Caller(NamedTuple):
    """Whoever asks. ``most`` is how many answers of its may wait or be judged; 0 stands for the server's own limit."""

    name: str
    most: int = 0


class _Entry(Strict):
    token: str = Field(min_length=16)
    most: int = Field(0, ge=0)


class Callers:
    """Finds out who asks."""

    def __init__(self, token: str = "", known: Mapping[str, Caller] | None = None) -> None:
        """``known`` are callers by their token; ``token`` opens to all who have it where there are none."""
        self._token, self._known = token, dict(known or {})

    @classmethod
    def read(cls, path: Path) -> Callers:
        """Those of a file. UsageError for what is no such file, or gives one token to two."""
        try:
            entries = TypeAdapter(dict[str, _Entry]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
        except (OSError, yaml.YAMLError) as error:
            raise UsageError(f"{path}: {error}", field="--callers", remedy="write NAME: {token: …}") from None
        except ValidationError as error:
            # Without the input, which holds tokens: this text is printed.
            first = error.errors(include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "the file"
            remedy = "write NAME: {token: at least 16 characters, most: 200}"
            raise UsageError(f"{path}: {place}: {first['msg']}", field="--callers", remedy=remedy) from None
        known = {entry.token: Caller(name, entry.most) for name, entry in entries.items()}
        if not known or len(known) < len(entries):
            told = "two callers have the same token" if known else "no caller is named"
            raise UsageError(f"{path}: {told}", field="--callers", remedy="give each a token of its own")
        return cls(known=known)

    @property
    def guarded(self) -> bool:
        """Whether a token is asked for."""
        return bool(self._token or self._known)

    def find(self, authorization: str, named: str, address: str) -> Caller | None:
        """Who sent these headers from this address; None when it has no right to ask."""
        # As bytes: `compare_digest` raises for text beyond ASCII, and a header may have any.
        given = authorization.encode()
        for token, caller in self._known.items():
            # In constant time: how long `==` takes tells how much of a token is right.
            if hmac.compare_digest(given, f"Bearer {token}".encode()):
                return caller
        if self._known or (self._token and not hmac.compare_digest(given, f"Bearer {self._token}".encode())):
            return None
        return Caller(named[:_LONGEST_NAME] or address)


class Admission:
    """How many answers of each caller wait or are judged, and whether more may come. Safe for several threads."""

    def __init__(self, room: int) -> None:
        """``room`` is the limit of a caller that has none of its own."""
        self._room = room
        self._pending: Counter[str] = Counter()
        self._lock = Lock()

    @property
    def total(self) -> int:
        """How many there are of all callers."""
        with self._lock:
            return self._pending.total()

    def of(self, caller: Caller) -> int:
        """How many there are of this one."""
        with self._lock:
            return self._pending[caller.name]

    def enter(self, caller: Caller, answers: int) -> bool:
        """Whether so many may come. A batch is taken whole when nothing else of its caller waits."""
        with self._lock:
            own = self._pending[caller.name]
            full = own and own + answers > (caller.most or self._room)
            if full or self._pending.total() > _FULL_ROOMS * self._room:
                return False
            self._pending[caller.name] += answers
            return True

    def leave(self, caller: Caller, answers: int) -> None:
        """So many are judged."""
        with self._lock:
            self._pending[caller.name] -= answers
            if not self._pending[caller.name]:
                # Callers may name themselves, and entries of 0 would pile up.
                del self._pending[caller.name]
