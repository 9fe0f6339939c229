"""Hidden cases: drawn from a secret, so that no model can have seen them; the same secret draws the same ones.

A case takes its shapes from one of the task's hidden forms, or from the default rule of element-wise tasks. The cases
go through recipes (one element, very long rows, many rows, primes, lengths that are no multiple of 32 bytes, powers of
two, anything), through element types, forms and classes of unusual values, each in an order of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import TypeVar

from npukernelbench import nouns
from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.seed import derive
from npukernelbench.tasks.extent import evaluate, substitute
from npukernelbench.tasks.hidden_default import combinations, default_forms, output_dtype, public_models, usual_values
from npukernelbench.tasks.hidden_extents import Binding, Recipe, between, bind, pick, shuffled
from npukernelbench.tasks.values import parse_values

__all__ = ["DEFAULT_COUNT", "MAX_ELEMENTS", "PROFILE", "HiddenCases", "hidden_cases", "secret_hash"]

#: How many hidden cases a task has unless told otherwise.
DEFAULT_COUNT = 12
#: The most elements that all tensors of a case have together.
MAX_ELEMENTS = 1 << 20
#: The profile of every hidden case.
PROFILE = "hidden"
#: The most tensors of a list.
_LONGEST_LIST = 6

_T = TypeVar("_T")


def hidden_cases(task: nouns.Task, secret: str, count: int = DEFAULT_COUNT) -> tuple[nouns.Case, ...]:
    """The first ``count`` hidden cases, ``hidden-000`` and on; none when nothing says how the task's shapes may vary.

    TaskError when they cannot be drawn as the task says.
    """
    forms = _forms(task)
    return tuple(_Drawing(task, forms, secret, number).case() for number in range(count)) if forms else ()


def secret_hash(secret: str) -> str:
    """What may be stored of a secret: equal for equal secrets, salted, and slow to guess from."""
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), b"npukernelbench hidden cases", 200_000).hex()[:32]


@dataclass(frozen=True, slots=True)
class HiddenCases:
    """The hidden cases of one secret, for selection. On the dynamic track they are part of what a task is judged on
    unless told otherwise; on the static one they must be asked for by name."""

    secret: str = field(repr=False)
    track: nouns.Track

    @property
    def hash(self) -> str:
        """What may be stored of the secret."""
        return secret_hash(self.secret)

    def __call__(self, task: nouns.Task) -> tuple[nouns.Case, ...]:
        """The hidden cases of a task."""
        cases = hidden_cases(task, self.secret)
        if not self.track.per_case:
            return tuple(replace(case, profiles=case.profiles | {"full"}) for case in cases)
        return cases


def _forms(task: nouns.Task) -> tuple[nouns.HiddenForm, ...]:
    """The task's forms, those without shapes completed by the default rule."""
    # The rule looks at every public case, and is asked only where a form needs it.
    ruled = default_forms(task) if not all(form.shapes for form in task.hidden) or not task.hidden else ()
    if not task.hidden:
        return ruled
    forms = tuple(
        complete for form in task.hidden for complete in ([form] if form.shapes else [*_completed(form, ruled)])
    )
    if not forms:
        raise TaskError(
            "the section has no shapes, and the default rule does not fit this task",
            location=SourceLocation(task.path),
            field="hidden",
            remedy="state axes and shapes; the rule is for tasks tagged elementwise whose tensors have one shape",
        )
    return forms


def _completed(form: nouns.HiddenForm, ruled: Sequence[nouns.HiddenForm]) -> Iterator[nouns.HiddenForm]:
    for rule in ruled:
        yield replace(
            form,
            axes=rule.axes,
            shapes=rule.shapes,
            outputs=rule.outputs,
            attributes={**rule.attributes, **form.attributes},
            required=(*rule.required, *form.required),
        )


