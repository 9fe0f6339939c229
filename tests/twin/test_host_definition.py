"""Operator definitions: every form of the fluent interface, tiling structures, and what a definition may get wrong."""

from __future__ import annotations

import pytest

from npukb_twin.operator.host_types import HostFailure, OpArgument, OpAttribute, TilingStruct
from npukernelbench.nouns import Outcome, Presence
from tests.twin.hosting import FLOAT, Hosting


@pytest.fixture(scope="module")
def arguments(hosting: Hosting) -> dict[str, OpArgument]:
    description = hosting.described(
        """
        this->Input("plain").ParamType(REQUIRED).DataType({ge::DT_FLOAT16, ge::DT_FLOAT})
            .Format({ge::FORMAT_ND, ge::FORMAT_NCHW}).UnknownShapeFormat({ge::FORMAT_ND, ge::FORMAT_ND})
            .AutoContiguous();
        std::vector<ge::DataType> types(2, ge::DT_BF16);
        this->Input("maybe").ParamType(OPTIONAL).DataType(types).Format(std::vector<ge::Format>(2, ge::FORMAT_ND));
        this->Input("list").ParamType(DYNAMIC).DataType({ge::DT_INT32, ge::DT_INT64}).FormatList({ge::FORMAT_ND});
        this->Input("number").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT}).Scalar();
        this->Input("numbers").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_FLOAT}).ScalarList();
        this->Input("read").ParamType(REQUIRED).DataType({ge::DT_INT64, ge::DT_INT64})
            .ValueDepend(OPTIONAL, DependScope::TILING);
        this->Output("same").ParamType(REQUIRED).Follow("plain");
        this->Output("half").ParamType(REQUIRED).DataType({ge::DT_UINT8, ge::DT_INT8})
            .Follow("plain", FollowType::DTYPE).InitValue(0);
        this->Output("counted").ParamType(REQUIRED).DataType({ge::DT_BOOL, ge::DT_DOUBLE}).OutputShapeDependOnCompute();
        this->AICore().AddConfig("ascend910b").AddConfig("ascend910_93");
        """
    )
    assert description.name == "Probe"
    assert description.socs == ("ascend910_93", "ascend910b")
    return {argument.name: argument for argument in (*description.inputs, *description.outputs)}


def test_presence_types_and_formats(arguments: dict[str, OpArgument]) -> None:
    plain = arguments["plain"]
    assert plain.presence is Presence.REQUIRED
    assert plain.dtypes == ("DT_FLOAT16", "DT_FLOAT")
    assert plain.formats == ("FORMAT_ND", "FORMAT_NCHW")
    assert (arguments["maybe"].presence, arguments["maybe"].dtypes) == (Presence.OPTIONAL, ("DT_BF16", "DT_BF16"))
    assert arguments["list"].presence is Presence.DYNAMIC
    assert arguments["list"].formats == ("FORMAT_ND", "FORMAT_ND")


def test_markers(arguments: dict[str, OpArgument]) -> None:
    marked = {
        "number": "scalar",
        "numbers": "scalar_list",
        "read": "value_depend",
        "counted": "depends_on_compute",
    }
    for name, argument in arguments.items():
        for marker in marked.values():
            assert getattr(argument, marker) is (marked.get(name) == marker), (name, marker)
    assert {name: argument.initial for name, argument in arguments.items() if argument.initial} == {"half": (0,)}


def test_followed_types(arguments: dict[str, OpArgument]) -> None:
    assert arguments["same"].dtypes == arguments["half"].dtypes == ("DT_FLOAT16", "DT_FLOAT")
    assert arguments["same"].formats == ("FORMAT_ND", "FORMAT_NCHW")
    assert arguments["half"].formats == ("FORMAT_ND", "FORMAT_ND")


def test_initial_values_by_type(hosting: Hosting) -> None:
    description = hosting.described(
        """
        this->Input("x").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
        this->Output("all").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT}).InitValue({ScalarType::FLOAT32, -0.5f});
        this->Output("each").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND})
            .InitValue({{ScalarType::FLOAT32, 2}, {ScalarType::INT32, -3}});
        """,
    )
    every, each = description.outputs
    assert every.initial == (-0.5,)
    assert each.initial == tuple(2.0 if dtype == "DT_FLOAT" else -3 for dtype in each.dtypes)
    assert len(each.initial) == 4
    refused = hosting.describe(
        'this->Output("y").ParamType(REQUIRED).DataType({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND})'
        ".InitValue(std::vector<ScalarVar>(3, ScalarVar(ScalarType::INT32, 1)));"
    )
    assert isinstance(refused, HostFailure)
    assert "'y' declares 2 data types and 3 initial values" in refused.diagnostics[0].message


