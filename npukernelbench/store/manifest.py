"""The manifest: what decides a run's results, and under what circumstances they came about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from npukernelbench.errors import SourceLocation, StoreError, UsageError
from npukernelbench.nouns.codec import dumps, to_json
from npukernelbench.store.files import SCHEMA, read_json, replace_json

__all__ = ["MANIFEST_NAME", "Manifest", "check_same_run", "differences", "read_manifest", "write_manifest"]

MANIFEST_NAME = "manifest.json"
_SHOWN_DIFFERENCES = 6


@dataclass(frozen=True, slots=True)
class Manifest:
    """``identity`` decides the results: two runs with equal identities are the same run. ``provenance`` does not.

    Both are turned into plain JSON values; TypeError when that is impossible. Credentials must be taken out before, see
    :func:`npukernelbench.config.redact`.
    """

    identity: Mapping[str, object]
    provenance: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # As it is read back from the file: tuples and enums would compare as different.
        object.__setattr__(self, "identity", to_json(self.identity))
        object.__setattr__(self, "provenance", to_json(self.provenance))

    @property
    def run_id(self) -> str:
        """16 hexadecimal digits of the hash of the identity."""
        return hashlib.sha256(dumps(self.identity).encode()).hexdigest()[:16]


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest into its run folder, durably."""
    replace_json(
        folder / MANIFEST_NAME,
        {
            "schema": SCHEMA,
            "run_id": manifest.run_id,
            "identity": manifest.identity,
            "provenance": manifest.provenance,
        },
    )


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run folder. FileNotFoundError when there is none, StoreError when it is damaged or edited."""
    path = folder / MANIFEST_NAME
    content = read_json(path)
    identity, provenance = content.get("identity"), content.get("provenance")
    if not isinstance(identity, Mapping) or not isinstance(provenance, Mapping):
        raise StoreError("lacks identity or provenance", location=SourceLocation(path), remedy="restore the file")
    manifest = Manifest(identity, provenance)
    # An identity that was edited would claim samples that another run made.
    if content.get("run_id") != manifest.run_id:
        raise StoreError(
            f"run_id {content.get('run_id')!r} does not belong to the identity, which hashes to {manifest.run_id!r}",
            location=SourceLocation(path),
            remedy="restore the file; a run's identity cannot be edited",
        )
    return manifest


def check_same_run(folder: Path, here: Manifest, wanted: Manifest) -> None:
    """UsageError naming the fields in which the run in ``folder`` differs from the wanted one."""
    if here.run_id == wanted.run_id:
        return
    changes = list(differences("", here.identity, wanted.identity))
    lines = [f"  {name}: {_short(old)} in the folder, {_short(new)} now" for name, old, new in changes]
    if len(lines) > _SHOWN_DIFFERENCES:
        lines[_SHOWN_DIFFERENCES:] = [f"  and {len(lines) - _SHOWN_DIFFERENCES} more"]
    raise UsageError(
        "\n".join(["the folder holds another run; these fields differ:", *lines]),
        location=SourceLocation(folder),
        field=", ".join(name for name, _, _ in changes[:_SHOWN_DIFFERENCES]),
        remedy="use another --output_path, or the options of that run",
    )


class _Absent:
    def __repr__(self) -> str:
        return "absent"


_ABSENT = _Absent()


def differences(prefix: str, old: object, new: object) -> Iterator[tuple[str, object, object]]:
    """Dotted name and both values of every field in which two JSON values differ, below ``prefix``."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in sorted({*old, *new}):
            dotted = f"{prefix}.{name}" if prefix else name
            yield from differences(dotted, old.get(name, _ABSENT), new.get(name, _ABSENT))
    elif old != new or type(old) is not type(new):
        # Of another type, too: in Python 1, 1.0 and True are equal; as JSON they hash to different runs.
        yield prefix, old, new


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
