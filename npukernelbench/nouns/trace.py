"""Where bytes of an output come from: what is asked for by place, and the instructions on the way back from it."""

from __future__ import annotations

from dataclasses import dataclass

from npukernelbench.nouns.dtypes import DType


@dataclass(frozen=True, slots=True)
class Watched:
    """One element of an output, ``output`` being ``y`` or ``y[0]``: a place only, never what should be there.

    ``offset`` and ``nbytes`` are bytes.
    """

    output: str
    offset: int
    nbytes: int
    dtype: DType


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction on the way back from a watched place, or memory that no instruction wrote (``instruction`` is
    empty then, and ``after`` what it held).

    ``parent`` is the index of the step that read what this one wrote, -1 for the watched place itself, and ``role``
    what it read it as (``src0``, ``scalar``); ``overwritten``, ``below`` and ``above`` name other relations: what wrote
    to that place earlier, and nearest to a place that nobody wrote to. ``before`` and ``after`` are what the element
    held, None where unknown; ``dtype`` is None where the instruction does not tell, and values are bits then.
    ``sequence`` counts instructions in the order they ran in; ``block`` is the block's number.
    """

    parent: int
    role: str
    memory: str
    offset: int
    dtype: DType | None
    before: float | int | None
    after: float | int | None
    instruction: str = ""
    file: str = ""
    line: int = 0
    sequence: int = 0
    block: int = -1
    core: str = ""
    pipe: str = ""
    scalar: float | int | None = None


@dataclass(frozen=True, slots=True)
class Operand:
    """Memory that an instruction read or wrote: ``count`` pieces of ``nbytes`` bytes, ``stride`` bytes apart, from
    ``offset`` of ``memory`` on (``UB``, or an argument's name). ``content`` is what its pieces held afterwards, one
    behind the other; None of what was only read, and where it was not kept.
    """

    role: str
    memory: str
    offset: int
    nbytes: int
    stride: int
    count: int
    dtype: DType | None
    writes: bool
    content: bytes | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """One instruction of a core, or an event that orders some (``SetFlag``, ``EnQue``): then ``note`` says which flag
    or queue, and there are no operands. ``sequence`` counts what all cores did, in the order it was issued in.
    """

    sequence: int
    name: str
    pipe: str
    file: str
    line: int
    note: str = ""
    scalar: float | int | None = None
    operands: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """What one core did. ``core`` is its kind; ``lost`` says how many entries of all cores before the first one are
    forgotten, and ``cut`` whether later ones had no room.
    """

    core: str
    entries: tuple[Recorded, ...]
    lost: int = 0
    cut: bool = False
