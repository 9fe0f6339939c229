"""A checkout of NPUKernelBench: which operators it holds, and the files of one of them as a candidate.

::

    tasks/level1/Math/Sqrt/answer/0/{CMakeLists.txt, op_host/*, op_kernel/*}     the repository's own kernel
                          /question/{op_host/*, op_kernel/*}                     the template a model has to fill
    libs/common_include/cann-ops/src/common/inc                                  headers that operators share
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath

from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Candidate

__all__ = ["Checkout", "Operator", "Variant"]

#: Folders, relative to the checkout, whose headers the operators' build puts on the include path.
SHARED_INCLUDES = ("libs/common_include/cann-ops/src/common/inc",)
_SOURCES, _HEADERS = (".cpp", ".cc"), (".h", ".hpp")
_SIDES = ("op_host", "op_kernel")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)
_TARGET = re.compile(r"target_sources\(\s*(\w+)\s+\w+(.*?)\)", re.DOTALL)
#: What the build system calls the interface that applications call; the executors have no use for it.
_INTERFACE_TARGET = "opapi"
#: What a later commit of the repository put where comments had been; it deleted code in passing.
_DAMAGE = "Implementation note."


class Variant(str, Enum):
    """Which files of an operator are judged."""

    ANSWER = "answer"  # the repository's own kernel
    QUESTION = "question"  # the template that a model is given


@dataclass(frozen=True, slots=True)
class Operator:
    """One operator of a checkout. ``folder`` is its place, ``name`` is that of our task, up to case."""

    name: str
    level: int
    category: str
    folder: Path

    def source(self, variant: Variant) -> Path | None:
        """The folder that holds ``op_host`` and ``op_kernel`` of that variant; None when there is none."""
        folder = self.folder / variant.value
        if variant is Variant.ANSWER:
            # By number: as texts, 10 comes before 2.
            numbered = sorted((p for p in folder.glob("*") if p.name.isdigit()), key=lambda p: int(p.name))
            folder = numbered[0] if numbered else folder
        return folder if (folder / "op_kernel").is_dir() else None


class Checkout:
    """What lies below ``root``, read only. UsageError when it is no checkout of NPUKernelBench."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.operators = tuple(_operators(root))
        if not self.operators:
            raise UsageError(
                f"{root} holds no tasks/level<N>/<Category>/<Operator> folders",
                remedy="give the top folder of a checkout of NPUKernelBench",
            )

    def operator(self, name: str) -> Operator | None:
        """The operator that our task of that name is about; None when it is not here."""
        return next((operator for operator in self.operators if operator.name.lower() == name.lower()), None)

    def gather(self, operator: Operator, variant: Variant) -> Candidate | None:
        """The operator's files, by path below its folder; None when the variant is not there.

        Of ``op_host``, sources that the operator's own build does not list are left out, and so are those of the
        application interface. Shared headers that the files include are laid beside them, below the side that asks.
        """
        folder = operator.source(variant)
        if folder is None:
            return None
        built = _built(folder)
        files: dict[str, str] = {}
        for side in _SIDES:
            for path in sorted((folder / side).rglob("*")):
                if path.is_file() and path.suffix in (*_SOURCES, *_HEADERS) and not _is_interface(path):
                    # Without a list in the build every source counts: `built` is empty then.
                    if side == "op_host" and path.suffix in _SOURCES and built and path.name not in built:
                        continue
                    files[path.relative_to(folder).as_posix()] = _read(path)
        for side in _SIDES:
            files.update(self._shared(files, side))
        return candidate_of(files)

    def _shared(self, files: Mapping[str, str], side: str) -> dict[str, str]:
        """Shared headers that files of one side include, directly or through one another."""
        headers: dict[str, str] = {}
        waiting = [(name, text) for name, text in files.items() if name.startswith(f"{side}/")]
        while waiting:
            name, text = waiting.pop()
            for included in _INCLUDE.findall(text):
                beside = PurePosixPath(name).parent / included
                target = f"{side}/{included}"
                # A path that climbs out could reach any file of the machine; what is there already needs no copy.
                if ".." in PurePosixPath(included).parts or {str(beside), target} & (files.keys() | headers.keys()):
                    continue
                header = next((p for root in SHARED_INCLUDES if (p := self.root / root / included).is_file()), None)
                if header is not None:
                    headers[target] = _read(header)
                    # Shared headers include each other.
                    waiting.append((target, headers[target]))
        return headers


def is_damaged(candidate: Candidate) -> bool:
    """Whether comments were replaced by a placeholder, which at one commit took statements with them."""
    return any(_DAMAGE in text for text in candidate.files.values())


def _operators(root: Path) -> Iterator[Operator]:
    for level in sorted((root / "tasks").glob("level[0-9]*")):
        for folder in sorted(level.glob("*/*")):
            # Other folders of a category hold no operator.
            if any((folder / variant.value).is_dir() for variant in Variant):
                yield Operator(folder.name, int(level.name.removeprefix("level")), folder.parent.name, folder)


def _built(folder: Path) -> frozenset[str]:
    """Names of the host sources that the operator's build lists; empty when it does not say."""
    script = folder / "CMakeLists.txt"
    if not script.is_file():
        return frozenset()
    here = {path.name for path in (folder / "op_host").rglob("*")}
    # The repository's scripts stand in for the operator's own file name by a placeholder.
    stand_in = {path.name for path in (folder / "op_host").glob("*") if (folder / "op_kernel" / path.name).is_file()}
    listed: set[str] = set()
    for target, names in _TARGET.findall(_read(script)):
        if target == _INTERFACE_TARGET:
            continue
        for name in names.split():
            listed.update(stand_in if PurePosixPath(name).stem == "custom_op" else {PurePosixPath(name).name})
    # Names with variables of CMake, and sources elsewhere, are not here.
    return frozenset(listed & here)


def _is_interface(path: Path) -> bool:
    return path.name.startswith("aclnn_") or path.stem.endswith("_l0")


def _read(path: Path) -> str:
    try:
        # Bytes stay what they are, whatever encoding comments have.
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
