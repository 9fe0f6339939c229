"""A static kernel out of a dynamic operator: what its tiling function says about one case becomes constants.

The result is ordinary Ascend C for the static track: the device code with its own headers put in place, the tiling data
as a constant, the tiling key as a number, and an entry without the tiling argument. The static track starts every core;
those that the tiling function does not ask for end at once.
"""

from __future__ import annotations

import re
import struct
import tempfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import TYPE_CHECKING

from npukb_twin.compile import build, toolchain
from npukb_twin.compile.dialect import find_entry
from npukb_twin.compile.kinds import CUBE_ONLY, VECTOR_ONLY
from npukb_twin.operator import dynamic, host_build
from npukb_twin.operator.host_types import TilingStruct
from npukb_twin.operator.variants import default_structure, prelude, variant_of
from npukb_twin.timing import machine
from npukernelbench.config import default_cache_dir
from npukernelbench.judge.scratch import Scratch
from npukernelbench.nouns import Artifact, Case, Core, RunRequest, Task, TensorCase
from npukernelbench.nouns.machine import DEFAULT_MACHINE
from npukernelbench.tasks.making import digest_of

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["Deriver"]

_CODES = {
    "bool": "?",
    "int8_t": "b",
    "uint8_t": "B",
    "int16_t": "h",
    "uint16_t": "H",
    "int32_t": "i",
    "int": "i",
    "uint32_t": "I",
    "int64_t": "q",
    "uint64_t": "Q",
    "float": "f",
    "double": "d",
}
_TIMEOUT_S = 120.0
_WORD = re.compile(r"\w+")
_MACRO = re.compile(r"#define (?P<name>\w+) [^\\\n]*\Z")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"(?P<path>[^"\n]+)"[^\n]*$', re.MULTILINE)
#: What makes blocks wait for each other. Flags of modes 1 and 2 stay inside one block.
_MEETING = re.compile(r"\b(?:SyncAll|IBSet|IBWait|CrossCoreSetFlag(?!\s*<\s*(?:0x)?[12]\b))\b")

#: A block of a launch of one does not wait for those that the static track starts besides.
_ALONE = (
    "namespace AscendC {\ntemplate <bool isAIVOnly = true, typename... Operands>",
    "__aicore__ inline void TiledSyncAll(const Operands&...) {}\n}",
    "using AscendC::TiledSyncAll;",
    "#define SyncAll TiledSyncAll",
)


@dataclass
class Deriver:
    """Derives kernels for the machine ``soc``: what a tiling function says depends on it. Host sides are compiled once
    per operator; ``close`` removes them.
    """

    soc: str = DEFAULT_MACHINE.soc
    _built: dict[str, dynamic.Built | str] = field(default_factory=dict)
    _work: Scratch | None = None
    _tools: dynamic.Tools | None = None
    _lock: Lock = field(default_factory=Lock)

    def source(self, task: Task, case: Case, files: Mapping[str, str]) -> tuple[str, str]:
        """The kernel's text and "", or "" and why there is none."""
        with self._lock:
            built = self._open(task, files)
            if isinstance(built, str):
                return "", built
            assert self._tools is not None
            if any(
                argument.value_depend and not _told(case.inputs[spec.name]) for argument, spec in built.bound.inputs
            ):
                return "", "its tiling function needs the values of inputs, which are drawn anew for every run"
            request = RunRequest(task, case, Artifact("", built.folder), _shaped(case), 0, _TIMEOUT_S)
            tiled = dynamic.tile_case(built, request, self._tools)
            if isinstance(tiled, dynamic.Failed):
                return "", "; ".join(diagnostic.message for diagnostic in tiled.diagnostics)
            return _text(built, task, case, tiled, self._tools)

    def close(self) -> None:
        """Remove what was compiled."""
        with self._lock:
            self._built.clear()
            if self._tools is not None:
                self._tools.host.sandbox.close()
                self._tools = None
            if self._work is not None:
                self._work.close()
                self._work = None

    def _open(self, task: Task, files: Mapping[str, str]) -> dynamic.Built | str:
        # One task may have several operators: a golden one, and slow ones.
        key = f"{task.content_hash}/{digest_of(files)}"
        known = self._built.get(key)
        if known is None:
            if self._tools is None:
                chosen, cache = toolchain.find(), default_cache_dir()
                host = host_build.confined_host(chosen, cache)
                self._tools = dynamic.Tools(chosen, build.ensure(chosen, cache), host, machine.load(self.soc))
            if self._work is None:
                self._work = Scratch("derive")
            work = Path(tempfile.mkdtemp(dir=self._work.path))
            opened = dynamic.open_operator(files, task, self._tools, work, _TIMEOUT_S)
            known = (
                "; ".join(diagnostic.message for diagnostic in opened.diagnostics)
                if isinstance(opened, dynamic.Failed)
                else opened
            )
            self._built[key] = known
        return known


