"""NPUKernelBench's rules as a checkout has them: ``--rules npukernelbench --checkout PATH``.

Of every case that the checkout lists, our task has one with the same shapes: that is checked row by row, as far as the
texts tell (:mod:`.reading`). Limits are those of the operator's check for that case. Inputs are drawn as its generators
draw; what follows from other inputs, and what is more than numbers (indices, extents, masks that decide the shape of an
output), as we state it (``values.yaml``) or as our task says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from pathlib import Path

from npukb_conformance.checkout import Checkout
from npukb_conformance.reading.suite import Given, OperatorTexts, Settings, read_settings
from npukb_conformance.reading.table import Row
from npukb_conformance.tensors import with_values
from npukb_conformance.verified import Verification, as_whole, load_verification
from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import Case, CaseInput, DType, Task, TensorCase, Tolerance, ValueSpec
from npukernelbench.tasks.select import BENCHMARK, fold

__all__ = ["CheckoutRules"]

_SOURCE = (
    "limits, values, cases, prompts and the form of answers read from a checkout, comparable with the suite's own "
    "results; the reference is ours, and so are the numbers that are drawn"
)


_POLICY = "rounded"


@dataclass(frozen=True)
class CheckoutRules:
    """The rules of the checkout at ``root``."""

    root: Path
    name: str = "npukernelbench"
    source: str = _SOURCE
    weights: Mapping[int, float] = field(default_factory=lambda: {1: 0.2, 2: 0.3, 3: 0.5})
    prompt_style: str = "npukernelbench"
    parser: str = "npukernelbench"

    def apply(self, task: Task) -> Task | None:
        """The task with the checkout's cases, limits and values. UsageError where the task has other cases."""
        operator = self._checkout.operator(task.name) if task.suite == BENCHMARK else None
        if operator is None:
            return None
        texts = OperatorTexts(operator.folder, self._settings)
        cases = tuple(self._case(task, texts, row) for row in texts.rows)
        # The task's own limits are the tightest of its cases, for whoever asks for them without a case.
        limits = {dtype: min((case.limits[dtype] for case in cases), key=lambda limit: limit.rtol) for dtype in _FLOATS}
        exact = {dtype: limit for dtype, limit in task.tolerance.limits.items() if dtype.is_exact}
        # Part of the task's identity: results under other texts must not be taken for these.
        told = repr((_POLICY, [(case.id, case.inputs, case.limits) for case in cases]))
        digest = hashlib.sha256(told.encode()).hexdigest()[:16]
        return replace(
            task,
            tolerance=Tolerance(_POLICY, {**limits, **exact}),
            cases=cases,
            content_hash=f"{task.content_hash}+{self.name}:checkout:{digest}",
        )

    def _case(self, task: Task, texts: OperatorTexts, row: Row) -> Case:
        case = next((case for case in task.cases if case.id == row.id), None)
        if case is None:
            raise _strange(texts, row, f"task {task.name} has no case {row.id}")
        limits = texts.limits(row)
        given = matched(case, texts.given(row))
        for name, item in given.items():
            # Sizes and not shapes: an input may be matched by its name although its shape differs.
            if [prod(tensor.shape or ()) for tensor in item.tensors] != [
                prod(shape) for shape in _shapes(case.inputs[name])
            ]:
                raise _strange(texts, row, f"{name} has another size than in case {case.id} of task {task.name}")
        # First as we state it, then as the generators draw where that can be told.
        stated = self._stated.drawn(task, case)
        return replace(_drawn(stated, given), limits=dict.fromkeys(_FLOATS, limits))

    @cached_property
    def _checkout(self) -> Checkout:
        return Checkout(self.root)

    @cached_property
    def _settings(self) -> Settings:
        return read_settings(self.root)

    @cached_property
    def _stated(self) -> Verification:
        return load_verification()


#: Generators of what is more than numbers (indices, extents, masks that outputs take their shapes from): they stay.
_STRUCTURAL = frozenset(
    ("literal", "subset", "repeated_rows", "spans", "group_ends", "partition", "distinct", "distinct_along")
)
_FLOATS = tuple(dtype for dtype in DType if not dtype.is_exact)


def matched(case: Case, given: list[Given]) -> dict[str, Given]:
    """What the generators return, by the input of ours that it is: one of that name, else one of that shape."""
    left, by_input = [item for item in given if all(tensor.shape is not None for tensor in item.tensors)], {}
    named = {fold(item.name): item for item in left if item.name}
    for name, value in case.inputs.items():
        if value is not None and (item := named.get(fold(name))) is not None:
            by_input[name] = item
            left.remove(item)
    # By shape only what has no name in common: several inputs may have one shape.
    for name, value in case.inputs.items():
        if value is not None and name not in by_input:
            same = [item for item in left if tuple(tensor.shape for tensor in item.tensors) == _shapes(value)]
            if same:
                by_input[name] = same[0]
                left.remove(same[0])
    rest = [name for name, value in case.inputs.items() if value is not None and name not in by_input]
    # The only one left on either side: the same input, of another shape.
    return by_input | {rest[0]: left[0]} if len(rest) == len(left) == 1 else by_input


def _drawn(case: Case, given: Mapping[str, Given]) -> Case:
    """The case with the generators' distributions; an input that has several, or none that can be told, stays."""

    def change(name: str, dtype: DType, values: ValueSpec) -> ValueSpec:
        if values.kind in _STRUCTURAL:
            return values
        kinds = list(dict.fromkeys(str(tensor.values) for tensor in given[name].tensors)) if name in given else []
        told = given[name].tensors[0].values if len(kinds) == 1 else None
        return values if told is None else as_whole(told, dtype)

    return with_values(case, change)


def _shapes(value: CaseInput) -> tuple[tuple[int, ...], ...]:
    members: Iterator[TensorCase] | tuple[TensorCase, ...]
    members = value if isinstance(value, tuple) else () if value is None else (value,)
    return tuple(member.tensor.shape for member in members)


def _strange(texts: OperatorTexts, row: Row, what: str) -> UsageError:
    return UsageError(
        what,
        location=SourceLocation(texts.folder / "validation" / "test_cases.csv", row.line),
        field="--checkout",
        remedy="the checkout is of another version; leave the operator out of --tasks, or run without --checkout",
    )
