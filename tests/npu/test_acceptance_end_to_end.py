"""The acceptance from one end to the other on the fake device: the real ``npukb``, builds, verdicts and report.

The fake toolkit knows plain C++ and no Ascend C, so that its golden kernel and its candidates are plain C++ as well,
and micro-kernels do not compile: what cannot work on the fake has to fail, and to say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from npukb_npu import acceptance, executor
from npukb_npu.acceptance import Answer, main
from npukernelbench.cli import main as npukb_main
from npukernelbench.report.run_tables import headline
from npukernelbench.store.results import read_results
from tests.npu.conftest import site_of

TASK = """
name: FakeSqrt
suite: fake
level: 1
category: Math
version: 1
tags: [elementwise]
kernel: fake_sqrt
core: vector
summary: Square roots on the fake device of the tests.
description: For tests.
formula: y_i = sqrt(x_i)
interface:
  inputs: [{name: x, dtypes: [float32], values: {uniform: [1.0, 9.0]}, description: Any shape.}]
  outputs: [{name: y, dtype_like: x, shape_like: x, description: Square roots.}]
reference: math.sqrt
goldens: {static: golden.cpp}
cases:
  - {id: smoke, inputs: {x: {shape: [7, 5], dtype: float32}}, profiles: [smoke]}
"""
GOLDEN = """
extern "C" __global__ __aicore__ void fake_sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    for (int i = 0; i < 35; ++i) reinterpret_cast<float*>(y)[i] = std::sqrt(reinterpret_cast<float*>(x)[i]);
}
"""
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
  right: {edits: [], outcome: ok}
  no value: {edits: [{old: 'c[i] =', new: 'volatile int v ='}], outcome: wrong_value}
  too far: {edits: [{old: 'i < TOTAL', new: 'i <= TOTAL'}], outcome: rule_violation}
  no C++: {edits: [{old: 'auto* a', new: 'auto * * * a'}], outcome: compile_error}
"""
TOTAL = 7 * 301


@pytest.fixture
def machine(fake_root: Path, build_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder with a suite of candidates, on the fake machine."""
    monkeypatch.setattr(executor, "Site", lambda: site_of(fake_root))
    monkeypatch.setenv("NPUKB_CACHE_DIR", str(build_cache))
    monkeypatch.setenv("NPUKB_NPU_LEASES", str(tmp_path / "leases"))
    monkeypatch.setattr(acceptance, "_SUITES", ("suite",))
    for name, text in (
        ("suite/candidates.yaml", CANDIDATES), ("suite/right.cpp", RIGHT.replace("TOTAL", str(TOTAL))),
        ("tasks/fake_sqrt/task.yaml", TASK), ("tasks/fake_sqrt/golden.cpp", GOLDEN),
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("'i < TOTAL'", f"'i < {TOTAL}'").replace("'i <= TOTAL'", f"'i <= {TOTAL}'"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_doctor_to_signed_report(machine: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls = []

    def npukb(words: Sequence[str]) -> Answer:
        """The real command line in this process, which knows the fake machine and the task of the test."""
        capfd.readouterr()
        more = {"run": ("--include_path", "tasks", "--executor_args", "sampling_s=0.01,warmup_s=0.0")}.get(words[0], ())
        code = npukb_main([*words, *more])
        seen = capfd.readouterr()
        calls.append((words[0], code, seen.out, seen.err))
        return Answer(code, seen.out, seen.err)

    code = main(["--name", "A. Tester", "--out", "npu-acceptance-fake", "--tasks", "FakeSqrt"], npukb)
    out = machine / "npu-acceptance-fake"
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    steps = {one["name"]: one for one in report["steps"]}
    told = {name: step["summary"] for name, step in steps.items()}
    assert steps["doctor"]["passed"], calls[0]
    assert "910B3" in json.dumps(steps["doctor"]["found"]), "the doctor looked at the fake machine"

    static = steps["golden kernels, static"]
    run = next(out for name, _, out, _ in calls if name == "run")
    [results] = (out / "runs").glob("**/results.json")
    assert headline(read_results(results.parent)).endswith("executor npu: not yet run on hardware")
    assert json.loads(run)["identity"]["executor"]["description"]["memory"].startswith("torch_npu 2.12.0 for operators")
    assert static["passed"], json.dumps(static["found"])
    assert static["found"] == {"outcomes": {"ok": 1}, "wrong": []}
    assert not steps["golden kernels, dynamic"]["passed"]  # the task of the test has none

    candidates = steps["adversarial candidates, suite"]
    assert {one["candidate"]: one["seen"] for one in candidates["found"]["candidates"]} == {
        "right": "ok", "no value": "wrong_value", "too far": "rule_violation", "no C++": "compile_error",
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
