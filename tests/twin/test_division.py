"""Divisions by zero: the scalar unit does not trap, whatever the host does."""

from __future__ import annotations

import numpy as np

from npukernelbench.nouns import DType
from tests.twin.running import Twin

BODY = """
    GlobalTensor<int64_t> to;
    to.SetGlobalBuffer((__gm__ int64_t*)y);
    int at = 0;
    auto put = [&](int64_t value) { to.SetValue(at++, value); };
    struct { int32_t i; uint32_t u; int64_t l; uint64_t v; int16_t s; uint8_t b; } zero[2] = {};
    volatile int one = 1;
    volatile int32_t i = -7;
    volatile uint32_t u = 7;
    volatile int64_t l = -1234567890123;
    put(i / zero[one].i);
    put(i % zero[one].i);
    put(u / zero[one].u);
    put(u % zero[one].u);
    put(l / zero[one].l);
    put(l % zero[one].l);
    put(5 / zero[one].s);
    put(u % zero[one].b);
    volatile int32_t least = -2147483647 - 1, minus = -1;
    put(least / minus);
    put(least % minus);
    volatile int64_t most = -9223372036854775807 - 1, less = -1;
    put(most / less);
    put(most % less);
    volatile int32_t fine = 9;
    put(fine / -2);
"""


def test_quotients_are_zero_and_remainders_the_dividend(twin: Twin) -> None:
    done = twin.run(BODY, {}, {"y": ((13,), DType.INT64)})
    least, most = -(2**31), -(2**63)
    expected = [0, -7, 0, 7, 0, -1234567890123, 0, 7, least, 0, most, 0, -4]
    np.testing.assert_array_equal(done.output(), expected)
