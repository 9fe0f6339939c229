"""Is a task fit to grade with? Checks what a schema cannot: that right answers exist and wrong ones are refused.

Per task: a smoke case, a golden kernel that can be made, a known numeric policy with limits, a prompt for every case.
Per case: the reference runs and its outputs are finite and vary, every input and attribute matters, and wrong answers
are refused (see :mod:`npukernelbench.tasks.mutants`). Hidden cases can be drawn and have a right answer. A finding that
is right for an operator is waived in the task file, with the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from npukernelbench.errors import NpukbError, TaskError
from npukernelbench.nouns import PROMPTED_TRACKS, AttributeValue, Case, DType, Severity, Task, TensorCase, TensorShape
from npukernelbench.prompts import tracks_of
from npukernelbench.reference import expected_outputs, resolve
from npukernelbench.tasks.goldens import DERIVED, read_golden
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.inputs import generate_inputs
from npukernelbench.tasks.mutants import as_output, flat_outputs, mutants, survives

if TYPE_CHECKING:
    from npukernelbench.judge.check import Checker
    from npukernelbench.nouns.execution import Argument, Array
    from npukernelbench.plugins.registry import Registry
    from npukernelbench.prompts import PromptStyle

__all__ = ["DEFAULT_MAX_ELEMENTS", "Examination", "Finding", "examine_task", "validate_task"]

#: Cases with more input and output elements than this are not run unless no smaller one exists.
DEFAULT_MAX_ELEMENTS = 1 << 20
#: Further cases are not run once those that were have this many elements together.
_BUDGET = 1 << 22
#: What the hidden cases that are tried are drawn from.
_SECRET = "validate"

_Outputs = dict[str, "Array | list[Array]"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect, or its waiver. ``code`` is stable; ``case`` is empty when the finding is about the whole task."""

    severity: Severity
    code: str
    message: str
    task: str
    case: str = ""

    def __str__(self) -> str:
        place = f"{self.task}:{self.case}" if self.case else self.task
        return f"{place}: {self.severity.value}: {self.message} [{self.code}]"


@dataclass(frozen=True, slots=True)
class Examination:
    """What came of one task: findings, how many cases were run, its own and hidden ones, and wrong answers tried and
    refused on its own, by kind."""

    task: str
    findings: tuple[Finding, ...]
    cases: int = 0
    hidden: int = 0
    tried: Mapping[str, int] = field(default_factory=dict)
    killed: Mapping[str, int] = field(default_factory=dict)


def validate_task(
    task: Task,
    checkers: Registry,
    styles: Iterable[PromptStyle] = (),
    *,
    seed: int = 0,
    max_elements: int = DEFAULT_MAX_ELEMENTS,
) -> tuple[Finding, ...]:
    """The findings of :func:`examine_task`."""
    return examine_task(task, checkers, styles, seed=seed, max_elements=max_elements).findings


def examine_task(
    task: Task,
    checkers: Registry,
    styles: Iterable[PromptStyle] = (),
    *,
    seed: int = 0,
    max_elements: int = DEFAULT_MAX_ELEMENTS,
) -> Examination:
    """Every finding on one task: errors make it unfit, warnings weaken it, notes are waived findings with their
    reasons, and what is still to be had.

    ``checkers`` resolves the task's policy, ``styles`` are the prompts to render. A wrong answer is an error when
    every case that was run accepts it, and a warning in the cases that do. Of the cases up to ``max_elements`` as many
    are run as make a picture: the smoke case, every combination of element types and attributes, small before large.
    """
    complaints = [*_interface(task, checkers), *_prompts(task, styles)]
    numerics = _Numerics(task, seed)
    # With an error so far there may be no checker, or no reference, to run.
    if not any(item.severity is Severity.ERROR for item in complaints):
        checker = cast("Checker", checkers.find(task.tolerance.policy).load())
        complaints += [*numerics.public(checker, max_elements), *numerics.hidden(max_elements)]
    waivers = _waivers(task)
    findings = tuple(_waived(item, waivers) for item in complaints)
    return Examination(task.name, findings, numerics.cases, numerics.hidden_cases, numerics.tried, numerics.killed)


