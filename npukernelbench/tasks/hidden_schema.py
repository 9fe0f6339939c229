"""The ``hidden`` section of ``task.yaml``: its shape as pydantic models, and its meaning as hidden forms.

Everything that can be checked without drawing is checked here, so that a mistake has a file and a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from npukernelbench.errors import TaskError
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.hidden import Extent, HiddenAxis, HiddenForm, HiddenRange, ValueClass
from npukernelbench.nouns.task import AttributeSpec, AttributeValue, Presence, Task
from npukernelbench.tasks.extent import evaluate, substitute
from npukernelbench.tasks.hidden_extents import COUNT, OR_ONE, REST, axes_of
from npukernelbench.tasks.values import VALUE_CLASSES, parse_values

__all__ = ["HiddenModel", "hidden_forms"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True)


_Name = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
# In strict mode pydantic takes no text for a member of an enumeration.
_DType = Annotated[DType, Field(strict=False)]
_Shape = list[Annotated[int, Field(ge=0)] | Annotated[str, Field(min_length=1)]]
_Class = str | Annotated[dict[str, float], Field(min_length=1, max_length=1)]


class AxisModel(_Model):
    """The extents of a symbolic axis."""

    low: Annotated[int, Field(ge=1)]
    """The smallest."""
    high: Annotated[int, Field(ge=1)]
    """The largest."""
    multiple_of: Annotated[int, Field(ge=1)] = 1
    """What it is a multiple of."""


class RangeModel(_Model):
    """The values of a numeric attribute."""

    low: int | float
    """The smallest."""
    high: int | float
    """The largest."""


class FormModel(_Model):
    """One way in which hidden cases may look; what it leaves out it has from the section around it."""

    axes: dict[_Name, AxisModel | Annotated[list[int], Field(min_length=2, max_length=2)]] = {}
    """Extents by name: ``[low, high]``, or with ``multiple_of``."""
    shapes: dict[str, _Shape] = {}
    """The shape of every input, over axes and numbers."""
    outputs: dict[str, _Shape] = {}
    """Shapes of outputs that are not ``shape_like``."""
    dtypes: list[dict[str, _DType]] = []
    """Combinations of element types by input."""
    attributes: dict[str, RangeModel | Annotated[list[object], Field(min_length=1)]] = {}
    """Choices, or a range of a number, by attribute."""
    values: dict[str, dict[str, object]] = {}
    """Generators by input, with extents in place of numbers."""
    value_classes: dict[str, list[_Class]] = {}
    """Unusual values by input."""
    required: list[str] = []
    """Optional inputs that are always there."""


class HiddenModel(FormModel):
    """The section: what all forms have in common, and the forms. Without forms it is one itself."""

    forms: list[FormModel] = []
    """Variants, each with some of these keys in place of the section's own."""


class Complaints(Protocol):
    """What the loader offers: complaints with a place, and typed attribute values."""

    def fail(self, message: str, *keys: str | int, remedy: str | None = None) -> TaskError:
        """The complaint to raise about the field ``keys``."""
        ...

    def attribute(self, kind: str, value: object, *keys: str | int) -> AttributeValue:
        """A value of an attribute's type; raises a complaint for anything else."""
        ...


def hidden_forms(model: HiddenModel, task: Task, loader: Complaints) -> tuple[HiddenForm, ...]:
    """The forms of a section. ``task`` needs its interface only. TaskError for what does not fit the interface."""
    parts = model.forms or [FormModel()]
    return tuple(_Resolver(model, part, position, task, loader).resolve() for position, part in enumerate(parts))


class _Given(NamedTuple):
    """One entry of a section with its place in the document."""

    name: str
    value: object
    keys: tuple[str | int, ...]


