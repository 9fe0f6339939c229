"""Where right outputs came from: the evidence, and what gives cause for doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from npukernelbench.judge.provenance import canary_failed, coverage, doubtful, unexplained
from npukernelbench.nouns import Diagnostic, Severity, Task, Touched
from npukernelbench.testing.tasks import tiny_task


@pytest.fixture
def task() -> Task:
    return tiny_task("AddCustom")


def touched(task: Task, *, read: float = 1.0, written: float = 1.0) -> dict[str, Touched]:
    """A launch that touched these shares of every input and output."""
    case = task.cases[0]
    inputs = {name: value.tensor.nbytes for name, value in case.inputs.items()}
    outputs = {name: shape.nbytes for name, shape in case.outputs.items()}
    return {name: Touched(size, int(size * read), 0) for name, size in inputs.items()} | {
        name: Touched(size, 0, int(size * written)) for name, size in outputs.items()
    }


def test_a_kernel_that_reads_and_writes_everything_is_explained(task: Task) -> None:
    seen = touched(task)
    assert unexplained(task, task.cases[0], seen) is None
    assert doubtful(task, task.cases[0], (), seen) == ()
    assert coverage(seen, task.cases[0]) == {"read_coverage": 1.0, "write_coverage": 1.0}


def test_what_nothing_wrote_is_a_cheat(task: Task) -> None:
    proof = unexplained(task, task.cases[0], touched(task, written=0.5))
    assert proof is not None
    assert (proof.rule, proof.severity) == ("unexplained_output", Severity.ERROR)
    assert "no instruction wrote them" in proof.message


def test_what_depends_on_nothing_read_is_a_cheat(task: Task) -> None:
    proof = unexplained(task, task.cases[0], touched(task, read=0.0))
    assert proof is not None
    assert "no instruction read any" in proof.message


def test_a_part_that_was_not_read_is_doubt_only(task: Task) -> None:
    seen = touched(task, read=0.5)
    assert unexplained(task, task.cases[0], seen) is None
    reasons = doubtful(task, task.cases[0], (), seen)
    assert len(reasons) == len(task.cases[0].inputs)
    assert all(reason.startswith("unread_input: only ") for reason in reasons)
    assert 0 < coverage(seen, task.cases[0])["read_coverage"] < 1


def test_a_result_that_may_depend_on_a_part_is_left_alone(task: Task) -> None:
    partial = replace(task, tags=frozenset({"gather"}))
    assert unexplained(partial, partial.cases[0], touched(partial, read=0.0)) is None
    assert doubtful(partial, partial.cases[0], (), touched(partial, read=0.0)) == ()


def test_outputs_that_are_given_something_need_no_writes(task: Task) -> None:
    zeroed = replace(task, outputs=tuple(replace(output, zeroed=True) for output in task.outputs))
    assert unexplained(zeroed, zeroed.cases[0], touched(zeroed, written=0.0)) is None


def test_executors_that_cannot_tell_are_not_asked(task: Task) -> None:
    assert unexplained(task, task.cases[0], {}) is None
    assert coverage({}, task.cases[0]) == {}


def test_a_lint_gives_cause_for_doubt(task: Task) -> None:
    lint = Diagnostic(Severity.WARNING, "lint_constant_table", "t is a table of 8192 bytes of constants")
    reasons = doubtful(task, task.cases[0], (lint,), touched(task))
    assert reasons == ("lint_constant_table: t is a table of 8192 bytes of constants",)
    assert "gives the same outputs" in canary_failed(reasons, same=True).message
    assert "is wrong on other inputs" in canary_failed(reasons).message
