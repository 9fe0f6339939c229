"""Legal kernels in the manner of tutorials and contests: they compile, run, and draw no word from the full checker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType
from tests.twin.running import Inputs, Outputs, Twin

FOLDER = Path(__file__).with_name("field_kernels")
RNG = np.random.default_rng(11)
F32 = DType.FLOAT32


@pytest.fixture(scope="module")
def strict() -> Iterator[Twin]:
    """A twin that looks at every byte."""
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL))
    yield Twin(executor)
    executor.close()


def run(strict: Twin, name: str, inputs: Inputs, outputs: Outputs) -> Mapping[str, np.ndarray]:
    done = strict.run_source((FOLDER / f"{name}.cpp").read_text(encoding="utf-8"), inputs, outputs)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return {key: np.asarray(done.output(key)) for key in outputs}


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def test_softmax_of_ragged_rows(strict: Twin) -> None:
    x = normal(100, 1003)
    seen = run(strict, "softmax", {"x": x}, {"y": (x.shape, F32)})
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.abs(seen["y"].reshape(x.shape) - e / e.sum(axis=1, keepdims=True)).max() < 1e-6


def test_sum_over_all_cores_through_the_workspace(strict: Twin) -> None:
    x = normal(65536)
    seen = run(strict, "reduce_ws", {"x": x}, {"y": ((1,), F32)})
    assert abs(float(seen["y"][0]) - float(x.astype(np.float64).sum())) < 1e-2


def test_atomic_sums_and_maxima(strict: Twin) -> None:
    x = normal(64, 256)
    seen = run(strict, "atomics", {"x": x}, {"y": ((256,), F32), "m": ((256,), F32)})
    blocks = next(n for n in range(1, 65) if np.array_equal(seen["m"], x[:n].max(axis=0)))
    assert np.abs(seen["y"] - x[:blocks].sum(axis=0)).max() < 1e-4


def test_pools_that_share_memory(strict: Twin) -> None:
    x = np.abs(normal(2048))
    seen = run(strict, "pools", {"x": x}, {"y": ((2048,), F32)})
    assert np.array_equal(seen["y"], np.concatenate([x[:1024], np.sqrt(x[1024:])]))


def test_masks_in_counter_and_normal_mode(strict: Twin) -> None:
    x = normal(1024).astype(np.float16)
    seen = run(strict, "counter", {"x": x}, {"y": ((1024,), DType.FLOAT16)})
    wanted = np.where(np.arange(1024) < 777, x, np.float16(0)).reshape(8, 128)
    wanted[:, 0:64:2] += np.float16(1)
    assert np.array_equal(seen["y"], np.maximum(wanted.reshape(-1), 0))


def test_quantisation_of_rows_with_scales_of_their_own(strict: Twin) -> None:
    x = normal(16, 256).astype(ml_dtypes.bfloat16)
    seen = run(strict, "quant", {"x": x}, {"y": ((16, 256), DType.INT8), "s": ((16,), F32)})
    wide = x.astype(np.float32)
    scale = np.abs(wide).max(axis=1) / np.float32(127)
    assert np.array_equal(seen["s"], scale)
    assert np.array_equal(seen["y"].reshape(16, 256), np.rint(wide * (np.float32(1) / scale)[:, None]))


def test_two_buffers_and_flags_by_hand(strict: Twin) -> None:
    x = np.abs(normal(8192)) + np.float32(0.01)
    seen = run(strict, "manual", {"x": x}, {"y": ((8192,), F32)})
    assert np.abs(seen["y"] - 2 * np.log(x.astype(np.float64))).max() < 1e-5


def test_columns_of_a_matrix(strict: Twin) -> None:
    x = normal(37, 45)
    seen = run(strict, "strided", {"x": x}, {"y": ((37, 11), F32)})
    assert np.array_equal(seen["y"].reshape(37, 11), x[:, 3:14])


def test_the_largest_with_their_places(strict: Twin) -> None:
    x = RNG.permutation(512).astype(np.float32)
    seen = run(strict, "sorttopk", {"x": x}, {"v": ((64,), F32), "i": ((64,), DType.INT32)})
    assert np.array_equal(seen["v"], np.sort(x)[::-1][:64])
    assert np.array_equal(seen["i"], np.argsort(-x)[:64])
