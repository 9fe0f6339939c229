"""What surrounds a kernel's buffers: nothing, or the rest of a segment that a framework cut them out of."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import Allocation, DType, Outcome
from tests.twin.openings import on_buffer, on_global
from tests.twin.running import Twin

#: Reads 64 floats of x from an element that the test gives, and writes them to y from another.
BODY = f"""{on_buffer("float", "a", 256)}{on_global("float", xs="x", ys="y")}
    int64_t source = *(__gm__ int64_t*)places, target = *((__gm__ int64_t*)places + 1);
    DataCopy(a, xs[source], 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(ys[target], a, 64);
"""
MIB = 1 << 18  # in floats


@pytest.fixture(scope="module")
def executor() -> Iterator[TwinExecutor]:
    made = TwinExecutor(TwinArgs())
    yield made
    made.close()


@pytest.fixture(scope="module")
def touch(executor: TwinExecutor):
    """``touch(allocation, source, target)``: what comes of reading and writing there, with this many floats in x."""

    def run(allocation: Allocation, source: int, target: int = 0, *, size: int = 64, seed: int = 7):
        inputs = {"x": np.ones(size, np.float32), "places": np.array([source, target], np.int64)}
        return Twin(executor, allocation).run(BODY, inputs, {"y": ((64,), DType.FLOAT32)}, seed=seed)

    return run


@pytest.mark.parametrize(
    ("source", "target", "exact", "pooled"),
    [
        (0, 0, [], []),
        (8, 0, ["gm_overrun"], ["gm_overrun"]),  # 32 bytes more than x has
        (16, 0, ["illegal_read"], ["gm_overrun"]),
        (64, 0, ["illegal_read"], ["gm_overrun"]),  # the end of its granule
        (72, 0, ["illegal_read"], ["stray_read"]),
        (2 * MIB - 64, 0, ["illegal_read"], ["stray_read"]),  # the end of its segment
        (2 * MIB - 56, 0, ["illegal_read"], ["illegal_read"]),
        (-8, 0, ["illegal_read"], ["illegal_read"]),
        (0, 8, ["gm_overrun"], ["gm_overrun"]),
        (0, 64, ["illegal_write"], ["gm_overrun"]),
        (0, 72, ["illegal_write"], ["stray_write"]),
    ],
)
def test_overruns_are_judged_by_the_memory_they_reach(touch, source, target, exact, pooled):
    assert [rule for rule, _ in touch(Allocation.EXACT, source, target).found] == exact
    assert [rule for rule, _ in touch(Allocation.POOLED, source, target).found] == pooled


@pytest.mark.parametrize(("target", "rule"), [(2 * MIB - 64, "stray_write"), (2 * MIB - 56, "illegal_write")])
def test_a_write_may_go_as_far_as_its_segment(touch, target, rule):
    assert [found for found, _ in touch(Allocation.POOLED, 0, target).found] == [rule]


@pytest.mark.parametrize(
    ("size", "segment"), [(MIB - 128, 2 * MIB), (MIB, 20 * MIB), (9 * MIB, 20 * MIB), (11 * MIB, 12 * MIB)]
)
def test_segments_follow_the_size_of_the_allocation(touch, size, segment):
    assert [rule for rule, _ in touch(Allocation.POOLED, segment - 64, size=size).found] == ["stray_read"]
    assert [rule for rule, _ in touch(Allocation.POOLED, segment - 56, size=size).found] == ["illegal_read"]


def test_what_lies_behind_a_tensor_depends_on_the_seed_alone(touch):
    behind = {seed: touch(Allocation.POOLED, 100_000, seed=seed).output() for seed in (1, 2)}
    assert not np.array_equal(behind[1].view(np.uint32), behind[2].view(np.uint32))
    again = touch(Allocation.POOLED, 100_000, seed=1).output()
    np.testing.assert_array_equal(again.view(np.uint32), behind[1].view(np.uint32))
    assert len(set(behind[1].view(np.uint32))) == 64


def test_the_rest_of_a_granule_is_not_empty(touch):
    finished = touch(Allocation.POOLED, 32)
    assert finished.seen is not None
    assert finished.seen.outcome is Outcome.OK
    output = finished.output().view(np.uint32)
    assert set(output[:32]) == {0x3F800000}
    assert 0 not in output[32:]
