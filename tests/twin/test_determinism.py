"""The same kernel on the same inputs: same bytes, same diagnostics, same time, whatever runs beside it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.nouns import DType, Observation, Outcome
from tests.twin.openings import on_buffer, on_global
from tests.twin.running import Finished, Twin

X = np.random.default_rng(11).normal(size=48 * 1024).astype(np.float32)
OUTPUTS = {"y": ((48 * 1024,), DType.FLOAT32)}

#: Blocks of different lengths that meet twice, exchange data through global memory, and leave some of it unwritten.
EXCHANGE = f"""{on_buffer("float", "a", 4096)}{on_global("float", xs="x, 48 * 1024", ys="y, 48 * 1024")}
    const int32_t block = GetBlockIdx(), blocks = GetBlockNum();
    DataCopy(a, xs[block * 1024], 1024);
    PipeBarrier<PIPE_ALL>();
    for (int32_t i = 0; i < block % 5 + 1; ++i) Exp(a, a, 512);
    Mins(a, a, 3.0f, 512);
    PipeBarrier<PIPE_ALL>();
    DataCopy(ys[block * 1024], a, 512);
    SyncAll();
    DataCopy(a, ys[(block + 1) % blocks * 1024], 512);
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    Adds(a, a, static_cast<float>(block), 512);
    PipeBarrier<PIPE_ALL>();
    DataCopy(ys[block * 1024], a, 512);
"""


@pytest.fixture(scope="module", params=[1, 2, 7])
def threaded(request: pytest.FixtureRequest) -> Iterator[Twin]:
    """A twin with that many host threads."""
    executor = TwinExecutor(TwinArgs(threads=request.param))
    yield Twin(executor, apart=True)
    executor.close()


def seen(finished: Finished) -> Observation:
    assert finished.seen is not None, finished.compiled
    return finished.seen


def assert_same(first: Observation, other: Observation) -> None:
    assert first.outcome is other.outcome
    assert first.diagnostics == other.diagnostics
    assert first.profile == other.profile
    assert set(first.outputs) == set(other.outputs)
    for name, array in first.outputs.items():
        assert np.asarray(array).tobytes() == np.asarray(other.outputs[name]).tobytes()


def test_threads_change_nothing(twin: Twin, threaded: Twin) -> None:
    def finish(twin: Twin) -> Finished:
        return twin.run(EXCHANGE, {"x": X}, OUTPUTS, block=None)

    first = finish(twin)
    assert first.output().any()
    for _ in range(5):
        assert_same(seen(first), seen(finish(threaded)))


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        # some blocks break a rule before the others wait for them
        ("if (GetBlockIdx() % 7 == 3) {\n    WaitFlag<HardEvent::V_S>(0);  // here\n}\nSyncAll();", {"deadlock"}),
        ("if (GetBlockIdx() == 47) {\n    SetFlag<HardEvent::V_S>(9);  // here\n}\nSyncAll();", {"bad_event_id"}),
        (
            "SyncAll();\nif (GetBlockIdx() < 5) {\n    SetFlag<HardEvent::V_S>(9);  // here\n}\nSyncAll();",
            {"bad_event_id"},
        ),
        ("SyncAll();\nif (GetBlockIdx() != 5) {\n    SyncAll();  // here\n}", {"deadlock"}),
        ("SetFlag<HardEvent::V_S>(GetBlockIdx() % 8);  // here", {"unpaired_flag"}),
    ],
)
def test_threads_change_no_diagnostics(twin: Twin, threaded: Twin, body: str, rules: set[str]) -> None:
    first = twin.run(body, block=None)
    assert {(diagnostic.rule, diagnostic.line) for diagnostic in first.diagnostics} == {
        (rule, first.marked) for rule in rules
    }
    for _ in range(5):
        assert_same(seen(first), seen(threaded.run(body, block=None)))


def test_many_meetings_of_blocks_end(threaded: Twin) -> None:
    finished = threaded.run("for (int i = 0; i < 300; ++i) SyncAll();", block=None)
    assert finished.outcome is Outcome.OK


def test_memory_that_nobody_wrote_is_seeded(twin: Twin) -> None:
    body = """
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 1024);
        GlobalTensor<float> to;
        to.SetGlobalBuffer((__gm__ float*)y);
        DataCopy(to, buffer.Get<float>(), 128);
    """
    outputs = {"y": ((256,), DType.UINT32)}
    first, same, other = (twin.run(body, {}, outputs, seed=seed) for seed in (1, 1, 2))
    assert_same(seen(first), seen(same))
    written, blank = first.output()[:128], first.output()[128:]
    assert len(set(written.tolist())) == 1
    assert np.isnan(written.view(np.float32)).all()
    assert np.isnan(written.view(np.float16)).all()
    assert (blank != other.output()[128:]).any()


def test_two_kernels_at_once_do_not_meet(twin: Twin) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def finish(number: int) -> float:
        body = f"GlobalTensor<float> to;\nto.SetGlobalBuffer((__gm__ float*)y);\nto.SetValue(0, {number}.0f);"
        return float(twin.run(body).output()[0])

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(finish, range(12))) == list(range(12))
