"""Generated projects against the texts in ``golden``. ``python tests/npu/test_projects.py`` writes them anew.

A project is one text, every file under a line ``==> NAME``. One project of a family is kept whole, the others as the
difference to it, so that a reader sees what a form changes.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from npukb_npu.executor import entry_file
from npukb_npu.projects import RunMode, custom_operator, direct_launch, snake_case, vendor_of

GOLDEN = Path(__file__).parent / "golden"
#: What a project is compared with; those that are not here are kept whole.
BASES = {
    "direct_cpu": "direct_npu",
    "direct_sim": "direct_cpu",
    "operator_nested": "operator",
    "operator_renamed": "operator",
}
KERNEL = 'extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z) {\n}\n'
HOST = "OP_ADD(AddCustom);\n"
OPERATOR = {
    "op_host/add_custom.cpp": HOST,
    "op_host/add_custom_tiling.h": "// tiling\n",
    "op_kernel/add_custom.cpp": KERNEL,
    "CMakeLists.txt": "# the candidate's own\n",
    "op_kernel/CMakeLists.txt": "# the candidate's own\n",
    "CMakePresets.json": "{}",
    "build.sh": "rm -rf build\n",
}


def trees() -> Iterator[tuple[str, dict[str, str]]]:
    arguments = ("x", "y", "z")
    device = {"kernel.cpp": KERNEL, "tiling.h": "// numbers\n"}
    for mode in RunMode:
        yield f"direct_{mode.value}", direct_launch(device, "kernel.cpp", "add_custom", arguments, mode)
    vendor = vendor_of("0123456789abcdef0123456789abcdef")
    yield "operator", custom_operator(OPERATOR, "AddCustom", vendor, "ascend910b")
    renamed = {**OPERATOR, "op_kernel/impl/add.cpp": KERNEL}
    del renamed["op_kernel/add_custom.cpp"]
    yield "operator_renamed", custom_operator(renamed, "AddCustom", vendor, "ascend910_93")
    nested = {**OPERATOR, "op_kernel/impl/add_custom.cpp": KERNEL}
    del nested["op_kernel/add_custom.cpp"]
    yield "operator_nested", custom_operator(nested, "AddCustom", vendor, "ascend910b")


def goldens() -> dict[str, str]:
    """The golden text of every project by its file's name."""
    texts = {
        name: "".join(f"==> {file}\n{text}" for file, text in sorted(project.items())) for name, project in trees()
    }
    return {f"{name}.txt": text for name, text in texts.items() if name not in BASES} | {
        f"{name}.diff": _difference(texts[base], texts[name], base) for name, base in BASES.items()
    }


def _difference(base: str, text: str, name: str) -> str:
    lines = base.splitlines(keepends=True), text.splitlines(keepends=True)
    return "".join(difflib.unified_diff(*lines, name, name, n=1))


def test_generated_projects_are_the_golden_ones() -> None:
    assert goldens() == {path.name: path.read_text(encoding="utf-8") for path in GOLDEN.iterdir()}


def test_nothing_of_the_candidates_own_build_is_used() -> None:
    for name, project in trees():
        built = {file: text for file, text in project.items() if not file.startswith(("candidate/", "op_host/add"))}
        assert "the candidate's own" not in "".join(built.values()), name
        assert "build.sh" not in project


def test_the_operator_project_registers_what_the_build_needs() -> None:
    project = custom_operator(OPERATOR, "AddCustom", "npukb_x", "ascend910b")
    variables = json.loads(project["CMakePresets.json"])["configurePresets"][0]["cacheVariables"]
    assert variables["vendor_name"]["value"] == "npukb_x"
    assert variables["ASCEND_COMPUTE_UNIT"]["value"] == "ascend910b"
    libraries = re.findall(r"npu_op_library\((\w+)", project["op_host/CMakeLists.txt"])
    added = re.search(r"npu_op_package_add\(\$\{package_name\} LIBRARY ([\w ]+)\)", project["op_host/CMakeLists.txt"])
    assert added is not None
    assert sorted(added.group(1).split()) == sorted(libraries)
    assert "npu_op_kernel_sources" not in project["op_kernel/CMakeLists.txt"]


@pytest.mark.parametrize(
    ("operator", "file"),
    [
        ("AddCustom", "add_custom"),
        ("AbcAAc", "abc_a_ac"),
        ("GELU", "gelu"),
        ("LayerNormV4", "layer_norm_v4"),
        ("Conv2D", "conv2_d"),
        ("RMSNorm", "rms_norm"),
        ("add", "add"),
    ],
)
def test_names_follow_the_documented_rule(operator: str, file: str) -> None:
    assert snake_case(operator) == file


def test_vendors_never_shadow_each_other() -> None:
    assert vendor_of("a" * 64) != vendor_of("b" * 64)
    assert re.fullmatch(r"npukb_\w+", vendor_of("c" * 64))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (KERNEL, True),
        (KERNEL.replace("add_custom(", "add_custom_v2("), False),
        (KERNEL.replace("{\n}", ";"), False),  # declared only
        (KERNEL.replace("(GM_ADDR x,", "(\n    GM_ADDR x,"), True),
        ("template <class T> __global__ __aicore__ void add_custom(GM_ADDR x) { }", True),
    ],
)
def test_the_file_with_the_entry_is_found(text: str, found: bool) -> None:
    assert entry_file({"a.h": "", "b.cpp": text}, "add_custom") == ("b.cpp" if found else None)


if __name__ == "__main__":
    for name, text in goldens().items():
        (GOLDEN / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"wrote {name}\n")
