"""What the repository's own interface does between the caller and the kernel, as data with reasons (``dispatch.yaml``).

The interface is not run here: it calls kernels of the toolkit that are in no repository. So a case is judged only when
the interface would have sent it to the operator's kernel, and it is judged on the tensors the kernel would have got.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any, NamedTuple

from pydantic import ValidationError

from npukb_conformance.axes import has_form, scale_axis
from npukb_conformance.scale import MOST_ELEMENTS, Scaled, scale, whole
from npukb_conformance.tensors import input_tensors, with_tensors
from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, DType, Task, TensorCase, TensorShape, ToleranceLimits
from npukernelbench.strict import Strict

__all__ = ["Dispatch", "Rule", "Sent", "as_judged", "as_launched", "load_dispatch", "with_limits"]

_FILE = "dispatch.yaml"
_WITHOUT_LAST = "[:-1]"


class Limits(Strict):
    """Absolute and relative limits for one element type."""

    atol: float
    rtol: float


class Rule(Strict):
    """One operator's entry; see the head of ``dispatch.yaml``."""

    none: str = ""
    only: tuple[str, ...] | None = None
    reason: str = ""
    without: Mapping[str, str] = {}
    dtypes: Mapping[DType, DType] = {}
    shapes: Mapping[str, Mapping[str, tuple[int, ...]]] = {}
    room: Mapping[str, str] = {}
    real: tuple[str, ...] = ()
    whole: bool = False
    along: tuple[str, ...] = ()
    limits: Mapping[DType, Limits] = {}
    formula: str = ""


def with_limits(task: Task, rule: Rule) -> Task:
    """The task, with the limits that the kernel was verified under where those are wider than ours."""
    if not rule.limits:
        return task
    wider = {dtype: ToleranceLimits(limits.atol, limits.rtol) for dtype, limits in rule.limits.items()}
    return replace(task, tolerance=replace(task.tolerance, limits={**task.tolerance.limits, **wider}))


class Sent(NamedTuple):
    """The cases that reach the kernel, as they reach it, and why each of the others does not."""

    cases: tuple[Case, ...]
    kept_back: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Every rule, by operator name."""

    rules: Mapping[str, Rule]

    def rule(self, operator: str) -> Rule:
        """The operator's rule; an empty one when nothing special is known."""
        return self.rules.get(operator, Rule())

    def send(self, task: Task, cases: Sequence[Case]) -> Sent:
        """Sort ``cases`` of ``task`` into those that reach the kernel and those that do not."""
        rule = self.rule(task.name)
        sent: list[Case] = []
        kept_back: dict[str, str] = {}
        for case in cases:
            reason = _kept_back(rule, case)
            if reason:
                kept_back[case.id] = reason
            else:
                sent.append(_arriving(case, rule))
        return Sent(tuple(sent), kept_back)

    def problems(self, tasks: Mapping[str, Task]) -> Iterator[str]:
        """Names in the rules that no task knows."""
        for name, rule in self.rules.items():
            # The registry finds names whatever their case; a rule has to have the task's own.
            if name not in tasks or tasks[name].name != name:
                yield f"{name}: there is no such task"
                continue
            task = tasks[name]
            cases = {case.id for case in task.cases}
            tensors = {*(spec.name for spec in task.inputs), *(output.name for output in task.outputs)}
            yield from (
                f"{name}: there is no case {i!r}" for i in {*(rule.only or ()), *rule.without, *rule.shapes} - cases
            )
            named = {*rule.along, *(tensor for shapes in rule.shapes.values() for tensor in shapes)}
            named |= {*rule.real, *rule.room, *(source.removesuffix(_WITHOUT_LAST) for source in rule.room.values())}
            yield from (f"{name}: there is no tensor {tensor!r}" for tensor in named - tensors)
            if rule.formula and not _is_function(rule.formula):
                yield f"{name}: there is no function {rule.formula!r}"
            if not (rule.none or rule.reason or rule.without):
                yield f"{name}: no reason is given"


def as_launched(case: Case, rule: Rule) -> Case:
    """The case with the outputs that the interface allocates; the same case when they are those of the task."""
    outputs = dict(case.outputs)
    complex_input = any(input_tensor.dtype.is_complex for input_tensor in input_tensors(case))
    for name in rule.real:
        declared = outputs[name]
        if isinstance(declared, TensorShape) and complex_input:
            outputs[name] = TensorShape(declared.shape, DType.COMPLEX64)
    for name, source in rule.room.items():
        declared, like = outputs[name], case.inputs[source.removesuffix(_WITHOUT_LAST)]
        # Only where our task leaves it empty: otherwise the task's own shape holds.
        if isinstance(declared, TensorShape) and declared.size == 0 and isinstance(like, TensorCase):
            shape = like.tensor.shape[:-1] if source.endswith(_WITHOUT_LAST) else like.tensor.shape
            outputs[name] = TensorShape(shape, declared.dtype)
    # The same object where nothing changes: callers compare by identity.
    return replace(case, outputs=outputs) if outputs != case.outputs else case


def as_judged(task: Task, case: Case, rule: Rule) -> Scaled:
    """The case scaled to what a CPU can afford, unless its operator forbids it.

    A case that agrees with one of the task's hidden forms agrees with one when it is scaled, too.
    """
    if rule.whole:
        return whole(case)
    scaled = scale(case, along=rule.along)
    # Cutting every large tensor alike may have broken what belongs together, such as the factors of a product.
    if scaled.is_smaller and has_form(task, case) and not has_form(task, scaled.case):
        return scale_axis(task, case, MOST_ELEMENTS) or scaled
    return scaled


def load_dispatch() -> Dispatch:
    """The rules of our own file."""
    import yaml

    text = (files(__package__) / _FILE).read_text(encoding="utf-8")
    document: Mapping[str, Any] = yaml.safe_load(text)
    try:
        return Dispatch({name: Rule.model_validate(entry) for name, entry in document.items()})
    except ValidationError as error:
        raise TaskError(f"{_FILE}: {error}") from error


def _is_function(name: str) -> bool:
    from npukernelbench.reference import resolve

    try:
        resolve(name)
    except TaskError:
        return False
    return True


def _kept_back(rule: Rule, case: Case) -> str:
    """Why the case does not reach the kernel; empty when it does."""
    if rule.none:
        return rule.none
    if case.id in rule.without:
        return rule.without[case.id]
    return rule.reason if rule.only is not None and case.id not in rule.only else ""


def _arriving(case: Case, rule: Rule) -> Case:
    """The case with the tensors that the kernel gets."""
    shapes = rule.shapes.get(case.id, {})
    if not (shapes or rule.dtypes):
        return case

    def tensor(name: str, given: TensorShape) -> TensorShape:
        return TensorShape(shapes.get(name, given.shape), rule.dtypes.get(given.dtype, given.dtype))

    return with_tensors(case, tensor)