class _Resolver:
    """Turns one form, with what it has in common with the others, into a noun."""

    def __init__(self, common: HiddenModel, form: FormModel, position: int, task: Task, loader: Complaints) -> None:
        self._common = common
        self._form = form
        self._position = position
        self._loader = loader
        self._inputs = {item.name: item for item in task.inputs}
        self._outputs = {item.name: item for item in task.outputs}
        self._attributes = {item.name: item for item in task.attributes}

    def resolve(self) -> HiddenForm:
        axes = {given.name: self._axis(given) for given in self._given("axes")}
        form = HiddenForm(
            axes=axes,
            shapes={given.name: self._shape(given, axes) for given in self._known("shapes", self._inputs)},
            outputs={given.name: self._shape(given, axes) for given in self._known("outputs", self._outputs)},
            dtypes=self._dtypes(),
            attributes={
                given.name: self._choices(given, axes) for given in self._known("attributes", self._attributes)
            },
            values={given.name: self._values(given, axes) for given in self._known("values", self._inputs)},
            value_classes={given.name: self._classes(given) for given in self._known("value_classes", self._inputs)},
            required=self._required(),
        )
        if form.shapes:
            self._check_completeness(form)
        elif form.axes or form.outputs:
            raise self._loader.fail("axes and outputs need shapes beside them", "hidden")
        return form

    def _given(self, section: str) -> Iterator[_Given]:
        """The entries of a section: the form's own win over those that all forms share."""
        own: Mapping[str, object] = getattr(self._form, section)
        shared: Mapping[str, object] = getattr(self._common, section)
        for name, value in {**shared, **own}.items():
            inside = ("forms", self._position) if name in own else ()
            yield _Given(name, value, ("hidden", *inside, section, name))

    def _known(self, section: str, known: Mapping[str, object]) -> Iterator[_Given]:
        for given in self._given(section):
            if given.name not in known:
                listed = ", ".join(known) or "none"
                raise self._loader.fail(
                    f"the interface has no {given.name!r} here", *given.keys, remedy=f"it has {listed}"
                )
            yield given

    def _axis(self, entry: _Given) -> HiddenAxis:
        given = entry.value
        if isinstance(given, AxisModel):
            axis = HiddenAxis(given.low, given.high, given.multiple_of)
        else:
            axis = HiddenAxis(*given)  # type: ignore[misc]
        if entry.name == COUNT:
            raise self._loader.fail(f"{COUNT!r} is how many tensors a list has; choose another name", *entry.keys)
        if axis.low < 1 or not _multiples(axis):
            raise self._loader.fail("there is no extent between low and high, both at least 1", *entry.keys)
        return axis

    def _shape(self, entry: _Given, axes: Mapping[str, HiddenAxis]) -> tuple[Extent, ...]:
        shape: list[Extent] = entry.value  # type: ignore[assignment]
        if shape.count(REST) > 1:
            raise self._loader.fail(f"{REST} may appear once in a shape", *entry.keys)
        for extent in shape:
            self._check_extent(extent, axes, entry.keys, least=0)
        return tuple(shape)

    def _check_extent(
        self, extent: Extent, axes: Mapping[str, HiddenAxis], keys: tuple[str | int, ...], *, least: int | None
    ) -> None:
        """Try the smallest extents of every axis, and the next ones, which shows remainders."""
        if extent == REST:
            return
        term = extent.removesuffix(OR_ONE) if isinstance(extent, str) else extent
        try:
            for step in (0, 1):
                sample = {name: _nth(axis, step) for name, axis in axes.items()}
                number = evaluate(term, {**sample, COUNT: 1 + step})
                if least is not None and number < least:
                    raise ValueError(f"{term!r} may be {number}")
        except ValueError as error:
            raise self._loader.fail(str(error), *keys) from None

    def _dtypes(self) -> tuple[Mapping[str, DType], ...]:
        own = bool(self._form.dtypes)
        keys = ("hidden", *(("forms", self._position) if own else ()), "dtypes")
        combinations = self._form.dtypes or self._common.dtypes
        for position, combination in enumerate(combinations):
            for name, dtype in combination.items():
                if name not in self._inputs or dtype not in self._inputs[name].dtypes:
                    raise self._loader.fail(f"the interface has no input {name!r} of {dtype.value}", *keys, position)
        return tuple(combinations)

    def _choices(self, entry: _Given, axes: Mapping[str, HiddenAxis]) -> HiddenRange | tuple[AttributeValue, ...]:
        spec = self._attributes[entry.name]
        if isinstance(entry.value, RangeModel):
            if spec.type not in ("int", "float") or not entry.value.low <= entry.value.high:
                raise self._loader.fail("a range is for an int or a float, with low up to high", *entry.keys)
            low, high = (
                self._loader.attribute(spec.type, end, *entry.keys) for end in (entry.value.low, entry.value.high)
            )
            return HiddenRange(low, high)  # type: ignore[arg-type]
        choices: list[object] = entry.value  # type: ignore[assignment]
        return tuple(self._choice(spec, choice, axes, entry.keys) for choice in choices)

    def _choice(
        self, spec: AttributeSpec, choice: object, axes: Mapping[str, HiddenAxis], keys: tuple[str | int, ...]
    ) -> AttributeValue:
        """One choice; text where a whole number is wanted is an extent, and stays text."""
        if spec.type == "list_int" and isinstance(choice, list):
            return tuple(self._whole(item, axes, keys) for item in choice)  # type: ignore[return-value]
        if spec.type == "int":
            return self._whole(choice, axes, keys)
        return self._loader.attribute(spec.type, choice, *keys)

    def _whole(self, choice: object, axes: Mapping[str, HiddenAxis], keys: tuple[str | int, ...]) -> AttributeValue:
        if isinstance(choice, str):
            # An attribute may be negative, for instance an axis that is counted from the end.
            self._check_extent(choice, axes, keys, least=None)
            return choice
        return self._loader.attribute("int", choice, *keys)

    def _values(self, entry: _Given, axes: Mapping[str, HiddenAxis]) -> Mapping[str, object]:
        raw: Mapping[str, object] = entry.value  # type: ignore[assignment]
        largest = {name: _multiples(axis)[-1] * axis.multiple_of for name, axis in axes.items()}
        try:
            parse_values(substitute(raw, {**largest, COUNT: 1}))
        except ValueError as error:
            raise self._loader.fail(str(error), *entry.keys) from None
        return raw

    def _classes(self, entry: _Given) -> tuple[ValueClass, ...]:
        if all(dtype.is_exact for dtype in self._inputs[entry.name].dtypes):
            raise self._loader.fail("integers and booleans have no such values", *entry.keys)
        given: list[str | dict[str, float]] = entry.value  # type: ignore[assignment]
        classes = [
            ValueClass(item) if isinstance(item, str) else ValueClass(*next(iter(item.items()))) for item in given
        ]
        for item in classes:
            if item.name not in VALUE_CLASSES or (item.limit is not None and item.name not in ("large", "tiny")):
                listed = f"{', '.join(VALUE_CLASSES)}; large and tiny may have a largest magnitude"
                raise self._loader.fail(f"there is no class {item.name!r} of this form", *entry.keys, remedy=listed)
        return tuple(classes)

    def _required(self) -> tuple[str, ...]:
        named = tuple(dict.fromkeys((*self._common.required, *self._form.required)))
        for name in named:
            if name not in self._inputs or self._inputs[name].presence is not Presence.OPTIONAL:
                raise self._loader.fail(f"{name!r} is no optional input", "hidden", "required")
        return named

    def _check_completeness(self, form: HiddenForm) -> None:
        keys = ("hidden", *(("forms", self._position) if self._form.shapes else ()))
        for name, spec in self._inputs.items():
            if name not in form.shapes and spec.presence is not Presence.OPTIONAL:
                raise self._loader.fail(f"the shape of the input {name!r} is missing", *keys, "shapes")
        for name, output in self._outputs.items():
            if name not in form.outputs and (output.shape_like is None or output.shape_like not in form.shapes):
                raise self._loader.fail(f"the shape of the output {name!r} is missing", *keys, "outputs")
        single = {axis for name in form.shapes if not self._is_list(name) for axis in axes_of(form.shapes[name])}
        listed = {axis for name in form.shapes if self._is_list(name) for axis in axes_of(form.shapes[name])}
        if single & listed - {COUNT}:
            shared = sorted(single & listed - {COUNT})[0]
            raise self._loader.fail(f"{shared!r} differs from tensor to tensor of a list", *keys, "shapes")

    def _is_list(self, name: str) -> bool:
        return self._inputs[name].presence is Presence.DYNAMIC


def _multiples(axis: HiddenAxis) -> range:
    """What ``multiple_of`` may be multiplied with."""
    return range(-(-axis.low // axis.multiple_of), axis.high // axis.multiple_of + 1)


def _nth(axis: HiddenAxis, step: int) -> int:
    factors = _multiples(axis)
    return factors[min(step, len(factors) - 1)] * axis.multiple_of
