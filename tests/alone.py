"""Files that no package holds, as modules: our scripts, and single files of packages that are not to be imported."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

__all__ = ["read_alone", "script"]


def read_alone(path: Path) -> ModuleType:
    """The module that a file makes, which no import finds."""
    spec = spec_from_file_location(f"{path.stem}_alone", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def script(name: str) -> ModuleType:
    """A file of ``scripts/``."""
    return read_alone(Path(__file__).resolve().parents[1] / "scripts" / name)
