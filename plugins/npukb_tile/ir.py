"""The typed form of a tile program: what the parser makes, the interpreter runs and the passes lower.

A program has a *host* function, scalar arithmetic that computes the numbers of a launch, and a *kernel* function, which
runs on every core: scalar statements and three kinds of blocks. ``copy_in`` blocks move tiles from global memory into
buffers, ``compute`` blocks fill buffers from buffers, ``copy_out`` blocks move tiles back.

Inside a compute block every tile has one of three shapes, as NumPy would broadcast them: FULL is ``[rows, cols]``, ROW
``[1, cols]``, COLUMN ``[rows, 1]``. A block of one row has no ROW: it is FULL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum

__all__ = [
    "Assign",
    "Attribute",
    "Binary",
    "Block",
    "Buffer",
    "BufferRef",
    "Call",
    "Choice",
    "Element",
    "Expr",
    "For",
    "HostValue",
    "If",
    "Item",
    "Kind",
    "Known",
    "Launch",
    "ListFact",
    "Load",
    "Move",
    "Multiplier",
    "Multiply",
    "Name",
    "Node",
    "Num",
    "OutputShape",
    "Peek",
    "Program",
    "Scalar",
    "ShapeClass",
    "ShapeExpr",
    "ShapePart",
    "Stage",
    "Statement",
    "Store",
    "Sync",
    "Tensor",
    "TensorFact",
    "TensorRole",
    "TileExpr",
    "TileOp",
    "TileSet",
    "statements",
    "walk_blocks",
]


class Kind(str, Enum):
    """Type of a scalar."""

    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    TEXT = "text"  # of attributes; expressions only compare them
    INTS = "ints"  # of attributes; expressions take one of them, or count them


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Whatever stands in a program, at a line of its text."""

    line: int


# --- scalars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Num(Node):
    """A literal. ``value`` may be an infinity."""

    value: int | float | bool
    kind: Kind


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A local variable, a launch number or an attribute."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """``op`` is one of ``+ - * / // % < <= > >= == != and or``."""

    op: str
    left: Expr
    right: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A scalar function: ``min max abs sqrt float int neg not ceil_div round_up core vector_cores ub_bytes``."""

    function: str
    arguments: tuple[Expr, ...]
    kind: Kind


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """``yes if condition else no``."""

    condition: Expr
    yes: Expr
    no: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class TensorFact(Node):
    """``x.size``, ``x.rank``, ``x.itemsize``, ``x.shape[a]`` (extent), ``prod(x.shape[a:b])`` (product); host only."""

    tensor: str
    fact: str
    first: Expr | None
    last: Expr | None
    kind: Kind = Kind.INT


@dataclass(frozen=True, slots=True)
class Element(Node):
    """One element of global memory, read by the scalar unit."""

    tensor: str
    index: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class Peek(Node):
    """One element of a buffer, read by the scalar unit."""

    buffer: str
    index: Expr
    kind: Kind


@dataclass(frozen=True, slots=True)
class ListFact(Node):
    """``len(x)`` of a list of tensors, or with ``index`` ``x[index].size``; in the kernel."""

    tensor: str
    index: Expr | None
    kind: Kind = Kind.INT


@dataclass(frozen=True, slots=True)
class Known(Node):
    """What is known of a launch before anything is computed: whether the input ``subject`` is given, or with ``text``
    whether the attribute ``subject`` is that text.
    """

    subject: str
    text: str | None
    kind: Kind = Kind.BOOL

    @property
    def flag(self) -> str:
        """The name under which host and kernel know it."""
        if self.text is None:
            return f"{self.subject}Given"
        # Letters of the text that no name of C++ has are spelled by their numbers, so that texts stay apart.
        return f"{self.subject}Is_" + re.sub(r"[^A-Za-z0-9]", lambda letter: f"_{ord(letter[0])}_", self.text)


@dataclass(frozen=True, slots=True)
class HostValue(Node):
    """One element of a short input of integers, read by the host function."""

    tensor: str
    dtype: str
    index: Expr
    kind: Kind = Kind.INT


@dataclass(frozen=True, slots=True)
class Item(Node):
    """``len(sizes)`` of an attribute that is a list of integers, or with ``index`` ``sizes[index]``."""

    attribute: str
    index: Expr | None
    kind: Kind = Kind.INT


Expr = Num | Name | Binary | Call | Choice | TensorFact | Element | Peek | ListFact | Known | HostValue | Item

# --- tiles -----------------------------------------------------------------------------------------------------------


class ShapeClass(str, Enum):
    """How a tile lies in its block."""

    FULL = "full"
    ROW = "row"
    COLUMN = "column"


@dataclass(frozen=True, slots=True)
class BufferRef(Node):
    """A buffer as an operand."""

    buffer: str
    dtype: str
    shape: ShapeClass


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    """A scalar as an operand: the same number for every element."""

    value: Expr


@dataclass(frozen=True, slots=True)
class TileOp(Node):
    """An operation on tiles. ``dtype`` is an element type, a type variable's name, or ``mask``."""

    op: str
    arguments: tuple[TileExpr, ...]
    dtype: str
    shape: ShapeClass
    mode: str = ""


