"""Tables that lie as YAML files beside the code that reads them."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["packaged_table"]


def packaged_table(package: str, *path: str) -> object:
    """What the file at ``path`` in ``package`` holds.

    Every command reads some: libyaml, where there is one, takes a tenth of the time.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(files(package).joinpath(*path).read_text(encoding="utf-8"), loader)
