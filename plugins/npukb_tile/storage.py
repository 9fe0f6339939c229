"""Second pass, kernel initialisation: where every buffer lives.

A buffer that one copy fills and one computation reads, side by side in one body, is an input queue; one that a
computation fills and a copy stores likewise an output queue; one that is only copied through binds both ends. Queues
hold ``depth`` tiles, so that copies run beside computation. Everything else stays where it is, in a plain buffer, with
flags around its copies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

from npukb_tile.ir import (
    Assign,
    Block,
    BufferRef,
    Expr,
    For,
    If,
    Load,
    Move,
    Multiply,
    OutputShape,
    Peek,
    Program,
    Scalar,
    Statement,
    TileExpr,
    TileSet,
)

__all__ = ["Storage", "Uses", "assign_storage", "expressions", "parts_of", "references", "uses_of"]


class Storage(str, Enum):
    """How a buffer is held."""

    INPUT_QUEUE = "input queue"
    OUTPUT_QUEUE = "output queue"
    THROUGH_QUEUE = "queue from copy to copy"
    RESIDENT = "plain buffer"


@dataclass(slots=True)
class Uses:
    """Blocks that use a buffer. Their place identifies blocks: the body they lie in and their number there."""

    loads: list[tuple[int, int]] = field(default_factory=list)
    reads: list[tuple[int, int]] = field(default_factory=list)
    writes: list[tuple[int, int]] = field(default_factory=list)
    stores: list[tuple[int, int]] = field(default_factory=list)
    peeked: bool = False
    carried: bool = False  # a computation reads it before it writes it
    nested: bool = False  # a copy of it lies in a loop or a condition inside its block


def assign_storage(program: Program) -> dict[str, Storage]:
    """The storage of every buffer."""
    return {name: _storage(uses) for name, uses in uses_of(program).items()}


def _storage(uses: Uses) -> Storage:
    loads, reads, writes, stores = (sorted(set(part)) for part in (uses.loads, uses.reads, uses.writes, uses.stores))
    # A queue hands its tensor on as a whole: the scalar unit has no turn in it, and a loop of copies would need a
    # tensor each.
    if uses.peeked or uses.nested:
        return Storage.RESIDENT
    # Copies are counted one by one, as a queue's tensor is filled by one; computations by their blocks.
    if len(uses.loads) == 1 and len(reads) == 1 and not writes and not stores and _follows(loads[0], reads[0]):
        return Storage.INPUT_QUEUE
    # A buffer that carries a value from round to round must stay where it is; a queue gives out other memory each time.
    if len(uses.stores) == 1 and len(writes) == 1 and not loads and not uses.carried and set(reads) <= set(writes):
        return Storage.OUTPUT_QUEUE if _follows(writes[0], stores[0]) else Storage.RESIDENT
    if len(uses.loads) == 1 and len(uses.stores) == 1 and not reads and not writes and _follows(loads[0], stores[0]):
        return Storage.THROUGH_QUEUE
    return Storage.RESIDENT


def _follows(first: tuple[int, int], second: tuple[int, int]) -> bool:
    # Both ends in one body: under different conditions a queue could be filled and never emptied.
    return first[0] == second[0] and first[1] < second[1]


def uses_of(program: Program) -> dict[str, Uses]:
    """The uses of every buffer."""
    used: dict[str, Uses] = defaultdict(Uses, {name: Uses() for name in program.buffers})
    bodies = 0

    def visit(body: tuple[Statement, ...]) -> None:
        nonlocal bodies
        bodies += 1
        own = bodies
        for number, statement in enumerate(body):
            for peek in expressions(statement, deep=isinstance(statement, Block)):
                if isinstance(peek, Peek):
                    used[peek.buffer].peeked = True
            if isinstance(statement, Block):
                _block(statement, (own, number), used)
            elif isinstance(statement, For):
                visit(statement.body)
            elif isinstance(statement, If):
                visit(statement.then)
                visit(statement.otherwise)

    visit(program.kernel)
    return dict(used)


def _block(block: Block, place: tuple[int, int], used: dict[str, Uses]) -> None:
    written: set[str] = set()

    def visit(body: tuple[Statement, ...], nested: bool) -> None:
        for statement in body:
            if isinstance(statement, For):
                visit(statement.body, True)
            elif isinstance(statement, If):
                visit(statement.then, True)
                visit(statement.otherwise, True)
            elif isinstance(statement, Move):
                uses = used[statement.buffer]
                (uses.loads if isinstance(statement, Load) else uses.stores).append(place)
                uses.nested |= nested
            elif isinstance(statement, TileSet):
                for name in references(statement.value):
                    used[name].reads.append(place)
                    # Inside a loop the first round may read what nothing has written yet, so only writes outside of
                    # loops count.
                    used[name].carried |= name not in written
                used[statement.target.buffer].writes.append(place)
                if not nested:
                    written.add(statement.target.buffer)

    visit(block.body, False)


def references(node: TileExpr) -> Iterator[str]:
    """Names of the buffers in a tile expression."""
    if isinstance(node, BufferRef):
        yield node.buffer
    elif not isinstance(node, Scalar):
        for argument in node.arguments:
            yield from references(argument)


def expressions(statement: Statement, *, deep: bool = True) -> Iterator[Expr]:
    """Every scalar expression of a statement, inner ones too; with ``deep`` also those of the statements inside."""
    tops: list[Expr] = []
    inner: tuple[Statement, ...] = ()
    if isinstance(statement, Assign):
        tops = [statement.value]
    elif isinstance(statement, For):
        tops, inner = [statement.start, statement.stop, statement.step], statement.body
    elif isinstance(statement, If):
        tops, inner = [statement.condition], (*statement.then, *statement.otherwise)
    elif isinstance(statement, Move):
        tops = [statement.start, statement.rows, statement.cols, statement.stride]
        tops += [statement.item] if statement.item is not None else []
    elif isinstance(statement, Multiply):
        tops = [*statement.starts, *statement.extents, *statement.strides]
        tops += [statement.bias_start] if statement.bias_start is not None else []
    elif isinstance(statement, OutputShape):
        tops = [statement.condition] if statement.condition is not None else []
        tops += [
            inner
            for part in statement.parts
            for inner in (part.extent, part.times, part.first, part.last)
            if inner is not None
        ]
    elif isinstance(statement, TileSet):
        tops = list(_scalars(statement.value))
    elif isinstance(statement, Block):
        tops, inner = [part for part in (statement.rows, statement.cols) if part is not None], statement.body
    for top in tops:
        yield from parts_of(top)
    if deep:
        for expression in inner:
            yield from expressions(expression)


def _scalars(node: TileExpr) -> Iterator[Expr]:
    if isinstance(node, Scalar):
        yield node.value
    elif not isinstance(node, BufferRef):
        for argument in node.arguments:
            yield from _scalars(argument)


def parts_of(node: Expr) -> Iterator[Expr]:
    yield node
    # By the fields' names, so that a new kind of expression needs no case of its own here.
    for name in ("left", "right", "condition", "yes", "no", "index", "first", "last"):
        inner = getattr(node, name, None)
        if inner is not None:
            yield from parts_of(inner)
    for argument in getattr(node, "arguments", ()):
        yield from parts_of(argument)
