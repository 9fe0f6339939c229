"""The method of measuring, with a device and a clock that the test makes up."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from npukb_npu.timing import Budget, measure, median_interval, summarise


class Device:
    """Every launch takes as long as the list says and moves the clock."""

    def __init__(self, times_us: list[float]) -> None:
        self.times, self.now, self.launches = times_us, 0.0, 0
        self.copies: list[int] = []

    def __call__(self, copy: int) -> float:
        time = self.times[min(self.launches, len(self.times) - 1)]
        self.launches += 1
        self.now += time * 1e-6
        self.copies.append(copy)
        return time

    def clock(self) -> float:
        return self.now


@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=400))
def test_the_interval_holds_the_median_and_has_its_confidence(samples: list[float]) -> None:
    timing, count = summarise(samples), len(samples)
    ordered = sorted(samples)
    assert ordered[0] <= timing.low_us <= timing.median_us <= timing.high_us <= ordered[-1]
    low, high = ordered.index(timing.low_us), count - 1 - ordered[::-1].index(timing.high_us)
    rank = min(low, count - 1 - high)
    covered = 1 - 2 * binom.cdf(rank, count, 0.5)
    assert covered >= 0.95 or (timing.low_us, timing.high_us) == (ordered[0], ordered[-1])


@pytest.mark.parametrize("count", [6, 20, 21, 100, 333, 2000])
def test_the_interval_is_the_narrowest_with_its_confidence(count: int) -> None:
    low, high = median_interval([float(i) for i in range(count)])
    rank = int(low)
    assert high == count - 1 - rank
    assert 1 - 2 * binom.cdf(rank, count, 0.5) >= 0.95
    assert 1 - 2 * binom.cdf(rank + 1, count, 0.5) < 0.95


def test_the_interval_holds_the_true_median_as_often_as_it_says() -> None:
    rng = random.Random(5)
    inside = 0
    for _ in range(2000):
        low, high = median_interval([rng.lognormvariate(0, 1) for _ in range(25)])
        inside += low <= 1 <= high
    assert inside / 2000 > 0.94


def test_warm_up_goes_by_time_and_is_not_counted() -> None:
    device = Device([1000.0] * 200 + [10.0])
    timing = measure(device, device.clock, Budget(warmup_s=0.2, sampling_s=0.001))
    assert timing.median_us == timing.high_us == 10.0
    assert timing.samples == 100
    assert device.launches == 300


@pytest.mark.parametrize(
    ("time_us", "samples"),
    [(1e6, 20), (1e3, 1000), (1.0, 1000), (1e4, 100)],  # at least 20, at most 1000, else one second
)
def test_the_number_of_samples(time_us: float, samples: int) -> None:
    device = Device([time_us])
    assert abs(measure(device, device.clock, Budget(warmup_s=0)).samples - samples) <= 1


def test_no_launch_runs_on_the_copy_of_the_one_before() -> None:
    device = Device([7.0])
    measure(device, device.clock, Budget(warmup_s=0, sampling_s=1e-3, copies=3))
    assert all(copy != other for copy, other in zip(device.copies, device.copies[1:], strict=False))
    assert max(Counter(device.copies).values()) - min(Counter(device.copies).values()) <= 1


def test_noise_is_what_two_equal_halves_differ_by() -> None:
    assert summarise([10.0, 10.0, 10.0, 10.0]).noise == 0
    assert summarise([10.0, 11.0] * 20).noise == pytest.approx(1 / 10.5)
    assert summarise([5.0]).noise == 0
    slow_half = summarise([10.0] * 50 + [20.0] * 50)
    assert slow_half.noise == pytest.approx(0)  # a change over time meets both halves alike
