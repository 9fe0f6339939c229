"""Compilers that leave guards out: strict refuses them, auto says so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npukb_twin.compile import toolchain
from npukb_twin.compile.guards import missing_guards, require_guards
from npukb_twin.compile.refused_names import forbids_instructions
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.sandbox import Mode
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import FindingStatus
from npukernelbench.nouns import Track

OTHER = "g++"


@pytest.fixture(scope="module")
def packaged() -> toolchain.Toolchain:
    return toolchain.find("zig")


@pytest.fixture(scope="module")
def other(packaged: toolchain.Toolchain, tmp_path_factory: pytest.TempPathFactory) -> toolchain.Toolchain:
    """As a system's g++ is: a driver in which no builtin function can be found."""
    driver = tmp_path_factory.mktemp("driver") / OTHER
    driver.write_bytes(b"no names in here")
    return replace(packaged, name=OTHER, compile=(str(driver),), is_clang=False)


def test_the_packaged_compiler_lacks_nothing(packaged: toolchain.Toolchain) -> None:
    assert missing_guards(packaged) == ()
    assert forbids_instructions(packaged)
    require_guards(packaged)


def test_other_compilers_are_refused_by_strict(other: toolchain.Toolchain) -> None:
    assert len(missing_guards(other)) == 4
    with pytest.raises(ExecutorError, match="separate stack for return addresses, check of computed calls"):
        require_guards(other)


def test_the_packaged_compiler_lacks_nothing_for_another_processor() -> None:
    arm = toolchain.packaged(toolchain.ARM)
    assert arm is not None
    assert missing_guards(arm) == ()


def test_another_processor_has_no_check_of_computed_calls(packaged: toolchain.Toolchain) -> None:
    assert "check of computed calls" in missing_guards(replace(packaged, processor="riscv64"))


@pytest.mark.parametrize("mode", [Mode.STRICT, Mode.AUTO])
def test_the_executor_refuses_or_says_so(
    other: toolchain.Toolchain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: Mode
) -> None:
    monkeypatch.setattr(toolchain, "find", lambda _: other)
    executor = TwinExecutor(TwinArgs(sandbox=mode, cache_dir=tmp_path))
    finding = next(item for item in executor.diagnose() if item.name == "twin guards")
    assert finding.status is (FindingStatus.PROBLEM if mode is Mode.STRICT else FindingStatus.WARNING)
    if mode is Mode.STRICT:
        with pytest.raises(ExecutorError, match="which sandbox=strict requires"):
            executor.prepare(lambda _: None, Track.STATIC)
