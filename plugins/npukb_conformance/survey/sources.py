"""The source files of a folder, and what one part of it includes from the others.

A project's build names the folders that its sources include from. Here the includes tell: a file is looked for by the
end of its path, the nearest one first, and the folder that holds it becomes an include folder.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from npukernelbench.generate.includes import Carried, carry
from npukernelbench.tasks.goldens import SOURCE_SUFFIXES

__all__ = ["Tree", "reached"]

_SUFFIXES = (*SOURCE_SUFFIXES, ".def", ".tpp", ".ipp")
#: Tests, and what builds and runs on a CPU leave behind: these write every instruction into a text in ``cceprint``.
_LEFT_OUT = re.compile(r"\..*|tests?|ut|st|unit_?tests?|build(_out)?|cceprint|npuchk|__pycache__|node_modules")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
_TOOLKIT = "kernel_operator.h"


@dataclass(frozen=True)
class Tree:
    """Everything below ``root`` but hidden folders, tests and builds."""

    root: Path

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """Every source file in order."""
        # os.walk gives names as the file system has them, which differs between machines.
        return tuple(sorted(self._walk()))

    def _walk(self) -> Iterator[Path]:
        for folder, folders, names in os.walk(self.root):
            # Changed in place: os.walk goes only into what is left in its own list.
            folders[:] = [name for name in folders if not _LEFT_OUT.fullmatch(name.lower())]
            yield from (Path(folder, name) for name in names if name.endswith(_SUFFIXES))

    @cached_property
    def texts(self) -> Mapping[Path, str]:
        """What is in them."""
        # Comments may be in other encodings, and must not keep a file out.
        return {path: path.read_text(encoding="utf-8", errors="surrogateescape") for path in self.paths if _whole(path)}

    @cached_property
    def _by_name(self) -> Mapping[str, Sequence[Path]]:
        result: dict[str, list[Path]] = {}
        for path in self.texts:
            result.setdefault(path.name, []).append(path)
        return result

    def below(self, folder: Path) -> Iterator[Path]:
        """Source files in ``folder`` and below it."""
        return (path for path in self.texts if folder in path.parents)

    def includes(self, path: Path, other: Path) -> bool:
        """Whether ``path`` itself includes ``other``, by the place that it says from its own folder."""
        names = _INCLUDE.findall(self.texts[path])
        return any(name.endswith(other.name) and (path.parent / name).resolve() == other.resolve() for name in names)

    def relative(self, path: Path) -> str:
        """The path as tables show it."""
        return path.relative_to(self.root).as_posix()

    def closed(self, files: Mapping[str, Path], base: Path) -> Carried:
        """``files``, by the names that they are compiled under, with everything of the folder that they include."""
        texts = {name: self.texts[path] for name, path in files.items()}
        places = {name: str(path) for name, path in files.items()}
        return carry(texts, places, self.folders(texts.values(), files.values(), base))

    def folders(self, texts: Iterable[str], known: Iterable[Path], base: Path) -> list[Path]:
        """The folders that hold what ``texts`` include and no file in ``known`` is, the nearest to ``base`` first."""
        ends = {path.as_posix() for path in known}
        waiting, result, seen = list(texts), [], set[str]()
        while waiting:
            for name in _INCLUDE.findall(waiting.pop()):
                # From which folder it climbs is unknown here: the rest of the path has to tell.
                tail = re.sub(r"^(?:\.\./|\./)+", "", name)
                if tail in seen or any(path.endswith(f"/{tail}") for path in ends):
                    continue
                seen.add(tail)
                path = self._nearest(tail, base)
                if path is None:
                    continue
                # The folder that the include is written from: as many levels up as the path has.
                folder = path.parents[tail.count("/")].resolve()
                result += [folder] if folder not in result else []
                waiting.append(self.texts[path])
        return result

    def _nearest(self, tail: str, base: Path) -> Path | None:
        """The file whose path ends so."""
        name = tail.rpartition("/")[2]
        fitting = [path for path in self._by_name.get(name, ()) if path.as_posix().endswith(f"/{tail}")]
        # The twin has its own; a copy in the folder must not take its place.
        if not fitting or name == _TOOLKIT:
            return None
        return min(
            fitting,
            key=lambda path: (
                # Files of other operators come last; then the longest way in common, then the shortest path.
                self._foreign(path, base),
                -len(os.path.commonpath([path, base])),
                len(path.parts),
                path,
            ),
        )

    def _foreign(self, path: Path, base: Path) -> bool:
        """Whether a file belongs to another operator, whose build does not offer it."""
        return any(folder in self._operators and folder not in (base, *base.parents) for folder in path.parents)

    @cached_property
    def _operators(self) -> frozenset[Path]:
        """Folders with an ``op_host`` or an ``op_kernel``."""
        return frozenset(
            folder.parent for path in self.texts for folder in path.parents if folder.name in ("op_host", "op_kernel")
        )


def reached(files: Mapping[str, str], start: str) -> dict[str, str]:
    """Those of ``files`` that ``start`` includes, at any depth, by the ends of their names."""
    result, waiting = {start: files[start]}, [start]
    while waiting:
        for path in _INCLUDE.findall(files[waiting.pop()]):
            tail = re.sub(r"^(?:\.\./|\./)+", "", path)
            for name in files:
                if name not in result and (name == tail or name.endswith(f"/{tail}")):
                    result[name] = files[name]
                    waiting.append(name)
    return result


def _whole(path: Path) -> bool:
    """Whether there is a file behind a name: a checkout may have links that lead nowhere."""
    return path.is_file()