def _waivers(task: Task) -> Mapping[str, Mapping[str, str]]:
    if not task.path.is_file():
        return {}
    from npukernelbench.tasks.load import read_waivers

    return read_waivers(task.path)


def _waived(finding: Finding, waivers: Mapping[str, Mapping[str, str]]) -> Finding:
    reason = waivers.get(finding.case, {}).get(finding.code) or waivers.get("", {}).get(finding.code)
    if reason is None:
        return finding
    return replace(finding, severity=Severity.NOTE, message=f"{finding.message}; waived: {reason}")


def _interface(task: Task, checkers: Registry) -> Iterator[Finding]:
    """What is wrong without running anything."""
    smoke = sum("smoke" in case.profiles for case in task.cases)
    if smoke != 1:
        yield Finding(Severity.WARNING, "smoke", f"{smoke} cases have the profile smoke; have exactly one", task.name)
    if not task.goldens:
        yield Finding(Severity.NOTE, "no_golden", "there is no golden kernel", task.name)
    for problem in _golden_problems(task):
        yield Finding(Severity.ERROR, "golden", problem, task.name)
    for name in _problems(lambda: checkers.find(task.tolerance.policy)):
        yield Finding(Severity.ERROR, "policy", name, task.name)
    for name in _problems(lambda: resolve(task.reference, task.path.parent)):
        yield Finding(Severity.ERROR, "reference", name, task.name)
    judged = {t.dtype for case in task.cases for value in case.outputs.values() for t in _tensors(value)}
    for dtype in sorted(judged, key=lambda item: item.value):
        if not dtype.is_exact and dtype not in task.tolerance.limits:
            message = f"the tolerance has no limits for the output type {dtype.value}"
            yield Finding(Severity.ERROR, "limits", message, task.name)


def _golden_problems(task: Task) -> Iterator[str]:
    """What is wrong with golden kernels that are made; others were read when the task was loaded."""
    for golden in task.goldens:
        if golden.maker in ("", DERIVED):
            # A derived kernel is made for one case at a time, out of the dynamic one, which is looked at by itself.
            continue
        try:
            read_golden(golden)
        except TaskError as error:
            yield f"{error.location}: {error.message}" if error.location else error.message


def _problems(action: Callable[[], object]) -> Iterator[str]:
    try:
        action()
    except NpukbError as error:
        yield error.message


def _prompts(task: Task, styles: Iterable[PromptStyle]) -> Iterator[Finding]:
    """Prompts of every case on the static track, and of the task on the others."""
    asked = [(case, track) for track in PROMPTED_TRACKS for case in (task.cases if track.per_case else (None,))]
    for style in styles:
        for case, track in asked:
            if track not in tracks_of(style):
                continue
            place = case.id if case else ""
            try:
                text = "".join(message.content for message in style.render(task, case, track).messages)
            except Exception as error:  # noqa: BLE001 - boundary: styles may come from plugins
                message = f"the prompt of track {track.value} does not render: {type(error).__name__}: {error}"
                yield Finding(Severity.ERROR, "prompt", message, task.name, place)
                continue
            missing = [name for name in (task.kernel, *task.arguments) if not re.search(rf"\b{name}\b", text)]
            if missing:
                message = f"the prompt of track {track.value} does not name {missing[0]}"
                yield Finding(Severity.ERROR, "prompt", message, task.name, place)


