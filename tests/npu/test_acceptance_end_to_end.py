"""The acceptance from one end to the other on the stand-in: the real ``npukb``, builds, verdicts and report.

The stand-in knows plain C++ and no Ascend C, so that golden kernels and candidates are plain C++ as well, and
micro-kernels do not compile: what cannot work on it has to fail, and to say so. Then the same with one fault at a time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from npukb_npu import acceptance, executor, interpreter, trial
from npukb_npu.acceptance import Answer, Npukb, main
from npukernelbench.cli import main as npukb_main
from npukernelbench.nouns import Outcome, Owner
from npukernelbench.report.run_tables import headline
from npukernelbench.store import read_results
from npukernelbench.testing.standin import PACKAGES
from tests.npu.conftest import site_of

TASK = """
name: StandSqrt
suite: standin
level: 1
category: Math
version: 1
tags: [elementwise]
kernel: stand_sqrt
core: vector
summary: Square roots on the stand-in.
description: For tests.
formula: y_i = sqrt(x_i)
interface:
  inputs: [{name: x, dtypes: [float32], values: {uniform: [1.0, 9.0]}, description: Any shape.}]
  outputs: [{name: y, dtype_like: x, shape_like: x, description: Square roots.}]
reference: math.sqrt
goldens: {static: golden.cpp, dynamic: golden}
cases:
  - {id: smoke, inputs: {x: {shape: [7, 5], dtype: float32}}, profiles: [smoke]}
"""
GOLDEN = """
extern "C" __global__ __aicore__ void stand_sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    for (int i = 0; i < 35; ++i) reinterpret_cast<float*>(y)[i] = std::sqrt(reinterpret_cast<float*>(x)[i]);
}
"""
HOST = """
namespace ops {
class StandSqrt : public OpDef {
public:
    explicit StandSqrt(const char* name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED);
        this->Output("y").ParamType(REQUIRED);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(StandSqrt);
}
"""
DEVICE = GOLDEN.replace("GM_ADDR workspace", "GM_ADDR workspace, GM_ADDR tiling")
#: What stands for the two kernels that try a device out.
TRIALS = {
    "vector": """
extern "C" __global__ __aicore__ void trial_vector(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto *a = reinterpret_cast<float*>(x), *b = reinterpret_cast<float*>(y), *c = reinterpret_cast<float*>(z);
    for (int i = 0; i < 1024; ++i) c[i] = a[i] + b[i];
}
""",
    "cube": """
static float wide(uint16_t h) {
    float f = std::ldexp((h & 1023) + 1024, (h >> 10 & 31) - 25) * (h >> 15 ? -1 : 1);
    return h & 0x7fff ? f : 0;
}
extern "C" __global__ __aicore__ void trial_cube(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto *a = reinterpret_cast<uint16_t*>(x), *b = reinterpret_cast<uint16_t*>(y);
    for (int i = 0; i < 256; ++i) {
        float sum = 0;
        for (int k = 0; k < 16; ++k) sum += wide(a[i / 16 * 16 + k]) * wide(b[k * 16 + i % 16]);
        reinterpret_cast<float*>(z)[i] = sum;
    }
}
""",
}
#: Sums of halfs, in plain C++.
RIGHT = """
static float wide(uint16_t h) {
    int size = h >> 10 & 31;
    return std::ldexp((h & 1023) + (size ? 1024 : 0), (size ? size : 1) - 25) * (h >> 15 ? -1 : 1);
}
static uint16_t half(float f) {
    uint32_t bits;
    __builtin_memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size < 0x38800000) return sign | static_cast<uint16_t>(std::lrint(std::ldexp(std::fabs(f), 24)));
    return sign | static_cast<uint16_t>((size - 0x38000000 + 0xfff + (size >> 13 & 1)) >> 13);
}
extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    auto* a = reinterpret_cast<uint16_t*>(x);
    auto* b = reinterpret_cast<uint16_t*>(y);
    auto* c = reinterpret_cast<uint16_t*>(z);
    for (int i = 0; i < TOTAL; ++i) c[i] = half(wide(a[i]) + wide(b[i]));
}
"""
CANDIDATES = """
candidates:
  no end: {edits: [{old: 'auto* a', new: 'standin_hang(); auto* a'}], outcome: timeout}
  right: {edits: [], outcome: ok}
  no value: {edits: [{old: 'c[i] =', new: 'volatile int v ='}], outcome: wrong_value}
  too far: {edits: [{old: 'i < TOTAL', new: 'i <= TOTAL'}], outcome: rule_violation}
  no C++: {edits: [{old: 'auto* a', new: 'auto * * * a'}], outcome: compile_error}
