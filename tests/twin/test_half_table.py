"""Functions of halves that are looked up once many have been computed: the same bits as before."""

from __future__ import annotations

import numpy as np
import pytest

from npukernelbench.nouns import DType
from tests.twin.running import Twin

TILE = 8192
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)

BODY = """
    TPipe pipe;
    TBuf<TPosition::VECCALC> from, to;
    pipe.InitBuffer(from, {tile} * sizeof(half));
    pipe.InitBuffer(to, {tile} * sizeof(half));
    LocalTensor<half> a = from.Get<half>(), z = to.Get<half>();
    GlobalTensor<half> xs, ys;
    xs.SetGlobalBuffer((__gm__ half*)x, 65536);
    ys.SetGlobalBuffer((__gm__ half*)y, 3 * 65536);
    for (uint32_t tile = 0; tile < 3 * 65536 / {tile}; ++tile) {{
        DataCopy(a, xs[tile * {tile} % 65536], {tile});
        PipeBarrier<PIPE_ALL>();
        {call}
        PipeBarrier<PIPE_ALL>();
        DataCopy(ys[tile * {tile}], z, {tile});
        PipeBarrier<PIPE_ALL>();
    }}
"""


@pytest.mark.parametrize("name", ["Exp", "Ln", "Rsqrt", "Sin", "Tanh", "Erf", "Lgamma"])
def test_looking_up_is_computing(twin: Twin, name: str) -> None:
    call = f"{name}(z, a, {TILE});"
    done = twin.run(BODY.format(tile=TILE, call=call), {"x": HALVES}, {"y": ((3 * 65536,), DType.FLOAT16)})
    rounds = done.output().view(np.uint16).reshape(3, -1)
    assert np.isfinite(done.output()).any()
    assert np.array_equal(rounds[0], rounds[1])
    assert np.array_equal(rounds[0], rounds[2])


def test_looking_up_in_place_and_with_gaps(twin: Twin) -> None:
    in_place = f"DataCopy(z, a, {TILE});\nPipeBarrier<PIPE_ALL>();\nExp(z, z, {TILE});\n"
    gaps = f"Duplicate(z, (half)7, {TILE});\nExp(z, a, 100, {TILE // 128}, {{1, 1, 8, 8}});"
    outputs = {"y": ((3 * 65536,), DType.FLOAT16)}
    whole = twin.run(BODY.format(tile=TILE, call=in_place), {"x": HALVES}, outputs).output().view(np.uint16)
    parts = twin.run(BODY.format(tile=TILE, call=gaps), {"x": HALVES}, outputs).output().view(np.uint16)
    whole, parts = whole.reshape(-1, 128), parts.reshape(-1, 128)
    assert np.array_equal(whole[:, :100], parts[:, :100])
    assert (parts[:, 100:] == np.float16(7).view(np.uint16)).all()
