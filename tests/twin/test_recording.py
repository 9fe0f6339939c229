"""Stepping through what a core did: values, flags and queues are those of the moment, forwards and backwards."""

from __future__ import annotations

import numpy as np
import pytest

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.cli.stepping import Stepping
from npukernelbench.nouns import DType, Outcome, RunRequest
from tests.twin.running import SMALL, Twin, kernel, task_for

X = np.arange(256, dtype=np.float32)
BODY = """
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TBuf<TPosition::VECCALC> buffer;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, 256);
    to.SetGlobalBuffer((__gm__ float*)y, 256);
    pipe.InitBuffer(in, 2, 1024);
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> t = in.AllocTensor<float>(), b = buffer.Get<float>();
    DataCopy(t, from, 256);
    in.EnQue(t);
    t = in.DeQue<float>();
    for (int i = 0; i < 3; ++i) Adds(b, i == 0 ? t : b, 2.0f, 256);
    Muls(b, b, 3.0f, 8, 2, {1, 1, 16, 16});
    SetFlag<HardEvent::V_MTE3>(5);
    WaitFlag<HardEvent::V_MTE3>(5);
    DataCopy(to, b, 256);
    in.FreeTensor(t);
"""


class Steps:
    """A session, and what it says."""

    def __init__(self, twin, body=BODY, recorded=(0, 0)):
        self.source = kernel(body, ("x", "y", "workspace"))
        task = task_for({"x": X}, SMALL)
        artifact = twin.compile(self.source, task).artifact
        request = RunRequest(task, task.cases[0], artifact, {"x": X}, 7, 30.0, recorded=recorded)
        self.seen = twin.executor.run(request)
        self.recording = self.seen.recording
        self.said = []
        if self.recording is not None:
            types = {"x": DType.FLOAT32, "y": DType.FLOAT32}
            files = {"kernel.cpp": self.source}
            self.session = Stepping(self.recording, {"x": X}, types, files, self.said.append)

    def __call__(self, *commands):
        self.said.clear()
        for command in commands:
            assert not self.session.onecmd(self.session.precmd(command))
        return "\n".join(self.said)

    def line(self, text):
        return 1 + self.source[: self.source.index(text)].count("\n")


@pytest.fixture(scope="module")
def twin():
    made = Twin(TwinExecutor(TwinArgs()))
    yield made
    made.executor.close()


@pytest.fixture(scope="module")
def steps(twin):
    return Steps(twin)


def test_everything_the_core_did_is_there_in_order(steps):
    assert (steps.recording.core, steps.recording.lost, steps.recording.cut) == ("vector", 0, False)
    names = [entry.name for entry in steps.recording.entries]
    assert names[:5] == ["AllocTensor", "DataCopy", "EnQue", "DeQue", "Adds"]
    assert names[6:] == ["Adds", "Muls", "SetFlag", "WaitFlag", "DataCopy", "FreeTensor"]
    assert [entry.line for entry in steps.recording.entries][:2] == [
        steps.line("in.AllocTensor"),
        steps.line("DataCopy(t"),
    ]


def test_values_before_and_after(steps):
    assert steps("goto 0") == "at the start of 12 entries"
    said = steps("step 5")
    assert "#5" in said
    assert "Adds on pipe V, scalar 2" in said
    assert "dst UB byte 2048, 1024 bytes, float32: 2 3 4 5 6 7 8 9 … (unknown before)" in said
    assert "src0 UB byte 0, 1024 bytes, float32: 0 1 2 3 4 5 6 7 …" in said
    assert "float32: 4 5 6 7 8 9 10 11 … (before: 2 3 4 5 6 7 8 9 …)" in steps("s")
    assert "(unknown before)" in steps("b")
    assert "UB byte 2048, float32: 2 3" in steps("show UB 2048 2 float32")
    # Eight lanes of every second repeat: the others are what they were.
    assert "UB byte 2048, float32: 18 21 24 27 30 33 36 39 14 15" in steps("goto 8", "show UB 2048 10 float32")
    assert "float32: ? ?" in steps("show UB 8192 2 float32")


def test_breaks_and_watched_places(steps):
    line = steps.line("for (int i")
    assert f"break at {line}: 3 of 12 entries" in steps("delete", "goto 0", f"break {line}")
    assert [steps("c").split()[0] for _ in range(4)] == ["#5", "#6", "#7", "#12"]
    assert steps("rc").startswith("#7")
    assert "#8 kernel.cpp" in steps("delete", "break kernel.cpp:1", "break Muls", "goto 0", "c")
    assert "DataCopy on pipe MTE3" in steps("delete", "watch y 1020", "goto 0", "c")
    assert steps("rc") == "at the start of 12 entries"


def test_flags_and_queues(steps):
    assert "no flag is set" in steps("goto 8", "flags")
    assert f"V_MTE3 5, set in line {steps.line('SetFlag')}" in steps("s", "flags")
    assert "no flag is set" in steps("s", "flags")
    assert f"VECIN queue 1: 1024 bytes at 0, enqueued in line {steps.line('in.EnQue')}" in steps("goto 3", "queues")
    assert "dequeued" in steps("s", "queues")
    assert "no tensor is in use" in steps("goto -1", "queues")


def test_source_and_help(steps):
    listed = steps("goto 8", "l").splitlines()
    assert len(listed) > 5
    assert any(line.startswith(">") and "Muls" in line for line in listed)
    assert "rc" in steps("help")
    assert steps.session.onecmd("quit")


def test_memories_are_written_to_files(steps, tmp_path):
    assert "256 elements of float32" in steps("goto -1", f"dump y {tmp_path}/y.npy")
    assert np.array_equal(np.load(tmp_path / "y.npy"), steps.seen.outputs["y"])
    steps("goto 2", f"dump UB {tmp_path}/ub.npy float32")
    assert np.array_equal(np.load(tmp_path / "ub.npy"), X)
    assert "cannot be written" in steps(f"dump UB {tmp_path}/none/ub.npy")


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("foo", "there is no command 'foo'; help lists them"),
        ("step x", "'x' is no number; N is one"),
        ("break", "name a line or an instruction"),
        ("watch UB", "name a memory, an offset"),
        ("show nix", "nothing is known of 'nix'; so far of: x (1024 bytes known)"),
        ("show x 0 1 float12", "there is no type 'float12'; float16"),
        ("dump x", "name a memory and a file"),
    ],
)
def test_bad_commands_say_what_to_do(steps, command, told):
    assert told in steps("goto 0", command)


def test_a_kernel_that_breaks_a_rule_is_there_up_to_it(twin):
    steps = Steps(twin, BODY.replace("WaitFlag<HardEvent::V_MTE3>(5);", "WaitFlag<HardEvent::V_MTE3>(6);"))
    assert steps.seen.outcome is Outcome.RULE_VIOLATION
    assert steps.recording.entries[-1].name == "SetFlag"


def test_other_blocks_and_cores(twin):
    assert Steps(twin, recorded=(1, 0)).recording.entries == ()
    missing = Steps(twin, recorded=(48, 0)).seen
    assert (missing.outcome, missing.recording) == (Outcome.LAUNCH_ERROR, None)
    assert "48 blocks of 1 cores" in missing.diagnostics[0].message
