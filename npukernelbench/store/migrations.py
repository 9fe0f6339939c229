"""``results.json`` of older versions, brought to today's layout step by step when it is read. The file itself stays.

A version whose layout changes gets the next number and one step here; tests/store/old_runs holds folders that older
versions really wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from npukernelbench.errors import SourceLocation, StoreError
from npukernelbench.nouns.codec import JSON

__all__ = ["RESULTS_SCHEMA", "migrated_results"]

#: Version of the layout of ``results.json``.
RESULTS_SCHEMA = 2


def migrated_results(content: Mapping[str, JSON], location: SourceLocation) -> Mapping[str, JSON]:
    """``content`` in the layout of this version. StoreError for what is newer, or has no number that there ever was."""
    schema = content.get("schema")
    if isinstance(schema, bool) or not isinstance(schema, int) or not 1 <= schema <= RESULTS_SCHEMA:
        newer = isinstance(schema, int) and schema > RESULTS_SCHEMA
        raise StoreError(
            f"has schema version {schema!r}, this harness reads 1 to {RESULTS_SCHEMA}",
            location=location,
            remedy="update npukernelbench" if newer else "delete the file and run the same command again",
        )
    for version in range(schema, RESULTS_SCHEMA):
        content = {**_STEPS[version](content), "schema": version + 1}
    return content


def _with_turns(content: Mapping[str, JSON]) -> Mapping[str, JSON]:
    """Before there were turns, every sample was the first and only one of its conversation."""
    samples = content.get("samples")
    if not isinstance(samples, list):
        return content
    # What the row has itself goes before what is filled in.
    rows = [{"turn": 0, "turns": 1, **row} if isinstance(row, Mapping) else row for row in samples]
    return {**content, "samples": rows}


#: From each version to the next one.
_STEPS: Mapping[int, Callable[[Mapping[str, JSON]], Mapping[str, JSON]]] = {1: _with_turns}
