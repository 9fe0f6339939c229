"""Which kinds of cores a kernel runs on: vector cores, cube cores, or blocks of one cube core and its vector cores.

A kernel says so itself, by ``KERNEL_TASK_TYPE(_DEFAULT)`` or by ``__cube__``, ``__vector__``, ``__mix__(1, 2)`` at its
entry. Otherwise its instructions tell, as the vendor's compiler infers it: a kernel with both kinds runs as 1:2. Source
that mentions nothing of the cube core is compiled once; everything else once per kind, and the compiled images say
which types were declared and which instructions are there.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from npukb_twin.compile.dialect import declarator, masked

__all__ = ["CUBE_ONLY", "VECTOR_ONLY", "Composition", "Images", "Kind", "entry_attribute", "mentions_cube"]


class Kind(Enum):
    """A kind of core. The value is the number that the headers know it by."""

    VECTOR = 0
    CUBE = 1


class Composition(NamedTuple):
    """The cores that one block of a launch has."""

    cubes: int
    vectors: int

    @property
    def mixed(self) -> bool:
        return self.cubes > 0 and self.vectors > 0


VECTOR_ONLY, CUBE_ONLY, MIX_1_1, MIX_1_2 = Composition(0, 1), Composition(1, 0), Composition(1, 1), Composition(1, 2)

#: Values of KernelMetaType (entry.h); those that are not here are left to inference.
_TASK_TYPES = {
    0: VECTOR_ONLY,
    1: CUBE_ONLY,
    2: VECTOR_ONLY,
    3: CUBE_ONLY,
    4: MIX_1_1,
    5: MIX_1_2,
    7: VECTOR_ONLY,
    9: VECTOR_ONLY,
}
#: Those that start cores of one kind without what flags between cores need.
_ALONE = (0, 1)
# -1, as KERNEL_TASK_TYPE_DEFAULT notes it
_DEFAULT_KEY = 2**64 - 1
_DECLARED, _ASKED = "npukb_task_type", "npukb_asked_key"

_CUBE_WORD = re.compile(
    r"\b(?:KERNEL_TYPE_(?:MIX_)?AIC\w*|KERNEL_TYPE_MIX_AICORE|__cube__|__mix__|Mmad\w*|mad|mad_sp|Fixpipe\w*"
    r"|LoadData\w*|LoadUnzipIndex|Matmul\w*|MatmulImpl|REGIST_MATMUL_OBJ\w*|BatchMatmul|Conv3D\w*|img2colv2_\w+"
    r"|load_cbuf_\w+|copy_gm_to_cbuf\w*|copy_matrix_cc_to_\w+|(?<=::)(?:A1|A2|B1|B2|C1|C2|CO1|CO2|C2PIPE2GM|TSCM)"
    r"|L0[ABC]\w*|__cbuf__|__c[abc]__|__fbuf__|ASCENDC_CUBE_ONLY|__DAV_C220_CUBE__)"
)
#: One of these stands in every text that has such a word. Looking for each is much faster than for the pattern.
_QUICK = (
    *("AIC", "ube__", "__mix__", "mad", "Mad", "ixpipe", "LoadData", "LoadUnzip", "atmul", "cbuf", "img2col", "cc_to"),
    *("L0", "CUBE", "Conv3D", "__ca__", "__cb__", "__cc__", "fbuf"),
    *("::A1", "::A2", "::B1", "::B2", "::C1", "::C2", "::CO1", "::CO2", "::TSCM"),
)
_MIX = re.compile(r"\b__mix__\s*\(\s*(\d)\s*,\s*(\d)\s*\)|\b__(cube|vector)__")

#: What the runtime calls instructions that only a cube core has, and requests to one by vector cores of its block.
#: Fixpipe as earlier chips have it is declared alone, for code that a vector core never reaches.
_CUBE_CALLS, _REQUESTS = ("npukb_cube_", "_ZN7AscendC7Fixpipe"), ("npukb_matmul_",)
#: Calls that kernels of either kind make. A kernel that makes no others has no vector instruction.
_COMMON_CALLS = re.compile(
    r"npukb_(?:raw_\w+|block_\w+|group|sub_block|scalar_global|scalar_access|flag_\w+|event_\w+|barrier|sync_all"
    r"|tiling_\w+|user_workspace|system_workspace|pipe_\w+|queue_init|buffer_init|pool_init|queue_\w+|notes\w*"
    r"|ub_base|assert|trap|print|dump|system_cycle|program_counter|cache\w*|mask_mode|mask_set"
    r"|atomic|memory_at|memory_base)\Z"
)
_MOVES = re.compile(r"npukb_copy\w*\Z|_ZN7AscendC8DataCopy")


def mentions_cube(texts: Iterable[str]) -> bool:
    """Whether any of the source ``texts`` names something of the cube core outside of comments and strings."""
    return any(any(map(text.__contains__, _QUICK)) and _CUBE_WORD.search(masked(text)) is not None for text in texts)


def entry_attribute(texts: Iterable[str], entry: str) -> Composition | None:
    """What ``__cube__``, ``__vector__`` or ``__mix__`` at the kernel's entry says."""
    for text in texts:
        match = _MIX.search(declarator(text, entry))
        if match is None:
            continue
        if match[3]:
            return CUBE_ONLY if match[3] == "cube" else VECTOR_ONLY
        return Composition(int(match[1]), int(match[2]))
    return None


