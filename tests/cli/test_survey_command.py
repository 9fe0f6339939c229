"""``npukb survey``: a folder of projects of our own, compiled as they lie."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from npukb_conformance.survey.compiling import find
from npukb_conformance.survey.entries import Entry, entries_of
from npukb_conformance.survey.sources import Tree
from npukb_conformance.survey.values import of_another
from tests.twin.hosting import DEFINITION, ONE_CORE

ROOT = Path(__file__).resolve().parents[2]

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void NAME(GM_ADDR x, GM_ADDR y) {
    GlobalTensor<int32_t> out;
    out.SetGlobalBuffer((__gm__ int32_t*)y);
    if (GetBlockIdx() == 0) out.SetValue(0, BODY);
}
"""
#: A function of the kernel's own for two equal types, and a call with two others.
OWN = KERNEL.replace(
    "extern", "template <typename T>\n__aicore__ inline T CeilDiv(T a, T b) { return a / b; }\nextern", 1
)

OPERATOR = (
    """#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "common/shared.h"
#include "log/ops_log.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF(uint32_t, length);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Probe, ProbeTilingData)
static ge::graphStatus Cut(gert::TilingContext* context) {
    if (unlikely(context->GetInputStride(0) != nullptr)) return ge::GRAPH_FAILED;
    OPS_LOG_I("a message alone");
    ProbeTilingData tiling;
    tiling.set_length(Twice(21) * sizeof(half));
"""
    + ONE_CORE
    + DEFINITION.format(
        body="""
    this->Input("x").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
    this->AICore().SetTiling(optiling::Cut);
    this->AICore().AddConfig("ascend910b");
"""
    )
)
DEVICE = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    AscendC::GlobalTensor<DTYPE_Y> out;
    out.SetGlobalBuffer((__gm__ DTYPE_Y*)y);
    if (AscendC::GetBlockIdx() == 0) out.SetValue(0, static_cast<DTYPE_Y>(data.length));
}
"""
#: What kernels keep from debugging on a CPU; no operator's build launches it.
DEBUGGED = """#ifndef __CCE_KT_TEST__
void probe_do(uint32_t blocks, void* l2ctrl, void* stream, uint8_t* x, uint8_t* y, uint8_t* w, uint8_t* t) {
    probe<<<blocks, l2ctrl, stream>>>(x, y, w, t);
}
#endif
"""
#: An application's function beside a definition.
CALLER = """#include "acl/acl.h"
extern "C" void aclrtlaunch_probe(uint32_t blocks, void* stream, void* x, void* y, void* workspace, void* tiling);
int RunProbe(void* stream, void* x, void* y) {
    if (x == nullptr) return ACL_ERROR_INVALID_PARAM;
    aclrtlaunch_probe(8, stream, x, y, nullptr, nullptr);
    return ACL_SUCCESS;
}
"""
CLEAN = "\n    AscendC::DataCacheCleanAndInvalid<DTYPE_Y, AscendC::CacheLine::SINGLE_CACHE_LINE>(out);"
SAMPLE = OPERATOR.replace('#include "common/shared.h"\n', "").replace("ge::DT_FLOAT, ", "")
LAUNCH = """#include "acl/acl.h"
#include "kernel_operator.h"
#define __aicore__ [aicore]
#define FILL(T) extern "C" __global__ __aicore__ void fill_##T(__gm__ T* y, T value) { *y = value; }
FILL(float)
FILL(int32_t)
void fill_do(uint32_t blocks, void* stream, void* y) { fill_float<<<blocks, nullptr, stream>>>((float*)y, 1.0f); }
"""
#: A template that the file which includes it gives its arguments.
PART = """#include "kernel_operator.h"
template <typename T>
__global__ __aicore__ void part(GM_ADDR x, GM_ADDR y) {
    *reinterpret_cast<__gm__ T*>(y) = 1;
}
"""
WHOLE = """extern "C" __global__ __aicore__ void whole(GM_ADDR x, GM_ADDR y) {
    if (AscendC::GetBlockIdx() == 0) *reinterpret_cast<__gm__ float*>(y) = 1;
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "plain/good.cpp": KERNEL.replace("NAME", "good").replace("BODY", "1"),
        "plain/lent.cpp": OWN.replace("NAME", "lent").replace("BODY", "CeilDiv(uint32_t(7), 2)"),
        "plain/invented.cpp": KERNEL.replace("NAME", "invented").replace("BODY", "Invented(1)"),
        "third/uses.cpp": '#include "somebody/gemm.hpp"\n' + KERNEL.replace("NAME", "uses").replace("BODY", "1"),
        "ranks/all.cpp": KERNEL.replace("NAME", "all").replace("BODY", "Hccl<>().GetWindowsInAddr(1) != nullptr"),
        "ops/probe/op_host/probe.cpp": OPERATOR,
        "ops/probe/op_host/probe_caller.cpp": CALLER,
        "ops/probe/op_kernel/probe.cpp": DEVICE + DEBUGGED,
        "ops/probe/more/probe.cpp": DEVICE,
        "plain/lost.cpp": '#include "lost_types.h"\n' + KERNEL.replace("NAME", "lost").replace("BODY", "1"),
        "shared/include/common/shared.h": "#pragma once\nint Twice(int x);\n",
        "shared/src/twice.cpp": '#include "common/shared.h"\nint Twice(int x) { return 2 * x; }\n',
        "launch/fill.cpp": LAUNCH,
        "launch/cceprint/fill_0.cce": '#error "what a run on a CPU noted"\n' + KERNEL.replace("NAME", "fill_0"),
        "parts/part.cpp": PART,
        "parts/whole.cpp": PART.partition("template")[0] + '#include "part.cpp"\n' + WHOLE,
        "tests/broken.cpp": KERNEL,
    }
    for name, text in files.items():
        path = tmp_path / "folder" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "folder"


