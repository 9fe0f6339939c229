"""Cases cut down along a named axis: the axes that the task's hidden forms give names to.

A form says which extents belong together: the rows of one matrix and the columns of another, the groups of a matrix and
the list of where they end. A case that was cut without knowing that may be no case of the operator any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from npukb_conformance.scale import Scaled, elements, outer_axis, shorter
from npukb_conformance.tensors import with_tensors, with_values
from npukernelbench.nouns import Case, DType, Extent, HiddenForm, Task, TensorCase, TensorShape, ValueSpec
from npukernelbench.tasks.extent import evaluate, substitute
from npukernelbench.tasks.values import parse_values

__all__ = ["has_form", "scale_axis"]


class _Fit(NamedTuple):
    """A form, the extents of its axes in a case, and the shape of every tensor in terms of them."""

    form: HiddenForm
    axes: Mapping[str, int]
    shapes: Mapping[str, tuple[Extent, ...]]

    def at(self, case: Case, axes: Mapping[str, int]) -> Case:
        """The case with other extents for the axes. ValueError where arithmetic leaves a remainder."""

        def change(name: str, tensor: TensorShape) -> TensorShape:
            return replace(tensor, shape=tuple(evaluate(extent, axes) for extent in self.shapes[name]))

        def drawn(name: str, _: DType, values: ValueSpec) -> ValueSpec:
            # A generator whose numbers follow from an axis has to follow it when that is cut.
            return self.generator(name, axes) or values if values == self.generator(name, self.axes) else values

        return with_values(with_tensors(case, change), drawn)

    def generator(self, name: str, axes: Mapping[str, int]) -> ValueSpec | None:
        """The generator of an input; None when the form does not say."""
        return parse_values(substitute(self.form.values[name], axes)) if name in self.form.values else None


def has_form(task: Task, case: Case) -> bool:
    """Whether shapes and generators of a case, which has no lists of tensors, agree with a hidden form of its task."""
    return next(_fits(task, case), None) is not None


def scale_axis(task: Task, case: Case, limit: int) -> Scaled | None:
    """The case with at most ``limit`` input elements: the outer axis of its largest input is cut wherever it appears.

    None when no hidden form fits the case, or none that does has a name for that axis.
    """
    for fit in _fits(task, case):
        sizes = {name: shape.size for name, shape in _tensors(case).items() if name in case.inputs}
        largest = max(sizes, key=lambda name: sizes[name])
        before = _tensors(case)[largest].shape
        axis = fit.shapes[largest][outer_axis(before)]
        if isinstance(axis, str) and axis in fit.axes:
            smaller = _cut(fit, case, axis, limit)
            if smaller is not None:
                return Scaled(smaller, before, _tensors(smaller)[largest].shape)
    return None


def _cut(fit: _Fit, case: Case, axis: str, limit: int) -> Case | None:
    """The case with the largest good extent of ``axis`` that keeps to the limit; None when there is none."""
    unit = fit.form.axes[axis].multiple_of if axis in fit.form.axes else 1

    def at(count: int) -> Case:
        return fit.at(case, {**fit.axes, axis: count * unit})

    low, high = 0, fit.axes[axis] // unit
    # By halves: the number of elements grows with the extent, but not always in proportion.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if elements(at(middle)) <= limit else (low, middle)
    return at(shorter(fit.axes[axis] // unit, low)) if low else None


def _fits(task: Task, case: Case) -> Iterator[_Fit]:
    """The hidden forms that a case agrees with."""
    tensors = _tensors(case)
    # A case with lists of tensors has no axes that could be named here.
    if tensors.keys() != {*case.inputs, *case.outputs}:
        return
    for form in task.hidden:
        shapes = {**form.shapes, **form.outputs}
        # A form leaves out the shapes of outputs that are those of an input.
        shapes |= {output.name: shapes[output.shape_like] for output in task.outputs if output.shape_like in shapes}
        axes = _axes(shapes, tensors) if tensors.keys() <= shapes.keys() else None
        if axes is not None:
            fit = _Fit(form, axes, shapes)
            if all(_same_kind(value, fit.generator(name, axes)) for name, value in case.inputs.items()):
                yield fit


def _tensors(case: Case) -> dict[str, TensorShape]:
    """The tensors of a case by name, without those in lists."""
    tensors = {name: value.tensor for name, value in case.inputs.items() if isinstance(value, TensorCase)}
    return tensors | {name: value for name, value in case.outputs.items() if isinstance(value, TensorShape)}


def _axes(shapes: Mapping[str, tuple[Extent, ...]], tensors: Mapping[str, TensorShape]) -> dict[str, int] | None:
    """The extents of the axes that make ``shapes`` those of the tensors; None when nothing does."""
    axes: dict[str, int] = {}
    for name, tensor in tensors.items():
        if len(shapes[name]) != len(tensor.shape):
            return None
        axes.update(
            (extent, number)
            for extent, number in zip(shapes[name], tensor.shape, strict=True)
            # First the plain names; expressions of them are checked afterwards.
            if isinstance(extent, str) and extent.isidentifier() and extent not in axes
        )
    try:
        agree = all(
            evaluate(extent, axes) == number
            for name, tensor in tensors.items()
            for extent, number in zip(shapes[name], tensor.shape, strict=True)
        )
    except ValueError:
        return None
    return axes if agree else None


def _same_kind(given: object, expected: ValueSpec | None) -> bool:
    """Whether an input is drawn as a form says, where both use the same generator."""
    if expected is None or not isinstance(given, TensorCase) or given.values.kind != expected.kind:
        return True
    return given.values == expected