"""
TOTAL = 7 * 301


@pytest.fixture
def machine(standin_root: Path, build_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a suite of candidates, on the stand-in."""
    monkeypatch.setattr(executor, "Site", lambda: site_of(standin_root))
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(build_cache))
    monkeypatch.setenv("NPUKB_NPU_LEASES", str(tmp_path / "leases"))
    monkeypatch.setattr(acceptance, "_SUITES", ("suite",))
    for name, text in (
        ("suite/candidates.yaml", CANDIDATES), ("suite/right.cpp", RIGHT.replace("TOTAL", str(TOTAL))),
        ("tasks/stand_sqrt/task.yaml", TASK), ("tasks/stand_sqrt/golden.cpp", GOLDEN),
        ("tasks/stand_sqrt/golden/op_host/stand_sqrt.cpp", HOST),
        ("tasks/stand_sqrt/golden/op_kernel/stand_sqrt.cpp", DEVICE),
        *((f"trial/{name}.cpp", text) for name, text in TRIALS.items()),
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("'i < TOTAL'", f"'i < {TOTAL}'").replace("'i <= TOTAL'", f"'i <= {TOTAL}'"))
    kernels = tuple(replace(one, source=tmp_path / "trial" / one.source.name) for one in trial.KERNELS)
    monkeypatch.setattr(trial, "KERNELS", kernels)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def npukb(capfd: pytest.CaptureFixture[str]) -> tuple[Npukb, list[tuple[str, int, str, str]]]:
    """The real command line in this process, which knows the stand-in and the task of the test; and what it said."""
    calls: list[tuple[str, int, str, str]] = []

    def run(words: Sequence[str]) -> Answer:
        capfd.readouterr()
        more = {
            "run": ("--include_path", "tasks", "--executor_args", "sampling_s=0.01,warmup_s=0.0,lease_timeout_s=0.01")
        }.get(words[0], ())
        code = npukb_main([*words, *more])
        seen = capfd.readouterr()
        calls.append((words[0], code, seen.out, seen.err))
        return Answer(code, seen.out, seen.err)

    return run, calls


def test_from_doctor_to_signed_report(machine: Path, npukb: tuple[Npukb, list[tuple[str, int, str, str]]]) -> None:
    run, calls = npukb
    code = main(["--name", "A. Tester", "--out", "npu-acceptance-standin", "--tasks", "StandSqrt"], run)
    out = machine / "npu-acceptance-standin"
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    steps = {one["name"]: one for one in report["steps"]}
    told = {name: step["summary"] for name, step in steps.items()}
    assert steps["first minute"]["passed"], calls[0]
    assert "910B3" in json.dumps(steps["first minute"]["found"]), "the doctor looked at the stand-in"
    tried = [one for one in steps["first minute"]["found"]["findings"] if one["section"] == "trial of npu"]
    assert {one["name"] for one in tried} >= {"device 0 answers", "vector kernel", "cube kernel"}

    static = steps["golden kernels, static"]
    first = next(said for name, _, said, _ in calls if name == "run")
    results = min((out / "runs").glob("**/results.json"))
    assert headline(read_results(results.parent)).endswith("executor npu: not yet run on hardware")
    assert json.loads(first)["identity"]["executor"]["description"]["memory"].startswith(
        "torch_npu 2.12.0 for operators"
    )
    assert static["passed"], json.dumps(static["found"])
    assert static["found"] == {"outcomes": {"ok": 1}, "wrong": []}
    assert steps["golden kernels, dynamic"]["passed"], json.dumps(steps["golden kernels, dynamic"]["found"])

    candidates = steps["adversarial candidates, suite"]
    assert {one["candidate"]: one["seen"] for one in candidates["found"]["candidates"]} == {
        "no end": "timeout", "right": "ok", "no value": "wrong_value", "too far": "rule_violation",
        "no C++": "compile_error",
    }  # fmt: skip
    assert candidates["passed"]

    assert not steps["calibration"]["passed"]
    assert "does not compile" in told["calibration"]
    assert not (out / "machine.yaml").exists()

    assert (code, report["passed"]) == (1, False)
    text = (out / "report.md").read_text(encoding="utf-8")
    assert "Signed off by A. Tester" in text
    assert "**failed**" in text
    sums = dict(reversed(line.split("  ")) for line in (out / "SHA256SUMS").read_text(encoding="utf-8").splitlines())
    assert {"report.json", "report.md"} <= sums.keys()
    assert all(sha256((out / name).read_bytes()).hexdigest() == value for name, value in sums.items())
    assert [name for name in sums if name.startswith("runs/")]


