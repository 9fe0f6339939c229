"""Every rule of the checker: a kernel that breaks it and nothing else, and is told so at the line that breaks it."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from npukb_twin.compile.build import runtime_sources
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker, Switch
from npukernelbench.nouns import Allocation, DType, Outcome, Severity
from tests.twin.breaches import OF_BUFFERS, OF_FLAGS, OF_MEMORY, OF_ORDER, Breach
from tests.twin.breaches_cube import CUBE_SETUP, OF_CUBE
from tests.twin.cubes import CUBE
from tests.twin.running import Inputs, Twin

if TYPE_CHECKING:
    from collections.abc import Iterator

#: What every body below may use: 512 floats in, 512 floats and 512 halfs out, buffers of 2 KiB.
SETUP = """
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in, more;
    TQue<TPosition::VECOUT, 1> out;
    TBuf<TPosition::VECCALC> buffer;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, 512);
    to.SetGlobalBuffer((__gm__ float*)y, 512);
    TBuf<TPosition::VECCALC> unused, flags;
    GlobalTensor<int32_t> slots;
    slots.SetGlobalBuffer((__gm__ int32_t*)workspace, 1024);
    pipe.InitBuffer(buffer, 4096);
    pipe.InitBuffer(unused, 2048);
    pipe.InitBuffer(flags, 2048);
    LocalTensor<float> blank = unused.Get<float>();
    LocalTensor<float> a = buffer.Get<float>(1024);
    LocalTensor<float> b = a[512];
    LocalTensor<int32_t> ub = flags.Get<int32_t>();
    Duplicate(a, 1.0f, 512);
    PipeBarrier<PIPE_ALL>();
"""
MERGE = """
    MrgSortSrcList<float> list(a, a[8], a[16], a[24]);
    uint16_t n[4] = {4, 4, 4, 4};
"""
TOPK = """
    LocalTensor<int32_t> i = a[256].ReinterpretCast<int32_t>();
    LocalTensor<bool> f;
