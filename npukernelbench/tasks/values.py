"""The value generators a task may name: their parameters, and how YAML spells them. The drawing itself is in
``inputs``.

YAML gives a generator as a mapping of one entry, its parameters by position or by name: ``{uniform: [0.0, 10.0]}``,
``{uniform: {low: 0.0, high: 10.0}}``, ``{constant: 1.5}``, ``{literal: [512, 3]}``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from npukernelbench.nouns import AttributeValue, ValueSpec

__all__ = ["FRACTIONAL", "KINDS", "VALUE_CLASSES", "Parameter", "parse_values"]


class Parameter(NamedTuple):
    """One parameter of a generator. ``type`` is ``float``, ``int``, ``scalar``, ``list``, ``name`` or ``place``;
    without a default it is required."""

    name: str
    type: str
    default: float | None = None


_PLACE = re.compile(r"[^:]+:[A-Za-z_]\w*")

#: Generators by name, with their parameters in positional order.
KINDS: Mapping[str, tuple[Parameter, ...]] = {
    "uniform": (Parameter("low", "float"), Parameter("high", "float")),
    "normal": (Parameter("mean", "float", 0.0), Parameter("std", "float", 1.0)),
    "integers": (Parameter("low", "int"), Parameter("high", "int")),
    "bernoulli": (Parameter("p", "float", 0.5),),
    "constant": (Parameter("value", "scalar"),),
    "literal": (Parameter("values", "list"),),
    "choice": (Parameter("values", "list"),),
    "every_float": (Parameter("non_finite", "float", 0.0),),
    "some_non_finite": (Parameter("count", "int", 1),),
    "spans": (Parameter("extent", "int"),),
    "derived": (Parameter("function", "name"),),
    "subset": (Parameter("count", "int"),),
    "group_ends": (Parameter("total", "int"),),
    "distinct": (Parameter("low", "int"), Parameter("high", "int")),
    "distinct_along": (
        Parameter("axis", "int"),
        Parameter("low", "int"),
        Parameter("high", "int"),
        Parameter("step", "float", 1.0),
    ),
    "repeated_rows": (Parameter("base", "int"), Parameter("count", "int")),
    "varying_normal": (
        Parameter("mean_low", "float"),
        Parameter("mean_high", "float"),
        Parameter("std_low", "float"),
        Parameter("std_high", "float"),
    ),
    "probabilities": (Parameter("spread_low", "float"), Parameter("spread_high", "float")),
    "factors": (Parameter("spread", "float"),),
    "log_uniform": (Parameter("low", "float"), Parameter("high", "float")),
    "away_from_zero": (Parameter("low", "float"), Parameter("high", "float")),
    "multiples": (Parameter("step", "float"), Parameter("low", "int"), Parameter("high", "int")),
    "with_infinities": (
        Parameter("count", "int", 1),
        Parameter("mean", "float", 0.0),
        Parameter("std", "float", 1.0),
    ),
    "with_nans": (Parameter("count", "int", 1), Parameter("mean", "float", 0.0), Parameter("std", "float", 1.0)),
    "log_softmax": (Parameter("std", "float", 1.0),),
    "partition": (Parameter("total", "int"),),
    "program": (Parameter("function", "place"),),
}

#: Generators that draw fractions, which integers and booleans cannot hold.
FRACTIONAL = frozenset(
    {
        "away_from_zero",
        "factors",
        "log_softmax",
        "log_uniform",
        "multiples",
        "normal",
        "probabilities",
        "uniform",
        "varying_normal",
        "with_infinities",
        "with_nans",
    }
)

#: Classes of unusual values that hidden cases may hold; drawn by :mod:`npukernelbench.tasks.special`.
VALUE_CLASSES = ("large", "tiny", "denormal", "negative_zero", "infinite", "nan")


def parse_values(raw: object) -> ValueSpec:
    """A generator as YAML spells it. ValueError says what is wrong with it."""
    if not isinstance(raw, Mapping) or len(raw) != 1:
        raise ValueError("name one generator with its parameters, for instance {uniform: [0.0, 1.0]}")
    [(kind, given)] = raw.items()
    parameters = KINDS.get(str(kind))
    if parameters is None:
        raise ValueError(f"there is no generator {kind!r}; there are {', '.join(KINDS)}")
    args = _named(str(kind), parameters, given)
    _check(str(kind), args)
    return ValueSpec(str(kind), args)


def _named(kind: str, parameters: tuple[Parameter, ...], given: object) -> dict[str, AttributeValue]:
    """Positional or named parameters, completed by defaults, each of the right type."""
    if len(parameters) == 1 and not isinstance(given, Mapping):
        arguments: dict[str, object] = {parameters[0].name: given}
    elif isinstance(given, Mapping):
        arguments = {str(key): value for key, value in given.items()}
    elif isinstance(given, (list, tuple)) and len(given) <= len(parameters):
        arguments = {parameter.name: value for parameter, value in zip(parameters, given, strict=False)}
    else:
        raise ValueError(f"{kind} takes {', '.join(p.name for p in parameters)}; got {given!r}")
    unknown = sorted(set(arguments) - {p.name for p in parameters})
    if unknown:
        raise ValueError(f"{kind} has no parameter {unknown[0]!r}; it takes {', '.join(p.name for p in parameters)}")
    return {p.name: _typed(kind, p, arguments.get(p.name, p.default)) for p in parameters}


def _typed(kind: str, parameter: Parameter, value: object) -> AttributeValue:
    # A bool is an int in Python, but `true` is no number in a task file.
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if parameter.type == "float" and number:
        return float(value)  # type: ignore[arg-type]
    if parameter.type == "int" and number and isinstance(value, int):
        return value
    if parameter.type == "scalar" and isinstance(value, (bool, int, float)):
        return value
    if parameter.type == "list" and isinstance(value, (list, tuple)) and _is_flat(value):
        return tuple(value)
    if parameter.type == "place" and isinstance(value, str) and _PLACE.fullmatch(value):
        return value
    if parameter.type == "name" and isinstance(value, str) and value.isidentifier():
        return value
    if value is None:
        raise ValueError(f"{kind} needs {parameter.name}")
    expected = {
        "float": "a number",
        "int": "an integer",
        "scalar": "a number or a boolean",
        "list": "a flat list of numbers",
        "name": "a name",
        "place": "file.py:function or package.module:function",
    }
    raise ValueError(f"{kind}: {parameter.name} must be {expected[parameter.type]}, not {value!r}")


def _is_flat(values: list[object] | tuple[object, ...]) -> bool:
    return all(isinstance(item, (bool, int, float)) for item in values)


def _check(kind: str, args: Mapping[str, AttributeValue]) -> None:
    """Parameters that make no sense together."""
    # `not low <= high` and not `low > high`: NaN fulfils neither comparison and is refused this way.
    match kind:
        case "uniform" if not args["low"] <= args["high"]:  # type: ignore[operator]
            raise ValueError("uniform: low must not exceed high")
        case "integers" if not args["low"] < args["high"]:  # type: ignore[operator]
            raise ValueError("integers: low must be below high, which is exclusive")
        case "normal" if not args["std"] >= 0:  # type: ignore[operator]
            raise ValueError("normal: std must not be negative")
        case "bernoulli" if not 0 <= args["p"] <= 1:  # type: ignore[operator]
            raise ValueError("bernoulli: p must lie between 0 and 1")
        case "choice" if not args["values"]:
            raise ValueError("choice: values must not be empty")
        case "every_float" if not 0 <= args["non_finite"] <= 1:  # type: ignore[operator]
            raise ValueError("every_float: non_finite must lie between 0 and 1")
        case "some_non_finite" if not args["count"] >= 1:  # type: ignore[operator]
            raise ValueError("some_non_finite: count must be positive")
        case "spans" if not args["extent"] >= 1:  # type: ignore[operator]
            raise ValueError("spans: extent must be positive")
        case "subset" if not args["count"] >= 0:  # type: ignore[operator]
            raise ValueError("subset: count must not be negative")
        case "group_ends" if not args["total"] > 0:  # type: ignore[operator]
            raise ValueError("group_ends: total must be positive")
        case "distinct" | "distinct_along" if not args["low"] < args["high"]:  # type: ignore[operator]
            raise ValueError(f"{kind}: low must be below high, which is exclusive")
        case "repeated_rows" if not (args["base"] > 0 and args["count"] >= 0):  # type: ignore[operator]
            raise ValueError("repeated_rows: base must be positive and count not negative")
        case "varying_normal" if not args["mean_low"] <= args["mean_high"]:  # type: ignore[operator]
            raise ValueError("varying_normal: mean_low must not exceed mean_high")
        case "varying_normal" if not 0 <= args["std_low"] <= args["std_high"]:  # type: ignore[operator]
            raise ValueError("varying_normal: std_low must not be negative or exceed std_high")
        case "probabilities" if not 0 <= args["spread_low"] <= args["spread_high"] <= 10:  # type: ignore[operator]
            raise ValueError("probabilities: spread_low must not be negative or exceed spread_high, nor that 10")
        case "factors" if not args["spread"] >= 0:  # type: ignore[operator]
            raise ValueError("factors: spread must not be negative")
        case "log_uniform" | "away_from_zero" if not 0 < args["low"] <= args["high"]:  # type: ignore[operator]
            raise ValueError(f"{kind}: low must be positive and not exceed high")
        case "multiples" if not args["low"] < args["high"]:  # type: ignore[operator]
            raise ValueError("multiples: low must be below high, which is exclusive")
        case "with_infinities" | "with_nans" if not (args["count"] >= 1 and args["std"] >= 0):  # type: ignore[operator]
            raise ValueError(f"{kind}: count must be at least 1 and std not negative")
        case "log_softmax" if not args["std"] >= 0:  # type: ignore[operator]
            raise ValueError("log_softmax: std must not be negative")
        case "partition" if not args["total"] >= 0:  # type: ignore[operator]
            raise ValueError("partition: total must not be negative")
        case _:
            return
