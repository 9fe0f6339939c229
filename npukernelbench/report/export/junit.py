"""JUnit XML: a suite per task, a test case per sample, as CI servers read it.

A wrong kernel is a failure; what says nothing about the model is an error; what was asked for and not judged yet is
skipped. There is no one schema: this is what GitLab, Jenkins and the usual GitHub actions have in common. GitLab shows
the text of a failure, so that it repeats the message.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from npukernelbench.nouns import Outcome, Owner, Sample
from npukernelbench.nouns.results import Results
from npukernelbench.report.comparison.records import conversations, record_of, rules_name
from npukernelbench.report.results import sample_row
from npukernelbench.run.turns import settled

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["JUNIT"]

#: XML 1.0 has no way to write these characters.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _JUnit:
    """The whole file; a terminal can show it."""

    file_name = "junit.xml"

    def render(self, run: StoredRun, results: Results) -> Iterator[str]:
        """One text, which is an XML document."""
        del results
        record = record_of(run)
        root = Element("testsuites", name=f"npukernelbench {record.model}, rules: {rules_name(record.identity)}")
        suites: defaultdict[str, list[Sample]] = defaultdict(list)
        for turns in conversations(run):
            # By the task of the first turn: all turns of a conversation have the same.
            suites[turns[0].key.task].append(settled(turns))
        for task, samples in suites.items():
            suite = SubElement(root, "testsuite", name=task)
            for sample in samples:
                _case(suite, sample)
            _count(suite)
        if missing := record.expected - len(record.attempts):
            suite = SubElement(root, "testsuite", name="not judged yet")
            case = SubElement(suite, "testcase", classname="not judged yet", name=f"{missing} samples", time="0")
            SubElement(case, "skipped", message="the command that began the run goes on with them")
            _count(suite)
        _count(root)
        indent(root)
        yield '<?xml version="1.0" encoding="utf-8"?>'
        yield tostring(root, encoding="unicode")


JUNIT = _JUnit()


def _case(suite: Element, sample: Sample) -> None:
    row, verdict = sample_row(sample), sample.verdict
    assert verdict is not None
    time = f"{sum(verdict.timings.values()):.3f}"
    case = SubElement(suite, "testcase", classname=row.task, name=f"{row.case or 'all'}[{row.index}]", time=time)
    if row.outcome is Outcome.OK:
        return
    # The user owns one outcome alone: what was left out on request.
    kind = "failure" if row.owner is Owner.MODEL else "skipped" if row.owner is Owner.USER else "error"
    message = _clean(f"{row.outcome.value}: {row.message or row.outcome.meaning}")
    notes = (*verdict.diagnostics, *(note for case_result in verdict.cases for note in case_result.diagnostics))
    # Readers of XML turn line breaks in an attribute into spaces.
    told = SubElement(case, kind, message=message.splitlines()[0], type=row.outcome.value)
    told.text = "\n".join((message, *(_clean(f"{note.file}:{note.line}: {note.message}") for note in notes)))


def _count(element: Element) -> None:
    """Write what the cases below add up to."""
    kinds = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    cases = element.findall(".//testcase")
    element.set("tests", str(len(cases)))
    for name, tag in kinds.items():
        element.set(name, str(sum(case.find(tag) is not None for case in cases)))
    element.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
