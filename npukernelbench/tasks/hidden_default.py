"""What hidden cases take from the public ones where the task does not say: combinations of element types, how values
are drawn, and, for element-wise tasks, the shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from npukernelbench import nouns
from npukernelbench.tasks.hidden_extents import COUNT
from npukernelbench.tasks.values import FRACTIONAL

__all__ = ["combinations", "default_forms", "output_dtype", "public_models", "usual_values"]

#: The tag of tasks that the default rule looks at.
_TAG = "elementwise"
_AXIS = nouns.HiddenAxis(1, 1 << 18)
_RANKS = (1, 2, 3, 4)
#: Generators whose parameters go with a size.
_SIZED = frozenset(
    {"derived", "distinct", "distinct_along", "group_ends", "literal", "partition", "program", "repeated_rows", "spans"}
    | {"subset"}
)
_Combination = Mapping[str, nouns.DType]
_Shape = tuple[int, ...]


def default_forms(task: nouns.Task) -> tuple[nouns.HiddenForm, ...]:
    """The forms of a task tagged ``elementwise`` whose tensors all have one shape, but for inputs of one element, or
    of one element per tensor of a list.

    None when that is not so in every public case. Attributes come as a public case has them; a task with whole numbers
    among them, which may be axes, keeps the rank they came with. Where they decide the type of an output, element types
    come as a public case has them too.
    """
    roles = _roles(task) if _TAG in task.tags else None
    if roles is None:
        return ()
    bound = any(spec.type in ("int", "list_int") for spec in task.attributes)
    typed = bool(task.attributes) and any(_overrides_types(task, case) for case in task.cases)
    forms: dict[object, nouns.HiddenForm] = {}
    for case in task.cases:
        # A whole number that decides an output's type, as the target of a cast does, is no axis: any rank will do.
        ranks = [len(shape) for shape in _shapes(case.inputs[roles.chief])] if bound and not typed else _RANKS
        dtypes = (_dtypes(case),) if typed else ()
        for rank in ranks:
            key = (rank, tuple(case.attributes.items()), *(tuple(dtype.items()) for dtype in dtypes))
            forms.setdefault(key, _form(task, case, roles, rank, dtypes))
    # Without axes there is nothing to vary: all cases would have the same shapes.
    return tuple(form for form in forms.values() if form.axes)


def combinations(task: nouns.Task, stated: tuple[_Combination, ...] = ()) -> tuple[_Combination, ...]:
    """Element types by input: those stated, else those that occur in public cases, and every other type of the first
    input where the other inputs can follow it. Inputs that are not mentioned are filled in."""
    seen = [_dtypes(case) for case in task.cases]
    habits = _Habits(task, seen)
    if stated:
        return tuple(habits.complete(combination) for combination in stated)
    leader = task.inputs[0]
    completed: dict[tuple[tuple[str, nouns.DType], ...], _Combination] = {}
    for dtype in leader.dtypes:
        for combination in [public for public in seen if public.get(leader.name) is dtype] or [{leader.name: dtype}]:
            full = habits.complete(combination)
            if habits.is_possible(full):
                completed[tuple(full.items())] = full
    return tuple(completed.values())


def public_models(
    task: nouns.Task, dtypes: _Combination, attributes: Mapping[str, nouns.AttributeValue]
) -> tuple[nouns.Case, ...]:
    """The public cases with these element types, those with these attributes if there are any."""
    alike = [case for case in task.cases if all(dtypes[name] is dtype for name, dtype in _dtypes(case).items())]
    same = [case for case in alike if case.attributes == attributes]
    return tuple(same or alike)


def output_dtype(spec: nouns.OutputSpec, dtypes: _Combination, model: nouns.Case | None) -> nouns.DType:
    """The element type of an output: that of the public case that is the model, else that of the interface."""
    declared = model.outputs[spec.name] if model else ()
    tensor = declared if isinstance(declared, nouns.TensorShape) else next(iter(declared), None)
    return tensor.dtype if tensor else spec.dtype or dtypes[str(spec.dtype_like)]


def usual_values(spec: nouns.InputSpec, dtype: nouns.DType, size: int, model: nouns.Case | None) -> nouns.ValueSpec:
    """How an input is drawn: as in the public case that is the model, else as the interface says."""
    own = spec.values_for.get(dtype, spec.values)
    values = next((item.values for item in _tensors(model.inputs.get(spec.name) if model else None)), own)
    # A literal gives values by position, which another size has not; what is left of it is the set of its values.
    if values.kind == "literal" and not _fits(values, size):
        return nouns.ValueSpec("choice", values.args)
    return values if values.kind not in _SIZED or values.kind == "literal" else own


def _fits(values: nouns.ValueSpec, size: int) -> bool:
    given = values.args["values"]
    return isinstance(given, tuple) and len(given) == size


class _Habits:
    """What the public cases show about element types."""

    def __init__(self, task: nouns.Task, seen: list[dict[str, nouns.DType]]) -> None:
        self._task = task
        self._seen = seen
        self._leader = task.inputs[0].name

    def complete(self, given: _Combination) -> _Combination:
        """``given`` with a type for every input: the first input's where public cases agree on that, else one seen."""
        leader = given.get(self._leader, self._task.inputs[0].dtypes[0])
        return {
            spec.name: given.get(spec.name) or self._usual(spec.name, spec.dtypes, leader) for spec in self._task.inputs
        }

    def _usual(self, name: str, allowed: tuple[nouns.DType, ...], leader: nouns.DType) -> nouns.DType:
        beside = [combination for combination in self._seen if name in combination and self._leader in combination]
        # `all` holds where there is no example, too: such an input follows the first one if it may.
        if all(combination[name] is combination[self._leader] for combination in beside) and (
            leader in allowed or not beside
        ):
            return leader if leader in allowed else allowed[0]
        same = [combination[name] for combination in beside if combination[self._leader] is leader]
        return next(iter(same or [combination[name] for combination in beside]), allowed[0])

    def is_possible(self, full: _Combination) -> bool:
        """Whether every input may have its type, can be drawn in it, and goes with the first one's."""
        for spec in self._task.inputs:
            dtype = full[spec.name]
            # A public case shows a type that can be drawn even where the interface's own generator cannot.
            drawable = not dtype.is_exact or spec.values_for.get(dtype, spec.values).kind not in FRACTIONAL
            if dtype not in spec.dtypes or not (
                drawable or any(combination.get(spec.name) is dtype for combination in self._seen)
            ):
                return False
        beside = [combination for combination in self._seen if self._leader in combination]
        follows = [
            name
            for name in full
            if name != self._leader
            and all(combination[name] is combination[self._leader] for combination in beside if name in combination)
        ]
        known = any(combination[self._leader] is full[self._leader] for combination in beside)
        return known or all(full[name] is full[self._leader] for name in follows)


