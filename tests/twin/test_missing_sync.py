"""Kernels that leave out what makes one pipe wait for another, and the same kernels with it.

A line that begins with ``+`` is only in the repaired kernel. The line that ends in ``// here`` is the one to name.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Outcome, Severity
from tests.twin.breaches import CUBE_SETUP
from tests.twin.cubes import CUBE
from tests.twin.openings import on_vectors
from tests.twin.running import Finished, Twin

INPUTS = {"x": np.arange(512, dtype=np.float32)}
OUTPUTS = {"y": ((512,), DType.FLOAT32)}

SETUP = f"""{on_vectors()}
    pipe.InitBuffer(in, 1, 256);
    pipe.InitBuffer(out, 1, 256);
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> a = buffer.Get<float>(512);
    LocalTensor<float> b = buffer.Get<float>(1024)[512];
    Duplicate(a, 1.0f, 512);
    Duplicate(b, 1.0f, 512);
    PipeBarrier<PIPE_ALL>();
"""


class Case(NamedTuple):
    """What is broken: the instruction that should have waited, and the one that it should have waited for."""

    flag: str  # in the remedy
    text: str  # in the message
    body: str
    cube: bool = False


def _pair(event: str) -> str:
    """A flag that is set and waited for, in a repaired kernel."""
    return f"+ SetFlag<HardEvent::{event}>(0);\n+ WaitFlag<HardEvent::{event}>(0);\n"


CASES = {
    "a result runs past its tensor, into one that is being stored": Case(
        "MTE3_V",
        "MTE3 may still be reading",
        "DataCopy(to, b, 64);\n" + _pair("MTE3_V") + "Adds(a[448], a, 1.0f, 128);  // here\n",
    ),
    "a load runs past its tensor, into one that is being computed": Case(
        "V_MTE2",
        "V may still be reading",
        "Adds(a, b, 1.0f, 64);\n" + _pair("V_MTE2") + "DataCopy(a[448], from, 128);  // here\n",
    ),
    "computed before it has arrived": Case(
        "MTE2_V",
        "Abs: pipe V reads 256 bytes at offset 512 of UB (src) while DataCopy of pipe MTE2 may still be writing it",
        f"DataCopy(a, from, 64);\n{_pair('MTE2_V')}Abs(b, a, 64);  // here",
    ),
    "stored before it is computed": Case(
        "V_MTE3",
        "DataCopy: pipe MTE3 reads 256 bytes at offset 2560 of UB (src) while Abs of pipe V may still be writing",
        f"Abs(b, a, 64);\n{_pair('V_MTE3')}DataCopy(to, b, 64);  // here",
    ),
    "computed over what is being stored": Case(
        "MTE3_V",
        "while DataCopy of pipe MTE3 may still be reading",
        f"DataCopy(to, a, 64);\n{_pair('MTE3_V')}Adds(a, a, 1.0f, 64);  // here",
    ),
    "loaded over what is being stored": Case(
        "MTE3_MTE2", "pipe MTE2 writes", f"DataCopy(to, a, 64);\n{_pair('MTE3_MTE2')}DataCopy(a, from, 64);  // here"
    ),
    "loaded over what is being computed on": Case(
        "V_MTE2",
        "Abs of pipe V may still be reading",
        f"Abs(b, a, 64);\n{_pair('V_MTE2')}DataCopy(a, from, 64);  // here",
    ),
    "the second round overwrites the first": Case(
        "V_MTE2",
        "while Adds of pipe V may still be reading",
        """
        + SetFlag<HardEvent::V_MTE2>(0);
        for (int i = 0; i < 4; ++i) {
        +     WaitFlag<HardEvent::V_MTE2>(0);
            DataCopy(a, from[i * 64], 64);  // here
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            Adds(b[i * 64], a, 1.0f, 64);
        +     SetFlag<HardEvent::V_MTE2>(0);
        }
        + WaitFlag<HardEvent::V_MTE2>(0);
        """,
    ),
    "the flag of another direction": Case(
        "MTE2_V",
        "pipe V reads",
        f"DataCopy(a, from, 64);\nSetFlag<HardEvent::V_MTE3>(1);\nWaitFlag<HardEvent::V_MTE3>(1);\n{_pair('MTE2_V')}"
        "Abs(b, a, 64);  // here",
    ),
    "the flag is set too early": Case(
        "MTE2_V",
        "pipe V reads",
        """
        SetFlag<HardEvent::MTE2_V>(1);
        DataCopy(a, from, 64);
        WaitFlag<HardEvent::MTE2_V>(1);
        + SetFlag<HardEvent::MTE2_V>(0);
        + WaitFlag<HardEvent::MTE2_V>(0);
        Abs(b, a, 64);  // here
        """,
    ),
    "a barrier of one pipe only": Case(
        "MTE2_V",
        "pipe V reads",
        f"DataCopy(a, from, 64);\nPipeBarrier<PIPE_MTE2>();\nPipeBarrier<PIPE_V>();\n{_pair('MTE2_V')}"
        "Abs(b, a, 64);  // here",
    ),
    "read back from global memory": Case(
        "MTE3_MTE2",
        "at offset 0 of 'workspace' (gm)",
        f"DataCopy(spare, a, 64);\n{_pair('MTE3_MTE2')}DataCopy(b, spare, 64);  // here",
    ),
    "a freed tensor is still read": Case(
        "V_MTE2",
        "while Adds of pipe V may still be reading",
        """
        LocalTensor<float> t = in.AllocTensor<float>();
        DataCopy(t, from, 64);
        in.EnQue(t);
        t = in.DeQue<float>();
        Abs(b, t, 64);
        in.FreeTensor(t);
        LocalTensor<float> u = in.AllocTensor<float>();
        + in.FreeTensor(u);
        Adds(b, u, 1.0f, 64);
        + SetFlag<HardEvent::V_MTE2>(0);
        + WaitFlag<HardEvent::V_MTE2>(0);
        + u = in.AllocTensor<float>();
        DataCopy(u, from[64], 64);  // here
        in.FreeTensor(u);
        """,
    ),
    "a queue's tensor is stored by the wrong pipe": Case(
        "MTE2_MTE3",
        "DataCopy of pipe MTE2 may still be writing",
        f"""
        LocalTensor<float> t = in.AllocTensor<float>();
        DataCopy(t, from, 64);
        in.EnQue(t);
        t = in.DeQue<float>();
        {_pair("MTE2_MTE3").replace(chr(10), chr(10) + " " * 8)}DataCopy(to, t, 64);  // here
        in.FreeTensor(t);
        """,
    ),
    "a mask of zeros over the one that is being stored": Case(
        "MTE3_V",
        "while DataCopy of pipe MTE3 may still be reading",
        f"""
        Muls(b, a, 0.0f, 64);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to, b, 64);
        {_pair("MTE3_V").replace(chr(10), chr(10) + " " * 8)}Muls(b, a, 0.0f, 64);  // here
        """,
    ),
    "zeros over zeros that lie beside ones": Case(
        "MTE3_V",
        "while DataCopy of pipe MTE3 may still be reading",
        f"""
        Duplicate(a, 0.0f, 32);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(to, a, 64);
        {_pair("MTE3_V").replace(chr(10), chr(10) + " " * 8)}Duplicate(a, 0.0f, 64);  // here
        """,
    ),
    "another row is stored to where one is being loaded": Case(
        "MTE2_MTE3",
        "at offset 0 of 'y' (gm)",
        f"""
        DataCopy(a, to, 64);
        {_pair("MTE2_MTE3").replace(chr(10), chr(10) + " " * 8)}DataCopy(to, b, 64);  // here
        """,
    ),
    "a product of what is not loaded yet": Case(
        "MTE1_M",
        "while LoadData of pipe MTE1 may still be writing",
        f"LoadData(l0a, l1, one);\n{_pair('MTE1_M')}Mmad(c, l0a, l0b, product);  // here",
        cube=True,
    ),
    "a result is stored while it is computed": Case(
        "M_FIX",
        "of L0C (src) while Mmad of pipe M may still be writing",
        f"Mmad(c, l0a, l0b, product);\n{_pair('M_FIX')}Fixpipe(to, c, out);  // here",
        cube=True,
    ),
    "a product over what is being stored": Case(
        "FIX_M",
        "Fixpipe of pipe FIX may still be reading",
        f"Fixpipe(to, c, out);\n{_pair('FIX_M')}Mmad(c, l0a, l0b, more);  // here",
        cube=True,
    ),
    "loaded over what L0A is filled from": Case(
        "MTE1_MTE2",
        "LoadData of pipe MTE1 may still be reading",
        f"LoadData(l0a, l1, one);\n{_pair('MTE1_MTE2')}DataCopy(l1, from[256], 256);  // here",
        cube=True,
    ),
    "L0A is filled with what has not arrived": Case(
        "MTE2_MTE1",
        "DataCopy of pipe MTE2 may still be writing",
        f"DataCopy(l1, from, 256);\n{_pair('MTE2_MTE1')}LoadData(l0a, l1, one);  // here",
        cube=True,
    ),
    "L0A is filled while it is multiplied": Case(
        "M_MTE1",
        "Mmad of pipe M may still be reading",
        f"DataCopy(l1, from[256], 256);\nPipeBarrier<PIPE_ALL>();\nMmad(c, l0a, l0b, product);\n{_pair('M_MTE1')}"
        "LoadData(l0a, l1, one);  // here",
        cube=True,
    ),
}


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs())
    yield Twin(executor)
    executor.close()


def run(twin: Twin, case: Case, *, repaired: bool) -> Finished:
    lines = textwrap.dedent(case.body).strip().splitlines()
    kept = [line.lstrip().removeprefix("+") for line in lines if repaired or not line.lstrip().startswith("+")]
    setup, before = (CUBE_SETUP, CUBE) if case.cube else (SETUP, "")
    body = textwrap.dedent(setup) + "\n".join(kept)
    return twin.run(body, INPUTS, OUTPUTS, before=before, block=None if case.cube else 0)


@pytest.mark.parametrize("name", CASES)
def test_a_pipe_that_does_not_wait_is_refused_at_its_line(twin: Twin, name: str) -> None:
    case = CASES[name]
    broken = run(twin, case, repaired=False)
    assert broken.outcome is Outcome.RULE_VIOLATION, [str(diagnostic) for diagnostic in broken.diagnostics]
    [said] = broken.errors
    assert (said.rule, said.line) == ("missing_sync", broken.marked)
    assert case.text in said.message
    assert f"WaitFlag<HardEvent::{case.flag}>" in said.remedy
    assert run(twin, case, repaired=True).errors == ()


def test_two_instructions_are_named(twin: Twin) -> None:
    broken = run(twin, CASES["computed before it has arrived"], repaired=False)
    [said] = broken.errors
    assert f"kernel.cpp:{broken.marked - 1}" in said.message
    assert said.severity is Severity.ERROR


#: Kernels without a flag that are right for another reason.
ACCEPTED = {
    "lanes that nobody uses lie in a tensor that is being loaded": """
        DataCopy(b, from, 64);
        Adds(a, a[448], 1.0f, 128);
    """,
    "the scalar unit waits for all that was loaded": """
        DataCopy(a, from, 64);
        DataCopy(b, from, 64);
        float first = a.GetValue(0);
        DataCopy(to, b, 64);
    """,
    "what is stored does not change": """
        DataCopy(to, a, 64);
        Duplicate(a, 1.0f, 64);
    """,
    "zeros over zeros, again and again": """
        Duplicate(a, 0.0f, 512);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        for (int i = 0; i < 40; ++i) {
            DataCopy(to, a, 512);
            Duplicate(a, 0.0f, 512);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
        }
    """,
    "the same row is loaded again": """
        DataCopy(a, from, 64);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        Abs(b, a, 64);
        DataCopy(a, from, 64);
    """,
    "what was loaded is stored to where it came from": """
        DataCopy(a, from, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, a, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(b, to, 64);
        DataCopy(to, a, 64);
    """,
    "what is stored lies between what changes": """
        DataCopyPad(to, a, DataCopyParams(8, 4, 0, 0));
        uint64_t others[2] = {0xfefefefefefefefeull, 0};
        Adds(a, a, 1.0f, others, 1, {1, 1, 8, 8});
    """,
    "the sum of a tensor goes through the scalar unit": """
        ReduceSum(b, a, b[64], 64);
        DataCopyPad(to, b, {1, 4, 0, 0, 0});
    """,
    "scalar accesses are the compiler's": """
        DataCopy(a, from, 64);
        a.SetValue(1, a.GetValue(0));
        Abs(b, a, 64);
        b.SetValue(0, 2.0f);
        DataCopy(to, b, 64);
    """,
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_needs_no_flag(twin: Twin, name: str) -> None:
    finished = twin.run(textwrap.dedent(SETUP) + textwrap.dedent(ACCEPTED[name]), INPUTS, OUTPUTS)
    assert (finished.outcome, finished.errors) == (Outcome.OK, ())
