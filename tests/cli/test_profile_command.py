"""``npukb profile``: a right kernel's profile, a wrong one's verdict."""

from __future__ import annotations

import json

import pytest

from npukernelbench.errors import ToolchainError


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
    printed = profile(kernel("ok"), "--json").json
    assert printed["outcome"] == "ok"
    assert printed["profile"]["time_us"] == 10.0


MEASURING = """
    from dataclasses import replace

    from npukernelbench import hookimpl
    from npukernelbench.nouns import Tier
    from npukernelbench.testing import FakeExecutor


    class Device(FakeExecutor):
        tier = Tier.NPU

        def run(self, request):
            seen = super().run(request)
            return replace(seen, profile=replace(seen.profile, predicted=False, machine="npu_910b2"))


    @hookimpl
    def register_executors(register):
        register("device", f"{__name__}:Device", description="measures what it is told")
"""


def test_a_measured_time_has_the_twins_advice_beside_it(npukb, plugin, tmp_path, monkeypatch):
    plugin("measuring", MEASURING)
    source = tmp_path / "kernel.cpp"
    source.write_text(npukb("golden", "Sqrt", "--case", "smoke").out)
    asked = ("profile", "Sqrt", source, "--executor", "device", "--case", "smoke")
    finished = npukb(*asked)
    said = finished.out
    assert "what would be faster" in said, finished
    measured, predicted = said.index("measured 10.00 µs on npu_910b2 (tier npu)"), said.index("(tier twin)")
    assert measured < predicted < said.index("what would be faster")
    printed = npukb(*asked, "--json").json
    assert not printed["profile"]["predicted"]
    assert printed["predicted"]["analysis"]["suggestions"]
    monkeypatch.setattr("npukb_twin.compile.toolchain.find", no_toolchain)
    alone = npukb(*asked)
    assert (alone.code, "no prediction beside the measured time" in alone.err) == (0, True)
    assert "(tier twin)" not in alone.out


def no_toolchain(*_):
    raise ToolchainError("no compiler", remedy="install one")


def test_two_profiles_side_by_side(npukb, profile, kernel, tmp_path):
    saved = tmp_path / "profile.json"
    saved.write_text(profile(kernel("ok"), "--json").out)
    finished = npukb("compare", saved, saved)
    assert finished.code == 0
    assert "predicted fake" in finished.out
    assert "time (µs)" in finished.out
    assert npukb("compare", saved, saved, "--json").json["pairs"][0]["first_us"] == 10.0
    assert npukb("compare", saved, tmp_path / "none.json").code == 2


def test_rows_of_predicted_beside_measured(npukb, profile, kernel, tmp_path):
    predicted, measured = tmp_path / "predicted.json", tmp_path / "measured.json"
    printed = profile(kernel("ok"), "--json").json
    predicted.write_text(json.dumps(printed))
    printed["profile"] |= {"predicted": False, "machine": "npu_910b3", "time_us": 8.0}
    measured.write_text(json.dumps(printed))
    finished = npukb("compare", predicted, measured, "--rows", tmp_path / "rows.md")
    assert finished.code == 0, finished.err
    assert "1 cases: median error 25.0%" in finished.out
    assert "| kernel | 8.0 | 10.0 | +25.0% | npu_910b3 |" in (tmp_path / "rows.md").read_text(encoding="utf-8")
    refused = npukb("compare", predicted, predicted, "--rows", tmp_path / "none.csv")
    assert (refused.code, (tmp_path / "none.csv").exists()) == (2, False)
    assert "not one prediction and one measurement" in refused.err


def test_two_runs_side_by_side(npukb, fake, tmp_path):
    run = npukb("run", "--model", "fake", "--executor", "fake", "--tasks", "sqrt", "--output_path", tmp_path / "runs")
    assert run.code == 0, run.err
    folder = next((tmp_path / "runs").iterdir())
    answer = npukb("compare", folder, folder)
    assert answer.code == 0, answer.err
    assert "geometric mean of ratios 1.000" in answer.out
