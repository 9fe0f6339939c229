"""Functions of single values, constants and helpers; and what kernels print."""

from __future__ import annotations

import numpy as np

from npukernelbench.nouns import DType, Outcome, Severity
from tests.twin.running import Twin

OUT = {"y": ((64,), DType.INT64)}


def values(twin: Twin, expressions: list[str], before: str = "") -> list[int]:
    """Integers that a kernel computes, one by one."""
    lines = [f"y_.SetValue({at}, (int64_t)({text}));" for at, text in enumerate(expressions)]
    body = "GlobalTensor<int64_t> y_;\ny_.SetGlobalBuffer((__gm__ int64_t*)y, 64);\n" + "\n".join(lines)
    done = twin.run(body, {}, OUT, before=before)
    assert not done.diagnostics, [str(diagnostic) for diagnostic in done.diagnostics]
    return [int(value) for value in np.asarray(done.output())[: len(expressions)]]


def test_bits_of_integers(twin: Twin) -> None:
    assert values(twin, [
        "GetBitCount<1>(0xf0ull)", "ScalarGetCountOfValue<0>(0xf0ull)",
        "CountLeadingZero(0x0100000000000020ull)", "ScalarCountLeadingZero(0)",
        "CountBitsCntSameAsSignBit(0x0100000000000020ll)", "CountBitsCntSameAsSignBit(-1)",
        "GetSFFValue<1>(0x1000000000000100ull)", "ScalarGetSFFValue<0>(7)", "GetSFFValue<1>(0)",
        "GetSFFValue<0>(~0ull)",
    ]) == [4, 60, 7, 64, 6, 63, 8, 3, -1, -1]  # fmt: skip


def test_conversions_of_single_values(twin: Twin) -> None:
    before = (
        "template <typename T> __aicore__ inline int64_t BitsOf(T value) {"
        " uint16_t b; __builtin_memcpy(&b, &value, 2); return b; }"
    )
    assert values(twin, [
        "ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(-2.5f)",
        "ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(2.5f)",
        "AscendC::Cast<float, int32_t, RoundMode::CAST_RINT>(2.5f)",
        "ScalarCast<float, int32_t, RoundMode::CAST_TRUNC>(3e10f)",
        "BitsOf(ScalarCast<float, half, RoundMode::CAST_CEIL>(1.0001f))",
        "BitsOf(ScalarCast<float, half, RoundMode::CAST_ODD>(1.0001f))",
        "BitsOf(ToBfloat16(1.0f))", "ToFloat(bfloat16_t(3.0f))", "BitsOf(AscendC::Cast(1.0f))",
        "AscendC::Cast(bfloat16_t(half(5.0)))",
        "BitsOf(half(1.0f) + half(2.0f))", "half(2.0) > half(1.0)", "(float)half(0.5) * 8",
    ], before) == [-3, 3, 2, 2147483647, 0x3C01, 0x3C01, 0x3F80, 3, 0x3F80, 5, 0x4200, 1, 4]  # fmt: skip


def test_helpers_and_constants(twin: Twin) -> None:
    before = """
    static_assert(IsSameType<float, float>::value && !IsSameType<float, half>::value);
    static_assert(IsSameType<Conditional<true, int, float>::type, int>::value);
    static_assert(AscendC::Std::is_same<int, AscendC::Std::conditional<false, float, int>::type>::value);
    static_assert(sizeof(int4b_t) == 1 && sizeof(half) == 2 && sizeof(bfloat16_t) == 2);
    namespace own { template <typename T> constexpr T min(T a, T b) { return a < b ? a : b; } }
    using own::min;
    """
    assert values(twin, [
        "AlignUp(33u, 32u)", "AlignUp((uint64_t)64, (uint64_t)32)", "DivCeil((int64_t)7, (int64_t)2)",
        "CeilDivision(9, 4)",
        "min(3, 5)", "max(3.0f, 5.0f)", "min((int64_t)-1, (int64_t)2)", "max(3u, 4u)",
        "AscendC::Std::min(4, 3)", "AscendC::Std::max(2.5f, 7.0f)", "AscendC::Std::abs(-4)",
        "AscendC::Std::sqrt(49.0f)",
        "sqrt(81.0f)", "AscendC::Std::get<1>(AscendC::Std::make_tuple(1, 22))",
        "ONE_BLK_SIZE + ONE_REPEAT_BYTE_SIZE + ONE_BLK_FLOAT_NUM + BRCB_BROADCAST_NUMBER + MAX_REPEAT_TIMES",
        "GetDataBlockSizeInBytes()", "GetUBSizeInBytes()", "likely(2) + unlikely(0)", "sizeof(GetBlockIdx())",
    ], before) == [64, 64, 4, 3, 3, 5, -1, 4, 3, 7, 4, 7, 9, 22, 32 + 256 + 8 + 8 + 255, 32, 196608, 1, 8]  # fmt: skip


def test_system_registers(twin: Twin) -> None:
    before = "__aicore__ inline uint32_t Version() { uint32_t v; GetArchVersion(v); return v; }"
    first, second, counter, version = values(
        twin, ["GetSystemCycle()", "GetSystemCycle()", "GetProgramCounter()", "Version()"], before
    )
    assert 0 <= first <= second
    assert counter > 0
    assert version > 0


def test_what_kernels_print_is_in_the_report(twin: Twin) -> None:
    done = twin.run(
        """
        TPipe pipe;
        TBuf<TPosition::VECCALC> b;
        pipe.InitBuffer(b, 256);
        LocalTensor<float> t = b.Get<float>();
        Duplicate(t, 1.5f, 64);
        int32_t n = -3;
        printf("n=%d u=%u x=%x f=%.2f s=%s %%|%5d|%ld\\n", n, 7u, 255, (half)1.5, "word", 42, (int64_t)1 << 40);
        AscendC::PRINTF("twice");
        for (int i = 0; i < 3; ++i) PRINTF("loop %d", i);
        DumpTensor(t, 5, 20);
        DumpAccChkPoint(t, 6, 8, 2);
        assert(n == -3);
        ascendc_assert(n < 0, "n is %d", n);
        ASSERT(this is not even C++)
        """
    )
    assert done.outcome is Outcome.OK
    assert {diagnostic.severity for diagnostic in done.diagnostics} == {Severity.NOTE}
    said = [(diagnostic.rule, diagnostic.message.strip()) for diagnostic in done.diagnostics]
    numbers = ", ".join(["1.5"] * 16)
    assert said == [
        ("printf", "n=-3 u=7 x=ff f=1.50 s=word %|   42|1099511627776"),
        ("printf", "twice"),
        ("printf", "loop 0"),
        ("printf", "loop 1"),
        ("printf", "loop 2"),
        ("dump_tensor", f"desc=5, position=UB, dump_size=20 [{numbers}, ...]"),
        ("dump_tensor", "desc=6, position=UB, dump_size=2 [1.5, 1.5]"),
    ]
    assert all(diagnostic.line > 0 for diagnostic in done.diagnostics)


def test_printing_leaves_room_for_the_checker(twin: Twin) -> None:
    done = twin.run('for (int i = 0; i < 100; ++i) PRINTF("%d", i);\nTrap();')
    assert done.outcome is Outcome.RULE_VIOLATION
    assert [error.rule for error in done.errors] == ["trap"]
    assert sum(diagnostic.rule == "printf" for diagnostic in done.diagnostics) == 24
