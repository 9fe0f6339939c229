"""Compiled host sides that are kept: who repairs or speeds up a kernel mostly leaves its host side as it was.

One is found again by what its compiler read, and no more: the text of every file that was included, and the command.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from threading import Lock
from typing import NamedTuple

from npukernelbench.nouns import Diagnostic

__all__ = ["HostCache", "HostCall", "KeptHost", "included"]


class KeptHost(NamedTuple):
    """An image as the linker wrote it, and what the compiler said of its sources."""

    image: bytes
    said: tuple[Diagnostic, ...]


class _Entry(NamedTuple):
    read: Mapping[str, str]
    host: KeptHost


class HostCall(NamedTuple):
    """A compiler's ``command`` for the sources ``units`` among ``files``."""

    command: Sequence[str]
    units: Sequence[str]
    files: Mapping[str, str]

    def key(self) -> bytes:
        """Of what counts in any case. Names do: ``__has_include`` sees them."""
        digest = sha256()
        texts = [text for unit in self.units for text in (unit, self.files[unit])]
        for words in (self.command, sorted(self.files), texts):
            for word in words:
                digest.update(word.encode("utf-8", "surrogateescape") + b"\0")
            # ends a list, so that its words cannot pass for those of the next one
            digest.update(b"\1")
        return digest.digest()


class HostCache:
    """The last ``size`` host sides that compiled, some 130 KB each. Threads share it."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._entries: OrderedDict[bytes, _Entry] = OrderedDict()
        self._lock = Lock()

    def find(self, call: HostCall) -> KeptHost | None:
        """What came of the same call, if it would read the same text now."""
        key = call.key()
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or any(call.files.get(name) != text for name, text in entry.read.items()):
                return None
            self._entries.move_to_end(key)
            return entry.host

    def keep(self, call: HostCall, read: Iterable[str], host: KeptHost) -> None:
        """Keep ``host``. ``read`` are paths that the compiler opened; those of the call's files decide what it made."""
        # compilers write paths as they came to them, with ./ and .. in between
        used = {name: call.files[name] for path in read if (name := os.path.normpath(path)) in call.files}
        with self._lock:
            self._entries[call.key()] = _Entry(used, host)
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)


def included(rule: str) -> list[str]:
    """The paths in a compiler's dependency file, ``target: path path \\``. Spaces in names are escaped."""
    _, _, names = rule.replace("\\\n", " ").partition(": ")
    # a NUL, which no path has, stands for an escaped space while the rest is split
    return [name.replace("\0", " ") for name in names.replace("\\ ", "\0").split()]
