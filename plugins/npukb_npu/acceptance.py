"""Acceptance by the owner of a device: every golden kernel, every adversarial candidate, calibration, one folder.

Everything is run as a user would, by ``npukb`` itself, and judged here. The first step tries the machine out and takes
less than a minute; where it fails, nothing else is run. A wrong value must be found wrong; what only breaks a rule may
go unnoticed by hardware and is counted. After every step the report is written, and the same command goes on after the
last step that passed. Not yet run on hardware.
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
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from npukernelbench.nouns import Outcome, Owner, Severity
from npukernelbench.store import read_run

__all__ = ["Acceptance", "Answer", "Step", "adversaries", "main", "report_text"]

_SUITES = ("tests/adversarial/judge", "tests/adversarial/catalogue")
#: What must be found on a device as well; everything else is a rule that the twin knows and a device may not enforce.
_MUST_BE_FOUND = frozenset({"wrong_value", "wrong_shape", "non_finite", "guard_rejected"})
_TRACKS = ("static", "dynamic")
_FIRST, _COUNTERS, _REPORT = "first minute", "counters", "report.json"
#: A counter that only the vendor's profiler of single launches gives.
_COUNTED = "msprof_task_duration_us"
_OWN_SECTIONS = ("harness", "default executor", "executor npu", "trial of npu")
_MOST_SHOWN = 20
_NO_VERDICT, _FAULT = "no verdict", Outcome.INFRA_ERROR.value


class Answer(NamedTuple):
    """Exit code and output of a command."""

    code: int
    out: str
    err: str


#: Whose faults never count against a model: those of a machine and of the harness.
_OURS = Owner.INFRA.value

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
    # by this interpreter: an npukb on the path may be another installation
    done = subprocess.run([sys.executable, "-m", "npukernelbench", *words], capture_output=True, text=True, check=False)
    return Answer(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What is accepted: the checkout, the folder that is written, the golden kernels, and who signs."""

    root: Path
    out: Path
    tasks: str
    signer: str
    when: str
    npukb: Npukb

    def accept(self, done: Sequence[Step], say: Callable[[str], None]) -> list[Step]:
        """Run every step that is not among those ``done``, and write the report after each."""
        # a step that failed is run again
        known = {step.name: step for step in done if step.passed}
        steps: list[Step] = []
        for name, run in self._steps():
            step = known.get(name) or run()
            again = " (before)" if name in known else ""
            say(f"{'passed' if step.passed else 'FAILED'}: {name}: {step.summary}{again}")
            steps.append(step)
            # after each step: a later one may be interrupted, and the same command goes on from the report
            self.write(steps)
            if name == _FIRST and not step.passed:
                say("the machine is not ready: mend what is named above, then start the same command again")
                break
        return steps

    def _steps(self) -> Iterator[tuple[str, Callable[[], Step]]]:
        yield _FIRST, lambda: _first(self.npukb)
        for track in _TRACKS:
            yield f"golden kernels, {track}", partial(_golden, self.npukb, track, self.tasks, self.out)
        for suite in _SUITES:
            folder, right = self.root / suite, self.root / _SUITES[0] / "right.cpp"
            yield f"adversarial candidates, {folder.name}", partial(_adversarial, folder, right, self.npukb, self.out)
        yield _COUNTERS, lambda: _counters(self.root / _SUITES[0] / "right.cpp", self.npukb, self.out)
        yield "calibration", lambda: _calibration(self.npukb, self.out / "machine.yaml")

    def write(self, steps: Sequence[Step]) -> bool:
        """``report.json``, ``report.md`` and the checksums of everything in ``out``; whether all steps passed."""
        passed = len(steps) == sum(1 for _ in self._steps()) and all(step.passed for step in steps)
        document = {
            "signed_off_by": self.signer,
            "date": self.when,
            "tasks": self.tasks,
            "passed": passed,
            "steps": [asdict(step) for step in steps],
        }
        (self.out / _REPORT).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        text = report_text(steps, signer=self.signer, when=self.when, passed=passed)
        (self.out / "report.md").write_text(text, encoding="utf-8")
        # the checksums come last, over everything that is in the folder then
        files = sorted(path for path in self.out.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
        sums = [f"{sha256(path.read_bytes()).hexdigest()}  {path.relative_to(self.out).as_posix()}" for path in files]
        (self.out / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
        return passed


def _first(npukb: Npukb) -> Step:
    """What a minute tells: nothing is missing, the device answers, two kernels are built, run and right."""
    answer = npukb(("doctor", "--npu", "--json"))
    report = _parsed(answer.out)
    findings = report.get("findings", []) if isinstance(report, dict) else []
    # the doctor also looks at parts that have nothing to do with the device
    own = [finding for finding in findings if str(finding["section"]) in _OWN_SECTIONS]
    problems = [{**finding, "owner": _OURS} for finding in own if finding["status"] == "problem"]
    summary = "; ".join(f"{problem['name']}: {problem['detail']} — {problem['remedy']}" for problem in problems)
    if not summary:
        summary = f"{len(own)} findings, no problem" if answer.code == 0 else f"exit code {answer.code} {_last(answer)}"
    return Step(_FIRST, answer.code == 0, summary, {"findings": own, "problems": problems})


def _calibration(npukb: Npukb, machine: Path) -> Step:
    done = npukb(("calibrate", "--out", str(machine)))
    text = machine.read_text(encoding="utf-8") if machine.is_file() else ""
    if done.code:
        failed = _failed(done)
        return Step("calibration", False, failed["message"], {"machine": text, **failed})
    return Step("calibration", bool(text), _last(done) or f"wrote {machine.name}", {"machine": text})


def _failed(answer: Answer) -> dict[str, str]:
    """Of a command that could not do its work: the error and its remedy."""
    said = {
        word: next((line.strip().removeprefix(word).strip() for line in answer.err.splitlines() if word in line), "")
        for word in ("error:", "remedy:")
    }
    message = said["error:"] or _last(answer) or f"exit code {answer.code}"
    return {"outcome": _FAULT, "owner": _OURS, "message": message, "remedy": said["remedy:"]}


def _counters(kernel: Path, npukb: Npukb, out: Path) -> Step:
    """A right kernel under the vendor's profiler. The verdict with its profile is kept: ``npukb compare`` reads it."""
    words = ("judge", "AddCustom", str(kernel), "--case", "smoke", "--executor", "npu", "--json")
    answer = npukb((*words, "--executor_args", "profile=full"))
    verdict = _parsed(answer.out)
    row = _judged(verdict)
    profile = verdict.get("profile") if isinstance(verdict, dict) else None
    counters = profile.get("counters", {}) if isinstance(profile, dict) else {}
    passed = row["outcome"] == "ok" and _COUNTED in counters
    if passed:
        (out / "counters.json").write_text(json.dumps(verdict, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    told = f"{len(counters)} counters" if passed else f"{row['outcome']}: {row['message'] or 'no counters'}"
    return Step(_COUNTERS, passed, told, {"counters": counters, **row})


def _judged(verdict: Any) -> dict[str, str]:
    """What ``npukb judge --json`` says: outcome, whose fault, the first error and its remedy."""
    if not isinstance(verdict, dict) or "outcome" not in verdict:
        return {"outcome": _NO_VERDICT, "owner": _OURS, "message": "", "remedy": ""}
    errors = [diagnostic for diagnostic in verdict.get("diagnostics", ()) if diagnostic["severity"] == "error"]
    first = errors[0] if errors else {"message": "", "remedy": ""}
    told = {name: str(first[name]) for name in ("message", "remedy")}
    return {"outcome": str(verdict["outcome"]), "owner": str(verdict.get("owner", "")), **told}


def _golden(npukb: Npukb, track: str, tasks: str, out: Path) -> Step:
    words = ("run", "--model", "reference", "--executor", "npu", "--tasks", tasks, "--track", track)
    done = npukb((*words, "--output_path", str(out / "runs"), "--json"))
    report = _parsed(done.out)
    rows = report.get("samples", []) if isinstance(report, dict) else []
    outcomes = Counter(str(row["outcome"]) for row in rows)
    remedies = _remedies(out / "runs")
    wrong = [
        {**row, "remedy": remedies.get((row["task"], row.get("case", "")), "")}
        for row in rows
        # also the tier: a right answer of the twin proves nothing about a device
        if (row["outcome"], row["tier"]) != ("ok", "npu")
    ]
    facts = {"outcomes": dict(outcomes), "wrong": wrong, **({} if rows else _failed(done))}
    summary = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items())) or str(facts["message"])
    return Step(f"golden kernels, {track}", bool(rows) and not wrong, summary, facts)


def _remedies(runs: Path) -> dict[tuple[str, str], str]:
    """By task and case what the first error of the latest verdict advises."""
    result: dict[tuple[str, str], str] = {}
    # the oldest first, so that later runs overwrite what earlier ones said
    for results in sorted(runs.glob("**/results.json"), key=lambda path: path.stat().st_mtime):
        for key, sample in read_run(results.parent).samples.items():
            if sample.verdict is not None:
                told = [
                    *sample.verdict.diagnostics,
                    *(diagnostic for case in sample.verdict.cases for diagnostic in case.diagnostics),
                ]
                errors = [diagnostic.remedy for diagnostic in told if diagnostic.severity is Severity.ERROR]
                result[key.task, key.case] = errors[0] if errors else ""
    return result


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
        judged = _judged(_parsed(npukb((*words, "--executor_args", "profile=off")).out))
        seen = judged.pop("outcome")
        right_or_not = {"expected": sorted(expected), "seen": seen, "as_it_must": _holds(expected, seen)}
        rows.append({"candidate": name, **right_or_not, **judged})
    # the folder is published, and this was a working file
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
    # a fault of the machine is no answer to whether the candidate would be found
    if seen in (_NO_VERDICT, _FAULT):
        return _FAULT in expected
    return seen != "ok" or not expected <= _MUST_BE_FOUND


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {}


def _last(answer: Answer) -> str:
    lines = answer.err.strip().splitlines() or answer.out.strip().splitlines()
    return lines[-1] if lines else ""


def report_text(steps: Sequence[Step], *, signer: str, when: str, passed: bool) -> str:
    """The report as one page, to be attached to an issue as it is."""
    lines = [
        "# Acceptance of the npu executor",
        "",
        f"Signed off by {signer}, {when}: **{'passed' if passed else 'failed'}**.",
        "",
        "| step | result | summary |",
        "|---|---|---|",
        *(f"| {step.name} | {'passed' if step.passed else 'failed'} | {_cell(step.summary)} |" for step in steps),
    ]
    for step in steps:
        rows = list(_details(step))
        if rows:
            lines += ["", f"## {step.name}", "", *rows[:_MOST_SHOWN]]
            lines += [f"- and {len(rows) - _MOST_SHOWN} more in {_REPORT}"] if len(rows) > _MOST_SHOWN else []
    return "\n".join(lines) + "\n"


def _details(step: Step) -> Iterator[str]:
    """What somebody who was not there needs to know about a step: the machine, and everything that went wrong."""
    for finding in step.found.get("findings", ()):
        remedy = f" — {finding['remedy']}" if finding["remedy"] else ""
        yield f"- {finding['status']}: {finding['name']}: {_cell(str(finding['detail']))}{_cell(str(remedy))}"
    for row in step.found.get("wrong", ()):
        place = f"{row.get('task', '?')}, {row.get('case', '?')}"
        yield f"- {place}: {row['outcome']} on {row['tier']}{_told(row)}"
    for row in step.found.get("candidates", ()):
        if not row["as_it_must"]:
            yield f"- {row['candidate']}: expected {', '.join(row['expected'])}, seen {row['seen']}{_told(row)}"
    if not step.passed and step.found.get("owner"):
        yield f"- {step.name}: {step.summary}{_told({**step.found, 'message': ''})}"


def _told(row: Mapping[str, Any]) -> str:
    """Whose fault something is, what was said of it, and what to do."""
    owner = f", fault of the {row['owner']}" if row.get("owner") else ""
    words = f": {_cell(str(row['message']))}" if row.get("message") else ""
    return f"{owner}{words}" + (f" — {_cell(str(row['remedy']))}" if row.get("remedy") else "")


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
    if not chosen.out.name.startswith("npu-acceptance"):
        parser.error("call the folder npu-acceptance-CHIP, so that results/ knows what it is")
    done = _before(chosen.out, chosen.tasks)
    if isinstance(done, str):
        parser.error(done)
    chosen.out.mkdir(parents=True, exist_ok=True)
    when = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    acceptance = Acceptance(Path.cwd(), chosen.out, chosen.tasks, chosen.name, when, npukb)
    steps = acceptance.accept(done, _say)
    _say(f"report: {chosen.out / 'report.md'}: attach it to an issue, or put the folder into results/")
    return 0 if acceptance.write(steps) else 1


def _before(out: Path, tasks: str) -> list[Step] | str:
    """The steps of an acceptance that was begun in ``out``; in words why it cannot go on there."""
    if not out.exists():
        return []
    try:
        begun = json.loads((out / _REPORT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return f"{out} exists and holds no acceptance that was begun; a report is never mixed with something else"
    if begun.get("passed"):
        return f"{out} holds an acceptance that passed; a report is never mixed with an older one"
    if begun.get("tasks") != tasks:
        return f"{out} was begun with --tasks {begun.get('tasks')}; go on with that, or take another folder"
    return [Step(**step) for step in begun["steps"]]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
