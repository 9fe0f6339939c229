"""``docs/npu.md`` names everything of the vendor's that the plugin uses, with its page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npukb_npu import reference
from npukb_npu.acl import FUNCTIONS, META_FUNCTIONS
from npukb_npu.eager import TORCH_NPU
from npukb_npu.executor import NpuArgs

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "npu.md"
PLUGIN = ROOT / "plugins" / "npukb_npu"
SOURCES = {path.name: path.read_text(encoding="utf-8") for path in PLUGIN.glob("*.py") if path.name != "reference.py"}
VENDOR = reference.vendor()
LISTED = " ".join(entry.name for entry in VENDOR.entries)


def test_the_page_has_the_tables_of_today() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == reference.embedded(page)
    assert "| `aclrtMalloc` |" in page


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_nothing_of_the_vendors_is_used_unlisted(name: str) -> None:
    """Variables, CMake commands and functions of the runtime in the sources are in the tables."""
    words = set(re.findall(r"\b(?:ASCENDC?_[A-Z_]+[A-Z]|CMAKE_ASC_[A-Z_]+|npu_op_[a-z_]+[a-z])\b", SOURCES[name]))
    assert {word for word in words if word not in LISTED} == set()
    functions = set(re.findall(r"[\"'(](acl(?:rt|Create|Get|Init)\w+)[\"']", SOURCES[name]))
    assert {name for name in functions if name not in LISTED} <= FUNCTIONS.keys() | META_FUNCTIONS.keys() | {
        "aclCreate"
    }


def test_nothing_is_listed_that_is_not_used() -> None:
    everything = "".join(SOURCES.values())
    unused = {name for name in FUNCTIONS if everything.count(f'"{name}"') < 2}
    assert unused == set()
    variables = [word for entry in VENDOR.environment for word in re.findall(r"[A-Z]+(?:_[A-Z]+)+", entry.name)]
    assert [word for word in variables if word not in everything] == []
    commands = [word for entry in VENDOR.build for word in re.findall(r"npu_op_[a-z_]+", entry.name)]
    assert [word for word in commands if word not in everything] == []


def test_every_entry_has_a_page() -> None:
    for entry in VENDOR.entries:
        assert re.match(r"(cann/|hiascend\.com |support\.huawei\.com |gitcode\.com/)", entry.page), entry
    for function in (*FUNCTIONS.values(), *META_FUNCTIONS.values()):
        assert re.match(r"(cann/|hiascend\.com )", function.page)


def test_the_names_of_torch_npu_are_listed() -> None:
    assert any(all(name in tool.name for name in TORCH_NPU) for tool in VENDOR.tools)


def test_every_argument_of_the_executor_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in NpuArgs.model_fields if f"`{name}" not in page] == []
