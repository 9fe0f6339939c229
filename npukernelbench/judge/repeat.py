"""The second run of a kernel whose outputs were right: under other circumstances it must give the same bytes.

What may differ between two runs says nothing about the inputs: the noise in unwritten memory, addresses, the number
of host threads, the time. A kernel that depends on any of it was right by luck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.nouns import Diagnostic, Observation, Outcome, Severity, named_tensors

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["compare_runs", "depends_on_cores"]

_REMEDY = (
    "Look for memory that is read before it is written, a missing synchronisation between cores, "
    "and results that depend on addresses or time."
)


def compare_runs(first: Observation, second: Observation) -> Diagnostic | None:
    """What differs between two runs on the same inputs, None when nothing does."""
    if second.outcome is not Outcome.OK:
        message = f"a second run on the same inputs ended differently: {second.outcome.value}"
        if second.diagnostics:
            message += f" ({second.diagnostics[0].message})"
        return _diagnostic(message)
    others = dict(named_tensors(second.outputs))
    for name, array in named_tensors(first.outputs):
        difference = _difference(name, array, others[name])
        if difference:
            return _diagnostic(difference)
    return None


def depends_on_cores(what: str) -> Diagnostic:
    """The warning about a kernel that is right, but not where its tiling function is told of fewer cores.

    It is judged for one chip, on which it is right: kernels that were verified on a device have its number of cores
    among their constants. On another chip of the family it would fail.
    """
    return Diagnostic(
        Severity.WARNING,
        "core_count",
        f"the kernel is right on all cores of the chip, but not when its tiling function gets fewer: {what}",
        remedy="Divide the work by the number of cores that the platform reports.",
    )


def _difference(name: str, first: Array, second: Array) -> str:
    import numpy as np

    # As bytes: the same NaN is equal, and 0 and -0 differ. Flat first, since a 0-d array has no view of another size.
    first_bytes, second_bytes = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (first, second))
    if np.array_equal(first_bytes, second_bytes):
        return ""
    differ = (first_bytes != second_bytes).reshape(first.size, -1).any(axis=1)
    place = ", ".join(str(int(index)) for index in np.unravel_index(int(differ.argmax()), first.shape))
    count = int(np.count_nonzero(differ))
    return (
        f"output {name}: {count} of {first.size} elements differ between two runs on the same inputs, first [{place}]"
    )


def _diagnostic(message: str) -> Diagnostic:
    rule = Outcome.NONDETERMINISTIC.value
    return Diagnostic(Severity.ERROR, rule, message, remedy=_REMEDY)
