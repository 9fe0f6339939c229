"""Host headers of operator repositories: logs and checks, arithmetic, shapes, prototypes, copies with bounds."""

from __future__ import annotations

from npukb_twin.operator.host_types import HostFailure
from tests.twin.hosting import Hosting

BEFORE = """
}
#include "op_common/log/log.h"
#include "log/log.h"
#include "log/ops_log.h"
#include "base/err_msg.h"
#include "util/math_util.h"
#include "util/shape_util.h"
#include "op_common/op_host/util/math_util.h"
#include "op_common/op_host/util/shape_util.h"
#include "op_common/op_host/util/platform_util.h"
#include "graph/operator_reg.h"
#include "platform/soc_spec.h"

namespace ge {
REG_OP(Probe)
    .INPUT(x, TensorType({DT_FLOAT, DT_FLOAT16}))
    .OPTIONAL_INPUT(bias, TensorType{DT_FLOAT, DT_BF16})
    .DYNAMIC_INPUT(more, TensorType::ALL())
    .OUTPUT(y, "T")
    .DATATYPE(T, TensorType({DT_FLOAT, DT_FLOAT16}))
    .ATTR(axes, ListInt, {1, 2})
    .REQUIRED_ATTR(scale, Float)
    .OP_END_FACTORY_REG(Probe)
}

namespace optiling {
using platform_ascendc::SocVersion;
static ge::graphStatus Check(gert::TilingContext* context, int64_t rank, const void* pointer) {
    for (int i = 0; i < 2; ++i) {
        OP_CHECK_IF(i == 0, OP_LOGD(context, "nothing to see in round %d", i), continue);
        OP_CHECK_NULL_WITH_CONTEXT(context, pointer);
    }
    OP_CHECK_IF(rank != 1,
                OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON(context->GetNodeName(), "x", std::to_string(rank).c_str(),
                                                         "1", "x is a vector"),
                return ge::GRAPH_PARAM_INVALID);
    return ge::GRAPH_SUCCESS;
}
"""

BODY = """
using namespace Ops::Base;
OP_CHECK_NULL_WITH_CONTEXT(context, context->GetInputShape(0));
said[0] = CeilDiv(int64_t(7), 2u) * 1000 + FloorDiv(7, 2) * 100 + CeilAlign(7, 4) * 10 + FloorAlign(7, 4);
said[1] = CeilDiv(7, 0) + FloorAlign(3, 0);
gert::Shape shape = context->GetInputShape(0)->GetStorageShape(), rank, four;
SetUnknownRank(rank);
SetUnknownShape(4, four);
said[2] = IsUnknownRank(rank) * 1000 + IsUnknownShape(four) * 100 + IsUnknownShape(shape) * 10 + four.GetDimNum();
said[3] = (ToString(shape) == "[64]") * 10 + EnsureNotScalar(gert::Shape()).GetDimNum();
said[4] = Check(context, 1, said) == ge::GRAPH_SUCCESS && Check(context, 2, said) == ge::GRAPH_PARAM_INVALID;
said[5] = Check(context, 1, nullptr) == ge::GRAPH_FAILED;
char text[8] = "ab";
said[6] = (strcat_s(text, sizeof text, "cd") == EOK) * 1000 + (strcpy_s(text, 4, "long") != EOK) * 100 +
          (strncpy_s(text, 3, "xyz", 2) == EOK) * 10 + strlen(text);
said[7] = (platform_ascendc::PlatformAscendC(nullptr).GetSocVersion() == SocVersion::ASCEND910B) * 1000 +
          (SocVersion::ASCEND910_93 != SocVersion::ASCEND950 && NpuArch::DAV_2201 != NpuArch::DAV_3510) * 100 +
          ge::DT_FLOAT4_E2M1 + (GetUbBlockSize(context) == 32 && GetVRegSize(context) == 256) * 10000;
said[7] += (ops::Shape2String(shape) == "[64]") * 20000;
"""


def test_every_header_compiles_and_computes(hosting: Hosting) -> None:
    assert hosting.said(BODY, before=BEFORE) == (4384, 10, 1104, 11, 1, 1, 1112, 31140)


def test_what_a_check_says_is_told(hosting: Hosting) -> None:
    failure = hosting.tile("return Check(context, 2, said);", before=BEFORE)
    assert isinstance(failure, HostFailure)
    assert "invalid number of dimensions: x, 2, 1, x is a vector" in str(failure.diagnostics)


def test_a_sources_own_macros_count(hosting: Hosting) -> None:
    before = '}\n#define OP_CHECK_IF(condition, action, then) said[0] = 7\n#include "log/log.h"\nnamespace optiling {'
    assert hosting.said("OP_CHECK_IF(true, , return ge::GRAPH_FAILED);", before=before)[0] == 7
