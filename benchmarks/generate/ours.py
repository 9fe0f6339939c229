"""Our openai backend on the stub: ``python -m benchmarks.generate.ours SCOPE URL REQUESTS CONCURRENCY``.

``requests``: asked through the backend's own ``generate_many``. ``run``: a whole run with ``--predict_only`` of as many
tasks: prompts, manifest, every answer synced to the disk, the index.
"""

from __future__ import annotations

import sys
import tempfile
from importlib import import_module
from pathlib import Path

from benchmarks.generate.measured import Clock, questions
from npukb_openai.args import OpenAIArgs
from npukb_openai.backend import OpenAIBackend
from npukernelbench.generate import GenerationRequest, SamplingParams
from npukernelbench.generate.loop import run_fast
from npukernelbench.hookspecs import hookimpl
from npukernelbench.nouns import Completion, Message, Prompt, SampleKey, Track
from npukernelbench.plugins import Register
from npukernelbench.run.runner import run as whole_run
from npukernelbench.seed import derive
from npukernelbench.tasks import Selected
from npukernelbench.testing import RecordingObserver, fake_plugins, make_plan
from npukernelbench.testing.tasks import tiny_case, tiny_task

_PARAMS = SamplingParams(0.0, None, 16)


class _OpenAI:
    """Offers the backend under its own name."""

    @hookimpl
    def register_backends(self, register: Register) -> None:
        register("openai", "npukb_openai.backend:OpenAIBackend")


def requests(url: str, count: int, concurrency: int) -> Clock:
    """Only asking."""
    return run_fast(_requests(url, count, concurrency))


async def _requests(url: str, count: int, concurrency: int) -> Clock:
    case = tiny_case("a")
    task = tiny_task("Tiny", cases=(case,))
    asked = [
        GenerationRequest(
            SampleKey(task.name, case.id, Track.STATIC, i),
            task,
            case,
            Prompt((Message("user", text),), "benchmark", ""),
            _PARAMS,
            derive(i, "sample"),
        )
        for i, text in enumerate(questions(count))
    ]
    backend = OpenAIBackend(OpenAIArgs(model="stub", base_url=url, concurrency=concurrency))
    await backend.open()
    try:
        with Clock() as clock:
            answers = [result.answer async for result in backend.generate_many(asked)]
    finally:
        await backend.close()
    _check(sum(isinstance(answer, Completion) and bool(answer.text) for answer in answers), count)
    return clock


def run(url: str, count: int, concurrency: int) -> Clock:
    """A whole run. What the backend imports when it is opened is imported before the clock starts, as for the peers."""
    import_module("aiohttp")
    plugins = fake_plugins()
    plugins.register(_OpenAI(), "openai-of-the-benchmark")
    cases = tuple(tiny_case(f"c{i}") for i in range(count))
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(
            Path(folder) / "run",
            tasks=(Selected(tiny_task("Tiny", cases=cases), cases),),
            model="openai",
            model_args={"model": "stub", "base_url": url, "concurrency": concurrency},
            params=_PARAMS,
            predict_only=True,
        )
        with Clock() as clock:
            summary = whole_run(plan, plugins, RecordingObserver())
    _check(summary.generated, count)
    return clock


def _check(answered: int, count: int) -> None:
    if answered != count:
        raise RuntimeError(f"{answered} of {count} requests were answered")


if __name__ == "__main__":
    {"requests": requests, "run": run}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).report()
