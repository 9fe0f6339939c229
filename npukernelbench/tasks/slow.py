"""De-optimisations: what makes a right operator slow and keeps it right, each a change of its text with a name.

They work on the files of an operator (``op_host``, ``op_kernel``), so that the slow kernel of either track follows from
the golden one as usual. Whether a result is right, and slower, is the judge's to say: see :mod:`tasks.starts`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from npukernelbench.errors import TaskError, UsageError

__all__ = ["DEOPTIMISATIONS", "slowed"]

_HOST, _DEVICE = "op_host/", "op_kernel/"
#: How many cores the platform says it has.
_CORES = re.compile(r"[\w:]+(?:\((?:[^(){};]|\([^(){};]*\))*\))?\.GetCoreNumAi[vc]\(\)")
#: Two buffers of a queue, which let copies of one tile run beside the computation of another.
_DOUBLE = re.compile(r"(InitBuffer\(\s*\w+\s*,\s*)2(\s*,)")
#: A whole number that stands alone.
_NUMBER = re.compile(r"(?<![\w.])(?P<digits>[1-9]\d{2,5})(?P<suffix>[uUlL]*)(?![\w.])")
_CONSTANT = re.compile(r"^\s*(?:static\s+)?constexpr\b[^;()]*;", re.MULTILINE)
_SMALLEST, _LARGEST, _MULTIPLE, _TIMES = 512, 65536, 256, 8
_LEAST_TILE = 64
#: The beginning of a statement that copies or computes: an instruction with its arguments.
_INSTRUCTION = re.compile(
    r"(?P<before>[;{}]\s*|\)\s*|\belse\s+)(?P<call>(?:AscendC::)?(?:DataCopy|DataCopyPad|Cast|Add|Sub|Mul|Div|Adds|"
    r"Muls|Exp|Ln|Sqrt|Abs|Max|Min|Maxs|Mins|Duplicate|Select|Compare|CompareScalar|ReduceSum|ReduceMax|ReduceMin|"
    r"WholeReduceSum|Axpy|Relu|Reciprocal|Rsqrt|Gather|Transpose|And|Or|Not)(?:<[\w:,\s]*>)?\s*\()"
)
_BARRIER = "PipeBarrier<PIPE_ALL>()"

Files = Mapping[str, str]


def single_core(files: Files) -> Files:
    """Tiling functions divide the work for a machine of one core."""
    return _changed(files, _HOST, lambda text: _CORES.sub("1", text))


def single_buffer(files: Files) -> Files:
    """Queues of one buffer: copies wait for the computation, and the computation for them."""
    return _changed(files, _DEVICE, lambda text: _DOUBLE.sub(r"\g<1>1\2", text))


def tiny_tiles(files: Files) -> Files:
    """Lengths of tiles, in host code and in constants of device code, are an eighth of what they were."""
    host = _changed(files, _HOST, lambda text: _NUMBER.sub(_smaller, text))
    return _changed(host, _DEVICE, lambda text: _CONSTANT.sub(lambda match: _NUMBER.sub(_smaller, match.group()), text))


def barriers(files: Files) -> Files:
    """A barrier of all pipes behind every copy and every instruction of the vector unit."""
    return _changed(files, _DEVICE, _with_barriers)


#: By name, in the order in which they are applied.
DEOPTIMISATIONS: Mapping[str, Callable[[Files], Files]] = MappingProxyType(
    {
        "single-core": single_core,
        "single-buffer": single_buffer,
        "tiny-tiles": tiny_tiles,
        "barriers": barriers,
    }
)


def slowed(files: Files, names: Sequence[str], of: str) -> Files:
    """The operator ``of`` with these de-optimisations. UsageError for a name that there is not, TaskError where one
    finds nothing to change.
    """
    for name in names:
        if name not in DEOPTIMISATIONS:
            raise UsageError(
                f"there is no de-optimisation {name!r}", field="--slow", remedy=f"one of {', '.join(DEOPTIMISATIONS)}"
            )
    # In the table's order, not in that of the names: the same set of names gives the same kernel.
    for name, change in DEOPTIMISATIONS.items():
        if name in names:
            slower = change(files)
            if slower == files:
                raise TaskError(f"the golden kernel of {of} has nothing that {name!r} takes away", field="--slow")
            files = slower
    return files


def _changed(files: Files, folder: str, change: Callable[[str], str]) -> Files:
    return {name: change(text) if name.startswith(folder) else text for name, text in files.items()}


def _smaller(match: re.Match[str]) -> str:
    number = int(match["digits"])
    # What is smaller, larger or uneven is hardly the length of a tile.
    if not _SMALLEST <= number <= _LARGEST or number % _MULTIPLE:
        return match.group()
    return f"{max(_LEAST_TILE, number // _TIMES)}{match['suffix']}"


def _with_barriers(text: str) -> str:
    """A barrier behind every instruction, in braces with it where it is the only statement of an ``if`` or a loop."""
    parts: list[str] = []
    copied = at = 0
    while match := _INSTRUCTION.search(text, at):
        start, end = match.start("call"), _closing(text, match.end())
        at = match.end()
        # Not the declaration of a function, nor a part of an expression.
        if text[end : end + 1] != ";":
            continue
        barrier = f"AscendC::{_BARRIER}" if match["call"].startswith("AscendC::") else _BARRIER
        alone = match["before"][0] not in ";{}"
        indent = " " if alone else "\n" + match["before"][1:].rpartition("\n")[2]
        added = f"{text[start:end]};{indent}{barrier};"
        parts += [text[copied:start], f"{{ {added} }}" if alone else added]
        # The sign that ends this statement may stand before the next one.
        copied, at = end + 1, end
    return "".join((*parts, text[copied:]))


def _closing(text: str, at: int) -> int:
    """Behind the bracket that closes the one before ``at``."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at
