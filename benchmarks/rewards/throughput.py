"""Kernels judged per minute: how reward throughput grows with threads, and with processes behind a server.

Each kernel is another text (a comment differs), so that nothing is remembered. The floor is the processor time of the
children, compiler and kernel, divided by the cores: a judge that cost nothing itself would be that fast.
"""

from __future__ import annotations

import argparse
import os
import resource
import threading
import time
from collections.abc import Callable, Sequence

from npukernelbench.config import resolve
from npukernelbench.rewards import Answer, JudgeServer, Question, RemoteScorer, Reward
from npukernelbench.rewards.golden import golden_answer
from npukernelbench.rewards.scorer import Scorer, local_scorer

QUESTIONS = ("Sqrt", "Muls", "Swish", "RmsNorm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=80)
    count = parser.parse_args().kernels
    cores = os.cpu_count() or 1
    first = 0.0
    # On one core two of these are the same.
    for jobs in dict.fromkeys((1, cores, 2 * cores)):
        with local_scorer(resolve(options={"jobs": str(jobs)})) as scorer:
            answers = kernels(scorer, count, f"jobs {jobs}")
            # Warm: the first kernels pay for starting the workers.
            scorer.score(kernels(scorer, 4, f"warm {jobs}"))
            rate = measure(scorer.score, answers, f"{jobs} jobs in process", cores)
            first = first or rate
            print(f"    against one job: {rate / first:.2f} x")
            if jobs == cores:
                served(scorer, count, cores)


def served(scorer: Scorer, count: int, cores: int) -> None:
    """The same through the server, asked by four clients."""
    server = JudgeServer(scorer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    measure(RemoteScorer(server.url).score, kernels(scorer, count, "served"), "the same, over HTTP", cores)
    # With the same mark these are the same texts, which the server knows by now.
    repeated = kernels(scorer, count, "served")
    start = time.perf_counter()
    RemoteScorer(server.url).score(repeated)
    print(f"known kernels, over HTTP: {len(repeated) / (time.perf_counter() - start) * 60:,.0f} a minute")
    server.shutdown()
    server.server_close()


def kernels(scorer: Scorer, count: int, mark: str) -> list[Answer]:
    """Right answers in turn, no two alike."""
    answers = []
    for number in range(count):
        asked = scorer.resolve(Question(QUESTIONS[number % len(QUESTIONS)]))
        text = golden_answer(asked.task, asked.case, asked.question.track)
        assert text is not None
        answers.append(Answer(asked.question, text.replace("```cpp\n", f"```cpp\n// {mark} {number}\n", 1)))
    return answers


def measure(
    score: Callable[[Sequence[Answer]], Sequence[Reward]], answers: Sequence[Answer], what: str, cores: int
) -> float:
    """Print kernels a minute and the ratio to the floor; the rate."""
    before, start = children_s(), time.perf_counter()
    rewards = score(answers)
    wall, spent = time.perf_counter() - start, children_s() - before
    if any(reward.metrics["correct"] != 1.0 for reward in rewards):
        raise SystemExit(
            f"a golden kernel fails: {next(reward for reward in rewards if not reward.metrics['correct'])}"
        )
    rate = len(answers) / wall * 60
    print(f"{what}: {rate:,.0f} kernels a minute, {rate / cores:,.0f} a core; {wall / (spent / cores):.2f} x the floor")
    return rate


def children_s() -> float:
    """Processor seconds of all children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main()
