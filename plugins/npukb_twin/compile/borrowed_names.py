"""Names that are given to the kernels that mention them, and to no other.

Kernels define helpers such as ``CeilDiv`` themselves, so a name that is always there would be ambiguous. These lie in
headers of their own, outside of what is precompiled; a kernel that uses one and defines none of that name gets it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from npukb_twin.compile.dialect import SOURCE_SUFFIXES, masked

__all__ = ["BORROWED", "borrowed", "lent"]

_HEADER, _ROOM = "twin/undocumented.h", "npukb_undocumented"
#: By the namespace they become part of; "" is the global one.
_NAMES: Mapping[str, tuple[str, ...]] = {
    "AscendC": (
        *("Ceil", "CeilDiv", "CeilAlign", "Align", "DEFAULT_C0_SIZE"),
        *("TOTAL_UB_SIZE", "TOTAL_L1_SIZE", "TOTAL_L0A_SIZE", "TOTAL_L0B_SIZE", "TOTAL_L0C_SIZE"),
        *("F32_INF", "F32_NEG_INF", "SetSyncBaseAddr", "WaitEvent", "GetffstMsg", "FixpipeParams"),
        *("FULL_MASK", "DEFAULT_DATA_COPY_NBURST", "DEFAULT_DATA_COPY_STRIDE", "NotifyEvent"),
        *("SYNC_AIC_FLAG", "SYNC_AIV_FLAG", "SYNC_AIC_AIV_FLAG", "SYNC_AIV_ONLY_ALL"),
        *(
            "B32_BYTE_SIZE",
            "B32_DATA_NUM_PER_BLOCK",
            "B32_DATA_NUM_PER_REPEAT",
            "HALF_FACTOR",
            "TrueType",
            "FalseType",
            "GetScalarBitcodeValue",
        ),
    ),
    "": (
        *("set_ffts_base_addr", "wait_flag_dev", "ffts_cross_core_sync", "clz", "icache_preload"),
        *("PRELOAD", "set_padding", "block_num"),
        *("fp8_e4m3fn_t", "fp8_e5m2_t", "fp8_e8m0_t", "hifloat8_t", "fp4x2_e2m1_t", "fp4x2_e1m2_t", "int4x2_t"),
    ),
}
#: Macros: what stands behind the name in its definition.
_MACROS: Mapping[str, str] = {
    "ASSERT_MSG": "(condition, ...) ascendc_assert(condition, __VA_ARGS__)",
    "__bf16": " bfloat16_t",
    "ENABLE_DETERMINISTIC": "() ((void)0)",
    # Checks and messages of debugging on a CPU: nothing on a device.
    "ASCENDC_ASSERT": "(...) ((void)0)",
    "KERNEL_LOG": "(...) ((void)0)",
}
#: Names that kernels also give to what is theirs: they are given only where the compiler misses one.
_IF_MISSED = frozenset({"Align", "block_num"})
#: All of them.
BORROWED = frozenset(name for names in _NAMES.values() for name in names) | _MACROS.keys()
_MENTIONED = re.compile(rf"\b(?:{'|'.join(sorted(BORROWED))})\b")
_UNMET = re.compile(r"(?:no matching function for call to|use of undeclared identifier) '(\w+)'")
#: Traits of the standard library, which kernels that ran on devices name without ``std``.
_TRAIT = re.compile(r"no template named '(is_\w+|conditional(?:_t)?|enable_if(?:_t)?)'")
_UNSEEN = re.compile(r"(?:use of undeclared identifier|unknown type name|no template named) '\w+'")
_IN_MATMUL = re.compile(r"\busing\s+namespace\s+matmul\b")
#: Matrix kernels that ran on devices name AscendC's functions and types after ``using namespace matmul`` alone.
_SEES_ALL = "namespace matmul { using namespace AscendC; }\n"
#: A definition: a type, an alias, a macro, a variable, or a function with its body.
_DEFINED = (
    r"(?:\b(?:struct|class|enum|union)\s+(?:class\s+)?|\busing\s+|#[ \t]*define[ \t]+)NAME\b(?!\s*;)",
    r"\btypedef\b[^;{}]*\bNAME\s*;",
    r"[\w>&*]\s+[&*]?NAME\s*(?:=|\{)",
    r"[\w>&*]\s+[&*]?NAME\s*\((?:[^()]|\([^()]*\)){0,400}\)\s*(?:const\s*)?(?:noexcept\s*)?(?:->[^{};]{1,80})?\{",
)


def borrowed(files: Mapping[str, str]) -> str:
    """What stands in front of a kernel for the names that its ``files`` mention; empty when they need none."""
    texts = [text for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)]
    # looking for words first is much cheaper than masking a text
    if not any(name in text for text in texts for name in (*BORROWED, "matmul::InitOutput")):
        return ""
    codes = [masked(text) for text in texts]
    return "".join(_lines(codes))


def lent(output: str, files: Mapping[str, str]) -> str:
    """The same after a compiler's ``output``, with the functions that it found to fit no call, or to be out of sight: a
    kernel may define one of that name for other types, or in another scope, or name AscendC's through ``matmul``. Empty
    where that would change nothing.
    """
    missing = {match[1] for match in _UNMET.finditer(output)} & BORROWED
    codes = [masked(text) for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)]
    lines = "".join(_lines(codes, missing)) if missing else borrowed(files)
    if _UNSEEN.search(output) and any(_IN_MATMUL.search(code) for code in codes):
        lines += _SEES_ALL
    lines += "".join(f"namespace AscendC {{ using std::{name}; }}\n" for name in sorted(set(_TRAIT.findall(output))))
    return "" if lines == borrowed(files) else lines


def _lines(codes: list[str], missing: Collection[str] = ()) -> Iterator[str]:
    wanted = {name for code in codes for name in _MENTIONED.findall(code)}
    given = {name for name in wanted if name in missing or (name not in _IF_MISSED and _asks(name, codes))}
    yield from (f"#define {name}{_MACROS[name]}\n" for name in sorted(given & _MACROS.keys()))
    if given - _MACROS.keys():
        yield f"#include <{_HEADER}>\n"
    for namespace, names in _NAMES.items():
        uses = "".join(f" using {_ROOM}::{name};" for name in names if name in given)
        if uses:
            yield f"namespace {namespace} {{{uses} }}\n" if namespace else f"{uses.strip()}\n"
    # these are global names, which some kernels write with AscendC:: all the same
    types = [name for name in _NAMES[""] if name in given and any(f"AscendC::{name}" in code for code in codes)]
    if types:
        yield f"namespace AscendC {{{''.join(f' using {_ROOM}::{name};' for name in types)} }}\n"
    if any("matmul::InitOutput" in code for code in codes):
        yield "namespace matmul { using AscendC::InitOutput; }\n"


def _asks(name: str, codes: Iterable[str]) -> bool:
    """Whether a kernel means a name that it does not define. With ``AscendC::`` it does in any case."""
    if any(f"AscendC::{name}" in code for code in codes):
        return True
    return not any(re.search(pattern.replace("NAME", name), code) for code in codes for pattern in _DEFINED)
