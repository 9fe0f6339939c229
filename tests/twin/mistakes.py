"""Kernels that a model may write, wrong and right: ``mistakes.yaml``, many to a source file.

A rule that is broken ends its block only, so that every body runs in a block of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.tables import read_yaml
from tests.twin.cubes import CUBE
from tests.twin.running import HEAD

__all__ = ["ELEMENTS", "Grouped", "Mistake", "grouped", "grouped_cubes", "mistakes"]

#: Elements of ``x`` and ``y``: 256 for each of 48 blocks.
ELEMENTS = 48 * 256

_VECTOR = """
        TPipe pipe;
        TQue<TPosition::VECIN, 2> in;
        TQue<TPosition::VECOUT, 2> out;
        TBuf<TPosition::VECCALC> buffer;
        GlobalTensor<float> from, to;
        from.SetGlobalBuffer((__gm__ float*)x + {block} * 256, 256);
        to.SetGlobalBuffer((__gm__ float*)y + {block} * 256, 256);
"""
_CUBE = """
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    Cube cube;
    GlobalTensor<half> from = Gm<half>(x);
    GlobalTensor<float> to = Gm<float>(y);
    LocalTensor<half> l1 = cube.a1.Get<half>(), l1b = cube.b1.Get<half>();
    LocalTensor<half> l0a = cube.a2.Get<half>(), l0b = cube.b2.Get<half>();
    LocalTensor<float> c = cube.co1.Get<float>();
    cube.Fractals(l1, from, 16, 16);
    cube.Fractals(l1b, from, 16, 16);
    LoadData2DParams one(0, 1, 1, 0, 0, false, 0);
    MmadParams product(16, 16, 16, 0, false, true);
    FixpipeParamsV220 out(16, 16, 16, 16, false);
"""
_ENTRY = 'extern "C" __global__ __aicore__ void probe(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {'


class Mistake(NamedTuple):
    """A body and, if wrong, the ``rule`` that it breaks where ``// here`` stands. ``twin``: which checker tells."""

    name: str
    body: str
    rule: str = ""
    warns: bool = False
    twin: str = "fast"

    @property
    def broken_line(self) -> str:
        """The line that is named."""
        return "\n".join(re.findall(r".*// here$", self.body, re.MULTILINE))


class Grouped(NamedTuple):
    """A source file, and of every body its first and last line and that of ``// here``, 0 without one."""

    source: str
    lines: Sequence[tuple[int, int, int]]


def mistakes(kind: str) -> list[Mistake]:
    """Those of a kind: ``wrong`` or ``right``, and on cube cores ``cube`` or ``right_cube``."""
    return [Mistake(**row) for row in read_yaml(Path(__file__).with_name("mistakes.yaml"))[kind]]


def grouped(some: Sequence[Mistake]) -> Grouped:
    """A kernel whose block ``i`` executes the body ``i``, on vector cores."""
    return _grouped(some, f"{HEAD}{_ENTRY}\n", _VECTOR)


def grouped_cubes(some: Sequence[Mistake]) -> Grouped:
    """The same on cube cores, of which a launch has half as many."""
    return _grouped(some, f"{HEAD}{CUBE}\n{_ENTRY}{_CUBE}", "")


def _grouped(some: Sequence[Mistake], head: str, setup: str) -> Grouped:
    source, places = head, []
    for block, mistake in enumerate(some):
        source += f"    if (GetBlockIdx() == {block}) {{{setup.format(block=block)}\n"
        first = source.count("\n") + 1
        here = next((first + i for i, line in enumerate(mistake.body.splitlines()) if line.endswith("// here")), 0)
        source += mistake.body + "    }\n"
        places.append((first, source.count("\n"), here))
    return Grouped(source + "}\n", places)
