"""``npukb profile``: a right kernel's profile, a wrong one's verdict."""

from __future__ import annotations

import pytest


@pytest.fixture
def profile(npukb, fake):
    """``profile(path, *options)`` profiles a file as an answer to Sqrt with the fake executor."""

    def call(path, *options):
        return npukb("profile", "sqrt", path, "--executor", "fake", "--case", "smoke", *options)

    return call


def test_a_right_kernel(profile, kernel, tmp_path):
    finished = profile(kernel("ok"), "--out", str(tmp_path / "out"))
    assert finished.code == 0
    assert finished.out.startswith("Sqrt · case smoke · static\n")
    assert "predicted 10.00 µs on fake (tier twin)" in finished.out
    assert finished.err.count("wrote ") == 6
    assert (tmp_path / "out" / "trace.json").is_file()


def test_a_wrong_kernel_has_no_profile(profile, kernel):
    finished = profile(kernel("wrong_value"))
    assert finished.code == 0
    assert finished.out.startswith("✗ wrong_value")


def test_json(profile, kernel):
    found = profile(kernel("ok"), "--json").json
    assert found["outcome"] == "ok"
    assert found["profile"]["time_us"] == 10.0


def test_two_profiles_side_by_side(npukb, profile, kernel, tmp_path):
    saved = tmp_path / "profile.json"
    saved.write_text(profile(kernel("ok"), "--json").out)
    finished = npukb("compare", saved, saved)
    assert finished.code == 0
    assert "predicted fake" in finished.out
    assert "time (µs)" in finished.out
    assert npukb("compare", saved, saved, "--json").json["pairs"][0]["first_us"] == 10.0
    assert npukb("compare", saved, tmp_path / "none.json").code == 2


def test_two_runs_side_by_side(npukb, fake, tmp_path):
    run = npukb("run", "--model", "fake", "--executor", "fake", "--tasks", "sqrt", "--output_path", tmp_path / "runs")
    assert run.code == 0, run.err
    folder = next((tmp_path / "runs").iterdir())
    found = npukb("compare", folder, folder)
    assert found.code == 0, found.err
    assert "geometric mean of ratios 1.000" in found.out
