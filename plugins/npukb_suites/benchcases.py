"""Cases of CANN Bench: a shape, an element type and a range per input; attributes; in YAML or as a table."""

from __future__ import annotations

import ast
import csv
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from npukb_suites.documents import read_text, read_yaml
from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import DType

__all__ = ["BenchCase", "dtype_named", "read_cases", "tensors_of", "typed"]

_COLUMNS = ("input_shape", "dtype", "value_range")
_KNOWN = frozenset(dtype.value for dtype in DType)
#: Other words for element types.
_ALIKE = {
    "half": "float16",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "int": "int32",
}
_PREFIX = re.compile(r"torch\.|dt_")
_QUOTED_OR_WORD = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\b[a-z]+\b""")
#: What Python writes otherwise: it has no infinity, but a number that overflows is one.
_WORDS = {"inf": "1e999", "nan": "'nan'", "null": "None"}


@dataclass(frozen=True)
class BenchCase:
    """``inputs`` are tensors, lists of them or None, as task files have them; ``attributes`` those that it says."""

    id: str
    inputs: Mapping[str, Any]
    attributes: Mapping[str, Any]

    @property
    def elements(self) -> int:
        """Of all inputs together."""
        return sum(math.prod(tensor["shape"]) for value in self.inputs.values() for tensor in tensors_of(value))

    def bytes_with(self, outputs: Sequence[Sequence[Any]]) -> float:
        """What inputs, and inputs and outputs in double precision, take."""
        own: int = sum(
            math.prod(tensor["shape"]) * DType(tensor["dtype"]).itemsize
            for value in self.inputs.values()
            for tensor in tensors_of(value)
        )
        results: int = sum(math.prod(shape) for shape, _ in outputs)
        # References compute in double precision, 8 bytes an element.
        return own + 8.0 * (self.elements + results)

    def asked(self) -> list[tuple[str, Any]]:
        """Inputs as torch's side is asked about them."""

        def pair(tensor: Mapping[str, Any]) -> tuple[Any, Any]:
            return tensor["shape"], tensor["dtype"]

        return [
            (name, None if value is None else [pair(one) for one in value] if isinstance(value, list) else pair(value))
            for name, value in self.inputs.items()
        ]


def read_cases(
    proto: Path,
    inputs: Sequence[str],
    attributes: Mapping[str, tuple[str, str]],
    left_out: Callable[[str, str], None],
) -> list[BenchCase]:
    """The cases beside ``proto``, in their order. ``left_out`` is told which cannot be one here, and why. TaskError
    where there is no such file or it is none.
    """
    known = (proto.with_name(name) for name in ("cases.yaml", "cases.csv"))
    # The suite has either; where both are there, the YAML has types that a table lacks.
    path = next((path for path in known if path.is_file()), None)
    if path is None:
        raise TaskError("there is no cases.yaml or cases.csv beside it", location=SourceLocation(proto))
    result = []
    for number, row in enumerate(_rows(path), 1):
        # The number where the file gives no name: cases of a task need names of their own.
        name = str(row.get("case_id", number))
        try:
            result.append(_case(name, row, inputs, attributes))
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            left_out(name, str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}")
    return result


def _rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".csv":
        return list(_table(path))
    document = read_yaml(path)
    rows = document.get("cases") if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise TaskError("a list of cases is needed", location=SourceLocation(path), field="cases")
    return rows


def _table(path: Path) -> Iterator[dict[str, Any]]:
    # An empty cell in the place of one that is missing: it is no literal.
    lines = csv.DictReader(StringIO(read_text(path), newline=""), restval="")
    missing = [name for name in _COLUMNS if name not in (lines.fieldnames or ())]
    if missing:
        raise TaskError(f"there is no column {missing[0]}", location=SourceLocation(path, 1))
    # Other columns, such as baselines, are not looked at.
    for number, row in enumerate(lines, 1):
        # The reader's line, because texts in quotes may go over several; for such a row it is the last one.
        cells = {name: _cell(path, lines.line_num, row[name]) for name in _COLUMNS}
        # Nothing is what operators without attributes have there.
        attributes = _cell(path, lines.line_num, row.get("attrs", "").strip() or "{}")
        yield {"case_id": row.get("case_id") or number, **cells, "attrs": attributes}


