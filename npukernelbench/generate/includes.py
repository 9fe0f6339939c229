"""Headers that a candidate includes and that lie elsewhere: beside its source, or in folders that ``--include`` names.

They become files of the candidate, under ``include/``, so that guards, limits and the sandbox treat them as its own
text, and nothing is compiled that the candidate's hash does not cover. Only what is included is carried, by name, and
only headers and sources that lie under a folder that was given: an ``#include`` cannot fetch any other file.

An include that climbs out of the operator's folder (``"../../common/x.h"``) is written as the path below the given
folder that holds the file; nothing else of a text changes.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath

from npukernelbench.errors import UsageError
from npukernelbench.nouns import INCLUDE_FOLDER
from npukernelbench.tasks.goldens import SOURCE_SUFFIXES
from npukernelbench.tasks.select import fold

__all__ = ["Carried", "carry", "carry_sources", "defined_operators", "include_folders", "tiling_sources"]

_INCLUDE = re.compile(r"""^(?P<before>[ \t]*\#[ \t]*include[ \t]*[<"])(?P<path>[^>"\n]+)(?=[>"])""", re.MULTILINE)
_CLIMBS = re.compile(r"(?:\./|\.\./)+")
#: The toolkit's own main header: whoever offers it is a toolkit, and an executor has its own.
_TOOLKIT = "kernel_operator.h"
_SUFFIXES = (*SOURCE_SUFFIXES, ".def")
_UNITS = (".cpp", ".cc", ".cxx")
#: Folders whose sources are no host side's: kernels, other processors' code, and tests.
_FOREIGN = frozenset({"op_kernel", "op_kernel_aicpu", "op_api", "tests", "test", "ut", "stub", "examples", "build"})
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# Brackets inside of brackets to one level: a regular expression cannot count to any depth.
_ARGUMENTS = r"\s*\((?:[^;{}()]|\([^;{}()]*\))*\)\s*(?:const\s*)?(?:noexcept\s*)?"
_DECLARED = re.compile(rf"\b([A-Za-z_]\w+){_ARGUMENTS};")
_DEFINED = re.compile(rf"\b([A-Za-z_]\w+){_ARGUMENTS}\{{")
_DEFINES, _TILED = (re.compile(rf"\b{macro}\s*\(\s*(\w+)") for macro in ("OP_ADD", "IMPL_OP_OPTILING"))
_MOST_BYTES = 4 << 20  # of one file; guards refuse far smaller ones


def include_folders(given: Sequence[str]) -> tuple[Path, ...]:
    """The folders as they really lie. UsageError for what is none."""
    for folder in given:
        if not Path(folder).is_dir():
            raise UsageError(f"{folder} is no folder", field="--include", remedy="name the folder that holds headers")
    return tuple(Path(folder).resolve() for folder in given)


@dataclass(frozen=True, slots=True)
class Carried:
    """A candidate's texts with what they include, and where each came from."""

    files: Mapping[str, str]
    paths: Mapping[str, str]


def carry(files: Mapping[str, str], paths: Mapping[str, str], folders: Sequence[Path]) -> Carried:
    """``files`` and every file that they include from beside them or out of ``folders``; ``paths`` say where they lie.

    What is found nowhere is left to the compiler, which has headers of its own.
    """
    search = _Search(tuple(folders), dict(files), dict(paths))
    waiting = list(files)
    while waiting:
        waiting += search.resolve(waiting.pop())
    return Carried(search.files, search.paths)


def carry_sources(carried: Carried, folders: Sequence[Path]) -> Carried:
    """``carried`` and the sources below ``folders`` that define functions which its headers declare, or register its
    operators' tiling functions, with what those include in turn. An executor compiles of them what a host side lacks.

    Of several definitions the one that lies nearest to the candidate counts. Another operator's host sources count
    where a header beside them is included.
    """
    codes = {name: _code(text) for name, text in carried.files.items()}
    headers = [code for name, code in codes.items() if name.startswith(f"{INCLUDE_FOLDER}/")]
    wanted = {name for code in headers for name in _DECLARED.findall(code)}
    wanted -= {name for code in codes.values() for name in _DEFINED.findall(code)}
    wanted |= _untiled(codes)
    known = {Path(path).resolve() for path in carried.paths.values() if Path(path).is_file()}
    home = min(known, key=lambda path: len(path.parts), default=None)
    carrying = {
        Path(path).resolve().parent for name, path in carried.paths.items() if name.startswith(f"{INCLUDE_FOLDER}/")
    }
    chosen: dict[str, tuple[Path, Path]] = {}
    for folder in folders:
        for path in _sources(folder):
            another = "op_host" in path.parts and not _shared(path) and path.resolve().parent not in carrying
            if path in known or any(map(_is_foreign, path.parts)) or another:
                continue
            for name in _defined(path) & wanted:
                other = chosen.get(name)
                if other is None or _distance(path, home) < _distance(other[0], home):
                    chosen[name] = (path, folder)
    files, paths = dict(carried.files), dict(carried.paths)
    for path, folder in chosen.values():
        name = f"{INCLUDE_FOLDER}/{path.relative_to(folder).as_posix()}"
        # What is carried already keeps its rewritten includes.
        files.setdefault(name, _read(path))
        paths.setdefault(name, str(path))
    return carry(files, paths, folders)


def defined_operators(text: str) -> list[str]:
    """The operators that a source of a host side defines."""
    return _DEFINES.findall(text)


def tiling_sources(files: Mapping[str, str]) -> list[str]:
    """The carried ones of ``files`` that register tiling functions of the candidate's operators, which it does not
    register itself: a project may keep all tiling functions of a family in a source that its operators share.
    """
    shared = [name for name in sorted(files) if name.startswith(f"{INCLUDE_FOLDER}/") and name.endswith(_UNITS)]
    if not shared:
        return []
    codes = {name: _code(text) for name, text in files.items()}
    untiled = _untiled({name: code for name, code in codes.items() if name not in shared})
    return [name for name in shared if untiled & {_tiling(operator) for operator in _TILED.findall(codes[name])}]


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.suffix in _UNITS and path.is_file())


