"""Names that public kernels use and that kernels often define themselves: given to those that need them."""

from __future__ import annotations

import numpy as np

from npukb_twin.compile.borrowed_names import BORROWED, borrowed
from npukb_twin.documentation import api_entry
from npukernelbench.judge.documented import ApiStatus
from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Twin

#: One kernel with all of them; every number that it says is checked.
KERNEL = """
#include "kernel_operator.h"
#include "kernel_event.h"
#include "platform/platform_ascendc.h"
#include "tiling/platform/platform_ascendc.h"
using namespace AscendC;

template <typename T>
__aicore__ inline constexpr int32_t IsNew() {
    return IsSameType<T, fp8_e4m3fn_t>::value || IsSameType<T, hifloat8_t>::value;
}
__aicore__ inline float Lowest() { return *(float*)(&F32_NEG_INF); }

extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {
    AscendC::SetSyncBaseAddr(reinterpret_cast<uint64_t>(workspace));
    icache_preload(4);
    PRELOAD(2);
    ENABLE_DETERMINISTIC();
    ASCENDC_ASSERT(x != nullptr, { KERNEL_LOG(KERNEL_ERROR, "no input for block %d", 1); });
    ASSERT_MSG(x != nullptr, "no input for block %ld", GetBlockIdx());
    AscendCUtils::SetOverflow(0);
    const bool saturates = GetCtrlSpr<48, 48>() == 0;
    AscendCUtils::SetOverflow(1);
    if (GetBlockIdx() != 0) return;
    uint32_t slice = 100, count = 0;
    int32_t base = 16;
    constexpr bool small = CeilDiv(uint64_t(3), 2) == 2;
    const int64_t numbers[] = {
        Ceil(slice, base), AscendC::CeilDiv(uint64_t(1000), 7), CeilAlign(slice, base), CeilDiv(5, 0), small,
        DEFAULT_C0_SIZE / sizeof(half), TOTAL_UB_SIZE, TOTAL_L1_SIZE, TOTAL_L0A_SIZE, TOTAL_L0B_SIZE, TOTAL_L0C_SIZE,
        Lowest() == -__builtin_inff(), F32_INF, clz(1), clz(0),
        IsNew<fp8_e4m3fn_t>(), IsNew<half>(), sizeof(fp8_e5m2_t),
        platform_ascendc::SocVersion::ASCEND910B != platform_ascendc::SocVersion::ASCEND950,
        QuantMode_t::QF322F16_PRE != QuantMode_t::F322F16, GetffstMsg(2, 3),
        saturates + GetCtrlSpr<48, 48>(), AscendCUtils::GetBitSize(sizeof(half)),
        IsSameType<__bf16, bfloat16_t>::value,
        FULL_MASK == ~uint64_t(0), DEFAULT_DATA_COPY_NBURST, DEFAULT_DATA_COPY_STRIDE, is_same<half, half>::value,
        IsSameType<TrueType, FalseType>::value, GetScalarBitcodeValue(half(-1)), GetScalarBitcodeValue(1.0f),
        HALF_FACTOR, SYNC_AIC_FLAG != SYNC_AIV_FLAG, SYNC_AIC_AIV_FLAG != SYNC_AIV_ONLY_ALL,
        B32_DATA_NUM_PER_REPEAT * B32_BYTE_SIZE / (B32_DATA_NUM_PER_BLOCK * B32_BYTE_SIZE),
        static_cast<int>(PAD_MODE7) - static_cast<int>(pad_t::PAD_NONE),
    };
    GlobalTensor<int64_t> said;
    said.SetGlobalBuffer((__gm__ int64_t*)y, 64);
    for (int64_t number : numbers) said.SetValue(count++, number);

    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, 256);
    out.SetGlobalBuffer((__gm__ float*)z, 256);
    matmul::InitOutput<float>(out, 256, 0);
    PipeBarrier<PIPE_ALL>();
    LocalTensor<float> a, b;
    uint64_t off = 1024;
    a.address_.logicPos = static_cast<uint8_t>(TPosition::VECIN);
    a.address_.bufferAddr = reinterpret_cast<uint64_t>(off);
    a.address_.dataLen = 512;
    b.InitBuffer(4096, 128);
    b.address_.logicPos = (uint8_t)TPosition::VECCALC;
    TBuffAddr place;
    place.logicPos = (uint8_t)TPosition::VECOUT;
    place.bufferAddr = 8192;
    place.dataLen = 512;
    LocalTensor<float> c(place);
    DataCopy(a, in, 128);
    PipeBarrier<PIPE_ALL>();
    Adds(b, a, 1.0f, 128);
    Adds(c, b, 1.0f, 128);
    PipeBarrier<PIPE_ALL>();
    DataCopy(out, c, 128);
    __ubuf__ float* raw = (__ubuf__ float*)b.address_.bufferAddr;
    LocalTensor<half> large;
    large.address_.logicPos = (uint8_t)TPosition::A1;
    large.InitBuffer(256, 100);
    said.SetValue(count++, a.GetSize());
    said.SetValue(count++, c.address_.bufferAddr - a.address_.bufferAddr);
    said.SetValue(count++, raw[2]);
    said.SetValue(count++, large.GetSize());
}
"""
SAID = (
    *(7, 143, 112, 0, 1),
    *(16, 192 << 10, 512 << 10, 64 << 10, 64 << 10, 128 << 10),
    *(1, 0x7F800000, 63, 64),
    *(1, 0, 1, 1, 1, 0x321),
    *(2, 16, 1),
    *(1, 1, 0, 1, 0, 0xBC00, 0x3F800000, 2, 1, 1),
    *(8, 7),
    *(128, 7168, 3, 100),
)

