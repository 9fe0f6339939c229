"""Translation units whose first file is the same for every candidate.

The compiler is called for that file, which includes one more: everything that differs. So a compiler can be started
ahead, and stop where the first file ends (:mod:`npukb_twin.launch.forkserver`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from npukb_twin.compile.toolchain import Toolchain
from npukb_twin.launch.forkserver import Stop

__all__ = ["to_its_place", "unit_file", "unit_stop", "write_files", "write_unit"]

_BODY = ".unit.inc"


def unit_file(name: str) -> str:
    """The file that the compiler is called for, of a unit called ``name``."""
    return f"{name}.unit.cc"


def write_unit(work: Path, name: str, text: str) -> None:
    """Put the unit ``text`` into ``work``."""
    write_files({unit_file(name): _first(name), f"{name}{_BODY}": text}, work)


def unit_stop(name: str, command: Sequence[str]) -> Stop:
    """Where ``command``, which compiles a unit into ``NAME.o``, parts from what it does with all others of its name."""
    folders = tuple(word[2:] for word in command if word.startswith("-I") and not Path(word[2:]).is_absolute())
    return Stop(f"./{name}{_BODY}", f"{name}.o", ((unit_file(name), _first(name)),), folders, large=True)


def to_its_place(toolchain: Toolchain) -> tuple[str, ...]:
    """Options by which an object is written where it belongs, not renamed when it is done, and does not say where it
    was made.
    """
    return ("-fno-temp-file", "-fdebug-compilation-dir=.") if toolchain.is_clang else ()


def write_files(files: Mapping[str, str], work: Path) -> None:
    """Put ``files`` into ``work``, byte by byte as they came."""
    for name, text in files.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def _first(name: str) -> str:
    return f'#include "{name}{_BODY}"\n'
