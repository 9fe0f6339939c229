"""Configuration files: YAML into a model of pydantic's, with the file and the field in every complaint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from npukernelbench.errors import ConfigError, SourceLocation

__all__ = ["PRESETS", "preset_path", "read_config"]

#: Configurations that come with the package.
PRESETS = Path(__file__).parent / "presets"

_Model = TypeVar("_Model", bound=BaseModel)


def read_config(model: type[_Model], path: Path | None, changes: Sequence[str] = ()) -> _Model:
    """The configuration in a file (defaults without one), with ``field=value`` changes on top. ConfigError."""
    data: dict[str, object] = {}
    if path is not None:
        try:
            loaded = yaml.safe_load(preset_path(path).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(str(error), location=SourceLocation(path)) from None
        if not isinstance(loaded, dict):
            raise ConfigError("a configuration is a mapping", location=SourceLocation(path))
        data |= loaded
    for change in changes:
        name, equals, value = change.partition("=")
        if not equals:
            raise ConfigError(f"{change!r} is no setting", field="--set", remedy="write --set field=value")
        # As YAML, so that a value has the type that it would have in a file.
        data[name] = yaml.safe_load(value)
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        known = ", ".join(model.model_fields)
        location = SourceLocation(path) if path else None
        raise ConfigError(first["msg"], location=location, field=field, remedy=f"fields: {known}") from None


def preset_path(path: Path) -> Path:
    """The path itself, or the preset of that name."""
    preset = PRESETS / f"{path}.yaml"
    # A file of the user's wins over a preset of its name.
    return path if path.exists() or not preset.is_file() else preset
