"""Template arguments in the place of tiling keys, from the tiling function to the instance that runs."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_twin.compile.templates import arguments_of, template_of
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import CompileRequest, DType, Outcome, RunRequest, Track
from tests.twin.hosting import DEFINITION, ONE_CORE
from tests.twin.running import Finished, Twin, task_for

KEYS = """
#include "ascendc/host_api/tiling/template_argument.h"
#define FAST 10
#define EXACT 20
ASCENDC_TPL_ARGS_DECL(Probe,  // the operator
    ASCENDC_TPL_DATATYPE_DECL(D_T_X, C_DT_FLOAT, C_DT_FLOAT16, ASCENDC_TPL_INPUT(0)),
    ASCENDC_TPL_UINT_DECL(TILES, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_MIX, 2, 0, 2, 3, 5, 10, 12, 8),
    ASCENDC_TPL_DTYPE_DECL(MODE, FAST, EXACT),
    ASCENDC_TPL_BOOL_DECL(NEGATE, 0, 1),
);
ASCENDC_TPL_SEL(
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_KERNEL_TYPE_SEL(ASCENDC_TPL_AIV_ONLY),
        ASCENDC_TPL_DATATYPE_SEL(D_T_X, C_DT_FLOAT16),
        ASCENDC_TPL_UINT_SEL(TILES, ASCENDC_TPL_UI_LIST, 1, 8),
        ASCENDC_TPL_DTYPE_SEL(MODE, FAST),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 0, 1)),
    ASCENDC_TPL_ARGS_SEL(
        ASCENDC_TPL_DATATYPE_SEL(D_T_X, C_DT_FLOAT),
        ASCENDC_TPL_UINT_SEL(TILES, ASCENDC_TPL_UI_RANGE, 1, 1, 5),
        ASCENDC_TPL_DTYPE_SEL(MODE, FAST, EXACT),
        ASCENDC_TPL_BOOL_SEL(NEGATE, 1)),
);
"""
HOST = (
    """
