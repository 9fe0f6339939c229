"""What predicted times rest on: the machine file and the sources of the timing engine, as one digest.

Times are compared with each other only where it is the same. What single instructions cost lies in their own files,
which change more often; the tests of golden kernels compare those times one by one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import sha256

from npukb_twin.compile.build import source_root
from npukb_twin.launch.launching import Start
from npukb_twin.timing.machine import Machine

__all__ = ["time_model"]

#: Words about the engine change no time.
_COMMENT = re.compile(r"[ \t]*//[^\n]*\n?")


def time_model(machine: Machine, start: Start) -> str:
    """Changes with every number of the machine file, every source of the engine, and the kind of launch."""
    return sha256(f"{machine.digest} {_engine()} {start.value}".encode()).hexdigest()[:16]


@lru_cache(maxsize=1)
def _engine() -> str:
    """The room ``runtime/time``, whole: a file that joins it counts without being named here."""
    digest = sha256()
    for path in sorted((source_root() / "runtime" / "time").iterdir()):
        digest.update(path.name.encode() + b"\0" + _COMMENT.sub("", path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()
