"""The same case with other values: drawn anew, and of classes that kernels get wrong and the task's contract admits.

Every tensor of freely drawn floating-point numbers becomes a patchwork: a third of its rows as they are drawn, a third
in ascending order, a third that repeats a few values; in element-wise tasks one value, which elsewhere (a normalisation
of equal numbers) may have no answer that is worth comparing. Where the task names classes of unusual values for its
hidden cases (``value_classes``: large, tiny, denormal, negative zero, infinite, NaN), one of them is sprinkled over. No
value lies outside of what the task's generators give, so that a right kernel is right here, too.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from npukernelbench.nouns import (
    AttributeValue,
    Case,
    CaseInput,
    HiddenForm,
    HiddenRange,
    Task,
    TensorCase,
    ValueClass,
    ValueSpec,
)
from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["PATCHWORK", "patched", "varied"]

#: The generator's name; its arguments are those of the generator ``of``, as for ``special``.
PATCHWORK = "patchwork"

#: Generators that draw every element by itself: any arrangement of their values is one that they may give.
_FREE = frozenset({"away_from_zero", "choice", "factors", "log_uniform", "multiples", "normal", "uniform"})
_LEAST = 48  # elements: of fewer nothing can be told
_FEW = 8  # values that a row repeats
_ELEMENTWISE = "elementwise"


def varied(task: Task, case: Case, seed: int) -> Case:
    """``case`` with values of other classes, and a salt that draws them anew."""
    # 0 stands for a case without a salt.
    salt = derive(seed, "variation", task.name, case.id) or 1
    unusual = _unusual(task, case, salt)
    # An index says where a value lies: which one, of equal ones, is not for the values to say.
    outputs = (entry if isinstance(entry, tuple) else (entry,) for entry in case.outputs.values())
    mixed = all(output.dtype.is_float for members in outputs for output in members)
    period = (1 if _ELEMENTWISE in task.tags else _FEW) if mixed else 0
    inputs: dict[str, CaseInput] = {}
    for name, value in case.inputs.items():
        item = unusual[1] if unusual is not None and unusual[0] == name else None
        if isinstance(value, TensorCase):
            inputs[name] = _varied(value, item, period)
        else:
            # An absent input stays None.
            inputs[name] = value and tuple(_varied(member, item, period) for member in value)
    return replace(case, inputs=inputs, salt=salt)


def patched(values: Array, period: int) -> Array:
    """``values`` with the last third of their rows repeating the first ``period`` of their values, and the third before
    in ascending order; a vector counts as three rows.
    """
    import numpy as np

    # In C order `reshape` gives views, so that changes to rows are changes to the result.
    mixed: Array = np.array(values, order="C")
    if mixed.ndim >= 2 and mixed.size // mixed.shape[-1] >= 3:
        rows = mixed.reshape(-1, mixed.shape[-1])
        third = len(rows) // 3
        rows[third : 2 * third].sort(axis=-1)
        repeated = np.arange(mixed.shape[-1]) % period
        rows[2 * third :] = rows[2 * third :][:, repeated]
        return mixed
    flat = mixed.reshape(-1)
    third = flat.size // 3
    flat[third : 2 * third].sort()
    flat[2 * third :] = flat[2 * third + np.arange(flat.size - 2 * third) % period]
    return mixed


def _varied(tensor: TensorCase, item: ValueClass | None, period: int) -> TensorCase:
    """Rows of every kind, unless ``period`` is 0, and unusual values if there is an ``item``."""
    values = tensor.values
    if tensor.tensor.dtype.is_float and period and values.kind in _FREE and tensor.tensor.size >= _LEAST:
        values = _around(PATCHWORK, values)
        values = replace(values, args={**values.args, "period": period})
    if item is not None and not tensor.tensor.dtype.is_exact:
        values = _around("special", values)
        limit: dict[str, AttributeValue] = {} if item.limit is None else {"limit": item.limit}
        values = replace(values, args={**values.args, "class": item.name, **limit})
    return replace(tensor, values=values)


def _around(kind: str, values: ValueSpec) -> ValueSpec:
    """The generator ``kind`` of what ``values`` gives."""
    return ValueSpec(kind, {"of": values.kind, **{f"of.{name}": value for name, value in values.args.items()}})


def _unusual(task: Task, case: Case, salt: int) -> tuple[str, ValueClass] | None:
    """Whose values are unusual, and how: of all that hidden cases may have, by lot."""
    # Sorted: the order in which forms are written does not decide the lot.
    candidates = sorted(
        {
            (name, item.name): item
            for form in task.hidden
            if _describes(form, case)
            for name, classes in form.value_classes.items()
            for item in classes
            if case.inputs.get(name)
        }.items()
    )
    if not candidates:
        return None
    (name, _), item = Random(salt).choice(candidates)
    return name, item


def _describes(form: HiddenForm, case: Case) -> bool:
    """Whether the form is about a case's element types and attributes: its classes are chosen for those."""
    dtypes = {name: tensors[0].tensor.dtype for name, value in case.inputs.items() if (tensors := _tensors(value))}
    typed = not form.dtypes or any(
        all(dtypes.get(name, dtype) is dtype for name, dtype in combination.items()) for combination in form.dtypes
    )
    choices = ((case.attributes.get(name), given) for name, given in form.attributes.items())
    return typed and all(
        given.low <= float(value) <= given.high
        if isinstance(given, HiddenRange) and isinstance(value, (int, float))
        else not isinstance(given, tuple) or value in given
        for value, given in choices
    )


def _tensors(value: CaseInput) -> tuple[TensorCase, ...]:
    return (value,) if isinstance(value, TensorCase) else tuple(value or ())
