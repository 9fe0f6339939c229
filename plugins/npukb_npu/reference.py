"""Everything of the vendor's that is used, each with the page that documents it: ``docs/npu.md`` prints these tables.
What a calibration measures is among them.

``python -m npukb_npu.reference docs/npu.md`` writes them anew between their marks; a test compares. Not yet run on
hardware.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from npukb_npu.acl import FUNCTIONS, META_FUNCTIONS, Function
from npukb_npu.codes import ACLNN_CODES, CODES
from npukb_npu.codes import PAGES as CODE_PAGES
from npukb_npu.msprof import COLUMNS
from npukb_npu.msprof import PAGES as COLUMN_PAGES
from npukb_npu.rows import table
from npukb_npu.versions import MATCHES
from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict

__all__ = ["Difference", "Entry", "Vendor", "embedded", "tables", "vendor"]

_MOST_ROWS = 3  # that a number names
_BEGIN, _END = "<!-- reference: begin -->", "<!-- reference: end -->"
_FILE = "vendor.yaml"


class Entry(Strict):
    """A name, what it is used for, and its page."""

    name: str
    use: str
    page: str


class Difference(Strict):
    """What differs between toolkits, and what the plugin looks at instead of a version number. Read, not run."""

    what: str
    until_83: str
    from_85: str
    from_90: str
    probe: str
    page: str


class Vendor(Strict):
    """The content of ``vendor.yaml``."""

    build: tuple[Entry, ...]
    environment: tuple[Entry, ...]
    tools: tuple[Entry, ...]
    toolkits: tuple[Difference, ...]

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All names that are used."""
        return (*self.build, *self.environment, *self.tools)


@cache
def vendor() -> Vendor:
    """Everything of the vendor's that is used, but functions, codes and columns, which have modules of their own."""
    return Vendor.model_validate(packaged_table("npukb_npu", _FILE))


def tables() -> str:
    """All tables as markdown."""
    return "\n".join(_sections()).rstrip() + "\n"


def _sections() -> Iterator[str]:
    yield "**Read, not run**: the page of each row, or of its heading, is where it was read.\n"
    yield from _table("Functions of the runtime", ("function", "page"), _functions(FUNCTIONS))
    yield from _table("Functions that describe arguments", ("function", "page"), _functions(META_FUNCTIONS))
    for title, kind, entries in (
        ("Builds", "name", vendor().build),
        ("Environment", "variable", vendor().environment),
        ("Tools, files and nodes", "name", vendor().tools),
    ):
        rows = ((f"`{entry.name}`", entry.use, entry.page) for entry in entries)
        yield from _table(title, (kind, "use", "page"), rows)
    columns = ((f"`{column.name}`", column.table, column.join.value, COLUMN_PAGES[column.table]) for column in COLUMNS)
    yield from _table("Columns of the profiler", ("column", "table", "over cores", "page"), columns)
    basic = (
        (f"`{name}`", "OpBasicInfo.csv, op_summary_*.csv", COLUMN_PAGES["OpBasicInfo.csv"])
        for name in ("Op Name", "Task Duration", "Block Dim", "Current Freq")
    )
    yield from _table("Columns of a whole launch", ("column", "table", "page"), basic)
    for title, codes, page in (("Codes of the runtime", CODES, "runtime"), ("Codes of aclnn", ACLNN_CODES, "aclnn")):
        yield from _table(
            f"{title} ({CODE_PAGES[page]})",
            ("code", "name", "meaning", "says something about"),
            ((str(number), f"`{code.name}`", code.meaning, code.blame.value) for number, code in sorted(codes.items())),
        )
    yield from _numbers()
    yield from _table(
        "Toolkits: what differs, and what is looked at (read, not run)",
        ("what", "CANN 8.0 to 8.3", "8.5", "9.x", "looked at", "page"),
        (tuple(difference.model_dump().values()) for difference in vendor().toolkits),
    )
    yield from _table("torch_npu, torch and CANN (gitcode.com/Ascend/pytorch)", ("torch_npu", "torch", "CANN"), MATCHES)


def _numbers() -> Iterator[str]:
    """What ``npukb calibrate`` measures, and what it does not."""
    known = table()
    yield from _table(
        "Numbers that `npukb calibrate` measures",
        ("number", "enters as", "rows"),
        ((f"`{name}`", enters.value, _named(name)) for name, enters in known.numbers.items()),
    )
    rated = sorted({row.rate for row in known.measured if row.rate})
    yield f"And the throughputs of {len(rated)} instructions: {', '.join(f'`{name}`' for name in rated)}.\n"
    why = ((f"`{name}`", reason) for name, reason in known.unmeasured.items())
    yield from _table("Numbers that it does not measure", ("number", "why"), why)


def _named(number: str) -> str:
    rows = [row.what for row in table().rows_of(number)]
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return "; ".join(rows[:_MOST_ROWS]) + more


def _functions(functions: Mapping[str, Function]) -> Iterator[tuple[str, str]]:
    for name, function in functions.items():
        yield f"`{name}`", function.page


def _table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"### {title}\n"
    yield f"| {' | '.join(header)} |"
    yield "|" + "---|" * len(header)
    for row in rows:
        # a bar in a cell would begin another column
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def embedded(page: str) -> str:
    """``page`` with the tables of today between their marks."""
    before, _, rest = page.partition(_BEGIN)
    after = rest.partition(_END)[2]
    return f"{before}{_BEGIN}\n\n{tables()}\n{_END}{after}"


if __name__ == "__main__":
    document = Path(sys.argv[1])
    document.write_text(embedded(document.read_text(encoding="utf-8")), encoding="utf-8")
