"""The files of a task whose cases are recorded data."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from npukb_suites.naming import kernel_name
from npukb_suites.recorded.matching import Interface
from npukb_suites.recorded.records import Record, dtype_of
from npukb_suites.signature import Attribute, Tensor
from npukb_suites.writing import task_text
from npukernelbench.errors import TaskError

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["case_names", "recorded_task"]

_CPU_ELEMENTS = 1 << 20
#: What samples compare with: the answer was computed in the element type, too, so that both sides round.
_RELATIVE = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1e-4, "float64": 1e-4, "complex64": 1e-4, "complex128": 1e-4}
# The JSON stands in a raw string, which keeps its backslashes; its quotes are escaped, so it cannot end the string.
_HEAD = '''"""Right answers of {name}, recorded with its inputs: {source}."""

import json

from npukb_suites.recorded import Recorded

reference = Recorded(__file__, json.loads(r"""
{facts}
"""))
'''


def recorded_task(
    name: str, records: Sequence[Record], interface: Interface, *, suite: str, summary: str
) -> dict[str, str | bytes]:
    """``task.yaml``, ``reference.py`` and the data. TaskError where the records do not fit one interface."""
    attributes = interface.attributes or _told_attributes(records)
    smallest = min(records, key=lambda record: record.elements)
    # By number: a case's name may begin with a digit, which no function's can.
    draws = {record.name: f"draw_{position}" for position, record in enumerate(records)}
    outputs = [_output(tensor, records, interface) for tensor in _names([record.outputs for record in records])]
    task = {
        "name": name,
        "suite": suite,
        "level": 1,
        "category": "Custom",
        "version": 1,
        "kernel": kernel_name(name),
        "summary": summary,
        "interface": {
            "inputs": [_input(tensor, records, interface) for tensor in _names([record.inputs for record in records])],
            "attributes": [_attribute(attribute) for attribute in attributes],
            "outputs": outputs,
        },
        # No workspace: kernels of samples take none.
        "reference": "reference.py:reference",
        "tolerance": {"limits": _limits(records)},
        "cases": [_case(record, draws[record.name], record is smallest) for record in records],
    }
    facts = {record.name: _facts(record, attributes) for record in records}
    source = ", ".join(record.folder.name for record in records)
    head = _HEAD.format(name=name, source=source[:100], facts=json.dumps(facts, indent=4))
    lines = [f'{draw} = reference.drawing("{case}")\n' for case, draw in draws.items()]
    files: dict[str, str | bytes] = {"task.yaml": task_text(task), "reference.py": head + "".join(lines)}
    for record in records:
        # Bytes in C order, as kernels and `load` read them.
        for tensor, array in (*record.inputs.items(), *record.outputs.items()):
            if array is not None:
                files[f"data/{record.name}/{tensor}.bin"] = array.tobytes()
    return files


def _names(sides: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tensors of all cases. TaskError where cases have different ones."""
    first = list(sides[0])
    for side in sides[1:]:
        if set(side) != set(first):
            odd = ", ".join(sorted(set(side) ^ set(first)))
            raise TaskError(f"cases do not have the same tensors: {odd}", remedy="make a task of each folder")
    return first


def _input(name: str, records: Sequence[Record], interface: Interface) -> dict[str, Any]:
    given = [record.inputs[name] for record in records]
    told = next((tensor for tensor in interface.inputs if tensor.name == name), None)
    types = dict.fromkeys(told.dtypes if told else ())
    # The types of the records follow those of the interface, so that what a definition allows stays allowed.
    types |= {dtype_of(array, records[0].folder).value: None for array in given if array is not None}
    if not types:
        raise TaskError(f"no case has the input {name}", remedy="leave it out of the description")
    entry: dict[str, Any] = {"name": name, "dtypes": list(types)}
    return (
        {**entry, "presence": "optional"}
        if any(array is None for array in given) or (told and told.optional)
        else entry
    )


def _attribute(attribute: Attribute) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": attribute.name, "type": attribute.type}
    return entry if attribute.default is None else {**entry, "default": attribute.default}


