"""Ways to break the checker's rules, one kernel for each: ``rules/*.yaml``, and what their bodies may use."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import NamedTuple

import yaml

from tests.twin.cubes import CUBE

__all__ = ["CUBE_SETUP", "SETUP", "Breach", "breaches"]

_FOLDER = Path(__file__).with_name("rules")
#: What other bodies may use: 512 floats in, 512 floats and 512 halfs out, buffers of 2 KiB.
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
#: What bodies on the cube core may use: 256 halfs of a product in every memory, as cubes.py names them.
CUBE_SETUP = """
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    if (GetBlockIdx() != 0) return;
    Cube cube;
    GlobalTensor<half> from = Gm<half>(x);
    GlobalTensor<float> to = Gm<float>(y);
    cube.Fractals(cube.a1.Get<half>(), from, 16, 16);
    cube.Fractals(cube.b1.Get<half>(), from, 16, 16);
    cube.Left<half>(16, 16);
    cube.Right<half>(16, 16);
    cube.Multiply<float, half>(16, 16, 16);
    LocalTensor<half> l1 = cube.a1.Get<half>(), l0a = cube.a2.Get<half>(), l0b = cube.b2.Get<half>();
    LocalTensor<float> c = cube.co1.Get<float>(), biases = cube.c2.Get<float>();
    LoadData2DParams one(0, 1, 1, 0, 0, false, 0);
    MmadParams product(16, 16, 16, 0, false, true), more(16, 16, 16, 0, false, false);
    FixpipeParamsV220 out(16, 16, 16, 16, false);
"""


class Breach(NamedTuple):
    """A way to break a rule. The line of ``body`` that ends in ``// here`` is the one to name; what the message
    ``says`` is a part of it. ``twin`` is which of the test's twins breaks it.
    """

    rule: str
    says: str
    body: str
    warning: bool = False
    blocks: str = "one"
    twin: str = "fast"
    cube: bool = False

    @property
    def block(self) -> int | None:
        """The one block that runs the body; None for all."""
        return None if self.cube or self.blocks == "all" else 0

    @property
    def text(self) -> str:
        """The body behind what it may use."""
        return textwrap.dedent(CUBE_SETUP if self.cube else SETUP) + self.body

    @property
    def before(self) -> str:
        """What stands in front of the kernel."""
        return CUBE if self.cube else ""


def breaches() -> list[Breach]:
    """All of them, file after file."""
    return [
        Breach(**row, cube=path.stem == "cube")
        for path in sorted(_FOLDER.glob("*.yaml"))
        for row in yaml.safe_load(path.read_text(encoding="utf-8"))
    ]