def test_every_project_is_compiled_as_it_lies(npukb, folder: Path) -> None:
    """Static, launched and operator kernels, a shared source, two types each; the misses by name and by kind."""
    finished = npukb("survey", folder, "--json", "--types", "2", "--jobs", "2")
    assert finished.code == 0, finished.err
    rows = {(row["side"], row["file"]): row for row in finished.json}
    seen = {key: row["track"] if row["compiles"] else row["missing"] for key, row in rows.items()}
    assert seen == {
        ("device", "plain/good.cpp"): "static",
        ("device", "parts/whole.cpp"): "static",
        ("device", "plain/lent.cpp"): "static",
        ("device", "plain/invented.cpp"): "Invented",
        ("device", "third/uses.cpp"): "somebody/gemm.hpp",
        ("device", "ranks/all.cpp"): "GetWindowsInAddr",
        ("device", "plain/lost.cpp"): "lost_types.h",
        ("host", "ops/probe"): "launch",
        ("device", "ops/probe/more/probe.cpp"): "dynamic",
        ("device", "ops/probe/op_kernel/probe.cpp"): "dynamic",
        ("host", "launch"): "launch",
        ("device", "launch/fill.cpp"): "launch",
    }, finished.out
    assert {key[1]: row["beyond"] for key, row in rows.items() if not row["compiles"]} == {
        "plain/invented.cpp": "",
        "plain/lost.cpp": "third party",
        "third/uses.cpp": "third party",
        "ranks/all.cpp": "several ranks",
    }
    hosts = [(row["track"], row["compiles"]) for row in finished.json if row["file"] == "ops/probe"]
    assert hosts == [("dynamic", True), ("launch", True)]
    assert rows["device", "ops/probe/op_kernel/probe.cpp"]["compilations"] == 2
    assert rows["device", "launch/fill.cpp"]["compilations"] == 2


