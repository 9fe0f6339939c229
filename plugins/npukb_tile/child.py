"""The process that reads a model's program: lowers it and tries it, within limits, and reports plain JSON.

Nothing of the program is executed; this process exists because reading may take more time, memory or stack than a
program is worth. It gets the task and its public cases, and never an expected value.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from npukb_tile.checking import (
    case_attributes,
    case_facts,
    check_budgets,
    check_interface,
    is_small,
    run_case,
)
from npukb_tile.fault import ProgramError
from npukb_tile.ir import Program
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.parse import parse_program
from npukernelbench.nouns import Case, Task, Track

__all__ = ["Request", "answer", "main"]

_MOST_DETAIL = 600
#: Cases that the interpreter is asked for, elements that they may have, and steps that it takes at most.
_MOST_TRIED = 3
_MOST_ELEMENTS = 2_500_000
_MOST_STEPS = 100_000


class Request(NamedTuple):
    """A program, and what it is to be: of ``task``, for ``cases``, all of them known to the model."""

    source: str
    task: Task
    cases: tuple[Case, ...]
    track: Track
    seed: int = 0


def answer(request: Request) -> dict[str, Any]:
    """``{"files": texts by name}`` or ``{"fault": {rule, detail, line, remedy}}``.

    Boundary: whatever reading the program raises is a fault of the program's, or of ours with rule ``lowering``.
    """
    try:
        return {"files": dict(_files(request))}
    except ProgramError as error:
        return _fault(error.rule, error.detail, error.line, error.remedy)
    # Before the last clause, which would call them faults of the lowering.
    except (RecursionError, MemoryError):
        return _fault("limit", "the program is nested too deeply, or too large", 0, "write shorter expressions")
    except Exception as error:  # noqa: BLE001
        return _fault("lowering", f"{type(error).__name__}: {error}", 0, None)


def _files(request: Request) -> Mapping[str, str]:
    program, cases = parse_program(request.source), request.cases
    static = request.track is Track.STATIC
    check_interface(program, request.task, cases if static else None)
    check_budgets(program, cases, dynamic=not static)
    # A few small cases show most faults; the twin judges all of them, and is quicker.
    for case in [case for case in cases if is_small(case, _MOST_ELEMENTS)][:_MOST_TRIED]:
        _try(program, request, case)
    if static:
        # A static program is one for exactly one case.
        [case] = cases
        return lower_static(program, case_facts(program, case), case_attributes(program, case)).files
    return lower_dynamic(program).files


def _try(program: Program, request: Request, case: Case) -> None:
    """Run a case, to find accesses out of bounds, missing tails and what is read before it is written."""
    try:
        run_case(program, request.task, case, request.seed, _MOST_STEPS)
    except ProgramError as error:
        if error.rule != "limit":  # the twin is quicker
            raise


def _fault(rule: str, detail: str, line: int, remedy: str | None) -> dict[str, Any]:
    # The detail goes into the next question to a model.
    short = detail if len(detail) <= _MOST_DETAIL else detail[:_MOST_DETAIL] + "…"
    return {"fault": {"rule": rule, "detail": short, "line": line, "remedy": (remedy or "")[:_MOST_DETAIL]}}


def main(respond: Callable[[Request], dict[str, Any]] = answer) -> None:
    """Read the request from the file that the first argument names, write the answer to the descriptor of the
    second.
    """
    # Programs may be MOST_DEPTH levels deep, and a level takes several frames in each pass.
    sys.setrecursionlimit(3000)
    request = pickle.loads(Path(sys.argv[1]).read_bytes())
    # ASCII: a program may hold lone surrogates, and its text comes back in messages.
    data = json.dumps(respond(request)).encode("ascii")
    with os.fdopen(int(sys.argv[2]), "wb") as report:
        report.write(data)
