"""Looking at a machine: every missing piece is named with its remedy, and only a whole machine is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from npukb_npu import discovery
from npukb_npu.discovery import Site, findings, first_obstacle, host_mode_findings
from npukb_npu.executor import NpuExecutor
from npukb_npu.machine import Device, compute_unit
from npukb_npu.versions import MATCHES, mismatch
from npukernelbench.judge.executor import FindingStatus


def test_a_whole_machine_has_no_obstacle(site: Site) -> None:
    reported = findings(site)
    assert first_obstacle(reported) == ""
    assert {finding.name: finding.status for finding in reported if finding.status is not FindingStatus.OK} == {
        "status": FindingStatus.WARNING
    }
    assert "not yet run on hardware" in reported[-1].detail
    assert (site.version, site.driver, site.chip, site.devices) == ("9.1.0", "25.2.0", "910B3", (Device(0, 0, 0, 0),))


def without(**changes: object) -> Callable[[Site, Path], Site]:
    return lambda site, folder: replace(site, **changes)  # type: ignore[arg-type]


def answers(**changed: str) -> Callable[[Site, Path], Site]:
    """Tools that answer something else; ``health`` and the like are the words that follow ``-t``."""

    def change(site: Site, folder: Path) -> Site:
        def ask(command: Sequence[str]) -> str:
            words = tuple(command)
            key = next((word for word in words if word in changed), "")
            return changed[key] if key else site.ask(words)

        return replace(site, ask=ask)

    return change


def lacking(*missing: str) -> Callable[[Site, Path], Site]:
    """The same root without some files."""

    def change(site: Site, folder: Path) -> Site:
        for path in site.root.rglob("*"):
            name = str(path.relative_to(site.root))
            if any(name.startswith(one) for one in missing):
                continue
            target = folder / name
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            elif "standin" not in path.parts:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(path)
        home = str(folder / "usr/local/Ascend/cann")
        return replace(
            site, root=folder, environ={**site.environ, "ASCEND_HOME_PATH": home, "PATH": str(folder / "bin")}
        )

    return change


CANN = "usr/local/Ascend/cann"


@pytest.mark.parametrize(
    ("change", "name", "detail", "remedy"),
    [
        (without(environ={}), "CANN toolkit", "ASCEND_HOME_PATH is not set", "set_env.sh"),
        (without(environ={"ASCEND_HOME_PATH": "/nowhere"}), "CANN toolkit", "/nowhere, which is no folder", "source"),
        (lacking(f"{CANN}/lib64"), "runtime library", "libacl_rt.so", "runtime package"),
        (lacking(f"{CANN}/bin"), "compiler", "no bisheng", "set_env.sh"),
        (lacking(f"{CANN}/compiler"), "CMake package ASC", "ASCConfig.cmake", "8.3"),
        (answers(cmake="cmake version 3.16.3"), "cmake", "3.16", "3.19"),
        (answers(cmake=""), "cmake", "not found", "pip install cmake"),
        (lacking("usr/local/Ascend/driver"), "driver", "no version file", "mount"),
        (answers(**{"-l": ""}), "npu-smi", "does not answer", "mount"),
        (answers(board=""), "chip", "names none", "npu-smi info -t board"),
        (answers(board="\tChip Name : 310P3\n"), "chip", "not for 310P3", "npu-smi info -t board"),
        (answers(health="\tHealth Status : Alarm\n"), "device 0", "health Alarm", "reset"),
        (answers(health=""), "device 0", "health unknown", "npu-smi info -t health"),
        (lacking("dev/davinci0"), "device nodes", "missing: davinci0", "--device=/dev/davinci0"),
        (lacking("dev/hisi_hdc"), "device nodes", "missing: hisi_hdc", "--device=/dev/hisi_hdc"),
        (without(installed=lambda package: ""), "torch_npu", "torch and torch_npu not installed", "pip install"),
        (
            without(installed=lambda package: {"torch": "2.9.0", "torch-npu": "2.8.0"}[package]),
            "torch_npu",
            "is for torch 2.8.0",
            "docs/npu.md",
        ),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(
    site: Site, tmp_path: Path, change: Callable[[Site, Path], Site], name: str, detail: str, remedy: str
) -> None:
    reported = findings(change(site, tmp_path))
    bad = next(finding for finding in reported if finding.status is not FindingStatus.OK and finding.name != "status")
    assert bad.name == name
    assert detail in bad.detail
    assert remedy in bad.remedy
    assert first_obstacle(reported).startswith(f"{name}: ")


def test_nodes_that_cannot_be_opened(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("npukb_npu.discovery.os.access", lambda path, mode: "hisi" not in str(path))
    bad = next(finding for finding in findings(site) if finding.name == "device nodes")
    assert bad.status is FindingStatus.PROBLEM
    assert bad.detail == "cannot be opened: hisi_hdc"
    assert "HwHiAiUser" in bad.remedy


def test_a_toolkit_that_nobody_sourced_is_pointed_out(site: Site) -> None:
    reported = findings(replace(site, environ={}))
    assert reported[0].remedy == f"source {site.root}/usr/local/Ascend/cann/set_env.sh"


def test_host_modes_need_no_device(site: Site, tmp_path: Path) -> None:
    bare = lacking("dev", "usr/local/Ascend/driver")(site, tmp_path)
    bare = replace(bare, ask=lambda command: "cmake version 3.25.1" if command[0] == "cmake" else "")
    assert first_obstacle(host_mode_findings(bare)) == ""
    assert first_obstacle(findings(bare))


def test_auto_passes_this_machine_over_or_finds_all_of_it() -> None:
    assert NpuExecutor.unusable({}) == first_obstacle(findings(Site()))


@pytest.mark.parametrize(
    ("torch", "torch_npu", "cann"),
    [
        ("2.9.0", "2.9.0.post8", "9.1.0"),
        ("2.9.0", "2.9.0.post8", "9.1.2.T3"),
        ("2.9.0+cpu", "2.9.0.post2", "9.0.0"),
        ("2.8.0", "2.8.0", "8.3.RC1"),
        ("2.8.0", "2.8.0", "8.3.rc1.alpha2"),
        ("3.0.0", "3.0.0", "12.0"),  # newer than the table: nobody knows
        ("2.9.0", "2.9.0", ""),
    ],
)
def test_versions_that_belong_together(torch: str, torch_npu: str, cann: str) -> None:
    assert mismatch(torch, torch_npu, cann) == ""


def test_versions_that_do_not_belong_together() -> None:
    assert "was released with CANN 9.0.0" in mismatch("2.9.0", "2.9.0.post2", "8.5.0")
    assert "is for torch 2.9.0" in mismatch("2.9.1", "2.9.0.post2", "9.0.0")


def test_every_documented_row_matches_itself() -> None:
    assert [row for row in MATCHES if mismatch(row.torch, row.torch_npu, row.cann)] == []


@pytest.mark.parametrize(
    ("chip", "unit"),
    [
        ("910B2", "ascend910b"),
        ("Ascend910B4", "ascend910b"),
        ("Ascend910_9391", "ascend910_93"),
        ("910C", "ascend910_93"),
    ],
)
def test_the_family_of_a_chip(chip: str, unit: str) -> None:
    assert compute_unit(chip) == unit


def test_a_tool_that_hangs_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside a sick driver npu-smi does not answer: the doctor is not held up once more by every question."""
    monkeypatch.setattr(discovery, "_TOOL_S", 0.3)
    asked = tmp_path / "asked"
    tool = tmp_path / "npu-smi"
    tool.write_text(f"#!/bin/sh\necho asked >> {asked}\nexec sleep 60\n", encoding="utf-8")
    tool.chmod(0o755)
    site = Site(environ={}, root=tmp_path)
    assert [site.ask((str(tool), "info", words)) for words in ("-l", "-m", "-t")] == ["", "", ""]
    assert asked.read_text(encoding="utf-8") in ("asked\n", "")
    assert site.ask(("echo", "other tools are")).strip() == "other tools are"
