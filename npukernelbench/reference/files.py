"""References that lie beside their task: ``file.py:function`` in a task file, the file relative to the task's folder.

A file is executed once for every content that it has, as a module of its own; nothing is put on ``sys.path``.
"""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

__all__ = ["file_of", "module_of_file"]


def file_of(reference: str, folder: Path) -> Path | None:
    """The file that a reference names; None for one that names a module."""
    home, colon, _ = reference.rpartition(":")
    return folder / home if colon and home.endswith(".py") else None


def module_of_file(path: Path) -> ModuleType:
    """The file's module as its content is now. ImportError, with the place, when it is missing or fails."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ImportError(f"{path}: {error.strerror}") from error
    return _executed(path.resolve(), hashlib.sha256(content).hexdigest())


# The digest is part of the key: a changed file is executed again. Failures are not kept.
@lru_cache(maxsize=1024)
def _executed(path: Path, digest: str) -> ModuleType:
    name = f"npukb_reference_{digest[:16]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = module_from_spec(spec)
    # Where classes look for their own module, such as those that dataclasses make.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    # The user's own code: whatever is wrong with it is said with its place.
    except Exception as error:
        sys.modules.pop(name, None)
        raise ImportError(f"{_place(error, path)}: {type(error).__name__}: {error}") from error
    return module


def _place(error: Exception, path: Path) -> str:
    """Where in the file the error happened: its innermost line there."""
    if isinstance(error, SyntaxError):
        return f"{error.filename or path}:{error.lineno or 1}"
    line, trace = 0, error.__traceback__
    while trace is not None:
        # Tracebacks go from the outermost frame inwards: the last match is the innermost line of the file.
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else str(path)
