"""Answers are paid for once: a new run takes those that a run beside it has already.

A run with another time-out, another executor, another parser, more samples or more tasks is another run, since its
verdicts are others. Its questions are partly the same. What was answered for the same model with the same settings,
prompt, sample number and seed is copied into the new folder and judged there; like an answer out of a cache, it costs
nothing now.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import NpukbError
from npukernelbench.store import read_run
from npukernelbench.store.manifest import MANIFEST_NAME, read_manifest

if TYPE_CHECKING:
    from npukernelbench.nouns import Completion, Prompt, SampleKey
    from npukernelbench.run.schedule import Problem
    from npukernelbench.store import RunStore

__all__ = ["take_over"]

#: Fields of the identity that decide an answer beside its prompt and its key.
_ASKING = ("model", "model_args", "backend", "sampling", "seed")

_log = logging.getLogger(__name__)


def take_over(store: RunStore, samples: Mapping[SampleKey, Problem]) -> Iterator[str]:
    """Fill a new run with the answers that runs beside it have to its questions; a line for each run that had some.

    Only first questions are alike: what follows in a conversation depends on verdicts. A folder with samples is left
    as it is.
    """
    if store.completions() or store.samples():
        return
    wanted = dict(samples)
    # Sorted, so that it does not depend on the file system whose answers are taken.
    for path in sorted(store.directory.parent.glob(f"*/{MANIFEST_NAME}")):
        if path.parent == store.directory or not wanted:
            continue
        answers = dict(_answers(path.parent, store.manifest.identity, wanted))
        if answers:
            store.add_completions([(key, *answer) for key, answer in answers.items()])
            wanted = {key: problem for key, problem in wanted.items() if key not in answers}
            yield f"{len(answers)} answers to the same questions are taken from {path.parent}"


def _answers(
    folder: Path, identity: Mapping[str, object], wanted: Mapping[SampleKey, Problem]
) -> Iterator[tuple[SampleKey, tuple[Prompt, Completion]]]:
    """Boundary: a neighbour that cannot be read is no reason to stop."""
    try:
        other = read_manifest(folder).identity
        if any(other.get(name) != identity.get(name) for name in _ASKING):
            return
        run = read_run(folder)
        # By the task's hash: with another text of the task the question is another one.
        same = {name for name, facts in _tasks(identity).items() if _hash(_tasks(other).get(name)) == _hash(facts)}
        for key in run.completions:
            problem = wanted.get(key)
            if problem is not None and key.task in same:
                prompt, completion = run.completions[key]
                # The key alone does not say it: another style or another level of knowledge asks otherwise.
                if prompt == problem.prompt:
                    # Another run has paid for it: `Spending` counts what is cached as free.
                    yield key, (prompt, replace(completion, cached=True))
    except (OSError, NpukbError) as error:
        _log.info("%s: its answers cannot be used: %s", folder, error)


def _tasks(identity: Mapping[str, object]) -> Mapping[str, object]:
    tasks = identity.get("tasks")
    return tasks if isinstance(tasks, Mapping) else {}


def _hash(facts: object) -> object:
    return facts.get("hash") if isinstance(facts, Mapping) else None
