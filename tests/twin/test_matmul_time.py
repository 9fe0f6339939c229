"""Times of objects that multiply matrices: loads are transfers, which memory bounds and configurations change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.timing.machine import load
from npukernelbench.nouns import DType
from tests.twin.openings import on_cubes
from tests.twin.test_matmul_kernels import ALONE
from tests.twin.test_matmul_object import BEFORE, matrix, numbers, tiling

if TYPE_CHECKING:
    from npukernelbench.nouns import Profile
    from tests.twin.running import Twin

#: Every cube core multiplies a by columns of b of its own.
KERNEL = f"""{on_cubes("{config}")}
const uint32_t first = GetBlockIdx() * t.singleCoreN;
GlobalTensor<half> right = Of<half>(b);
GlobalTensor<float> out = Of<float>(y);
mm.SetTensorA(Of<half>(a));
mm.SetTensorB(right[first]);
mm.IterateAll(out[first]);
mm.End();
"""
CONFIGS = """
constexpr MatmulConfig FLAGGED = GetMDLConfig(false, false, 0, false, false, false, true);
constexpr MatmulConfig NOT_FLAGGED = GetMDLConfig(false, false, 0, false, false, false, false);
constexpr MatmulConfig AHEAD = GetMDLConfig(false, false, 2);
constexpr MatmulConfig STAGGERED =
    GetMDLConfig(false, false, 0, false, false, false, false, true, true, false, false, true);
constexpr MatmulConfig NINE = GetMMConfig<MatmulConfigMode::CONFIG_MDL>(
    MatmulFuncParams{false, false, false, false, 0, IterateOrder::UNDEF, ScheduleType::N_BUFFER_33});
"""
CORES, M, K, SHARE = 24, 64, 512, 256


def profile(
    twin: Twin, config: str = "CFG_NORM", columns: int = CORES * SHARE, depth: int = K, **changes: int
) -> Profile:
    rng = np.random.default_rng(1)
    a, b = matrix(rng, np.float16, M, depth), matrix(rng, np.float16, depth, columns)
    sizes = tiling(M, columns, depth, baseM=64, baseN=128, singleCoreN=SHARE, depthA1=2, depthB1=2)
    values = numbers({**sizes, **changes})
    done = twin.run(KERNEL.format(config=config), {"p": values, "a": a, "b": b}, {"y": ((M, columns), DType.FLOAT32)},
                    before=ALONE + CONFIGS, block=None)  # fmt: skip
    assert done.seen is not None
    assert done.seen.profile is not None
    return done.seen.profile


def test_products_take_as_long_as_memory_needs(twin: Twin) -> None:
    """The right matrix comes from memory once, over all cores: no prediction beats the roofline."""
    seen = profile(twin)
    loaded = K * CORES * SHARE * 2
    machine = load("ascend910b2")
    assert seen.counters["GM_to_L1_datas_kb"] * 1024 >= loaded
    assert seen.counters["main_memory_datas_kb"] * 1024 >= loaded
    assert seen.time_us > loaded / machine.roof.memory_bytes_per_s * 1e6
    assert "vector" not in seen.bottleneck


def test_more_base_blocks_with_a_transfer_are_faster(twin: Twin) -> None:
    """MDL loads four steps along K at a time: its rows are longer."""
    changes = {"stepKa": 4, "stepKb": 4, "depthA1": 8, "depthB1": 8}
    assert profile(twin, "CFG_MDL", **changes).time_us < 0.95 * profile(twin, **changes).time_us


def test_unaligned_rows_cost_more(twin: Twin) -> None:
    """Rows of the right matrix are two bytes longer than a multiple of 512."""
    aligned, unaligned = profile(twin), profile(twin, columns=CORES * SHARE + 1)
    loads = [seen.counters["aic_mte2_time"] for seen in (aligned, unaligned)]
    assert loads[1] > 1.2 * loads[0]


def test_second_buffers_overlap_loads_with_products(twin: Twin) -> None:
    assert profile(twin).time_us < profile(twin, depthA1=1, depthB1=1).time_us


def test_unit_flags_overlap_products_with_stores(twin: Twin) -> None:
    """Of four base blocks, products of three go on beside stores, and nothing waits for the end of another."""
    flagged, not_flagged = (
        profile(twin, name, CORES * 1024, depth=64, singleCoreN=1024, baseN=256) for name in ("FLAGGED", "NOT_FLAGGED")
    )
    saved = not_flagged.counters["aic_time"] - flagged.counters["aic_time"]
    assert 0.5 < saved / flagged.counters["aic_cube_time"] < 1.5


def test_setting_an_object_up_takes_its_time(twin: Twin) -> None:
    numbers_ = load("ascend910b2").numbers
    seen = profile(twin)
    known = numbers_["start_s"] + numbers_["matmul_init_s"] + 2 * numbers_["matmul_block_s"]
    assert seen.counters["aic_scalar_time"] == pytest.approx(known * 1e6, rel=0.3)


def test_loads_ahead_of_time_go_on_beside_products(twin: Twin) -> None:
    """Otherwise the next block's are ordered behind the products of this one. All of K has to be in L1."""
    changes = {"singleCoreN": 1024, "stepKa": 8, "stepKb": 8, "depthA1": 8, "depthB1": 16, "baseK": 64}
    usual, ahead = (profile(twin, name, CORES * 1024, **changes).time_us for name in ("CFG_MDL", "AHEAD"))
    assert 0.85 < ahead / usual < 0.98
    changes["depthB1"] = 8  # no room for the next one
    usual, ahead = (profile(twin, name, CORES * 1024, **changes).time_us for name in ("CFG_MDL", "AHEAD"))
    assert ahead == usual


