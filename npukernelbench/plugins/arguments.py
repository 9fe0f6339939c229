"""What users give a plugin's class: arguments, checked by the ``Args`` model that the class brings along."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from npukernelbench.errors import UsageError
from npukernelbench.plugins.registry import Registration, did_you_mean

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
        # One error only, and without the value, which may be a key. An unknown name comes first: what is missing is
        # often there under a name with a slip in it.
        errors = error.errors(include_url=False, include_input=False)
        first = min(errors, key=lambda error: error["type"] != "extra_forbidden")
        unknown = first["type"] == "extra_forbidden"
        guess = did_you_mean(str(first["loc"][-1]), list(schema.model_fields)) if unknown else ""
        known = ", ".join(schema.model_fields) or "none"
        what = "there is no such argument" if unknown else first["msg"]
        raise UsageError(
            f"{what} ({registration.kind} {registration.name!r})",
            field=".".join((field, *(str(part) for part in first["loc"]))),
            remedy=f"{f'{guess} ' if guess else ''}arguments of this {registration.kind}: {known}",
        ) from None
