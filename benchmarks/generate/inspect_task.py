"""inspect_ai on the stub: ``python -m benchmarks.generate.inspect_task run URL REQUESTS CONCURRENCY``.

A task of as many samples with no scorer, its log in a folder that is thrown away.
"""

from __future__ import annotations

import os
import sys
import tempfile

from benchmarks.generate.measured import Clock, questions

os.environ.setdefault("OPENAI_API_KEY", "none")


def run(url: str, count: int, concurrency: int) -> Clock:
    """A whole evaluation."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.solver import generate

    os.environ["STUB_BASE_URL"], os.environ["STUB_API_KEY"] = url, "none"
    samples = [Sample(input=text, id=i) for i, text in enumerate(questions(count))]
    task = Task(dataset=MemoryDataset(samples), solver=generate())
    with tempfile.TemporaryDirectory() as folder, Clock() as clock:
        (log,) = eval(
            task,
            model="openai-api/stub/stub",
            max_connections=concurrency,
            max_samples=count,
            max_tokens=16,
            temperature=0.0,
            display="none",
            log_dir=folder,
            log_level="error",
        )
    if log.status != "success" or log.results is None or log.results.completed_samples != count:
        raise RuntimeError(f"inspect_ai ended with {log.status}")
    return clock


if __name__ == "__main__":
    run(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).report()
