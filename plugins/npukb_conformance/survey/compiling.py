"""Compiles what a folder holds, one device file and one host side at a time, as their own projects would.

An operator project is a folder with ``op_host`` and ``op_kernel`` whose host side defines operators: its kernels get
the macros and structures that the definition implies. Every other kernel is compiled as it is launched: by name with
pointers, or directly with arguments of any type.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

from npukb_conformance.survey.causes import Beyond, beyond, cause_of, first_error
from npukb_conformance.survey.entries import Entry, entries_of
from npukb_conformance.survey.sources import Tree, reached
from npukb_conformance.survey.structures import structures_source
from npukb_conformance.survey.values import Comparing, Values, not_run
from npukb_twin.compile import driver
from npukb_twin.compile.dialect import launches
from npukb_twin.compile.templates import selected_arguments, template_of
from npukb_twin.direct.building import compile_launching
from npukb_twin.direct.source import launch_headers
from npukb_twin.operator import host_build, host_side
from npukb_twin.operator.dynamic import Tools, api_structures, other_chip
from npukb_twin.operator.host_types import HostFailure, HostResult, OperatorDescription
from npukb_twin.operator.variants import Variant, macros_of_row, prelude, types_by_name, wants_key
from npukernelbench.generate.includes import Carried, carry, carry_sources, defined_operators
from npukernelbench.nouns import Diagnostic, Severity, Track
from npukernelbench.tasks.select import fold

__all__ = ["Found", "Limits", "Surveyed", "find", "survey"]

_UNITS = (".cpp", ".cc", ".cxx", ".cce", ".asc")
#: Where a generator of sources puts a name in. A nested initialiser begins alike, and holds a number or a comma.
_BLANK = re.compile(r"\{\{\s*[A-Za-z_][^{},;]*\}\}")
_OP_FILE = re.compile(r'\b(?P<config>\w+)\s*\.[^;]*"opFile\.value"\s*,\s*"(?P<file>\w+)"')
#: How often a host side is compiled again without the sources that do not compile.
_TRIES = 3
_ALONE = "nothing says on how many blocks and with which arguments it is launched"
#: What the build says of arguments: types, and formats of those with usual names.
_ARGUMENTS = re.compile(r"\b(?:DTYPE_\w+|FORMAT_[XYWAB]\d*)\b")
_KEYS = re.compile(r"\bTILING_KEY_IS\s*\(\s*(?P<key>\w+?)[uUlL]*\s*\)")


@dataclass(frozen=True, slots=True)
class Limits:
    """How long one compilation may take, and how many combinations of types are tried."""

    timeout_s: float = 120.0
    types: int = 1


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What compiling a file or a host side came to. ``cause`` is the first missing name or header, "" where it
    compiles; ``variants`` counts the compilations; ``values`` are there where kernels were to be run.
    """

    side: str
    track: Track
    file: str
    cause: str = ""
    error: Diagnostic | None = None
    beyond: Beyond | None = None
    variants: int = 1
    seconds: float = 0.0
    values: tuple[Values, ...] = ()

    @property
    def compiles(self) -> bool:
        return not self.cause


@dataclass(frozen=True)
class Found:
    """A project: the folder that its names are relative to, its device files and, where it defines operators, its host
    sources.
    """

    tree: Tree
    root: Path
    device: tuple[Path, ...]
    defines: bool

    @cached_property
    def own(self) -> Mapping[str, Path]:
        """The project's files by their names in it."""
        folders = ("op_host", "op_kernel") if (self.root / "op_kernel").is_dir() else ()
        names = {path.relative_to(self.root).as_posix(): path for path in self.tree.below(self.root)}
        return {name: path for name, path in names.items() if not folders or name.partition("/")[0] in folders}

    @cached_property
    def host_text(self) -> str:
        """All of its host sources."""
        return "\n".join(self.tree.texts[path] for name, path in self.own.items() if name.startswith("op_host/"))


def find(tree: Tree) -> tuple[Found, ...]:
    """Every project of the folder that has a kernel, in order of its path."""
    roots: dict[Path, list[Path]] = {}
    for path, text in tree.texts.items():
        if path.suffix in _UNITS and not _BLANK.search(text) and entries_of(text):
            roots.setdefault(_root(path, text, tree.root), []).append(path)
    return tuple(_found(tree, root, paths) for root, paths in sorted(roots.items()))