OWN = """
template <typename T> __aicore__ inline T CeilDiv(T a, T b) { return (a + b) / b; }
__aicore__ inline uint32_t CeilAlign(uint32_t a, uint32_t b)
{
    return 7;
}
namespace mine { constexpr uint32_t TOTAL_UB_SIZE = 5; struct hifloat8_t { int x = 3; }; }
#define DEFAULT_C0_SIZE 16
"""

#: A cube core and its vector cores take turns.
TURNS = """
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIC_1_2);
GlobalTensor<int32_t> g;
g.SetGlobalBuffer(reinterpret_cast<__gm__ int32_t*>(y), 64);
if (get_block_idx() != 0) return;
if (g_coreType == AIC) {
    g.SetValue(0, 1);
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(g);
    NotifyEvent<PIPE_FIX>(3);
    WaitEvent(4);
} else {
    wait_flag_dev(3);
    if (GetSubBlockIdx() == 0) {
        g.SetValue(16, g.GetValue(0) + 1);
        DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE>(g);
    }
    ffts_cross_core_sync(PIPE_MTE3, GetffstMsg(0x2, 4));
}
"""


def test_every_name_computes_what_it_says(twin: Twin) -> None:
    x = np.arange(256, dtype=np.float32)
    done = twin.run_source(KERNEL, {"x": x}, {"y": ((64,), DType.INT64), "z": ((256,), DType.FLOAT32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert tuple(np.asarray(done.output())[: len(SAID)]) == SAID
    assert np.array_equal(done.output("z"), np.where(x < 128, x + 2, 0))


def test_a_kernels_own_definition_is_meant(twin: Twin) -> None:
    body = """
    GlobalTensor<int32_t> g;
    g.SetGlobalBuffer((__gm__ int32_t*)y, 8);
    mine::hifloat8_t own;
    const int32_t numbers[] = {CeilDiv(8, 4), (int32_t)CeilAlign(8, 4), (int32_t)mine::TOTAL_UB_SIZE,
                               DEFAULT_C0_SIZE, own.x};
    for (int i = 0; i < 5; ++i) g.SetValue(i, numbers[i]);
    """
    done = twin.run(body, outputs={"y": ((8,), DType.INT32)}, before=OWN)
    assert tuple(np.asarray(done.output())[:5]) == (3, 7, 5, 16, 3)
    assert borrowed({"kernel.cpp": OWN}) == ""
    assert "CeilDiv" in borrowed({"kernel.cpp": OWN, "more.h": "int n = AscendC::CeilDiv(8, 4);"})
    assert borrowed({"kernel.cpp": "// CeilDiv\n", "notes.md": "CeilDiv"}) == ""


def test_names_are_seen_through_the_namespace_of_products(twin: Twin) -> None:
    """As in matrix kernels that ran on devices; where the kernel says nothing of the kind, a name is missed."""
    body = "GlobalTensor<int32_t> g;\ng.SetGlobalBuffer((__gm__ int32_t*)y, 8);\ng.SetValue(0, GetBlockIdx() * 0 + 3);"
    source = f"""#include "kernel_operator.h"
    #include "lib/matmul_intf.h"
    using namespace matmul;
    extern "C" __global__ __aicore__ void probe(GM_ADDR y, GM_ADDR workspace) {{ {body} }}
    """
    done = twin.run_source(source, outputs={"y": ((8,), DType.INT32)})
    assert np.asarray(done.output())[0] == 3
    done = twin.run_source(source.replace("using namespace matmul;", ""), outputs={"y": ((8,), DType.INT32)})
    assert done.outcome is Outcome.COMPILE_ERROR


#: What kernels also call things of their own, used and defined; a function of the kernel's own that the headers have.
MISSED = """
GlobalTensor<int64_t> g;
g.SetGlobalBuffer((__gm__ int64_t*)y, 8);
g.SetValue(0, block_num - get_block_num());
g.SetValue(1, Align<uint32_t>(100, 16));
g.SetValue(2, min(int64_t(5), int64_t(6)) + min(7u, 8u));
"""
MINE = """
__aicore__ inline int64_t min(int64_t a, int64_t b) { return -(a < b ? a : b); }
template <typename T> struct Never {
    // for another chip: named, never called
    __aicore__ Never(LocalTensor<half> to, LocalTensor<int32_t> from) {
        DataCopy(to, from, DataCopyParams(1, 1, 0, 0),
                 DataCopyEnhancedParams(BlockMode::BLOCK_MODE_MATRIX, DeqScale::VDEQ16, 0, 0, false, pad_t::PAD_NONE,
                                        0));
    }
};
"""


def test_names_of_variables_are_given_where_they_are_missed(twin: Twin) -> None:
    finished = twin.run(MISSED, outputs={"y": ((8,), DType.INT64)}, before=MINE)
    assert tuple(np.asarray(finished.output())[:3]) == (0, 112, 2), [str(error) for error in finished.diagnostics]
    assert borrowed({"kernel.cpp": MISSED}) == ""
    own = "struct Align { int block_num; };\nint64_t block_num = 3;\nAlign a{4};\n"
    body = own + MISSED.replace(" - get_block_num()", " + a.block_num").replace("Align<uint32_t>(100, 16)", "1")
    finished = twin.run(body, outputs={"y": ((8,), DType.INT64)}, before=MINE)
    assert tuple(np.asarray(finished.output())[:3]) == (7, 1, 2), [str(error) for error in finished.diagnostics]


def test_to_convert_on_the_way_is_an_error_of_this_chip(twin: Twin) -> None:
    body = "LocalTensor<half> h;\nLocalTensor<int32_t> i;\nNever<int> never(h, i);  // here"
    finished = twin.run(body, before=MINE)
    assert finished.outcome is Outcome.COMPILE_ERROR
    assert "keeps the element type" in finished.errors[0].message


def test_an_assertion_with_a_message_says_it(twin: Twin) -> None:
    finished = twin.run('ASSERT_MSG(GetBlockIdx() > 0, "block %ld", GetBlockIdx());  // here')
    assert [(error.rule, error.line) for error in finished.errors] == [("assertion", finished.marked)]


def test_flags_between_cores_by_their_intrinsics(twin: Twin) -> None:
    done = twin.run(TURNS, outputs={"y": ((64,), DType.INT32)}, block=None)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert tuple(np.asarray(done.output())[[0, 16]]) == (1, 2)


def test_types_of_other_chips_are_named_and_not_used(twin: Twin) -> None:
    calls = {
        "fp8_e4m3fn_t v;  // here": "fp8_e4m3fn_t",
        "LocalTensor<hifloat8_t> t;\nAdd(t, t, t, 8);  // here": "hifloat8_t",
        "GlobalTensor<fp8_e5m2_t> g;\nLocalTensor<fp8_e5m2_t> t;\nDataCopy(t, g, 32);": "fp8_e5m2_t",
    }
    for body, name in calls.items():
        done = twin.run(body)
        first = done.errors[0]
        assert done.outcome is Outcome.COMPILE_ERROR
        assert first.message.startswith(f"{name} is an element type of other chips"), first.message
        assert first.remedy
        assert first.line > 0
        if "// here" in body:
            assert first.line == done.marked


def test_a_warning_of_a_mixed_kernel_is_told_once(twin: Twin) -> None:
    before = "const float lowest = *(float*)(&F32_NEG_INF);"
    done = twin.run(f"{TURNS}\nif (lowest > 0) g.SetValue(1, 1);", outputs={"y": ((64,), DType.INT32)}, before=before)
    assert [diagnostic.rule for diagnostic in done.compiled.diagnostics] == ["lint_constructor"]


def test_a_mode_of_other_chips_ends_the_kernel(twin: Twin) -> None:
    body = """
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    LocalTensor<float> c;
    c.address_.logicPos = (uint8_t)TPosition::CO1;
    c.InitBuffer(0, 256);
    GlobalTensor<half> g;
    g.SetGlobalBuffer((__gm__ half*)y, 256);
    FixpipeParamsV220 p(16, 16, 16, 16, false);
    p.quantPre = QuantMode_t::QF322F16_PRE;
    Fixpipe<half, float, CFG_ROW_MAJOR>(g, c, p);  // here
    """
    done = twin.run(body, outputs={"y": ((256,), DType.FLOAT16)})
    assert [(error.rule, error.line) for error in done.errors] == [("quant_mode", done.marked)]
    assert "a mode of other chips" in done.errors[0].message


#: A vector core gets what earlier chips do with the matrix unit, and never comes there.
UNREACHED = """
GlobalTensor<float> g;
g.SetGlobalBuffer((__gm__ float*)y, 64);
SetAtomicNone();
LocalTensor<float> c;
c.address_.logicPos = (uint8_t)TPosition::CO1;
c.InitBuffer(0, 256);
#ifdef __DAV_C220_CUBE__
SetHF32Mode(false);
if (GetBlockIdx() == 0) {
    g.SetValue(0, 7);
    DataCacheCleanAndInvalid<float, CacheLine::ENTIRE_DATA_CACHE>(g);
}
#else
FixpipeParams<float> p(1, 1, 0, 1);
Fixpipe(g, c, p);  // here
#endif
"""


def test_what_earlier_chips_do_with_the_matrix_unit_makes_no_kernel_one_of_both_cores(twin: Twin) -> None:
    done = twin.run(UNREACHED, outputs={"y": ((64,), DType.FLOAT32)})
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    assert np.asarray(done.output())[0] == 7
    done = twin.run(
        f"KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);{UNREACHED}", outputs={"y": ((64,), DType.FLOAT32)}
    )
    assert done.outcome is Outcome.COMPILE_ERROR
    assert "Fixpipe" in done.errors[0].message


def test_a_look_up_says_that_no_page_describes_them() -> None:
    for name in BORROWED:
        entry = api_entry(name)
        assert entry is not None, name
        other = name.startswith(("fp", "hi", "int"))
        assert entry.status is (ApiStatus.OTHER_CHIP if other else ApiStatus.OFFERED), name
        assert ("other chips" if other else "no page") in entry.notes[0]
