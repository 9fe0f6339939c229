"""Tiling of matrix multiplication on the host side: what the search answers keeps the rules of TCubeTiling."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import ceil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukb_twin.operator.host_side import describe, tile
from npukb_twin.operator.host_types import OperatorDescription, TensorArgument, TilingResult
from tests.twin.hosting import DEFINITION, HEAD, ONE_CORE, PLAIN, Hosting, request

#: Reads its problem out of the input's shape, dimension by dimension.
SOURCE = (
    HEAD
    + '#include "tiling/tiling_api.h"\n'
    + """
namespace optiling {
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF(int64_t, answer);
TILING_DATA_FIELD_DEF_STRUCT(TCubeTiling, cube);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Probe, ProbeTilingData)
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    using namespace matmul_tiling;
    ProbeTilingData tiling;
    auto shape = context->GetInputShape(0)->GetStorageShape();
    auto at = [&](int i) { return static_cast<int32_t>(shape.GetDim(i)) - 1; };
    auto type = static_cast<DataType>(at(4));
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    MultiCoreMatmulTiling cube(platform);
    cube.SetDim(at(3));
    cube.SetAType(TPosition::GM, CubeFormat::ND, type, at(5));
    cube.SetBType(TPosition::GM, CubeFormat::ND, type, at(6));
    cube.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
    cube.SetBiasType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
    cube.SetOrgShape(at(0), at(1), at(2));
    cube.SetShape(at(0), at(1), at(2));
    cube.EnableBias(at(7));
    cube.SetBufferSpace(-1, -1, -1);
    if (at(8) > 0) cube.SetFixSplit(at(8), at(9), -1);
    cube.SetTraverse(at(10) ? MatrixTraverse::FIRSTN : MatrixTraverse::FIRSTM);
    cube.EnableMultiCoreSplitK(at(11));
    if (at(12) > 0) cube.SetBatchInfoForNormal(at(12), 1, at(0), at(1), at(2));
    tiling.set_answer(cube.GetTiling(tiling.cube));
    int32_t dim = 0, m = 0, n = 0;
    if (cube.GetCoreNum(dim, m, n) == 0) context->SetTilingKey(m * 1000 + n);