def _cell(path: Path, line: int, text: str) -> Any:
    """A cell is JSON or a Python literal; infinities and NaN are bare words in both."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        # What stands in quotes is matched as well, so that it stays as it is.
        return ast.literal_eval(_QUOTED_OR_WORD.sub(lambda match: _WORDS.get(match[0], match[0]), text))
    # Whatever literal_eval raises for text that is none, or too deep.
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise TaskError(f"a cell is no literal: {text[:60]}", location=SourceLocation(path, line)) from error


def _case(
    name: str, row: Mapping[str, Any], inputs: Sequence[str], attributes: Mapping[str, tuple[str, str]]
) -> BenchCase:
    if missing := [column for column in _COLUMNS if column not in row]:
        raise ValueError(f"it has no {missing[0]}")
    shapes = list(_in_order(row["input_shape"], inputs))
    if len(shapes) > len(inputs):
        raise ValueError(f"it has {len(shapes)} shapes, and the operator {len(inputs)} inputs")
    # Inputs at the end that a case does not name are optional ones that it leaves out.
    shapes += [None] * (len(inputs) - len(shapes))
    dtypes = _spread(_in_order(row["dtype"], inputs), len(shapes))
    ranges = _in_order(row["value_range"], inputs)
    # One range for all inputs is a pair of numbers; one for each is a list of pairs.
    nested = isinstance(ranges, list) and bool(ranges) and any(isinstance(one, list) or one is None for one in ranges)
    ranges = _spread(ranges, len(shapes)) if nested else [ranges] * len(shapes)
    values = {
        own: _input(own, shape, dtype, given)
        for own, shape, dtype, given in zip(inputs, shapes, dtypes, ranges, strict=True)
    }
    return BenchCase(name, values, _attributes(row.get("attrs") or {}, values, attributes))


def _in_order(given: Any, inputs: Sequence[str]) -> Any:
    """What is said of each input, where it is said by name."""
    if not isinstance(given, dict):
        return given
    if unknown := sorted(given.keys() - set(inputs)):
        raise ValueError(f"the operator has no input {unknown[0]}")
    return [given.get(name) for name in inputs]


def _spread(given: Any, count: int) -> list[Any]:
    """One entry for all, or one for each; what is missing at the end belongs to inputs that are left out."""
    listed = list(given) if isinstance(given, list) else [given]
    # One element type or one range for all is how most files of the suite say it.
    return listed * count if len(listed) == 1 else [*listed, *[None] * (count - len(listed))][:count]


def _input(name: str, shape: Any, dtype: Any, given: Any) -> Any:
    if shape is None:
        return None
    if shape and isinstance(shape[0], list):
        dtypes = _spread(dtype, len(shape))
        each = isinstance(given, list) and any(isinstance(one, list) for one in given)
        ranges = _spread(given, len(shape)) if each else [given] * len(shape)
        return [_tensor(name, *one) for one in zip(shape, dtypes, ranges, strict=True)]
    return _tensor(name, shape, dtype, given)


def dtype_named(given: Any) -> str:
    """An element type by any of its usual names."""
    plain = _PREFIX.sub("", str(given).lower())
    return _ALIKE.get(plain, plain)


def _tensor(name: str, shape: Any, dtype: Any, given: Any) -> dict[str, Any]:
    dtype = dtype_named(dtype)
    if dtype not in _KNOWN:
        raise ValueError(f"{name} is {dtype}, which the chip does not have")
    if not all(isinstance(extent, int) and extent >= 0 for extent in shape):
        raise ValueError(f"{name} has the shape {shape}")
    return {"shape": list(shape), "dtype": dtype, "values": _values(name, dtype, given)}


def _values(name: str, dtype: str, given: Any) -> dict[str, Any]:
    """How a range is drawn: evenly inside of it, or one value, or a normal distribution with what is not finite."""
    if dtype == "bool":
        return {"bernoulli": 0.5}
    if given is None:
        raise ValueError(f"{name} has no range of values")
    # By float: a range may be written with whole numbers, with 1e999 or with the text 'nan'.
    low, high = (float(number) for number in given)
    exact = "float" not in dtype and "complex" not in dtype
    # With such bounds the suite asks for such values among others: [nan, nan], [-inf, inf].
    if math.isnan(low) or math.isnan(high):
        return {"with_nans": {"count": 64}}
    if math.isinf(low) or math.isinf(high):
        return {"with_infinities": {"count": 64}}
    if low == high:
        return {"constant": int(low) if exact else low}
    # The upper end of integers is exclusive, a range's is not.
    return {"integers": [math.ceil(low), math.floor(high) + 1]} if exact else {"uniform": [low, high]}


def _attributes(
    given: Mapping[str, Any], inputs: Mapping[str, Any], known: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Those that have a value, in their types. An input that is left out may be named among them."""
    result: dict[str, Any] = {}
    for name, value in given.items():
        if value is None:
            continue
        if name not in known:
            if name in inputs:
                raise ValueError(f"the input {name} is given as an attribute")
            raise ValueError(f"the attribute {name} is not in proto.yaml")
        result[name] = typed(name, value, known[name][1])
    return result


def typed(name: str, value: Any, kind: str) -> Any:
    """A value in its attribute's type: the suite writes booleans as text. ValueError where it is none."""
    if kind == "bool":
        # The suite writes false as text, which `bool` would take for true.
        return value if isinstance(value, bool) else str(value).lower() == "true"
    if kind in ("list_int", "list_float"):
        if not isinstance(value, list) or any(isinstance(item, (list, str)) for item in value):
            raise ValueError(f"the attribute {name} is {value!r}, and no list of numbers")
        return [int(item) if kind == "list_int" else float(item) for item in value]
    if kind == "int" and float(value) != int(value):
        raise ValueError(f"the attribute {name} is {value!r}, and no whole number")
    return {"int": int, "float": float}.get(kind, str)(value)


def tensors_of(value: Any) -> list[Mapping[str, Any]]:
    """The tensors of an input: one, several or none."""
    return [] if value is None else value if isinstance(value, list) else [value]