def test_cores_that_begin_at_different_places_of_k_do_not_queue(twin: Twin) -> None:
    """All cores need the same left matrix, which comes from memory; not where it stays in L1."""
    changes = {"stepKa": 4, "stepKb": 4, "depthA1": 8, "depthB1": 8, "baseK": 64, "baseN": 64, "singleCoreN": 64}
    names = ("CFG_MDL", "STAGGERED")
    same, apart = (profile(twin, name, CORES * 64, depth=8192, **changes).time_us for name in names)
    assert 0.5 < apart / same < 0.95
    same, apart = (profile(twin, name, CORES * 64, depth=512, **changes).time_us for name in names)
    assert apart == same


def test_three_by_three_blocks_of_the_left_matrix_stay(twin: Twin) -> None:
    """It is loaded once, though the tiling has no room for more than one row of its blocks."""
    changes = {"baseM": 32, "baseK": 64, "stepKa": 3, "stepKb": 3, "depthA1": 3, "depthB1": 3}
    usual, nine = (
        profile(twin, name, depth=192, **changes).counters["GM_to_L1_datas_kb"] * 1024 for name in ("CFG_MDL", "NINE")
    )
    left, right = M * 192 * 2, 192 * SHARE * 2
    assert usual == CORES * (2 * left + right)
    assert nine == CORES * (left + right)


#: Two vector cores of a block multiply halves of a by the same b.
TOGETHER = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
using A = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using B = MatmulType<TPosition::GM, CubeFormat::ND, half, false, LayoutMode::NONE, {shared}>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, float>;
TCubeTiling t = TilingOf(p);
TPipe pipe;
Matmul<A, B, C, C, {config}> mm;
REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);
if (GetBlockIdx() > 1) return;
const uint32_t row = GetBlockIdx() * t.singleCoreM;
GlobalTensor<half> left = Of<half>(a);
GlobalTensor<float> out = Of<float>(y);
mm.SetTensorA(left[row * t.Ka]);
mm.SetTensorB(Of<half>(b));
mm.IterateAll(out[row * t.N]);
mm.End();
"""


def test_a_shared_matrix_is_loaded_once(twin: Twin) -> None:
    """Where L1 has room for all of it: with less, both products load it."""
    rng = np.random.default_rng(3)
    a, b = matrix(rng, np.float16, M, K), matrix(rng, np.float16, K, SHARE)
    loaded = {}
    for shared, depth in ((0, 4), (1, 4), (1, 2)):
        sizes = tiling(M, SHARE, K, baseM=32, baseN=SHARE, baseK=128, singleCoreM=M // 2, depthA1=depth, depthB1=depth,
                       stepKa=depth, stepKb=depth, usedCoreNum=2, dbL0B=1)  # fmt: skip
        body = TOGETHER.format(shared=bool(shared), config="CFG_IBSHARE_NORM" if shared else "CFG_NORM")
        body = body.replace("True", "true").replace("False", "false")
        done = twin.run(body, {"p": numbers(sizes), "a": a, "b": b}, {"y": ((M, SHARE), DType.FLOAT32)},
                        before=BEFORE, block=None)  # fmt: skip
        assert done.seen is not None
        assert done.seen.profile is not None
        loaded[shared, depth] = done.seen.profile.counters["GM_to_L1_datas_kb"] * 1024
    assert loaded[0, 4] == loaded[1, 2] == a.nbytes + 2 * b.nbytes
    assert loaded[1, 4] == a.nbytes + b.nbytes