class _Drawing:
    """Draws one case. Everything that takes turns does so over the numbers of the cases."""

    def __init__(self, task: nouns.Task, forms: Sequence[nouns.HiddenForm], secret: str, number: int) -> None:
        self._task = task
        self._secret = secret
        self._number = number
        self._rng = Random(derive("hidden case", secret, task.name, number))
        # A form takes as many turns as it has combinations of element types.
        self._forms = [form for form in forms for _ in form.dtypes or (None,)]
        self._form = self._turn("form", self._forms)

    def case(self) -> nouns.Case:
        """The case; TaskError when it cannot be drawn."""
        try:
            return self._case()
        except ValueError as error:
            raise TaskError(
                f"the hidden case {self._number} cannot be drawn: {error}",
                location=SourceLocation(self._task.path),
                field="hidden",
            ) from error

    def _case(self) -> nouns.Case:
        task, form = self._task, self._form
        # Combinations take turns over the cases of this form only: over all cases, a form that comes every second time
        # might never see half of its combinations.
        before = range(self._number) if form.dtypes else ()
        earlier = sum(self._turn("form", self._forms, number) is form for number in before)
        dtypes = self._turn("dtypes", combinations(task, form.dtypes), earlier if form.dtypes else None)
        recipe = self._turn("recipe", tuple(Recipe))
        # The draws below share one generator: in another order the same secret would give other cases.
        present = self._present()
        lists = {spec.name for spec in task.inputs if spec.presence is nouns.Presence.DYNAMIC}
        lists |= {spec.name for spec in task.outputs if spec.presence is nouns.Presence.DYNAMIC}
        count = (1 if recipe is Recipe.ONE else between(self._rng, 2, _LONGEST_LIST)) if lists else 0
        shapes = {**{name: form.shapes[name] for name in present}, **self._outputs()}
        # Half of the elements are left for the tensors of lists.
        single = self._bind({*shapes} - lists, recipe, MAX_ELEMENTS // (2 if lists else 1), count)
        # The first tensor of a list follows the case's recipe, the others any.
        kinds = [recipe, *(pick(self._rng, tuple(Recipe)) for _ in range(count - 1))][:count]
        members = [self._bind({*shapes} & lists, kind, MAX_ELEMENTS // (2 * count), count) for kind in kinds]
        attributes = {spec.name: self._attribute(spec, single) for spec in task.attributes}
        models = public_models(task, dtypes, attributes)
        model = self._turn("model", models) if models else None
        unusual = self._turn("values", self._value_plans(dtypes))
        inputs: dict[str, nouns.CaseInput] = dict.fromkeys(spec.name for spec in task.inputs)
        for name in present:
            bindings = members if name in lists else [single]
            drawn = tuple(self._input(name, dtypes[name], binding, model, unusual) for binding in bindings)
            inputs[name] = drawn if name in lists else drawn[0]
        return nouns.Case(
            id=f"hidden-{self._number:03d}",
            inputs=inputs,
            outputs={
                spec.name: self._output(
                    spec, inputs, output_dtype(spec, dtypes, model), members if spec.name in lists else single
                )
                for spec in task.outputs
            },
            attributes=attributes,
            profiles=frozenset({PROFILE}),
            # 0 stands for a case without a salt.
            salt=derive("hidden salt", self._secret, task.name, self._number) or 1,
        )

    def _turn(self, what: str, items: Sequence[_T], number: int | None = None) -> _T:
        """The item whose turn it is: all of them in some order, then all of them in another."""
        if not items:
            raise ValueError(f"there is no choice of {what}")
        block, place = divmod(self._number if number is None else number, len(items))
        return shuffled(Random(derive("hidden order", self._secret, self._task.name, what, block)), items)[place]

    def _present(self) -> tuple[str, ...]:
        """The inputs of this case, in order. Optional ones are all there, all absent, or some of them, in turns."""
        followed = {name for spec in self._task.outputs for name in (spec.dtype_like, spec.shape_like)}
        kept = {"all": 1.0, "none": 0.0, "some": 0.5}[self._turn("optional", ("all", "none", "some"))]
        present = []
        for spec in self._task.inputs:
            # An output takes its shape or type from it, so that it cannot be absent.
            free = spec.presence is nouns.Presence.OPTIONAL and spec.name not in (*self._form.required, *followed)
            if spec.name in self._form.shapes and (not free or self._rng.random() < kept):
                present.append(spec.name)
        return tuple(present)

    def _outputs(self) -> dict[str, tuple[nouns.Extent, ...]]:
        """The shapes of all outputs: the form's own, else those of the inputs that they follow."""
        followed = {
            spec.name: self._form.shapes[spec.shape_like]
            for spec in self._task.outputs
            if spec.shape_like is not None and spec.shape_like in self._form.shapes
        }
        return {**followed, **self._form.outputs}

    def _bind(self, names: set[str], recipe: Recipe, budget: int, count: int) -> Binding:
        known = {**self._form.shapes, **self._outputs()}
        # In the interface's order: that of a set of names differs from process to process.
        order = (*(spec.name for spec in self._task.inputs), *(spec.name for spec in self._task.outputs))
        # The chief shape first: the longest, and inputs before outputs.
        shapes = sorted((known[name] for name in order if name in names), key=len, reverse=True)
        return bind(shapes or [()], self._form.axes, recipe, self._rng, budget=budget, count=count)

    def _value_plans(self, dtypes: Mapping[str, nouns.DType]) -> list[tuple[str, nouns.ValueClass] | None]:
        """Which input has unusual values, and which kind: none half of the time."""
        unusual = [
            (name, item)
            for name, classes in self._form.value_classes.items()
            for item in classes
            if not dtypes[name].is_exact
        ]
        return [*unusual, *([None] * max(1, len(unusual)))]

    def _input(
        self,
        name: str,
        dtype: nouns.DType,
        binding: Binding,
        model: nouns.Case | None,
        unusual: tuple[str, nouns.ValueClass] | None,
    ) -> nouns.TensorCase:
        tensor = nouns.TensorShape(binding.shape(self._form.shapes.get(name, ()), self._rng), dtype)
        raw = self._form.values.get(name)
        if raw is not None:
            values = parse_values(substitute(raw, binding.axes))
        else:
            spec = next(item for item in self._task.inputs if item.name == name)
            values = usual_values(spec, dtype, tensor.size, model)
        if unusual is not None and unusual[0] == name:
            values = _with_class(values, unusual[1])
        return nouns.TensorCase(tensor, values)

    def _output(
        self,
        spec: nouns.OutputSpec,
        inputs: Mapping[str, nouns.CaseInput],
        dtype: nouns.DType,
        bindings: Binding | list[Binding],
    ) -> nouns.TensorShape | tuple[nouns.TensorShape, ...]:
        like = inputs.get(spec.shape_like or "") if spec.name not in self._form.outputs else None
        # The shape as it was drawn: the binding gives the full extent of an axis that the input has broadcast to 1.
        if isinstance(like, nouns.TensorCase):
            return nouns.TensorShape(like.tensor.shape, dtype)
        if isinstance(like, tuple):
            return tuple(nouns.TensorShape(item.tensor.shape, dtype) for item in like)
        shape = self._form.outputs[spec.name]
        if isinstance(bindings, list):
            return tuple(nouns.TensorShape(binding.shape(shape), dtype) for binding in bindings)
        return nouns.TensorShape(bindings.shape(shape), dtype)

    def _attribute(self, spec: nouns.AttributeSpec, binding: Binding) -> nouns.AttributeValue:
        given = self._form.attributes.get(spec.name)
        if isinstance(given, nouns.HiddenRange):
            if isinstance(given.low, int) and isinstance(given.high, int):
                return between(self._rng, given.low, given.high)
            return round(given.low + self._rng.random() * (given.high - given.low), 4)
        if given is not None:
            return _chosen(spec, self._turn(f"attribute {spec.name}", given), binding)
        if spec.default is not None:
            return spec.default
        return pick(self._rng, [case.attributes[spec.name] for case in self._task.cases])


def _chosen(spec: nouns.AttributeSpec, choice: object, binding: Binding) -> nouns.AttributeValue:
    """A choice with its extents as numbers."""
    if spec.type == "int" and isinstance(choice, str):
        return evaluate(choice, binding.axes)
    if spec.type == "list_int" and isinstance(choice, tuple):
        return tuple(evaluate(item, binding.axes) for item in choice)
    return choice  # type: ignore[return-value]


def _with_class(values: nouns.ValueSpec, item: nouns.ValueClass) -> nouns.ValueSpec:
    """The same values, some of which give way to unusual ones."""
    args: dict[str, nouns.AttributeValue] = {"of": values.kind, "class": item.name}
    if item.limit is not None:
        args["limit"] = item.limit
    return nouns.ValueSpec("special", {**args, **{f"of.{name}": value for name, value in values.args.items()}})
