"""Every way of cheating on record gets the outcome that docs/security.md names, and its honest neighbours pass."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Case, Outcome, Severity, Task, Track
from tests.adversarial.catalogue.conftest import ways
from tests.judging import all_said

if TYPE_CHECKING:
    from collections.abc import Callable

    from npukernelbench.judge.pipeline import Judge
    from tests.adversarial.catalogue.conftest import Way

PAGE = Path(__file__).parents[3] / "docs/security.md"


def test_way(judges: Callable[[float], Judge], subject: tuple[Task, Case], way: Way) -> None:
    task, case = subject
    judge = judges(1.0 if way.expected.get("outcome") == "timeout" else 3.0)
    verdict = judge.judge(task, [case], Track.STATIC, candidate_of({"kernel.cpp": way.source}))
    said = all_said(verdict)
    texts = [str(diagnostic) for diagnostic in said]
    assert way.allows("outcome", verdict.outcome.value), texts
    assert way.allows("stage", verdict.stage.value), texts
    errors = [diagnostic for diagnostic in said if diagnostic.severity is Severity.ERROR]
    if verdict.outcome is Outcome.OK:
        assert not errors
        return
    assert errors[0].rule == way.expected.get("rule", errors[0].rule), texts
    assert way.expected.get("says", "") in errors[0].message, texts
    marked = [number for number, text in enumerate(way.source.splitlines(), 1) if text.endswith("// here")]
    if marked:
        assert (errors[0].file, errors[0].line) == ("kernel.cpp", marked[0]), texts


def test_every_entry_of_the_catalogue_is_answered() -> None:
    rows = dict(re.findall(r"^\| ([SCTH]\d+) \|.*\| ([^|]*) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {f"{group}{n}" for group, last in (("S", 9), ("C", 14), ("T", 11), ("H", 9)) for n in range(1, last + 1)}
    assert set(rows) == wanted
    written = {way.name.split()[0] for way in ways()} - {"honest"}
    assert written == {entry for entry, proof in rows.items() if "candidate" in proof}
