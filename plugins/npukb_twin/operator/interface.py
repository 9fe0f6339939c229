"""An operator's own definition against the task's interface: which argument is which, and what a case calls for.

The definition (OpDef) says names, order and the supported combinations of element types; the task says what will be
launched. :func:`bind` pairs the two or says, with file and line of the definition, what does not fit. :func:`row_of`
finds the combination that a case needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npukb_twin.compile.dialect import masked
from npukb_twin.operator.host_types import OpArgument, OpAttribute, OperatorDescription
from npukernelbench.nouns import (
    AttributeSpec,
    Case,
    CaseInput,
    Diagnostic,
    InputSpec,
    OutputSpec,
    Severity,
    Task,
    TensorCase,
    TensorShape,
)

__all__ = ["Bound", "bind", "place_of", "row_of", "shapes_of"]

INTERFACE = "interface"
#: The most elements of an input whose values a tiling function may see.
_LONGEST_PARAMETER = 64
#: What frameworks call a dense tensor of these ranks.
_BY_RANK = {3: "FORMAT_NCL", 4: "FORMAT_NCHW", 5: "FORMAT_NCDHW"}


@dataclass(frozen=True, slots=True)
class Bound:
    """The definition's arguments with the task's, in the definition's order.

    Outputs are those that have a slot of their own in the kernel's signature: an output in the memory of an input may
    have one or not. ``late`` is the task's output that receives the shapes of the others, where it has one.
    Attributes that the task does not know keep their defaults.
    """

    inputs: tuple[tuple[OpArgument, InputSpec], ...]
    outputs: tuple[tuple[OpArgument, OutputSpec], ...]
    attributes: tuple[tuple[OpAttribute, AttributeSpec], ...]
    late: OutputSpec | None = None

    @property
    def shapes_come_late(self) -> bool:
        """Whether the kernel itself says how large an output is, in an argument of its own behind the outputs."""
        return any(argument.depends_on_compute for argument, _ in self.outputs)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the entry's pointers in order."""
        late = (self.late.name if self.late else "shapes",) if self.shapes_come_late else ()
        names = [argument.name for argument, _ in self.inputs]
        # an output may be called as the input that it updates; parameters have different names
        names += [f"{a.name}_ref" if a.name in names else a.name for a, _ in self.outputs]
        return (*names, *late, "workspace", "tiling")


def bind(description: OperatorDescription, task: Task, files: Mapping[str, str]) -> Bound | tuple[Diagnostic, ...]:
    """Pair the definition with the task's interface, or say everything that does not fit."""
    problems = [*_input_problems(description, task, files), *_attribute_problems(description, task, files)]
    outputs, wrong = _outputs(description, task, files)
    problems += wrong
    if problems:
        return tuple(problems)
    known = {spec.name: spec for spec in task.attributes}
    return Bound(
        inputs=tuple(zip(description.inputs, task.inputs, strict=True)),
        outputs=tuple(outputs),
        attributes=tuple(
            (attribute, known[attribute.name]) for attribute in description.attributes if attribute.name in known
        ),
        late=_late(outputs, task),
    )


def row_of(description: OperatorDescription, bound: Bound, case: Case) -> int | str:
    """Index of the combination of element types that ``case`` needs, or what the definition lacks.

    Scalars are converted to whatever the combination says, so they only choose between combinations that fit alike. So
    do formats: tensors come dense, under the name that frameworks give to their rank.
    """
    wanted: list[tuple[OpArgument, str]] = []
    ranks: list[tuple[OpArgument, int]] = []
    scalars: list[tuple[OpArgument, str]] = []
    for argument, spec in bound.inputs:
        shapes = shapes_of(case.inputs.get(spec.name))
        if shapes:
            ranks.append((argument, len(shapes[0].shape)))
            (scalars if argument.scalar or argument.scalar_list else wanted).append((argument, shapes[0].dtype.ge))
    for argument, output in bound.outputs:
        shapes = shapes_of(case.outputs[output.name])
        if shapes:
            ranks.append((argument, len(shapes[0].shape)))
            wanted.append((argument, shapes[0].dtype.ge))
    rows = max((len(argument.dtypes) for argument in (*description.inputs, *description.outputs)), default=0)
    fitting = [row for row in range(rows) if all(_dtype(argument, row) == dtype for argument, dtype in wanted)]
    if not fitting:
        needed = ", ".join(f"{argument.name} {dtype}" for argument, dtype in wanted)
        listed = "; ".join(
            ", ".join(f"{argument.name} {_dtype(argument, row)}" for argument, _ in wanted)
            for row in range(min(rows, 8))
        )
        return f"no combination for {needed}; it lists {listed or 'none'}{'; …' if rows > 8 else ''}"

    def fitness(row: int) -> tuple[int, int]:
        dense = sum(_is_dense(argument, row, rank) for argument, rank in ranks)
        return dense, sum(_dtype(argument, row) == dtype for argument, dtype in scalars)

    return max(fitting, key=fitness)  # the first of equals


def shapes_of(value: CaseInput | TensorShape | tuple[TensorShape, ...]) -> tuple[TensorShape, ...]:
    """The tensors of one argument of a case; none for an absent one."""
    if value is None:
        return ()
    items = value if isinstance(value, tuple) else (value,)
    return tuple(item.tensor if isinstance(item, TensorCase) else item for item in items)


def place_of(pattern: str, files: Mapping[str, str]) -> tuple[str, int]:
    """File and line of the first code in ``files`` that matches ``pattern``; strings count as code."""
    for name, text in files.items():
        for match in re.finditer(pattern, text):
            # where the two differ the match begins in a comment or a string
            if masked(text)[match.start()] == text[match.start()]:
                return name, text.count("\n", 0, match.start()) + 1
    return "", 0


