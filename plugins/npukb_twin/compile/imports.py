"""What a compiled kernel calls outside itself, and what it pretends to be.

Nothing but the API and a few functions that compilers call exists on the device: there is no C library, so a kernel
that calls ``write`` or ``fork`` does not link there, and does not here. Nor does any kernel define a function of the
twin's runtime, or put data where code belongs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from functools import cache, lru_cache
from pathlib import Path
from struct import Struct

from npukb_twin.compile import elf
from npukb_twin.compile.dialect import masked
from npukb_twin.compile.elf import Elf
from npukb_twin.compile.messages import foreign_type
from npukb_twin.compile.toolchain import Toolchain
from npukernelbench.nouns import Diagnostic, Severity

__all__ = [
    "FUNCTIONS",
    "computes_jumps",
    "doubts",
    "foreign",
    "foreign_calls",
    "forgeries",
    "no_function",
    "oversized",
    "readable",
    "wrapped",
]

#: Functions that follow pointers: kernels get the runtime's, which look at the pointer
#: (runtime/check/raw_access.cpp).
_WRAPPED = ("memcmp", "memcpy", "memmove", "memset")
#: What compilers call, and what the linker brings.
_COMPILER = frozenset({"__cxa_atexit", "__cxa_finalize", "__gmon_start__", "__tls_get_addr", "__asan_handle_no_return"})
#: Of ``<cmath>``; the rest is the host's. Device code calls functions of device code only, and no page names more for
#: this chip. Kernels that were verified on a device use the square root alone.
_MATH = ("copysign", "fabs", "fmax", "fmin", "sqrt")
_FUNDAMENTAL = _COMPILER.union(_MATH, (f"{name}f" for name in _MATH), ("abs", "labs", "llabs"))
_WEAK = ("_ITM_", "__gcc_personality", "__gxx_personality")
#: What the runtime exports to kernels begins so; the C library's start code does not.
_OFFERED = (
    "npukb_",
    "_Z",
    "__asan_",
    "__ubsan_",
    "__sanitizer_cov_",
    "__wrap_",
    "__safestack_",
    "__x86_indirect_",
    "__aarch64_indirect_",
)
#: The remedy for a function that the device has not.
FUNCTIONS = "Use the functions of kernel_operator.h."
_LAUNCH = "npukb_launch"
#: Operators of dynamic memory, by their codes in mangled names.
_OPERATORS = {"nw": "operator new", "na": "operator new[]", "dl": "operator delete", "da": "operator delete[]"}
#: Bytes that begin every x86-64 jump or call whose target is in a register or in memory: opcode FF with /2 or /4.
_COMPUTED = re.compile(rb"\xff[\x10-\x17\x20-\x27\x50-\x57\x60-\x67\x90-\x97\xa0-\xa7\xd0-\xd7\xe0-\xe7]")
#: Instructions of aarch64, and those that jump to or call the address in a register.
_WORD, _JUMP_MASK, _JUMP = Struct("<I"), 0xFFDFFC1F, 0xD61F0000
#: Where the linker puts code.
_CODE_SECTIONS = frozenset({".text", ".plt", ".plt.got", ".plt.sec", ".init", ".fini", ".iplt"})
#: Tables of constants that an algorithm needs are smaller.
_TABLE_BYTES = 4096
#: Of code and data: see :func:`oversized`.
_LARGEST_IMAGE = 4 << 20


def wrapped(toolchain: Toolchain) -> tuple[str, ...]:
    """Linker options that turn calls of such functions into calls of the runtime's."""
    prefix = "" if toolchain.links_directly else "-Wl,"
    return tuple(f"{prefix}--wrap={name}" for name in _WRAPPED)


