"""What the files of one operator of a checkout say: its cases, their limits, and how their inputs are drawn.

::

    validation/test_cases.csv       a line per case
    validation/prepare_inputs.py    get_inputs, get_init_inputs; custom_check_precision for limits of its own
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from npukb_conformance.reading.drawn import Drawn, functions, names
from npukb_conformance.reading.evaluate import UNKNOWN, Functions, Program, read_program
from npukb_conformance.reading.table import Row, read_rows
from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import ToleranceLimits

__all__ = ["Given", "OperatorTexts", "Settings", "read_settings"]

_SETTINGS = "base_config.yaml"
_CHECK = "custom_check_precision"
_GENERATORS = ("get_inputs", "get_init_inputs")
#: What checks of an operator's own call their limit: one for both errors, or one each.
_ONE_LIMIT = ("rtol", "LOSS", "tol", "tolerance")
_TWO_LIMITS = ("max_abs_error", "max_rel_error")


class Settings(NamedTuple):
    """The limits of operators without their own."""

    limits: ToleranceLimits


class Given(NamedTuple):
    """One tensor, or list of tensors, that a generator returns, under the name that it has there (empty: none)."""

    name: str
    tensors: tuple[Drawn, ...]
    is_list: bool


def read_settings(root: Path) -> Settings:
    """The suite's own settings. UsageError where they are not there or not numbers."""
    import yaml

    path = root / _SETTINGS
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        limits = ToleranceLimits(*(float(document["eval"][name]) for name in _TWO_LIMITS))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}", field="--checkout") from error
    # TypeError: the document, or its part eval, may be something else than a mapping.
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"no limits in eval.{_TWO_LIMITS[0]} and eval.{_TWO_LIMITS[1]}",
            location=SourceLocation(path),
            field="--checkout",
        ) from error
    return Settings(limits)


@dataclass(frozen=True)
class OperatorTexts:
    """The files of the operator in ``folder``."""

    folder: Path
    settings: Settings

    @cached_property
    def rows(self) -> list[Row]:
        """Its cases."""
        return read_rows(self.folder / "validation" / "test_cases.csv")

    def limits(self, row: Row) -> ToleranceLimits:
        """How far an element of a case may be off. UsageError where a check of the operator's own does not tell."""
        check = self._generators.functions.get(_CHECK)
        if check is None:
            return self.settings.limits
        known: Functions = {**self._functions(row), "check_precision": _limits}
        # Outputs exist only when a kernel has run, and limits do not depend on them.
        arguments = {"param": row, "outputs": UNKNOWN, "outputs_new": UNKNOWN}
        returned, local = self._generators.trace(_CHECK, arguments, known, names())
        # A check that calls the suite's own returns what `_limits` made of the call; others compute with local names.
        if isinstance(returned, ToleranceLimits):
            return returned
        both = [local.get(name) for name in _TWO_LIMITS]
        limit = next((value for name in _ONE_LIMIT if isinstance(value := local.get(name), (int, float))), None)
        pair = both if all(isinstance(value, (int, float)) for value in both) else [limit, limit]
        if not all(isinstance(value, (int, float)) for value in pair):
            raise UsageError(
                f"the limits of case {row.id} cannot be read",
                location=SourceLocation(self._generators.path, check.lineno),
                field="--checkout",
                remedy=f"leave {self.folder.name} out of --tasks, or run without --checkout",
            )
        return ToleranceLimits(*(float(value) for value in pair if isinstance(value, (int, float))))

    def given(self, row: Row) -> list[Given]:
        """The tensors that the generators return for a case, in their order; those that cannot be told are missing."""
        known = self._functions(row)
        givens: list[Given] = []
        for name in _GENERATORS:
            if name in self._generators.functions:
                arguments = {"param": row, "device": None}
                returned = self._generators.call(name, arguments, known, names())
                givens += _tensors(returned, _returned_names(self._generators, name))
        return givens

    def _functions(self, row: Row) -> Functions:
        return {**functions(), "param.get": row.get, ".get": lambda held, *name: held.get(*name)}

    @cached_property
    def _generators(self) -> Program:
        return read_program(self.folder / "validation" / "prepare_inputs.py")


def _limits(*given: object, max_abs_error: object = None, max_rel_error: object = None) -> ToleranceLimits:
    # Behind the two outputs, or by name: the suite's function is called both ways.
    pair = given[2:4] if len(given) >= 4 else (max_abs_error, max_rel_error)
    return ToleranceLimits(*(float(value) for value in pair))  # type: ignore[arg-type]


def _returned_names(program: Program, function: str) -> list[str]:
    """What a function calls the parts of what it returns."""
    returns = [node for node in ast.walk(program.functions[function]) if isinstance(node, ast.Return) and node.value]
    last = returns[-1].value if returns else None
    parts = last.elts if isinstance(last, (ast.Tuple, ast.List)) else [last] if last else []
    return [part.id if isinstance(part, ast.Name) else "" for part in parts]


def _tensors(returned: object, called: list[str]) -> Iterator[Given]:
    values = returned if isinstance(returned, (list, tuple)) else [returned]
    for place, value in enumerate(values):
        # Where the text returns a list that was put together before, it tells no names.
        name = called[place] if len(called) == len(values) else ""
        if isinstance(value, Drawn):
            yield Given(name, (value,), False)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, Drawn) for item in value):
            yield Given(name, tuple(value), True)
