"""The constraints ledger: what the documentation demands of every call, and what the twin does about it.

``constraints.yaml`` is the ledger. Which constraints an instruction has follows from its row in the instruction table;
other functions list their own. ``docs/constraints.md`` is written from both: ``python -m npukb_twin.constraints``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Literal, NamedTuple

from pydantic import TypeAdapter, model_validator

from npukb_twin.compile.instructions import LibraryRow, Row, instructions, library
from npukernelbench.packaged import packaged_table
from npukernelbench.strict import Strict

__all__ = [
    "CONDITIONS",
    "Constraint",
    "Entry",
    "function_constraints",
    "library_constraints",
    "page",
    "row_constraints",
]

_Status = Literal["enforced", "undefined", "warned", "not_modelled"]
_ORDER: tuple[_Status, ...] = ("enforced", "undefined", "warned", "not_modelled")
_BY_COUNT = frozenset({"UNARY", "BINARY", "SCALAR", "SHIFT", "SAME", "MIXED", "MIXED_SCALAR"})
_CONVERTING = frozenset({"Cast", "Fused"})
_WIDE_REPEATS = frozenset({"REPEATS", "REPEATS_FIRST", "REPEATS_ORDER"})

#: What ``when`` may say of a row.
CONDITIONS: Mapping[str, Callable[[Row], bool]] = {
    "always": lambda _: True,
    "reads a tensor": lambda row: "Src0" in row.operands,
    "writes blocks": lambda row: row.unit != "Reduce",
    "has a signed count": lambda row: row.call in _BY_COUNT or row.name in ("Cast", "CreateVecIndex", "Duplicate"),
    "has a wide repeat": lambda row: row.call in _WIDE_REPEATS,
    "has a narrow repeat": lambda row: (
        row.call in _BY_COUNT or row.call.startswith("MIXED") or (row.call == "OWN" and row.unit != "Reduce")
    ),
    "has repeats": lambda row: row.call != "TENSOR_EXTREME" and row.name != "ReduceSum",
    "has lanes in repeats": lambda row: row.span == "Lanes" and "Src0" in row.operands and row.unit not in _CONVERTING,
    "fills blocks": lambda row: row.span == "Blocks",
    "takes scratch": lambda row: "Scratch" in row.operands,
    "computes by count": lambda row: row.call in _BY_COUNT and row.unit == "Elementwise",
    "is Cast": lambda row: row.name == "Cast",
    "takes a scale": lambda row: row.name in ("AddDeqRelu", "Cast", "CastDequant"),
    "is Compare": lambda row: row.name in ("Compare", "Compares"),
    "is Copy": lambda row: row.name == "Copy",
    "writes by strides": lambda row: row.span in ("Lanes", "Blocks"),
    "reduces repeats": lambda row: row.span in ("PerBlock", "PerPair", "PerRepeat", "RepeatExtreme"),
    "finds an index": lambda row: row.span == "TensorExtreme",
    "is Select": lambda row: row.name == "Select",
    "shifts": lambda row: row.call == "SHIFT",
}

#: Functions without a form that takes sharedTmpBuffer.
_NO_SCRATCH = frozenset({"Silu", "Swish"})
#: The same of functions of the library.
LIBRARY_CONDITIONS: Mapping[str, Callable[[LibraryRow], bool]] = {
    "always": lambda _: True,
    "takes scratch": lambda row: row.name not in _NO_SCRATCH,
    "does not share": lambda row: row.sharing != "Same",
    "has a domain": lambda row: row.bounded,
}


class Constraint(Strict):
    """One demand of a page. ``rule`` is what a call that breaks it is told, ``why`` the reason for no verdict."""

    says: str
    status: _Status
    rule: str = ""
    why: str = ""
    when: str = ""

    @model_validator(mode="after")
    def _explained(self) -> Constraint:
        if (self.status != "not_modelled") is not bool(self.rule):
            raise ValueError(f"constraints.yaml: {self.says!r} is {self.status}: only what is not modelled has no rule")
        if (self.status in ("warned", "not_modelled")) is not bool(self.why):
            raise ValueError(
                f"constraints.yaml: {self.says!r} is {self.status}: exactly what gives no verdict says why"
            )
        return self


class Entry(NamedTuple):
    """A constraint of a function, by its name in the ledger; of functions outside of the table, its number."""

    name: str
    constraint: Constraint


class _Ledger(Strict):
    rows: dict[str, Constraint]
    library: dict[str, Constraint]
    functions: dict[str, list[Constraint]]


@cache
def _ledger() -> _Ledger:
    return TypeAdapter(_Ledger).validate_python(packaged_table("npukb_twin", "constraints.yaml"))


def row_constraints(row: Row) -> tuple[Entry, ...]:
    """The constraints of an instruction, in the ledger's order."""
    return tuple(
        Entry(name, constraint) for name, constraint in _ledger().rows.items() if CONDITIONS[constraint.when](row)
    )


def library_constraints(row: LibraryRow) -> tuple[Entry, ...]:
    """The constraints of an element-wise function of the library."""
    return tuple(
        Entry(name, constraint)
        for name, constraint in _ledger().library.items()
        if LIBRARY_CONDITIONS[constraint.when](row)
    )


def function_constraints() -> Mapping[str, tuple[Constraint, ...]]:
    """The constraints of functions that have no row."""
    return {name: tuple(constraints) for name, constraints in _ledger().functions.items()}


def _lines() -> Iterator[str]:
    yield "# Constraints of the documented API"
    yield ""
    yield "Written by `python -m npukb_twin.constraints` from the instruction table and from the ledger"
    yield "`plugins/npukb_twin/constraints.yaml`, which explains the words."
    yield "Functions that are not listed have no entry yet."
    yield ""
    yield f"| function | {' | '.join(status.replace('_', ' ') for status in _ORDER)} |"
    yield f"|---|{'---|' * len(_ORDER)}"
    every: dict[str, tuple[Constraint, ...]] = {
        row.name: tuple(entry.constraint for entry in row_constraints(row)) for row in instructions()
    }
    every |= {row.name: tuple(entry.constraint for entry in library_constraints(row)) for row in library()}
    for name, constraints in sorted({**every, **function_constraints()}.items()):
        counts = [sum(constraint.status == status for constraint in constraints) for status in _ORDER]
        yield f"| {name} | {' | '.join(str(count or '') for count in counts)} |"
    yield ""
    yield "## What they say"
    yield ""
    yield "| of | constraint | status | rule | why no verdict |"
    yield "|---|---|---|---|---|"
    for constraint in _ledger().rows.values():
        names = [row.name for row in instructions() if CONDITIONS[constraint.when](row)]
        of = f"{len(names)} instructions" if len(names) > 2 else ", ".join(names)
        yield _line(of, constraint)
    for constraint in _ledger().library.values():
        names = [row.name for row in library() if LIBRARY_CONDITIONS[constraint.when](row)]
        yield _line(f"{len(names)} functions of the library", constraint)
    for function, constraints in sorted(function_constraints().items()):
        yield from (_line(function, constraint) for constraint in constraints)


def _line(of: str, constraint: Constraint) -> str:
    rule = f"`{constraint.rule}`" if constraint.rule else ""
    return f"| {of} | {constraint.says} | {constraint.status.replace('_', ' ')} | {rule} | {constraint.why} |"


def page() -> str:
    """The text of ``docs/constraints.md``."""
    return "\n".join([*_lines(), ""])


if __name__ == "__main__":
    from pathlib import Path

    Path(__file__).parents[2].joinpath("docs", "constraints.md").write_text(page(), encoding="utf-8")
