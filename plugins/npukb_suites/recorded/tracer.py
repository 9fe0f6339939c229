"""The process that runs a user's script and notes which arrays it writes: their files, types and shapes, and the plain
variables of the functions that write them.

Standard library only, so that any interpreter can run it: ``python tracer.py FD SCRIPT [ARGUMENT…]``; FD gets one line
of JSON per file.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["main"]

# Bounds on what goes through the pipe for every array: a script's variables may hold whole data sets.
_MOST_VARIABLES = 300
_MOST_ITEMS = 16


class _Tracer:
    """Between the call of ``tofile`` and its return, the last file that was opened is the array's."""

    def __init__(self, report: int) -> None:
        self._report = report
        self._opened = ""

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Notes what is opened for writing."""
        if event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
            # The builtin open tells a mode, os.open flags alone.
            mode, flags = arguments[1], arguments[2]
            if (mode and set(mode) & set("wa+")) or (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR)):
                self._opened = str(Path(os.fsdecode(arguments[0])).resolve())

    def profile(self, frame: FrameType, event: str, function: Any) -> None:
        """Notes each array when it has been written."""
        if event == "c_return" and getattr(function, "__name__", "") == "tofile":
            array = function.__self__
            if type(array).__module__.partition(".")[0] == "numpy" and self._opened:
                self.tell(array.dtype.name, list(array.shape), frame)

    def tell(self, dtype: str, shape: list[int], frame: FrameType) -> None:
        """A line for the file that was opened last."""
        told = {"path": self._opened, "dtype": dtype, "shape": shape, "variables": _variables(frame)}
        os.write(self._report, json.dumps(told).encode() + b"\n")


def _variables(frame: FrameType | None) -> dict[str, Any]:
    """Plain values by name, the innermost function's first."""
    result: dict[str, Any] = {}
    while frame is not None:
        # Locals before globals, as the script itself would find the name.
        for name, value in (*frame.f_locals.items(), *frame.f_globals.items()):
            if name not in result and len(result) < _MOST_VARIABLES and _is_plain(value := _own(value)):
                result[name] = value
        # Below it are the frames of runpy and of this file.
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return result


def _own(value: Any) -> Any:
    """A Python number out of one of NumPy's; a tuple as a list."""
    if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    return list(value) if isinstance(value, tuple) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= _MOST_ITEMS and all(type(item) in (bool, int, float) for item in value)
    return type(value) in (bool, int, float) or (type(value) is str and len(value) < 64)


def main(arguments: list[str]) -> None:
    """Run the script as its own command line would."""
    report, script = int(arguments[0]), arguments[1]
    tracer = _Tracer(report)
    sys.argv = arguments[1:]
    # As `python SCRIPT` does, since scripts import what lies beside them.
    sys.path.insert(0, str(Path(script).resolve().parent))
    sys.addaudithook(tracer.audit)
    # A profile function hears of functions in C, such as tofile; a trace function does not.
    sys.setprofile(tracer.profile)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sys.setprofile(None)


if __name__ == "__main__":
    main(sys.argv[1:])
