"""The engines themselves on tiny checkpoints: whole runs, killed and resumed, and a right answer that arrives as ok.

Skipped where torch or vLLM is not installed; ``scripts/test-models`` makes an environment that has both.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from npukb_vllm.args import VllmServerArgs
from npukb_vllm.server import VllmServerBackend
from npukernelbench.nouns import Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style
from npukernelbench.store import StoredRun, read_run
from npukernelbench.tasks import load_registry
from tests.backends.checkpoints import memorise

pytestmark = pytest.mark.filterwarnings("ignore")

WINDOW = 4096
ENGINE = {"max_model_len": WINDOW, "engine_args": {"enforce_eager": True}}
#: A task that the checkpoint knows. It is asked the others of its category, too.
KNOWN = "Sqrt"
#: A right kernel for it in few words: as little as possible to learn, and to generate for every other task.
RIGHT = """```cpp
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {
    if (GetBlockIdx() != 0) return;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, 1, 4224);
    pipe.InitBuffer(out, 1, 4224);
    GlobalTensor<half> source, target;
    source.SetGlobalBuffer((__gm__ half*)x);
    target.SetGlobalBuffer((__gm__ half*)y);
    LocalTensor<half> a = in.AllocTensor<half>();
    DataCopyExtParams row{1, 4214, 0, 0, 0};
    DataCopyPad(a, source, row, DataCopyPadExtParams<half>());
    in.EnQue(a);
    a = in.DeQue<half>();
    LocalTensor<half> b = out.AllocTensor<half>();
    Sqrt(b, a, 2107);
    out.EnQue(b);
    b = out.DeQue<half>();
    DataCopyPad(target, b, row);
    in.FreeTensor(a);
    out.FreeTensor(b);
}
```
"""
#: Room for that answer; the others are cut off here.
MAX_TOKENS = 450
#: Until a run that hangs is given up: engines take minutes to start on a busy machine.
LIMIT_S = 1200
MARK = "NPUKB_TEST_OF_ENGINES"
needs_vllm = pytest.mark.skipif(find_spec("vllm") is None, reason="vLLM is not installed")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that has learnt a right answer to one prompt."""
    plugins = Plugins.load(environ={})
    registry = load_registry(plugins, (), cache_dir=tmp_path_factory.mktemp("tasks"))
    task = registry[KNOWN]
    prompt = load_style(plugins.prompts.find("terse")).render(task, task.case("smoke"), Track.STATIC)
    return memorise(tmp_path_factory.mktemp("checkpoint"), prompt.messages, RIGHT, window=WINDOW)


def command(model: str, args: dict[str, Any], tasks: str = "Math:smoke") -> list[str]:
    """A run of one small case of each of a category's tasks, or of ``tasks``."""
    options = {
        "--model": model,
        "--model_args": json.dumps(args),
        "--gen_kwargs": json.dumps({"temperature": 0.0, "max_tokens": MAX_TOKENS}),
        "--tasks": tasks,
        "--prompt_style": "terse",
    }
    return [sys.executable, "-m", "npukernelbench", "run", *(word for item in options.items() for word in item)]


def start(folder: Path, words: list[str], mark: str) -> subprocess.Popen[bytes]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NPUKB_")}
    environ = {
        **inherited,
        MARK: mark,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "OMP_NUM_THREADS": "1",
    }
    environ |= {name: os.environ[name] for name in ("NPUKB_CACHE_DIR",) if name in os.environ}
    with (folder / "output.txt").open("ab") as output:
        return subprocess.Popen(words, cwd=folder, env=environ, stdout=output, stderr=output)


def finish(folder: Path, words: list[str], mark: str) -> StoredRun:
    code = start(folder, words, mark).wait(timeout=LIMIT_S)
    assert code == 0, (folder / "output.txt").read_text(errors="replace")[-4000:]
    return read_run(run_folder(folder))


def run_folder(folder: Path) -> Path:
    (run,) = (folder / "results").iterdir()
    return run


def completions_in(folder: Path) -> int:
    logs = list(folder.glob("results/*/events.jsonl"))
    return sum(b'"type":"completion"' in line for log in logs for line in log.read_bytes().splitlines())


def marked(mark: str) -> list[int]:
    """Processes that descend from a run of ours."""
    word = f"{MARK}={mark}".encode()
    resumed = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and word in (entry / "environ").read_bytes().split(b"\0"):
                resumed.append(int(entry.name))
        except OSError:
            continue  # gone, or not ours to read
    return resumed


def check(stored: StoredRun, least: int = 30) -> None:
    """The known task is right; the others, ``least`` in all, are judged, whatever they are."""
    results = stored.results
    assert results is not None
    asked = stored.completions
    assert len(asked) >= least
    assert results.totals.samples == results.totals.valid == len(asked)
    outcomes = {row.task: row.outcome for row in results.samples}
    assert len(outcomes) == len(asked)
    assert outcomes[KNOWN] is Outcome.OK
    for _, completion in asked.values():
        assert completion.usage.prompt > 100
        assert completion.usage.completion > 0


def killed_and_resumed(folder: Path, words: list[str]) -> None:
    """``kill -9`` at the first stored answer, then the same command."""
    mark = folder.name
    process = start(folder, words, mark)
    deadline = time.monotonic() + LIMIT_S
    while process.poll() is None and not completions_in(folder) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, (folder / "output.txt").read_text(errors="replace")[-4000:]
    before = dict(read_run(run_folder(folder)).completions)
    assert before
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not marked(mark), "the engine outlived the run"
    stored = finish(folder, words, mark)
    check(stored)
    after = stored.completions
    assert all(after[key] == value for key, value in before.items())
    assert not marked(mark)


def test_hf(checkpoint: Path, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, command("hf", {"model": str(checkpoint), "batch_size": 8}))


@needs_vllm
def test_vllm(checkpoint: Path, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, command("vllm", {"model": str(checkpoint), **ENGINE}))


@needs_vllm
def test_vllm_server(checkpoint: Path, tmp_path: Path) -> None:
    killed_and_resumed(tmp_path, command("vllm-server", {"model": str(checkpoint), **ENGINE, "concurrency": 64}))


@contextmanager
def served(checkpoint: Path) -> Iterator[str]:
    """A server of our own, as the vllm-server backend starts it; its address."""
    backend = VllmServerBackend(VllmServerArgs.model_validate({"model": str(checkpoint), **ENGINE}))
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(backend.open())
        yield backend.address
    finally:
        loop.run_until_complete(backend.close())
        loop.close()


@needs_vllm
def test_openai_and_attaching(checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_CPU_KVCACHE_SPACE", "1")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with served(checkpoint) as address:
        args = {"model": str(checkpoint), "base_url": address, "concurrency": 64}
        folder = tmp_path / "openai"
        folder.mkdir()
        killed_and_resumed(folder, command("openai", args))
        attached = tmp_path / "attached"
        attached.mkdir()
        check(finish(attached, command("vllm-server", args, f"{KNOWN}:smoke"), attached.name), least=1)
