"""How long a kernel takes: samples of event pairs, their median with its interval, and the noise of the measurement.

The device is behind three functions, so that the method is tested without one. Not yet run on hardware.

- Warm-up goes by time, not by count: the clock of a device that was idle rises for a while.
- Every sample runs on another copy of the inputs than the one before, with the cache flushed in between.
- A/A noise: the samples are dealt out to two halves in turns; what their medians differ by is what a difference between
  two kernels has to exceed before it means anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

__all__ = ["Budget", "Timing", "measure", "median_interval"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much is measured. Times in seconds of the host's clock."""

    warmup_s: float = 0.2
    sampling_s: float = 1.0
    least_samples: int = 20
    most_samples: int = 1000
    copies: int = 4


@dataclass(frozen=True, slots=True)
class Timing:
    """Median time of one launch in us, the 95 % interval of that median, and the relative A/A noise."""

    median_us: float
    low_us: float
    high_us: float
    noise: float
    samples: int


def measure(sample_us: Callable[[int], float], clock: Callable[[], float], budget: Budget) -> Timing:
    """Time ``sample_us``, which is told the number of the copy to run on and returns the time of one launch in us."""
    number, started = 0, clock()
    # a few at least, as the first launch loads the kernel, however long it takes
    while number < 3 or clock() - started < budget.warmup_s:
        sample_us(number % budget.copies)
        number += 1
    samples: list[float] = []
    started = clock()
    while len(samples) < budget.most_samples:
        # counted on from the warm-up: no launch runs on the copy of the one before
        samples.append(sample_us(number % budget.copies))
        number += 1
        if len(samples) >= budget.least_samples and clock() - started >= budget.sampling_s:
            break
    return summarise(samples)


def summarise(samples: Sequence[float]) -> Timing:
    """Median, interval and noise of samples in the order in which they were taken."""
    middle = median(samples)
    low, high = median_interval(samples)
    # in turns: a drift of the clock is in both halves alike
    halves = samples[0::2], samples[1::2]
    noise = abs(median(halves[0]) - median(halves[1])) / middle if len(samples) > 1 and middle else 0.0
    return Timing(middle, low, high, noise, len(samples))


def median_interval(samples: Sequence[float], confidence: float = 0.95) -> tuple[float, float]:
    """Order statistics that hold the true median with at least ``confidence``, whatever the distribution.

    The extremes where there are too few samples for that.
    """
    ordered, count = sorted(samples), len(samples)
    total = 2**count
    outside, rank = 1, 0  # the probability, times total, that fewer than rank + 1 samples are below the median
    # twice, for both sides: how many samples lie below the median is binomial with 1/2
    while rank + 1 < count // 2 and 2 * (outside + comb(count, rank + 1)) / total <= 1 - confidence:
        rank += 1
        outside += comb(count, rank)
    return ordered[rank], ordered[count - 1 - rank]
