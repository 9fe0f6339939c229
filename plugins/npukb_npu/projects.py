"""Generated CMake projects: direct launch for device-only answers, a custom operator for host and device answers.

Texts only; nothing here touches a disk. Commands and variables are those of the vendor's documentation (``docs/npu.md``
lists each with its page), the layout of the second is that of msopgen. Golden texts in ``tests/npu/golden`` hold them.
Not yet run on hardware.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import PurePosixPath

from npukernelbench.judge.executor import ALIKE_UNITS, HOST_STANDARD

__all__ = [
    "ARCHITECTURE",
    "HOST_COMPILER",
    "HOST_COMPILER_TEXT",
    "LAUNCHER",
    "RunMode",
    "custom_operator",
    "direct_launch",
    "kernel_file",
    "launcher",
    "library_cmake",
    "own_files",
    "registered",
    "snake_case",
    "vendor_of",
]

ARCHITECTURE = "dav-2201"
#: The function of the launcher library: ``int(uint32_t blocks, void* stream, void* const* arguments)``.
LAUNCHER = "npukb_launch"
_SOURCE = (".cpp", ".cc", ".cxx")
#: What an answer may bring along and the harness writes itself.
_BUILD_FILES = frozenset({"CMakeLists.txt", "CMakePresets.json", "build.sh"})
HOST_COMPILER = "host_compiler.sh"
_CONFIG = re.compile(
    r"(?P<core>(?:this->)?AICore\(\))(?P<calls>[^;\"]*)\.AddConfig\(\s*\"(?P<unit>\w+)\"(?P<more>\s*,[^;)]*)?\)\s*;"
)


class RunMode(str, Enum):
    """``CMAKE_ASC_RUN_MODE``: where the toolkit runs kernels."""

    NPU = "npu"
    CPU = "cpu"
    SIM = "sim"


def direct_launch(
    files: Mapping[str, str], source: str, kernel: str, arguments: Sequence[str], mode: RunMode
) -> dict[str, str]:
    """A project that builds ``source``, which defines ``kernel``, into a launcher library; a program in host modes."""
    cmake = library_cmake(*_LIBRARY) if mode is RunMode.NPU else _PROGRAM_CMAKE
    project = {"CMakeLists.txt": cmake, "launcher.asc": launcher(source, kernel, len(arguments))}
    if mode is not RunMode.NPU:
        project["main.cpp"] = _MAIN.format(count=len(arguments), launcher=LAUNCHER)
    return project | {f"candidate/{name}": text for name, text in files.items()}


def library_cmake(purpose: str, target: str, more: str = "") -> str:
    """A build of the library ``npukb_kernel`` for a device, as the command ``target`` defines it."""
    return _DIRECT_CMAKE.format(name="npukb_kernel", purpose=purpose, target=target, mode=RunMode.NPU.value) + more


def launcher(source: str, kernel: str, count: int) -> str:
    """A source that launches ``kernel``, which takes ``count`` arguments."""
    passed = ", ".join(f"static_cast<GM_ADDR>(arguments[{i}])" for i in range(count))
    return _LAUNCHER.format(source=source, kernel=kernel, passed=passed, launcher=LAUNCHER)


def custom_operator(files: Mapping[str, str], operator: str, vendor: str, unit: str) -> dict[str, str]:
    """A custom-operator project around the candidate's ``op_host`` and ``op_kernel``, without its own build files."""
    own = registered(own_files(files), unit)
    kernel = kernel_file(own, operator)
    folder = str(PurePosixPath(kernel).parent.relative_to("op_kernel")) if kernel else "."
    presets = {
        # the first format of presets, which came with CMake 3.19
        "version": 1,
        "cmakeMinimumRequired": {"major": 3, "minor": 19, "patch": 0},
        "configurePresets": [
            {
                "name": "default",
                "displayName": "Default Config",
                "generator": "Unix Makefiles",
                "binaryDir": "${sourceDir}/build_out",
                "cacheVariables": {
                    "ASCEND_COMPUTE_UNIT": {"type": "STRING", "value": unit},
                    "CMAKE_CXX_COMPILER": {"type": "FILEPATH", "value": f"${{sourceDir}}/{HOST_COMPILER}"},
                    "vendor_name": {"type": "STRING", "value": vendor},
                    "ENABLE_SOURCE_PACKAGE": {"type": "BOOL", "value": "True"},
                    "ENABLE_BINARY_PACKAGE": {"type": "BOOL", "value": "True"},
                },
            }
        ],
    }
    sources = ""
    if kernel and PurePosixPath(kernel).name != f"{snake_case(operator)}.cpp":
        sources = _SOURCES.format(operator=operator, folder=folder, file=PurePosixPath(kernel).name)
    elif folder != ".":
        sources = f"npu_op_kernel_sources(ascendc_kernels KERNEL_DIR ./{folder})\n"
    return {
        **own,
        HOST_COMPILER: HOST_COMPILER_TEXT,
        "CMakeLists.txt": _OPERATOR_CMAKE,
        "CMakePresets.json": json.dumps(presets, indent=4) + "\n",
        "op_host/CMakeLists.txt": _HOST_CMAKE,
        "op_kernel/CMakeLists.txt": _KERNEL_CMAKE.format(sources=sources),
    }


