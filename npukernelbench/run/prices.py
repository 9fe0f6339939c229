"""What answers of a model cost: a table with source and date, and a user's own table that goes before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from pydantic import Field, TypeAdapter, ValidationError

from npukernelbench.errors import ConfigError, SourceLocation
from npukernelbench.strict import Strict

__all__ = ["OURS", "Price", "find_price", "read_prices"]

#: The table of this distribution.
OURS = Path(__file__).with_name("prices.yaml")


@dataclass(frozen=True, slots=True)
class Price:
    """Money per million tokens of prompt (``input``) and completion (``output``), reasoning included."""

    model: str
    input: float
    output: float
    currency: str
    source: str
    date: str


class _Group(Strict):
    """Prices of one source."""

    source: str = Field(min_length=1)
    date: date
    currency: str = "USD"
    models: Mapping[str, tuple[float, float]]


def find_price(backend: str, model_args: Mapping[str, object], own: Path | None = None) -> Price | None:
    """The price of the model that a run asks, by the argument ``model`` or else the backend's name; None when unknown.

    A provider before a slash (``openai/gpt-4o``) and a date behind the name (``gpt-4o-2024-08-06``) do not matter. The
    user's own table goes first.
    """
    name = str(model_args.get("model") or backend).casefold()
    tables = [read_prices(path) for path in (own, OURS) if path is not None]
    for table in tables:
        # The whole name first: a table may have a price of each provider.
        for spelling in (name, name.rpartition("/")[2]):
            price = table.get(spelling) or _dated(table, spelling)
            if price is not None:
                return price
    return None


def read_prices(path: Path) -> dict[str, Price]:
    """A table by model name in lower case. ConfigError when the file cannot be read as one."""
    import yaml

    try:
        groups = TypeAdapter(list[_Group]).validate_python(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", location=SourceLocation(path), field="prices") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"is no YAML: {error}", location=SourceLocation(path), field="prices") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ConfigError(
            str(first["msg"]),
            location=SourceLocation(path),
            field=".".join(str(part) for part in first["loc"]) or "prices",
            remedy="write a list of groups: source, date, currency, models: {NAME: [input, output]} per million tokens",
        ) from None
    return {
        name.casefold(): Price(name, given, taken, group.currency, group.source, group.date.isoformat())
        for group in groups
        for name, (given, taken) in group.models.items()
    }


def _dated(table: Mapping[str, Price], name: str) -> Price | None:
    """The entry that ``name`` is a dated version of."""
    # The longest first: a known name may itself end in a date.
    for known in sorted(table, key=len, reverse=True):
        rest = name.removeprefix(known)
        # Only digits that can be a date (0613, 240806, 20240806): another number names another model.
        if rest != name and rest.replace("-", "").isdigit() and len(rest.replace("-", "")) in (4, 6, 8):
            return table[known]
    return None