"""
INPUTS: Inputs = {
    "x": np.arange(512, dtype=np.float32),
    "table": [np.zeros((2, 3), np.float32), np.ones(1, np.float32)],
}
OUTPUTS = {"y": ((512,), DType.FLOAT32), "ragged": ((5,), DType.FLOAT32)}


#: Arguments of the twins that breaches are tried on.
TWINS = {
    "fast": TwinArgs(),
    "full": TwinArgs(checker=Checker.FULL),
    "strict": TwinArgs(checker=Checker.FULL, auto_sync=Switch.OFF),
}

BREACHES = [
    *OF_MEMORY,
    *OF_ORDER,
    *OF_CUBE,
    *OF_BUFFERS,
    *OF_FLAGS,
    # vector instructions
    Breach("bad_count", "Abs(a, a, -1);  // here", "count is -1"),
    Breach("misaligned", "Abs(a, a[1], 8);  // here", "UB offset 4"),
    Breach("misaligned", "Add(a, a, a[12], 8);  // here", "src1 starts at UB offset 48"),
    Breach("illegal_address", "LocalTensor<float> nothing;\nAbs(nothing, a, 8);  // here", "not in the unified buffer"),
    Breach("illegal_address", "LocalTensor<float> nothing;\nAdd(a, a, nothing, 8);  // here", "without a buffer"),
    Breach("out_of_bounds", "Abs(a, a, 60000);  // here", "196608 bytes"),
    Breach("past_tensor", "Abs(b, b, 520);  // here", "32 bytes past the end", warning=True),
    Breach("past_tensor", "LocalTensor<float> t = a[2048];\nAbs(t, t, 8);  // here", "tensor of 0 bytes", warning=True),
    Breach("overlap", "Abs(a[8], a, 64);  // here", "overlap partly", warning=True),
    Breach("overlap", "Add(a, b, a[8], 64);  // here", "dst and src1", warning=True),
    Breach("limit_exceeded", "WholeReduceSum(a, a, 64, 256, 1, 1, 8);  // here", "repeat is 256"),
    Breach(
        "cast_mode",
        "Cast(b.ReinterpretCast<int32_t>(), a, RoundMode::CAST_ODD, 64);  // here",
        "rounding mode 6",
        warning=True,
    ),
    Breach(
        "compare_tail",
        "Compare(b.ReinterpretCast<uint8_t>(), a, a, CMPMODE::EQ, 100);  // here",
        "the last 36 are not compared",
        warning=True,
    ),
    # sorting
    Breach("limit_exceeded", "Sort32(b, a, a.ReinterpretCast<uint32_t>(), 256);  // here", "repeatTime is 256"),
    Breach("limit_exceeded", MERGE + "MrgSort(b, list, MrgSort4Info(n, false, 5, 1));  // here", "validBit is 5"),
    Breach("limit_exceeded", MERGE + "MrgSort(b, list, MrgSort4Info(n, false, 15, 0));  // here", "repeatTimes is 0"),
    Breach(
        "limit_exceeded",
        MERGE + "n[1] = 4096;\nMrgSort(b, list, MrgSort4Info(n, false, 3, 1));  // here",
        "4096 elements",
    ),
    Breach(
        "merge_repeat", MERGE + "MrgSort(b, list, MrgSort4Info(n, false, 7, 2));  // here", "one merge", warning=True
    ),
    Breach("other_chip", "RpSort16(b, a, 1);  // here", "older chips", warning=True),
    Breach(
        "scratch_too_small",
        "LocalTensor<float> few = a[1016];\nSort<float, true>(b, a, a.ReinterpretCast<uint32_t>(), few, 2);  // here",
        "32 bytes and needs 512",
    ),
    Breach("bad_shape", TOPK + "TopK<float>(b, i, a, i, f, 4, {}, TopKInfo{1, 40, 40});  // here", "inner is 40"),
    Breach("bad_shape", TOPK + "TopK<float>(b, i, a, i, f, 33, {}, TopKInfo{1, 32, 32});  // here", "k is 33"),
    # library functions
    Breach(
        "scratch_too_small",
        "Tanh(b, a, a.ReinterpretCast<uint8_t>()[4080], 8);  // here",
        "16 bytes, not even one block",
    ),
    Breach(
        "scratch_too_small",
        "Tanh(b, a, a.ReinterpretCast<uint8_t>()[3840], 8);  // here",
        "256 bytes, and 512 are asked for",
        warning=True,
    ),
    Breach("overlap", "Tanh(a, a, 8);  // here", "dst and src share memory", warning=True),
    Breach("overlap", "Power(b, a, b[8], 64);  // here", "dst and src1 share memory", warning=True),
    Breach(
        "past_tensor",
        "TBuf<TPosition::VECCALC> room;\npipe.InitBuffer(room, 4096);\nTanh(room.Get<float>()[256], b, 520);  // here",
        "src reaches 32 bytes past the end",
        warning=True,
    ),
    Breach("misaligned", "Tanh(a[4], b, 8);  // here", "dst starts at UB offset 16"),
    Breach(
        "overlap",
        "Tanh(b, a, a.ReinterpretCast<uint8_t>(), 8);  // here",
        "sharedTmpBuffer and src share memory",
        warning=True,
    ),
    Breach(
        "out_of_domain",
        "Acos(b, a, 8);\nDuplicate(a, 1.5f, 64);\nAcos(b, a, 64);  // here",
        "src[0] is 1.5",
        warning=True,
    ),
    Breach("out_of_domain", "Duplicate(a, 0.0005f, 64);\nAtanh(b, a, 64);  // here", "outside of (-0.99", warning=True),
    Breach(
        "out_of_domain",
        """
        Duplicate(a, 2.0f, 64);
        uint32_t shape[2] = {2, 8};
        ReduceAll<float, Pattern::Reduce::RA>(b, a, shape, true);  // here
        """,
        "src[0][0] is 2",
        warning=True,
    ),
    Breach("bad_shape", "Sum(b, a, SumParams{1, 8, 9});  // here", "n is 9"),
    Breach("bad_shape", "Mean(b, a, MeanParams{1, 12, 9});  // here", "12 elements of 4 bytes", warning=True),
    Breach(
        "bad_shape",
        "uint32_t shape[2] = {2, 8};\nReduceMax<float, Pattern::Reduce::RA>(b, a, shape, false);  // here",
        "only true",
    ),
    Breach(
        "bad_shape",
        "SoftMax<float>(b, a, SoftMaxTiling(), SoftMaxShapeInfo{2, 9, 2, 9});  // here",
        "9 elements of 4 bytes",
    ),
    Breach("bad_shape", "SoftMax<float>(b, a, SoftMaxTiling());  // here", "0 rows"),
    Breach(
        "bad_shape",
        "SoftMax<float, false, true>(b, a, SoftMaxTiling(), SoftMaxShapeInfo{2, 8, 2, 8});  // here",
        "no basic block",
    ),
    Breach("bad_shape", "LayerNormTiling t;\nLayerNorm(b, b, b, a, a, a, 1e-5f, t);  // here", "no shape"),
    Breach("bad_shape", "GroupNormTiling t{1, 3, 8, 2, 1, 8};\nGroupNorm(b, b, b, a, a, a, 1.0f, t);  // here", "2 g"),
    Breach(
        "bad_shape",
        "WelfordUpdate<float, float>(b, b, a, a, a, WelfordUpdateParam{1, 8, 9, 1});  // here",
        "is 9",
    ),
    Breach(
        "bad_shape", "WelfordFinalize(b, b, a, a, WelfordFinalizePara{1, 8, 1, 4, 1, 3, 1, 1});  // here", "the tail 3"
    ),
    Breach(
        "bad_shape",
        "AscendQuant(b.ReinterpretCast<int8_t>(), a, a, 0.0f, 8, 64);  // here",
        "with 8 scales",
    ),
    Breach(
        "bad_shape", "AscendQuant(b.ReinterpretCast<int8_t>(), a, 1.0f, 0.0f, 9);  // here", "9 results", warning=True
    ),
    Breach(
        "bad_shape",
        "DropOutShapeInfo i;\ni.firstAxis = 1;\nDropOut(b, a, a.ReinterpretCast<uint8_t>(), 0.5f, i);  // here",
        "1 rows of 0",
    ),
    Breach("bad_shape", "AscendDequant(b, a.ReinterpretCast<int32_t>(), a, {1, 8, 9});  // here", "calCount is 9"),
    Breach(
        "compare_mode",
        "LocalTensor<int32_t> n = a.ReinterpretCast<int32_t>();\n"
        "Compare(b.ReinterpretCast<uint8_t>(), n, n, CMPMODE::LT, 64);  // here",
        "CMPMODE::EQ only",
        warning=True,
    ),
    Breach(
        "limit_exceeded",
        "LocalTensor<int16_t> n = a.ReinterpretCast<int16_t>();\nShiftRight(n, n, (int16_t)17, 64);  // here",
        "the shift is 17",
        warning=True,
    ),
    Breach("limit_exceeded", "WholeReduceSum(a, a, 64, 1, 1, 1, 65536);  // here", "a stride is 65536"),
    Breach("limit_exceeded", "ReduceMax(a, a, b, 64, -1, 8);  // here", "repeat is -1"),
    Breach("misaligned", "BlockReduceSum(a[1], b, 1, 64, 1, 1, 8);  // here", "not a multiple of 32 bytes"),
    Breach("misaligned", "WholeReduceMax(a[1], b, 64, 1, 1, 1, 8);  // here", "not a multiple of 8 bytes"),
    Breach("past_tensor", "ReduceMax(a, a, b[504], 512);  // here", "sharedTmpBuffer reaches", warning=True),
    Breach(
        "overlap",
        "Cast(a, a.ReinterpretCast<half>(), RoundMode::CAST_NONE, 64);  // here",
        "dst is wider than src",
        warning=True,
    ),
    Breach(
        "scratch_too_small",
        "LocalTensor<half> h = a.ReinterpretCast<half>();\n"
        "LocalTensor<uint32_t> at = b.ReinterpretCast<uint32_t>();\n"
        "LocalTensor<uint8_t> tmp = b.ReinterpretCast<uint8_t>();\n"
        "BilinearInterpolation(h, h[256], at, h[512], 128, 1, false, 1, 128, 1, tmp);  // here",
        "sharedTmpBuffer has",
    ),
    # what a kernel says itself
    Breach("assertion", "assert(a.GetSize() == 3);  // here", "assertion failed: a.GetSize() == 3"),
    Breach("trap", "Trap();  // here", "called Trap"),
    # moves
    Breach("illegal_read", "DataCopy(a, from[16], 512);  // here", "reads bytes 64 to 2112 of 'x'"),
    Breach("illegal_read", "from.GetValue(520);  // here", "reads bytes 2080 to 2084 of 'x'"),
    Breach(
        "illegal_read",
        "GlobalTensor<float> lost;\nlost.SetGlobalBuffer((__gm__ float*)64);\nDataCopy(a, lost, 8);  // here",
        "not global memory",
    ),
    Breach("illegal_write", "DataCopy(to[513], a, 8);  // here", "of 'y'"),
    Breach("illegal_write", "to.SetValue(520, 1.0f);  // here", "of 'y'"),
    Breach("write_to_input", "DataCopy(from, a, 8);  // here", "'x', which is an input"),
    Breach("write_to_input", "from.SetValue(0, 1.0f);  // here", "'x', which is an input"),
    Breach(
        "gm_overrun",
        "GlobalTensor<float> few;\nfew.SetGlobalBuffer((__gm__ float*)ragged);\nDataCopy(few, a, 8);  // here",
        "'ragged', which has 20 bytes",
        warning=True,
    ),
    Breach(
        "stray_read", "DataCopy(a, from[256], 512);  // here", "bytes 1024 to 3072 of 'x'", warning=True, twin="pooled"
    ),
    Breach(
        "stray_write", "DataCopy(to[512], a, 512);  // here", "bytes 2048 to 4096 of 'y'", warning=True, twin="pooled"
    ),
    Breach("copy_truncated", "DataCopy(to, a, 9);  // here", "32 of the 36 bytes", warning=True),
    Breach("overlap", "DataCopy(a[8], a, 64);  // here", "dst begins inside src", warning=True),
    Breach("misaligned", "DataCopy(a[1], from, 8);  // here", "UB offset 4"),
    Breach("misaligned", "DataCopy(to, a[1], 8);  // here", "src starts at UB offset 4"),
    Breach(
        "misaligned",
        "GlobalTensor<float> odd;\nodd.SetGlobalBuffer((__gm__ float*)(x + 2));\nDataCopy(a, odd, 8);  // here",
        "element size 4",
    ),
    Breach("illegal_address", "LocalTensor<float> nothing;\nDataCopy(nothing, from, 8);  // here", "dst is not in"),
    Breach("out_of_bounds", "DataCopy(a[48896], from, 512);  // here", "196608 bytes"),
    Breach("out_of_bounds", "a.SetValue(50000, 1.0f);  // here", "outside of the unified buffer"),
    Breach("limit_exceeded", "DataCopy(a, from, DataCopyParams{4096, 1, 0, 0});  // here", "blockCount is 4096"),
    Breach(
        "limit_exceeded",
        "DataCopyPad(to, a, DataCopyExtParams{1, 2097152, 0, 0, 0});  // here",
        "blockLen is 2097152",
    ),
    Breach(
        "limit_exceeded",
        "DataCopyPad(a, from, DataCopyExtParams{1, 64, 0, 0, 0}, DataCopyPadExtParams<float>{true, 9, 0, 0});  // here",
        "padding of 9",
    ),
    Breach(
        "limit_exceeded",
        "GlobalTensor<int64_t> wide;\nwide.SetGlobalBuffer((__gm__ int64_t*)x);\n"
        "DataCopyPad(a.ReinterpretCast<int64_t>(), wide, DataCopyExtParams{1, 8, 0, 0, 0}, "
        "DataCopyPadExtParams<int64_t>{true, 0, 1, 5});  // here",
        "64-bit type must be 0",
    ),
    Breach(
        "limit_exceeded",
        "SliceInfo two[] = {{0, 15, 0, 1, 16}}, one[] = {{0, 7, 0, 1, 8}};\nDataCopy(a, from, one, two);  // here",
        "2 slices of src meet 1 slices of dst",
    ),
    Breach(
        "misaligned",
        "SetAtomicAdd<float>();\nDataCopyPad(to, a, DataCopyExtParams{1, 6, 0, 0, 0});  // here",
        "whole elements",
    ),
    Breach("limit_exceeded", "ListTensorDesc list;\nlist.Init(table);\nlist.GetDataPtr<float>(2);  // here", "index 2"),
    # gathering and transposing
    Breach(
        "out_of_bounds",
        "LocalTensor<uint32_t> at = b.ReinterpretCast<uint32_t>();\nDuplicate(at, 1000000u, 8);\n"
        "Gather(a, a, at, 0, 8);  // here",
        "an offset leads to byte 1000000",
    ),
    Breach(
        "misaligned",
        "LocalTensor<uint32_t> at = b.ReinterpretCast<uint32_t>();\nDuplicate(at, 3u, 8);\n"
        "Gather(a, a, at, 0, 8);  // here",
        "byte 3 of UB",
    ),
    Breach(
        "limit_exceeded", "uint64_t n;\nGatherMask(b, a, uint8_t(8), false, 0, {1, 1, 8, 0}, n);  // here", "pattern 8"
    ),
    Breach(
        "repeat_stride",
        """
        LocalTensor<float> list[16];
        for (int i = 0; i < 16; ++i) list[i] = a[8 * i];
        TransDataTo5HD(list, list, TransDataTo5HDParams(false, false, 1, 1, 1));  // here
        """,
        "with one repeat",
        warning=True,
    ),
    Breach(
        "scratch_too_small",
        "Transpose(b, a, a.ReinterpretCast<uint8_t>(), "
        "TransposeParamsExt(1, 30, 1, 8, TransposeType::TRANSPOSE_NCHW2NHWC));  // here",
        "needs 16384",
    ),
    Breach(
        "bad_shape",
        "uint32_t large[] = {4, 8}, small[] = {2, 8};\nBroadcast<float, 2, 0>(b, a, large, small);  // here",
        "dimension 0 is 2 in src and 4 in dst",
    ),
    Breach(
        "bad_shape",
        "UnPadTiling tiling;\ntiling.srcHeight = 2;\ntiling.srcWidth = 7;\nUnPadParams params{0, 1};\n"
        "UnPad(b, a, params, tiling);  // here",
        "1 of 7 columns",
    ),
    Breach(
        "bad_shape",
        "PadTiling tiling;\ntiling.srcHeight = 2;\ntiling.srcWidth = 7;\nPadParams params{0, 2, 0};\n"
        "Pad(b, a, params, tiling);  // here",
        "become 9 elements",
    ),
]


@pytest.fixture(scope="module")
def twins() -> Iterator[dict[str, Twin]]:
    """A twin for each of TWINS, and one whose memory is that of a framework."""
    made = {name: Twin(TwinExecutor(args)) for name, args in TWINS.items()}
    made["pooled"] = Twin(TwinExecutor(TWINS["fast"]), Allocation.POOLED)
    yield made
    for twin in made.values():
        twin.executor.close()


@pytest.mark.parametrize("breach", BREACHES, ids=lambda b: f"{b.rule}-{re.sub(r'[^a-z0-9]+', '_', b.text.lower())}")
def test_breach_is_reported_at_its_line(twins: dict[str, Twin], breach: Breach) -> None:
    setup, before = (CUBE_SETUP, CUBE) if breach.cube else (SETUP, "")
    body = textwrap.dedent(setup) + textwrap.dedent(breach.body)
    finished = twins[breach.twin].run(body, INPUTS, OUTPUTS, before=before, block=breach.blocks)
    assert finished.found == [(breach.rule, finished.marked)], [str(diagnostic) for diagnostic in finished.diagnostics]
    [said] = finished.diagnostics
    assert breach.text in said.message
    assert said.file == "kernel.cpp"
    assert said.remedy.endswith(".")
    assert said.severity is (Severity.WARNING if breach.warning else Severity.ERROR)
    assert finished.outcome is (Outcome.OK if breach.warning else Outcome.RULE_VIOLATION)


@pytest.mark.parametrize("name", TWINS)
def test_setup_breaks_no_rule(twins: dict[str, Twin], name: str) -> None:
    finished = twins[name].run(SETUP, INPUTS, OUTPUTS)
    assert (finished.outcome, finished.found) == (Outcome.OK, [])
    cube = twins[name].run(CUBE_SETUP, INPUTS, OUTPUTS, before=CUBE, block=None)
    assert (cube.outcome, cube.found) == (Outcome.OK, [])


#: Rules of library functions, each of which is broken in the tests of the functions that have it.
OF_LIBRARY = {"scratch_too_small", "bad_tiling", "matmul_misuse", "regist_late"}


def test_every_rule_of_the_runtime_is_tested() -> None:
    assert rules_in_sources() - OF_LIBRARY == {breach.rule for breach in BREACHES} - OF_LIBRARY


def test_every_rule_is_documented() -> None:
    page = Path(__file__).parents[2].joinpath("docs", "twin.md").read_text(encoding="utf-8")
    rows = page.partition("| rule id |")[2].partition("\n\n")[0].splitlines()[2:]
    assert {rule for row in rows for rule in re.findall(r"`(\w+)`", row.split("|")[1])} == rules_in_sources()


def rules_in_sources() -> set[str]:
    """Rule ids that the C++ sources can report: the first argument of Violate and Warn, or the variable behind it."""
    rules: set[str] = set()
    for path in runtime_sources():
        text = path.read_text(encoding="utf-8")
        for argument in re.findall(r"[.>]\s*(?:Violate|Fault|Warn)\(([^,]+),|^\s*Warn\(([^,]+),", text, re.MULTILINE):
            word = "".join(argument).strip()
            if word.startswith('"'):
                rules.add(word.strip('"'))
            else:
                [values] = re.findall(rf"const char\* {word} = ([^;]+);", text)
                rules.update(re.findall(r'"(\w+)"', values))
    return rules