def own_files(files: Mapping[str, str]) -> dict[str, str]:
    """``files`` without what the harness writes itself."""
    return {name: text for name, text in files.items() if PurePosixPath(name).name not in _BUILD_FILES}


def registered(files: Mapping[str, str], unit: str) -> dict[str, str]:
    """``files`` with operators registered for ``unit``, too, where they are for chips with the same cores: the toolkit
    builds nothing for a family that the definition does not name. Lines stay where they are.
    """
    host = {name for name in files if name.startswith("op_host/")}
    named = re.compile(rf'\bAddConfig\(\s*"{unit}"')
    # never twice: no page says what a second registration of a family does
    if unit not in ALIKE_UNITS or any(named.search(files[name]) for name in host):
        return dict(files)

    def both(match: re.Match[str]) -> str:
        if match["unit"] not in ALIKE_UNITS:
            return match[0]
        return f'{match[0]} {match["core"]}.AddConfig("{unit}"{match["more"] or ""});'

    return {name: _CONFIG.sub(both, text) if name in host else text for name, text in files.items()}


def vendor_of(key: str) -> str:
    """A vendor name that no other build has, so that packages never shadow each other."""
    return f"npukb_{key[:16]}"


def snake_case(operator: str) -> str:
    """File and function name of an operator type, by the documented rule: ``AbcAAc`` becomes ``abc_a_ac``."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", operator)
    return re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()


def kernel_file(files: Mapping[str, str], operator: str) -> str:
    """The device source that defines the operator's entry; empty when the toolkit's rule has to find it."""
    entry = re.compile(rf"__global__[^;{{]*\b{re.escape(snake_case(operator))}\s*\(")
    device = [name for name in sorted(files) if name.startswith("op_kernel/") and name.endswith(_SOURCE)]
    return next((name for name in device if entry.search(files[name])), "")


_LAUNCHER = """\
// Generated. Starts the candidate's kernel with untyped device addresses.
#ifdef ASCENDC_CPU_DEBUG
#include "cpu_debug_launch.h"
#endif
#include <cstdint>

#include "candidate/{source}"

extern "C" int {launcher}(uint32_t blocks, void* stream, void* const* arguments) {{
    {kernel}<<<blocks, nullptr, stream>>>({passed});
    return 0;
}}
"""

_DIRECT_CMAKE = """\
# Generated: {purpose}.
cmake_minimum_required(VERSION 3.16)
set(CMAKE_ASC_RUN_MODE "{mode}" CACHE STRING "Run mode: npu, cpu, sim")
set(CMAKE_ASC_ARCHITECTURES "dav-2201" CACHE STRING "NPU architecture")
find_package(ASC REQUIRED HINTS ${{ASCEND_CANN_PACKAGE_PATH}}/compiler/tikcpp/ascendc_kernel_cmake)
project({name} LANGUAGES ASC CXX)
{target}
target_compile_options({name} PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=${{CMAKE_ASC_ARCHITECTURES}}>)
target_include_directories({name} PRIVATE ${{CMAKE_CURRENT_SOURCE_DIR}} ${{CMAKE_CURRENT_SOURCE_DIR}}/candidate)
target_link_libraries({name} PRIVATE tiling_api register platform m dl)
"""

_LIBRARY = "the candidate's kernel and its launcher as a library", "add_library(npukb_kernel SHARED launcher.asc)"

#: For both host modes: the build of a simulation sets the mode on its command line.
_PROGRAM_CMAKE = _DIRECT_CMAKE.format(
    name="npukb_program",
    purpose="the candidate's kernel as a program for the toolkit's own host modes",
    target="add_executable(npukb_program launcher.asc main.cpp)",
    mode=RunMode.CPU.value,
)

_MAIN = """\
// Generated. Arguments: the number of blocks, then per kernel argument its bytes and a file; "-" is a null pointer. A
// file is copied to device memory before the launch and back after it; arguments of one file share that memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "acl/acl.h"

extern "C" int {launcher}(uint32_t blocks, void* stream, void* const* arguments);

namespace {{
constexpr int kCount = {count};

void Check(const char* what, int code) {{
    if (code == 0) return;
    std::fprintf(stderr, "npukb: %s returned %d\\n", what, code);
    std::exit(3);
}}
}}  // namespace