def computes_jumps(unit: Elf) -> bool:
    """Whether compiled code may jump to computed addresses, other than to return. Looks at every byte, not only where
    instructions begin, so it sometimes says yes without need. It takes care not to say no when there is such a jump:
    the code would be refused before it runs.
    """
    if unit.machine == elf.AARCH64:
        sections = (unit.contents(section) for section in unit.sections if section.flags & elf.EXECUTABLE)
        # iter_unpack takes whole words only
        words = (word for code in sections for (word,) in _WORD.iter_unpack(code[: len(code) // 4 * 4]))
        return any(word & _JUMP_MASK == _JUMP for word in words)
    code = (unit.contents(section) for section in unit.sections if section.flags & elf.EXECUTABLE)
    return any(not _inside_another(text, hit.start()) for text in code for hit in _COMPUTED.finditer(text))


def _inside_another(code: bytes, at: int) -> bool:
    """Whether the byte is the last of a variable's place below a register, farther than one byte can say, or the first
    of a conditional jump's distance. Most kernels of half precision have such bytes.
    """
    if at < 4:
        return False
    if code[at - 2] == 0x0F and code[at - 1] & 0xF0 == 0x80:
        return True
    place = int.from_bytes(code[at - 3 : at + 1], "little", signed=True)
    far_below = code[at - 4] & 0xC0 == 0x80 and code[at - 4] & 0x07 != 4
    return far_below and -(1 << 16) <= place < -(1 << 7)


def foreign(image: Elf, host: Path) -> tuple[str, ...]:
    """Names that ``image`` needs and neither the API in ``host`` nor the compiler provides."""
    # Sorted, so that messages come in the same order each time.
    return tuple(sorted(name for name in _symbols(image, defined=False) - _known(host) if not name.startswith(_WEAK)))


def foreign_calls(names: tuple[str, ...], files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A compile error per name, at the first line of the candidate that mentions it."""
    return tuple(_foreign_call(name, *_place(name, files)) for name in names)


def _foreign_call(name: str, file: str, line: int) -> Diagnostic:
    kind, name = foreign_type(name), readable(name)
    if kind:
        message = f"{kind} is an element type of other chips: there is no {name} for it"
    elif name.startswith("operator "):
        message = f"{name}: there is no dynamic memory on the device"
    else:
        message = no_function(name)
    return Diagnostic(Severity.ERROR, "host_call", message, file=file, line=line, remedy=FUNCTIONS)


def no_function(name: str) -> str:
    """What is said of a function of the C library that the device has not."""
    return f"undefined symbol: {name} is no function of Ascend C, and there is no C library on the device"


def forgeries(image: Elf, host: Path, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """What no kernel is compiled to: functions with the runtime's names, data among the code, or code elsewhere."""
    problems = dict(_forged_symbols(image, _own(host))) | dict(_forged_sections(image))
    remedy = "Use only the functions of kernel_operator.h; a kernel must not replace the runtime that checks it."
    return tuple(
        Diagnostic(Severity.ERROR, "forged_image", message, *_place(name, files), remedy=remedy)
        for name, message in problems.items()
    )


def oversized(image: Elf, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """A compile error for more than 4 MiB of code and data, at what is largest in it.

    Of some 1300 kernels, ours and those of public repositories, nearly all have less than 129 KiB, for which the proof
    of machine code takes 11 ms; it grows with the image. Two that have a template's instance for every tiling key have
    2.1 and 2.6 MiB. What is larger is no kernel but a table of answers, or a loop written out.
    """
    size = sum(section.size for section in image.sections if section.flags & elf.LOADED)
    if size <= _LARGEST_IMAGE:
        return ()
    largest = max(image.symbols(".symtab"), key=lambda symbol: symbol.size)
    message = (
        f"the kernel's code and data are {size} bytes, of which {readable(largest.name)} takes {largest.size}; "
        f"at most {_LARGEST_IMAGE} are taken"
    )
    remedy = "Unroll and instantiate less; read tables from an input, or compute them."
    return (Diagnostic(Severity.ERROR, "image_too_large", message, *_place(largest.name, files), remedy=remedy),)


def doubts(image: Elf, files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Warnings about what honest kernels seldom have: large tables of constants, and code that runs before them."""
    remedy = "This alone is no error; the judge also tries such a kernel on other inputs."
    return tuple(
        Diagnostic(Severity.WARNING, rule, message, *_place(name, files), remedy=remedy)
        for rule, name, message in _doubts(image)
    )


def _doubts(image: Elf) -> Iterator[tuple[str, str, str]]:
    """Rule, symbol and sentence."""
    started = image.section(".init_array")
    if started is not None and started.size:
        yield "lint_constructor", "", "code runs before the kernel: constructors of global objects"
    for symbol in image.symbols(".symtab"):
        # Symbols of special sections have no place in the image.
        if symbol.kind != elf.OBJECT or symbol.size < _TABLE_BYTES or not 0 < symbol.section < elf.FIRST_SPECIAL:
            continue
        if image.sections[symbol.section].kind == elf.PROGBITS:
            yield (
                "lint_constant_table",
                symbol.name,
                f"{readable(symbol.name)} is a table of {symbol.size} bytes of constants",
            )


def _forged_symbols(image: Elf, own: Set[str]) -> Iterator[tuple[str, str]]:
    """Symbols by name, and what is wrong with each."""
    # without symbols an image would pass each look at them
    if image.section(".symtab") is None:
        yield "", "the kernel's image has no table of symbols"
    code = {i for i, section in enumerate(image.sections) if section.flags & elf.EXECUTABLE}
    for symbol in image.symbols(".symtab"):
        if symbol.section == elf.UNDEFINED:
            continue
        name = symbol.name
        # The launch function is the only one of the runtime's names that every kernel defines.
        if name in own and name != _LAUNCH:
            yield name, f"the kernel defines {name}, which is a function of the runtime that checks it"
        # what chooses is code of the kernel, and runs before the launch begins
        if symbol.kind == elf.IFUNC:
            yield name, f"{readable(name)} is chosen while the kernel is loaded"
        if symbol.kind == elf.OBJECT and symbol.section in code:
            yield name, f"{readable(name)} is data that lies among the kernel's code"


def _forged_sections(image: Elf) -> Iterator[tuple[str, str]]:
    for section in image.sections:
        executable, writable = section.flags & elf.EXECUTABLE, section.flags & elf.WRITABLE
        if executable and (writable or section.name not in _CODE_SECTIONS):
            yield section.name, f"the section {section.name} holds code, which belongs in .text"


def _place(name: str, files: Mapping[str, str]) -> tuple[str, int]:
    plain = readable(name).rpartition("::")[2].removeprefix("operator ")
    word = re.compile(rf"\b{re.escape(plain.removesuffix('[]'))}\b")
    for file, text in files.items():
        match = word.search(masked(text)) if name else None
        if match:
            return file, text.count("\n", 0, match.start()) + 1
    return "", 0


@lru_cache(maxsize=4096)  # kernels share the names of the API, and each name is asked for several times
def readable(symbol: str) -> str:
    """What the source calls a symbol: the leading names of a mangled one, without arguments of templates and calls."""
    symbol = symbol.removeprefix("__wrap_")
    prefix = re.match(r"_Z(?:T[VTIS]|L)?(?P<nested>N[VKRO]*)?L?(?P<std>St)?", symbol)
    if prefix is None:
        return symbol
    at, names = prefix.end(), ["std"] if prefix["std"] else []
    if operator := _OPERATORS.get(symbol[at : at + 2]):
        return "::".join((*names, operator))
    while part := re.compile(r"L?(\d+)").match(symbol, at):
        at = part.end() + int(part[1])
        name = symbol[part.end() : at].replace("_GLOBAL__N_1", "(anonymous namespace)")
        # the inline namespace of libc++, which no source writes
        names += [name] if name != "__1" else []
        if not prefix["nested"]:
            break
        if symbol.startswith("I", at):
            at = _behind(symbol, at)
    if names and re.match(r"[CD]\d", symbol[at : at + 2]):
        names.append(("~" if symbol[at] == "D" else "") + names[-1])
    return "::".join(names) or symbol


def _behind(symbol: str, at: int) -> int:
    """Behind the arguments of a template that begin ``at``; the end of the symbol when they are not understood."""
    depth = 0
    token = re.compile(r"[INJXL]|E|DF\d+_|(\d+)|S[\dA-Z]*_|T[\dA-Z]*_|.")
    while match := token.match(symbol, at):
        at = match.end() + (int(match[1]) if match[1] else 0)
        if symbol[match.start()] == "L":
            at = symbol.find("E", at) + 1 or len(symbol)
            continue
        depth += {"I": 1, "N": 1, "J": 1, "X": 1, "E": -1}.get(match[0], 0)
        if depth == 0:
            return at
    return len(symbol)


@cache
def _exported(host: Path) -> frozenset[str]:
    return frozenset(name for name in _symbols(Elf(host), defined=True) if name.startswith(_OFFERED))


@cache
def _known(host: Path) -> frozenset[str]:
    """What a kernel may need: the API, and what compilers take for granted."""
    return _exported(host) | _FUNDAMENTAL


@cache
def _own(host: Path) -> frozenset[str]:
    """The runtime's functions that have no mangled name, so that a kernel could define one of them."""
    return frozenset(name for name in _exported(host) if not name.startswith("_Z"))


def _symbols(image: Elf, *, defined: bool) -> frozenset[str]:
    """Names in the dynamic symbol table that the image defines, or that it wants from others."""
    symbols = image.symbols(".dynsym")
    return frozenset(symbol.name for symbol in symbols if symbol.name and (symbol.section != elf.UNDEFINED) is defined)
