"""What makes a kernel faster on the device never makes it slower here, unless the machine says why.

Kernels drawn at random, each with one and two buffers, small and larger tiles, aligned and unaligned inputs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Profile
from tests.twin.drawn_kernels import SLACK, TILES, Kernel, draw
from tests.twin.running import Inputs, Twin

SEEDS = range(12)


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs())
    yield Twin(executor)
    executor.close()


def profile(twin: Twin, kernel: Kernel, *, grown: int = 1, buffers: int = 1, late: int = 0) -> Profile:
    """Of ``kernel`` with tiles ``grown`` times as large, so many buffers, and inputs read so many elements late."""
    dtype = DType.FLOAT16 if kernel.type == "half" else DType.FLOAT32
    inputs: Inputs = {
        **{f"a{i}": np.ones(kernel.total + SLACK, dtype.numpy()) for i in range(kernel.inputs)},
        "parameters": np.array([grown * kernel.tile, buffers, late, 0, 0, 0, 0, 0], np.int32),
    }
    outputs = {f"d{i}": ((kernel.total,), dtype) for i in range(kernel.outputs)}
    done = twin.run(kernel.body, inputs, outputs, block=None)
    assert done.seen is not None, done.compiled
    assert done.seen.profile is not None, [str(diagnostic) for diagnostic in done.diagnostics]
    assert not done.errors, [str(error) for error in done.errors]
    return done.seen.profile


def filling_us(measured: Profile, tiles: int) -> float:
    """One tile's way through all units: before the first result there is nothing that it could overlap with."""
    return sum(measured.counters.get(f"aiv_{unit}_time", 0.0) for unit in ("mte2", "vec", "mte3", "scalar")) / tiles


@pytest.mark.parametrize("seed", SEEDS)
def test_the_better_twin_is_never_slower(twin: Twin, seed: int) -> None:
    kernel = draw(seed)
    for buffers in (1, 2):
        plain = profile(twin, kernel, buffers=buffers)
        assert plain.time_us <= profile(twin, kernel, buffers=buffers, late=16).time_us
        larger = profile(twin, kernel, buffers=buffers, grown=2)
        assert larger.time_us <= plain.time_us + filling_us(larger, TILES // 2) / 2
        if buffers == 1:
            assert profile(twin, kernel, buffers=2).time_us <= plain.time_us
            assert profile(twin, kernel, buffers=2, grown=2).time_us <= larger.time_us


def test_kernels_that_are_drawn_differ() -> None:
    """In what they are made of, and from draw to draw not at all."""
    kernels = [draw(seed) for seed in range(60)]
    assert len({kernel.body for kernel in kernels}) == len(kernels)
    assert kernels[7] == draw(7)
    for word in ("DataCopyPad", "PIPE_ALL", "ReduceMax", "SetValue", "i * cores", "q_d1", "q_a2", "Exp", "Div"):
        assert 0 < sum(word in kernel.body for kernel in kernels) < len(kernels), word
