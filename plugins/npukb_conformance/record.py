"""What is stored: one JSON line per compiled operator and per judged case, appended and never changed.

A case's line is good for as long as its key is that of the compiled candidate, which covers the operator's files, our
task and whatever executes them. So a sitting that is started again goes on where it stopped, and judges again what has
changed.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns import Diagnostic, Outcome, Severity, Verdict
from npukernelbench.nouns.codec import JSON, dumps
from npukernelbench.nouns.decode import verdict_from_json

__all__ = ["CaseRecord", "CompileRecord", "Records"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CompileRecord:
    """How guarding and compiling an operator ended. ``key`` is empty when nothing came out of it."""

    operator: str
    variant: str
    key: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """How one case ended. ``scaled`` says from which largest shape to which, empty for a case as it stands.

    ``conceded`` names the conditions of the suite's that it needed to pass, with commas between them; ``strict`` is
    what came of it under our own.
    """

    operator: str
    variant: str
    key: str
    case: str
    scaled: str
    verdict: Verdict
    conceded: str = ""
    strict: str = ""

    @property
    def passed(self) -> bool:
        """Whether everything was right."""
        return self.verdict.outcome is Outcome.OK

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What running and checking said; what compiling said is not repeated."""
        return tuple(diagnostic for result in self.verdict.cases for diagnostic in result.diagnostics)

    @property
    def warnings(self) -> int:
        """How many different things the executor warned of."""
        return sum(diagnostic.severity is Severity.WARNING for diagnostic in self.diagnostics)

    @property
    def seconds(self) -> float:
        """Wall time of the case: inputs, run, reference and comparison."""
        return sum(self.verdict.timings.values())


class Records:
    """The file of lines. Safe to use from several threads of one process. StoreError for a damaged file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._cases: dict[tuple[str, ...], CaseRecord] = {}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lines = list(_whole_lines(path))
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror or error}", remedy="use another -o") from error
        for number, text in enumerate(lines, 1):
            try:
                self._remember(json.loads(text))
            except (KeyError, TypeError, ValueError) as error:
                remedy = "move the file away, or use another -o"
                raise StoreError(str(error), location=SourceLocation(path, number), remedy=remedy) from error

    def find(self, *, operator: str, variant: str, key: str, case: str, scaled: str) -> CaseRecord | None:
        """What is known of a case of the candidate compiled under ``key``."""
        return self._cases.get((operator, variant, key, case, scaled))

    def add(self, record: CompileRecord | CaseRecord) -> None:
        """Append one line; it is on the disk when this returns. StoreError when it cannot be written."""
        event = "case" if isinstance(record, CaseRecord) else "compile"
        line = {"event": event, **{name: getattr(record, name) for name in record.__slots__}}
        with self._lock:
            try:
                with self.path.open("a", encoding="ascii") as file:
                    file.write(dumps(line) + "\n")
                    file.flush()
                    # Cheaper than a case that has to be judged again.
                    os.fsync(file.fileno())
            except OSError as error:
                raise StoreError(f"{self.path} cannot be written: {error.strerror}") from error
            if isinstance(record, CaseRecord):
                self._cases[_identity(record)] = record

    def _remember(self, line: Mapping[str, JSON]) -> None:
        if line["event"] != "case":
            return
        texts = {name: str(line[name]) for name in ("operator", "variant", "key", "case", "scaled")}
        # Lines of older versions do not have these.
        later = {name: str(line.get(name, "")) for name in ("conceded", "strict")}
        record = CaseRecord(**texts, verdict=verdict_from_json(line["verdict"]), **later)
        self._cases[_identity(record)] = record


def _identity(record: CaseRecord) -> tuple[str, ...]:
    return (record.operator, record.variant, record.key, record.case, record.scaled)


def _whole_lines(path: Path) -> Iterator[str]:
    """Every complete line; what an interrupted append left behind is cut off."""
    if not path.exists():
        return
    text = path.read_text(encoding="ascii")
    whole, _, rest = text.rpartition("\n")
    if rest:
        _log.warning("%s: cutting off %d bytes of an unfinished last line", path, len(rest))
        # Lines are ASCII, so characters count bytes.
        os.truncate(path, len(text) - len(rest))
    yield from whole.splitlines()
