"""Gather, Gatherb, GatherMask and the fills, against NumPy, over element types, masks, strides and tails."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from npukernelbench.nouns import DType
from tests.twin import models, rows
from tests.twin.running import Twin
from tests.twin.test_api_convert import load

WIDE = rows.types_of("GatherMask")
N = 512


def calls(
    twin: Twin, dtype: DType, each: list[str], extra: str = "", **more: NDArray[np.generic]
) -> NDArray[np.generic]:
    """Runs every call on its own copy of a destination full of 7, and returns the destinations one below the other."""
    t = dtype.ascend_c
    stores = "\n".join(
        f"Duplicate(l_y, ({t})7, {N}); {call}\nDataCopy(gy[{i * N}], l_y, {N});" for i, call in enumerate(each)
    )
    loads = "\n".join(load("uint32_t" if v.dtype == np.uint32 else "uint16_t", k, v.size) for k, v in more.items())
    body = f"""TPipe pipe;
    {load(t, "a", N)}
    {loads}
    TBuf<TPosition::VECCALC> b_y;
    pipe.InitBuffer(b_y, {N} * sizeof({t}));
    LocalTensor<{t}> l_y = b_y.Get<{t}>();
    GlobalTensor<{t}> gy;
    gy.SetGlobalBuffer((__gm__ {t}*)y);
    {extra}
    {stores}"""
    done = twin.run(body, {"a": values(dtype), **more}, {"y": ((len(each) * N,), dtype)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return np.asarray(done.output()).reshape(len(each), N)


def values(dtype: DType) -> NDArray[np.generic]:
    return np.asarray((np.arange(N) % 251).astype(dtype.numpy()))


def filled(dtype: DType) -> NDArray[np.generic]:
    return np.full(N, 7).astype(dtype.numpy())


@pytest.mark.parametrize("dtype", WIDE)
def test_gather(twin: Twin, dtype: DType) -> None:
    """By count with a tail and a base, by lane count over repeats, by lane bits with a stride."""
    size = dtype.itemsize
    lanes = 256 // size
    rng = np.random.default_rng(size)
    at = rng.integers(0, N - 8, N).astype(np.uint32)
    bits = rng.integers(0, 2**63, 2, dtype=np.uint64) * np.array([1, lanes > 64], np.uint64)
    actual = calls(
        twin,
        dtype,
        [
            "Gather(l_y, l_a, l_at, 0, 77);",
            f"Gather(l_y, l_a, l_at, {8 * size}, {N});",
            f"Gather(l_y, l_a, l_at, 0, {lanes // 2 + 3}, 2, 8);",
            "Gather(l_y, l_a, l_at, 0, bits, 2, 9);",
        ],
        f"uint64_t bits[2] = {{{bits[0]}u, {bits[1]}u}};",
        at=(at * size).astype(np.uint32),
    )
    a = values(dtype)
    wanted = np.stack([filled(dtype)] * 4)
    wanted[0, :77] = a[at[:77]]
    wanted[1] = a[at + 8]
    lane = np.arange(2 * lanes)
    on = lane % lanes < lanes // 2 + 3
    wanted[2, : 2 * lanes][on] = a[at[: 2 * lanes][on]]
    for i in lane:
        if int(bits[i % lanes // 64]) >> (i % lanes % 64) & 1:
            wanted[3, i + (i // lanes) * (32 // size)] = a[at[i]]
    assert np.array_equal(actual, wanted)


@pytest.mark.parametrize("dtype", [DType.INT16, DType.FLOAT32])
def test_gatherb_moves_blocks(twin: Twin, dtype: DType) -> None:
    per = 32 // dtype.itemsize
    at = np.random.default_rng(3).integers(0, N // per, 16).astype(np.uint32)
    actual = calls(
        twin,
        dtype,
        ["Gatherb(l_y, l_a, l_at, 2, GatherRepeatParams(1, 8));", "Gatherb(l_y, l_a, l_at, 1, {2, 8});"],
        at=(at * 32).astype(np.uint32),
    )
    blocks = values(dtype).reshape(-1, per)
    wanted = np.stack([filled(dtype)] * 2)
    wanted[0, : 16 * per] = blocks[at].reshape(-1)
    for i in range(8):
        wanted[1, 2 * i * per : (2 * i + 1) * per] = blocks[at[i]]
    assert np.array_equal(actual, wanted)


PATTERNS: dict[int, Callable[[int], bool]] = {
    1: lambda i: i % 2 == 0,
    2: lambda i: i % 2 == 1,
    3: lambda i: i % 4 == 0,
    4: lambda i: i % 4 == 1,
    5: lambda i: i % 4 == 2,
    6: lambda i: i % 4 == 3,
    7: lambda i: True,
}


def gathered(
    a: NDArray[np.generic], bit: Callable[[int, int], bool], repeats: int, each: int, block: int, repeat: int
) -> list[np.generic]:
    """The elements GatherMask keeps; strides in blocks of 32 bytes."""
    per = 32 // a.dtype.itemsize
    return [
        a[(r * repeat + i // per * block) * per + i % per] for r in range(repeats) for i in range(each) if bit(r, i)
    ]


@pytest.mark.parametrize("dtype", WIDE)
def test_gather_mask(twin: Twin, dtype: DType) -> None:
    """Every pattern and a tensor of bits; repeats, strides, and as many elements as counter mode says."""
    size = dtype.itemsize
    lanes = 256 // size
    unit = np.uint16 if size == 2 else np.uint32
    mask = np.random.default_rng(9).integers(0, np.iinfo(unit).max, 64, dtype=unit)
    flags = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool)
    per_repeat = 32 * 8
    runs: list[tuple[str, list[np.generic]]] = []
    a = values(dtype)
    for number, keeps in PATTERNS.items():
        kept = gathered(a, lambda _, i, keeps=keeps: keeps(i), 2, lanes, 1, 8)  # type: ignore[misc]
        runs.append((f"{number}, false, 0, {{1, 2, 8, 0}}", kept))
    runs += [
        ("2, true, 37, {1, 3, 4, 0}", gathered(a, lambda _, i: i % 2 == 1, 3, 37, 1, 4)),
        ("l_mask, false, 0, {1, 2, 8, 1}", gathered(a, lambda r, i: flags[r * per_repeat + i], 2, lanes, 1, 8)),
        ("l_mask, false, 0, {2, 1, 0, 0}", gathered(a, lambda _, i: flags[i], 1, lanes, 2, 0)),
        ("l_mask, true, 70, {1, 2, 4, 0}", gathered(a, lambda _, i: flags[i], 2, 70, 1, 4)),
    ]
    each = [
        f"SetMaskCount(); GatherMask(l_y, l_a, {arguments}, kept); Duplicate(l_y[{N - 64}], "
        f"({dtype.ascend_c})((int)kept), 16);"
        for arguments, _ in runs
    ]
    actual = calls(twin, dtype, each, "uint64_t kept = 0;", mask=mask)
    for row, (arguments, kept) in zip(actual, runs, strict=True):
        assert np.array_equal(row[: len(kept)], np.asarray(kept)), arguments
        assert row[N - 64] == np.asarray(len(kept)).astype(dtype.numpy()), arguments


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.INT32])
def test_copy_and_index_by_lane_bits(twin: Twin, dtype: DType) -> None:
    t, lanes = dtype.ascend_c, 256 // dtype.itemsize
    per = 32 // dtype.itemsize
    bits = 0x00FF00FF0F0F3355
    actual = calls(
        twin,
        dtype,
        [
            "Copy(l_y, l_a, bits, 2, CopyRepeatParams(1, 1, 8, 8));",
            f"Copy(l_y, l_a, (uint64_t){per + 1}, 3, {{1, 1, 2, 4}});",
            f"CreateVecIndex(l_y, ({t})3, bits, 2, 1, 8);",
            f"CreateVecIndex(l_y, ({t})3, (uint64_t){per + 1}, 2, 2, 8);",
            f"ArithProgression(l_y, ({t})5, ({t})-3, 100);",
            f"Arange<{t}>(l_y, ({t})1, ({t})2, 9);",
        ],
        f"uint64_t bits[2] = {{{bits}u, {bits if lanes > 64 else 0}u}};",
    )
    a = values(dtype)
    wanted = np.stack([filled(dtype)] * 6)
    for i in range(2 * lanes):
        if bits >> (i % lanes % 64) & 1:
            wanted[0, i] = a[i]
            wanted[2, i] = 3 + i
    for r in range(3):
        wanted[1, r * 2 * per : r * 2 * per + per + 1] = a[r * 4 * per : r * 4 * per + per + 1]
    for r in range(2):
        wanted[3, r * lanes : r * lanes + per] = 3 + r * lanes + np.arange(per)
        wanted[3, r * lanes + 2 * per] = 3 + r * lanes + per
    wanted[4, :100] = 5 - 3 * np.arange(100)
    wanted[5, :9] = 1 + 2 * np.arange(9)
    assert models.same(actual, wanted)


@pytest.mark.parametrize("dtype", [DType.BFLOAT16, DType.FLOAT32])
def test_in_counter_mode_every_repeat_copies_as_many_elements_as_the_mask_says(twin: Twin, dtype: DType) -> None:
    t, per = dtype.ascend_c, 32 // dtype.itemsize
    row = 10 * per + 3  # more than a repeat holds in normal mode
    copies = [
        f"SetVectorMask<{t}, MaskMode::COUNTER>({row}); Copy<{t}, false>(l_y, l_a, MASK_PLACEHOLDER, {repeats});"
        for repeats in ("2, {1, 1, 11, 0}", "2, {1, 0, 11, 1}", "1, {1, 1, 0, 0}")
    ]
    copies.append(f"Copy(l_y, l_a, (uint64_t)({per} + 1), 2, {{2, 1, 5, 2}});")
    actual = calls(twin, dtype, [f"SetMaskCount(); {copy} SetMaskNorm(); ResetMask();" for copy in copies])
    a = values(dtype)
    wanted = np.stack([filled(dtype)] * 4)
    for r in range(2):
        at = r * 11 * per
        wanted[0, at : at + row] = a[:row]
        wanted[1, at : at + row] = np.tile(a[r * per : (r + 1) * per], 11)[:row]
        wanted[3, r * 5 * per : r * 5 * per + per] = a[2 * r * per : (2 * r + 1) * per]
        wanted[3, r * 5 * per + 2 * per] = a[(2 * r + 1) * per]
    wanted[2, :row] = a[:row]
    assert models.same(actual, wanted)
