"""Answers of the launch track on a device: a project around the candidate's own host function, and what it is given.

The function is named by ``launch.yaml``, with its arguments. Its source is compiled with a generated end that calls it;
other sources are compiled beside it. Extensions of PyTorch and launches by ``aclrtlaunch_`` need other builds, and are
refused here. Not yet run on hardware.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from npukb_npu.projects import LAUNCHER, library_cmake, own_files
from npukernelbench.judge.launchfile import answer, read_launch_file, wrong
from npukernelbench.nouns import LAUNCH_FILE, Case, Diagnostic, Presence, Severity, Task, TensorCase, TensorShape

__all__ = ["Unsupported", "Words", "Written", "project", "words", "written"]

_SOURCES = (".cpp", ".cc", ".cxx", ".asc")
_MAIN = re.compile(r"\bmain\s*\([^;{}]*\)\s*\{")
_DEVICE = re.compile(r"\b__global__\b|<<<")
_EXTENSION = re.compile(r"#\s*include\s*[<\"](?:torch|ATen|torch_npu)/")
_BY_NAME = re.compile(r"\baclrtlaunch_\w+\s*\(|\bACLRT_LAUNCH_KERNEL\s*\(")
#: Where the words of a call come from: an argument of the task, the stream, the number of blocks, the workspace.
Words = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Written:
    """What an answer says of its launch: the function, the file that defines it, and the arguments."""

    function: str
    source: str
    arguments: tuple[str | int | float | bool, ...]

    def is_real(self, word: str | int | float | bool, task: Task) -> bool:
        """Whether an argument is a fraction: a number with a point, or an attribute of that type."""
        if isinstance(word, str):
            return any(spec.name == word and spec.type == "float" for spec in task.attributes)
        return isinstance(word, float)


@dataclass(frozen=True, slots=True)
class Unsupported:
    """What this executor does not build, which is no fault of the answer."""

    diagnostic: Diagnostic


def written(files: Mapping[str, str], task: Task) -> Written | Diagnostic | Unsupported:
    """How the candidate is called, what is wrong with it, or what is not built here."""
    sources = {name: text for name, text in files.items() if name.endswith(_SOURCES)}
    for name, text in sorted(sources.items()):
        for pattern, what in ((_EXTENSION, "a launch file of a PyTorch extension"), (_BY_NAME, "a launch by name")):
            if pattern.search(text):
                return _unsupported(f"{what} is not built for a device", name)
    asked = read_launch_file(files.get(LAUNCH_FILE, ""), task)
    if isinstance(asked, Diagnostic):
        return asked
    if not asked.function or asked.arguments is None:
        return wrong(
            f"on a device {LAUNCH_FILE} names the function and its arguments",
            f"Write both: function: {task.kernel}_do, arguments: [blocks, stream, …].",
            LAUNCH_FILE,
        )
    # the definition bears neither template arguments nor, as a rule, its namespaces
    plain = asked.function.partition("<")[0].rpartition("::")[2]
    head = re.compile(rf"\b{re.escape(plain)}\s*\([^;{{}}]*\)\s*\{{")
    defining = [name for name, text in sorted(sources.items()) if head.search(text)]
    # the file is compiled with a generated end, so that there has to be one
    if len(defining) != 1:
        many = "no source defines" if not defining else f"{' and '.join(defining)} define"
        return wrong(f"{many} the function {asked.function}", f"Name another in {LAUNCH_FILE}.", LAUNCH_FILE)
    # a word of the call is 64 bits: it holds an address or a number
    types = {spec.name: spec.type for spec in task.attributes}
    lists = {spec.name for spec in task.inputs if spec.presence is Presence.DYNAMIC}
    lists |= {spec.name for spec in task.outputs if spec.presence is Presence.DYNAMIC}
    for word in asked.arguments:
        if word in lists:
            return _unsupported(f"the list of tensors {word} is not passed on a device", LAUNCH_FILE)
        if isinstance(word, str) and types.get(word, "int") not in ("int", "float", "bool"):
            return _unsupported(f"the attribute {word} of type {types[word]} is not passed on a device", LAUNCH_FILE)
    return Written(asked.function, defining[0], tuple(asked.arguments))


def project(files: Mapping[str, str], how: Written, task: Task) -> dict[str, str]:
    """The project that builds the launcher library: every source of the candidate but programs."""
    own = {name: text for name, text in own_files(files).items() if name != LAUNCH_FILE}
    beside = [
        name
        for name, text in sorted(own.items())
        if name.endswith(_SOURCES) and name != how.source and _MAIN.search(text) is None
    ]
    sources = "".join(f" candidate/{name}" for name in beside)
    # CMake chooses compilers by extension, and device code may lie in .cpp files
    device = [f"candidate/{name}" for name in beside if _DEVICE.search(own[name])]
    properties = f"set_source_files_properties({' '.join(device)} PROPERTIES LANGUAGE ASC)\n" if device else ""
    folder = how.source.rpartition("/")[0]
    own_folder = f"candidate/{folder}" if folder else "candidate"
    return {
        "CMakeLists.txt": library_cmake(
            "the candidate's host function with its kernels as a library",
            f"{properties}add_library(npukb_kernel SHARED launched.asc{sources})",
            f"target_include_directories(npukb_kernel PRIVATE ${{CMAKE_CURRENT_SOURCE_DIR}}/{own_folder})\n"
            "target_link_libraries(npukb_kernel PRIVATE ascendcl)\n",
        ),
        "launched.asc": own[how.source].rstrip("\n") + "\n" + _tail(how, task),
        **{f"candidate/{name}": text for name, text in own.items() if name != how.source},
    }


def _tail(how: Written, task: Task) -> str:
    passed = []
    for index, word in enumerate(how.arguments):
        if word == "stream":
            passed.append("npukb_generated::Word{reinterpret_cast<uint64_t>(stream), false}")
        elif word == "blocks":
            passed.append("npukb_generated::Word{blocks, false}")
        else:
            real = "true" if how.is_real(word, task) else "false"
            passed.append(f"npukb_generated::Word{{reinterpret_cast<uint64_t>(words[{index}]), {real}}}")
    return _TAIL.format(launcher=LAUNCHER, function=how.function, passed=",\n        ".join(passed))


def words(how: Written, task: Task, case: Case) -> Words:
    """One word per argument: ``("argument", its number)``, ``("workspace", 0)`` or ``("word", 64 bits)``."""
    numbers = {name: index for index, name in enumerate(task.arguments) if name != "workspace"}
    tensors = {name: value.tensor for name, value in case.inputs.items() if isinstance(value, TensorCase)}
    tensors |= {name: value for name, value in case.outputs.items() if isinstance(value, TensorShape)}
    return tuple(_word(word, how, task, case, numbers, tensors) for word in how.arguments)


def _word(
    word: str | int | float | bool,
    how: Written,
    task: Task,
    case: Case,
    numbers: Mapping[str, int],
    tensors: Mapping[str, TensorShape],
) -> tuple[str, int]:
    if word in numbers:
        return "argument", numbers[str(word)]
    if word == "workspace":
        return "workspace", 0
    value: object = word
    if isinstance(word, str):
        asked = answer(word, tensors)
        value = asked if asked is not None else case.attributes.get(word, 0)
    if how.is_real(word, task):
        return "word", int.from_bytes(struct.pack("<d", float(str(value))), "little")
    # two's complement, as the generated code reads it back
    return "word", int(value) % (1 << 64) if isinstance(value, (int, float)) else 0


def _unsupported(message: str, file: str) -> Unsupported:
    remedy = "Not the kernel's fault: --executor twin judges it."
    return Unsupported(Diagnostic(Severity.ERROR, "unsupported_launch", message, file, remedy=remedy))


_TAIL = """\

// Generated from here on. Calls the candidate's function; each argument becomes what its parameter takes.
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace npukb_generated {{

struct Word {{
    uint64_t bits;
    bool real;
    template <typename T>
    operator T() const {{
        if constexpr (std::is_pointer_v<T>) {{
            return reinterpret_cast<T>(bits);
        }} else {{
            double fraction = 0;
            std::memcpy(&fraction, &bits, sizeof fraction);
            return real ? static_cast<T>(fraction) : static_cast<T>(static_cast<int64_t>(bits));
        }}
    }}
}};

}}  // namespace npukb_generated

extern "C" int {launcher}(uint32_t blocks, void* stream, void* const* words) {{
    {function}(
        {passed});
    return 0;
}}
"""
