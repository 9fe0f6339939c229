"""A desk: one place on a node where one candidate is judged at a time. It lives in a process of Ray's.

Candidates never run in that process. The inner executor starts its own sandboxed ones, as it does without Ray.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from platform import machine, python_version_tuple
from typing import NamedTuple

from npukernelbench.judge.executor import Assignment, Confining, make_executor, prepare
from npukernelbench.judge.pipeline import Judge
from npukernelbench.judge.settings import JudgeSettings
from npukernelbench.nouns import Track, Verdict
from npukernelbench.plugins import Plugins

__all__ = ["Desk", "Facts", "Inner"]


@dataclass(frozen=True, slots=True)
class Facts:
    """What verdicts depend on besides the task and the kernel. Nodes of one run have equal facts."""

    harness: str
    python: str
    architecture: str
    executor: tuple[tuple[str, str], ...]
    sandbox: str

    def differences(self, other: Facts) -> str:
        """Names and values of what differs, ``other``'s last."""
        mine, theirs = self._flat(), other._flat()
        names = sorted(mine.keys() | theirs.keys())
        return "; ".join(
            f"{name}: {mine.get(name, 'none')} and {theirs.get(name, 'none')}"
            for name in names
            if mine.get(name) != theirs.get(name)
        )

    def _flat(self) -> dict[str, str]:
        own = {"harness": self.harness, "python": self.python, "architecture": self.architecture}
        return {**own, "sandbox": self.sandbox, **{f"executor {name}": value for name, value in self.executor}}


class Inner(NamedTuple):
    """The executor that judges on every node, its arguments, and what of a node one of its judges needs."""

    name: str
    args: Mapping[str, object]
    needed: Mapping[str, float]


class Desk:
    """One executor and its judge. A Ray actor: its methods are called one at a time."""

    def __init__(self, inner: str, inner_args: Mapping[str, object]) -> None:
        # The node's own environment says which plugins are left out there.
        self._plugins = Plugins.load(environ=os.environ)
        self._executor = make_executor(self._plugins.executors.find(inner), inner_args)
        self._judges: dict[JudgeSettings, Judge] = {}

    def facts(self) -> Facts:
        """What this node is. The first desk of a node builds what its executor needs."""
        executor = self._executor
        level = executor.sandbox_level() if isinstance(executor, Confining) else ""
        # Patch releases of Python decide no verdict.
        python = ".".join(python_version_tuple()[:2])
        return Facts(version("npukernelbench"), python, machine(), tuple(sorted(executor.describe().items())), level)

    def prepare(self, track: Track) -> None:
        """Build what a track needs, unless another desk of this node has."""
        prepare(self._executor, _nobody_listens, track)

    def judge(self, assignment: Assignment) -> Verdict:
        """The verdict. Inputs and references are made here, from the case's own seed."""
        # Seeds come and go with batches of answers, and share what a judge keeps of inputs.
        seed, settings = assignment.settings.seed, replace(assignment.settings, seed=0)
        judge = self._judges.get(settings)
        if judge is None:
            judge = self._judges[settings] = Judge.of(self._executor, self._plugins, settings)
        what = (assignment.task, assignment.cases, assignment.track, assignment.candidate)
        return judge.check(*what) if assignment.compile_only else judge.judge(*what, seed=seed)


def _nobody_listens(line: str) -> None:
    """Builds on other machines are silent."""
