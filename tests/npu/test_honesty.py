"""What may claim to come from hardware, and what every part of this plugin has to say about itself."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import npukb_npu
from npukb_npu import status
from npukb_npu.executor import NpuExecutor
from npukb_npu.hostmodes import CannCpuExecutor, CannSimExecutor
from npukb_npu.profiles import machine_name
from npukernelbench.nouns import Tier

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugins" / "npukb_npu"
MODULES = sorted(PLUGIN.glob("*.py"))
FOLDERS = ("npukernelbench", "plugins", "kernelgen_lm", "benchmarks")
PRODUCT = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
REPORTS = sorted((ROOT / "results").glob("**/npu-acceptance*/report.json"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_every_module_says_what_no_hardware_has_run(path: Path) -> None:
    said = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").lower().split())
    assert re.search(r"not yet run (on hardware|with a toolkit)", said)


def test_the_label_goes_when_an_acceptance_report_lies_in_results() -> None:
    accepted = any(json.loads(path.read_text(encoding="utf-8"))["passed"] for path in REPORTS)
    assert (status.STATUS == "not yet run on hardware") == (not accepted)
    page = (ROOT / "docs" / "npu.md").read_text(encoding="utf-8")
    assert ("not yet run on hardware" in page.lower()) == (not accepted)
    [row] = [line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "`npukb_npu`" in line]
    assert ("`npukb_npu` (executors for CANN, not yet run on hardware)" in row) == (not accepted)


def test_what_rests_on_reading_says_so() -> None:
    """Tables of what a device or toolkit does name a page in every row, or say that it is assumed."""
    page = (ROOT / "docs" / "npu.md").read_text(encoding="utf-8")
    opening, reference = page.partition("\n## ")[0], page.partition("<!-- reference: begin -->")[2]
    assert "**Read, not run**: so is every statement on this page" in opening
    assert reference.lstrip().startswith("**Read, not run**")
    source = re.compile(
        r"\*assumed\*|\.md|\w+_\d{4}|user guide|func\.cmake|machine files|cann/runtime|documentation|dlug_|instg|Guide"
    )
    other = (ROOT / "docs" / "twin_to_device.md").read_text(encoding="utf-8")
    assert "**Read, not run**: no row of the table comes from a device" in other
    faults, packages = (
        page.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
        for title in ("What the first day would have broken", "Operator packages")
    )
    for section in (faults, packages, other.partition("\n## ")[0]):
        rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
        assert len(rows) > 8
        for row in rows:
            assert source.search(row.rstrip(" |").rpartition(" | ")[2]), row


def claims(path: Path) -> bool:
    """Whether a committed file says that a device was measured or judged on."""
    return bool(re.search(r'"tier": ?"npu"|"machine": ?"npu_', path.read_text(encoding="utf-8", errors="replace")))


def test_no_committed_result_is_from_a_device_before_it_was_accepted() -> None:
    committed = [*(ROOT / "results").rglob("*.json*"), *(ROOT / "tasks").glob("**/baselines/*.json")]
    assert committed
    accepted = {path.parent for path in REPORTS if json.loads(path.read_text(encoding="utf-8"))["passed"]}
    paths = [path for path in committed if path.is_file() and claims(path)]
    assert [path for path in paths if not accepted and path.parent not in accepted] == []


@pytest.mark.parametrize("text", ['{"tier": "npu"}', '{"machine":"npu_910b3"}'])
def test_such_a_claim_is_seen(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    assert claims(path)
    path.write_text(text.replace("npu", "twin"))
    assert not claims(path)


def test_every_executor_carries_the_label() -> None:
    for target in (NpuExecutor, CannCpuExecutor, CannSimExecutor):
        executor = target(target.Args())  # type: ignore[operator, arg-type]
        try:
            assert executor.describe()["status"] == status.STATUS
            assert any(status.NOTE in finding.detail for finding in executor.diagnose())
        finally:
            executor.close()


TIERS = {"NPU": "npukb_npu/executor.py", "CANN_CPU": "npukb_npu/hostmodes.py", "CANN_SIM": "npukb_npu/hostmodes.py"}


@pytest.mark.parametrize("tier", TIERS)
def test_a_tier_has_one_source(tier: str) -> None:
    """No module but the executor's own says ``tier = Tier.NPU``, by name or by value."""
    value = re.escape(Tier[tier].value)
    claim = re.compile(
        rf"\bTier\.{tier}\b|Tier\(\s*[\"']{value}[\"']|Tier\[\s*[\"']{tier}[\"']|tier\s*=\s*[\"']{value}[\"']"
    )
    found = {path.relative_to(ROOT).as_posix() for path in PRODUCT if claim.search(path.read_text(encoding="utf-8"))}
    assert {one.removeprefix("plugins/") for one in found} == {TIERS[tier]}


def imports(path: Path) -> set[str]:
    result: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            result |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            result.add((node.module or "").partition(".")[0])
    return result


def test_nothing_falls_back_to_the_twin() -> None:
    assert [path.name for path in MODULES if "npukb_twin" in imports(path)] == []
    assert not any("Tier.TWIN" in path.read_text(encoding="utf-8") for path in MODULES)


def test_the_stand_in_is_for_tests_only() -> None:
    """It is shipped with the testing kit, whatever it reports says so, and nothing of the product knows of it."""
    kit = ROOT / "npukernelbench" / "testing"
    users = [path for path in PRODUCT if re.search("testing.standin|STANDIN", path.read_text("utf-8"))]
    assert [path for path in users if kit not in path.parents] == []
    assert 'return name == NULL ? "StandIn910B3"' in (kit / "standin/runtime.c").read_text(encoding="utf-8")


@pytest.mark.parametrize("soc", ["ascend910b2", "Ascend910B3", "", "910C"])
def test_measured_machines_never_have_the_name_of_a_predicted_one(soc: str) -> None:
    files = {path.stem for path in (ROOT / "plugins" / "npukb_twin").rglob("*.yaml")}
    assert "ascend910b2" in files
    assert machine_name(soc).startswith("npu_")
    assert machine_name(soc) not in files


def test_the_plugin_registers_with_the_label() -> None:
    said: dict[str, str] = {}
    npukb_npu.register_executors(lambda name, target, description="": said.update({name: description}))  # type: ignore[arg-type]
    assert said.keys() == {"npu", "cann-cpu", "cann-sim"}
    assert all("not yet run" in description for description in said.values())
