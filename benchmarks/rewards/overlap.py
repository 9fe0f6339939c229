"""Steps of training, with rewards after generation and with rewards that are judged during it.

Generation is a sleep: answers end one after another, at random times, over ``--generation`` seconds, as those of a
batch with unlike lengths do. Judging is the real thing: our own kernels, compiled and run by the twin; some answers
equal another of their step.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time

from benchmarks.rewards.throughput import kernels
from npukernelbench.config import resolve
from npukernelbench.rewards import texts
from npukernelbench.rewards.scorer import local_scorer
from npukernelbench.rewards.trl import AsyncKernelReward, KernelReward, make_async_reward, make_reward


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=32, help="of a step")
    parser.add_argument("--generation", type=float, default=20.0, help="seconds of a step")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--repeated", type=float, default=0.25, help="share of answers that another of the step equals")
    options = parser.parse_args()
    with local_scorer(resolve()) as scorer:
        # Starts the workers, which the first step would else wait for.
        texts.shared_scorer("shaped", "", {}).score(kernels(scorer, 4, "warm"))
        for reward in (make_reward(), make_async_reward()):
            # Anew for each, so that answers end at the same times for both.
            chance = random.Random(7)
            begun = time.monotonic()
            waited_s = 0.0
            for step in range(options.steps):
                fresh = kernels(scorer, options.answers, f"{reward.__class__.__name__} {step}")
                for index in range(int(options.answers * options.repeated)):
                    fresh[-1 - index] = fresh[index]
                pairs = [(str(answer.question), answer.text) for answer in fresh]
                ends = sorted(chance.uniform(0.0, options.generation) for _ in pairs)
                waited_s += one_step(reward, pairs, ends)
            wall_s, count = time.monotonic() - begun, options.steps * options.answers
            name = "judged during generation" if isinstance(reward, AsyncKernelReward) else "judged after it"
            print(
                f"{name}: {wall_s / options.steps:.1f} s a step, of these {waited_s / options.steps:.1f} s waited for"
            )
            print(f"    {count / wall_s:.2f} rewards a second")
            if isinstance(reward, AsyncKernelReward):
                figures = texts.shared_ahead("shaped", "", {}).figures
                print(f"    {figures.judged} of {count} judged; {100 * figures.overlapped:.0f} % of judging overlapped")


def one_step(reward: KernelReward | AsyncKernelReward, pairs: list[tuple[str, str]], ends: list[float]) -> float:
    """Generate and score; how long generation was over and rewards were not there."""
    begun = time.monotonic()
    for (question, text), end in zip(pairs, ends, strict=True):
        time.sleep(max(0.0, begun + end - time.monotonic()))
        if isinstance(reward, AsyncKernelReward):
            reward.begin([text], [question])
    generated = time.monotonic()
    columns = {"completions": [text for _, text in pairs], "npukb_task": [question for question, _ in pairs]}
    found = asyncio.run(reward(**columns)) if isinstance(reward, AsyncKernelReward) else reward(**columns)
    if None in found:
        raise SystemExit(f"{found.count(None)} answers are not judged")
    return time.monotonic() - generated


if __name__ == "__main__":
    main()
