"""The page in a headless Chromium: it opens without a network, shows a sample by its link, and complains of nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from npukernelbench.report.html.page import write_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
]


def opened(address: str, profile: Path, *, width: int = 1280) -> str:
    """The document after its program has run. Fails on errors and warnings of the console. No name is resolved."""
    command = [
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--enable-logging=stderr", f"--user-data-dir={profile}", f"--window-size={width},900",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        "--virtual-time-budget=20000", "--dump-dom", address,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, errors="replace", check=True)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints
    assert 'data-ready="yes"' in done.stdout
    return done.stdout


def test_the_overview(stored, tmp_path):
    (path,) = write_page(stored, tmp_path / "report.html")
    page = opened(path.as_uri(), tmp_path / "profile")
    assert "3 of 6 counted samples are right" in page
    charts = re.findall(r'<svg[^>]*role="img"[^>]*aria-label="([^"]+)"', page)
    assert len(charts) >= 4
    assert page.count("<summary>Numbers</summary>") == len(charts)  # the same as a table beside every chart
    assert 'href="#/sample/Task0/0/static/1"' in page
    assert not re.findall(r"<button(?![^>]*aria-label)[^>]*>\s*</button>", page)


@pytest.mark.parametrize("folder", [False, True], ids=["one file", "folder"])
def test_a_sample_by_its_link(stored, tmp_path, folder):
    path, *_ = write_page(stored, tmp_path / "report.html", **({"most_bytes": 10} if folder else {}))
    page = opened(f"{path.as_uri()}#/sample/Task1/0/static/0", tmp_path / "profile", width=400)
    assert "Turn 1" in page
    assert "Repair it." in page
    place = page.index('id="t0-kernel.cpp-5"')
    assert place < page.index("no function Copy", place) < page.index('id="t0-kernel.cpp-6"')  # below its line
    assert "Timeline of 1 pipes" in page
    hostile = opened(f"{path.as_uri()}#/sample/Task1/0/static/1", tmp_path / "profile")
    assert "&lt;img src=x onerror=alert(1)&gt;" in hostile
    assert "<img" not in hostile