def _told_attributes(records: Sequence[Record]) -> tuple[Attribute, ...]:
    """Names and types as the values have them."""
    values = {name: value for record in records for name, value in record.attributes.items()}
    return tuple(Attribute(name, _kind(value)) for name, value in values.items())


def _kind(value: Any) -> str:
    if isinstance(value, list):
        return "list_float" if any(isinstance(item, float) for item in value) else "list_int"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "str")


def _output(name: str, records: Sequence[Record], interface: Interface) -> dict[str, Any]:
    types = [record.outputs[name].dtype.name for record in records]
    told = next((tensor for tensor in interface.outputs if tensor.name == name), Tensor(name, (), None))
    # Without a statement an input is followed only where types differ between cases.
    likes = [told.like] if told.like else [name for name in records[0].inputs if len(set(types)) > 1]
    for like in likes:
        sources = [record.inputs.get(like) for record in records]
        if all(source is not None and source.dtype.name == mine for source, mine in zip(sources, types, strict=True)):
            entry = {"name": name, "dtype_like": like}
            return {**entry, "alias_of": like} if told.inplace else entry
    if len(set(types)) > 1:
        raise TaskError(f"the type of {name} follows no input: {', '.join(sorted(set(types)))}")
    dtype_of(records[0].outputs[name], records[0].folder)
    return {"name": name, "dtype": types[0]}


def _limits(records: Sequence[Record]) -> dict[str, Any]:
    """By type; near zero an error counts against the size of the outputs."""
    result: dict[str, dict[str, float]] = {}
    for array in (array for record in records for array in record.outputs.values()):
        relative = _RELATIVE.get(array.dtype.name)
        if relative is not None:
            old = result.get(array.dtype.name, {"atol": 0.0})
            result[array.dtype.name] = {
                # Two digits: more would say that the limit is known more exactly than it is.
                "atol": max(old["atol"], float(f"{relative * _size(array):.1e}")),
                "rtol": relative,
            }
    return result


def _size(array: Array) -> float:
    wide = np.abs(array.astype(np.complex128 if array.dtype.kind == "c" else np.float64))
    finite = wide[np.isfinite(wide)]
    # Zeros alone have no size that an error could count against.
    return float(np.sqrt(np.mean(finite**2))) or 1.0 if finite.size else 1.0


def _case(record: Record, draw: str, is_smallest: bool) -> dict[str, Any]:
    profiles = ["full"]
    if record.elements <= _CPU_ELEMENTS:
        profiles.insert(0, "cpu")
    if is_smallest:
        profiles.insert(0, "smoke")
    values = {"program": f"reference.py:{draw}"}
    entry: dict[str, Any] = {
        "id": record.name,
        "inputs": {
            name: None
            if array is None
            else {"shape": list(array.shape), "dtype": dtype_of(array, record.folder).value, "values": values}
            for name, array in record.inputs.items()
        },
    }
    if record.attributes:
        entry["attributes"] = dict(record.attributes)
    return {
        **entry,
        "outputs": {name: {"shape": list(array.shape)} for name, array in record.outputs.items()},
        "profiles": profiles,
    }


def _facts(record: Record, attributes: Sequence[Attribute]) -> dict[str, Any]:
    def told(array: Array | None) -> list[Any] | None:
        if array is None:
            return None
        return [array.dtype.name, list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]

    # Defaults are recorded as well: the reference is called with every attribute.
    defaults = {attribute.name: attribute.default for attribute in attributes if attribute.default is not None}
    return {
        "inputs": {name: told(array) for name, array in record.inputs.items()},
        "outputs": {name: told(array) for name, array in record.outputs.items()},
        "attributes": {**defaults, **record.attributes},
    }


def case_names(folders: Sequence[str]) -> list[str]:
    """A case's name for every folder: its own, numbered where two are alike."""
    result: list[str] = []
    for folder in folders:
        base = re.sub(r"[^A-Za-z0-9_]+", "_", folder).strip("_") or "case"
        name, number = base, 2
        while name in result:
            name, number = f"{base}_{number}", number + 1
        result.append(name)
    return result
