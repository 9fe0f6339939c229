"""Device code is device code: what the documentation of the language says that no core can execute is refused.

A core has no stack for recursion, no tables of virtual functions, no C++ library, and runs only functions that are
marked for it. What the compiler itself does not refuse (exceptions, run-time types, dynamic memory are refused there or
at linking) is seen in the compiled image: ``__aicore__`` puts a function into a section of its own, and who calls whom
are the direct calls in its machine code. So macros, templates and branches that are compiled away need no parsing. The
code that is read is x86-64's: on other processors, that of the image whose operations are counted.

Functions without the mark that a core may still execute: ``constexpr`` ones, lambdas, and members that the compiler
makes itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property

from npukb_twin.compile import elf
from npukb_twin.compile.dialect import SOURCE_SUFFIXES, masked
from npukb_twin.compile.elf import Elf, Symbol
from npukb_twin.compile.imports import FUNCTIONS, no_function, readable
from npukb_twin.compile.lines import LineTable, Place
from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["COUNTED", "MARK", "marked", "not_device_code"]

#: Behind the name of an image: the same, compiled for x86-64 to be counted (runtime/time/reference.h).
COUNTED = ".counted"
_SECTION = ".text.aicore"
#: What ``__aicore__`` means in front of a kernel's text, and what the dialect makes of its form in brackets. The linker
#: puts the section among all other code.
MARK = f'#undef __aicore__\n#define __aicore__ __attribute__((section("{_SECTION}")))\n'

# in a mangled name: Ul, the parameters, E, a number where there are several, an underscore
_LAMBDA = re.compile(r"Ul.*?E\d*_")
# mangled names of the API, of the twin and of the C++ library, and what compilers add
_OTHERS = re.compile(r"_ZNK?(?:7AscendC|5npukb|6matmul|St)|_ZS[t\w]|npukb_|asan\.|__cxx_global|_GLOBAL_")
_CALL = b"\xe8"  # x86-64: a call to where the next four bytes say
_CALL_BYTES = 5
#: x86-64: an instruction in one of the two forms of vector code, with its second prefix and its number.
_VECTOR_CODE = re.compile(
    rb"(?=(?:\xc5|\xc4[\x00-\xff])([\x00-\xff])([\x10\x11\x2a\x51\x58\x59\x5a\x5c\x5e]))", re.DOTALL
)
_OF_DOUBLE = 3  # the prefix of single numbers of double precision
#: x86-64: what compilers make of calls of ``<cmath>``, so that no name is left at linking: rounding, and products that
#: are added without rounding between.
_INLINED_MATH = re.compile(
    rb"(?=\xc4(?:[\x03\x23\x43\x63\x83\xa3\xc3\xe3][\x00-\xff][\x08-\x0b]"
    rb"|[\x02\x22\x42\x62\x82\xa2\xc2\xe2][\x00-\xff][\x98-\xbf]))",
    re.DOTALL,
)
_MATH_NAMES = r"(?:floor|ceil|trunc|rint|nearbyint|fma)f?"
_MATH_CALL = re.compile(rf"(?<![\w.>:])(?:::\s*)?({_MATH_NAMES})\s*\(")
_MATH_OF_LIBRARY = re.compile(rf"_ZN?St(?:3__1)?(?:6__math)?\d+({_MATH_NAMES})[BEf]")
_DOUBLE = re.compile(r"^(?!.*\b(?:constexpr|printf|PRINTF|assert)\b).*\bdouble\b")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\(?:\r?\n|.))*", re.MULTILINE)
#: What may make a function one for the device: the mark, a macro that holds it, constexpr.
_MARKS = re.compile(r"\bconstexpr\b|\b_*aicore\b|__ac__|\b(?!__attribute__|__inline__)(?:__\w+|[A-Z][A-Z0-9_]{3,})\b")
_KERNEL = re.compile(r"__global__(?<!\w__global__)(?:[^;{}()]|\([^;{}()]*\)){0,400}?\b(\w+)\s*\([^;{}()]*\)\s*[;{]")
_BODY = re.compile(r"\s*(?:const|noexcept|override|final|&&?|->\s*[\w:<>,&*\s]+|:[^;{}]*|\s)*\{")
#: Of the C++ library, what is documented as unavailable: containers, tuples, and algorithms that are not constexpr.
_LIBRARY = frozenset(
    name
    for line in (
        "vector list forward_list deque map multimap set multiset unordered_map unordered_set basic_string function",
        "any shared_ptr unique_ptr make_shared make_unique queue stack priority_queue basic_ostream basic_istream",
        "tuple make_tuple tie forward_as_tuple tuple_cat apply",
        "sort stable_sort partial_sort nth_element copy copy_n copy_if copy_backward fill fill_n generate transform",
        "accumulate inner_product partial_sum iota reverse rotate unique remove remove_if replace replace_if partition",
        "merge for_each find find_if count count_if equal swap_ranges lower_bound upper_bound binary_search",
    )
    for name in line.split()
)


def marked(unit: Elf) -> frozenset[str]:
    """Functions of a compiled unit that are marked for the device."""
    sections = {index for index, section in enumerate(unit.sections) if section.name == _SECTION}
    return frozenset(symbol.name for symbol in unit.symbols(".symtab") if symbol.section in sections)


def not_device_code(
    image: Elf, device: frozenset[str], entry: str, files: Mapping[str, str], names: Mapping[str, str]
) -> tuple[Diagnostic, ...]:
    """What a linked ``image`` does that no core can, at the lines where it does; nothing for other processors where
    there is no image beside it that is counted. ``device`` are its marked functions, ``entry`` is what the kernel is
    called in it, and ``names`` are the author's by those that the dialect gave.
    """
    counted = image.path.with_name(f"{image.path.name}{COUNTED}")
    code = _Code(Elf(counted) if counted.exists() else image, entry)
    if code.machine != elf.X86_64:
        return ()
    texts = {
        name: _DIRECTIVE.sub(_blank, masked(text)) for name, text in files.items() if name.endswith(SOURCE_SUFFIXES)
    }
    problems = [*_virtual(code, texts), *_kernel_calls(code, texts), *_host_functions(code, device, texts)]
    problems += [*_library(code, texts), *_recursion(code), *_doubles(code, texts), *_math(code, texts)]
    diagnostics: list[Diagnostic] = []
    for rule, place, message, remedy in problems:
        for name, author_s in names.items():
            message = re.sub(rf"\b{re.escape(name)}\b", author_s, message)
        said = Diagnostic(Severity.ERROR, rule, message, file=place.file, line=place.line, remedy=remedy)
        # Several instructions of one line say the same.
        diagnostics += [said] if said not in diagnostics else []
    return tuple(diagnostics)


_Problem = tuple[str, Place, str, str]


class _Code:
    """The functions of an image and the direct calls between them, as far as the kernel's entry leads to them."""

    def __init__(self, image: Elf, entry: str) -> None:
        self._elf = image
        self._lines = LineTable(image.path)
        self.machine = self._elf.machine
        self.symbols = self._elf.symbols(".symtab")
        sections = self._elf.sections
        code = {index for index, section in enumerate(sections) if section.flags & elf.EXECUTABLE}
        self.functions: dict[int, Symbol] = {}
        for symbol in self.symbols:
            if symbol.kind == elf.FUNCTION and symbol.section in code and symbol.size:
                # Functions may share their code under several names: the first stands for all of them.
                self.functions.setdefault(symbol.value, symbol)
        self.entries = frozenset(at for at, symbol in self.functions.items() if _last(symbol.name) == entry)

    @cached_property
    def calls(self) -> Mapping[int, Mapping[int, int]]:
        """Where each function calls which: start of the caller, start of the callee, address of the first call."""
        result: dict[int, dict[int, int]] = {}
        for section in self._elf.sections:
            if not section.flags & elf.EXECUTABLE:
                continue
            data = self._elf.contents(section)
            for start, symbol in self.functions.items():
                if not section.address <= start < section.address + section.size:
                    continue
                first = start - section.address
                for at, target in _targets(data, first, min(first + symbol.size, len(data))):
                    # any byte can look like a call: only one that leads to where a function begins is taken for one
                    if (callee := section.address + target) in self.functions:
                        result.setdefault(start, {}).setdefault(callee, section.address + at)
        return result

    @cached_property
    def reached(self) -> frozenset[int]:
        """Starts of the functions that the device executes."""
        todo, done = list(self.entries), set(self.entries)
        while todo:
            for callee in self.calls.get(todo.pop(), ()):
                if callee not in done:
                    done.add(callee)
                    todo.append(callee)
        return frozenset(done)

    def computing_doubles(self) -> Iterator[int]:
        """Addresses where the device may compute with, load, store or convert a number of double precision."""
        return (at for at, match in self._own_code(_VECTOR_CODE) if match[1][0] & 3 == _OF_DOUBLE)

    def inlined_math(self) -> Iterator[int]:
        """Addresses where the device may round, or add a product to a number without rounding it first."""
        return (at for at, _ in self._own_code(_INLINED_MATH))

    def _own_code(self, pattern: re.Pattern[bytes]) -> Iterator[tuple[int, re.Match[bytes]]]:
        """Where the kernel's own functions that the device executes have these bytes."""
        for section in self._elf.sections:
            if not section.flags & elf.EXECUTABLE:
                continue
            data = self._elf.contents(section)
            for start in sorted(self.reached):
                if not (section.address <= start < section.address + section.size and self.own(start)):
                    continue
                first = start - section.address
                for match in pattern.finditer(data, first, first + self.functions[start].size):
                    yield section.address + match.start(), match

    def edges(self) -> Iterator[tuple[int, int, int]]:
        """Caller, callee and address of every call that the device executes."""
        for caller in sorted(self.reached):
            for callee, at in self.calls.get(caller, {}).items():
                yield caller, callee, at

    def own(self, start: int) -> bool:
        """Whether a function may be one of the kernel's own, and not of the API or of the C++ library."""
        return not _OTHERS.match(self.functions[start].name)

    def name(self, start: int) -> str:
        return self.functions[start].name

    def place(self, at: int) -> Place:
        return self._lines.place(at)


