"""Nothing that a prompt says is otherwise before the judge: limits, cores, buffers, blocks of a queue."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from npukb_twin.executor import TwinExecutor
from npukb_twin.teaching import topics
from npukb_twin.timing.machine import load
from npukernelbench.judge.check import pcl
from npukernelbench.nouns import PROMPTED_TRACKS, DType, Outcome, Track
from npukernelbench.nouns.knowledge import Knowledge
from npukernelbench.nouns.machine import DEFAULT_MACHINE
from npukernelbench.prompts.knowledge import Reference
from npukernelbench.prompts.style import DEFAULT
from tests.suite import suite
from tests.twin.running import Twin

PROMPT = DEFAULT.with_knowledge(Reference(Knowledge.API, topics()))
_LIMIT = re.compile(r" (\S+) and (\S+) in (\w+)(?=[;.])")


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    shared = Twin(executor=TwinExecutor(TwinExecutor.Args()), apart=True)
    yield shared
    shared.executor.close()


def told(name: str, track: Track) -> str:
    task = suite()[name]
    return PROMPT.render(task, task.usual_case, track).messages[1].content


def number(pattern: str, text: str) -> int:
    [found] = set(re.findall(pattern, text))
    return int(found)


def is_the_limit(twin: Twin, body: str, most: int, beyond: int) -> bool:
    """Whether ``body`` is right with the largest number that is allowed, and refused with the least that is not."""
    outcomes = [twin.run(body.format(number), outputs={}).outcome for number in (most, beyond)]
    return outcomes == [Outcome.OK, Outcome.RULE_VIOLATION]


def test_the_limits_that_are_told_are_those_that_decide() -> None:
    """An error just within what the prompt tells passes, one just beyond it does not: every task, on every track."""
    seen = 0
    for task in suite().values():
        for track in PROMPTED_TRACKS if task.tolerance.policy == "pcl" else ():
            text = told(task.name, track)
            sentence = text.partition("exceed their limit, which is")[2].partition("\n")[0]
            exact = re.findall(r"\w+\d+", text.partition("So must elements of ")[2].partition(".")[0])
            for atol, rtol, name in [*_LIMIT.findall(sentence), *((0.0, 0.0, name) for name in exact)]:
                dtype, seen = DType(name), seen + 1
                # Numbers of the narrow types lie too far apart to fit an error between: double stands for them.
                for expected in (0.0, 1.0):
                    bound = max(float(atol), float(rtol) * expected)
                    for share, right in ((0.98, True), (1.02, False)) if bound else ((0.0, True),):
                        actual = np.array([expected + share * bound])
                        limits = task.tolerance.limits[dtype]
                        assert pcl(actual, np.array([expected]), DType.FLOAT64, limits).passed is right, task.name
    assert seen > 500


def test_the_unified_buffer_holds_what_may_be_allocated_and_no_more_than_it_is_large(twin: Twin) -> None:
    """In between lies what the platform keeps for itself: the prompt is the stricter of the two."""
    text = told("Sqrt", Track.STATIC)
    usable = number(r"of which (\d+) bytes may be allocated", text)
    whole = number(r"unified buffer \(UB\) of (\d+) KiB", text) * 1024
    body = """
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, {0});
        LocalTensor<float> all = buffer.Get<float>();
        Duplicate(all, 1.0f, {0} / sizeof(float));
    """
    assert usable <= whole
    assert is_the_limit(twin, body, usable, whole + 32)


def test_queues_hold_as_many_buffers_as_the_prompt_says_and_no_more(twin: Twin) -> None:
    most = number(r"At most (\d+) buffers per queue position", told("Sqrt", Track.STATIC))
    body = """
        TPipe pipe;
        TQue<TPosition::VECIN, 1> queues[{0}];
        LocalTensor<float> held[{0}];
        for (int i = 0; i < {0}; i++) pipe.InitBuffer(queues[i], 1, 64);
        for (int i = 0; i < {0}; i++) held[i] = queues[i].AllocTensor<float>();
        for (int i = 0; i < {0}; i++) queues[i].FreeTensor(held[i]);
    """
    assert is_the_limit(twin, body, most, most + 1)


def test_as_many_cores_are_launched_as_the_prompt_says(twin: Twin) -> None:
    cores = number(r"launches the entry on (\d+) vector cores", told("Sqrt", Track.STATIC))
    body = """
        TPipe pipe;
        TBuf<TPosition::VECCALC> buffer;
        pipe.InitBuffer(buffer, 32);
        LocalTensor<int32_t> count = buffer.Get<int32_t>();
        Duplicate(count, static_cast<int32_t>(GetBlockNum()), 8);
        GlobalTensor<int32_t> to;
        to.SetGlobalBuffer((__gm__ int32_t*)y, 8);
        DataCopy(to, count, 8);
    """
    assert twin.run(body, outputs={"y": ((8,), DType.INT32)}).output()[0] == cores


def test_buffers_of_the_cube_core_are_as_large_as_the_prompt_says() -> None:
    numbers, text = load(DEFAULT_MACHINE.soc).numbers, told("BasicMatmul", Track.STATIC)
    for pattern, name in (
        (r"L1 \((\d+) KiB\)", "l1_bytes"),
        (r"L0A and L0B \((\d+) KiB each\)", "l0a_bytes"),
        (r"L0C \((\d+) KiB\)", "l0c_bytes"),
        (r"bias table \((\d+) KiB\)", "bt_bytes"),
        (r"fixpipe buffer \((\d+) KiB\)", "fb_bytes"),
    ):
        assert number(pattern, text) * 1024 == numbers[name], name
