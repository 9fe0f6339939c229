"""The host half of files that launch kernels themselves: which functions they define, and how a host compiles them.

``kernel<<<blocks, l2ctrl, stream>>>(…)`` is no C++: for the host it becomes an object that is called with the same
arguments, so that types are checked as the kernel declares them. Launches through ``aclrtlaunch_NAME`` have a header
per kernel, as the toolkit's build makes one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from npukb_twin.compile.dialect import SOURCE_SUFFIXES, launches, masked, parameters_of, translate_host

__all__ = ["HostFunction", "entries", "functions", "host_files", "host_units", "launch_headers", "launches_something"]

_UNITS = (".cpp", ".cc", ".cxx", ".asc")
_DEVICE = re.compile(r"\b__global__\b|\b__aicore__\b|\[aicore\]")
_MAIN = re.compile(r"\bmain\s*\([^;{}]*\)\s*\{")
_BY_NAME = re.compile(r"\baclrtlaunch_(\w+)\.h\b")
_ENTRY = re.compile(
    r"\b__global__(?:[^;{}()]|\([^;{}()]*\)){0,400}?\b(?P<name>\w+)\s*\((?P<parameters>[^;{}]*?)\)\s*[;{]"
)
_HEAD = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>[^{};]*)\)\s*(?:const|noexcept|\s)*\Z")
_SPACE = re.compile(r"\bnamespace\s+(?P<name>\w+(?:::\w+)*)?\s*\Z")
_NUMBER = re.compile(
    r"(?:const\s+)?(?:unsigned\s+)?(?:u?int(?:8|16|32|64)?_t|int|long|size_t|float|double|bool|uint\d+)\s"
)
_KEYWORDS = frozenset({"if", "for", "while", "switch", "catch", "return", "defined"})


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A function at namespace scope. ``parameters`` are names, "" where one has none. ``launches`` says that it
    launches a kernel, itself or by a template of the sources, ``template`` that it is one.
    """

    name: str
    file: str
    line: int
    parameters: tuple[str, ...]
    launches: bool
    template: bool = False


def entries(files: Mapping[str, str]) -> dict[str, str]:
    """Kernels that are declared plainly, and the text of their parameters."""
    result: dict[str, str] = {}
    for name, text in files.items():
        if name.endswith(SOURCE_SUFFIXES) and "__global__" in text:
            for match in _ENTRY.finditer(masked(text)):
                result.setdefault(match["name"], match["parameters"])
    return result


def host_units(files: Mapping[str, str]) -> list[str]:
    """The sources that a host compiles: those that launch something, and those without device code. A program's own
    ``main`` is not called here.
    """
    units = []
    for name in sorted(files):
        code = masked(files[name]) if name.endswith(_UNITS) else ""
        if code and _MAIN.search(code) is None and (launches(code) or not _DEVICE.search(code)):
            units.append(name)
    return units


def launches_something(files: Mapping[str, str]) -> bool:
    """Whether a source of the host launches a kernel, itself or through a macro of the project."""
    return any(launches(files[name]) for name in host_units(files))


def host_files(files: Mapping[str, str]) -> dict[str, str]:
    """Every file as the host compiles it, and the headers of launches by name that none of them is."""
    own = {name.rpartition("/")[2] for name in files}
    made = {name: translate_host(text, own) if name.endswith(SOURCE_SUFFIXES) else text for name, text in files.items()}
    return made | launch_headers(files)


def launch_headers(files: Mapping[str, str]) -> dict[str, str]:
    """The headers of launches by name that the sources include."""
    names = sorted({name for text in files.values() for name in _BY_NAME.findall(text)})
    known = entries(files) if names else {}
    return {f"aclrtlaunch_{name}.h": _launch_header(name, known.get(name)) for name in names}


def _launch_header(kernel: str, parameters: str | None) -> str:
    """What the toolkit's build writes beside a kernel: a function of its name, with the stream."""
    templates, declared, passed = [], [], []
    for index, text in enumerate(parameters_of(parameters or "")):
        kind = "void*" if "*" in text or "GM_ADDR" in text else _NUMBER.match(text + " ")
        if isinstance(kind, re.Match):
            declared.append(f"{kind.group().strip()} a{index}")
        elif kind:
            declared.append(f"const void* a{index}")
        else:
            templates.append(f"typename T{index}")
            declared.append(f"const T{index}& a{index}")
        passed.append(f"a{index}")
    head = f"template <{', '.join(templates)}>\n" if templates else ""
    rest = "".join(f", {parameter}" for parameter in declared)
    given = "".join(f", {argument}" for argument in passed)
    # the sources do not declare this kernel plainly: anything may be passed
    if parameters is None:
        head, rest, given = "template <typename... T>\n", ", const T&... a", ", a..."
    return (
        "#pragma once\n#include <acl/acl.h>\n"
        # device code in the same file includes the header, too, and gets nothing of it
        "#if defined(NPUKB_DIRECT_HOST)\n"
        f"{head}inline uint32_t aclrtlaunch_{kernel}(uint32_t blocks, void*{rest}) {{\n"
        f'    return npukb_direct::LaunchByName("{kernel}", blocks{given});\n}}\n#endif\n'
    )


def functions(files: Mapping[str, str]) -> Iterator[HostFunction]:
    """Functions that the host's sources define at namespace scope, kernels left out."""
    found = [pair for name in host_units(files) for pair in _functions(name, masked(files[name]))]
    launching = {function.name.rpartition("::")[2] for function, _ in found if function.launches and function.template}
    called = re.compile(rf"\b(?:{'|'.join(sorted(launching))})\s*[<(]") if launching else None
    for function, body in found:
        calls = not function.launches and called is not None and called.search(body) is not None
        yield replace(function, launches=True) if calls else function


def _functions(file: str, code: str) -> Iterator[tuple[HostFunction, str]]:
    """Functions with their bodies."""
    code = re.sub(
        r"^[ \t]*#(?:[^\n\\]|\\(?:\r?\n|.))*", lambda line: re.sub(r"[^\n]", " ", line.group()), code, flags=re.M
    )
    spaces: list[str | None] = []  # names of open namespaces; None for every other brace
    last, begun = 0, 0
    opened: re.Match[str] | None = None
    template = False
    for match in re.finditer(r"[{};]", code):
        before = code[last : match.start()]
        if match.group() == "{":
            space = _SPACE.search(before)
            outer = None not in spaces
            # the "C" of an extern "C" is blanked out, like all strings
            if outer and (space or re.search(r'\bextern\s*\Z|extern\s+"\s*"\s*\Z', before.rstrip(' "') + " ")):
                spaces.append((space["name"] or "") if space else "")
            else:
                head = _HEAD.search(before) if outer else None
                if head and head["name"] not in _KEYWORDS and "__global__" not in before and "__aicore__" not in before:
                    opened, begun = head, match.end()
                    template = re.search(r"\btemplate\s*<", before) is not None
                spaces.append(None)
        elif match.group() == "}" and spaces:
            spaces.pop()
            if opened is not None and None not in spaces:
                scope = "".join(f"{name}::" for name in spaces if name)
                body = code[begun : match.start()]
                function = HostFunction(
                    name=f"{scope}{opened['name']}",
                    file=file,
                    line=code.count("\n", 0, begun) + 1,
                    parameters=tuple(map(_parameter, parameters_of(opened["parameters"]))),
                    launches=launches(body),
                    template=template,
                )
                yield function, body
                opened = None
        last = match.end()


def _parameter(text: str) -> str:
    """The parameter's name."""
    words = re.findall(r"\w+", text.partition("=")[0])
    # a single word is a type
    return words[-1] if len(words) > 1 else ""