def test_lists_that_stand_by_themselves_multiply(hosting: Hosting) -> None:
    description = hosting.described(
        """
        this->Input("a").ParamType(REQUIRED).DataTypeList({ge::DT_FLOAT, ge::DT_INT32}).FormatList({ge::FORMAT_ND});
        this->Input("b").ParamType(REQUIRED).DataType({ge::DT_INT8, ge::DT_INT16, ge::DT_INT64})
            .FormatList({ge::FORMAT_ND});
        """
    )
    a, b = (argument.dtypes for argument in description.inputs)
    assert len(a) == len(b) == 6
    assert len(set(zip(a, b, strict=True))) == 6


def test_attributes(hosting: Hosting) -> None:
    description = hosting.described(
        """
        this->Attr("must").AttrType(REQUIRED).Int();
        this->Attr("flag").AttrType(OPTIONAL).Bool(true);
        this->Attr("number").AttrType(OPTIONAL).Int(-7);
        this->Attr("ratio").AttrType(OPTIONAL).Float(0.1);
        this->Attr("text").AttrType(OPTIONAL).String("a \\"b\\"");
        this->Attr("flags").AttrType(OPTIONAL).ListBool({true, false});
        this->Attr("numbers").AttrType(OPTIONAL).ListInt({});
        this->Attr("ratios").AttrType(OPTIONAL).ListFloat({0.5f, -1.0f});
        this->Attr("table").AttrType(OPTIONAL).ListListInt({{1, 2}, {}, {3}});
        """
    )
    assert description.attributes == (
        OpAttribute("must", "int", True, None),
        OpAttribute("flag", "bool", False, True),
        OpAttribute("number", "int", False, -7),
        OpAttribute("ratio", "float", False, 0.100000001),
        OpAttribute("text", "string", False, 'a "b"'),
        OpAttribute("flags", "list_bool", False, (True, False)),
        OpAttribute("numbers", "list_int", False, ()),
        OpAttribute("ratios", "list_float", False, (0.5, -1.0)),
        OpAttribute("table", "list_list_int", False, ((1, 2), (), (3,))),
    )


def test_a_chips_own_configuration_replaces_types(hosting: Hosting) -> None:
    description = hosting.described(
        f"""
        this->Input("x").{FLOAT};
        this->Output("y").{FLOAT};
        OpAICoreConfig config;
        config.DynamicCompileStaticFlag(true).DynamicShapeSupportFlag(true).ExtendCfgInfo("opFile.value", "probe");
        std::vector<ge::Format> formats(2, ge::FORMAT_ND);
        config.Input("x").ParamType(OPTIONAL).DataType({{ge::DT_BF16, ge::DT_FLOAT}}).Format(formats);
        config.Output("y").ParamType(REQUIRED).DataType({{ge::DT_INT8, ge::DT_INT8}}).Format(formats);
        this->AICore().AddConfig("ascend910b", config);
        """
    )
    assert description.inputs[0].dtypes == ("DT_BF16", "DT_FLOAT")
    assert description.inputs[0].presence is Presence.OPTIONAL
    assert description.outputs[0].dtypes == ("DT_INT8", "DT_INT8")