#: One fault at a time: what is injected, the finding that has to name it, and words of its remedy.
FAULTS: dict[str, tuple[dict[str, str], str, str]] = {
    "a driver that cannot start": ({"ASCEND_STANDIN_INIT": "507899"}, "device 0 answers", "npu-smi info -t health"),
    "a device that is not normal": ({"ASCEND_STANDIN_STATUS": "1"}, "device 0 answers", "reset it"),
    "a device that hangs": ({"node": "9"}, "device 0 answers", "end other programs on it"),
    "no memory left": ({"ASCEND_STANDIN_HBM": "1000"}, "device 0 answers", "end other programs on it"),
    "no visible device": ({"ASCEND_RT_VISIBLE_DEVICES": "7"}, "device nodes", "ascending order"),
    "no toolkit": ({"ASCEND_HOME_PATH": "/nowhere"}, "CANN toolkit", "source"),
    "no packages": ({"packages": "none"}, "toolkit's Python", "pip install attrs decorator psutil"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_machine_with_a_fault_is_told_so_in_the_first_minute(
    machine: Path,
    npukb: tuple[Npukb, list[tuple[str, int, str, str]]],
    npukb_standin: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    fault: str,
) -> None:
    """The fault is named with its remedy, and no kernel is judged: nothing of it can count against a model."""
    environ, name, remedy = FAULTS[fault]
    environ = dict(environ)
    packages = () if environ.pop("packages", "") else PACKAGES
    root = npukb_standin(packages=packages)
    node = root / "dev/davinci0"
    node.write_text(environ.pop("node", "0"))
    if not packages:
        monkeypatch.setattr(interpreter, "find_spec", lambda name: None)
        monkeypatch.setattr(interpreter, "_OTHERS", ())
    monkeypatch.setattr(executor, "Site", lambda: site_of(root, **environ))
    run, calls = npukb
    code = main(["--name", "A. Tester", "--out", "npu-acceptance-standin", "--tasks", "StandSqrt"], run)
    node.write_text("0")
    report = json.loads((machine / "npu-acceptance-standin/report.json").read_text(encoding="utf-8"))
    [first] = report["steps"]
    assert (code, first["name"], first["passed"]) == (1, "first minute", False)
    problems = {one["name"]: one["remedy"] for one in first["found"]["problems"]}
    assert remedy in problems[name], problems
    assert [call[0] for call in calls] == ["doctor"]
    assert problems[name] in (machine / "npu-acceptance-standin/report.md").read_text(encoding="utf-8")


def test_a_device_that_goes_down_in_between_counts_against_no_kernel(
    machine: Path,
    npukb: tuple[Npukb, list[tuple[str, int, str, str]]],
    standin_root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was begun is ours to repeat: outcome and owner say so, and the same command goes on when it is back."""
    monkeypatch.setattr(acceptance, "_TRACKS", ("static",))
    monkeypatch.setattr(acceptance, "_SUITES", ())
    run, calls = npukb
    down = {"ASCEND_STANDIN_INIT": "507899"}

    def goes_down(words: Sequence[str]) -> Answer:
        monkeypatch.setattr(executor, "Site", lambda: site_of(standin_root, **(down if words[0] == "run" else {})))
        return run(words)

    def report(with_: Npukb) -> dict[str, dict[str, Any]]:
        main(["--name", "A. Tester", "--out", "npu-acceptance-standin", "--tasks", "StandSqrt"], with_)
        text = (machine / "npu-acceptance-standin/report.json").read_text(encoding="utf-8")
        return {one["name"]: one for one in json.loads(text)["steps"]}

    golden = report(goes_down)["golden kernels, static"]
    assert not golden["passed"]
    assert golden["found"]["outcomes"] == {"infra_error": 1}
    assert Outcome.INFRA_ERROR.owner is Owner.INFRA
    text = (machine / "npu-acceptance-standin/report.md").read_text(encoding="utf-8")
    assert "- StandSqrt, smoke: infra_error on npu: " in text
    assert "aclInit returned 507899" in text
    monkeypatch.setattr(executor, "Site", lambda: site_of(standin_root))
    (machine / "leases/device-0.quarantine").unlink()  # its five seconds are over
    calls.clear()
    again = report(run)
    assert again["golden kernels, static"]["passed"], again
    assert "doctor" not in [call[0] for call in calls], "the first minute had passed"
