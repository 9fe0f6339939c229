"""What a call of an application says of a case: which argument is which tensor or attribute of the operator.

A generated interface has the operator's name and takes inputs, attributes and outputs in the definition's order; one
that was written by hand may have others, and then names decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from npukb_suites.recorded.application import Call
from npukb_suites.signature import Attribute, Tensor
from npukernelbench.nouns import DType
from npukernelbench.tasks.select import fold

__all__ = ["Bound", "bound", "named_attributes"]

_KINDS: Mapping[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "bool": (bool, int),
    "str": (str,),
    "list_int": (list,),
    "list_float": (list,),
}


@dataclass(frozen=True)
class Bound:
    """Arguments by the operator's names. Of ``outputs``, types and shapes count: nothing has computed them."""

    call: str
    inputs: Mapping[str, Any]
    attributes: Mapping[str, Any]
    outputs: Mapping[str, Any]


def bound(
    calls: Sequence[Call],
    operator: str,
    inputs: Sequence[Tensor],
    attributes: Sequence[Attribute],
    outputs: Sequence[Tensor],
) -> Bound | None:
    """The first call that fits the interface of ``operator``; None where there is none."""
    slots: tuple[Tensor | Attribute, ...] = (
        *inputs,
        *attributes,
        *(output for output in outputs if not output.inplace),
    )
    for call in calls:
        by_order = dict(zip((slot.name for slot in slots), call.arguments, strict=False))
        generated = len(call.arguments) == len(slots) and fold(call.name) == f"aclnn{fold(operator)}"
        # Names first: an interface that was written by hand may have as many arguments in another order.
        for given in (_by_name(call, slots), by_order if generated else {}):
            if given and all(_fits(given.get(slot.name), slot) for slot in slots):
                return Bound(
                    call.name,
                    {one.name: _tensor(given.get(one.name), one, call.arguments) for one in inputs},
                    {one.name: given[one.name] for one in attributes if given.get(one.name) is not None},
                    # What is written in place has no argument of its own.
                    {one.name: given[one.like if one.inplace else one.name] for one in outputs},
                )
    return None


def named_attributes(calls: Sequence[Call], attributes: Sequence[Attribute]) -> dict[str, tuple[Any, str]]:
    """Values that a call gives under an attribute's own name, and the call: an interface that was written by hand may
    have other tensors than the operator.
    """
    known = {fold(attribute.name): attribute for attribute in attributes}
    result: dict[str, tuple[Any, str]] = {}
    for call in calls:
        for text, value in zip(call.written, call.arguments, strict=False):
            attribute = known.get(fold(text))
            if attribute is not None and value is not None and _fits(value, attribute):
                # The first call wins: samples warm up or check with further ones.
                result.setdefault(attribute.name, (value, call.name))
    return result


def _by_name(call: Call, slots: Sequence[Tensor | Attribute]) -> dict[str, Any]:
    """Arguments by the slots' names, where every argument is one."""
    if len(call.written) != len(call.arguments):
        return {}
    names = {fold(slot.name): slot.name for slot in slots}
    given = {names.get(fold(text)): value for text, value in zip(call.written, call.arguments, strict=True)}
    # An argument that is no slot's, or two of one name: the interface is not the operator's.
    return {} if None in given or len(given) != len(call.arguments) else {str(k): v for k, v in given.items()}


def _fits(value: Any, slot: Tensor | Attribute) -> bool:
    if isinstance(slot, Attribute):
        kinds = _KINDS[slot.type]
        return slot.default is not None if value is None else isinstance(value, kinds) and value is not ...
    if value is None:
        return slot.optional
    return isinstance(value, (np.ndarray, int, float))


def _tensor(value: Any, tensor: Tensor, arguments: Sequence[Any]) -> Any:
    """A number that an operator takes as a tensor is one of one element, of the first tensor's type where it may be."""
    if not isinstance(value, (bool, int, float)):
        return value
    first = next((one.dtype.name for one in arguments if isinstance(one, np.ndarray)), "")
    return np.array([value], DType(first if first in tensor.dtypes else tensor.dtypes[0]).numpy())
