"""A task of the user's own, with its reference, and a kernel that is right on the first of its two cases."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest


class OwnTask(NamedTuple):
    """Folder of the task files, and the kernel's text."""

    folder: Path
    kernel: str


KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() >= 2) return;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 512);
    LocalTensor<float> tile = buffer.Get<float>();
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * 128, 128);
    out.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * 128, 128);
    DataCopy(tile, in, 128);
    PipeBarrier<PIPE_ALL>();
    Adds(tile, tile, 1.0f, 128);
    PipeBarrier<PIPE_ALL>();
    DataCopy(out, tile, 128);
}
"""
TASK = """name: AddOne
suite: own
level: 1
category: Math
version: 1
kernel: twice
summary: One more.
description: Adds one.
formula: y_i = x_i + 1
interface:
  inputs: [{name: x, dtypes: [float32], description: Input tensor.}]
  outputs: [{name: y, dtype_like: x, shape_like: x, description: One more.}]
reference: own_reference:add_one
tolerance: {policy: pcl, limits: {float32: {atol: 1.0e-6, rtol: 1.0e-6}}}
cases:
  - {id: "0", inputs: {x: {shape: [256], dtype: float32, values: {uniform: [-1.0, 1.0]}}}, profiles: [cpu, full, smoke]}
  - {id: "1", inputs: {x: {shape: [512], dtype: float32, values: {uniform: [-1.0, 1.0]}}}, profiles: [full]}
"""


@pytest.fixture
def own_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OwnTask:
    """The task ``AddOne`` on disk; its reference can be imported."""
    (tmp_path / "own_reference.py").write_text("def add_one(x):\n    return x + 1\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "tasks" / "add_one").mkdir(parents=True)
    (tmp_path / "tasks" / "add_one" / "task.yaml").write_text(TASK, encoding="utf-8")
    return OwnTask(tmp_path / "tasks", KERNEL)