def _is_foreign(part: str) -> bool:
    """Whether a folder of that name holds no host sources that operators share."""
    return part in _FOREIGN or part.endswith(("_example", "_examples"))


def _shared(path: Path) -> bool:
    """Whether a host source lies in a folder that operators share."""
    return any(part in ("common", "utils", "util", "shared") for part in path.parts)


def _distance(path: Path, home: Path | None) -> int:
    # The longer the path that both have in common, the nearer.
    return 0 if home is None else -len(posixpath.commonpath([str(path), str(home)]))


@cache
def _defined(path: Path) -> frozenset[str]:
    """What a source defines."""
    return frozenset(_definitions(_code(_read(path))))


def _definitions(code: str) -> Iterator[str]:
    """Names of functions, and tilings of operators."""
    yield from _DEFINED.findall(code)
    yield from map(_tiling, _TILED.findall(code))


def _untiled(codes: Mapping[str, str]) -> set[str]:
    """The tilings that a candidate lacks. A macro of its project may hide the definition of an operator, whose kernel's
    file bears its name, too.
    """
    # The definition of the operator names its tiling function then.
    if any("SetTiling" in code for code in codes.values()):
        return set()
    operators = [operator for code in codes.values() for operator in defined_operators(code)]
    kernels = [PurePosixPath(name) for name in codes if name.startswith("op_kernel/") and name.endswith(_UNITS)]
    tiled = [operator for code in codes.values() for operator in _TILED.findall(code)]
    return {_tiling(name) for name in (*operators, *(path.stem for path in kernels))} - set(map(_tiling, tiled))


def _tiling(operator: str) -> str:
    """Which ``AddRmsNorm`` and ``add_rms_norm`` share, and no function can bear."""
    return f"tiling of {fold(operator)}"


def _code(text: str) -> str:
    """The text without comments."""
    return _COMMENT.sub(" ", text)


@dataclass(slots=True)
class _Search:
    """What was found so far. ``homes`` are the folders of the candidate's own files, ``own`` are their names."""

    folders: tuple[Path, ...]
    files: dict[str, str]
    paths: dict[str, str]
    homes: tuple[Path, ...] = field(init=False)
    own: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.own = frozenset(name for name in self.files if not name.startswith(f"{INCLUDE_FOLDER}/"))
        real = {Path(path).resolve().parent for path in self.paths.values() if Path(path).is_file()}
        self.homes = tuple(sorted(real))

    def resolve(self, includer: str) -> list[str]:
        """Carry what one file includes; names of the files that are new."""
        new: list[str] = []

        def replaced(match: re.Match[str]) -> str:
            name, path = self._name(includer, match["path"], new)
            return f"{match['before']}{path if name else match['path']}"

        self.files[includer] = _INCLUDE.sub(replaced, self.files[includer])
        return new

    def _name(self, includer: str, path: str, new: list[str]) -> tuple[str, str]:
        """The candidate's file that ``path`` means and what to write for it; empty where it is left alone."""
        if posixpath.normpath(posixpath.join(posixpath.dirname(includer), path)) in self.files:
            return "", ""
        plain = _CLIMBS.sub("", path, count=1) if path.startswith(".") else path
        own = any(name == path or name.endswith(f"/{path}") for name in self.own)
        if plain == path and own and not self._beside(includer, path):
            return "", ""
        target = self._found(includer, path, plain)
        if target is None:
            return "", ""
        real, below = target
        name = f"{INCLUDE_FOLDER}/{below}"
        if name not in self.files:
            self.files[name] = _read(real)
            self.paths[name] = str(real)
            new.append(name)
        reached = posixpath.normpath(posixpath.join(posixpath.dirname(includer), path)) == name or path == below
        return name, path if reached else below

    def _beside(self, includer: str, path: str) -> bool:
        """Whether a file that was carried has such a file beside it: that is meant before any of the candidate's."""
        return includer not in self.own and (Path(self.paths[includer]).parent / path).is_file()

    def _found(self, includer: str, path: str, plain: str) -> tuple[Path, str] | None:
        """The file on disk and its path below the folder that holds it."""
        if PurePosixPath(plain).name == _TOOLKIT or PurePosixPath(plain).is_absolute():
            return None
        places = [Path(self.paths[includer]).parent / path] if includer in self.paths else []
        places += [folder / plain for folder in self.folders]
        for place in places:
            real = place.resolve()
            for folder in (*self.folders, *self.homes):
                # Of the resolved path: neither `..` nor a link leads out of the folders.
                if real.is_file() and real.suffix in _SUFFIXES and folder in real.parents:
                    return real, real.relative_to(folder).as_posix()
        return None


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            # Not refused here: a guard refuses such bytes with file and line.
            return file.read(_MOST_BYTES).decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(
            f"cannot read {path}: {error.strerror}", field="--include", remedy="make it readable, or leave it out"
        ) from error
