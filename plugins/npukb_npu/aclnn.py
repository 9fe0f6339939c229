"""Calling a custom operator through the interface that the toolkit generates for it. Not yet run on hardware.

The build writes a header with the operator's two-phase interface. Its prototype says in which order arguments come and
what each is; here it is read and every parameter is paired with an argument of the task, by name: the documented rules
add ``Optional``, ``Ref`` and ``Out``, call a single output ``out``, and write names in camel case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from npukernelbench.nouns import AttributeSpec, Task
from npukernelbench.tasks.select import fold

__all__ = ["Binding", "Kind", "Parameter", "Prototype", "Unbound", "bind", "parse_header"]

_PROTOTYPE = re.compile(r"\baclnnStatus\s+(aclnn(\w+?)GetWorkspaceSize)\s*\(([^)]*)\)", re.DOTALL)


class Kind(str, Enum):
    """What a parameter of the first phase is."""

    TENSOR = "aclTensor"
    TENSOR_LIST = "aclTensorList"
    SCALAR = "aclScalar"
    SCALAR_LIST = "aclScalarList"
    INT_ARRAY = "aclIntArray"
    FLOAT_ARRAY = "aclFloatArray"
    BOOL_ARRAY = "aclBoolArray"
    INT = "int64_t"
    DOUBLE = "double"
    FLOAT = "float"
    BOOL = "bool"
    TEXT = "char"

    @property
    def is_data(self) -> bool:
        """Whether the parameter can stand for a tensor of the task."""
        return self.value.startswith("acl")


class Parameter(NamedTuple):
    """One parameter: its kind and the name in the header."""

    kind: Kind
    name: str


class Prototype(NamedTuple):
    """The first phase of an operator's interface; the second is ``run``."""

    prepare: str
    operator: str
    parameters: tuple[Parameter, ...]

    @property
    def run(self) -> str:
        """Name of the second phase."""
        return f"aclnn{self.operator}"


@dataclass(frozen=True, slots=True)
class Binding:
    """For every parameter what it stands for: ``input``, ``output`` or ``attribute``, and the task's name.

    ``late`` is the output of the task that tells the shape of the one before it, where the definition has none for it.
    """

    prototype: Prototype
    roles: tuple[tuple[str, str], ...]
    late: str = ""


@dataclass(frozen=True, slots=True)
class Unbound:
    """Why the interface does not fit the task, in words for the candidate's author."""

    message: str


def parse_header(text: str) -> Prototype | None:
    """The prototype in a generated header, the one for tensors on the device where there are two; None without one."""
    # comments may show prototypes
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    prototypes = [(name, operator, arguments) for name, operator, arguments in _PROTOTYPE.findall(plain)]
    if not prototypes:
        return None
    by_operator = {operator: (name, arguments) for name, operator, arguments in prototypes}
    plainest = min(by_operator, key=lambda operator: (operator.endswith("Tensor"), len(operator)))
    chosen = f"{plainest}Tensor" if f"{plainest}Tensor" in by_operator else plainest
    name, arguments = by_operator[chosen]
    parameters = tuple(_parameters(arguments))
    return Prototype(name, plainest if chosen == plainest else chosen, parameters)


def _parameters(arguments: str) -> Iterator[Parameter]:
    """Everything before ``workspaceSize`` and ``executor``."""
    for argument in arguments.split(","):
        # the first word is the type, the last the name; stars do not count
        words = re.findall(r"\w+", argument.replace("const", " "))
        if len(words) < 2 or words[-1] in ("workspaceSize", "executor"):
            continue
        yield Parameter(Kind(words[0]), words[-1])


def bind(prototype: Prototype, task: Task, *, shapes_come_late: bool = False) -> Binding | Unbound:
    """Pair every parameter with an argument of the task.

    An output in the memory of an input has no parameter where the definition gives both one name, and one of its own
    where it does not. ``shapes_come_late``: the kernel decides an output's shape, which the framework tells; the task's
    output for that shape is no parameter.
    """
    names: dict[str, tuple[str, str]] = {fold(spec.name): ("input", spec.name) for spec in task.inputs}
    # with the suffix an output is told from an input of its name
    names |= {fold(spec.name) + "out": ("output", spec.name) for spec in task.outputs}
    # the others lie in the memory of an input and may have no parameter
    own = [spec.name for spec in task.outputs if spec.alias_of is None]
    late = own.pop() if shapes_come_late and len(own) > 1 else ""
    # a default only: the task may have an input that is called `out`
    names.setdefault("out", ("output", _only(own, task)))
    attributes = {fold(spec.name): spec for spec in task.attributes}
    roles = []
    for parameter in prototype.parameters:
        role = _role(parameter, names, attributes)
        if role is None:
            return Unbound(_stranger(parameter, prototype, task))
        roles.append(role)
    wanted = [*(spec.name for spec in task.inputs), *own]
    missing = [name for name in wanted if not any(name == bound for _, bound in roles)]
    if missing:
        return Unbound(
            f"{prototype.prepare} has no parameter for {', '.join(missing)}: the definition has to declare the task's "
            f"inputs ({_listed(spec.name for spec in task.inputs)}) and outputs ({_listed(own)}) under these names"
        )
    return Binding(prototype, tuple(roles), late)


def _only(own: Sequence[str], task: Task) -> str:
    """What a parameter ``out`` stands for, which the toolkit calls so when there is one: the only output that is no
    input's memory, else the first of all."""
    return own[0] if own else task.outputs[0].name


def _stranger(parameter: Parameter, prototype: Prototype, task: Task) -> str:
    return (
        f"parameter {parameter.name} of {prototype.prepare} is no input, output or attribute of the task, which "
        f"has the inputs {_listed(spec.name for spec in task.inputs)}, the outputs "
        f"{_listed(spec.name for spec in task.outputs)} and the attributes "
        f"{_listed(spec.name for spec in task.attributes)}"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _role(
    parameter: Parameter, names: Mapping[str, tuple[str, str]], attributes: Mapping[str, AttributeSpec]
) -> tuple[str, str] | None:
    plain = fold(parameter.name)
    # the whole name first: an argument's own name may end like a suffix
    forms = (plain, plain.removesuffix("optional"), plain.removesuffix("ref"))
    # an array of numbers may be an attribute as well as an input whose values the host reads
    if parameter.kind.is_data and (meant := next((names[form] for form in forms if form in names), None)):
        return meant
    spec = next((attributes[form] for form in forms if form in attributes), None)
    return ("attribute", spec.name) if spec is not None else None
