"""The acceptance from one end to the other on the stand-in: the real ``npukb``, builds, verdicts and report.

Once with nothing wrong, where it has to pass; then with each of the stand-in's faults once. A fault has to end in the
right outcome, at the right owner, with a remedy. Only the step that meets the fault is run for it: the acceptance goes
on after the steps that passed, and those are the ones of the first run. Of hardware this shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from npukb_npu import interpreter
from npukernelbench.report.run_tables import headline
from npukernelbench.store import read_results
from npukernelbench.testing.standin import PACKAGES, Chip, Machine, Toolkit
from tests.npu import acceptance_kit as kit
from tests.npu.acceptance_kit import GOLDEN, HOST, OUT, Commands, accept

STEPS = [
    "first minute", "golden kernels, static", "golden kernels, dynamic", "adversarial candidates, suite", "counters",
    "calibration",
]  # fmt: skip


@pytest.fixture(scope="module")
def passed(
    standin_root: Path, build_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, Commands, int]]:
    """A folder with an acceptance in which nothing was wrong, what was said in it, and its exit code."""
    folder, commands = tmp_path_factory.mktemp("accepted"), Commands()
    with pytest.MonkeyPatch.context() as patch:
        kit.furnish(folder, patch, standin_root, build_cache)
        yield folder, commands, accept(commands)


def test_from_doctor_to_signed_report(passed: tuple[Path, Commands, int]) -> None:
    folder, commands, code = passed
    steps = kit.report(folder)
    assert list(steps) == STEPS
    assert all(step["passed"] for step in steps.values()), json.dumps(steps, indent=1)
    assert code == 0
    assert "910B3" in json.dumps(steps["first minute"]["found"]), "the doctor looked at the stand-in"
    tried = {
        finding["name"]
        for finding in steps["first minute"]["found"]["findings"]
        if finding["section"] == "trial of npu"
    }
    assert tried >= {"torch_npu loads", "device 0 answers", "vector kernel", "cube kernel"}

    first = next(call for call in commands.calls if call.command == "run")
    assert json.loads(first.out)["identity"]["executor"]["description"]["memory"].startswith(
        "torch_npu 2.12.0 for operators"
    )
    out = folder / OUT
    results = min((out / "runs").glob("**/results.json"))
    assert headline(read_results(results.parent)).endswith("executor npu: not yet run on hardware")
    for track in ("static", "dynamic"):
        assert steps[f"golden kernels, {track}"]["found"] == {"outcomes": {"ok": 1}, "wrong": []}
    assert {one["candidate"]: one["seen"] for one in steps["adversarial candidates, suite"]["found"]["candidates"]} == {
        name: outcome for name, (_, _, outcome) in kit.CANDIDATES.items()
    }
    assert json.loads((out / "counters.json").read_text())["profile"]["counters"]["aiv_vec_ratio"] == 0.5
    numbers = yaml.safe_load((out / "machine.yaml").read_text(encoding="utf-8"))["numbers"]
    assert {name: number["value"] for name, number in numbers.items()} == {"barrier_cycles": 3600, "flag_cycles": 10800}

    text = (out / "report.md").read_text(encoding="utf-8")
    assert "Signed off by A. Tester" in text
    assert "**passed**" in text
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert {"report.json", "report.md", "machine.yaml", "counters.json"} <= sums.keys()
    assert all(sha256((out / name).read_bytes()).hexdigest() == value for name, value in sums.items())
    assert [name for name in sums if name.startswith("runs/")]


@dataclass(frozen=True)
class Fault:
    """What is injected, and what has to come of it: the step that tells, the outcome and what is to be done.

    In the first minute ``name`` is the finding, in a suite the candidate.
    """

    step: str
    outcome: str
    remedy: str
    name: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    machine: Machine = field(default_factory=Machine)
    nodes: tuple[int, ...] = (0,)
    packages: tuple[str, ...] = PACKAGES
    golden: Mapping[str, str] = field(default_factory=dict)
    edit: tuple[str, str, str] = ("", "", "")
    toolkit: Toolkit = Toolkit.CANN_91
    held: str = ""  # what an earlier kernel left on the device

    @property
    def owner(self) -> str:
        return {"problem": "infra", "infra_error": "infra", "ok": "none"}.get(self.outcome, "model")

    @property
    def passes(self) -> bool:
        """Whether the acceptance does: in a suite a broken rule is what has to be found."""
        return self.outcome == "ok" or self.name == "faulty"


def minute(name: str, remedy: str, **injected: Any) -> Fault:
    return Fault("first minute", "problem", remedy, name, **injected)


def static(outcome: str, remedy: str, **injected: Any) -> Fault:
    return Fault("golden kernels, static", outcome, remedy, **injected)


def dynamic(outcome: str, remedy: str, **injected: Any) -> Fault:
    return Fault("golden kernels, dynamic", outcome, remedy, **injected)


def candidate(outcome: str, remedy: str, new: str, **injected: Any) -> Fault:
    edit = ("auto* a", f"{new} auto* a", outcome)
    return Fault("adversarial candidates, suite", outcome, remedy, "faulty", edit=edit, **injected)


def raised(code: int) -> Mapping[str, str]:
    return {"static": GOLDEN.replace("for", f"standin_raise({code}); for")}


FAULTS = {
    # the machine
    "a driver that cannot start": minute(
        "device 0 answers", "npu-smi info -t health", environ={"ASCEND_STANDIN_INIT": "507899"}
    ),
    "a device that is not normal": minute("device 0 answers", "reset it", environ={"ASCEND_STANDIN_STATUS": "1"}),
    "a device that hangs": minute("device 0 answers", "end other programs on it", held="9"),
    "no memory left": minute("device 0 answers", "end other programs", environ={"ASCEND_STANDIN_HBM": "1000"}),
    "no visible device": minute("device nodes", "ascending order", environ={"ASCEND_RT_VISIBLE_DEVICES": "7"}),
    "no device": minute("device nodes", "--device=/dev/davinci0", nodes=()),
    "no toolkit": minute("CANN toolkit", "source", environ={"ASCEND_HOME_PATH": "/nowhere"}),
    "no packages": minute("toolkit's Python", "pip install attrs decorator psutil", packages=()),
    "a torch_npu of another toolkit": minute(
        "torch_npu loads", "memory=acl", environ={"ASCEND_STANDIN_TORCH": "broken"}
    ),
    "an ill chip": minute("device 0", "reset the device", machine=Machine(ill=frozenset({(0, 0)}))),
    "a chip of another family": minute("chip", "npu-smi info -t board", machine=Machine(chip=Chip.P3)),
    # a device in the middle
    "a device that goes down": static("infra_error", "npu-smi info", environ={"ASCEND_STANDIN_INIT": "507899"}),
    "memory with an error": static("infra_error", "npukb doctor --npu", golden=raised(507054)),
    "a code that nobody knows": static("infra_error", "npukb doctor --npu", golden=raised(599999)),
    "memory that is full": static("infra_error", "npu-smi info", environ={"ASCEND_STANDIN_HBM": "1000"}),
    # kernels
    "a core that raises an exception": static("rule_violation", "--executor twin", golden=raised(507015)),
    "a vector core that raises one": static("rule_violation", "--executor twin", golden=raised(507035)),
    "a core that does not end": static("timeout", "flags that nobody sets", golden=raised(507014)),
    "a vector core that does not end": static("timeout", "flags that nobody sets", golden=raised(507034)),
    "a write outside": candidate("rule_violation", "tensor's own elements", "x[-3] = 1;"),
    "an endless loop that hardware does not stop": candidate(
        "timeout", "flags that nobody sets", "standin_hang();",
        environ={"ASCEND_STANDIN_LIMIT": "0", "ASCEND_STANDIN_HEALS_AFTER": "2"},
    ),
    "a worker that dies": candidate("crash", "--executor twin", "*(volatile int*)0 = 1;"),
    # operators
    "host code that does not compile": dynamic("compile_error", "--compile_only", golden={"host": f"{HOST}int f(;\n"}),
    "host code that lacks a function": dynamic(
        "compile_error", "Define every function",
        golden={"host": f"{HOST}int nowhere();\nint asks() {{ return nowhere(); }}\n"},
    ),
    "a package for another machine": dynamic(
        "infra_error", "cross compiler", environ={"ASCEND_STANDIN_BUILT": "riscv64"},
        golden={"host": f"{HOST}// not among the builds that are kept\n"},
    ),
    "a definition for other chips": dynamic(
        "launch_error", "types and formats", golden={"host": HOST.replace("910b", "310p")}
    ),
    "a tiling function that refuses": dynamic(
        "launch_error", "tiling function's return values", golden={"host": f"// STANDIN_TILING=561002\n{HOST}"}
    ),
    "an attribute that the task lacks": dynamic(
        "compile_error", "names that the task asks for",
        golden={"host": HOST.replace("this->AICore", 'this->Attr("alpha").Float(1.0); this->AICore')},
    ),
    "a workspace that does not fit": dynamic(
        "out_of_memory", "Ask for less workspace", environ={"ASCEND_STANDIN_HBM": "1000000"},
        golden={"host": f"// STANDIN_WORKSPACE=2000000\n{HOST}"},
    ),
    # measuring
    "a profiler that writes nothing": Fault(
        "counters", "infra_error", "profile=time", environ={"ASCEND_STANDIN_EMPTY": "1"}
    ),
    "a device that goes down while it is measured": Fault(
        "calibration", "infra_error", "npukb doctor --npu", environ={"ASCEND_STANDIN_INIT": "507899"}
    ),
    # strange, and no fault
    "tables of another version": Fault("counters", "ok", "", environ={"ASCEND_STANDIN_MSPROF": "9.1"}),
    "a toolkit without the package ASC": dynamic("ok", "", toolkit=Toolkit.CANN_82),
    "an A3 server": dynamic(
        "ok", "", machine=Machine(chip=Chip.A3), environ={"ASCEND_STANDIN_SOC": "StandIn910_9392"}
    ),
    "nodes with other numbers": static(
        "ok", "", nodes=(3, 5), machine=Machine(cards=(4, 6)), environ={"ASCEND_RT_VISIBLE_DEVICES": "1"}
    ),
    "a slow way to the device": static("ok", "", environ={"ASCEND_STANDIN_DISPATCH_US": "300"}),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_ends_in_its_outcome_owner_and_remedy(
    passed: tuple[Path, Commands, int],
    npukb_standin: Callable[..., Path],
    build_cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    fault = FAULTS[name]
    root = npukb_standin(nodes=fault.nodes, packages=fault.packages, toolkit=fault.toolkit)
    kit.furnish(tmp_path, monkeypatch, root, build_cache)
    kit.golden(tmp_path, **fault.golden)
    kit.candidates(tmp_path, {"faulty": fault.edit, "right": ("", "", "ok")})
    kit.on(monkeypatch, root, fault.machine, **fault.environ)
    if not fault.packages:
        monkeypatch.setattr(interpreter, "find_spec", lambda name: None)
        monkeypatch.setattr(interpreter, "_OTHERS", ())
    forget(passed[0], tmp_path, fault.step)
    commands = Commands()
    with held(root, fault.held):
        code = accept(commands)
    step = kit.report(tmp_path)[fault.step]
    assert (code, step["passed"]) == ((0, True) if fault.passes else (1, False)), commands.calls
    assert {call.command for call in commands.calls} == {COMMANDS[fault.step.partition(",")[0]]}, "nothing else is run"
    seen = told(step, fault)
    assert (seen["outcome"], seen["owner"]) == (fault.outcome, fault.owner), seen
    assert fault.remedy in seen["remedy"], seen
    assert fault.passes or seen["remedy"] in (tmp_path / OUT / "report.md").read_text(encoding="utf-8")


COMMANDS = {
    "first minute": "doctor", "golden kernels": "run", "adversarial candidates": "judge", "counters": "judge",
    "calibration": "calibrate",
}  # fmt: skip


def forget(accepted: Path, folder: Path, step: str) -> None:
    """The report of an acceptance in which everything but ``step`` had passed."""
    document = json.loads((accepted / OUT / "report.json").read_text(encoding="utf-8"))
    steps = [{**one, "passed": one["name"] != step} for one in document["steps"]]
    kit.write(folder / OUT / "report.json", json.dumps({**document, "passed": False, "steps": steps}))


@contextmanager
def held(root: Path, failures: str) -> Iterator[None]:
    """The device's node as an endless kernel leaves it: so many more openings fail."""
    nodes = list((root / "dev").glob("davinci[0-9]*"))
    for node in nodes:
        node.write_text(failures or "0")
    try:
        yield
    finally:
        for node in nodes:
            node.write_text("0")


def told(step: Mapping[str, Any], fault: Fault) -> Mapping[str, str]:
    """Outcome, owner and remedy as the report has them."""
    found = step["found"]
    if fault.step == "first minute":
        [problem] = [one for one in found["problems"] if one["name"] == fault.name]
        return {**problem, "outcome": problem["status"]}
    if "candidates" in found:
        rows = {one["candidate"]: one for one in found["candidates"]}
        assert rows["right"]["seen"] == "ok", "the device is there for the next one"
        return {**rows["faulty"], "outcome": rows["faulty"]["seen"]}
    if "wrong" in found and step["passed"]:
        return {"outcome": "ok", "owner": "none", "remedy": ""}
    return found["wrong"][0] if "wrong" in found else found