def _targets(data: bytes, first: int, end: int) -> Iterator[tuple[int, int]]:
    """Offsets of calls between ``first`` and ``end``, and of what they call."""
    at = data.find(_CALL, first, end)
    while at >= 0:
        if at + _CALL_BYTES <= end:
            yield at, at + _CALL_BYTES + int.from_bytes(data[at + 1 : at + _CALL_BYTES], "little", signed=True)
        at = data.find(_CALL, at + 1, end)


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _last(symbol: str) -> str:
    return readable(symbol).rpartition("::")[2]


def _virtual(code: _Code, texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Classes with a table of virtual functions that the image holds."""
    for symbol in code.symbols:
        if (
            symbol.section == elf.UNDEFINED
            or not symbol.name.startswith("_ZTV")
            # tables of the type descriptions that C++'s runtime brings
            or symbol.name.startswith("_ZTVN10__cxx")
        ):
            continue
        name = _last(symbol.name)
        message = f"{name} has virtual functions or virtual bases, which a core has no tables for"
        remedy = "Choose at compile time: templates, if constexpr."
        yield "virtual_function", _place_of_virtual(name, texts), message, remedy


def _place_of_virtual(name: str, texts: Mapping[str, str]) -> Place:
    for file, text in texts.items():
        if opened := re.search(rf"\b(?:class|struct)\s+{re.escape(name)}\b[^;{{]*\{{", text):
            word = re.compile(r"\b(?:virtual|override)\b").search(text, opened.start())
            return Place(file, text.count("\n", 0, word.start() if word else opened.start()) + 1)
    return Place("", 0)


def _host_functions(code: _Code, device: frozenset[str], texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Calls of functions that are not marked for the device."""
    for _, callee, at in code.edges():
        symbol = code.name(callee)
        if symbol in device or callee in code.entries or not code.own(callee) or _LAMBDA.search(symbol):
            continue
        # By the sources as well: members that the compiler makes itself have no mark and are the device's.
        if _is_host_function(_last(symbol), texts):
            message = f"{readable(symbol)} is not marked __aicore__: device code cannot call it"
            yield "host_function", code.place(at), message, "Mark it: __aicore__ inline …, or make it constexpr."


def _is_host_function(name: str, texts: Mapping[str, str]) -> bool:
    """Whether the sources define a function of that name that is plainly the host's: neither constexpr nor behind
    anything that may mark it. Special members that the compiler makes are defined nowhere; a symbol that cannot be read
    has no name.
    """
    if not name:
        return False
    heads = [head for text in texts.values() for head in _heads(name, text)]
    return any(not _MARKS.search(head) for head in heads)


def _heads(name: str, text: str) -> Iterator[str]:
    """What stands in front of the name where a function called so is defined."""
    for match in re.finditer(rf"(?<![\w.~]){re.escape(name)}\s*\(", text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        if _BODY.match(text, at):
            yield text[max(text.rfind(mark, 0, match.start()) for mark in ";{}") + 1 : match.start()]


def _library(code: _Code, texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Calls into those parts of the C++ library that do not exist on the device, where the sources name them: functions
    of the API that are inlined into the kernel use the library, too.
    """
    for caller, callee, at in code.edges():
        names = readable(code.name(callee)).split("::")
        if names[0] != "std" or len(names) < 2 or names[1] not in _LIBRARY:
            continue
        if not any(
            re.search(rf"\bstd\s*::\s*{names[1].lstrip('_')}\b|\busing\s+namespace\s+std\b", t) for t in texts.values()
        ):
            continue
        if not readable(code.name(caller)).startswith("std::"):
            message = f"std::{names[1]} is not available on the device"
            yield (
                "std_library",
                code.place(at),
                message,
                "Use the functions of kernel_operator.h, AscendC::Std, or loops.",
            )


def _recursion(code: _Code) -> Iterator[_Problem]:
    """Calls that lead back to their caller."""
    for start in sorted(code.reached):
        # a circle is found from each of its functions, and told once
        if (cycle := _way(code, start, start)) and min(cycle) == start:
            path = " calls ".join(readable(code.name(at)) for at in (*cycle, start))
            at = code.calls[cycle[-1]][start]
            yield "recursion", code.place(at), f"{path}: a core has no stack for recursion", "Write it as a loop."


def _way(code: _Code, start: int, goal: int) -> list[int]:
    """The functions from ``start`` on whose calls lead to ``goal``, each seen once; none when none does."""
    before: dict[int, int] = {}
    todo = [start]
    while todo:
        here = todo.pop()
        for callee in code.calls.get(here, ()):
            if callee == goal:
                way = [here]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if callee not in before and callee != start:
                before[callee] = here
                todo.append(callee)
    return []


def _kernel_calls(code: _Code, texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Calls of kernels by device code."""
    kernels = {name for text in texts.values() for name in _KERNEL.findall(text)}
    for caller, callee, at in code.edges():
        if _last(code.name(callee)) in kernels and code.own(callee):
            message = f"{readable(code.name(caller))} calls the kernel {readable(code.name(callee))}"
            yield "kernel_call", code.place(at), message, "Only the host launches kernels; call a function."


def _doubles(code: _Code, texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Lines that name the type and compute with it. As a type of elements that are only moved it is fine."""
    lines = {name: text.splitlines() for name, text in texts.items() if "double" in text}
    if not lines:
        return
    for place in dict.fromkeys(map(code.place, code.computing_doubles())):
        own = lines.get(place.file, [])
        if 0 < place.line <= len(own) and _DOUBLE.search(own[place.line - 1]):
            message = "double: a core does not compute with numbers of double precision"
            yield "double_precision", place, message, "Use float, and literals of that type: 1.5f."


def _math(code: _Code, texts: Mapping[str, str]) -> Iterator[_Problem]:
    """Calls of ``<cmath>`` that the compiler has made instructions of, where the author wrote the name."""
    for caller, callee, at in code.edges():
        if code.own(caller) and (named := _MATH_OF_LIBRARY.match(code.name(callee))):
            yield "host_call", code.place(at), no_function(named[1]), FUNCTIONS
    lines = {name: text.splitlines() for name, text in texts.items() if _MATH_CALL.search(text)}
    if not lines:
        return
    for place in dict.fromkeys(map(code.place, code.inlined_math())):
        own = lines.get(place.file, [])
        if 0 < place.line <= len(own) and (call := _MATH_CALL.search(own[place.line - 1])):
            yield "host_call", place, no_function(call[1]), FUNCTIONS
