"""The thinking before a generated kernel: the numbers of its partition, and the reasons for them."""

from __future__ import annotations

from random import Random

from kernelgen_lm.corpus.measures import CORES, UB_BYTES, Kernel
from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.program import Kind
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.style import Partition, Structure, Style
from npukernelbench.nouns import DType

__all__ = ["on_a_tile", "reason"]

_ORDER = {
    Structure.CLASS: "Queues order the copies and the vector unit.",
    Structure.INLINE: "Queues order the copies and the vector unit.",
    Structure.FLAGS: "Plain buffers, so flags order the copies and the vector unit.",
    Structure.BARRIERS: "Plain buffers, so barriers over all pipes order copies and vector unit.",
}


def reason(spec: Spec, style: Style, kernel: Kernel, rng: Random) -> str:
    """A few sentences, one per decision."""
    parts = [_partition(spec, style, kernel, rng), _tile(spec, kernel, rng), _alignment(spec, kernel)]
    return "\n".join(part for part in (*parts, *on_a_tile(spec, style, kernel)) if part)


def on_a_tile(spec: Spec, style: Style, kernel: Kernel) -> list[str]:
    """What does not depend on sizes: types, instructions, order, memory. Some may be empty."""
    return [_types(spec), _instructions(spec, kernel), _ORDER[style.structure], _memory(style, kernel)]


def _partition(spec: Spec, style: Style, kernel: Kernel, rng: Random) -> str:
    numbers = kernel.numbers
    if style.partition is Partition.STRIPES and not isinstance(spec.body, Movement):
        return f"{numbers.total} {numbers.unit} on {CORES} cores: tiles in turn, core k takes tiles k, k + {CORES}, ..."
    text = (
        f"{numbers.total} {numbers.unit} / {CORES} cores -> {numbers.share} per core, {numbers.cores} cores have work"
    )
    # A few wordings, so that a model does not learn one sentence.
    opening = rng.choice(("Partition: ", "Cores: ", ""))
    return f"{opening}{text}."


def _tile(spec: Spec, kernel: Kernel, rng: Random) -> str:
    numbers = kernel.numbers
    word = rng.choice(("Tile", "Per step"))
    if numbers.unit == "rows":
        size = f" of {spec.columns} elements" if not isinstance(spec.body, Movement) else ""
        return f"{word}: {numbers.tile} rows{size} at a time, {numbers.tiles} per core."
    nbytes = numbers.tile * spec.dtype.itemsize
    return f"{word}: {numbers.tile} elements = {nbytes} bytes, {numbers.tiles} per core."


def _alignment(spec: Spec, kernel: Kernel) -> str:
    size = spec.dtype.itemsize
    if kernel.numbers.pitch:
        nbytes = spec.columns * size
        if nbytes % 32:
            text = f"A row is {nbytes} bytes, no multiple of 32: DataCopyPad"
            return f"{text}, rows lie {kernel.numbers.pitch} elements apart."
        return f"A row is {nbytes} bytes, whole blocks of 32."
    if isinstance(spec.body, Movement):
        return "Pieces of a row may begin anywhere: DataCopyPad with lengths in bytes."
    nbytes = spec.total * size
    ragged = f"{nbytes} bytes are no multiple of 32, so the tail needs DataCopyPad"
    return f"{ragged}." if nbytes % 32 else "The total is whole blocks of 32 bytes; the last tile may be shorter."


def _types(spec: Spec) -> str:
    if isinstance(spec.body, Movement):
        return ""
    if spec.dtype is DType.BFLOAT16:
        return "There is no bfloat16 arithmetic: Cast to float first, Cast back with CAST_RINT."
    if spec.dtype is not spec.result:
        return f"{spec.dtype.value} in, {spec.result.value} out: the arithmetic is in float."
    return ""


def _instructions(spec: Spec, kernel: Kernel) -> str:
    if isinstance(spec.body, Movement):
        return ""
    names = [line.split("(")[0].strip() for line in kernel.lowered.lines if line.lstrip()[:1].isupper()]
    # Flags are the structure's, which the next sentence is about.
    names = [name for name in names if not name.startswith(("SetFlag", "WaitFlag"))]
    text = f"Instructions: {', '.join(names)}." if names else ""
    if Kind.ROW in spec.body.kinds() and not spec.body.whole:
        text += " One number per row, then row by row."
    if spec.body.whole:
        text += " Every core leaves its number in the workspace; after SyncAll core 0 combines them."
    return text


def _memory(style: Style, kernel: Kernel) -> str:
    double = style.structure in (Structure.CLASS, Structure.INLINE) and style.depth == 2
    twice = ", tiles twice for double buffering" if double else ""
    return f"UB: {kernel.numbers.ub_bytes} of {UB_BYTES} bytes{twice}."
