"""What users give a plugin's class: arguments, checked by the ``Args`` model that the class brings along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from npukernelbench.errors import UsageError
from npukernelbench.plugins.registry import Registration

__all__ = ["Construction", "with_arguments"]


class Construction(NamedTuple):
    """A class and the checked arguments that it is constructed with."""

    target: Callable[[BaseModel], object]
    args: BaseModel


def with_arguments(registration: Registration, given: Mapping[str, object], *, field: str) -> Construction:
    """Load a registered class and check its arguments; nothing is constructed yet. ``field`` is their setting's name.

    Raises PluginError when the target is not a class with an ``Args`` model, UsageError when the arguments do not fit.
    """
    target = registration.load()
    schema = getattr(target, "Args", None)
    if not (callable(target) and isinstance(schema, type) and issubclass(schema, BaseModel)):
        raise registration.broken("is not a class with an Args model")
    try:
        return Construction(target, schema.model_validate(dict(given)))
    except ValidationError as error:
        # The first error only, and without the value, which may be a key.
        first = error.errors(include_url=False, include_input=False)[0]
        known = ", ".join(schema.model_fields) or "none"
        raise UsageError(
            f"{first['msg']} ({registration.kind} {registration.name!r})",
            field=".".join((field, *(str(part) for part in first["loc"]))),
            remedy=f"arguments of this {registration.kind}: {known}",
        ) from None
