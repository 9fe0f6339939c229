"""Chooses tile length, buffering and number of cores of a program for one case, by predicted time.

One choice after the other is varied, within what fits the unified buffer, and the fastest is kept. A function that is
handed in says how fast a variant is, so that the search knows nothing of machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from npukb_tile.checking import check_budgets
from npukb_tile.fault import ProgramError
from npukb_tile.ir import Assign, Binary, Call, Choice, Expr, For, If, Kind, Num, Program, Statement, Sync, statements
from npukb_tile.launching import VECTOR_CORES
from npukb_tile.storage import Storage, assign_storage
from npukernelbench.nouns import Case

__all__ = ["Tried", "tune"]

_LENGTHS = (256, 512, 1024, 2048, 3072, 4096, 6144, 8192, 12288, 16384)
_CORES = (VECTOR_CORES, 40, 24, 12, 4, 1)
#: A literal of a launch number that is at least this long is the length of a tile.
_LEAST_LENGTH = 64


@dataclass(frozen=True, slots=True)
class Tried:
    """One variant: what is different, and its time; None if it does not fit or is not right."""

    change: str
    time_us: float | None
    program: Program


def tune(program: Program, case: Case, measure: Callable[[Program], float | None]) -> Iterator[Tried]:
    """Every variant as it is measured; the last one repeats the best. ``measure`` gives microseconds."""
    best = Tried("as written", measure(program), program)
    yield best
    # Not every combination: each variant costs a compilation and a run.
    for vary in (_lengths, _depths, _cores):
        # Each choice starts from the best of those before it.
        start = best
        for change, variant in vary(start.program):
            if variant == start.program:
                continue
            label = change if start.change == "as written" else f"{start.change}, {change}"
            tried = Tried(label, measure(variant) if _fits(variant, case) else None, variant)
            yield tried
            if tried.time_us is not None and (best.time_us is None or tried.time_us < best.time_us):
                best = tried
    yield best


def _fits(program: Program, case: Case) -> bool:
    try:
        check_budgets(program, (case,))
    except ProgramError:
        return False
    return True


def _lengths(program: Program) -> Iterator[tuple[str, Program]]:
    """Other lengths of the tiles that the launch gives."""
    for place, (name, value) in enumerate(program.launch.numbers):
        longest = max((number for number in _literals(value) if number >= _LEAST_LENGTH), default=0)
        # These say how the work is divided, not how long a tile is.
        if not longest or (name in ("share", "total") or longest % _LEAST_LENGTH):
            continue
        for length in _LENGTHS:
            numbers = list(program.launch.numbers)
            numbers[place] = (name, _with(value, longest, length))
            yield f"{name} of {length}", replace(program, launch=replace(program.launch, numbers=tuple(numbers)))


def _depths(program: Program) -> Iterator[tuple[str, Program]]:
    """One tile or two of everything that is queued."""
    # The depth of a plain buffer has no effect but its size.
    queued = [name for name, storage in assign_storage(program).items() if storage is not Storage.RESIDENT]
    for depth in (1, 2):
        buffers = {
            name: replace(buffer, depth=depth) if name in queued else buffer for name, buffer in program.buffers.items()
        }
        yield f"depth {depth}", replace(program, buffers=buffers)


def _cores(program: Program) -> Iterator[tuple[str, Program]]:
    """Work cut for fewer cores, where cores need not meet: SyncAll waits for all of them."""
    if program.multipliers or any(isinstance(statement, Sync) for statement in statements(program.kernel)):
        return
    for cores in _CORES:
        if cores < VECTOR_CORES:
            yield (
                f"cut for {cores} cores" if cores > 1 else "on one core",
                replace(program, host=_for_cores(program.host, cores)),
            )


def _literals(node: Expr) -> Iterator[int]:
    if isinstance(node, Num) and node.kind is Kind.INT:
        yield int(node.value)
    elif isinstance(node, Binary):
        yield from _literals(node.left)
        yield from _literals(node.right)
    elif isinstance(node, Call):
        for argument in node.arguments:
            yield from _literals(argument)
    elif isinstance(node, Choice):
        yield from _literals(node.yes)
        yield from _literals(node.no)


def _with(node: Expr, old: int, new: int) -> Expr:
    """An expression with another literal."""
    if isinstance(node, Num):
        return replace(node, value=new) if node.kind is Kind.INT and node.value == old else node
    if isinstance(node, Binary):
        return replace(node, left=_with(node.left, old, new), right=_with(node.right, old, new))
    if isinstance(node, Call):
        return replace(node, arguments=tuple(_with(argument, old, new) for argument in node.arguments))
    if isinstance(node, Choice):
        return replace(node, yes=_with(node.yes, old, new), no=_with(node.no, old, new))
    return node


def _cut(node: Expr, cores: int) -> Expr:
    """An expression for another number of cores."""
    if isinstance(node, Call):
        if node.function == "vector_cores":
            return Num(cores, Kind.INT, line=node.line)
        return replace(node, arguments=tuple(_cut(argument, cores) for argument in node.arguments))
    if isinstance(node, Binary):
        return replace(node, left=_cut(node.left, cores), right=_cut(node.right, cores))
    if isinstance(node, Choice):
        return replace(node, yes=_cut(node.yes, cores), no=_cut(node.no, cores))
    return node


def _for_cores(body: tuple[Statement, ...], cores: int) -> tuple[Statement, ...]:
    changed: list[Statement] = []
    for statement in body:
        if isinstance(statement, Assign):
            changed.append(replace(statement, value=_cut(statement.value, cores)))
        elif isinstance(statement, If):
            changed.append(
                replace(
                    statement, then=_for_cores(statement.then, cores), otherwise=_for_cores(statement.otherwise, cores)
                )
            )
        elif isinstance(statement, For):
            changed.append(replace(statement, body=_for_cores(statement.body, cores)))
        else:
            changed.append(statement)
    return tuple(changed)