int main(int argc, char** argv) {{
    if (argc != 2 + 2 * kCount) return 2;
    Check("aclInit", aclInit(nullptr));
    Check("aclrtSetDevice", aclrtSetDevice(0));
    aclrtStream stream = nullptr;
    Check("aclrtCreateStream", aclrtCreateStream(&stream));
    std::vector<void*> addresses(kCount, nullptr);
    std::vector<std::vector<uint8_t>> data(kCount);
    for (int i = 0; i < kCount; ++i) {{
        const size_t bytes = std::strtoull(argv[2 + 2 * i], nullptr, 10);
        const char* name = argv[3 + 2 * i];
        if (name[0] == '-' && name[1] == 0) continue;
        int same = 0;
        while (std::strcmp(argv[3 + 2 * same], name) != 0) ++same;
        if (same < i) {{
            addresses[i] = addresses[same];
            continue;
        }}
        data[i].resize(bytes);
        FILE* file = std::fopen(name, "rb");
        if (file == nullptr || std::fread(data[i].data(), 1, bytes, file) != bytes) return 2;
        std::fclose(file);
        Check("aclrtMalloc", aclrtMalloc(&addresses[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        Check("aclrtMemcpy", aclrtMemcpy(addresses[i], bytes, data[i].data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    }}
    Check("launch", {launcher}(static_cast<uint32_t>(std::atoi(argv[1])), stream, addresses.data()));
    Check("aclrtSynchronizeStream", aclrtSynchronizeStream(stream));
    for (int i = 0; i < kCount; ++i) {{
        if (data[i].empty()) continue;
        const size_t bytes = data[i].size();
        Check("aclrtMemcpy", aclrtMemcpy(data[i].data(), bytes, addresses[i], bytes, ACL_MEMCPY_DEVICE_TO_HOST));
        FILE* file = std::fopen(argv[3 + 2 * i], "wb");
        if (file == nullptr || std::fwrite(data[i].data(), 1, bytes, file) != bytes) return 2;
        std::fclose(file);
    }}
    return 0;
}}
"""

#: The toolkit compiles host code with ``-std=c++11``, in some versions after a project's options. The last one counts.
HOST_COMPILER_TEXT = f"""\
#!/bin/sh
# Generated: the host compiler, to the standard that answers are written to.
exec c++ "$@" -std={HOST_STANDARD}
"""

_OPERATOR_CMAKE = """\
# Generated: a custom-operator package around the candidate's host and device code.
cmake_minimum_required(VERSION 3.16.0)
project(opp)
find_package(ASC REQUIRED HINTS ${ASCEND_CANN_PACKAGE_PATH}/compiler/tikcpp/ascendc_kernel_cmake)
set(package_name ${vendor_name})
npu_op_package(${package_name}
    TYPE RUN
    CONFIG
        ENABLE_SOURCE_PACKAGE True
        ENABLE_BINARY_PACKAGE True
        INSTALL_PATH ${CMAKE_BINARY_DIR}/
)
add_subdirectory(op_host)
add_subdirectory(op_kernel)
"""

_HOST_CMAKE = """\
file(GLOB_RECURSE ops_srcs CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/*.cc ${CMAKE_CURRENT_SOURCE_DIR}/*.cxx)
npu_op_code_gen(SRC ${ops_srcs} PACKAGE ${package_name} COMPILE_OPTIONS -g OUT_DIR ${ASCEND_AUTOGEN_PATH})
file(GLOB autogen_aclnn_src ${ASCEND_AUTOGEN_PATH}/aclnn_*.cpp)
set_source_files_properties(${autogen_aclnn_src} PROPERTIES GENERATED TRUE)
npu_op_library(cust_opapi ACLNN ${autogen_aclnn_src})
target_compile_options(cust_opapi PRIVATE -fvisibility=hidden)
file(GLOB proto_src ${ASCEND_AUTOGEN_PATH}/op_proto.cc)
set_source_files_properties(${proto_src} PROPERTIES GENERATED TRUE)
npu_op_library(cust_op_proto GRAPH ${ops_srcs} ${proto_src})
target_compile_options(cust_op_proto PRIVATE -fvisibility=hidden)
file(GLOB fallback_src ${ASCEND_AUTOGEN_PATH}/fallback_*.cpp)
set_source_files_properties(${fallback_src} PROPERTIES GENERATED TRUE)
npu_op_library(cust_optiling TILING ${ops_srcs} ${fallback_src})
target_compile_options(cust_optiling PRIVATE -fvisibility=hidden)
npu_op_package_add(${package_name} LIBRARY cust_optiling cust_opapi cust_op_proto)
"""

_KERNEL_CMAKE = """\
npu_op_kernel_options(ascendc_kernels ALL OPTIONS -g)
{sources}npu_op_kernel_library(ascendc_kernels
    SRC_BASE ${{CMAKE_SOURCE_DIR}}/op_kernel/
    TILING_LIBRARY cust_optiling
)
npu_op_package_add(${{package_name}} LIBRARY ascendc_kernels)
"""

_SOURCES = """\
npu_op_kernel_sources(ascendc_kernels
    OP_TYPE {operator}
    KERNEL_DIR ./{folder}
    KERNEL_FILE {file}
)
"""
