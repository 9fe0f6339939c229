"""The cases of all folders that are named: as described, or as a script writes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from npukb_suites.recorded.described import read_described, read_description
from npukb_suites.recorded.drafting import case_names
from npukb_suites.recorded.matching import Interface, fitted, record_of
from npukb_suites.recorded.records import Record
from npukb_suites.recorded.script import run_script
from npukb_suites.recorded.toolcases import read_test_cases

__all__ = ["read_records"]


def read_records(
    folders: Sequence[Path], script: str | None, interface: Interface, project: Path | None = None
) -> tuple[tuple[Record, ...], tuple[str, ...]]:
    """A case for every folder, and notes on what was decided without being told. Test cases of the operator are looked
    for in ``project``, or in each folder.
    """
    records, notes = [], dict[str, None]()
    for name, folder in zip(case_names([path.resolve().name for path in folders]), folders, strict=True):
        if script is None:
            record = read_described(name, folder)
        else:
            told = read_description(folder)
            stated = told.attributes if told else {}
            written, calls = run_script(folder, script)
            # Test cases are looked for only where there are attributes that they could say.
            cases = read_test_cases(project or folder, interface.name) if interface.attributes else ()
            record, lines = record_of(name, folder, written, calls, interface, stated, cases)
            notes |= dict.fromkeys(lines)
        records.append(fitted(record, interface))
    return tuple(records), tuple(notes)
