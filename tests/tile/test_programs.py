"""Programs beside tasks: golden kernels are exactly what they lower to, and they mean what the task says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from npukb_tile.checking import case_attributes, case_facts, check_budgets, check_interface, check_values
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.parse import parse_file
from npukernelbench.nouns import Case, Task, TensorCase, Track
from npukernelbench.tasks.goldens import golden_of
from npukernelbench.tasks.hidden import hidden_cases
from npukernelbench.tasks.making import digest_of
from tests.goldens.test_dynamic_goldens import judge
from tests.goldens.test_goldens import assert_faultless
from tests.suite import suite

__all__ = ["judge"]

SUITE = suite()
PROGRAMS = {
    task.name: (task, task.path.parent / "golden" / "tile.py")
    for task in SUITE.values()
    if (task.path.parent / "golden" / "tile.py").is_file()
}
SMALL = 6_000


#: One program for what the language has words for, beyond what all of the others have.
JUDGED = (
    "AddLayerNorm",  # an input that may be absent, an output that may be empty
    "BatchNormV3",  # outputs in the memory of inputs
    "ForeachDivScalarList",  # lists beside numbers, one for each tensor
    "FlashAttentionScoreWithLargeHeadDim",  # factors that are turned, three workspaces
    "GroupedMatmulSliceK",  # cube cores, an output of zeros
    "MatmulBias",  # a row added to sums
    "ScatterList",  # a list that is changed, beside other inputs
    "TopKV3",  # sorting, values that the host reads
)


def elements(case: Case) -> int:
    return sum(item.tensor.size for item in case.inputs.values() if isinstance(item, TensorCase))


def test_every_operator_of_ascendcraft_has_a_program() -> None:
    assert {task.name for task in SUITE.values() if task.suite == "ascendcraft"} <= set(PROGRAMS)


def test_most_tasks_have_a_program() -> None:
    assert len(PROGRAMS) >= 150


def test_the_golden_kernel_is_the_lowered_program() -> None:
    """To the byte: the digest in the task file is that of the files that were judged and timed."""
    changed = []
    for task, path in PROGRAMS.values():
        golden = golden_of(task, Track.DYNAMIC)
        assert golden is not None
        if golden.maker != "tile":
            continue  # written by hand, and a program beside it
        assert golden.path == path
        if digest_of(lower_dynamic(parse_file(path)).files) != golden.sha256:
            changed.append(task.name)
    assert not changed, "when that is meant: python -m benchmarks.golden_digests, then benchmarks.golden_times"


@pytest.mark.parametrize(("task", "path"), PROGRAMS.values(), ids=PROGRAMS)
def test_interface_memory_and_values(task: Task, path: Path) -> None:
    program = parse_file(path)
    check_interface(program, task)
    hidden = hidden_cases(task, "tile", 12)
    most = check_budgets(program, (*task.cases, *hidden))
    assert most <= 192 * 1024
    assert (most > 0) is bool(program.buffers)
    small = [case for case in (*task.cases, *hidden) if elements(case) <= SMALL][:2]
    assert small
    for case in small:
        assert check_values(program, task, case).wrong == ""


@pytest.mark.parametrize("name", JUDGED)
def test_both_forms_of_a_program_are_right(name: str, judge: Callable[..., object]) -> None:
    """On the twin; what a program means is compared with the reference above, for all of them."""
    task, path = PROGRAMS[name]
    program, case = parse_file(path), task.case("smoke")
    more = [case for case in task.cases if "extra" in case.profiles]
    files = lower_dynamic(program).files
    assert_faultless(judge(task, [case, *more], lambda _: files))  # type: ignore[arg-type]
    static = lower_static(program, case_facts(program, case), case_attributes(program, case)).files["kernel.cpp"]
    assert_faultless(judge(task, [case], static=static))  # type: ignore[arg-type]