def _is_dense(argument: OpArgument, row: int, rank: int) -> bool:
    """Whether the combination takes a dense tensor of that rank as a framework hands it over."""
    return row < len(argument.formats) and argument.formats[row] in ("FORMAT_ND", _BY_RANK.get(rank))


def _dtype(argument: OpArgument, row: int) -> str:
    return argument.dtypes[row] if row < len(argument.dtypes) else "none"


def _problem(message: str, place: tuple[str, int], remedy: str) -> Diagnostic:
    return Diagnostic(Severity.ERROR, INTERFACE, message, file=place[0], line=place[1], remedy=remedy)


def _definition(description: OperatorDescription, files: Mapping[str, str]) -> tuple[str, int]:
    name = re.escape(description.name)
    place = place_of(rf"\bclass\s+{name}\b", files)
    return place if place[1] else place_of(rf"\bOP_ADD\s*\(\s*{name}\b", files)


def _input_problems(description: OperatorDescription, task: Task, files: Mapping[str, str]) -> Iterator[Diagnostic]:
    # in their order, which is that of the entry's pointers
    names, expected = [spec.name for spec in description.inputs], [spec.name for spec in task.inputs]
    if names != expected:
        yield _problem(
            f"the definition of {description.name} has the inputs {_listed(names)}; the task has {_listed(expected)}",
            _definition(description, files),
            "Declare the task's inputs under their names and in their order.",
        )
        return
    for argument, spec in zip(description.inputs, task.inputs, strict=True):
        if (argument.presence.value == "dynamic") != (spec.presence.value == "dynamic"):
            yield _problem(
                f"the definition declares input {argument.name} as {argument.presence.value}; the task's is "
                f"{spec.presence.value}",
                place_of(rf'\bInput\(\s*"{re.escape(argument.name)}"', files),
                f"Use ParamType({spec.presence.value.upper()}).",
            )
        if argument.value_depend and not _is_parameter(task, spec):
            yield _problem(
                f"the definition asks for the values of input {argument.name} for tiling; they are in device memory",
                place_of(rf'\bInput\(\s*"{re.escape(argument.name)}"', files),
                "Remove ValueDepend: it is for lists such as axes and extents; the kernel does the computing.",
            )
        if spec.presence.value == "optional" and argument.presence.value == "required":
            yield _problem(
                f"the definition requires input {argument.name}, which the task may leave out",
                place_of(rf'\bInput\(\s*"{re.escape(argument.name)}"', files),
                "Use ParamType(OPTIONAL).",
            )


def _is_parameter(task: Task, spec: InputSpec) -> bool:
    """Whether an input is a short list of numbers in every public case, which a host has at hand; not a tensor."""
    shapes = (shape for case in task.cases for shape in shapes_of(case.inputs.get(spec.name)))
    return all(shape.size <= _LONGEST_PARAMETER for shape in shapes)


def _attribute_problems(description: OperatorDescription, task: Task, files: Mapping[str, str]) -> Iterator[Diagnostic]:
    declared = {attribute.name for attribute in description.attributes}
    known = {attribute.name for attribute in task.attributes}
    missing = [spec.name for spec in task.attributes if spec.name not in declared]
    if missing:
        yield _problem(
            f"the definition of {description.name} lacks the attributes {_listed(missing)}",
            _definition(description, files),
            'Declare them: this->Attr("name").AttrType(OPTIONAL).Int(0), and so on.',
        )
    for attribute in description.attributes:
        if attribute.required and attribute.name not in known:
            yield _problem(
                f"the definition requires the attribute {attribute.name}, which the task does not have",
                place_of(rf'\bAttr\(\s*"{re.escape(attribute.name)}"', files),
                "Remove it, or make it OPTIONAL with a default.",
            )


def _outputs(
    description: OperatorDescription, task: Task, files: Mapping[str, str]
) -> tuple[list[tuple[OpArgument, OutputSpec]], list[Diagnostic]]:
    """Slots of outputs. One in the memory of an input goes by its own name or by the input's, or has no slot."""
    by_name = {spec.name: spec for spec in task.outputs}
    by_alias = {spec.alias_of: spec for spec in task.outputs if spec.alias_of is not None}
    slots: list[tuple[OpArgument, OutputSpec]] = []
    names = [output.name for output in description.outputs]
    for argument in description.outputs:
        spec = by_name.get(argument.name) or by_alias.get(argument.name)
        if spec is not None:
            slots.append((argument, spec))
    late = _late(slots, task)
    own = [spec.name for spec in task.outputs if spec.alias_of is None and spec is not late]
    if len(slots) == len(names) and [spec.name for _, spec in slots if spec.alias_of is None] == own:
        return slots, []
    aliases = [spec.name for spec in task.outputs if spec.alias_of is not None]
    also = f" (and, if wanted, {_listed(aliases)})" if aliases else ""
    return slots, [
        _problem(
            f"the definition of {description.name} has the outputs {_listed(names)}; the task has {_listed(own)}{also}",
            _definition(description, files),
            "Declare the task's outputs under their names and in their order.",
        )
    ]


def _late(outputs: Sequence[tuple[OpArgument, OutputSpec]], task: Task) -> OutputSpec | None:
    """The one output of the task that the definition has not, where the shape of another depends on values."""
    bound = [spec for _, spec in outputs]
    others = [spec for spec in task.outputs if spec.alias_of is None and spec not in bound]
    depends = any(argument.depends_on_compute for argument, _ in outputs)
    return others[0] if depends and len(others) == 1 else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
