"""What scripts/release.py says about dependencies, and that a wheel is the same bytes each time."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.alone import script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release.py")


def test_the_bill_of_materials_has_every_dependency_and_its_licence(release: ModuleType) -> None:
    bill = release.bill_of_materials("npukernelbench")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = text[text.index("\ndependencies = [") : text.index("[project.optional-dependencies]")]
    direct = {release.normal(name) for name in re.findall(r'^  "([\w-]+)', listed, re.MULTILINE)}
    components = {one["name"]: one for one in bill["components"]}
    assert len(direct) > 10
    assert direct <= set(components)
    assert "torch" not in components
    for component in components.values():
        assert re.fullmatch(r"pkg:pypi/[a-z0-9-]+@\S+", component["purl"])
        assert component["licenses"][0]["license"]["name"] != "not stated", component["name"]


def test_two_builds_of_the_wheel_are_the_same_bytes(release: ModuleType, tmp_path: Path) -> None:
    """Of a small project with our settings: the whole wheel takes a minute, and the release script builds it."""
    pytest.importorskip("hatchling")
    import subprocess

    source = tmp_path / "small"
    (source / "small").mkdir(parents=True)
    (source / "small" / "__init__.py").write_text("", encoding="utf-8")
    system = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[project]")[0]
    (source / "pyproject.toml").write_text(f'{system}[project]\nname = "small"\nversion = "1"\n', encoding="utf-8")
    digests = set()
    for number in range(2):
        dist = tmp_path / f"dist{number}"
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(dist)]
        subprocess.run(command, cwd=source, check=True, capture_output=True, env={"SOURCE_DATE_EPOCH": "1700000000"})
        (source / "small" / "__init__.py").touch()
        digests.add(release.digest(next(dist.iterdir())))
    assert len(digests) == 1