class _Numerics:
    """Runs the reference on the affordable cases, looks at what it says, and counts."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task = task
        self._seed = seed
        self.cases = 0
        self.hidden_cases = 0
        self.tried: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()

    def public(self, checker: Checker, max_elements: int) -> Iterator[Finding]:
        """Findings on the task's own cases."""
        accepted: list[set[str]] = []
        for case in _sampled(self._task, max_elements):
            self.cases += 1
            try:
                inputs = generate_inputs(self._task, case, self._seed)
                expected = expected_outputs(self._task, case, inputs)
            except TaskError as error:
                yield Finding(Severity.ERROR, "reference", error.message, self._task.name, case.id)
                continue
            yield from _values(self._task, case, expected)
            yield from _dependence(self._task, case, inputs, expected, self._seed)
            survivors = list(self._survivors(case, inputs, expected, checker))
            yield from survivors
            accepted.append({item.code for item in survivors})
        for code in sorted(set.intersection(*accepted)) if accepted else ():
            message = "every case that was run accepts this wrong answer"
            yield Finding(Severity.ERROR, code, message, self._task.name)

    def _survivors(
        self, case: Case, inputs: Mapping[str, Argument], expected: _Outputs, checker: Checker
    ) -> Iterator[Finding]:
        """Wrong answers, one output wrong at a time, that the task's checker lets through."""
        outputs = tuple(flat_outputs(case, expected))
        for output in outputs:
            for mutant in mutants(self._task, output, outputs, inputs):
                self.tried[mutant.code] += 1
                if survives(self._task, checker, output, mutant.answer):
                    message = f"{mutant.words} passes for the output {output.name}"
                    yield Finding(Severity.WARNING, mutant.code, message, self._task.name, case.id)
                else:
                    self.killed[mutant.code] += 1

    def hidden(self, max_elements: int) -> Iterator[Finding]:
        """Findings on hidden cases: whether there are any, and whether they have a right answer."""
        try:
            cases = hidden_cases(self._task, _SECRET)
        except TaskError as error:
            yield Finding(Severity.ERROR, "hidden", error.message, self._task.name)
            return
        if not cases:
            message = "there are no hidden cases: the task does not say how its shapes may vary"
            yield Finding(Severity.NOTE, "no_hidden", message, self._task.name)
        for case in (case for case in cases if _elements(case) <= max_elements):
            self.hidden_cases += 1
            try:
                expected = expected_outputs(self._task, case, generate_inputs(self._task, case, self._seed))
            except TaskError as error:
                yield Finding(Severity.ERROR, "hidden", error.message, self._task.name, case.id)
                continue
            # Unusual values may rightly lead to NaN and infinity.
            if not _has_unusual_values(case):
                strange = [item for item in _values(self._task, case, expected) if item.code == "non_finite"]
                yield from (replace(item, severity=Severity.WARNING) for item in strange)


def _sampled(task: Task, max_elements: int) -> list[Case]:
    """The cases to run, in the task's order."""
    small = [case for case in task.cases if _elements(case) <= max_elements]
    small = small or sorted(task.cases, key=_elements)[:1]
    kinds: Counter[object] = Counter()
    ranks: dict[str, tuple[int, int]] = {}
    for case in sorted(small, key=lambda case: ("smoke" not in case.profiles, _elements(case))):
        kind = (tuple(_types(case)), tuple(case.attributes.items()))
        # Ordered by this, the first case of every kind comes before the second of any.
        ranks[case.id] = (kinds[kind], len(ranks))
        kinds[kind] += 1
    taken: set[str] = set()
    spent = 0
    for case in sorted(small, key=lambda case: ranks[case.id]):
        # The first is run whatever it costs.
        if not taken or spent + _elements(case) <= _BUDGET:
            taken.add(case.id)
            spent += _elements(case)
    return [case for case in small if case.id in taken]


def _types(case: Case) -> Iterator[tuple[str, DType | None]]:
    for name, value in case.inputs.items():
        first = value if isinstance(value, TensorCase) else next(iter(value or ()), None)
        yield name, first.tensor.dtype if first else None


def _has_unusual_values(case: Case) -> bool:
    tensors = [
        item for value in case.inputs.values() if value for item in (value if isinstance(value, tuple) else (value,))
    ]
    return any(item.values.kind == "special" for item in tensors)