def _found(tree: Tree, root: Path, paths: list[Path]) -> Found:
    host = {path.relative_to(root).as_posix(): path for path in tree.below(root / "op_host")}
    defines = any(defined_operators(tree.texts[path]) for path in host.values())
    if host and not defines:  # The project's headers may have a macro that defines operators.
        defines = any(defined_operators(text) for text in tree.closed(host, root).files.values())
    return Found(tree, root, tuple(sorted(path for path in paths if not _is_part(tree, path, paths))), defines)


def _is_part(tree: Tree, path: Path, paths: Iterable[Path]) -> bool:
    """Whether another device file of the project includes this one, and gives its templates their arguments."""
    return any(other != path and tree.includes(other, path) and not tree.includes(path, other) for other in paths)


def _root(path: Path, text: str, top: Path) -> Path:
    """Where the project of a device file begins: above ``op_kernel``, else its own folder. Where another folder of an
    operator project has a kernel that reads the tiling, it is above that.
    """
    parts = path.relative_to(top).parts
    if "op_kernel" in parts[:-1]:
        return top.joinpath(*parts[: parts.index("op_kernel")])
    above = (folder for folder in path.parents if top in folder.parents and (folder / "op_host").is_dir())
    return (next(above, None) if "GET_TILING_DATA" in text else None) or path.parent


def survey(found: Found, tools: Tools, limits: Limits, comparing: Comparing | None = None) -> Iterator[Surveyed]:
    """Compile a project: its host side, then its device files. ``comparing`` runs what can be run."""
    yield from _Project(found, tools, limits, comparing).rows()


