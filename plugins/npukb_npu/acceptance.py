"""Acceptance by the owner of a device: every golden kernel, every adversarial candidate, calibration, one folder.

Everything is run as a user would, by ``npukb`` itself, and judged here. A wrong value must be found wrong; what only
breaks a rule may go unnoticed by hardware and is counted. Not yet run on hardware.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import yaml

__all__ = ["Answer", "Step", "accept", "adversaries", "main"]

_SUITES = ("tests/adversarial/judge", "tests/adversarial/catalogue")
#: What must be found on a device as well; everything else is a rule that the twin knows and a device may not enforce.
_MUST_BE_FOUND = frozenset({"wrong_value", "wrong_shape", "non_finite", "guard_rejected"})
_TRACKS = ("static", "dynamic")


class Answer(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


#: Runs ``npukb`` with these words.
Npukb = Callable[[Sequence[str]], Answer]


@dataclass(frozen=True, slots=True)
class Step:
    """One part of the acceptance: whether it passed, in words, and what it found."""

    name: str
    passed: bool
    summary: str
    found: Mapping[str, Any] = field(default_factory=dict)


def _npukb(words: Sequence[str]) -> Answer:
    done = subprocess.run([sys.executable, "-m", "npukernelbench", *words], capture_output=True, text=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


def accept(root: Path, out: Path, npukb: Npukb, say: Callable[[str], None], tasks: str = "all") -> list[Step]:
    """Run every step for the checkout ``root``; the machine file and candidates are written into ``out``."""
    steps = []
    for step in _steps(root, out, npukb, tasks):
        say(f"{'passed' if step.passed else 'FAILED'}: {step.name}: {step.summary}")
        steps.append(step)
    return steps


def _steps(root: Path, out: Path, npukb: Npukb, tasks: str) -> Iterator[Step]:
    doctor = npukb(("doctor", "--executor", "npu", "--json"))
    yield Step("doctor", doctor.code == 0, f"exit code {doctor.code}", {"doctor": _parsed(doctor.out)})
    for track in _TRACKS:
        yield _golden(npukb, track, tasks, out)
    for suite in _SUITES:
        yield _adversarial(root / suite, root / _SUITES[0] / "right.cpp", npukb, out)
    machine = out / "machine.yaml"
    done = npukb(("calibrate", "--out", str(machine)))
    text = machine.read_text(encoding="utf-8") if machine.is_file() else ""
    yield Step("calibration", done.code == 0 and bool(text), _last(done) or f"wrote {machine.name}", {"machine": text})


def _golden(npukb: Npukb, track: str, tasks: str, out: Path) -> Step:
    words = ("run", "--model", "reference", "--executor", "npu", "--tasks", tasks, "--track", track)
    done = npukb((*words, "--output_path", str(out / "runs"), "--json"))
    found = _parsed(done.out)
    rows = found.get("samples", []) if isinstance(found, dict) else []
    outcomes = Counter(str(row["outcome"]) for row in rows)
    wrong = [row for row in rows if (row["outcome"], row["tier"]) != ("ok", "npu")]
    summary = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())) or _last(done) or "no samples"
    return Step(
        f"golden kernels, {track}", bool(rows) and not wrong, summary, {"outcomes": dict(outcomes), "wrong": wrong}
    )


def adversaries(folder: Path, right: Path) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Name, source and expected outcomes of every candidate of a suite."""
    document = yaml.safe_load((folder / "candidates.yaml").read_text(encoding="utf-8"))
    template = right.read_text(encoding="utf-8")
    for name, entry in document["candidates"].items():
        source = str(entry.get("source", template))
        for edit in entry.get("edits", ()):
            source = source.replace(edit["old"], edit["new"])
        outcome = entry["outcome"]
        yield name, source, frozenset([outcome] if isinstance(outcome, str) else outcome)


def _adversarial(folder: Path, right: Path, npukb: Npukb, out: Path) -> Step:
    rows = []
    kernel = out / "candidate.cpp"
    for name, source, expected in adversaries(folder, right):
        kernel.write_text(source, encoding="utf-8")
        words = ("judge", "AddCustom", str(kernel), "--case", "smoke", "--executor", "npu", "--json")
        verdict = _parsed(npukb((*words, "--executor_args", "profile=off")).out)
        seen = str(verdict.get("outcome", "no verdict")) if isinstance(verdict, dict) else "no verdict"
        rows.append(
            {"candidate": name, "expected": sorted(expected), "seen": seen, "as_it_must": _holds(expected, seen)}
        )
    kernel.unlink(missing_ok=True)
    bad = [str(row["candidate"]) for row in rows if not row["as_it_must"]]
    unnoticed = sum(row["seen"] == "ok" and row["expected"] != ["ok"] for row in rows)
    summary = f"{len(rows)} candidates, {unnoticed} broken rules unnoticed by the device" + "".join(
        f"; wrong: {name}" for name in bad
    )
    return Step(f"adversarial candidates, {folder.name}", bool(rows) and not bad, summary, {"candidates": rows})


def _holds(expected: frozenset[str], seen: str) -> bool:
    """A right kernel is right; a wrong value is never right; nothing is our fault."""
    if expected == frozenset({"ok"}):
        return seen == "ok"
    if seen in ("no verdict", "infra_error"):
        return "infra_error" in expected
    return seen != "ok" or not expected <= _MUST_BE_FOUND


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _last(answer: Answer) -> str:
    lines = answer.err.strip().splitlines() or answer.out.strip().splitlines()
    return lines[-1] if lines else ""


def write(out: Path, steps: Sequence[Step], signer: str, when: str) -> bool:
    """``report.json``, ``report.md`` and the checksums of everything in ``out``; whether all steps passed."""
    passed = all(step.passed for step in steps)
    document = {"signed_off_by": signer, "date": when, "passed": passed, "steps": [asdict(step) for step in steps]}
    (out / "report.json").write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    lines = [
        "# Acceptance of the npu executor",
        "",
        f"Signed off by {signer}, {when}: **{'passed' if passed else 'failed'}**.",
        "",
        "| step | result | summary |",
        "|---|---|---|",
        *(f"| {one.name} | {'passed' if one.passed else 'failed'} | {_cell(one.summary)} |" for one in steps),
    ]
    (out / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(out).as_posix()}" for path in files]
    (out / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    return passed


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(arguments: Sequence[str], npukb: Npukb = _npukb) -> int:
    """Exit code 0 when everything passed."""
    parser = argparse.ArgumentParser(prog="scripts/npu_acceptance", description=__doc__)
    parser.add_argument("--name", required=True, help="who signs the report off")
    parser.add_argument("--out", type=Path, required=True, help="folder to write, called npu-acceptance-…")
    parser.add_argument("--tasks", default="all", help="golden kernels to run")
    chosen = parser.parse_args(arguments)
    if chosen.out.exists():
        parser.error(f"{chosen.out} exists; a report is never mixed with an older one")
    if not chosen.out.name.startswith("npu-acceptance"):
        parser.error("call the folder npu-acceptance-CHIP, so that results/ knows what it is")
    chosen.out.mkdir(parents=True)
    steps = accept(Path.cwd(), chosen.out, npukb, _say, chosen.tasks)
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    return 0 if write(chosen.out, steps, chosen.name, when) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
