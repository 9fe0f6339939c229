"""lm-eval on the stub: ``python -m benchmarks.generate.lm_eval_task SCOPE URL REQUESTS CONCURRENCY``.

Its model ``local-chat-completions``. ``requests``: asked through its own ``generate_until``. ``run``: through its
``simple_evaluate``, with one task whose documents come from a file, samples logged and written as ``lm_eval`` does.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.generate.measured import Clock, questions

os.environ.setdefault("OPENAI_API_KEY", "none")
# Documents are in a file here: `datasets` has nothing to ask of its hub, and must not wait for it.
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")


def model(url: str, concurrency: int) -> Any:
    """The model as ``--model local-chat-completions`` makes it."""
    from lm_eval.models.openai_completions import LocalChatCompletion

    return LocalChatCompletion(
        model="stub",
        base_url=f"{url}/chat/completions",
        num_concurrent=concurrency,
        tokenizer_backend=None,
        tokenized_requests=False,
        max_retries=3,
    )


def requests(url: str, count: int, concurrency: int) -> Clock:
    """Only asking."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.api_models import JsonChatStr

    asked = [
        Instance(
            request_type="generate_until",
            doc={},
            arguments=(
                JsonChatStr(json.dumps([{"role": "user", "content": text}])),
                {"until": [], "max_gen_toks": 16, "temperature": 0.0},
            ),
            idx=i,
        )
        for i, text in enumerate(questions(count))
    ]
    there = model(url, concurrency)
    with Clock() as clock:
        answers = there.generate_until(asked, disable_tqdm=True)
    _check(answers, count)
    return clock


def run(url: str, count: int, concurrency: int) -> Clock:
    """A whole evaluation. The model is made before the clock starts, as its imports are."""
    from lm_eval.evaluator import simple_evaluate
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data.jsonl"
        data.write_text("".join(json.dumps({"question": text}) + "\n" for text in questions(count)))
        task = _task(data)
        there = model(url, concurrency)
        manager = TaskManager(include_defaults=False)
        tracker = EvaluationTracker(output_path=str(Path(folder) / "out"))
        with Clock() as clock:
            evaluated = simple_evaluate(
                there,
                tasks=[task],
                task_manager=manager,
                apply_chat_template=True,
                log_samples=True,
                bootstrap_iters=0,
                evaluation_tracker=tracker,
            )
            samples = evaluated.pop("samples")
            tracker.save_results_aggregated(results=evaluated, samples=samples)
            for name, logged in samples.items():
                tracker.save_results_samples(task_name=name, samples=logged)
        (logged,) = samples.values()
        _check([sample["resps"][0][0] for sample in logged], count)
    return clock


def _task(data: Path) -> dict[str, object]:
    return {
        "task": "kernels",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(data)}, "cache_dir": str(data.parent / "cache")},
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "nothing",
        "generation_kwargs": {"until": [], "max_gen_toks": 16, "temperature": 0.0},
        # lm-eval wants a metric; this one computes nothing.
        "metric_list": [{"metric": "bypass", "aggregation": "bypass", "higher_is_better": True}],
        "metadata": {"version": 1},
    }


def _check(answers: list[str], count: int) -> None:
    if len(answers) != count or not all(answers):
        raise RuntimeError(f"{sum(map(bool, answers))} of {count} requests were answered")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    {"requests": requests, "run": run}[sys.argv[1]](sys.argv[2], int(sys.argv[3]), int(sys.argv[4])).report()
