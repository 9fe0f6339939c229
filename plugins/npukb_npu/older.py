"""Projects for toolkits without the CMake package ``ASC``: CANN 8.0 to 8.2.

Direct launch includes the toolkit's ``ascendc.cmake``. The project of an operator is written by the toolkit's own
``msopgen`` while it is built; then :mod:`npukb_npu.fill_project` puts the answer's sources into it. Nothing of what the
generator writes is kept here. Read, not run: not yet run with a toolkit; ``docs/npu.md`` names the pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from npukb_npu import packages, projects

__all__ = ["custom_operator", "direct_launch", "steps"]

_FILL = "fill_project.py"
_GENERATED = "generated"

_DIRECT_CMAKE = """\
# Generated: the candidate's kernel and its launcher as a library, for toolkits without the CMake package ASC.
cmake_minimum_required(VERSION 3.16)
project(npukb_kernel LANGUAGES C CXX)
set(RUN_MODE "npu" CACHE STRING "Run mode: npu")
set(CMAKE_BUILD_TYPE "Release" CACHE STRING "Build type" FORCE)
set(CMAKE_INSTALL_PREFIX "${CMAKE_BINARY_DIR}/out" CACHE STRING "Where nothing is installed" FORCE)
include(${ASCENDC_CMAKE_DIR}/ascendc.cmake)
ascendc_library(npukb_kernel SHARED launcher.cpp)
ascendc_include_directories(npukb_kernel PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/candidate)
"""


def direct_launch(files: Mapping[str, str], source: str, kernel: str, arguments: Sequence[str]) -> dict[str, str]:
    """A project that builds ``source``, which defines ``kernel``, into a launcher library."""
    launcher = projects.launcher(source, kernel, len(arguments))
    answer = {f"candidate/{name}": text for name, text in files.items()}
    return {"CMakeLists.txt": _DIRECT_CMAKE, "launcher.cpp": launcher, **answer}


def custom_operator(files: Mapping[str, str], operator: str, vendor: str, unit: str, home: str) -> dict[str, str]:
    """What is there before ``msopgen`` has run: the answer, our settings, and what the generator asks for.

    The generator needs an operator's interface for the stubs that it writes. They are thrown away: any will do.
    """
    own = projects.registered(projects.own_files(files), unit)
    name = f"op_kernel/{projects.snake_case(operator)}.cpp"
    kernel = projects.kernel_file(own, operator)
    if kernel and kernel != name:  # these projects look for a kernel in this place alone
        inside = PurePosixPath(kernel).relative_to("op_kernel")
        own[name] = f'#include "{inside}"\n'
    argument = {"param_type": "required", "format": ["ND"], "type": ["float"]}
    interface = {
        "op": operator, "input_desc": [{"name": "x", **argument}], "output_desc": [{"name": "y", **argument}]
    }  # fmt: skip
    settings = {
        "ASCEND_CANN_PACKAGE_PATH": home,
        "ASCEND_COMPUTE_UNIT": unit,
        # the generated project lies one folder below the build's own
        "CMAKE_CXX_COMPILER": f"${{sourceDir}}/../{projects.HOST_COMPILER}",
        "vendor_name": vendor,
    }
    return {
        **{f"candidate/{file}": text for file, text in own.items()},
        "operator.json": json.dumps([interface], indent=1) + "\n",
        "settings.json": json.dumps(settings, indent=1) + "\n",
        projects.HOST_COMPILER: projects.HOST_COMPILER_TEXT,
        _FILL: Path(__file__).with_name(_FILL).read_text(encoding="utf-8"),
    }


def steps(generator: str, chip: str) -> tuple[tuple[str, ...], ...]:
    """The steps that make a package of :func:`custom_operator` and install it."""
    unit = f"ai_core-Ascend{chip}"
    return (
        (generator, "gen", "-i", "operator.json", "-c", unit, "-lan", "cpp", "-out", f"{{work}}/{_GENERATED}"),
        ("python3", _FILL, _GENERATED, "candidate", "settings.json"),
        ("bash", "-c", f"cd {_GENERATED} && bash ./build.sh"),
        packages.step(f"{_GENERATED}/build_out"),
    )
