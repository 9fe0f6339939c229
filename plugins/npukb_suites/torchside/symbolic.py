"""How shapes may vary: a call traced with symbols in place of the extents of its inputs.

``torch.export`` finds which extents can be any number, which must be equal, and what the extents of the outputs are. An
answer is given only in the arithmetic that task files know: names, whole numbers, ``+ - * //`` and parentheses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .listing import listed_shapes
from .probing import narrowed
from .sources import Values
from .subjects import is_list, open_subject
from .tracing import quiet

__all__ = ["symbolic_shapes"]

_SIMPLE = re.compile(r"[a-z0-9_ +\-*/()]+")


def symbolic_shapes(
    header: Mapping[str, Any], sizes: Mapping[str, int], values: Mapping[str, Values]
) -> dict[str, Any]:
    """Axes as the lowest extent, the highest (0 for any) and what it is a multiple of, and shapes over them, or
    ``reason`` where there is no such answer. ``values`` are the generators of the inputs.
    """
    try:
        subject = open_subject(header, sizes)
        if any(map(is_list, subject.arguments().values())):
            return listed_shapes(header, subject)
        return _traced(header, sizes, values)
    except Exception as error:  # noqa: BLE001 - boundary: a tracer that does not know everything, on the user's code
        return {"reason": f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"[:300]}


def _traced(header: Mapping[str, Any], sizes: Mapping[str, int], values: Mapping[str, Values]) -> dict[str, Any]:
    import torch

    subject = open_subject(header, sizes)
    arguments = subject.arguments()
    made = subject.make()
    if isinstance(made, torch.nn.Module):
        quiet(made)
    tensors = {name: value for name, value in arguments.items() if isinstance(value, torch.Tensor)}
    plain = {name: value for name, value in arguments.items() if name not in tensors}

    class Wrapped(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.inner = made if isinstance(made, torch.nn.Module) else None

        def forward(self, *given: Any) -> Any:
            named = dict(zip(tensors, given, strict=True))
            both = {name: named.get(name, plain.get(name)) for name in arguments}
            return tuple(subject.call(self.inner if self.inner is not None else made, both))

    # Every extent may vary: the tracer itself finds which of them are bound to others.
    dynamic = tuple(dict.fromkeys(range(tensor.dim()), torch.export.Dim.AUTO) for tensor in tensors.values())
    program = torch.export.export(Wrapped(), tuple(tensors.values()), dynamic_shapes=(dynamic,), strict=False)
    found = _shapes(program, tensors)

    def call(named: Mapping[str, Any]) -> list[Any]:
        with torch.no_grad():
            return subject.call(made, {name: named.get(name, plain.get(name)) for name in arguments})

    highest = {name: _highest(tensor, values.get(name)) for name, tensor in tensors.items()}
    return {**found, "axes": narrowed(found["axes"], found["shapes"], highest, call)}


def _highest(tensor: Any, values: Values) -> Any:
    """A tensor of integers as the largest that its generator draws, which an index may be."""
    return tensor.new_full(tensor.shape, values["integers"][1] - 1) if values and "integers" in values else tensor


def _shapes(program: Any, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The symbols of an exported program as axes a, b, c, …"""
    signature = program.graph_signature
    metas = {node.name: node.meta.get("val") for node in program.graph.nodes}
    names: dict[str, str] = {}
    shapes = {}
    for name, placeholder in zip(tensors, signature.user_inputs, strict=True):
        shapes[name] = [_extent(extent, names) for extent in metas[placeholder].shape]
    outputs = [[_extent(extent, names) for extent in metas[output].shape] for output in signature.user_outputs]
    axes = {}
    for symbol, values in program.range_constraints.items():
        if str(symbol) in names:
            low, high = int(values.lower), values.upper
            # The tracer takes an extent of 0 or 1 for another program; others are constraints of the operator.
            least = 1 if low <= 2 else low
            # A bound as high is the tracer's own, no constraint of the operator.
            axes[names[str(symbol)]] = [least, int(high) if str(high).isdigit() and int(high) < 1 << 20 else 0]
    return {"axes": axes, "shapes": shapes, "outputs": outputs}


def _extent(extent: Any, names: dict[str, str]) -> int | str:
    if isinstance(extent, int):
        return extent
    text = str(extent.node.expr)
    for symbol in re.findall(r"s\d+", text):
        # Digit by digit, so that the letters do not run out: a to j, then ba, bb and so on.
        names.setdefault(symbol, "".join(chr(ord("a") + int(digit)) for digit in str(len(names))))
    text = re.sub(r"s\d+", lambda match: names[match[0]], text)
    if text.isdigit():
        return int(text)
    text = re.sub(r"FloorDiv\((.*), (\d+)\)", r"(\1) // \2", text)
    text = re.sub(r"\(\(([^()]*)\)\)", r"(\1)", text)
    if "**" in text or not _SIMPLE.fullmatch(text):
        raise ValueError(f"the extent {text} is no plain arithmetic")
    return text
