"""Tiling functions: what they can ask, what they can say, and how a call of one can end."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from npukb_twin.operator.host_types import (
    HostFailure,
    HostLimits,
    SocNumbers,
    TensorArgument,
    TilingRequest,
    TilingResult,
)
from npukernelbench.nouns import Outcome
from tests.twin.hosting import DEFINITION, FLOAT, PLAIN, TILING, VECTOR, Hosting, request

LISTS = f"""this->Input("x").ParamType(DYNAMIC).DataType({{ge::DT_FLOAT}}).Format({{ge::FORMAT_ND}});
this->Input("maybe").ParamType(OPTIONAL).DataType({{ge::DT_INT8}}).Format({{ge::FORMAT_ND}});
this->Input("axes").ParamType(REQUIRED).DataType({{ge::DT_INT64}}).Format({{ge::FORMAT_ND}}).ValueDepend(REQUIRED);
this->Output("y").{FLOAT};
this->AICore().SetTiling(optiling::TilingFunc);"""

LAUNCH = Outcome.LAUNCH_ERROR

ATTRIBUTES = f"""this->Input("x").{FLOAT};
this->Output("y").{FLOAT};
this->Attr("number").AttrType(REQUIRED).Int();
this->Attr("ratio").AttrType(OPTIONAL).Float(0.5);
this->Attr("flag").AttrType(OPTIONAL).Bool(false);
this->Attr("text").AttrType(OPTIONAL).String("mean");
this->Attr("numbers").AttrType(OPTIONAL).ListInt({{}});
this->Attr("ratios").AttrType(OPTIONAL).ListFloat({{}});
this->Attr("flags").AttrType(OPTIONAL).ListBool({{}});
this->Attr("table").AttrType(OPTIONAL).ListListInt({{}});
this->AICore().SetTiling(optiling::TilingFunc);"""


def test_everything_a_tiling_function_decides(hosting: Hosting) -> None:
    result = hosting.tile(
        """
        std::cout << "from " << context->GetNodeName() << std::endl;
        std::printf("and C\\n");
        context->SetTilingKey(10000000000000000001UL);
        context->SetScheduleMode(1);
        size_t* workspace = context->GetWorkspaceSizes(2);
        workspace[0] = 1 << 20, workspace[1] = 32;
        said[0] = -5, said[7] = context->GetTilingKey() == 10000000000000000001UL;
        """
    )
    assert isinstance(result, TilingResult)
    assert result.tiling_key == 10000000000000000001
    assert result.block_dim == 1
    assert result.schedule_mode == 1
    assert result.workspace_bytes == (1 << 20, 32)
    assert struct.unpack("<8q", result.data) == (-5, 0, 0, 0, 0, 0, 0, 1)
    assert result.log.splitlines() == ["from Probe", "and C"]


def test_shapes_types_and_lists(hosting: Hosting) -> None:
    body = """
    size_t n = 0;
    while (context->GetDynamicInputTensor(0, n) != nullptr) ++n;
    said[0] = n;
    said[1] = context->GetDynamicInputShape(0, 1)->GetStorageShape().GetDim(1);
    said[2] = context->GetOptionalInputDesc(1) == nullptr ? -1 : context->GetOptionalInputDesc(1)->GetDataType();
    const gert::Tensor* axes = context->GetInputTensor(context->GetComputeNodeInputNum() - 1);
    for (int64_t i = 0; i < axes->GetShapeSize(); ++i) said[3] = said[3] * 10 + axes->GetData<int64_t>()[i];
    said[4] = context->GetComputeNodeInfo()->GetInputInstanceInfo(2)->GetInstanceStart();
    said[5] = context->GetInputTensor(0)->GetData<float>() == nullptr;
    said[6] = context->GetInputShape(99) == nullptr && context->GetOutputShape(1) == nullptr;
    said[7] = context->GetInputShape(1)->GetStorageShape().GetShapeSize();
    """
    axes = TensorArgument((3,), "DT_INT64", data=struct.pack("<3q", 1, 0, 2))
    pair = (TensorArgument((4,), "DT_FLOAT"), TensorArgument((2, 3), "DT_FLOAT"))
    image = hosting.image(TILING.format(body=body, before="") + DEFINITION.format(body=LISTS))

    def said(*inputs: TensorArgument | tuple[TensorArgument, ...] | None) -> tuple[int, ...]:
        from npukb_twin.operator.host_side import tile

        result = tile(image, request(*inputs), hosting.runtime)
        assert isinstance(result, TilingResult), result
        return struct.unpack("<8q", result.data)

    assert said(pair, None, axes) == (2, 3, -1, 102, 2, 1, 1, 6)
    assert said(pair, TensorArgument((), "DT_INT8"), axes) == (2, 3, 2, 102, 3, 1, 1, 6)


def test_attribute_kinds(hosting: Hosting) -> None:
    body = """
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    said[0] = *attrs->GetInt(0) + *attrs->GetAttrPointer<int32_t>(0);
    said[1] = static_cast<int64_t>(*attrs->GetFloat(1) * 100);
    said[2] = *attrs->GetBool(2) + 2 * (attrs->GetAttrPointer<bool>(2) != nullptr);
    std::string text = attrs->GetStr(3);
    said[3] = text == "sum of \\xc3\\xa4" ? 1 : text == attrs->GetAttrPointer<char>(3) ? 2 : 0;
    auto numbers = attrs->GetListInt(4);
    for (size_t i = 0; i < numbers->GetSize(); ++i) said[4] = said[4] * 10 + numbers->GetData()[i];
    auto ratios = attrs->GetAttrPointer<gert::ContinuousVector>(5);
    for (size_t i = 0; i < ratios->GetSize(); ++i) said[5] += static_cast<const float*>(ratios->GetData())[i] * 8;
    said[6] = attrs->GetListBool(6)->GetSize() * 10 + attrs->GetAttrNum();
    auto table = attrs->GetListListInt(7);
    for (size_t i = 0; i < table->GetSize(); ++i) said[7] = said[7] * 10 + table->Get(i)->GetSize();
    """
    given = request(
        VECTOR, number=-3, ratio=1.25, flag=True, text="sum of ä", numbers=(4, 5, 6), ratios=(0.125, 2.0),
        flags=(True, False), table=((1, 2), (), (3,)),
    )  # fmt: skip
    assert hosting.said(body, given, definition=ATTRIBUTES) == (-6, 125, 3, 1, 456, 17, 28, 201)
    assert hosting.said(body, request(VECTOR, number=2), definition=ATTRIBUTES) == (4, 50, 2, 2, 0, 0, 8, 0)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [({}, "the required attribute 'number' has no value"), ({"number": 1, "other": 2}, "has no attribute 'other'")],
)
def test_attributes_that_do_not_fit(hosting: Hosting, attributes: dict[str, int], message: str) -> None:
    failure = hosting.tile("", request(VECTOR, **attributes), definition=ATTRIBUTES)
    assert isinstance(failure, HostFailure)
    assert message in failure.diagnostics[0].message


def test_platform(hosting: Hosting) -> None:
    body = """
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    uint64_t bytes = 0;
    platform.GetCoreMemSize(platform_ascendc::CoreMemType::UB, bytes);
    said[0] = bytes;
    said[1] = platform.GetCoreNum(), said[2] = platform.GetCoreNumAic(), said[3] = platform.GetCoreNumAiv();
    said[4] = platform.GetSocVersion() == platform_ascendc::SocVersion::ASCEND910B;
    said[5] = platform.GetLibApiWorkSpaceSize();
    auto shared = platform_ascendc::PlatformAscendCManager::GetInstance();
    said[6] = shared->GetCoreNumAiv() + platform.CalcTschBlockDim(7, 24, 48);
    said[7] = context->GetDeterministic();
    """
    ask = TilingRequest("Probe", (VECTOR,), (VECTOR,), deterministic=True)
    assert hosting.said(body, ask) == (196352, 48, 24, 48, 1, 16 << 20, 52, 1)
    small = replace(ask, soc=SocNumbers(vector_cores=4, cube_cores=2, ub_bytes=1024), deterministic=False)
    assert hosting.said(body, small) == (1024, 4, 2, 4, 1, 16 << 20, 8, 0)


def test_private_attributes_come_behind_the_definition_s(hosting: Hosting) -> None:
    before = """
    IMPL_OP(Probe).PrivateAttr("padding", "").PrivateAttr("mode", 64L).PrivateAttr("sizes", std::vector<int64_t>{3, 4})
        .PrivateAttr("number").PrivateAttr("padding", "SAME");
    """
    body = """
    const gert::RuntimeAttrs* attrs = context->GetAttrs();
    said[0] = attrs->GetAttrNum();
    said[1] = std::string(attrs->GetStr(8)) == "SAME";
    said[2] = *attrs->GetInt(9);
    said[3] = attrs->GetListInt(10)->GetData()[1];
    said[4] = *attrs->GetInt(11);
    """
    given = request(VECTOR, number=-3)
    assert hosting.said(body, given, before=before, definition=ATTRIBUTES)[:5] == (12, 1, 64, 4, -3)
    failure = hosting.tile("", before='IMPL_OP(Probe).PrivateAttr("padding");')
    assert isinstance(failure, HostFailure)
    assert "the private attribute 'padding' has no value" in failure.diagnostics[0].message


@pytest.mark.parametrize(
    "places", ["", ", {gert::TilingPlacement::TILING_ON_HOST, gert::TilingPlacement::TILING_ON_AICPU}"]
)
def test_separate_registration_with_compile_info(hosting: Hosting, places: str) -> None:
    before = """
    struct CompileInfo { int64_t cores; int64_t untouched; };
    static ge::graphStatus Parse(gert::TilingParseContext* context) {
        auto info = context->GetCompiledInfo<CompileInfo>();
        info->cores = platform_ascendc::PlatformAscendC(context->GetPlatformInfo()).GetCoreNumAiv();
        return ge::GRAPH_SUCCESS;
    }
    static ge::graphStatus TilingFunc(gert::TilingContext* context);
    IMPL_OP_OPTILING(Probe).Tiling(TilingFunc).TilingParse<CompileInfo>(Parse).TilingInputsDataDependency({0}PLACES);
    """.replace("PLACES", places)
    body = """
    auto info = static_cast<const CompileInfo*>(context->GetCompileInfo());
    said[0] = info->cores, said[1] = info->untouched, said[2] = context->GetCompileInfo<CompileInfo>() == info;
    """
    definition = f'this->Input("x").{FLOAT}; this->Output("y").{FLOAT}; this->AICore().AddConfig("ascend910b");'
    assert hosting.said(body, before=before, definition=definition)[:3] == (48, 0, 1)
    described = hosting.described(definition, before=TILING.format(body=body, before=before))
    assert described.inputs[0].value_depend


def test_setters_copies_and_direct_data(hosting: Hosting) -> None:
    before = """
    BEGIN_TILING_DATA_DEF(Inner)
    TILING_DATA_FIELD_DEF(int32_t, a);
    TILING_DATA_FIELD_DEF_ARR(int16_t, 2, pair);
    END_TILING_DATA_DEF;
    BEGIN_TILING_DATA_DEF(Outer)
    TILING_DATA_FIELD_DEF(int64_t, b);
    TILING_DATA_FIELD_DEF_STRUCT(Inner, inner);
    END_TILING_DATA_DEF;
    """
    body = """
    Outer first;
    int16_t pair[2] = {7, 8};
    first.set_b(1), first.inner.set_a(2), first.inner.set_pair(pair);
    Outer second = first, third;
    third = first;
    first.set_b(9), first.inner.set_a(9);
    int64_t raw[2] = {};
    second.SaveToBuffer(raw, sizeof raw);
    said[0] = raw[0], said[1] = raw[1], said[2] = second.GetDataSize();
    third.SetDataPtr(raw);
    third.set_b(5), third.inner.set_a(6);
    said[3] = raw[0], said[4] = raw[1] & 0xffffffff, said[5] = third.inner.get_pair()[1];
    second.SaveToBuffer(raw, 8);
    said[6] = raw[0];
    """
    assert hosting.said(body, before=before) == (1, 2 | 7 << 32 | 8 << 48, 16, 5, 6, 8, 5, 0)


def test_plain_structure(hosting: Hosting) -> None:
    source = """
    struct PlainTiling { int32_t a; float b; };
    static ge::graphStatus TilingFunc(gert::TilingContext* context) {
        auto* tiling = context->GetTilingData<PlainTiling>();
        tiling->a = 3, tiling->b = 0.5f;
        return context->SetBlockDim(2);
    }
    namespace optiling { using ::TilingFunc; }
    """
    result = hosting.tile_source(source + DEFINITION.format(body=PLAIN), TilingRequest("Probe", (VECTOR,), (VECTOR,)))
    assert isinstance(result, TilingResult)
    assert struct.unpack("<if", result.data) == (3, 0.5)


def test_sizes_of_temporary_space(hosting: Hosting) -> None:
    body = """
    ge::Shape shape(std::vector<int64_t>{4, 1000});
    uint32_t most = 0, least = 0, times = 0, extra = 0;
    AscendC::GetTanhMaxMinTmpSize(shape, 2, false, most, least);
    AscendC::GetTanhTmpBufferFactorSize(2, times, extra);
    said[0] = most == times * 8000 + extra, said[1] = least == times * 256 + extra;
    AscendC::GetMeanMaxMinTmpSize(100, 2, 4, false, most, least);
    said[2] = most == least && least >= 400;
    SoftMaxTiling tiled;
    uint32_t space = AscendC::GetSoftMaxMinTmpSize(shape, 4, false);
    said[3] = space <= AscendC::GetSoftMaxMaxTmpSize(shape, 4, false);
    AscendC::SoftMaxTilingFunc(shape, 4, space, tiled);
    said[4] = tiled.get_srcM() * 10000 + tiled.get_srcK(), said[5] = tiled.get_splitM();
    AscendC::tiling::SoftMaxTiling plain;
    AscendC::SoftMaxTilingFunc(shape, 4, 1 << 20, plain);
    said[6] = plain.splitM, said[7] = plain.rangeM * 10 + plain.tailM;
    """
    said = hosting.said(body, before='} \n#include "tiling/tiling_api.h"\nnamespace optiling {')
    assert said == (1, 1, 1, 1, 41000, 1, 4, 10)


def test_library_structures_hold_the_shape(hosting: Hosting) -> None:
    body = """
    ge::Shape shape(std::vector<int64_t>{2, 3, 64}), original(std::vector<int64_t>{2, 3, 50});
    uint32_t most = 0, least = 0;
    LayerNormTiling layer;
    AscendC::GetLayerNormMaxMinTmpSize(shape, 4, false, most, least);
    AscendC::GetLayerNormNDTilingInfo(shape, most, 4, false, layer);
    said[0] = layer.get_bLength() * 10000 + layer.get_sLength() * 1000 + layer.get_hLength();
    AscendC::tiling::RmsNormTiling rms;
    said[1] = AscendC::GetRmsNormMaxMinTmpSize(shape, 4, most, least) && least <= most;
    AscendC::GetRmsNormTilingInfo(shape, original, most, 4, rms);
    said[2] = rms.bLength * 10000 + rms.sLength * 1000 + rms.originalHLength;
    BatchNormTiling batch;
    AscendC::GetBatchNormNDTilingInfo(shape, original, most, 4, false, batch);
    said[3] = batch.get_originalBLength() * 1000 + batch.get_meanVarSize();
    GroupNormTiling group;
    AscendC::GetGroupNormNDTilingInfo(ge::Shape(std::vector<int64_t>{2, 6, 3, 3}), most, 2, false, 3, group);
    said[4] = group.get_hw() * 1000 + group.get_d() * 100 + group.get_hwAlignSize();
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    said[5] = AscendC::GetSortTmpSize(platform, 100, 2);
    TopkTiling top;
    auto mode = AscendC::TopKMode::TOPK_NORMAL;
    said[6] = AscendC::GetTopKMaxMinTmpSize(platform, 64, 4, false, false, mode, true, 2, most, least);
    said[7] = AscendC::TopKTilingFunc(platform, 64, 4, 8, 2, false, mode, true, top) * least;
    """
    said = hosting.said(body, before='}\n#include "tiling/tiling_api.h"\nnamespace optiling {')
    assert said == (23064, 1, 23050, 2192, 9216, 1024, 1, 512)


@pytest.mark.parametrize(
    ("body", "outcome", "message"),
    [
        ('std::printf("no mode\\n"); return ge::GRAPH_FAILED;', LAUNCH, "returned GRAPH_FAILED; it printed: no mode"),
        ("std::vector<int>().at(3);", LAUNCH, "threw an exception: vector"),
        ("return context->SetTilingKey(1);", LAUNCH, "set no block dim"),
        ("memset(context->GetRawTilingData()->GetData(), 1, 65537);", LAUNCH, "past the end of the tiling buffer"),
        ("context->GetRawTilingData()->SetDataSize(70000); return context->SetBlockDim(1);", LAUNCH, "has 70000 bytes"),
        ("exit(0);", Outcome.CRASH, "ended the process with code 0"),
        ("abort();", Outcome.CRASH, "SIGABRT"),
        ("while (true) {}", Outcome.TIMEOUT, "did not end within"),
    ],
)  # fmt: skip
def test_failures(hosting: Hosting, body: str, outcome: Outcome, message: str) -> None:
    quick = replace(hosting, limits=HostLimits(wall_s=1.0))
    failure = quick.tile(body)
    assert isinstance(failure, HostFailure)
    assert failure.outcome is outcome
    assert message in failure.diagnostics[0].message


@pytest.mark.parametrize(
    "body",
    [
        "said[0] = context->GetOptionalInputShape(5)->GetStorageShape().GetDim(0);\n",
        "memset(nullptr, said[0], 64 + said[1]);\n",
    ],
)
def test_a_crash_names_the_line(hosting: Hosting, body: str) -> None:
    failure = hosting.tile("// first line\n" + f"said[1] = 0; {body}")
    assert isinstance(failure, HostFailure)
    assert failure.outcome is Outcome.CRASH
    lines = TILING.format(body="// first line\n" + f"said[1] = 0; {body}", before="").splitlines()
    [line] = [number for number, text in enumerate(lines, 4) if "said[1] = 0;" in text]
    assert (failure.diagnostics[0].file, failure.diagnostics[0].line) == ("op_host/probe.cpp", line)


def test_a_stack_that_is_used_up(hosting: Hosting) -> None:
    before = "static int64_t Deep(int64_t n) { volatile char pad[4096]; pad[0] = n; return Deep(n + 1) + pad[0]; }"
    failure = hosting.tile("said[0] = Deep(0);", before=before)
    assert isinstance(failure, HostFailure)
    assert "its stack is used up" in failure.diagnostics[0].message


def test_calls_that_do_not_fit_the_definition(hosting: Hosting) -> None:
    failure = hosting.tile("", TilingRequest("Probe", (VECTOR, VECTOR), (VECTOR,)))
    assert isinstance(failure, HostFailure)
    assert "declares 1 inputs, the call has 2" in failure.diagnostics[0].message
    failure = hosting.tile("", TilingRequest("Other", (VECTOR,), (VECTOR,)))
    assert isinstance(failure, HostFailure)
    assert "defines no operator 'Other' (it defines Probe)" in failure.diagnostics[0].message


def test_host_code_starts_no_processes(hosting: Hosting) -> None:
    assert hosting.said('said[0] = system("true") != 0;')[0] == 1


def test_the_same_call_gives_the_same_bytes(hosting: Hosting) -> None:
    body = "said[0] = context->GetInputShape(0)->GetStorageShape().GetShapeSize();"
    first, second = hosting.tile(body), hosting.tile(body)
    assert first == second


def test_sizes_of_quantisation_selection_and_shapes(hosting: Hosting) -> None:
    body = """
    uint32_t most = 0, least = 0, times = 0, extra = 0;
    const ge::Shape shape({4, 64}), scale({64});
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    size_t ok = 0;
    auto check = [&](bool more = true) { ok += more && least > 0 && least <= most; most = least = 0; };
    AscendC::GetAscendQuantMaxMinTmpSize(shape, 2, most, least), check();
    AscendC::GetAscendDequantMaxMinTmpSize(shape, 4, most, least), check();
    AscendC::GetAscendAntiQuantMaxMinTmpSize(shape, scale, false, ge::DT_INT8, ge::DT_FLOAT16, most, least), check();
    AscendC::GetDropOutMaxMinTmpSize(shape, 4, false, most, least), check();
    AscendC::GetSelectWithBytesMaskMaxMinTmpSize(shape, scale, 4, shape, 1, true, most, least), check();
    AscendC::GetSelectMaxMinTmpSize(shape, scale, 4, shape, 1, true, most, least), check();
    AscendC::GetClampMaxMinTmpSize(shape, 4, false, most, least), check();
    AscendC::GetPadMaxMinTmpSize(shape, 4, most, least), check();
    AscendC::GetUnPadMaxMinTmpSize(platform, shape, 4, most, least), check();
    AscendC::GetNormalizeMaxMinTmpSize(shape, 4, 2, false, true, false, most, least), check();
    AscendC::GetWelfordUpdateMaxMinTmpSize(shape, 2, 4, false, false, most, least), check();
    AscendC::GetWelfordFinalizeMaxMinTmpSize(shape, 4, false, most, least), check();
    AscendC::GetTransposeMaxMinTmpSize(shape, 2, 7, most, least), check();
    AscendC::GetConfusionTransposeMaxMinTmpSize(shape, 2, 7, most, least), check();
    AscendC::TransDataConfig config = {AscendC::DataFormat::NCDHW, AscendC::DataFormat::NDC1HWC0};
    const ge::Shape plain({1, 16, 2, 3, 5}), split({1, 2, 1, 3, 5, 16});
    check(AscendC::GetTransDataMaxMinTmpSize(platform, plain, split, ge::DT_FLOAT16, config, most, least));
    config.srcFormat = AscendC::DataFormat::NCHW;
    said[0] = ok * 10 + AscendC::GetTransDataMaxMinTmpSize(platform, plain, split, ge::DT_FLOAT16, config, most, least);
    AscendC::GetArangeMaxMinTmpSize(most, least), AscendC::GetArithProgressionMaxMinTmpSize(most, least);
    said[1] = most + least;
    AscendC::GetAscendQuantTmpBufferFactorSize(2, times, extra), said[2] = times;
    AscendC::GetClampTmpBufferFactorSize(2, times, extra), said[3] = times;
    PadTiling pad;
    AscendC::PadTilingFunc(shape, ge::Shape({4, 60}), 1024, 4, pad);
    said[4] = pad.get_srcHeight() * 10000 + pad.get_srcWidth() * 100 + pad.get_srcOriWidth();
    AscendC::tiling::UnPadTiling unpad;
    AscendC::UnPadTilingFunc(shape, 1024, 4, unpad);
    said[5] = unpad.srcHeight * 100 + unpad.srcWidth;
    ConfusionTransposeTiling transpose;
    AscendC::GetTransposeTilingInfo(ge::Shape({1, 2, 32, 16}), 0, 2, 1, transpose);
    AscendC::GetConfusionTransposeOnlyTilingInfo(shape, 0, 2, transpose);
    said[6] = transpose.get_param2() * 100 + transpose.get_param3();
    platform.ReserveLocalMemory(platform_ascendc::ReservedSize::RESERVED_SIZE_8K);
    said[7] = platform.GetCurNpuArch() == NpuArch::DAV_2201;
    """
    said = hosting.said(body, before='}\n#include "tiling/tiling_api.h"\nnamespace optiling {')
    assert said == (150, 0, 2, 1, 46460, 464, 464, 1)


def test_tasks_of_communication(hosting: Hosting) -> None:
    """What can be used is said by 0. A source's own names of tasks are meant."""
    before = '}\n#include "tiling/hccl/hccl_tiling.h"\nOWN namespace optiling {\n'
    body = """
    AscendC::Mc2CcTilingConfig config("group", HCCL_CMD_ALLTOALLV, "AlltoAll=level0:fullmesh;level1:pairwise");
    Mc2InitTiling init;
    Mc2CcTiling task;
    said[0] = config.SetStepSize(1) + config.GetTiling(init) + config.GetTiling(task);
    said[1] = config.SetOpType(3) + config.GetTiling(task);
    said[2] = config.SetOpType(HCCL_CMD_ALLREDUCE) + config.SetReduceType(HCCL_REDUCE_MAX) + config.GetTiling(task);
    said[3] = config.SetGroupName(std::string(129, 'g')) + config.SetAlgConfig("") + config.GetTiling(init);
    """
    assert hosting.said(body, before=before.replace("OWN", ""))[:4] == (0, 2, 0, 3)
    own = "namespace { enum Own : uint32_t { HCCL_CMD_ALLREDUCE = 2, HCCL_REDUCE_MAX = 2, HCCL_CMD_ALLTOALLV = 8 }; }\n"
    assert hosting.said(body, before=before.replace("OWN", own))[:4] == (0, 2, 0, 3)
    writes = 'AscendC::Mc2CcTilingConfig config("group", HCCL_CMD_BATCH_WRITE, "BatchWrite=level0:fullmesh");'
    writes += "Mc2InitTiling init; said[0] = 1 + config.GetTiling(init); said[1] = HCCL_CMD_BATCH_WRITE;"
    assert hosting.said(writes, before=before.replace("OWN", ""))[:2] == (1, 18)
