"""The worked optimisation of docs/profiling.md is what the twin prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from npukernelbench.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "profiling.md").read_text(encoding="utf-8")
SHOWN = dict(re.findall(r"```console\n\$ npukb profile Sqrt (docs/profiling/\S+)\n(.*?)```", PAGE, re.DOTALL))


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.mark.parametrize("file", sorted(SHOWN))
def test_what_the_page_shows_is_printed(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "Sqrt", str(ROOT / file)]) == 0
    assert lines(capsys.readouterr().out) == lines(SHOWN[file])


def test_the_second_step_of_the_page_is_the_faster_one() -> None:
    times = re.findall(r"^  predicted ([\d.]+) µs", PAGE, re.MULTILINE)
    assert len(times) == len(SHOWN) == 2
    assert float(times[1]) < float(times[0]) / 4
