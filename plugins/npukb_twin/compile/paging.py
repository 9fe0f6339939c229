"""The compiler's file in memory: read in one piece, it lies in large pages.

A kernel's compilation starts the compiler anew. Where its file came into memory page by page, as programs are read when
they start, each start takes some 6 ms longer than where it was read from end to end (ext4, Linux 6.18): a tenth of what
a small kernel's judgement costs. So it is read once after the machine has started.
"""

from __future__ import annotations

import contextlib
import os
from hashlib import sha256
from pathlib import Path

__all__ = ["read_ahead"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_PIECE = 16 << 20


def read_ahead(program: Path, cache: Path) -> bool:
    """Bring ``program`` into memory in one piece, unless a note in ``cache`` says that this was done since the machine
    has started. Whether it was read now. Nothing happens where the system cannot say when it started.
    """
    with contextlib.suppress(OSError, AttributeError):
        state = program.stat()
        done = f"{_BOOT.read_text(encoding='ascii').strip()} {state.st_ino} {state.st_size} {state.st_mtime_ns}"
        note = cache / "read-ahead" / sha256(os.fsencode(program)).hexdigest()[:16]
        if note.is_file() and note.read_text(encoding="ascii") == done:
            return False
        with program.open("rb", buffering=0) as file:
            # What is there in small pages stays so otherwise. Pages in use stay in any case.
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
            piece = bytearray(_PIECE)
            while file.readinto(piece):
                pass
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(done, encoding="ascii")
        return True
    return False