def _elements(case: Case) -> int:
    inputs = [
        item for value in case.inputs.values() if value for item in (value if isinstance(value, tuple) else (value,))
    ]
    outputs = [tensor for value in case.outputs.values() for tensor in _tensors(value)]
    return sum(item.tensor.size for item in inputs) + sum(tensor.size for tensor in outputs)


def _values(task: Task, case: Case, expected: _Outputs) -> Iterator[Finding]:
    for name, array, tensor in flat_outputs(case, expected):
        rounded = as_output(array, tensor.dtype)
        if rounded.size and not np.isfinite(rounded.astype(_wide(tensor.dtype))).all():
            message = f"the expected {name} holds NaN or infinity in {tensor.dtype.value}"
            yield Finding(Severity.ERROR, "non_finite", message, task.name, case.id)
        elif rounded.size > 1 and (rounded == rounded.reshape(-1)[0]).all():
            message = f"the expected {name} is the same value everywhere"
            yield Finding(Severity.ERROR, "constant_output", message, task.name, case.id)


def _dependence(
    task: Task, case: Case, inputs: Mapping[str, Argument], expected: _Outputs, seed: int
) -> Iterator[Finding]:
    """Inputs and attributes whose change changes nothing."""
    redrawn = generate_inputs(task, case, seed + 1)
    for name, value in inputs.items():
        if value is None or (isinstance(value, list) and not value):
            continue
        changed = {**inputs, name: _other(value, redrawn[name])}
        if not _differs(task, case, changed, expected):
            yield Finding(Severity.ERROR, "input_unused", f"the input {name} does not matter", task.name, case.id)
    for attribute in task.attributes:
        others = _other_attributes(task, case, attribute.name)
        cases = [replace(case, attributes={**case.attributes, attribute.name: other}) for other in others]
        if cases and not any(_differs(task, item, inputs, expected) for item in cases):
            message = f"the attribute {attribute.name} does not matter"
            yield Finding(Severity.ERROR, "attribute_unused", message, task.name, case.id)


def _differs(task: Task, case: Case, inputs: Mapping[str, Argument], expected: _Outputs) -> bool:
    """Whether the reference says something else; failing or another shape counts."""
    try:
        actual = expected_outputs(task, case, inputs)
    except TaskError:
        return True
    pairs = zip(flat_outputs(case, actual), flat_outputs(case, expected), strict=True)
    return not all(np.array_equal(new, old, equal_nan=new.dtype.kind in "fc") for (_, new, _), (_, old, _) in pairs)


def _other(value: Array | list[Array], redrawn: Argument) -> Argument:
    """Different values of the same shape and type."""
    if isinstance(value, list):
        rest = redrawn if isinstance(redrawn, list) else []
        return [cast("Array", _other(old, new)) for old, new in zip(value, rest, strict=True)]
    if isinstance(redrawn, np.ndarray) and redrawn.tobytes() != value.tobytes():
        return redrawn
    # Constants and literals are drawn the same again, and need a change of another kind.
    if value.dtype.kind == "b":
        return np.logical_not(value)
    return (value + np.ones((), dtype=value.dtype)).astype(value.dtype)


def _other_attributes(task: Task, case: Case, name: str) -> list[AttributeValue]:
    value = case.attributes[name]
    others = [item.attributes[name] for item in task.cases if item.attributes[name] != value]
    if isinstance(value, bool):
        return [*others, not value]
    if isinstance(value, (int, float)):
        return [*others, value + 1, value - 1]
    if isinstance(value, tuple):
        return [*others, tuple(item + 1 for item in value)]
    # Any other text may be invalid: only what public cases have is tried.
    return list(others)


def _tensors(value: TensorShape | tuple[TensorShape, ...]) -> tuple[TensorShape, ...]:
    return value if isinstance(value, tuple) else (value,)


def _wide(dtype: DType) -> np.dtype[Any]:
    return np.dtype(np.complex128 if dtype.is_complex else np.float64)
