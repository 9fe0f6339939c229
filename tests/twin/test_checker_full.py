"""The full checker has nothing to say about programs that synchronise and initialise as the documentation asks."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker, Switch
from npukernelbench.nouns import DType, Outcome
from tests.twin.openings import on_vectors
from tests.twin.running import Twin

INPUTS = {"x": np.arange(512, dtype=np.float32)}
OUTPUTS = {"y": ((512,), DType.FLOAT32)}
HEAD = f"""{on_vectors()}
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 2> both;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> a = buffer.Get<float>(512);
    LocalTensor<float> b = buffer.Get<float>(1024)[512];
    event_t in_done = static_cast<event_t>(pipe.FetchEventID(HardEvent::MTE2_V));
"""

#: Bodies that are right with and without automatic synchronisation.
EXPLICIT = {
    "queues": """
        pipe.InitBuffer(in, 2, 256);
        pipe.InitBuffer(out, 2, 256);
        for (int i = 0; i < 8; ++i) {
            LocalTensor<float> s = in.AllocTensor<float>();
            DataCopy(s, from[i * 64], 64);
            in.EnQue(s);
            s = in.DeQue<float>();
            LocalTensor<float> d = out.AllocTensor<float>();
            Exp(d, s, 64);
            PipeBarrier<PIPE_V>();
            Adds(d, d, 1.0f, 64);
            in.FreeTensor(s);
            out.EnQue(d);
            d = out.DeQue<float>();
            DataCopy(to[i * 64], d, 64);
            out.FreeTensor(d);
        }
    """,
    "one queue from copy to copy": """
        pipe.InitBuffer(both, 1, 256);
        for (int i = 0; i < 4; ++i) {
            LocalTensor<float> s = both.AllocTensor<float>();
            DataCopy(s, from[i * 64], 64);
            both.EnQue(s);
            s = both.DeQue<float>();
            DataCopy(to[i * 64], s, 64);
            both.FreeTensor(s);
        }
    """,
    "flags": """
        for (int i = 0; i < 4; ++i) {
            DataCopy(a, from[i * 64], 64);
            SetFlag<HardEvent::MTE2_V>(in_done);
            WaitFlag<HardEvent::MTE2_V>(in_done);
            Exp(b, a, 64);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopy(to[i * 64], b, 64);
            SetFlag<HardEvent::MTE3_MTE2>(0);
            WaitFlag<HardEvent::MTE3_MTE2>(0);
        }
    """,
    "a barrier of all pipes": """
        DataCopy(a, from, 64);
        PipeBarrier<PIPE_ALL>();
        Exp(a, a, 64);
        pipe_barrier(PIPE_ALL);
        DataCopy(to, a, 64);
    """,
    "the scalar unit waits, and issues nothing before": """
        DataCopy(a, from, 64);
        SetFlag<HardEvent::MTE2_S>(0);
        WaitFlag<HardEvent::MTE2_S>(0);
        Exp(b, a, 64);
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        DataCopy(to, b, 64);
    """,
    "scalar values with flags": """
        a.SetValue(0, 2.0f);
        for (int i = 1; i < 8; ++i) a.SetValue(i, a.GetValue(i - 1) + 1.0f);
        SetFlag<HardEvent::S_V>(0);
        WaitFlag<HardEvent::S_V>(0);
        Exp(b, a, 8);
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        to.SetValue(0, b.GetValue(7));
    """,
    "pieces between pieces": """
        DataCopy(a, from, {4, 1, 1, 1});
        DataCopy(a[8], from[8], {4, 1, 1, 1});
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, a, {4, 1, 1, 1});
        DataCopy(to[8], a[8], {4, 1, 1, 1});
    """,
    "through global memory": """
        Duplicate(a, 3.0f, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(spare, a, 64);
        SetFlag<HardEvent::MTE3_MTE2>(1);
        WaitFlag<HardEvent::MTE3_MTE2>(1);
        DataCopy(b, spare, 64);
    """,
    "rows that follow each other": """
        Duplicate(a, 3.0f, 64);
        PipeBarrier<PIPE_ALL>();
        for (int i = 0; i < 8; ++i) DataCopy(to[i * 64], a, 64);
    """,
}

#: Bodies that the compiler makes right.
AUTOMATIC = {
    "instructions that follow each other": "Duplicate(a, 1.0f, 64);\nExp(a, a, 64);\nAdd(b, a, a, 64);",
    "scalar values": """
        DataCopy(a, from, 64);
        float first = a.GetValue(0);
        a.SetValue(1, first);
        Adds(b, a, first, 64);
        b.SetValue(3, b.GetValue(2));
        PipeBarrier<PIPE_V>();
        Exp(b, b, 64);
        to.SetValue(0, b.GetValue(7));
    """,
}

#: Undefined memory that is looked at and then left alone.
HARMLESS = {
    "a tail is computed on and not stored": """
        DataCopyPad(a, from, {1, 20, 0, 0, 0}, {false, 0, 0, 0});
        PipeBarrier<PIPE_ALL>();
        Sqrt(b, a, 64);
        Muls(b, b, 2.0f, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to, b, {1, 20, 0, 0, 0});
    """,
    "a tail is padded": """
        DataCopyPad(a, from, {1, 20, 0, 0, 0}, {true, 0, 3, 0.0f});
        PipeBarrier<PIPE_ALL>();
        ReduceSum(b, a, b[64], 8);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to, b, {1, 4, 0, 0, 0});
    """,
    "undefined lanes are chosen away": """
        Duplicate(b, 5.0f, 64);
        LocalTensor<uint8_t> mask = b[256].ReinterpretCast<uint8_t>();
        Compares(mask, b, 0.0f, CMPMODE::LT, 64);
        Select(b[64], mask, a, b, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, b[64], 64);
    """,
    "bits of a few lanes go through a logical instruction": """
        Duplicate(b, 5.0f, 7);
        LocalTensor<uint8_t> mask = b[256].ReinterpretCast<uint8_t>();
        LocalTensor<uint16_t> words = mask.ReinterpretCast<uint16_t>();
        Compares(mask, b, 0.0f, CMPMODE::GE, 64);
        And(words, words, words, 1);
        Select(b[64], mask, b, 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 7);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to, b[64], {1, 28, 0, 0, 0});
    """,
    "what is stored too much is overwritten": """
        Duplicate(b, 5.0f, 5);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, b, 8);
        PipeBarrier<PIPE_ALL>();
        Duplicate(b, 6.0f, 8);
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(to[5], b, {1, 12, 0, 0, 0});
    """,
    "written through a pointer": """
        auto* raw = reinterpret_cast<float*>(a.GetPhyAddr());
        for (int i = 0; i < 64; ++i) raw[i] = 1.5f * i;
        DataCopy(to, a, 64);
    """,
    "a workspace is written before it is read": """
        Duplicate(a, 1.0f, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(spare, a, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(b, spare, 64);
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, b, 64);
    """,
    "lanes under a mask": """
        Duplicate(a, 1.0f, 512);
        uint64_t odd[2] = {0xaaaaaaaaaaaaaaaaull, 0};
        uint64_t even[2] = {0x5555555555555555ull, 0};
        Adds(b, a, 1.0f, odd, 2, {1, 1, 8, 8});
        Adds(b, a, 2.0f, even, 2, {1, 1, 8, 8});
        PipeBarrier<PIPE_ALL>();
        DataCopy(to, b, 128);
    """,
}


@pytest.fixture(scope="module", params=[Switch.ON, Switch.OFF], ids=["auto", "explicit"])
def full(request: pytest.FixtureRequest) -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL, auto_sync=request.param))
    yield Twin(executor)
    executor.close()


@pytest.fixture(scope="module")
def automatic() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL))
    yield Twin(executor)
    executor.close()


def assert_silent(twin: Twin, body: str) -> None:
    finished = twin.run(textwrap.dedent(HEAD) + textwrap.dedent(body), INPUTS, OUTPUTS)
    assert (finished.outcome, [str(diagnostic) for diagnostic in finished.diagnostics]) == (Outcome.OK, [])


@pytest.mark.parametrize("name", EXPLICIT)
def test_explicit_synchronisation_suffices(full: Twin, name: str) -> None:
    assert_silent(full, EXPLICIT[name])


@pytest.mark.parametrize("name", AUTOMATIC)
def test_what_the_compiler_does_suffices(automatic: Twin, name: str) -> None:
    assert_silent(automatic, AUTOMATIC[name])


@pytest.mark.parametrize("name", HARMLESS)
def test_undefined_memory_without_consequence(automatic: Twin, name: str) -> None:
    assert_silent(automatic, HARMLESS[name])


def test_every_synchronisation_of_a_kernel_is_needed(full: Twin) -> None:
    """Leaving out any one line of a kernel with explicit flags is noticed."""
    lines = textwrap.dedent(EXPLICIT["flags"]).strip().splitlines()
    pairs = [(i, i + 1) for i, line in enumerate(lines) if "SetFlag" in line]
    assert len(pairs) == 3
    for pair in pairs:
        body = "\n".join(line for i, line in enumerate(lines) if i not in pair)
        finished = full.run(textwrap.dedent(HEAD) + body, INPUTS, OUTPUTS)
        assert {diagnostic.rule for diagnostic in finished.diagnostics} == {"missing_sync"}


def test_results_and_times_do_not_depend_on_the_checker() -> None:
    seen = []
    for checker in Checker:
        twin = Twin(TwinExecutor(TwinArgs(checker=checker)))
        finished = twin.run(textwrap.dedent(HEAD) + textwrap.dedent(EXPLICIT["queues"]), INPUTS, OUTPUTS)
        twin.executor.close()
        assert finished.seen is not None
        seen.append((finished.output().tobytes(), finished.seen.profile))
    assert seen[0] == seen[1] == seen[2]
