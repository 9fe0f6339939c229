"""The value generators a task may name: their parameters, and how YAML spells them. The drawing itself is in
``inputs``.

YAML gives a generator as a mapping of one entry, its parameters by position or by name: ``{uniform: [0.0, 10.0]}``,
``{uniform: {low: 0.0, high: 10.0}}``, ``{constant: 1.5}``, ``{literal: [512, 3]}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from npukernelbench.nouns import AttributeValue, ValueSpec

__all__ = ["KINDS", "VALUE_CLASSES", "Parameter", "parse_values"]


class Parameter(NamedTuple):
    """One parameter of a generator. ``type`` is ``float``, ``int``, ``scalar`` or ``list``; without a default it is
    required."""

    name: str
    type: str
    default: float | None = None


#: Generators by name, with their parameters in positional order.
KINDS: Mapping[str, tuple[Parameter, ...]] = {
    "uniform": (Parameter("low", "float"), Parameter("high", "float")),
    "normal": (Parameter("mean", "float", 0.0), Parameter("std", "float", 1.0)),
    "integers": (Parameter("low", "int"), Parameter("high", "int")),
    "bernoulli": (Parameter("p", "float", 0.5),),
    "constant": (Parameter("value", "scalar"),),
    "literal": (Parameter("values", "list"),),
    "choice": (Parameter("values", "list"),),
}

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
        found: dict[str, object] = {parameters[0].name: given}
    elif isinstance(given, Mapping):
        found = {str(key): value for key, value in given.items()}
    elif isinstance(given, (list, tuple)) and len(given) <= len(parameters):
        found = {parameter.name: value for parameter, value in zip(parameters, given, strict=False)}
    else:
        raise ValueError(f"{kind} takes {', '.join(p.name for p in parameters)}; got {given!r}")
    unknown = sorted(set(found) - {p.name for p in parameters})
    if unknown:
        raise ValueError(f"{kind} has no parameter {unknown[0]!r}; it takes {', '.join(p.name for p in parameters)}")
    return {p.name: _typed(kind, p, found.get(p.name, p.default)) for p in parameters}


def _typed(kind: str, parameter: Parameter, value: object) -> AttributeValue:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if parameter.type == "float" and number:
        return float(value)  # type: ignore[arg-type]
    if parameter.type == "int" and number and isinstance(value, int):
        return value
    if parameter.type == "scalar" and isinstance(value, (bool, int, float)):
        return value
    if parameter.type == "list" and isinstance(value, (list, tuple)) and _is_flat(value):
        return tuple(value)
    if value is None:
        raise ValueError(f"{kind} needs {parameter.name}")
    expected = {
        "float": "a number",
        "int": "an integer",
        "scalar": "a number or a boolean",
        "list": "a flat list of numbers",
    }
    raise ValueError(f"{kind}: {parameter.name} must be {expected[parameter.type]}, not {value!r}")


def _is_flat(values: list[object] | tuple[object, ...]) -> bool:
    return all(isinstance(item, (bool, int, float)) for item in values)


def _check(kind: str, args: Mapping[str, AttributeValue]) -> None:
    """Parameters that make no sense together."""
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
        case _:
            return
