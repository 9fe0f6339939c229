"""What a user's file describes: a function or a module, how it is made, and what it is called with.

The form is the one that several suites share: a class (``Model``) or a function, ``get_inputs()`` for the arguments of
a call, ``get_init_inputs()`` for those of the constructor. Plain numbers among both are attributes of the operator.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from .loading import load_module, member

__all__ = ["Subject", "attribute_type", "is_list", "open_subject", "tensors_of"]

_MAKERS = {"inputs": "get_inputs", "init": "get_init_inputs"}


@dataclass
class Subject:
    """A callable of the user's. ``init`` are the constructor's arguments by name, ``given`` states the inputs of a call
    where the file has no ``get_inputs``."""

    module: ModuleType
    entry: Any
    init: dict[str, Any] = field(default_factory=dict)
    given: Sequence[Mapping[str, Any]] = ()

    @property
    def is_class(self) -> bool:
        return inspect.isclass(self.entry)

    def make(self, attributes: Mapping[str, Any] | None = None) -> Any:
        """The callable itself; ``attributes`` replace the constructor's arguments of their names.

        A module is made for the element type of the inputs that were stated.
        """
        if not self.is_class:
            return self.entry
        mine = {name: _like(value, self.init[name]) for name, value in (attributes or {}).items() if name in self.init}
        made = self.entry(**{**self.init, **mine})
        floats = {one["dtype"] for one in self.given if "float" in one.get("dtype", "")}
        # With several types nobody knows which of them the module computes in.
        return made.to(_dtype(floats.pop())) if len(floats) == 1 and hasattr(made, "to") else made

    def parameters(self) -> list[str] | None:
        """Names of a call's arguments; None where Python cannot tell, as of functions that are built in."""
        function = self.entry.forward if self.is_class else self.entry
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):
            return None
        # Without self.
        parameters = parameters[1:] if self.is_class else parameters
        kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        return [parameter.name for parameter in parameters if parameter.kind not in kinds]

    def arguments(self) -> dict[str, Any]:
        """A call's arguments by name: tensors, and plain values."""
        if self.given:
            stated = {one["name"]: _stated(one) for one in self.given}
            return {**stated, **self._left_out(stated)}
        maker = getattr(self.module, _MAKERS["inputs"], None)
        if maker is None:
            raise ValueError(
                "nothing says what it is called with: the file has no get_inputs(), and no inputs are given"
            )
        made = maker()
        if isinstance(made, Mapping):
            return dict(made)
        values = list(made) if isinstance(made, (list, tuple)) else [made]
        names = (self.parameters() or [])[: len(values)]
        # Functions that are built in, or take any number of arguments, name none.
        names += [f"x{position}" for position in range(len(names), len(values))]
        return dict(zip(names, values, strict=True))

    def _left_out(self, stated: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments with plain defaults, which are attributes. TypeError where one has no default."""
        function = self.entry.forward if self.is_class else self.entry
        known = self.parameters() or []
        if not all(name in known for name in stated):
            return {}  # they go by position
        parameters = inspect.signature(function).parameters
        defaults = {name: parameters[name].default for name in known if name not in stated}
        for name, value in defaults.items():
            if value is inspect.Parameter.empty:
                raise TypeError(
                    f"nothing says what its argument {name!r} is: a tensor belongs into --inputs, a number with its "
                    f"value into --attributes ({name}:float=1.0)"
                )
        # Others, such as None and functions, stay at their defaults and are no attributes.
        return {name: value for name, value in defaults.items() if attribute_type(value)}

    def call(self, made: Any, arguments: Mapping[str, Any], *, state: Mapping[str, Any] | None = None) -> list[Any]:
        """The tensors that one call returns, those of lists in their order."""
        return [tensor for output in self.outputs(made, arguments, state=state) for tensor in tensors_of(output)]

    def outputs(
        self,
        made: Any,
        arguments: Mapping[str, Any],
        *,
        state: Mapping[str, Any] | None = None,
        listed: Sequence[bool] = (),
    ) -> list[Any]:
        """The outputs of one call, tensors or lists of them, ``state`` in place of the module's own parameters. What
        returns nothing has the arguments that it changes for outputs. ``listed`` says which outputs are lists, where
        that is known; else as many tensors as a list among the arguments has are one.
        """
        known = self.parameters()
        # Names that are no parameters were made up: such arguments go by position.
        by_name = known is not None and all(name in known for name in arguments)
        positional = () if by_name else tuple(arguments.values())
        keyed = dict(arguments) if by_name else {}
        # Torch counts changes in place in a tensor's version.
        before = {name: _versions(value) for name, value in arguments.items()}
        if state:
            import torch

            result = torch.func.functional_call(made, dict(state), positional, keyed)
        else:
            result = made(*positional, **keyed)
        if result is None:
            result = [value for name, value in arguments.items() if _versions(value) != before[name]]
            values = result
        else:
            values = _grouped(result, arguments, listed)
        if not values:
            raise TypeError("it returns nothing and changes none of its arguments")
        for value in values:
            if not isinstance(value, _tensor_class()) and not is_list(value):
                raise TypeError(f"it returns {type(value).__name__}, where only tensors can be judged")
        return values


def open_subject(question: Mapping[str, Any], sizes: Mapping[str, int] | None = None) -> Subject:
    """The subject that a question names, with other sizes in its file."""
    target = question["target"]
    module = load_module(target, sizes)
    entry = member(module, target["name"])
    subject = Subject(module, entry, given=tuple(question.get("inputs") or ()))
    if subject.is_class:
        subject.init = _constructor(subject, question)
    return subject


def _constructor(subject: Subject, question: Mapping[str, Any]) -> dict[str, Any]:
    """The constructor's arguments by name, with the defaults of those that are left out."""
    maker = getattr(subject.module, _MAKERS["init"], None)
    made = maker() if maker is not None else []
    if isinstance(made, Mapping):
        positional, keyed = [], dict(made)
    else:
        positional, keyed = list(made), {}
    # Some files return positional and named arguments as a pair.
    if len(positional) == 2 and isinstance(positional[0], list) and isinstance(positional[1], dict):
        positional, keyed = positional
    keyed.update({name: _python(value) for name, value in (question.get("init") or {}).items()})
    bound = inspect.signature(subject.entry).bind(*positional, **keyed)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    for parameter in bound.signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            if arguments.pop(parameter.name):
                raise TypeError("the constructor takes any number of arguments; name them")
        elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
            arguments.update(arguments.pop(parameter.name))
    return arguments


def is_list(value: Any) -> bool:
    """Whether it is a list of tensors."""
    kind = _tensor_class()
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(item, kind) for item in value)


