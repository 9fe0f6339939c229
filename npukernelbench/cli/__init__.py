"""The command line: one file per command, each of which parses, calls and renders; nothing is decided here.

``npukb`` starts at :func:`main`. Exit codes: 0 done, 1 threshold missed (``--fail_under``), 2 usage, 3 task or
configuration error, 4 infrastructure, 130 interrupted, 141 the reader of the output has gone.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one ``npukb`` command line and return its exit code. ``argv`` defaults to that of the process."""
    import os
    import sys

    from npukernelbench.cli.boundary import App, guarded
    from npukernelbench.cli.complete import VARIABLE, complete
    from npukernelbench.console import Console

    # Before a language is chosen: a shell wants names and no texts.
    if instruction := os.environ.get(VARIABLE):
        from npukernelbench.cli.group import build_group

        return complete(build_group(), instruction, App(Console()))
    # Only for a command line of the process's own: a caller's garbage collector stays as it is.
    if argv is None:
        _collect_seldom()
    return guarded(sys.argv[1:] if argv is None else list(argv), Console())


def _collect_seldom() -> None:
    """Most commands end before there is garbage worth looking for: the looking would be a tenth of a listing's time.
    At the end of the process the system takes all memory back at once.
    """
    import atexit
    import gc

    gc.set_threshold(100_000, 20, 20)
    # What is frozen is left out of the collection that the interpreter makes at its end.
    atexit.register(gc.freeze)
