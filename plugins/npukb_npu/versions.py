"""Which torch, torch_npu and CANN belong together, and what differs between toolkits. Not yet run on hardware.

Source: COMPATIBILITY.md and README.md of the torch_npu repository (gitcode.com/Ascend/pytorch), section on versions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["DIFFERENCES", "MATCHES", "Difference", "Match", "mismatch"]


class Match(NamedTuple):
    """One documented row: a torch_npu package, the torch it is for, and the CANN versions it was released with."""

    torch_npu: str
    torch: str
    cann: str


MATCHES: tuple[Match, ...] = (
    Match("2.12.0.post2", "2.12.0", "9.1"),
    Match("2.11.0.post2", "2.11.0", "9.1"),
    Match("2.10.0.post6", "2.10.0", "9.1"),
    Match("2.9.0.post8", "2.9.0", "9.1"),
    Match("2.7.1.post10", "2.7.1", "9.1"),
    Match("2.12.0", "2.12.0", "9.1.0"),
    Match("2.11.0", "2.11.0", "9.1.0"),
    Match("2.10.0.post4", "2.10.0", "9.1.0"),
    Match("2.9.0.post6", "2.9.0", "9.1.0"),
    Match("2.7.1.post8", "2.7.1", "9.1.0"),
    Match("2.10.0", "2.10.0", "9.0.0"),
    Match("2.9.0.post2", "2.9.0", "9.0.0"),
    Match("2.8.0.post4", "2.8.0", "9.0.0"),
    Match("2.7.1.post4", "2.7.1", "9.0.0"),
    Match("2.9.0", "2.9.0", "8.5.0"),
    Match("2.8.0.post2", "2.8.0", "8.5.0"),
    Match("2.7.1.post2", "2.7.1", "8.5.0"),
    Match("2.6.0.post5", "2.6.0", "8.5.0"),
    Match("2.8.0", "2.8.0", "8.3.RC1"),
)


class Difference(NamedTuple):
    """What differs between toolkits, and what the plugin looks at instead of a version number. Read, not run."""

    what: str
    until_83: str
    from_85: str
    from_90: str
    probe: str
    page: str


DIFFERENCES: tuple[Difference, ...] = (
    Difference(
        "folder", "`ascend-toolkit/latest`", "`cann`", "`cann`",
        "`ASCEND_HOME_PATH`, `ASCEND_TOOLKIT_HOME`; for the remedy both places", "softwareinst/instg",
    ),
    Difference(
        "version file", "`compiler/version.info`, `ARCH-linux/ascend_toolkit_install.info`",
        "`share/info/*/version.info`", "`share/info/*/version.info`", "each that is there, the newest first",
        "softwareinst/instg",
    ),
    Difference(
        "CMake package `ASC`", "from 8.3 for operator projects only", "with the language `ASC`", "the same",
        "`ASCConfig.cmake`; without it builds are refused", "opdevg/Ascendcopdevg/atlas_ascendc_10_00035",
    ),
    Difference(
        "architecture", "`--cce-aicore-arch=dav-c220`", "`--npu-arch=dav-2201`", "`--npu-arch=dav-2201`",
        "none: goes with the language `ASC`", "opdevg/Ascendcopdevg/atlas_ascendc_10_00039",
    ),
    Difference(
        "standard of host code", "`-std=c++11`", "`-std=c++11`", "not documented",
        "none: the host compiler is a script that says `-std=c++17` last", "public func.cmake of operator projects",
    ),
    Difference(
        "runtime library", "`libascendcl.so`", "`libacl_rt.so`", "`libacl_rt.so`", "the first that is there",
        "cann/runtime docs",
    ),
    Difference(
        "time-out of kernels", "`aclrtSetOpExecuteTimeOut`, seconds", "`…V2`, microseconds", "`…V2`, microseconds",
        "the functions of the library", "API/runtimeapi/aclcppdevg_03_1986",
    ),
    Difference(
        "profiler of single launches", "`msprof op`", "`msprof op`, `msopprof`", "`msopprof`, `msprof op`",
        "the first on the path; options that `--help` names", "gitcode.com/Ascend/msopprof user guide",
    ),
    Difference(
        "number of blocks in tables", "`Block Dim`", "`Block Dim`", "`Block Dim` or `Block Num`",
        "columns by name, in any order", "devaids/optool/atlasopdev_16_0098",
    ),
    Difference(
        "names of chips", "`910B3`", "A2 `910B3`, A3 `Ascend910` and an NPU Name", "the same",
        "both fields of `npu-smi info -t board`", "API/ascendcopapi/atlasascendc_api_07_1029",
    ),
)  # fmt: skip


def mismatch(torch: str, torch_npu: str, cann: str) -> str:
    """What does not fit, in one sentence; empty when the documented table has the combination or does not know it."""
    torch, torch_npu = torch.partition("+")[0], torch_npu.partition("+")[0]
    base = re.sub(r"\.(post|rc|dev)\d+$", "", torch_npu)
    if base != torch:
        return f"torch_npu {torch_npu} is for torch {base}, but torch {torch} is installed"
    known = [one for one in MATCHES if one.torch_npu == torch_npu]
    if known and cann and not any(_same(cann, one.cann) for one in known):
        wanted = " or ".join(one.cann for one in known)
        return f"torch_npu {torch_npu} was released with CANN {wanted}, but CANN {cann} is installed"
    return ""


def _same(installed: str, documented: str) -> bool:
    """Whether the installed version is the documented one; a documented ``9.1`` takes every ``9.1.x``."""
    first = [part.lower() for part in installed.split(".")]
    second = [part.lower() for part in documented.split(".")]
    return first[: len(second)] == second
