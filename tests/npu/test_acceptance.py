"""The acceptance with an ``npukb`` that the test makes up: what passes, what does not, and what is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from npukb_npu.acceptance import Answer, adversaries, main

ROOT = Path(__file__).parents[2]
RIGHT = ROOT / "tests/adversarial/judge/right.cpp"
SUITES = [ROOT / "tests/adversarial" / name for name in ("judge", "catalogue")]


class Npukb:
    """Answers as a device of which all is well, but for what the test changes."""

    def __init__(
        self, *, golden: str = "ok", tier: str = "npu", doctor: int = 0, calibrated: bool = True, counted: bool = True
    ) -> None:
        self.golden, self.tier, self.doctor = golden, tier, doctor
        self.calibrated, self.counted = calibrated, counted
        self.seen: Callable[[str, str], str] = lambda name, expected: expected
        self.calls: list[tuple[str, ...]] = []
        self.known = {
            source: (name, outcomes) for suite in SUITES for name, source, outcomes in adversaries(suite, RIGHT)
        }

    def __call__(self, words: Sequence[str]) -> Answer:
        self.calls.append(tuple(words))
        if words[0] == "doctor":
            problem = {"section": "executor npu", "name": "driver", "status": "problem", "detail": "none"}
            found = [{**problem, "remedy": "install the driver"}] if self.doctor else []
            return Answer(self.doctor, json.dumps({"usable": not self.doctor, "findings": found}), "")
        if words[0] == "run":
            rows = [
                {"task": "Sqrt", "tier": "npu", "outcome": "ok"},
                {"task": "Add", "tier": self.tier, "outcome": self.golden},
            ]
            return Answer(0, json.dumps({"samples": rows}), "")
        if words[0] == "judge":
            name, outcomes = self.known[Path(words[2]).read_text(encoding="utf-8")]
            counters = {"msprof_task_duration_us": 3.0} if self.counted else {}
            found = {"outcome": self.seen(name, sorted(outcomes)[0]), "profile": {"counters": counters}}
            return Answer(0, json.dumps({**found, "owner": "none", "diagnostics": []}), "")
        if self.calibrated:
            Path(words[2]).write_text("name: device\n")
        return Answer(0 if self.calibrated else 4, "", "error: no device\n  remedy: buy one\n")


def accepted(npukb: Npukb, folder: Path) -> tuple[int, dict[str, bool]]:
    out = folder / "npu-acceptance-test"
    code = main(["--name", "A. Owner", "--out", str(out)], npukb)
    document = json.loads((out / "report.json").read_text())
    assert document["passed"] == (code == 0)
    assert document["signed_off_by"] == "A. Owner"
    return code, {step["name"]: step["passed"] for step in document["steps"]}


@pytest.fixture(autouse=True)
def _in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_all_is_well(tmp_path: Path) -> None:
    npukb = Npukb()
    code, steps = accepted(npukb, tmp_path)
    assert code == 0
    assert list(steps) == [
        "first minute", "golden kernels, static", "golden kernels, dynamic", "adversarial candidates, judge",
        "adversarial candidates, catalogue", "counters", "calibration",
    ]  # fmt: skip
    assert sum(words[0] == "judge" for words in npukb.calls) == len(npukb.known) + 1 > 40
    for words in npukb.calls:  # nothing is asked of anything but the device
        assert words[0] == "calibrate" or "--npu" in words or words[words.index("--executor") + 1] == "npu"
    out = tmp_path / "npu-acceptance-test"
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text().splitlines())
    assert sums.keys() == {"counters.json", "machine.yaml", "report.json", "report.md"}
    assert all(sha256((out / name).read_bytes()).hexdigest() == value for name, value in sums.items())
    assert "**passed**" in (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("npukb", "failed"),
    [
        (Npukb(golden="wrong_value"), ["golden kernels, static", "golden kernels, dynamic"]),
        (Npukb(tier="twin"), ["golden kernels, static", "golden kernels, dynamic"]),
        (Npukb(calibrated=False), ["calibration"]),
        (Npukb(counted=False), ["counters"]),
    ],
)
def test_what_does_not_pass(tmp_path: Path, npukb: Npukb, failed: list[str]) -> None:
    code, steps = accepted(npukb, tmp_path)
    assert code == 1
    assert [name for name, passed in steps.items() if not passed] == failed


@pytest.mark.parametrize(
    ("expected", "seen", "passes"),
    [
        ("wrong_value", "ok", False),  # a wrong value that is taken for right
        ("wrong_value", "infra_error", False),
        ("rule_violation", "ok", True),  # hardware does not enforce every rule
        ("rule_violation", "infra_error", False),
        ("rule_violation", "wrong_value", True),
        ("ok", "wrong_value", False),
    ],
)
def test_what_a_device_must_say_to_adversaries(tmp_path: Path, expected: str, seen: str, passes: bool) -> None:
    npukb = Npukb()
    npukb.seen = lambda name, outcome: seen if outcome == expected else outcome
    code, _ = accepted(npukb, tmp_path)
    assert (code == 0) == passes


def test_the_first_minute_tells_what_is_missing_and_ends_it(tmp_path: Path) -> None:
    npukb = Npukb(doctor=4)
    code, steps = accepted(npukb, tmp_path)
    assert (code, steps) == (1, {"first minute": False})
    assert [words[0] for words in npukb.calls] == ["doctor"], "nothing else is run on a machine that is not ready"
    text = (tmp_path / "npu-acceptance-test" / "report.md").read_text(encoding="utf-8")
    assert "driver: none — install the driver" in text


def test_the_same_command_goes_on_after_the_last_step_that_passed(tmp_path: Path) -> None:
    """A machine that goes down, and a step that failed and is mended: what passed is not run again."""

    class Interrupted(Npukb):
        def __call__(self, words: Sequence[str]) -> Answer:
            if words[0] == "judge":
                raise KeyboardInterrupt
            return super().__call__(words)

    with pytest.raises(KeyboardInterrupt):
        accepted(Interrupted(golden="wrong_value"), tmp_path)
    begun = json.loads((tmp_path / "npu-acceptance-test/report.json").read_text())
    assert not begun["passed"]
    assert [step["passed"] for step in begun["steps"]] == [True, False, False]
    again = Npukb()
    code, steps = accepted(again, tmp_path)
    assert (code, all(steps.values()), len(steps)) == (0, True, 7)
    assert {words[0] for words in again.calls} == {"run", "judge", "calibrate"}, "the first minute had passed"


def test_reports_are_never_mixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "npu-acceptance-old").mkdir()
    accepted(Npukb(), tmp_path)
    begun = tmp_path / "npu-acceptance-begun"
    begun.mkdir()
    (begun / "report.json").write_text(json.dumps({"passed": False, "tasks": "smoke", "steps": []}))
    for name, words in (
        ("npu-acceptance-old", "holds no acceptance that was begun"),
        ("results", "call the folder npu-acceptance-CHIP"),
        ("npu-acceptance-test", "holds an acceptance that passed"),
        ("npu-acceptance-begun", "was begun with --tasks smoke"),
    ):
        with pytest.raises(SystemExit):
            main(["--name", "x", "--out", str(tmp_path / name)], Npukb())
        assert words in capsys.readouterr().err


def test_the_script_starts_the_module() -> None:
    script = ROOT / "scripts" / "npu_acceptance"
    assert script.stat().st_mode & 0o111
    assert "npukb_npu.acceptance" in script.read_text()
