"""Shapes and element types of a function's outputs, case by case, without computing them where torch can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .subjects import Subject, open_subject
from .wire import Message

__all__ = ["shape"]

#: A function that needs its values is called with so many at most.
_MOST_ELEMENTS = 1 << 24


def shape(question: Message) -> Message:
    """Per case the outputs as pairs of shape and type, or why there are none."""
    subject = open_subject({**question.header, "inputs": ()})
    return Message({"cases": [_outputs(subject, case) for case in question.header["cases"]]})


def _outputs(subject: Subject, case: Mapping[str, Any]) -> dict[str, Any]:
    try:
        # The `meta` device computes nothing: shapes of gigabytes are told at once.
        return {"outputs": _told(subject, case, "meta")}
    except Exception:  # noqa: BLE001 - boundary: the user's own code may need values
        pass
    if _elements(case) > _MOST_ELEMENTS:
        return {"error": f"its shapes come from values, and {_elements(case)} elements are too many to look"}
    try:
        # Two fillings, to see whether shapes depend on values.
        seen = [_told(subject, case, kind) for kind in ("zeros", "ones")]
    except Exception as error:  # noqa: BLE001 - boundary: the user's own code
        return {"error": f"{type(error).__name__}: {error}"}
    if seen[0] != seen[1]:
        return {"error": "shapes of its outputs depend on values"}
    return {"outputs": seen[0]}


def _told(subject: Subject, case: Mapping[str, Any], kind: str) -> list[Any]:
    import torch

    def tensor(given: Sequence[Any]) -> Any:
        extents, dtype = given[0], getattr(torch, given[1])
        if kind == "meta":
            return torch.empty(extents, dtype=dtype, device="meta")
        return torch.zeros(extents, dtype=dtype) if kind == "zeros" else torch.ones(extents, dtype=dtype)

    arguments: dict[str, Any] = {}
    for name, given in case["inputs"]:
        listed = given is not None and bool(given) and isinstance(given[0][0], list)
        arguments[name] = None if given is None else [tensor(one) for one in given] if listed else tensor(given)
    arguments.update(case["plain"])
    with torch.no_grad():
        outputs = subject.call(subject.make(), arguments)
    return [[list(output.shape), str(output.dtype).removeprefix("torch.")] for output in outputs]


def _elements(case: Mapping[str, Any]) -> int:
    total = 0
    for _, given in case["inputs"]:
        for extents, _ in [] if given is None else given if isinstance(given[0][0], list) else [given]:
            count = 1
            for extent in extents:
                count *= extent
            total += count
    return total
