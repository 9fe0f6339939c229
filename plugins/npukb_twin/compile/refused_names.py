"""Names that no device code needs and that would lead around the twin's own checks.

A kernel's loads, stores and calls are watched by code that its compiler adds (``runtime/check/raw_access.h``).
Attributes that leave this out, builtin functions that become instructions of the host's processor, and address spaces
of the host are of no use on an AI core. They are poisoned in front of the kernel's text, which no macro, pasted name or
pragma gets around: the compiler refuses the name wherever it comes from.
"""

from __future__ import annotations

import mmap
import re
from functools import cache
from pathlib import Path

from npukb_twin.compile.toolchain import ARM, REFERENCE, Toolchain

__all__ = ["forbids_instructions", "is_forbidden_name", "prelude_text"]


def _words(*lines: str) -> tuple[str, ...]:
    return tuple(word for line in lines for word in line.split())


#: Attributes; each has a second spelling between underscores.
_ATTRIBUTES = _words(
    "no_sanitize no_sanitize_address no_sanitize_thread no_sanitize_memory no_sanitize_undefined",
    "no_address_safety_analysis disable_sanitizer_instrumentation no_profile_instrument_function",
    "no_instrument_function no_split_stack naked ifunc address_space nocf_check indirect_branch function_return",
    "target_clones target_version cpu_dispatch cpu_specific no_stack_protector indirect_return",
)
#: Other spellings, and attributes whose plain name may well be a variable's; a word in the header that is read once.
_WORDS = ("__target__", "__section__", "__seg_fs", "__seg_gs", "npukb_read_once")
#: Builtin functions of every processor: jumps, frames, and writes that the compiler does not announce.
_BUILTINS = _words(
    "setjmp longjmp eh_return eh_return_data_regno unwind_init dwarf_cfa dwarf_sp_column init_dwarf_reg_size_table",
    "frob_return_addr extract_return_addr return_address frame_address thread_pointer set_thread_pointer",
    "va_start va_copy va_end ms_va_start ms_va_copy ms_va_end stdarg_start apply apply_args return",
    "call_with_static_chain os_log_format readcyclecounter readsteadycounter cpu_init cpu_is cpu_supports",
)
#: Families of builtin functions that are instructions of one processor.
_FAMILIES = {REFERENCE: ("ia32",), ARM: ("arm", "neon", "sve", "sme")}
#: Lists of arguments are written to by the processor's own convention: first as memory that the compiler announces.
_FIRST = {REFERENCE: "&(list)[0]"}
_LISTS = """#include <stdarg.h>
#undef va_start
#undef va_copy
#define NPUKB_LIST(list) auto* npukb_list = {first}
#define NPUKB_LISTED {listed}
#define NPUKB_ANNOUNCE __builtin_memset(npukb_list, 0, sizeof *npukb_list)
#define va_start(list, last) ({ NPUKB_LIST(list); NPUKB_ANNOUNCE; __builtin_va_start(NPUKB_LISTED, last); })
#define va_copy(list, from) ({ NPUKB_LIST(list); NPUKB_ANNOUNCE; __builtin_va_copy(NPUKB_LISTED, from); })
"""
_POISONED = re.compile(r"attempt to use (?:a )?poisoned (?:identifier )?")


def prelude_text(toolchain: Toolchain) -> str:
    """A header that includes the API and poisons names. The processor's builtin functions are read out of the
    compiler.
    """
    words = [*_WORDS, *(f"__builtin_{name}" for name in _BUILTINS)]
    words += [name for attribute in _ATTRIBUTES for name in (attribute, f"__{attribute}__")]
    words += _instructions(Path(toolchain.compile[0]), toolchain.processor)
    lines = (" ".join(words[at : at + 50]) for at in range(0, len(words), 50))
    # va_list is an array of one element on x86-64, and a structure on aarch64
    first = _FIRST.get(toolchain.processor)
    lists = _LISTS.replace("{first}", first or "&(list)").replace("{listed}", "npukb_list" if first else "*npukb_list")
    return (
        "#pragma once\n#include <kernel_operator.h>\n"
        + lists
        + "".join(f"#pragma GCC poison {line}\n" for line in lines)
    )


def forbids_instructions(toolchain: Toolchain) -> bool:
    """Whether builtin functions that are instructions of this machine's processor were found, and are forbidden."""
    return bool(_instructions(Path(toolchain.compile[0]), toolchain.processor))


def is_forbidden_name(message: str) -> bool:
    """Whether a compiler's message says that the source uses one of these names."""
    return _POISONED.search(message) is not None


@cache
def _instructions(program: Path, processor: str) -> list[str]:
    """Builtin functions of the processor in the compiler ``program``; none when it is unreadable."""
    families = _FAMILIES.get(processor, ())
    if not families:
        return []
    # the compiler holds the names as C strings, each behind the end of another
    pattern = re.compile(rb"\0(__builtin_(?:" + "|".join(families).encode() + rb")_\w+)(?=\0)")
    try:
        with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as image:
            return sorted({match[1].decode() for match in pattern.finditer(image)})
    except OSError:
        return []
