"""``results.json`` and its typed model: the one place that reads and writes the file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns.codec import JSON, to_json
from npukernelbench.nouns.results import Results
from npukernelbench.store.files import read_object, replace_json
from npukernelbench.store.migrations import migrated_results

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["RESULTS_NAME", "read_results", "results_json", "write_results"]

RESULTS_NAME = "results.json"
#: What only some runs have.
_OPTIONAL = ("calls", "effort", "optimised")


def results_json(results: Results) -> Mapping[str, JSON]:
    """The content of the file: strict JSON values, mappings sorted."""
    values = to_json(_model().dump_python(results, by_alias=True))
    assert isinstance(values, Mapping)
    # Most runs have none of these, and their file stays as it was.
    return {name: value for name, value in values.items() if name not in _OPTIONAL or value is not None}


def write_results(folder: Path, results: Results) -> None:
    """Replace the file in one step."""
    replace_json(folder / RESULTS_NAME, results_json(results))


def read_results(folder: Path) -> Results:
    """The results in ``folder``, those of older versions in today's layout. FileNotFoundError before they were written;
    StoreError names file and field, and says of a newer version to update.
    """
    from pydantic import ValidationError

    path = folder / RESULTS_NAME
    content = migrated_results(read_object(path), SourceLocation(path))
    try:
        return _model().validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"{place}: {first['msg']}",
            location=SourceLocation(path),
            remedy="delete the file and run the same command again: it is made of the event log",
        ) from error


@lru_cache(maxsize=1)
def _model() -> TypeAdapter[Results]:
    """Built when needed: importing the store stays cheap."""
    from pydantic import TypeAdapter

    return TypeAdapter(Results)
