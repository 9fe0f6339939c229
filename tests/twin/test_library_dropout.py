"""DropOut against NumPy: masks of bytes and bits, with and without padding."""

from __future__ import annotations

import numpy as np
import pytest

from tests.twin.programs import DTYPES, Program, sample
from tests.twin.running import Twin

ROWS, N = 4, 64


@pytest.mark.parametrize("value", ["half", "float"])
def test_drop_out(twin: Twin, value: str) -> None:
    vt = DTYPES[value]
    rng = np.random.default_rng(6)
    x, kept = sample(vt, (ROWS, N), 7, 4), rng.integers(0, 2, (ROWS, N), dtype=np.uint8)
    noise = rng.integers(0, 256, (ROWS, 96), dtype=np.uint8)
    bits = np.packbits(kept, axis=1, bitorder="little")
    wide, wide_bits = noise.copy(), noise[:, :32].copy()
    wide[:, :N], wide_bits[:, : N // 8] = kept, bits
    p = Program()
    p.load("x", x)
    masks = {"bytes": kept, "padded": wide, "bits": bits, "spread": wide_bits}
    for name, mask in masks.items():
        p.load(name, mask)
        p.tensor(f"y{name}", ROWS * N, value)
    p.call("TBuf<TPosition::VECCALC> b_t;\npipe.InitBuffer(b_t, 8192);\nLocalTensor<uint8_t> tmp = b_t.Get<uint8_t>();")
    p.call(f"DropOutShapeInfo info;\ninfo.firstAxis = {ROWS};\ninfo.srcLastAxis = {N};")
    for at, (name, mask) in enumerate(masks.items()):
        p.call(f"info.maskLastAxis = {mask.shape[1]};")
        scratch, mode = ("tmp, ", f"<{value}, false, {[2, 1, 3, 4][at]}>") if at % 2 else ("", "")
        p.call(f"DropOut{mode}(l_y{name}, l_x, l_{name}, {scratch}0.8f, info);")
    seen = p.run(twin)
    scale = np.array(np.float32(1) / np.float32(0.8)).astype(vt.numpy())
    wanted = np.where(kept != 0, (x * scale).astype(vt.numpy()), 0).astype(vt.numpy())
    for name in masks:
        assert np.array_equal(seen[f"y{name}"], wanted.reshape(-1)), name