def tensors_of(value: Any) -> list[Any]:
    """A tensor, or those of a list; nothing of a plain value."""
    return list(value) if is_list(value) else [value] if isinstance(value, _tensor_class()) else []


def _tensor_class() -> type:
    import torch

    kind: type = torch.Tensor
    return kind


def _versions(value: Any) -> list[int]:
    return [tensor._version for tensor in tensors_of(value)]


def _grouped(result: Any, arguments: Mapping[str, Any], listed: Sequence[bool]) -> list[Any]:
    """What is returned as outputs: torch's own functions of lists return a tuple for a list."""
    if not isinstance(result, (tuple, list)):
        return [result]
    lengths = {len(value) for value in arguments.values() if is_list(value)}
    # A result of as many tensors as a list has is most likely a list; of another number, several outputs.
    one = list(listed) == [True] if listed else len(result) in lengths
    return [list(result)] if one and is_list(result) else list(result)


def attribute_type(value: Any) -> str:
    """The type that a task file gives an attribute with this value; empty where there is none."""
    # Before int, of which bool is a kind.
    if isinstance(value, bool):
        return "bool"
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind.__name__
    if isinstance(value, (list, tuple)) and value:
        kinds = {attribute_type(item) for item in value}
        if kinds == {"int"}:
            return "list_int"
        if kinds <= {"int", "float"}:
            return "list_float"
    return ""


def _like(value: Any, own: Any) -> Any:
    # Questions come as JSON, which has lists alone.
    return tuple(value) if isinstance(own, tuple) and isinstance(value, list) else value


def _python(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _dtype(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _stated(one: Mapping[str, Any]) -> Any:
    """An argument that is stated: a tensor, a list of them, or a plain value."""
    if "shapes" in one:
        return [_tensor({**one, "shape": shape}) for shape in one["shapes"]]
    return _tensor(one) if "shape" in one else _python(one["value"])


def _tensor(wanted: Mapping[str, Any]) -> Any:
    import torch

    dtype = _dtype(wanted["dtype"])
    low, high = wanted.get("low"), wanted.get("high", 8)
    if dtype.is_floating_point and low is not None:
        return torch.rand(wanted["shape"], dtype=dtype) + low
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(wanted["shape"], dtype=dtype)
    if dtype is torch.bool:
        return torch.rand(wanted["shape"]) < 0.5
    return torch.randint(low or 0, high, wanted["shape"], dtype=dtype)
