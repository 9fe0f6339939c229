"""A fresh task is looked at in the same breath: loaded, validated, its skeleton written and compiled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from npukb_suites.skeletons import skeleton
from npukernelbench.cli.boundary import App
from npukernelbench.cli.judging import check_once
from npukernelbench.cli.session import open_session
from npukernelbench.nouns import Outcome, Severity
from npukernelbench.tasks.load import load_task
from npukernelbench.tasks.validate import Finding, examine_task

__all__ = ["Checked", "check_task"]


@dataclass(frozen=True)
class Checked:
    """What was found, in lines, and how many findings are errors."""

    lines: tuple[str, ...]
    errors: int


def check_task(folder: Path, options: Mapping[str, Any], app: App) -> Checked:
    """Validate the task of ``folder`` and compile its skeleton, which is written beside it."""
    task, _ = load_task(folder / "task.yaml")
    # The new folder is added to what the user names, so that the task is found beside the shipped ones.
    session = open_session({**options, "include_path": (*(options.get("include_path") or ()), folder)})
    examination = examine_task(task, session.plugins.checkers)
    lines = list(_lines(examination.findings))
    errors = sum(finding.severity is Severity.ERROR for finding in examination.findings)
    tried, killed = sum(examination.tried.values()), sum(examination.killed.values())
    lines.append(
        f"validated: {examination.cases} cases, {examination.hidden} hidden, {killed} of {tried} wrong answers refused"
    )
    kernel = folder / "kernel.cpp"
    case = task.usual_case
    # Written before it is compiled: the user begins with this file, also where it does not compile.
    kernel.write_text(skeleton(task, case), encoding="utf-8")
    verdict = _compiled(app, session, task.name, case, kernel)
    if verdict is not Outcome.OK:
        errors += 1
    lines.append(
        f"{kernel} compiles" if verdict is Outcome.OK else f"error: {kernel} does not compile: {verdict.value}"
    )
    return Checked(tuple(lines), errors)


def _lines(findings: Sequence[Finding]) -> Iterator[str]:
    """A line for every kind of finding: the first, and how many there are."""
    counts = Counter((finding.severity, finding.code) for finding in findings)
    seen = set()
    for finding in findings:
        kind = (finding.severity, finding.code)
        if kind in seen:
            continue
        seen.add(kind)
        more = f", and {counts[kind] - 1} more" if counts[kind] > 1 else ""
        where = f"case {finding.case}: " if finding.case else ""
        yield f"{finding.severity.value}: {where}{finding.message} [{finding.code}{more}]"


def _compiled(app: App, session: Any, name: str, case: Any, kernel: Path) -> Outcome:
    from npukernelbench.generate.extract import candidate_of
    from npukernelbench.report.verdict import Subject

    candidate = candidate_of({"kernel.cpp": kernel.read_text(encoding="utf-8")})
    return check_once(app, session, (case,), Subject(name, case.id, candidate)).outcome
