"""Markers of requirements."""

from __future__ import annotations

import os
import sys

import pytest

from npukernelbench.report.markers import holds

PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize(
    ("marker", "held"),
    [
        ("extra == 'one'", True),
        ("extra == 'two'", False),
        ("extra == 'two' or extra == \"One\"", True),
        (f"python_version >= '{PYTHON}' and extra == 'one'", True),
        ("python_version >= '3.9'", True),  # as numbers: 3.10 is after 3.9
        ("python_version < '3'", False),
        (f"python_version ~= '{PYTHON}'", True),
        ("python_version ~= '2.0'", False),
        ("python_full_version > '3.1.0'", True),
        (f"(sys_platform != '{sys.platform}') and extra == 'one'", False),
        (f"os_name == 'x' or os_name == '{os.name}' and (os_name == 'x' or extra == 'one')", True),
        (f"os_name == '{os.name}' or os_name == 'x' and os_name == 'x'", True),
        (f"'{sys.platform}' in sys_platform", True),
        (f"sys_platform not in 'x {sys.platform}'", False),
    ],
)
def test_a_marker_holds_or_not(marker: str, held: bool) -> None:
    assert holds(marker, "one") is held


@pytest.mark.parametrize(
    "marker", ["", "os_name", "os_name ==", "(os_name == 'x'", "weather == 'fine'", "os_name <> 'x'"]
)
def test_what_is_no_marker(marker: str) -> None:
    with pytest.raises(ValueError, match="is no marker of a requirement"):
        holds(marker, "")
