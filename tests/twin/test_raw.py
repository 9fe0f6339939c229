"""Loads and stores of a kernel's own code: what each kind of core reaches, and what it is told beyond that."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import Allocation, DType, Outcome
from tests.twin.running import Twin

#: Adds one to 8 words, by pointers to global memory, on its stack and in the image.
ADD = """
    __gm__ int32_t* from = (__gm__ int32_t*)x;
    __gm__ int32_t* to = (__gm__ int32_t*)y;
    int32_t own[8];
    for (int i = 0; i < 8; ++i) own[i] = from[i] + g_ones[i];
    for (int i = 0; i < 8; ++i) to[i] = own[i];
"""
ONES = "int32_t g_ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};\n"
CUBE = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);\nif ASCEND_IS_AIV { return; }\n"
VECTOR = "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n"
WORDS = {"x": np.arange(8, dtype=np.int32)}
OUT = {"y": ((8,), DType.INT32)}
KINDS = pytest.mark.parametrize("kind", [VECTOR, CUBE], ids=["vector", "cube"])


@KINDS
def test_global_memory_stack_and_image(twin: Twin, kind: str) -> None:
    finished = twin.run(kind + ADD, WORDS, OUT, before=ONES)
    np.testing.assert_array_equal(finished.output(), np.arange(8) + 1)


@KINDS
@pytest.mark.parametrize(
    "line",
    [
        "*(volatile uint64_t*)&npukb_block_idx = 1;  // here",  # the runtime
        "*((volatile int32_t*)x - (1 << 22)) = 1;  // here",  # nobody's
        "volatile int32_t value = *((volatile int32_t*)x + 16);  // here",  # 32 bytes behind the end of x
    ],
)
def test_nothing_else_is_there(twin: Twin, kind: str, line: str) -> None:
    finished = twin.run(kind + line, WORDS, OUT)
    assert finished.outcome is Outcome.CRASH
    assert finished.found == [("crash", finished.marked)]


@pytest.mark.parametrize(
    ("kind", "own", "other"), [(VECTOR, "VECCALC", "A1"), (CUBE, "A1", "VECCALC")], ids=["vector", "cube"]
)
def test_memories_of_the_own_core_only(twin: Twin, kind: str, own: str, other: str) -> None:
    body = """
    auto* at = (volatile int32_t*)LocalTensor<int32_t>(TPosition::{place}, 64, 8).GetPhyAddr();
    at[1] = 5;  // here
    *((__gm__ int32_t*)y) = at[1];
"""
    assert twin.run(kind + body.replace("{place}", own), WORDS, OUT).output()[0] == 5
    finished = twin.run(kind + body.replace("{place}", other), WORDS, OUT)
    assert finished.found == [("crash", finished.marked)]


@pytest.mark.parametrize(
    ("place", "rules"), [(0, []), (16, ["gm_overrun"]), (200, ["stray_read", "gm_overrun"]), (1 << 19, ["crash"])]
)
def test_segments_of_pools_can_be_read(twin: Twin, place: int, rules: list[str]) -> None:
    pooled = Twin(twin.executor, Allocation.POOLED)
    finished = pooled.run(f"volatile int32_t value = *((volatile int32_t*)x + {place});  // here", WORDS, OUT)
    assert finished.found == [(rule, finished.marked) for rule in rules]


def test_reading_far_apart_takes_time(twin: Twin) -> None:
    """The first word of a line of the data cache comes from memory, the next ones from the cache."""

    def time_us(step: int) -> float:
        body = f"for (int i = 0; i < 64; ++i) ((__gm__ int32_t*)y)[0] = ((__gm__ int32_t*)x)[i * {step}];"
        finished = twin.run(body, {"x": np.zeros(64 * 64, np.int32)}, OUT)
        assert finished.seen is not None
        assert finished.seen.profile is not None
        return finished.seen.profile.time_us

    assert time_us(64) > 1.5 * time_us(1)