TileExpr = BufferRef | Scalar | TileOp

# --- statements ------------------------------------------------------------------------------------------------------


class Stage(str, Enum):
    """What a block may do."""

    COPY_IN = "copy_in"
    COMPUTE = "compute"
    COPY_OUT = "copy_out"


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``name = value``."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class For(Node):
    """``for name in range(start, stop, step)``."""

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if condition: … else: …``."""

    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Move(Node):
    """``rows`` runs of ``cols`` neighbouring elements, ``stride`` apart, from ``tensor[start]`` on, and a buffer. Of a
    list of tensors ``item`` says which.
    """

    buffer: str
    tensor: str
    start: Expr
    rows: Expr
    cols: Expr
    stride: Expr
    item: Expr | None = None


@dataclass(frozen=True, slots=True)
class Load(Move):
    """Fills the buffer from the tensor."""


@dataclass(frozen=True, slots=True)
class Store(Move):
    """Writes the buffer to the tensor."""


@dataclass(frozen=True, slots=True)
class TileSet(Node):
    """``buffer[:] = value``."""

    target: BufferRef
    value: TileExpr


@dataclass(frozen=True, slots=True)
class Block(Node):
    """One stage. ``rows`` is None in compute blocks of one row; both are None in the others."""

    stage: Stage
    name: str
    rows: Expr | None
    cols: Expr | None
    body: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Sync(Node):
    """All cores meet; what they stored before is there for loads after."""


@dataclass(frozen=True, slots=True)
class Multiply(Node):
    """A product of matrices in global memory: ``tensors`` are the sums and the two factors, with a start and a distance
    of rows each; ``extents`` are rows, inner extent and columns. ``bias`` is a tensor from which on a row lies that is
    added to every row of the sums.
    """

    multiplier: str
    tensors: tuple[str, str, str]
    starts: tuple[Expr, Expr, Expr]
    extents: tuple[Expr, Expr, Expr]
    strides: tuple[Expr, ...]
    bias: str = ""
    bias_start: Expr | None = None


@dataclass(frozen=True, slots=True)
class Launch(Node):
    """What the host function decides: how many cores, and the numbers that the kernel is given. ``cube``: the cores are
    cube cores.
    """

    cores: Expr
    numbers: tuple[tuple[str, Expr], ...]
    cube: bool = False


@dataclass(frozen=True, slots=True)
class ShapePart:
    """Part of a shape: one extent, perhaps several times, or ``tensor.shape[first:last]``."""

    extent: Expr | None
    tensor: str = ""
    first: Expr | None = None
    last: Expr | None = None
    times: Expr | None = None


ShapeExpr = tuple[ShapePart, ...]


@dataclass(frozen=True, slots=True)
class OutputShape(Node):
    """``y.shape = …`` in the host function; with a ``condition`` ``y.shape = … if condition else …``."""

    tensor: str
    shape: ShapeExpr
    condition: Expr | None = None
    otherwise: ShapeExpr = ()

    @property
    def parts(self) -> ShapeExpr:
        """The parts of either shape."""
        return (*self.shape, *self.otherwise)


Statement = Assign | For | If | Load | Store | TileSet | Block | Sync | Multiply | Launch | OutputShape

# --- program ---------------------------------------------------------------------------------------------------------


class TensorRole(str, Enum):
    """Which way a tensor in global memory goes."""

    INPUT = "input"
    OUTPUT = "output"
    WORKSPACE = "workspace"


@dataclass(frozen=True, slots=True)
class Tensor(Node):
    """A tensor in global memory, or a list of them. ``dtype`` is an element type or a type variable's name.

    An ``optional`` input may be absent. ``begins`` says what an output holds before the launch: the name of the input
    whose memory it is, ``0`` for zeros, and nothing where that is unknown.
    """

    name: str
    role: TensorRole
    dtype: str
    listed: bool = False
    optional: bool = False
    begins: str = ""


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """An attribute of the operator."""

    name: str
    kind: Kind
    default: int | float | bool | str | tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Buffer(Node):
    """On-chip memory of ``rows`` by ``cols`` elements, times ``depth``. ``rank`` is that of its declaration."""

    name: str
    rows: Expr
    cols: Expr
    rank: int
    dtype: str
    depth: int

    @property
    def column(self) -> bool:
        """Whether it holds one element per row, next to each other."""
        # A literal: what is 1 only in some case has the layout of a tile in all of them.
        return isinstance(self.cols, Num) and self.cols.value == 1


@dataclass(frozen=True, slots=True)
class Multiplier(Node):
    """What multiplies matrices of at most ``rows`` by ``inner`` and ``inner`` by ``cols`` elements of a type.

    Factors that are ``turned`` lie column by column. ``sums`` is the element type of results, ``bias`` that of the rows
    that are added to them, if there are any.
    """

    name: str
    rows: Expr
    inner: Expr
    cols: Expr
    dtype: str
    turned: tuple[bool, bool] = (False, False)
    sums: str = ""
    bias: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program. ``types`` maps a type variable to the element types that it stands for."""

    name: str
    summary: str
    types: dict[str, tuple[str, ...]]
    tensors: dict[str, Tensor]
    attributes: dict[str, Attribute]
    host: tuple[Statement, ...]
    launch: Launch
    shapes: tuple[OutputShape, ...]
    numbers: dict[str, Kind]
    buffers: dict[str, Buffer]
    kernel: tuple[Statement, ...]
    multipliers: dict[str, Multiplier] = field(default_factory=dict)
    source: str = field(repr=False, default="")

    def of_role(self, role: TensorRole) -> list[Tensor]:
        """Tensors that go one way, in the order of the signature."""
        return [tensor for tensor in self.tensors.values() if tensor.role is role]

    @property
    def numeric(self) -> dict[str, Attribute]:
        """Attributes that the kernel may compute with."""
        return {name: held for name, held in self.attributes.items() if held.kind not in (Kind.TEXT, Kind.INTS)}

    @property
    def listed_attributes(self) -> list[str]:
        """Attributes that are lists of integers."""
        return [name for name, held in self.attributes.items() if held.kind is Kind.INTS]

    @property
    def by_instance(self) -> bool:
        """Whether the number of an input at a launch may differ from its number in the definition."""
        return any(tensor.listed or tensor.optional for tensor in self.tensors.values())

    @property
    def lists(self) -> list[Tensor]:
        """Lists of tensors, in the order of the signature."""
        return [tensor for tensor in self.tensors.values() if tensor.listed]

    def members(self, dtype: str) -> tuple[str, ...]:
        """The element types that a name may mean."""
        return self.types.get(dtype, (dtype,))

    @property
    def operator(self) -> str:
        """Name of the operator's class: ``craft_elu`` is ``CraftElu``."""
        return "".join(word[:1].upper() + word[1:] for word in self.name.split("_"))


def walk_blocks(body: tuple[Statement, ...]) -> Iterator[Block]:
    """Every block, in the order of the text."""
    for statement in body:
        if isinstance(statement, Block):
            yield statement
        elif isinstance(statement, For):
            yield from walk_blocks(statement.body)
        elif isinstance(statement, If):
            yield from walk_blocks(statement.then)
            yield from walk_blocks(statement.otherwise)


def statements(body: tuple[Statement, ...]) -> Iterator[Statement]:
    """Every statement of a body, those inside others too."""
    for statement in body:
        yield statement
        if isinstance(statement, For | Block):
            yield from statements(statement.body)
        elif isinstance(statement, If):
            yield from statements((*statement.then, *statement.otherwise))