@dataclass(frozen=True)
class Images:
    """A compiled kernel: one shared object per kind of core, at least one. ``attribute`` is what its entry says,
    ``flags`` whether its source names flags between cores.
    """

    vector: Path | None
    cube: Path | None = None
    attribute: Composition | None = None
    flags: bool = False

    def composition(self, key: int = 0) -> Composition:
        """The cores of a block when the launch has this tiling ``key``."""
        if self.cube is None:
            return VECTOR_ONLY
        declared = self.declared.get(key, self.declared.get(_DEFAULT_KEY))
        known = None if declared is None else _TASK_TYPES.get(declared)
        return known or self.attribute or self._inferred

    def flag_support(self, key: int = 0) -> str:
        """Whether the kernel's type for this tiling ``key`` has flags between cores: yes, no, or undeclared."""
        if not self.flags or self.attribute is not None:
            return "yes"
        declared = self.declared.get(key, self.declared.get(_DEFAULT_KEY))
        return "undeclared" if declared is None else "no" if declared in _ALONE else "yes"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The images that there are."""
        return tuple(image for image in (self.vector, self.cube) if image is not None)

    @property
    def untyped_keys(self) -> tuple[int, ...]:
        """Keys that the kernel asks for and gives no type, while others have one and there is no default.

        "Setting the kernel type" in the vendor's API reference says that such a kernel does not compile; one whose
        keys all have a type does. A kernel that asks for no key has key 0 alone.
        """
        if not self.declared or _DEFAULT_KEY in self.declared:
            return ()
        asked = {key for image in self.paths for (key,) in struct.iter_unpack("<Q", _section(image, _ASKED))}
        return tuple(sorted((asked or {0}) - self.declared.keys()))

    @property
    def compositions(self) -> frozenset[Composition]:
        """Everything that the kernel declares of itself; empty when it leaves that to its instructions."""
        known = {_TASK_TYPES[task_type] for task_type in self.declared.values() if task_type in _TASK_TYPES}
        return frozenset(known or ({self.attribute} if self.attribute else ()))

    @cached_property
    def declared(self) -> Mapping[int, int]:
        """Task types by tiling key, as the images hold them."""
        task_types: dict[int, int] = {}
        for image in self.paths:
            task_types.update(struct.iter_unpack("<QQ", _section(image, _DECLARED)))
        return task_types

    @cached_property
    def _inferred(self) -> Composition:
        if self.vector is None or self.cube is None:
            return CUBE_ONLY if self.vector is None else VECTOR_ONLY
        vector, cube = _calls(self.vector), _calls(self.cube)
        if any(name.startswith(_REQUESTS) for name in vector):
            return MIX_1_2
        if not any(name.startswith(_CUBE_CALLS) for name in cube):
            return VECTOR_ONLY
        unguarded = any(name.startswith(_CUBE_CALLS) for name in vector)
        own = [name for name in vector if not name.startswith(_CUBE_CALLS) and not _COMMON_CALLS.match(name)]
        # nothing keeps the cube's part of the source from the vector core, so moves may belong to it
        if unguarded:
            own = [name for name in own if not _MOVES.match(name)]
        return MIX_1_2 if own else CUBE_ONLY


def _section(image: Path, name: str) -> bytes:
    from elftools.elf.elffile import ELFFile

    with image.open("rb") as stream:
        return b"".join(section.data() for section in ELFFile(stream).iter_sections() if section.name == name)


def _calls(image: Path) -> frozenset[str]:
    """Functions of the runtime that the image calls."""
    from elftools.elf.elffile import ELFFile
    from elftools.elf.sections import SymbolTableSection

    with image.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".dynsym")
        if not isinstance(symbols, SymbolTableSection):
            return frozenset()
        undefined = (
            iter_symbol.name for iter_symbol in symbols.iter_symbols() if iter_symbol["st_shndx"] == "SHN_UNDEF"
        )
        return frozenset(name for name in undefined if name.startswith(("npukb_", "_ZN7AscendC", "_ZNK7AscendC")))
