"""What a call bears, tried with data: how small its extents may be, and which values its inputs may have."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .subjects import open_subject

__all__ = ["narrowed", "restricted", "worked_out"]

#: Where positive numbers begin.
_LEAST_POSITIVE = 2.0**-6
#: So long are extents tried.
_PATIENCE_S = 20.0
_MULTIPLES = (2, 4, 8, 16, 32, 64, 128)
#: Extents in a row that have to work before all larger ones are taken to.
_IN_A_ROW = 4
#: So many draws of all extents together have to work.
_TOGETHER = 12


def narrowed(
    axes: Mapping[str, Sequence[int]],
    shapes: Mapping[str, Sequence[int | str]],
    tensors: Mapping[str, Any],
    call: Callable[[Mapping[str, Any]], Sequence[Any]],
) -> dict[str, list[int]]:
    """``axes`` as the lowest extent, the highest (0 where nothing bounds it) and what all are multiples of.

    A tracer knows what shapes allow. It does not know that a value is an index, or that code of the user's needs two
    columns. ``tensors`` are arguments that the call is known to work with, ``shapes`` are theirs over the axes.
    """
    known = {name: _extent_of(name, shapes, tensors) for name in axes}
    if None in known.values():
        return {name: [*bounds, 1] for name, bounds in axes.items()}
    case = {name: extent for name, extent in known.items() if extent is not None}
    deadline = time.monotonic() + _PATIENCE_S

    def works(extents: Mapping[str, int]) -> bool:
        # Checked inside: the user's own code may take seconds for one call.
        if time.monotonic() > deadline:
            raise ValueError(f"trying how its extents may vary takes more than {_PATIENCE_S:.0f} s")
        try:
            return _finite(
                call({name: _like(value, worked_out(shapes[name], extents)) for name, value in tensors.items()})
            )
        except Exception:  # noqa: BLE001 - boundary: the user's own code with extents that it was not written for
            return False

    def alone(axis: str) -> Callable[[int], bool]:
        return lambda extent: works({**case, axis: extent})

    found = {name: _range(low, high, case[name], alone(name)) for name, (low, high) in axes.items()}
    # The same draws always, so that the same file gives the same task.
    draw = random.Random(0)
    # Up to twice the known extent: larger ones only take longer and show the same.
    for _ in range(_TOGETHER):
        if not works(
            {
                name: draw.randrange(low, max(low, 2 * case[name]) + 1, factor)
                for name, (low, _, factor) in found.items()
            }
        ):
            raise ValueError("its extents depend on one another in a way that only values show")
    return found


def _range(low: int, high: int, known: int, works: Callable[[int], bool]) -> list[int]:
    """The lowest extent from which on all work, or the multiples that do; the known one alone where neither is so."""

    def all_work(extents: Iterator[int]) -> bool:
        return all(works(extent) for extent in extents if not high or extent <= high)

    for least in range(low, known + 1):
        if all_work(iter(range(least, least + _IN_A_ROW))):
            return [least, high, 1]
    for multiple in _MULTIPLES:
        if known % multiple == 0 and all_work(multiple * times for times in range(1, _IN_A_ROW + 1)):
            return [multiple, high, multiple]
    return [known, known, 1]


def worked_out(shape: Sequence[int | str], extents: Mapping[str, int]) -> list[int]:
    """A shape over axes in numbers."""
    # The text is the tracer's: letters, digits and signs of arithmetic.
    return [extent if isinstance(extent, int) else int(eval(extent, {}, dict(extents))) for extent in shape]


def _extent_of(axis: str, shapes: Mapping[str, Sequence[int | str]], tensors: Mapping[str, Any]) -> int | None:
    for name, shape in shapes.items():
        if axis in shape:
            return int(tensors[name].shape[list(shape).index(axis)])
    return None


def _like(value: Any, shape: Sequence[int]) -> Any:
    """A tensor of another shape; integers are the largest there, as an index may be."""
    import torch

    if value.is_floating_point() or value.is_complex():
        return torch.rand(shape, dtype=value.dtype)
    return torch.full(shape, value.max().item() if value.numel() else 0, dtype=value.dtype)


def _finite(outputs: Sequence[Any]) -> bool:
    """Whether no output holds a NaN."""
    return not any(output.isnan().any().item() for output in outputs if output.is_floating_point())


def restricted(header: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """Limits for stated inputs with which a call fails or makes NaN: ``low`` where an integer divides, or a root or
    logarithm is taken; ``high`` where integers are indices of less than eight places.
    """
    import torch

    subject = open_subject(header, {})
    stated = {one["name"]: one for one in header["inputs"] if "value" not in one and one["dtype"] != "bool"}
    floats = {name for name, one in stated.items() if "int" not in one["dtype"]}

    def works(name: str = "", value: float = 0.0) -> bool:
        """With ones and positive numbers; the named integers are ``value``, or the named floats of both signs."""
        arguments = subject.arguments()
        for other, one in stated.items():
            dtype = getattr(torch, one["dtype"])
            shapes = one.get("shapes") or [one["shape"]]
            if other not in floats:
                made = [torch.full(shape, int(value) if other == name else 1, dtype=dtype) for shape in shapes]
            elif other != name:
                # Positive and away from zero: with such numbers roots, logarithms and quotients are finite.
                made = [(torch.rand(shape) + _LEAST_POSITIVE).to(dtype) for shape in shapes]
            else:
                continue
            arguments[other] = made if "shapes" in one else made[0]
        try:
            with torch.no_grad():
                return _finite(subject.call(subject.make(), arguments))
        except Exception:  # noqa: BLE001 - boundary: the user's own code with values that it was not written for
            return False

    if not works():
        return {}
    limits: dict[str, dict[str, float]] = {name: {"low": _LEAST_POSITIVE} for name in floats if not works(name)}
    for name in stated.keys() - floats:
        low = 0 if works(name, 0) else 1
        # From above, as fewer places restrict hidden cases more.
        limits[name] = {"low": low, "high": next((high for high in range(8, 2, -1) if works(name, high - 1)), 2)}
    return limits