@dataclass
class _Project:
    """One project while it is compiled."""

    found: Found
    tools: Tools
    limits: Limits
    comparing: Comparing | None = None
    descriptions: dict[str, OperatorDescription] = field(default_factory=dict)

    def rows(self) -> Iterator[Surveyed]:
        if self.found.defines:
            yield replace(self._operator_host(), values=self._operator_values())
        if (launching := self._launching_host()) is not None:
            yield launching
        alone = () if self.comparing is None or self.found.defines or launching else (not_run(_ALONE),)
        for path in self.found.device:
            yield replace(self._device(path), values=alone)

    # the host side

    def _operator_host(self) -> Surveyed:
        """The host side. Definitions that compile without the sources that do not still serve the device files."""
        started = time.monotonic()
        files = dict(self._host_files.files)
        made, error = self._host_of(files)
        # Each round may uncover errors in sources that the compiler did not reach before.
        for _ in range(_TRIES):
            broken = {
                diagnostic.file for diagnostic in made.diagnostics if diagnostic.severity is Severity.ERROR
            } & files.keys()
            units = {name for name in files if name.endswith(_UNITS) and broken & reached(files, name).keys()}
            if made.image is not None or not units:
                break
            files = {name: text for name, text in files.items() if name not in units}
            made, _ = self._host_of(files)
        if error is not None:
            self._add_structures()
        return self._row("host", Track.DYNAMIC, self.found.root, error, files.values(), started)

    def _add_structures(self) -> None:
        """Of operators whose tiling does not compile: device files need what it declares, and nothing else of it."""
        files = self._host_files.files
        for name in dict.fromkeys(defined_operators(self.found.host_text)):
            known = self.descriptions.get(name)
            source = structures_source(files.values(), name) if known is None or not known.tiling else ""
            if not source:
                continue
            with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
                made = self._host_image({"op_host/structures.cpp": source}, Path(work))
                told = made.image and host_side.describe(made.image, self.tools.host, operator=name)
            if isinstance(told, OperatorDescription):
                self.descriptions[name] = told if known is None else replace(known, tiling=told.tiling)

    def _host_of(self, files: Mapping[str, str]) -> tuple[HostResult, Diagnostic | None]:
        """Compile and ask it; the first error of either."""
        with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
            made = self._host_image(files, Path(work))
            if made.image is None:
                return made, first_error(made.diagnostics)
            return made, self._described(made.image)

    def _host_image(self, files: Mapping[str, str], work: Path) -> HostResult:
        return host_build.compile_host(
            files,
            toolchain=self.tools.toolchain,
            runtime=self.tools.host,
            work=work,
            timeout_s=self.limits.timeout_s,
        )

    def _described(self, image: Path) -> Diagnostic | None:
        """Keep what an image defines; the first error of an operator that cannot be asked."""
        error = None
        named = defined_operators(self.found.host_text)
        for name in dict.fromkeys(named) if named else ("",):  # The only one, where a macro defines it.
            told = host_side.describe(image, self.tools.host, operator=name)
            if isinstance(told, HostFailure):
                error = error or first_error(told.diagnostics)
            else:
                self.descriptions[told.name] = told
        return error

    def _operator_values(self) -> tuple[Values, ...]:
        """Of every operator that the host side defines."""
        if self.comparing is None:
            return ()
        if not self.descriptions:
            return (not_run("its host side does not compile"),)
        root, files = self.found.root, self._host_files.files
        return tuple(self.comparing.operator(root, files, told) for told in self.descriptions.values())

    @cached_property
    def _host_files(self) -> Carried:
        """The host side with what it includes, and shared sources that define what those headers declare."""
        tree, root = self.found.tree, self.found.root
        carried = carry_sources(tree.closed(self.found.own, root), (tree.root,))
        folders = tree.folders(carried.files.values(), map(Path, carried.paths.values()), root)
        return carry(carried.files, carried.paths, folders)

    def _launching_host(self) -> Surveyed | None:
        """Host functions that launch this project's kernels; None where there are none."""
        started = time.monotonic()
        own = self.found.own
        if self.found.defines:
            # What launches beside a definition is an application's, and compiled without it. An operator's build makes
            # device code alone of op_kernel: a launch there is for debugging on a CPU.
            texts = self.found.tree.texts
            own = {
                name: path
                for name, path in own.items()
                if not name.endswith(_UNITS) or (launches(texts[path]) and not name.startswith("op_kernel/"))
            }
        closed = self.found.tree.closed(own, self.found.root)
        with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
            made = compile_launching(closed.files, self.tools, Path(work), self.limits.timeout_s)
        if made is None:
            return None
        error = first_error(made.diagnostics) if made.image is None else None
        row = self._row("host", Track.LAUNCH, self.found.root, error, closed.files.values(), started)
        if self.comparing is None or self.found.defines:
            return row
        if error is not None:
            return replace(row, values=(not_run("its host side does not compile"),))
        return replace(row, values=(self.comparing.launching(self.found.root, closed.files),))

    # the device side

    def _device(self, path: Path) -> Surveyed:
        started = time.monotonic()
        name = path.relative_to(self.found.root).as_posix()
        own = {other: place for other, place in self.found.own.items() if not other.startswith("op_host/")}
        files = reached(self.found.tree.closed({**own, name: path}, self.found.root).files, name)
        files |= launch_headers(files)
        entries = entries_of(self.found.tree.texts[path])
        description = self._description(path, entries)
        direct = not self.found.defines and not all(entry.plain for entry in entries)
        track = (
            Track.DYNAMIC if self.found.defines else Track.LAUNCH if direct or "<<<" in files[name] else Track.STATIC
        )
        error, count = None, 0
        for unit in self._units(name, entries, files, description, track):
            error, count = self._compiled(unit, files), count + 1
            if error is not None:
                break
        # Nothing was compiled, which must not count as compiling.
        if error is None and count == 0:
            error = Diagnostic(
                Severity.ERROR, "survey", "a template that nothing in its file gives arguments", file=name
            )
        row = self._row("device", track, path, error, files.values(), started, count)
        return self._another_chip_s(row, path, description)

    def _units(
        self,
        name: str,
        entries: tuple[Entry, ...],
        files: Mapping[str, str],
        description: OperatorDescription | None,
        track: Track,
    ) -> Iterator[driver.Unit]:
        """The compilations of a device file: every entry, in every combination of types that is asked for."""
        text = "\n".join(files.values())
        folder = "op_kernel" if name.startswith("op_kernel/") else ""
        for entry in entries:
            template = self._template(entry, files)
            if template is None:
                continue
            for before in self._preludes(description, text):
                yield driver.Unit(
                    name,
                    entry.name,
                    [f"a{index}" for index in range(len(entry.parameters))],
                    prelude=before,
                    folder=folder,
                    template=template,
                    scope=entry.scope,
                    direct=track is Track.LAUNCH,
                )

    def _template(self, entry: Entry, files: Mapping[str, str]) -> str | None:
        """Template arguments of an entry, "" for one that is no template, None where nobody says them."""
        parameters = template_of(files, entry.name)
        if parameters is not None:
            # One combination: a survey asks whether a file compiles, not whether every variant does.
            listed = islice(selected_arguments(files, parameters, types_by_name()), 1)
            return next(listed, ", ".join(parameter.values[0] if parameter.values else "0" for parameter in parameters))
        return entry.template if entry.template or not entry.is_template else None

    def _preludes(self, description: OperatorDescription | None, text: str) -> Iterator[str]:
        """What stands in front of the kernel's text, for as many combinations of types as are asked for."""
        names = sorted(set(_ARGUMENTS.findall(text))) if self.found.defines else []
        unsaid = "".join(f"#define {name} {'half' if name[0] == 'D' else 'FORMAT_ND'}\n" for name in names)
        if description is None:
            yield unsaid
            return
        rows = max((len(entry.dtypes) for entry in (*description.inputs, *description.outputs)), default=1) or 1
        key = self._key(description, text)
        seen: dict[Variant, None] = {}
        for row in range(rows):
            # Rows of a definition that lead to the same macros are compiled once; a dictionary keeps their order.
            seen.setdefault(Variant(macros_of_row(description, row), key))
        for variant in islice(seen, self.limits.types):
            # A definition without inputs does not say the macros that the text asks for.
            types = "" if description.inputs else unsaid
            yield types + prelude(description, variant, text, api_structures())

    @staticmethod
    def _key(description: OperatorDescription, text: str) -> int | None:
        """The first tiling key that the kernel asks for, where what its text means depends on the key."""
        if not wants_key(description, text):
            return None
        for match in _KEYS.finditer(text):
            named = re.search(rf"^[ \t]*#[ \t]*define[ \t]+{match['key']}[ \t]+\(?(?P<value>\d+)", text, re.M)
            value = named["value"] if named else match["key"]
            if value.isdecimal():
                return int(value)
        return 0

    def _compiled(self, unit: driver.Unit, files: Mapping[str, str]) -> Diagnostic | None:
        """The first error, None where it compiles."""
        with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
            translated = driver.write_sources(files, unit.entry, Path(work))
            made = driver.compile_unit(
                unit,
                files,
                translated,
                toolchain=self.tools.toolchain,
                runtime=self.tools.runtime,
                work=Path(work),
                timeout_s=self.limits.timeout_s,
            )
        if made.images is not None:
            return None
        return first_error(made.diagnostics) or Diagnostic(Severity.ERROR, "compile", made.outcome.value)

    def _description(self, path: Path, entries: tuple[Entry, ...]) -> OperatorDescription | None:
        """The definition that belongs to a device file: by the names of its entries, else the only one."""
        names = {fold(name) for name in (path.stem, *(entry.name for entry in entries))}
        fitting = [told for name, told in self.descriptions.items() if fold(name) in names]
        known = fitting or list(self.descriptions.values())
        return known[0] if fitting or len(known) == 1 else None

    def _another_chip_s(self, row: Surveyed, path: Path, description: OperatorDescription | None) -> Surveyed:
        """The row, set aside where the definition leaves our chip out or has another file for it."""
        # What compiles counts, whatever chip it was written for.
        if row.compiles:
            return row
        told = description is not None and other_chip(description, self.tools.machine, {}) is not None
        configs = [match["config"] for match in _OP_FILE.finditer(self.found.host_text) if match["file"] == path.stem]
        chips = {
            chip
            for config in configs
            for chip in re.findall(rf'AddConfig\s*\(\s*"(\w+)"\s*,\s*{config}\s*\)', self.found.host_text)
        }
        # Both families have the same cores, so that a definition for either is for ours.
        family = self.tools.machine.chip.lower()[: len("ascend910b")]
        if told or (chips and not any(chip.startswith((family, "ascend910_93")) for chip in chips)):
            return replace(row, beyond=Beyond.CHIP)
        return row

    def _row(
        self,
        side: str,
        track: Track,
        place: Path,
        error: Diagnostic | None,
        texts: Iterable[str],
        started: float,
        count: int = 1,
    ) -> Surveyed:
        return Surveyed(
            side,
            track,
            self.found.tree.relative(place),
            "" if error is None else cause_of(error),
            error,
            None if error is None else beyond(error, texts),
            count,
            time.monotonic() - started,
        )