def test_tiling_structures(hosting: Hosting) -> None:
    description = hosting.described(
        "",
        before="""
        #include "tiling/tiling_api.h"
        namespace optiling {
        BEGIN_TILING_DATA_DEF(Inner)
        TILING_DATA_FIELD_DEF(uint8_t, small);
        TILING_DATA_FIELD_DEF_ARR(int64_t, 3, wide);
        END_TILING_DATA_DEF
        REGISTER_TILING_DATA_CLASS(InnerOp, Inner)
        BEGIN_TILING_DATA_DEF(Outer)
        TILING_DATA_FIELD_DEF(bool, flag);
        TILING_DATA_FIELD_DEF(uint16_t, word);
        TILING_DATA_FIELD_DEF(float, ratio);
        TILING_DATA_FIELD_DEF(double, exact);
        TILING_DATA_FIELD_DEF_STRUCT(Inner, inner);
        TILING_DATA_FIELD_DEF_STRUCT(SoftMaxTiling, softmax);
        TILING_DATA_FIELD_DEF(int32_t, last);
        END_TILING_DATA_DEF;
        REGISTER_TILING_DATA_CLASS(Probe, Outer);
        REGISTER_TILING_DATA_CLASS(Probe_100, Inner);
        }
        """,
    )
    assert set(description.tiling) == {"InnerOp", "Probe", "Probe_100"}
    outer = description.tiling["Probe"]
    assert outer.name == "Outer"
    assert [(f.name, f.ctype, f.count, f.struct, f.offset) for f in outer.fields] == [
        ("flag", "bool", 0, "", 0),
        ("word", "uint16_t", 0, "", 2),
        ("ratio", "float", 0, "", 4),
        ("exact", "double", 0, "", 8),
        ("inner", "Inner", 0, "Inner", 16),
        ("softmax", "SoftMaxTiling", 0, "SoftMaxTiling", 48),
        ("last", "int32_t", 0, "", 112),
    ]
    assert outer.bytes == 120
    assert set(outer.nested) == {"Inner", "SoftMaxTiling"}
    inner = outer.nested["Inner"]
    assert inner == TilingStruct("Inner", 32, inner.fields)
    assert [(f.ctype, f.count, f.offset) for f in inner.fields] == [("uint8_t", 0, 0), ("int64_t", 3, 8)]
    assert {f.ctype for f in outer.nested["SoftMaxTiling"].fields} == {"uint32_t"}


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (f'this->Input("x").{FLOAT}; this->Output("y").ParamType(REQUIRED).DataType({{ge::DT_INT8, ge::DT_INT8}});',
         "'y' declares 2 data types, 'x' 1"),
        (f'this->Input("x").{FLOAT}; this->Output("y").ParamType(REQUIRED).Follow("z");', "follows 'z'"),
        ('this->Input("x").ParamType(REQUIRED);', "'x' declares no data type"),
        ('this->MC2().HcclGroup("group");', "HcclGroup: 'group' is no attribute of text"),
        ('this->Attr("group").AttrType(OPTIONAL).String("a"); this->MC2().HcclGroup("group");',
         "'group' is no attribute of text that is required and declared before"),
        ('throw std::runtime_error("no");', "threw an exception: no"),
    ],
)  # fmt: skip
def test_definitions_that_do_not_hold(hosting: Hosting, definition: str, message: str) -> None:
    failure = hosting.describe(definition)
    assert isinstance(failure, HostFailure)
    assert failure.outcome is Outcome.LAUNCH_ERROR
    assert message in failure.diagnostics[0].message


@pytest.mark.parametrize("levels", [200, 1100])
def test_tiling_structures_that_are_nested_too_deep(hosting: Hosting, levels: int) -> None:
    """The second by JSON's reader."""
    structure = "BEGIN_TILING_DATA_DEF({}) TILING_DATA_FIELD_DEF{} END_TILING_DATA_DEF\n"
    texts = [structure.format("S0", "(int32_t, a);")]
    texts += [structure.format(f"S{level}", f"_STRUCT(S{level - 1}, a);") for level in range(1, levels)]
    registered = f"REGISTER_TILING_DATA_CLASS(Probe, S{levels - 1})"
    failure = hosting.describe("", before="namespace optiling {\n" + "".join(texts) + registered + "\n}\n")
    assert isinstance(failure, HostFailure)
    assert failure.outcome is Outcome.LAUNCH_ERROR
    assert "nested more than 100 levels" in failure.diagnostics[0].message


def test_communicators_are_named_by_attributes(hosting: Hosting) -> None:
    description = hosting.described(
        f"""
        this->Input("x").{FLOAT};
        this->Output("y").{FLOAT};
        this->Attr("first").AttrType(REQUIRED).String();
        this->Attr("second").AttrType(REQUIRED).String();
        this->AICore().AddConfig("ascend910b");
        this->MC2().HcclGroup({{"first", "second"}}).HcclGroup("first");
        this->MC2().HcclServerType(HcclServerType::AICPU, "ascend910b");
        """
    )
    assert [attribute.name for attribute in description.attributes] == ["first", "second"]


def test_no_definition(hosting: Hosting) -> None:
    from npukb_twin.operator.host_side import describe

    failure = describe(hosting.image("int unused;"), hosting.runtime)
    assert isinstance(failure, HostFailure)
    assert "OP_ADD is missing" in failure.diagnostics[0].message
