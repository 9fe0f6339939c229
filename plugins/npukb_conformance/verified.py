"""The conditions under which the suite verified its kernels, where ours are harder.

A case is judged under our own conditions first: on our task's values, against the operator's definition, in memory that
ends where a tensor ends. When it misses, it is judged again under those of the suite that may explain the miss, one
after the other. What passes only so is recorded with the conditions it needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.resources import files

from npukb_conformance.dispatch import Rule
from npukb_conformance.tensors import with_values
from npukernelbench.errors import TaskError
from npukernelbench.nouns import Case, DType, Outcome, Severity, Task, ValueSpec, Verdict
from npukernelbench.tasks.values import FRACTIONAL, KINDS, parse_values

__all__ = ["Condition", "Verification", "as_whole", "load_verification"]

_FILE = "values.yaml"
_REST = "rest"
_OVERRUNS = frozenset({"illegal_read", "illegal_write"})
#: Drawn apart from the values of the task itself, whose public cases have no salt.
_SALT = 1 << 62


class Condition(str, Enum):
    """One condition of the suite's."""

    FORMULA = "formula"  # the suite's reference computes something else than the operator's definition
    VALUES = "values"  # inputs are drawn as the suite draws them
    MEMORY = "memory"  # buffers are parts of larger mapped segments, as PyTorch's caching allocators cut them


@dataclass(frozen=True, slots=True)
class Verification:
    """The suite's values: by operator, input, and element type or ``rest``."""

    values: Mapping[str, Mapping[str, Mapping[str, ValueSpec]]] = field(default_factory=dict)

    def next(
        self, verdict: Verdict, case: Case, rule: Rule, task: Task, taken: Sequence[Condition]
    ) -> Condition | None:
        """A condition not ``taken`` yet that may explain the verdict; None when there is none."""
        if verdict.outcome is Outcome.RULE_VIOLATION:
            broken = {
                diagnostic.rule for diagnostic in verdict.cases[0].diagnostics if diagnostic.severity is Severity.ERROR
            }
            # Another broken rule would stay broken in larger memory.
            return Condition.MEMORY if broken <= _OVERRUNS and Condition.MEMORY not in taken else None
        if verdict.outcome not in (Outcome.WRONG_VALUE, Outcome.NON_FINITE):
            return None
        if rule.formula and Condition.FORMULA not in taken:
            return Condition.FORMULA
        changes = self.drawn(task, case) != case
        return Condition.VALUES if changes and Condition.VALUES not in taken else None

    def arrange(self, task: Task, case: Case, rule: Rule, taken: Sequence[Condition]) -> tuple[Task, Case]:
        """Task and case under these conditions; memory is the executor's."""
        if Condition.FORMULA in taken:
            # With the hash: expected outputs are kept by it, and these are others.
            task = replace(task, reference=rule.formula, content_hash=f"{task.content_hash}+{rule.formula}")
        if Condition.VALUES in taken:
            case = replace(self.drawn(task, case), salt=_SALT)
        return task, case

    def digest(self, task: Task) -> str:
        """What the values of a task's operator are, as text."""
        return repr(self.values.get(task.name, {}))

    def drawn(self, task: Task, case: Case) -> Case:
        """The case with inputs that are drawn as the suite draws them."""
        inputs = self.values.get(task.name, {})

        def drawn(name: str, dtype: DType, values: ValueSpec) -> ValueSpec:
            specs = inputs.get(name, {})
            replacement = specs.get(dtype.value, specs.get(_REST))
            return values if replacement is None else as_whole(replacement, dtype)

        return with_values(case, drawn)

    def problems(self, tasks: Mapping[str, Task]) -> list[str]:
        """Names in the values that no task knows."""
        complaints: list[str] = []
        for name, inputs in self.values.items():
            if name not in tasks or tasks[name].name != name:
                complaints.append(f"{name}: there is no such task")
                continue
            known = {spec.name: {dtype.value for dtype in spec.dtypes} for spec in tasks[name].inputs}
            for tensor, specs in inputs.items():
                if tensor not in known:
                    complaints.append(f"{name}: there is no input {tensor!r}")
                else:
                    complaints += [
                        f"{name}: {tensor!r} is never {dtype}" for dtype in specs.keys() - known[tensor] - {_REST}
                    ]
        return complaints


def load_verification() -> Verification:
    """The values of our own file. TaskError when it is wrong."""
    import yaml

    document = yaml.safe_load((files(__package__) / _FILE).read_text(encoding="utf-8"))
    try:
        return Verification(
            {operator: {tensor: _specs(raw) for tensor, raw in inputs.items()} for operator, inputs in document.items()}
        )
    except (AttributeError, ValueError) as error:
        raise TaskError(f"{_FILE}: {error}") from error


def _specs(raw: Mapping[str, object]) -> Mapping[str, ValueSpec]:
    # One generator for all types may be written without naming types; names of the two never meet.
    if len(raw) == 1 and next(iter(raw)) in KINDS:
        return {_REST: parse_values(raw)}
    unknown = raw.keys() - {_REST, *(dtype.value for dtype in DType)}
    if unknown:
        raise ValueError(f"{min(unknown)!r} is neither a generator nor an element type")
    return {dtype: parse_values(spec) for dtype, spec in raw.items()}


def as_whole(spec: ValueSpec, dtype: DType) -> ValueSpec:
    """The generator for an element type: whole numbers of its range where the type holds no fractions."""
    if not dtype.is_exact or spec.kind not in FRACTIONAL:
        return spec
    low, high = (_number(spec, name) for name in spec.args)
    if spec.kind == "normal":
        # Three deviations hold nearly all that a normal distribution draws.
        low, high = low - 3 * high, low + 3 * high + 1
    first = max(0, int(low)) if dtype.value.startswith(("uint", "bool")) else int(low)
    # The upper end is exclusive: a range that lies within one whole number still has that one.
    return ValueSpec("integers", {"low": first, "high": max(int(high), first + 1)})


def _number(spec: ValueSpec, name: str) -> float:
    value = spec.args[name]
    if isinstance(value, (int, float)):
        return float(value)
    raise ValueError(f"{spec.kind} of {value!r} cannot be drawn as integers")