def _told(item: TensorCase | tuple[TensorCase, ...] | None) -> bool:
    """Whether the case itself says the values. It does of an absent tensor."""
    return item is None or (isinstance(item, TensorCase) and item.values.kind in ("literal", "constant"))


def _shaped(case: Case) -> dict[str, Argument]:
    """Arrays of the case's shapes and types. Values that the case leaves to chance are looked at by nobody."""
    import numpy as np

    from npukernelbench.tasks.inputs import draw

    def empty(item: TensorCase) -> Array:
        return draw(item, 0) if _told(item) else np.empty(item.tensor.shape, item.tensor.dtype.numpy())

    return {
        name: None if value is None else [empty(item) for item in value] if isinstance(value, tuple) else empty(value)
        for name, value in case.inputs.items()
    }


def _text(built: dynamic.Built, task: Task, case: Case, tiled: dynamic.Tiled, tools: dynamic.Tools) -> tuple[str, str]:
    answer, bound = tiled.answer, built.bound
    device = _inlined(built.source, built.device_files, set())
    cores = tools.machine.blocks(VECTOR_ONLY if task.core is Core.VECTOR else CUBE_ONLY)
    meetings = set(_MEETING.findall(device))
    if answer.block_dim == 1:
        meetings.discard("SyncAll")  # nobody to wait for
    if answer.block_dim > cores or (answer.block_dim < cores and meetings):
        return "", f"it wants {answer.block_dim} blocks that wait for each other; the static track has {cores}"
    # a tiling function may add the system's part, which no static kernel has
    wanted = sum(answer.workspace_bytes)
    if wanted >= dynamic.SYSTEM_WORKSPACE_BYTES:
        wanted -= dynamic.SYSTEM_WORKSPACE_BYTES
    if wanted > task.workspace_bytes:
        return "", f"it wants {wanted} bytes of workspace; the static track has {task.workspace_bytes}"
    variant = variant_of(bound, case, tiled.row, answer.tiling_key if built.per_key else None)
    structure = default_structure(built.description, variant.key)
    if structure is None:
        return "", "its tiling data is no structure that is known by name"
    entry, span = task.kernel, find_entry(device, task.kernel)
    if span is None:
        return "", "its entry is not a plain declaration"
    start = re.search(r'(?:extern\s+"C"\s+)?__global__\s*(?:[^;{}]*)\Z', device[: span[0]])
    assert start is not None
    inner = device[: start.start()] + f"__aicore__ inline void {entry}_tiled" + device[span[1] :]
    value = _initial(
        structure, answer.data, {**structure.nested, **{s.name: s for s in built.description.tiling.values()}}
    )
    lines = [
        '#include "kernel_operator.h"',
        f"// Task {task.operator}, case {case.id}: the operator for all cases, tiled for this one.",
        _mentioned(prelude(built.description, variant, device, dynamic.api_structures()), device).rstrip(),
        f"constexpr {structure.name} TILED_CASE = {value};",
        "#undef GET_TILING_DATA",
        f"#define GET_TILING_DATA(name, tiling) const {structure.name} name = TILED_CASE",
        "#undef TILING_KEY_IS",
        f"#define TILING_KEY_IS(key) ((key) == {answer.tiling_key})",
        f"namespace AscendC {{\n__aicore__ inline int64_t TiledBlockNum() {{ return {answer.block_dim}; }}\n}}",
        "using AscendC::TiledBlockNum;",
        "#define GetBlockNum TiledBlockNum",
        *(_ALONE if answer.block_dim == 1 else ()),
        inner.rstrip(),
        f'extern "C" __global__ __aicore__ void {entry}({", ".join(f"GM_ADDR {name}" for name in task.arguments)}) {{',
        f"    if (get_block_idx() < {answer.block_dim}) {{",
        f"        {entry}_tiled({', '.join(_passed(built))}, nullptr);",
        "    }\n}",
    ]
    return "\n".join(lines) + "\n", ""


