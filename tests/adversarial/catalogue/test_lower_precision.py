"""C9: a float32 task that is computed in half is wrong; the same kernel in float32 is right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import Case, DType, Outcome, Task, TensorCase, TensorShape, Track
from tests.suite import suite

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge

SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
constexpr uint32_t TOTAL = 2107, ROOM = 2112;
extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> wideRoom, narrowRoom;
    pipe.InitBuffer(wideRoom, ROOM * sizeof(float));
    pipe.InitBuffer(narrowRoom, ROOM * sizeof(half));
    LocalTensor<float> wide = wideRoom.Get<float>();
    LocalTensor<half> narrow = narrowRoom.Get<half>();
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, TOTAL);
    to.SetGlobalBuffer((__gm__ float*)y, TOTAL);
    const DataCopyExtParams copy{1, TOTAL * sizeof(float), 0, 0, 0};
    DataCopyPad(wide, from, copy, DataCopyPadExtParams<float>{false, 0, 0, 0});
    PipeBarrier<PIPE_ALL>();
    WORK
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(to, wide, copy);
}
"""
IN_FLOAT = "Sqrt(wide, wide, TOTAL);"
IN_HALF = (
    "Cast(narrow, wide, RoundMode::CAST_RINT, TOTAL); Sqrt(narrow, narrow, TOTAL); "
    "Cast(wide, narrow, RoundMode::CAST_NONE, TOTAL);"
)


@pytest.fixture(scope="module")
def subject() -> tuple[Task, Case]:
    task = suite()["Sqrt"]
    case, shape = task.case("smoke"), TensorShape((7, 301), DType.FLOAT32)
    given = case.inputs["x"]
    assert isinstance(given, TensorCase)
    return task, replace(case, inputs={"x": replace(given, tensor=shape)}, outputs={"y": shape})


@pytest.mark.parametrize(("work", "outcome"), [(IN_FLOAT, Outcome.OK), (IN_HALF, Outcome.WRONG_VALUE)])
def test_half_is_not_enough_for_float(judge: Judge, subject: tuple[Task, Case], work: str, outcome: Outcome) -> None:
    source = SOURCE.replace("WORK", work)
    verdict = judge.judge(subject[0], [subject[1]], Track.STATIC, candidate_of({"kernel.cpp": source}))
    said = [diagnostic for case in verdict.cases for diagnostic in case.diagnostics]
    assert verdict.outcome is outcome, [str(diagnostic) for diagnostic in (*verdict.diagnostics, *said)]