#: A family of operators: a macro of the project defines each, and one shared source holds their tiling functions.
FAMILY = {
    "ops/twice_all/op_host/twice_all.cpp": '#include "family/define.h"\nDEFINE_ONE(TwiceAll)\n',
    "ops/twice_all/op_kernel/twice_all.cpp": DEVICE.replace("probe(", "twice_all("),
    "common/inc/family/define.h": """#pragma once
#include "register/op_def_registry.h"
#define DEFINE_ONE(NAME)                                                                             \\
    namespace ops {                                                                                  \\
    class NAME : public OpDef {                                                                      \\
      public:                                                                                        \\
        explicit NAME(const char* name) : OpDef(name) {                                              \\
            this->Input("x").DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});     \\
            this->Output("y").DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});    \\
            this->AICore().AddConfig("ascend910b");                                                  \\
        }                                                                                            \\
    };                                                                                               \\
    OP_ADD(NAME);                                                                                    \\
    }
""",
    "common/inc/family/tiling.h": """#pragma once
#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(FamilyTilingData)
TILING_DATA_FIELD_DEF(uint32_t, length);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(TwiceAll, FamilyTilingData)
}
""",
    "common/src/family/tiling.cpp": """#include "family/tiling.h"
namespace optiling {
static ge::graphStatus Cut(gert::TilingContext* context) {
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
IMPL_OP_OPTILING(TwiceAll).Tiling(Cut);
IMPL_OP_OPTILING(ThriceAll).Tiling(Cut);
}
""",
}
FAMILY["common/family_example/twice_all/op_host/tiling.cpp"] = (
    FAMILY["common/src/family/tiling.cpp"].replace("uint32_t", "no_type").replace("SetBlockDim(1)", "NoFunction()")
)


def test_a_family_shares_the_source_of_its_tiling_functions(npukb, tmp_path: Path) -> None:
    for name, text in FAMILY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    finished = npukb("survey", tmp_path, "--json", "--types", "2")
    assert [(row["side"], row["track"], row["missing"], row["compilations"]) for row in finished.json] == [
        ("host", "dynamic", "", 1),
        ("device", "dynamic", "", 2),
    ], finished.out


@pytest.mark.parametrize("wide", ["4", "(4)", " (2 + 2)"])
def test_a_kernel_needs_no_more_of_a_host_side_than_its_structures(npukb, tmp_path: Path, wide: str) -> None:
    """A tiling function that does not compile is the host side's fault alone."""
    nested = """constexpr uint32_t COUNT = 2 * WIDE;
BEGIN_TILING_DATA_DEF(Inner)
TILING_DATA_FIELD_DEF_ARR(int32_t, COUNT, numbers);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(InnerOp, Inner)
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF_STRUCT(Inner, inner);
"""
    broken = SAMPLE.replace("BEGIN_TILING_DATA_DEF(ProbeTilingData)\n", nested)
    broken = broken.replace("Twice(21)", "ForeignFunction(21)").replace("namespace optiling {", "NAMESPACE", 1)
    host = broken.replace("NAMESPACE", f'#include "somebody/else.hpp"\n#define WIDE {wide}\nnamespace optiling {{')
    device = DEVICE.replace("data.length", "data.length + data.inner.numbers[7]")
    for name, text in {"op_host/probe.cpp": host, "op_kernel/probe.cpp": device}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rows = npukb("survey", tmp_path, "--json").json
    assert [(row["side"], row["missing"]) for row in rows] == [("host", "somebody/else.hpp"), ("device", "")], rows
    (tmp_path / "op_kernel/probe.cpp").write_text(device.replace("numbers", "letters"))
    rows = npukb("survey", tmp_path, "--json").json
    assert "letters" in rows[1]["message"]


