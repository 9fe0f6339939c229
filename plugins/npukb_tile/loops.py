"""How a loop over a range begins in C++: its bound and step are those of the beginning, as in the language."""

from __future__ import annotations

from npukb_tile.cpp import render, safe
from npukb_tile.ir import Assign, Expr, For, Name, Peek, statements
from npukb_tile.storage import expressions, parts_of

__all__ = ["loop_head"]


def loop_head(loop: For) -> str:
    """``for (...)``. A bound or step that the body changes is computed once and kept beside the variable."""
    # C++ asks for bound and step in every round, Python's range once.
    changed = {loop.name} | {inner.name for inner in statements(loop.body) if isinstance(inner, Assign | For)}
    known = changed | {part.name for part in expressions(loop) if isinstance(part, Name)}
    name, stop, step = safe(loop.name), render(loop.stop, level=5), render(loop.step)
    begin = f"int64_t {name} = {render(loop.start)}"
    if _varies(loop.stop, changed):
        begin, stop = f"{begin}, {_unused(f'{loop.name}End', known)} = {stop}", _unused(f"{loop.name}End", known)
    if _varies(loop.step, changed):
        begin, step = f"{begin}, {_unused(f'{loop.name}Step', known)} = {step}", _unused(f"{loop.name}Step", known)
    forward = f"++{name}" if step == "1" else f"{name} += {step}"
    return f"for ({begin}; {name} < {stop}; {forward})"


def _unused(name: str, known: set[str]) -> str:
    return _unused(f"{name}_", known) if name in known else name


def _varies(node: Expr, changed: set[str]) -> bool:
    # What a buffer holds counts as changed: the body may compute in it.
    return any(isinstance(part, Peek) or (isinstance(part, Name) and part.name in changed) for part in parts_of(node))
