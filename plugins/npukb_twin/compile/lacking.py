"""A compiled kernel beside the column of a chip: calls of functions that the chip lacks, and of other chips' types.

The toolkit of such a chip does not compile them, and neither does the twin. What a function leaves in the image is a
call of the runtime, or of its own name. Instructions have calls in common; the runtime refuses those where they run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from npukb_twin.compile.columns import CHECKED_BY_RUNTIME, Column
from npukb_twin.compile.dialect import masked
from npukb_twin.compile.driver import Compiled
from npukb_twin.compile.elf import UNDEFINED, Elf
from npukb_twin.compile.imports import readable
from npukb_twin.compile.instructions import instructions, type_name
from npukb_twin.compile.messages import GAP
from npukernelbench.nouns import Diagnostic, Outcome, Severity

__all__ = ["CALLS", "checked", "host_side_refused", "refused_somewhere"]

#: Calls of the runtime that only these functions make, and whatever else does the same.
CALLS: Mapping[str, tuple[str, ...]] = {
    "DataCopyPad": ("npukb_copy_pad_in", "npukb_copy_pad_out", "npukb_copy_raw_align"),
    "SetPadValue": ("npukb_pad_value",),
    "Gatherb": ("npukb_gather_blocks",),
    "SetL2CacheHint": ("npukb_l2_hint",),
    "Sort32": ("npukb_sort32", "npukb_vbitsort"),
    "CrossCoreSetFlag": ("npukb_core_flag_set",),
    "CrossCoreWaitFlag": ("npukb_core_flag_wait",),
    "SyncAll": ("npukb_sync_all",),
    "GetSubBlockIdx": ("npukb_sub_block",),
    "GetSubBlockNum": ("npukb_sub_block",),
    "GetSystemCycle": ("npukb_system_cycle",),
    "SetSaturationFlag": ("npukb_saturation",),
    "GetSaturationFlag": ("npukb_saturation",),
    "GroupNorm": ("npukb_group_norm",),
    "TransData": ("npukb_trans_data",),
    "ReduceAll": ("npukb_library_reduce",),
    "ReduceAny": ("npukb_library_reduce",),
    "ReduceMean": ("npukb_library_reduce",),
    "ReduceProd": ("npukb_library_reduce",),
    "GatherMask": ("npukb_gather_mask",),
    "Sort": ("npukb_sort",),
    "Concat": ("npukb_sort_concat",),
    "Extract": ("npukb_sort_extract",),
    "MrgSort": ("npukb_merge_sort", "npukb_vmrgsort4"),
    "TopK": ("npukb_topk",),
}
_REMEDY = "Use what the chip has; docs/chips.md lists what it lacks."
_GAP_REMEDY = "Judge the kernel for another machine; docs/chips.md says what is modelled."


def checked(compiled: Compiled, column: Column, files: Mapping[str, str]) -> Compiled:
    """``compiled`` if the chip has what its images call; else a compile error, or a gap of the twin."""
    if compiled.images is None:
        return compiled
    cubes = compiled.images.composition().cubes
    # the image of the cube cores does not run otherwise
    images = compiled.images.paths if cubes else compiled.images.paths[:1]
    calls = {name for path in images for name in _calls(path)}
    lacked = (*_types(column, calls, files), *_functions(column.file.lacks, column.lacked, calls, files))
    if lacked:
        return Compiled(Outcome.COMPILE_ERROR, None, lacked)
    gaps = tuple(
        replace(gap, rule=GAP, remedy=_GAP_REMEDY)
        for gap in _functions(column.file.otherwise, column.differs, calls, files)
    )
    if cubes and "cube" not in column.file.sides:
        gaps += (_gap(f"the twin does not model the cube unit of {column.title}"),)
    if gaps:
        return Compiled(Outcome.INFRA_ERROR, None, gaps)
    return replace(compiled, diagnostics=(*compiled.diagnostics, *_named(column, files)))


def host_side_refused(column: Column) -> Diagnostic:
    """What is said of kernels with a host side."""
    return _gap(f"of {column.title} the twin models kernels of track static only: it has no host side for the chip")


def _gap(message: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, GAP, message, remedy=_GAP_REMEDY)


def _calls(image: Path) -> Iterator[str]:
    return (symbol.name for symbol in Elf(image).symbols(".dynsym") if symbol.section == UNDEFINED and symbol.name)


def _types(column: Column, calls: set[str], files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Element types that stand in the mangled name of a call."""
    names = [type_name(bits) for bits in column.file.no_types]
    # mangled names have the length of a name in front of it
    found = [name for name in names if any(f"{len(name)}{name}" in call for call in calls)]
    return tuple(_lacked(f"{name}: {column.title} has no such element type", name, files) for name in found)


def _functions(
    names: Mapping[str, str], said_of: Callable[[str], str], calls: set[str], files: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """One diagnostic per function that is called. Of those that share a call, the ones that the source mentions."""
    readables = {readable(call) for call in calls}
    called = [name for name in names if f"AscendC::{name}" in readables or not calls.isdisjoint(CALLS.get(name, ()))]
    mentioned = [name for name in called if _place(name, files)[1]]
    said = [name for name in called if name in mentioned or not _shares(name, mentioned)]
    return tuple(_lacked(said_of(name), name, files) for name in dict.fromkeys(said))


def _shares(name: str, others: list[str]) -> bool:
    return any(not set(CALLS.get(name, ())).isdisjoint(CALLS.get(other, ())) for other in others)


def _lacked(message: str, name: str, files: Mapping[str, str]) -> Diagnostic:
    file, line = _place(name, files)
    return Diagnostic(Severity.ERROR, "chip_lacks", message, file=file, line=line, remedy=_REMEDY)


def _named(column: Column, files: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Warnings of names in the source that this run may not refuse: instructions that do not run, and functions that
    leave no call. Of those that leave one, what is not compiled here is not compiled on the device either.
    """
    for name in (name for name in column.file.lacks if name not in CALLS):
        file, line = _place(name, files, call=True)
        if line:
            message = (
                f"the source names {name}, which {column.title} does not have; where it does not run, or is not "
                "checked, it is not refused"
            )
            yield Diagnostic(Severity.WARNING, "chip_lacks_named", message, file=file, line=line, remedy=_REMEDY)


def _place(name: str, files: Mapping[str, str], *, call: bool = False) -> tuple[str, int]:
    # a member of an object may be called so without being the API's
    word = re.compile(rf"(?<![.>])\b{name}\s*[<(]" if call else rf"\b{name}\b")
    for file, text in files.items():
        if name in text and (match := word.search(masked(text))):
            return file, text.count("\n", 0, match.start()) + 1
    return "", 0


def refused_somewhere(name: str) -> bool:
    """Whether a function that a column names is refused, by the runtime or by its call."""
    return name in CALLS or name in CHECKED_BY_RUNTIME or any(row.name == name for row in instructions())
