"""How well the core selection stands for all tasks, on simulated models.

    python -m benchmarks.core_selection [--models N]

A simulated model has an ability and, for every category, a skill of its own; a task has a difficulty, half of which its
facts predict. Whether an answer is right is drawn. What is shown is how the share of right answers among the core tasks
goes with that among all, beside random selections of the same size. No real model was asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npukernelbench.nouns import Task
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.core import CORE
from npukernelbench.tasks.difficulty import difficulty_of

__all__ = ["Agreement", "agreement"]

_ABILITY, _SKILL, _OWN = 1.5, 0.7, 1.0
_RANDOM = 200


class Agreement(NamedTuple):
    """Correlation with the share among all tasks, and the root mean square of the difference in points of 100: of the
    core selection, and in the mean of random selections of its size.
    """

    correlation: float
    error: float
    random_correlation: float
    random_error: float


def agreement(tasks: Sequence[Task], models: int = 400, seed: int = 0) -> Agreement:
    """How the core selection and random ones agree with all ``tasks`` over simulated models."""
    rng = np.random.default_rng(seed)
    right = _simulated(tasks, models, rng)
    whole = right.mean(axis=1)
    core = np.array([task.name in CORE for task in tasks])
    mine = _compared(right[:, core].mean(axis=1), whole)
    drawn = [rng.choice(len(tasks), int(core.sum()), replace=False) for _ in range(_RANDOM)]
    others = np.mean([_compared(right[:, places].mean(axis=1), whole) for places in drawn], axis=0)
    return Agreement(*mine, float(others[0]), float(others[1]))


def _simulated(tasks: Sequence[Task], models: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which model is right on which task."""
    load = np.array([difficulty_of(task).load for task in tasks])
    # Both terms have a variance of 1: facts predict half of the whole.
    difficulty = (load - load.mean()) / load.std() + rng.normal(0.0, _OWN, len(tasks))
    names = sorted({task.category for task in tasks})
    place = np.array([names.index(task.category) for task in tasks])
    skill = rng.normal(0.0, _ABILITY, (models, 1)) + rng.normal(0.0, _SKILL, (models, len(names)))[:, place]
    # The Rasch model: the chance of a right answer is logistic in skill less difficulty.
    return np.asarray(rng.random((models, len(tasks))) < 1.0 / (1.0 + np.exp(difficulty - skill)))


def _compared(part: NDArray[np.float64], whole: NDArray[np.float64]) -> tuple[float, float]:
    error = float(np.sqrt(np.mean((part - whole) ** 2)))
    return float(np.corrcoef(part, whole)[0, 1]), 100.0 * error


def main() -> None:
    """Print the agreement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=400)
    tasks = list(load_registry(Plugins.load()).values())
    found = agreement(tasks, parser.parse_args().models)
    print(f"core    r = {found.correlation:.3f}, off by {found.error:.1f} points")
    print(f"random  r = {found.random_correlation:.3f}, off by {found.random_error:.1f} points")


if __name__ == "__main__":
    main()