def test_a_definition_counts_where_another_source_includes_what_is_nowhere(npukb, tmp_path: Path) -> None:
    """Its kernels get its types."""
    head, _, definition = SAMPLE.partition("namespace ops {")
    files = {
        "op_host/probe_def.cpp": '#include "register/op_def_registry.h"\nnamespace ops {'
        + definition.replace("this->AICore().SetTiling(optiling::Cut);", ""),
        "op_host/probe_tiling.cpp": '#include "probe_tiling.h"\n',
        "op_host/probe_tiling.h": f'#include "somebody/else.hpp"\n{head}',
        "op_kernel/probe.cpp": KERNEL.replace("NAME", "probe").replace("BODY", "1")
        + "#if ORIG_DTYPE_X != DT_INT32\n#error unknown\n#endif\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    rows = npukb("survey", tmp_path, "--json").json
    assert [(row["side"], row["missing"]) for row in rows] == [("host", "somebody/else.hpp"), ("device", "")], rows


def test_sources_of_other_operators_are_left_out_and_headers_are_not() -> None:
    assert of_another("Own", "op_host/other.cpp", "OP_ADD(Other);")
    assert not of_another("Own", "op_host/own.cpp", "OP_ADD(Own); OP_ADD(Other);")
    assert not of_another("Own", "include/define.h", "#define DEFINE(NAME) OP_ADD(All##NAME);")


def test_a_survey_is_for_a_machine(npukb, folder: Path) -> None:
    assert npukb("survey", folder, "--only", "plain", "--soc", "ascend910b3").code == 0
    refused = npukb("survey", folder, "--only", "plain", "--soc", "ascend910x")
    assert refused.code != 0
    assert "ascend910x" in refused.err


def test_tables_count_what_each_name_holds_back(npukb, folder: Path) -> None:
    finished = npukb("survey", folder, "--only", "plain")
    assert "device files that compile: 2 of 3 (set aside: 1 third party)" in finished.out
    assert "Invented" in finished.out
    refused = npukb("survey", folder / "shared")
    assert refused.code == 2
    assert "there is no kernel" in refused.err


GEN_DATA = """import os
import numpy as np
os.makedirs("input", exist_ok=True)
os.makedirs("output", exist_ok=True)
x = np.arange(8, dtype=np.int32)
x.tofile("input/x.bin")
(x[7:] + RIGHT).tofile("output/golden_y.bin")
"""
NUMBER = """#include "acl/acl.h"
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void number(GM_ADDR x, GM_ADDR y) {
    AscendC::GlobalTensor<int32_t> in, out;
    in.SetGlobalBuffer((__gm__ int32_t*)x);
    out.SetGlobalBuffer((__gm__ int32_t*)y);
    if (AscendC::GetBlockIdx() == 0) {
        out.SetValue(0, in.GetValue(7) + 42);
        AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE>(out);
    }
}
void number_do(uint32_t blocks, void* stream, void* x, void* y) { number<<<blocks, nullptr, stream>>>(x, y); }
"""


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """Our own kernels as a repository: of tasks, one of them broken, and with scripts that write data."""
    root, tasks = tmp_path / "answered", ROOT / "tasks"
    shutil.copytree(tasks / "golden_common/elementwise", root / "common/elementwise")
    shutil.copytree(tasks / "golden_common/work_split", root / "common/work_split")
    for name in ("neg", "sqrt"):
        shutil.copytree(tasks / "level1/math" / name / "golden/dynamic", root / name)
    broken = root / "neg/op_kernel/neg.cpp"
    broken.write_text(broken.read_text().replace("static_cast<Wide>(-1)", "static_cast<Wide>(-2)"))
    broken.write_text(broken.read_text().replace("static_cast<T>(-1)", "static_cast<T>(-2)"))
    files = {
        "other/op_host/sqrt.cpp": SAMPLE.replace("Probe", "Sqrt").replace('Input("x")', 'Input("a")'),
        "other/op_kernel/sqrt.cpp": DEVICE.replace("probe(", "sqrt("),
        "alone/good.cpp": KERNEL.replace("NAME", "good").replace("BODY", "1"),
        "dumb/number.cpp": NUMBER,
        "right/number.cpp": NUMBER,
        "right/launch.yaml": "arguments: [blocks, stream, x, y]\n",
        "right/scripts/gen_data.py": GEN_DATA.replace("RIGHT", "42"),
        "wrong/number.cpp": NUMBER,
        "wrong/launch.yaml": "arguments: [blocks, stream, x, y]\n",
        "wrong/scripts/gen_data.py": GEN_DATA.replace("RIGHT", "43"),
        "sample/Probe/op_host/probe.cpp": SAMPLE,
        "sample/Probe/op_kernel/probe.cpp": DEVICE.replace("length));", f"length + ((__gm__ int32_t*)x)[7]));{CLEAN}"),
        "sample/Call/gen_data.py": GEN_DATA.replace("RIGHT", "84"),
        "between/Probe/op_host/probe.cpp": SAMPLE,
        "between/Probe/op_host/op_api/aclnn_probe.cpp": "int aclnnProbeGetWorkspaceSize(int x, int y) { return x; }",
        "between/Probe/op_kernel/probe.cpp": DEVICE,
        "between/Probe/gen_data.py": GEN_DATA.replace("RIGHT", "84"),
        "failing/Probe/op_host/probe.cpp": SAMPLE,
        "failing/Probe/op_kernel/probe.cpp": DEVICE,
        "failing/Probe/examples/call/script/gen_data.py": "raise SystemExit('no numbers today')",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text.replace("Twice(21)", "42"))
    return root


def test_values_are_compared_where_something_says_what_is_right(npukb, answered: Path) -> None:
    """By our task of the operator's name, by data that a script writes, for operators and launches."""
    finished = npukb("survey", answered, "--run", "--json")
    assert finished.code == 0, finished.err
    rows = [row for row in finished.json if row["values"]]
    seen = {row["file"]: (one["operator"], one["answer"], one["against"]) for row in rows for one in row["values"]}
    assert seen == {
        "sqrt": ("Sqrt", "right", "task Sqrt:4"),
        "neg": ("Neg", "wrong", "task Neg:0"),
        "other": ("Sqrt", "not run", ""),
        "alone/good.cpp": ("", "not run", ""),
        "dumb": ("", "not run", ""),
        "right": ("", "right", "scripts/gen_data.py"),
        "wrong": ("", "wrong", "scripts/gen_data.py"),
        "sample/Probe": ("Probe", "right", "gen_data.py"),
        "between/Probe": ("Probe", "not run", ""),
        "failing/Probe": ("Probe", "not run", ""),
    }, finished.out
    said = {row["file"]: row["values"][0]["said"] for row in rows}
    assert said["neg"].startswith("wrong_value: output y:"), said
    assert "differs from our task" in said["other"], said
    assert "launch.yaml" in said["dumb"], said
    assert "no numbers today" in said["failing/Probe"], said
    assert said["between/Probe"].startswith("aclnnProbe, which op_host/op_api/aclnn_probe.cpp defines, may"), said
    assert "wrong_value" in said["between/Probe"] or "rule_violation" in said["between/Probe"], said


def test_entries_are_found_plain_in_namespaces_as_templates_and_in_macros() -> None:
    assert [entry.name for entry in entries_of(LAUNCH)] == ["fill_float", "fill_int32_t"]
    text = """namespace a { namespace b {
template <typename T, int N>
__global__ __aicore__ void scaled(GM_ADDR x, T factor) {}
} }
template <typename T> __global__ __aicore__ void other(GM_ADDR x) {}
// __global__ __aicore__ void comment(GM_ADDR x) {}
void launch() { a::b::scaled<float, 2><<<1, nullptr, nullptr>>>(x, 1.0f); }
"""
    assert entries_of(text) == (
        Entry("scaled", ("GM_ADDR x", "T factor"), "a::b::", True, "float, 2"),
        Entry("other", ("GM_ADDR x",), "", True, ""),
    )
    assert not entries_of(text)[0].plain


def test_an_include_means_the_nearest_file_and_no_other_operator_s(tmp_path: Path) -> None:
    for name in ("ops/a/op_kernel/a.cpp", "ops/b/util/x.h", "ops/b/op_kernel/b.cpp", "common/util/x.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('#include "util/x.h"\n' if name.endswith("a.cpp") else "")
    tree = Tree(tmp_path)
    path = tmp_path / "ops/a/op_kernel/a.cpp"
    carried = tree.closed({"op_kernel/a.cpp": path}, tmp_path / "ops/a")
    assert carried.paths["include/util/x.h"] == str(tmp_path / "common/util/x.h")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("constexpr int steps[2][2] = {{1, 2}, {3, 4}};", True),
        ("int flags[1][1] = {{0}};", True),
        ("constexpr int width = {{ width }};", False),
        ("using T = {{types[0] | lower}};", False),
    ],
)
def test_only_files_with_blanks_to_fill_in_are_no_device_files(tmp_path: Path, line: str, found: bool) -> None:
    (tmp_path / "k.cpp").write_text(f"{line}\n{KERNEL.replace('NAME', 'k')}")
    assert bool(find(Tree(tmp_path))) is found
