"""What models get wrong is told by name and at its line; what looks like it and is right is accepted without a word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome, Severity
from tests.twin.mistakes import ELEMENTS, Grouped, Mistake, grouped, grouped_cubes, mistakes
from tests.twin.running import Finished, Twin

OUTPUTS = {"y": ((ELEMENTS,), DType.FLOAT32)}
X = np.random.default_rng(1).uniform(0.1, 4.0, ELEMENTS).astype(np.float32)


@pytest.fixture(scope="module")
def twins() -> Iterator[dict[str, Twin]]:
    made = {checker.value: Twin(TwinExecutor(TwinArgs(checker=checker))) for checker in (Checker.FAST, Checker.FULL)}
    yield made
    for twin in made.values():
        twin.executor.close()


def told(done: Finished, group: Grouped) -> list[list[tuple[str, bool, bool]]]:
    """Of every body what is said of it: rule, whether at the right line, whether it is a warning."""
    return [
        [
            (diagnostic.rule, diagnostic.line == here, diagnostic.severity is Severity.WARNING)
            for diagnostic in done.diagnostics
            if first <= diagnostic.line <= last
        ]
        for first, last, here in group.lines
    ]


def missed(
    twin: Twin, some: Sequence[Mistake], write: Callable[[Sequence[Mistake]], Grouped], blocks: int
) -> list[str]:
    """Names of those that are not told as they should be, with what is said instead."""
    left = []
    for at in range(0, len(some), blocks):
        group = write(some[at : at + blocks])
        x = X.astype(np.float16) if write is grouped_cubes else X
        done = twin.run_source(group.source, {"x": x}, OUTPUTS)
        assert done.seen is not None, [str(diagnostic) for diagnostic in done.diagnostics]
        for mistake, said in zip(some[at : at + blocks], told(done, group), strict=False):
            if (mistake.rule, True, mistake.warns) not in said:
                left.append(f"{mistake.name}: {said}")
    return left


@pytest.mark.parametrize("checker", ["fast", "full"])
def test_every_mistake_is_told_at_its_line(twins: dict[str, Twin], checker: str) -> None:
    wrong = [mistake for mistake in mistakes("wrong") if mistake.twin == checker]
    assert missed(twins[checker], wrong, grouped, 48) == []


@pytest.mark.parametrize("checker", ["fast", "full"])
def test_every_mistake_on_cube_cores_is_told_at_its_line(twins: dict[str, Twin], checker: str) -> None:
    wrong = [mistake for mistake in mistakes("cube") if mistake.twin == checker]
    assert missed(twins[checker], wrong, grouped_cubes, 24) == []


@pytest.mark.parametrize("checker", ["fast", "full"])
@pytest.mark.parametrize(("kind", "write"), [("right", grouped), ("right_cube", grouped_cubes)])
def test_what_looks_like_a_mistake_is_accepted(
    twins: dict[str, Twin], kind: str, write: Callable[[Sequence[Mistake]], Grouped], checker: str
) -> None:
    right = mistakes(kind)
    group = write(right)
    x = X.astype(np.float16) if write is grouped_cubes else X
    done = twins[checker].run_source(group.source, {"x": x}, OUTPUTS)
    said = [(mistake.name, what) for mistake, what in zip(right, told(done, group), strict=True) if what]
    assert (done.outcome, said, done.diagnostics) == (Outcome.OK, [], ())