"""
    + ONE_CORE
    + DEFINITION.format(body=PLAIN)
)

BITS = {0: 32, 1: 16, 2: 8, 27: 16, 29: 4}
L0, L0C, L1 = 65536, 131072, 524288


class Probe:
    """The compiled tiling function."""

    def __init__(self, hosting: Hosting) -> None:
        self.hosting = hosting
        self.image = hosting.image({"op_host/probe.cpp": SOURCE})
        described = describe(self.image, hosting.runtime)
        assert isinstance(described, OperatorDescription), described
        self.names = [field.name for field in described.tiling["Probe"].nested["TCubeTiling"].fields]

    def ask(self, *numbers: int) -> tuple[Mapping[str, int] | None, TilingResult]:
        shape = tuple(number + 1 for number in (*numbers, *[0] * (13 - len(numbers))))
        answer = tile(self.image, request(TensorArgument(shape, "DT_FLOAT")), self.hosting.runtime)
        assert isinstance(answer, TilingResult), answer
        (said,) = struct.unpack_from("<q", answer.data)
        values = struct.unpack_from(f"<{len(self.names)}i", answer.data, 8)
        return (dict(zip(self.names, values, strict=True)) if said != -1 else None), answer


@pytest.fixture(scope="module")
def probe(hosting: Hosting) -> Probe:
    return Probe(hosting)


def keeps_the_rules(t: Mapping[str, int], bits: int, a_transposed: bool, b_transposed: bool, bias: bool) -> None:
    c0 = 256 // bits
    align_k = c0 if not a_transposed and b_transposed else max(c0, 16)
    base_m, base_n, base_k = t["baseM"], t["baseN"], t["baseK"]
    assert min(base_m, base_n, base_k) > 0
    assert (base_m % 16, base_n % 16, base_k % align_k) == (0, 0, 0)
    assert base_m * base_k * bits // 8 * t["dbL0A"] <= L0
    assert base_n * base_k * bits // 8 * t["dbL0B"] <= L0
    assert base_m * base_n * 4 * t["dbL0C"] <= L0C
    twice = t["depthA1"] // (t["stepM"] * t["stepKa"])
    assert twice in (1, 2)
    assert t["depthA1"] == t["stepM"] * t["stepKa"] * twice
    assert t["depthB1"] == t["stepN"] * t["stepKb"] * twice

    def up(value: int) -> int:
        return ceil(value / c0) * c0

    blocks = up(base_m) * base_k * t["depthA1"] + up(base_n) * base_k * t["depthB1"]
    assert blocks * bits // 8 + (base_n * 4 if bias else 0) <= L1
    assert not bias or base_n * 4 <= 1024
    k_steps_a, k_steps_b = (ceil(t["singleCoreK"] / (base_k * t[step])) for step in ("stepKa", "stepKb"))
    assert k_steps_a % k_steps_b == 0 or k_steps_b % k_steps_a == 0
    assert t["stepM"] == 1 or t["singleCoreK"] <= base_k * t["stepKa"]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    m=st.integers(1, 5000),
    n=st.integers(1, 5000),
    k=st.integers(1, 5000),
    cores=st.integers(1, 48),
    dtype=st.sampled_from(sorted(BITS)),
    a=st.booleans(),
    b=st.booleans(),
    bias=st.booleans(),
    split_k=st.booleans(),
)
def test_any_shape_has_a_tiling_that_keeps_the_rules(
    probe: Probe, m: int, n: int, k: int, cores: int, dtype: int, a: bool, b: bool, bias: bool, split_k: bool
) -> None:
    t, _ = probe.ask(m, n, k, cores, dtype, a, b, bias, 0, 0, 0, split_k)
    assert t is not None
    keeps_the_rules(t, BITS[dtype], a, b, bias)
    assert (t["M"], t["N"], t["Ka"], t["Kb"]) == (m, n, k, k)
    shares = (ceil(m / t["singleCoreM"]), ceil(n / t["singleCoreN"]), ceil(k / t["singleCoreK"]))
    assert t["usedCoreNum"] == shares[0] * shares[1] * shares[2] <= cores
    assert split_k or t["singleCoreK"] == k
    assert t["isBias"] == bias


def test_large_half_precision_gets_the_recommended_base_block(probe: Probe) -> None:
    t, answer = probe.ask(4096, 4096, 4096, 1, 1)
    assert t is not None
    assert sorted((t["baseM"], t["baseN"])) == [128, 256]
    assert t["baseK"] == 64
    assert (t["dbL0A"], t["dbL0B"], t["dbL0C"]) == (2, 2, 1)
    assert answer.tiling_key == 1001


def test_cores_are_used(probe: Probe) -> None:
    t, answer = probe.ask(1024, 1024, 1024, 24, 1)
    assert t is not None
    assert t["usedCoreNum"] >= 20
    assert answer.tiling_key // 1000 * (answer.tiling_key % 1000) == t["usedCoreNum"]


def test_what_is_asked_for_is_kept(probe: Probe) -> None:
    t, _ = probe.ask(256, 512, 300, 1, 1, 0, 1, 0, 64, 128, 1)
    assert t is not None
    assert (t["baseM"], t["baseN"], t["iterateOrder"]) == (64, 128, 1)


def test_batches_of_equal_shape(probe: Probe) -> None:
    t, _ = probe.ask(32, 256, 64, 1, 1, 0, 0, 1, 0, 0, 0, 0, 3)
    assert t is not None
    assert (t["BatchNum"], t["ALayoutInfoB"], t["BLayoutInfoB"], t["CLayoutInfoB"]) == (3, 3, 1, 3)
    assert (t["ALayoutInfoS"], t["ALayoutInfoD"], t["BLayoutInfoS"], t["CLayoutInfoS2"]) == (32, 64, 256, 256)


@pytest.mark.parametrize(
    ("base", "why"),
    [((32, 16), "no base block fits"), ((512, 512), "no base block fits"), ((20, 16), "multiples of 16")],
)
def test_a_base_block_that_cannot_be(probe: Probe, base: tuple[int, int], why: str) -> None:
    m = 16 if base == (32, 16) else 1024
    t, answer = probe.ask(m, 1024, 256, 1, 1, 0, 0, 0, *base)
    assert t is None
    assert why in answer.log
