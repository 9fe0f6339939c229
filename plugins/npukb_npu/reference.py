"""Everything of the vendor's that is used, each with the page that documents it: ``docs/npu.md`` prints these tables.
What a calibration measures is among them.

``python -m npukb_npu.reference docs/npu.md`` writes them anew between their marks; a test compares. Not yet run on
hardware.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from npukb_npu.acl import FUNCTIONS, META_FUNCTIONS, Function
from npukb_npu.codes import ACLNN_CODES, CODES
from npukb_npu.codes import PAGES as CODE_PAGES
from npukb_npu.msprof import COLUMNS
from npukb_npu.msprof import PAGES as COLUMN_PAGES
from npukb_npu.rows import table
from npukb_npu.versions import DIFFERENCES, MATCHES

__all__ = ["BUILD", "ENVIRONMENT", "TOOLS", "Entry", "embedded", "tables"]

_MOST_ROWS = 3  # that a number names
_BEGIN, _END = "<!-- reference: begin -->", "<!-- reference: end -->"
_GUIDE = "cann/asc-devkit docs/guide/编程指南"
_BUILDING = f"{_GUIDE}/编译与运行/算子编译/AI-Core算子编译基本用法.md"
_CPU_MODE = f"{_GUIDE}/调试调优/功能调试/CPU域孪生调试.md"
_TUNING = f"{_GUIDE}/调试调优/性能调优.md"
_ASC = "hiascend.com programug/Ascendcopdevg/atlas_ascendc_10_00039"
_PROJECT = "hiascend.com programug/Ascendcopdevg/atlas_ascendc_10_00035"
_PACKAGE = "cann/asc-devkit 算子包部署.md"
_ENVIRONMENT = "hiascend.com envref"
_SMI = "support.huawei.com npu-smi npusmi"
_CONTAINER = "hiascend.com dlug/dlug_guide_03_000105"


class Entry(NamedTuple):
    """A name, what it is used for, and its page."""

    name: str
    use: str
    page: str


#: Commands, variables and targets of generated projects, and what generated sources use.
BUILD: Sequence[Entry] = (
    Entry("find_package(ASC)", "the toolkit's CMake package, language `ASC`", _ASC),
    Entry("ASCEND_CANN_PACKAGE_PATH", "the toolkit's folder", _PROJECT),
    Entry("--npu-arch=dav-2201", "architecture, an option of the compiler", _BUILDING),
    Entry("CMAKE_ASC_RUN_MODE", "`npu`, `cpu` or `sim`", _CPU_MODE),
    Entry("CMAKE_ASC_ARCHITECTURES", "architecture in host modes", _CPU_MODE),
    Entry("ASCENDC_CPU_DEBUG", "defined in CPU mode; then `cpu_debug_launch.h`", _CPU_MODE),
    Entry("tiling_api, register, platform", "libraries to link", _BUILDING),
    Entry("kernel<<<blocks, nullptr, stream>>>(…)", "launch", f"{_GUIDE} 核函数.md, 基于样例工程完成Kernel直调.md"),
    Entry(
        "aclrtSynchronizeStream, ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST",
        "generated program of host modes, beside functions below",
        _CPU_MODE,
    ),
    Entry("npu_op_package", "the package of an operator project", _PROJECT),
    Entry("npu_op_package_add", "adds libraries to the package", _PROJECT),
    Entry("npu_op_code_gen", "generates the aclnn interface from definitions", _PROJECT),
    Entry("npu_op_library", "libraries `ACLNN`, `GRAPH`, `TILING`", _PROJECT),
    Entry("npu_op_kernel_options", "options of kernels", _PROJECT),
    Entry("npu_op_kernel_sources", "file of a kernel that is named or placed otherwise", _PROJECT),
    Entry("npu_op_kernel_library", "kernels", _PROJECT),
    Entry("ENABLE_SOURCE_PACKAGE, ENABLE_BINARY_PACKAGE, INSTALL_PATH", "what a package holds and where", _PROJECT),
    Entry("vendor_name", "name that keeps packages apart", _PROJECT),
    Entry("CMAKE_CXX_COMPILER", "a script that sets the standard of host code, after the toolkit's options", _PROJECT),
    Entry("OutputShapeDependOnCompute", "an output whose shape the kernel tells", f"{_GUIDE} 算子原型定义.md"),
    Entry("ASCEND_COMPUTE_UNIT", "`ascend910b` or `ascend910_93`", _PROJECT),
    Entry("ASCEND_AUTOGEN_PATH", "folder of generated sources", _PROJECT),
    Entry("--preset=default; targets binary, package", "steps of the build", _PROJECT),
    Entry("custom_opp_*.run --install-path", "installs a package into a folder", _PACKAGE),
    Entry("vendors/NAME/op_api/{include,lib}", "layout of what was installed", _PACKAGE),
    Entry("aclnnXxxGetWorkspaceSize, aclnnXxx", "the two phases of a call", f"{_GUIDE} 单算子API调用.md"),
    Entry("AbcAAc → abc_a_ac", "file and kernel of an operator type", f"{_GUIDE} 算子原型定义.md"),
    Entry("libcust_opapi.so", "library of the interface", _PACKAGE),
)

#: Variables of the environment that are read or set.
ENVIRONMENT: Sequence[Entry] = (
    Entry("ASCEND_HOME_PATH", "read: the toolkit, set by `set_env.sh`", "hiascend.com toolboxug_0203"),
    Entry("ASCEND_TOOLKIT_HOME", "read: the same in older `set_env.sh`", f"{_ENVIRONMENT}_07_0001"),
    Entry(
        "ASCEND_CUSTOM_OPP_PATH",
        "set: the installed package, `…/vendors/NAME`; of the user's own nothing is taken over",
        "hiascend.com maintenref/envvar/envref_07_0147",
    ),
    Entry(
        "ASCEND_RT_VISIBLE_DEVICES",
        "read: which devices there are; their numbers are indices into it",
        "hiascend.com maintenref/envvar/envref_07_0028",
    ),
    Entry("ASCEND_PROCESS_LOG_PATH", "set: private folder", f"{_ENVIRONMENT}_07_0120"),
    Entry("ASCEND_CACHE_PATH", "set: private folder", f"{_ENVIRONMENT}_07_0006"),
    Entry("ASCEND_WORK_PATH", "set: private folder", f"{_ENVIRONMENT}_07_0007"),
    Entry("ASCENDC_BUILD_LOG_DIR", "set: private folder", f"{_GUIDE} 算子工程编译.md"),
    Entry("TOOLCHAIN_HOME, BISHENG_INSTALL_PATH", "passed on to builds", f"{_ENVIRONMENT}_07_0001"),
)

#: Tools, files and nodes.
TOOLS: Sequence[Entry] = (
    Entry("npu-smi info -l", "devices", f"{_SMI}_005"),
    Entry("npu-smi info -m", "card and chip of every device: `Chip Logic ID`", f"{_SMI}_006"),
    Entry("npu-smi info -t health -i CARD -c CHIP", "health of a device", f"{_SMI}_027"),
    Entry(
        "npu-smi info -t board -i CARD -c CHIP",
        "`Chip Name`; on A3 `Ascend910`, and `NPU Name` tells the rest",
        "hiascend.com API/ascendcopapi/atlasascendc_api_07_1029",
    ),
    Entry("/usr/local/Ascend/driver/version.info", "version of the driver", _CONTAINER),
    Entry("/dev/davinciN, davinci_manager, devmm_svm, hisi_hdc", "device nodes", _CONTAINER),
    Entry(
        "msprof op, msopprof: --output --kernel-name --warm-up --launch-count",
        "counters of one launch: `OPPROF_*`; options that `--help` does not name are left out",
        "gitcode.com/Ascend/msopprof docs/zh/user_guide/msopprof_user_guide.md",
    ),
    Entry(
        "attrs, decorator, psutil",
        "what the toolkit's scripts import, beside others",
        "hiascend.com softwareinst/instg/instg_0045",
    ),
    Entry("msprof op simulator --soc-version=CHIP", "simulated launch: `*code_exe.csv`", _TUNING),
    Entry(
        "torch_npu.npu: Event, get_device_name, set_device, synchronize",
        "eager baseline",
        "gitcode.com/Ascend/pytorch, the wheel's torch_npu/npu/__init__.py",
    ),
    Entry(
        "torch_npu.npu: current_stream, set_device; npu_stream of a stream",
        "memory and stream of operators",
        "gitcode.com/Ascend/pytorch, the wheel's torch_npu/npu/__init__.py and streams.py",
    ),
    Entry("running_time(us)", "column of `*code_exe.csv`", _TUNING),
)


def tables() -> str:
    """All tables as markdown."""
    return "\n".join(_sections()).rstrip() + "\n"


def _sections() -> Iterator[str]:
    yield from _table("Functions of the runtime", ("function", "page"), _functions(FUNCTIONS))
    yield from _table("Functions that describe arguments", ("function", "page"), _functions(META_FUNCTIONS))
    yield from _table("Builds", ("name", "use", "page"), ((f"`{a}`", b, c) for a, b, c in BUILD))
    yield from _table("Environment", ("variable", "use", "page"), ((f"`{a}`", b, c) for a, b, c in ENVIRONMENT))
    yield from _table("Tools, files and nodes", ("name", "use", "page"), ((f"`{a}`", b, c) for a, b, c in TOOLS))
    columns = ((f"`{one.name}`", one.table, one.join.value, COLUMN_PAGES[one.table]) for one in COLUMNS)
    yield from _table("Columns of the profiler", ("column", "table", "over cores", "page"), columns)
    basic = (
        (f"`{name}`", "OpBasicInfo.csv, op_summary_*.csv", COLUMN_PAGES["OpBasicInfo.csv"])
        for name in ("Op Name", "Task Duration", "Block Dim", "Current Freq")
    )
    yield from _table("Columns of a whole launch", ("column", "table", "page"), basic)
    for title, codes, page in (("Codes of the runtime", CODES, "runtime"), ("Codes of aclnn", ACLNN_CODES, "aclnn")):
        yield from _table(
            f"{title} ({CODE_PAGES[page]})",
            ("code", "name", "meaning", "says something about"),
            ((str(code), f"`{one.name}`", one.meaning, one.blame.value) for code, one in sorted(codes.items())),
        )
    yield from _numbers()
    yield from _table(
        "Toolkits: what differs, and what is looked at (read, not run)",
        ("what", "CANN 8.0 to 8.3", "8.5", "9.x", "looked at", "page"),
        DIFFERENCES,
    )
    rows = ((one.torch_npu, one.torch, one.cann) for one in MATCHES)
    yield from _table("torch_npu, torch and CANN (gitcode.com/Ascend/pytorch)", ("torch_npu", "torch", "CANN"), rows)


def _numbers() -> Iterator[str]:
    """What ``npukb calibrate`` measures, and what it does not."""
    known = table()
    yield from _table(
        "Numbers that `npukb calibrate` measures",
        ("number", "enters as", "rows"),
        ((f"`{name}`", enters.value, _named(name)) for name, enters in known.numbers.items()),
    )
    rated = sorted({row.rate for row in known.measured if row.rate})
    yield f"And the throughputs of {len(rated)} instructions: {', '.join(f'`{one}`' for one in rated)}.\n"
    why = ((f"`{name}`", reason) for name, reason in known.unmeasured.items())
    yield from _table("Numbers that it does not measure", ("number", "why"), why)


def _named(number: str) -> str:
    rows = [row.what for row in table().rows_of(number)]
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return "; ".join(rows[:_MOST_ROWS]) + more


def _functions(functions: Mapping[str, Function]) -> Iterator[tuple[str, str]]:
    for name, function in functions.items():
        yield f"`{name}`", function.page


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def embedded(page: str) -> str:
    """``page`` with the tables of today between their marks."""
    before, _, rest = page.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}\n\n{tables()}\n{_END}{after}"


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(embedded(document.read_text(encoding="utf-8")), encoding="utf-8")
