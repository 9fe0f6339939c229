"""Asking a launch where bytes come from, and its answer: directives out, steps in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from npukb_twin.compile.lines import Place
from npukernelbench.nouns import DType, RunRequest, Step, Watched

__all__ = ["dtype_of", "steps_of", "value_of", "watch_lines"]

#: As the runtime numbers element types (include/twin/abi.h); what NumPy has none of is told as bits.
_DTYPES = (
    DType.FLOAT16,
    DType.BFLOAT16,
    DType.FLOAT32,
    DType.INT8,
    DType.UINT8,
    DType.INT16,
    DType.UINT16,
    DType.INT32,
    DType.UINT32,
    DType.INT64,
    DType.UINT64,
)


def watch_lines(request: RunRequest) -> list[str]:
    """One directive per watched place. An output that updates an input lies in the input's buffer."""
    updated = {output.name: output.alias_of for output in request.task.outputs if output.alias_of is not None}
    lines = []
    for watched in request.watched:
        name, bracket, index = watched.output.partition("[")
        lines.append(f"watch {updated.get(name, name)}{bracket}{index} {watched.offset} {watched.nbytes}")
    return lines


def steps_of(
    journal: Sequence[Sequence[Mapping[str, Any]]], watched: Iterable[Watched], place: Callable[[int], Place]
) -> tuple[tuple[Step, ...], ...]:
    """The steps of every watched place, in their order."""
    return tuple(_steps(way, element.dtype, place) for way, element in zip(journal, watched, strict=False))


def _steps(way: Sequence[Mapping[str, Any]], dtype: DType, place: Callable[[int], Place]) -> tuple[Step, ...]:
    types: list[DType | None] = []
    steps = []
    for entry in way:
        parent = int(entry["parent"])
        types.append(
            dtype_of(int(entry["dtype"])) or _inherited(int(entry["bytes"]), types[parent] if types else dtype)
        )
        own = types[-1]
        at = place(int(entry.get("pc", 0)))
        scalar = value_of(entry.get("scalar"), dtype_of(int(entry.get("scalar_dtype", -1))))
        steps.append(
            Step(
                parent=parent,
                role=str(entry["role"]),
                memory=str(entry["memory"]),
                offset=int(entry["offset"]),
                dtype=own,
                before=value_of(entry.get("before"), own),
                after=value_of(entry.get("after"), own),
                instruction=str(entry.get("instruction", "")),
                file=at.file,
                line=at.line,
                sequence=int(entry.get("sequence", 0)),
                block=int(entry.get("block", -1)),
                core=str(entry.get("kind", "")),
                pipe=str(entry.get("pipe", "")),
                scalar=scalar,
            )
        )
    return tuple(steps)


def dtype_of(number: int) -> DType | None:
    """The element type that the runtime numbers so; None where NumPy has none."""
    return _DTYPES[number] if 0 <= number < len(_DTYPES) else None


def _inherited(nbytes: int, dtype: DType | None) -> DType | None:
    """Whoever only moves bytes tells no type: it is that of whoever reads them, if it fits."""
    return dtype if dtype is not None and dtype.itemsize == nbytes else None


def value_of(bits: object, dtype: DType | None) -> float | int | None:
    """Bits as a number of that type; as they are without one."""
    if not isinstance(bits, int) or dtype is None:
        return bits if isinstance(bits, int) else None
    import numpy as np

    # the runtime tells 64 bits, of which a value of a shorter type has the lower ones
    raw = np.frombuffer(bits.to_bytes(8, "little")[: dtype.itemsize], dtype=dtype.numpy())[0]
    return int(raw) if dtype.is_exact else float(raw)
