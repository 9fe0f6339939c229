"""Where a right result came from: what a kernel's own instructions read and wrote, against what the task needs.

An executor that watches every instruction says which parts of its buffers were touched. Outputs that are right where
nothing wrote, or right although nothing read an input that they depend on, were not computed by the kernel that was
launched, however it was done: that is ``cheat``, with the evidence. Executors that cannot tell are not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from npukernelbench.judge.reads import depends_on_part, needed_bytes
from npukernelbench.nouns import Case, Diagnostic, Severity, Task, TensorCase, TensorShape, Touched

__all__ = ["canary_failed", "coverage", "doubtful", "unexplained"]

#: What the names of a lint's rules begin with.
_LINT = "lint_"
_REMEDY = "Compute the outputs from the inputs, by the instructions of the kernel that is launched."


class _Buffer(NamedTuple):
    """A buffer that a launch has for the case, and what of it was touched."""

    name: str
    nbytes: int
    touched: Touched


def coverage(touched: Mapping[str, Touched], case: Case) -> Mapping[str, float]:
    """``read_coverage`` and ``write_coverage``: the share of both that the kernel touched."""
    read, written = list(_inputs(touched, case)), list(_outputs(touched, case))
    shares = {
        "read_coverage": (
            sum(buffer.touched.read_bytes for buffer in read),
            sum(buffer.touched.nbytes for buffer in read),
        ),
        "write_coverage": (
            sum(buffer.touched.written_bytes for buffer in written),
            sum(buffer.nbytes for buffer in written),
        ),
    }
    return {name: part / whole for name, (part, whole) in shares.items() if whole}


def unexplained(task: Task, case: Case, touched: Mapping[str, Touched]) -> Diagnostic | None:
    """The evidence that right outputs did not come from the kernel's instructions; None when they can have."""
    if not touched:
        return None
    # These hold values before the launch, and a kernel may rightly leave some of them.
    given = {output.name for output in task.outputs if output.alias_of is not None or output.zeroed}
    for output in _outputs(touched, case):
        missing = output.nbytes - output.touched.written_bytes
        # Members of a tensor list are named `y[0]`, the output itself `y`.
        if output.name.partition("[")[0] not in given and missing > 0:
            part = f"{missing} of the {output.nbytes} bytes of output {output.name}"
            return _evidence(f"{part} are right, and no instruction wrote them", missing)
    needed, read = sum(needed_bytes(task, case).values()), list(_inputs(touched, case))
    # Only where nothing at all was read: that is proof. A part that was not read is doubt (`doubtful`).
    if needed and read and not any(buffer.touched.read_bytes for buffer in read):
        return _evidence(f"the outputs are right, and no instruction read any of the inputs' {needed} bytes", needed)
    return None


def doubtful(
    task: Task, case: Case, diagnostics: Sequence[Diagnostic], touched: Mapping[str, Touched]
) -> tuple[str, ...]:
    """What about a right kernel gives cause to judge it on other inputs, too: what the lint found in its source, and
    inputs that matter and were read in part only. No reason alone rejects a kernel.
    """
    reasons = [
        f"{diagnostic.rule}: {diagnostic.message}" for diagnostic in diagnostics if diagnostic.rule.startswith(_LINT)
    ]
    if not depends_on_part(task):
        reasons += [
            f"unread_input: only {given.touched.read_bytes} of the {given.nbytes} bytes of input {given.name} were read"
            for given in _inputs(touched, case)
            if given.touched.read_bytes < given.touched.nbytes
        ]
    return tuple(reasons)


def canary_failed(reasons: Sequence[str], *, same: bool = False) -> Diagnostic:
    """The evidence against a kernel that is right on the case's inputs only; ``same`` when it gave the same outputs for
    others, so that they do not depend on inputs at all.
    """
    what = "gives the same outputs for other inputs" if same else "is wrong on other inputs of the same case"
    why = f"; tested because of {reasons[0]}" if reasons else ""
    message = f"the kernel is right on the case's inputs, but {what}{why}"
    return Diagnostic(Severity.ERROR, "canary", message, remedy=_REMEDY)


def _evidence(message: str, nbytes: int) -> Diagnostic:
    return Diagnostic(Severity.ERROR, "unexplained_output", message, remedy=_REMEDY, details={"bytes": nbytes})


def _outputs(touched: Mapping[str, Touched], case: Case) -> Iterator[_Buffer]:
    """Outputs that have a buffer of their own and of the declared size; others are the executor's business."""
    for name, spec in case.outputs.items():
        members = {name: spec} if isinstance(spec, TensorShape) else {f"{name}[{i}]": s for i, s in enumerate(spec)}
        for member, shape in members.items():
            seen = touched.get(member)
            if seen is not None and shape.nbytes and seen.nbytes == shape.nbytes:
                yield _Buffer(member, shape.nbytes, seen)


def _inputs(touched: Mapping[str, Touched], case: Case) -> Iterator[_Buffer]:
    for name, value in case.inputs.items():
        members = [name] if isinstance(value, TensorCase) else [f"{name}[{i}]" for i in range(len(value or ()))]
        for member in members:
            if (seen := touched.get(member)) is not None and seen.nbytes:
                yield _Buffer(member, seen.nbytes, seen)