def _mentioned(prelude: str, device: str) -> str:
    """The prelude without macros that neither the kernel nor the rest of it mentions: a reader need not pass them."""
    if "##" in device:
        return prelude  # it may put their names together
    lines = prelude.splitlines()
    # again, as a macro may have been used by none but one that was left out
    while True:
        used = Counter(_WORD.findall("\n".join(lines))) + Counter(_WORD.findall(device))
        kept = [line for line in lines if not ((macro := _MACRO.match(line)) and used[macro["name"]] == 1)]
        if kept == lines:
            return "\n".join(lines)
        lines = kept


def _passed(built: dynamic.Built) -> list[str]:
    """What of the static entry's arguments stands for each of the operator's, but for the tiling."""
    names = [spec.name for _, spec in built.bound.inputs] + [spec.name for _, spec in built.bound.outputs]
    if built.bound.shapes_come_late:
        names.append(built.bound.late.name if built.bound.late else "workspace")
    return [*names, "workspace"]


def _inlined(name: str, files: Mapping[str, str], done: set[str]) -> str:
    """A file's text with the candidate's own headers in place, each once, and the toolkit's left out."""
    done.add(name)

    def replace(include: re.Match[str]) -> str:
        for folder in (PurePosixPath(name).parent, PurePosixPath("op_kernel")):
            path = _normal(folder / include["path"])
            if path in files:
                return "" if path in done else _inlined(path, files, done)
        return "" if include["path"] == "kernel_operator.h" else include.group()

    # all files become one, in which the compiler would warn of it
    return _INCLUDE.sub(replace, files[name].replace("#pragma once", ""))


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def _initial(structure: TilingStruct, data: bytes, known: Mapping[str, TilingStruct]) -> str:
    """The C++ initialiser of a tiling structure that holds ``data``."""
    padded = data.ljust(structure.bytes, b"\0")
    values = []
    for member in structure.fields:
        count = max(member.count, 1)
        if member.struct:
            inner = known[member.struct]
            items = [
                _initial(inner, padded[member.offset + at * inner.bytes :][: inner.bytes], known) for at in range(count)
            ]
        else:
            # without alignment: offsets are the structure's own
            code = "<" + _CODES[member.ctype]
            size = struct.calcsize(code)
            items = [_literal(struct.unpack_from(code, padded, member.offset + at * size)[0]) for at in range(count)]
        values.append("{" + ", ".join(items) + "}" if member.count else items[0])
    return "{" + ", ".join(values) + "}"


def _literal(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    # the least number has no literal in C++, where the minus sign is an operator
    if isinstance(value, int):
        return (
            f"{value}ull" if value >= 1 << 63 else "(-9223372036854775807ll - 1)" if value == -(1 << 63) else str(value)
        )
    if value != value:  # not a number
        return '__builtin_nanf("")'
    if value in (float("inf"), float("-inf")):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    return repr(value)