class _Roles(NamedTuple):
    """Which inputs have the shape of the whole, which one element per tensor of a list, the others having one element;
    ``chief`` is the first with the shape of the whole."""

    chief: str
    whole: frozenset[str]
    listed: frozenset[str]


def _roles(task: nouns.Task) -> _Roles | None:
    """The roles of all inputs, None when some input or output has a shape of another kind."""
    present = {spec.name: [case for case in task.cases if case.inputs.get(spec.name)] for spec in task.inputs}
    tensors = {name: [t for case in cases for t in _tensors(case.inputs[name])] for name, cases in present.items()}
    single = {
        spec.name
        for spec in task.inputs
        if spec.presence is not nouns.Presence.DYNAMIC and all(t.tensor.size == 1 for t in tensors[spec.name])
    }
    lists = [spec.name for spec in task.inputs if spec.presence is nouns.Presence.DYNAMIC]
    listed = {
        spec.name for spec in task.inputs if lists and spec.name not in lists and _per_tensor(task, spec, lists[0])
    }
    whole = [name for name in tensors if name not in single | listed]
    # Every case needs the chief, since the shapes of the others are compared with its.
    if not whole or len(present[whole[0]]) != len(task.cases):
        return None
    chief = whole[0]
    for case in task.cases:
        shapes = _shapes(case.inputs[chief])
        others = [_shapes(case.inputs[name]) for name in whole if case.inputs.get(name)]
        outputs = [[t.shape for t in (o if isinstance(o, tuple) else (o,))] for o in case.outputs.values()]
        if any(other != shapes for other in (*others, *outputs)):
            return None
    # Such values fit the shape that they were written for, and no other.
    if any(t.values.kind in _SIZED for name in whole for t in tensors[name]):
        return None
    return _Roles(chief, frozenset(whole), frozenset(listed))


def _per_tensor(task: nouns.Task, spec: nouns.InputSpec, name: str) -> bool:
    """Whether an input has one element per tensor of the list ``name``, in cases with lists of several tensors too."""
    lengths = [len(_shapes(case.inputs[name])) for case in task.cases]
    shapes = [_shapes(case.inputs.get(spec.name)) for case in task.cases]
    # With one tensor in every list, one element per tensor looks like a single number.
    return max(lengths) > 1 and shapes == [[(length,)] for length in lengths]


def _overrides_types(task: nouns.Task, case: nouns.Case) -> bool:
    """Whether an output's type is not what the interface alone would make it."""
    dtypes = _dtypes(case)
    return any(
        output_dtype(spec, dtypes, case) is not output_dtype(spec, dtypes, None)
        for spec in task.outputs
        if spec.dtype or spec.dtype_like in dtypes
    )


def _form(
    task: nouns.Task, case: nouns.Case, roles: _Roles, rank: int, dtypes: tuple[_Combination, ...]
) -> nouns.HiddenForm:
    """The form of one rank with the attributes of ``case``; optional inputs that no public case has stay absent."""
    axes = {f"axis{position}": _AXIS for position in range(rank)}
    shapes: dict[str, tuple[int | str, ...]] = {}
    for spec in task.inputs:
        having = [public for public in task.cases if public.inputs.get(spec.name)]
        if having:
            own = (case if case in having else having[0]).inputs[spec.name]
            single = (COUNT,) if spec.name in roles.listed else _shapes(own)[0]
            shapes[spec.name] = tuple(axes) if spec.name in roles.whole else single
    always = [name for name in shapes if all(public.inputs.get(name) for public in task.cases)]
    optional = {spec.name for spec in task.inputs if spec.presence is nouns.Presence.OPTIONAL}
    return nouns.HiddenForm(
        axes=axes,
        shapes=shapes,
        outputs={spec.name: tuple(axes) for spec in task.outputs},
        dtypes=dtypes,
        attributes={name: (value,) for name, value in case.attributes.items()},
        required=tuple(name for name in always if name in optional),
    )


def _dtypes(case: nouns.Case) -> dict[str, nouns.DType]:
    """The element types of the inputs that a case has; a list's is that of its first tensor."""
    return {name: tensors[0].tensor.dtype for name, value in case.inputs.items() if (tensors := [*_tensors(value)])}


def _shapes(value: nouns.CaseInput) -> list[_Shape]:
    return [tensor.tensor.shape for tensor in _tensors(value)]


def _tensors(value: nouns.CaseInput) -> Iterator[nouns.TensorCase]:
    if isinstance(value, nouns.TensorCase):
        yield value
    else:
        yield from value or ()