#include "register/op_def_registry.h"
#include "register/tilingdata_base.h"
#include "../op_kernel/keys.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(ProbeTilingData)
TILING_DATA_FIELD_DEF(uint32_t, length);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Probe, ProbeTilingData)
static ge::graphStatus TilingFunc(gert::TilingContext* context)
{
    ProbeTilingData tiling;
    tiling.set_length(context->GetInputShape(0)->GetStorageShape().GetShapeSize());
    uint32_t D_T_X = static_cast<int>(context->GetInputDesc(0)->GetDataType());
    int TILES = %TILES%;
    ASCENDC_TPL_SEL_PARAM(context, D_T_X, TILES, EXACT_IF(D_T_X), %NEGATE%);
"""
    + ONE_CORE
    + DEFINITION.format(
        body="""
    this->Input("x").ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->Output("y").ParamType(REQUIRED)
        .DataType({ge::DT_FLOAT, ge::DT_FLOAT16}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
    this->AICore().SetTiling(optiling::TilingFunc).LaunchWithZeroEleOutputTensors(true);
    this->AICore().AddConfig("ascend910b");
"""
    )
)
KERNEL = """
#include "kernel_operator.h"
#include "keys.h"
using namespace AscendC;
template <typename D_T_X, int TILES, int MODE, int NEGATE>
__global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling)
{
    GET_TILING_DATA(data, tiling);
    static_assert(std::is_same_v<D_T_X, DTYPE_X>, "only what a case asks for is compiled");
    uint32_t part = data.length / TILES;
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> queue;
    pipe.InitBuffer(queue, 1, part * sizeof(D_T_X));
    GlobalTensor<D_T_X> from, to;
    from.SetGlobalBuffer((__gm__ D_T_X*)x, data.length);
    to.SetGlobalBuffer((__gm__ D_T_X*)y, data.length);
    for (int i = 0; i < TILES; ++i) {
        LocalTensor<D_T_X> t = queue.AllocTensor<D_T_X>();
        DataCopy(t, from[i * part], part);
        PipeBarrier<PIPE_ALL>();
        queue.EnQue(t);
        t = queue.DeQue<D_T_X>();
        if constexpr (NEGATE) Muls(t, t, static_cast<D_T_X>(-1), part);
        if constexpr (MODE == EXACT) Adds(t, t, static_cast<D_T_X>(TILES), part);
        queue.EnQue(t);
        t = queue.DeQue<D_T_X>();
        PipeBarrier<PIPE_ALL>();
        DataCopy(to[i * part], t, part);
        PipeBarrier<PIPE_ALL>();
        queue.FreeTensor(t);
    }
}
"""


def go(twin: Twin, x: np.ndarray, dtype: DType, *, tiles: int, negate: int, kernel: str = KERNEL) -> Finished:
    host = HOST.replace("%TILES%", str(tiles)).replace("%NEGATE%", str(negate))
    host = host.replace("EXACT_IF(D_T_X)", "D_T_X == ge::DT_FLOAT ? EXACT : FAST")
    files = {"op_host/probe.cpp": host, "op_kernel/probe.cpp": kernel, "op_kernel/keys.h": KEYS}
    task = task_for({"x": x}, {"y": (x.shape, dtype)})
    compiled = twin.executor.compile(CompileRequest(task, None, Track.DYNAMIC, candidate_of(files), 60.0, task.cases))
    if compiled.artifact is None:
        return Finished(kernel, compiled, None)
    seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, {"x": x}, 7, 30.0))
    return Finished(kernel, compiled, seen)


def test_the_instance_that_the_tiling_function_chose_runs(twin: Twin) -> None:
    x = np.arange(256, dtype=np.float32)
    assert np.array_equal(go(twin, x, DType.FLOAT32, tiles=4, negate=1).output(), 4 - x)
    half = x.astype(np.float16)
    assert np.array_equal(go(twin, half, DType.FLOAT16, tiles=8, negate=0).output(), half)


def test_values_that_no_combination_has(twin: Twin) -> None:
    x = np.zeros(64, np.float16)
    done = go(twin, x, DType.FLOAT16, tiles=2, negate=0)
    assert done.outcome is Outcome.LAUNCH_ERROR
    [error] = done.errors
    assert error.rule == "tiling"
    assert "D_T_X = 1, TILES = 2, MODE = 10, NEGATE = 0" in error.message


def test_an_instance_that_does_not_compile(twin: Twin) -> None:
    kernel = KERNEL.replace("static_cast<D_T_X>(-1)", "nothing")
    done = go(twin, np.zeros(64, np.float32), DType.FLOAT32, tiles=2, negate=1, kernel=kernel)
    assert done.outcome is Outcome.COMPILE_ERROR
    assert [(error.file, "nothing" in error.message) for error in done.errors] == [("op_kernel/probe.cpp", True)]


FILES = {"op_kernel/keys.h": KEYS, "op_kernel/probe.cpp": KERNEL}


@pytest.mark.parametrize(
    ("key", "wanted"),
    [(0, "float, 0, 0, 0"), (1 | 6 << 8 | 20 << 16 | 1 << 24, "half, 10, 20, 1"), (8 << 8, "float, 8, 0, 0")],
)
def test_keys_are_taken_apart(key: int, wanted: str) -> None:
    declared = template_of(FILES, "probe")
    assert declared is not None
    assert arguments_of(declared, key, {0: "float", 1: "half"}) == wanted


@pytest.mark.parametrize(
    ("key", "message"),
    [(9 << 8, "TILES has no value number 9"), (7, "D_T_X has no element type number 7"), (1 << 25, "more bits")],
)
def test_keys_that_stand_for_nothing(key: int, message: str) -> None:
    declared = template_of(FILES, "probe")
    assert declared is not None
    with pytest.raises(ValueError, match=message):
        arguments_of(declared, key, {0: "float", 1: "half"})


def test_what_is_no_template() -> None:
    plain = 'extern "C" __global__ __aicore__ void probe(GM_ADDR x) {}'
    assert template_of({"op_kernel/probe.cpp": plain, "op_kernel/keys.h": KEYS}, "probe") is None
    assert template_of({"op_kernel/probe.cpp": KERNEL}, "probe") is None
