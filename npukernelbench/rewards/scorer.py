"""Scoring answers in this process: extract, judge, reward."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

from npukernelbench.errors import NpukbError
from npukernelbench.generate.extract import extract
from npukernelbench.generate.repair import Hints, next_prompt
from npukernelbench.judge.executor import Executor, make_executor, prepare
from npukernelbench.judge.once import JudgedOnce
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import (
    Candidate,
    Completion,
    Diagnostic,
    Outcome,
    Prompt,
    Severity,
    Stage,
    Tier,
    Track,
    Verdict,
)
from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy, load_policy
from npukernelbench.rewards.question import Question, Resolved, resolve_question
from npukernelbench.rewards.reward import Reward, reward_of
from npukernelbench.rewards.scoring import Answer, Scored, Turn

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.nouns import Case, Task
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration

__all__ = ["Scorer", "local_scorer"]

#: How many verdicts are remembered. A verdict without its profile is a few kilobytes.
_REMEMBERED = 20_000


class Scorer:
    """Scores answers with one executor and a pool of threads. Equal code for one question is judged once."""

    def __init__(
        self,
        judge: Judge,
        tasks: Mapping[str, Task],
        parser: Registration,
        *,
        tier: Tier,
        policy: str | RewardPolicy = DEFAULT_POLICY,
        jobs: int = 1,
        hidden: Callable[[Task], tuple[Case, ...]] | None = None,
        ready: Callable[[Track], None] | None = None,
        on_close: Callable[[], None] | None = None,
    ) -> None:
        """``ready`` is called before the first answer of each track, ``on_close`` at the end."""
        self.policy = load_policy(policy)
        self.jobs = jobs
        self._judge, self._tasks, self._parser, self._tier = judge, tasks, parser, tier
        self._hidden, self._ready, self._on_close = hidden, ready, on_close
        self._pool = ThreadPoolExecutor(jobs, thread_name_prefix="score")
        self._known = JudgedOnce(_REMEMBERED)
        self._resolved: dict[Question, Resolved] = {}
        self._prepared: set[Track] = set()
        self._preparing = Lock()

    def score(self, answers: Sequence[Answer]) -> list[Reward]:
        """One reward per answer, in their order; the answers are judged side by side."""
        return [one.reward for one in self.score_fully(answers)]

    def repair(self, answers: Sequence[Answer], hints: Hints) -> list[Turn]:
        """The same with what the model is told next."""
        return [Turn(one.reward, one.feedback) for one in self.score_fully(answers, hints=hints)]

    async def score_async(self, answers: Sequence[Answer]) -> list[Reward]:
        """The same for an event loop."""
        waiting = [asyncio.wrap_future(one) for one in self.submit(answers)]
        return [scored.reward for scored in await asyncio.gather(*waiting)]

    def score_fully(
        self, answers: Sequence[Answer], policy: RewardPolicy | None = None, hints: Hints | None = None
    ) -> list[Scored]:
        """Rewards with the hash of the code that each belongs to, under another policy if given."""
        return [one.result() for one in self.submit(answers, policy, hints)]

    def submit(
        self, answers: Sequence[Answer], policy: RewardPolicy | None = None, hints: Hints | None = None
    ) -> list[Future[Scored]]:
        """Begin scoring, with feedback if a hint level is given.

        UsageError, before anything is begun, when a question does not exist.
        """
        chosen = policy or self.policy
        asked = [self._resolve(answer.question) for answer in answers]
        for track in {one.question.track for one in asked}:
            self._prepare(track)
        return [
            self._pool.submit(self._score, one, answer, chosen, hints)
            for one, answer in zip(asked, answers, strict=True)
        ]

    def resolve(self, question: Question) -> Resolved:
        """The task and the cases behind a question."""
        return self._resolve(question)

    def close(self) -> None:
        """Finish what is under way, then give back the executor."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        if self._on_close is not None:
            self._on_close()
            self._on_close = None

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _resolve(self, question: Question) -> Resolved:
        if question not in self._resolved:
            more: dict[str, tuple[Case, ...]] = {}
            if self._hidden is not None and question.task in self._tasks:
                task = self._tasks[question.task]
                more[task.name] = self._hidden(task)
            self._resolved[question] = resolve_question(self._tasks, question, more)
        return self._resolved[question]

    def _prepare(self, track: Track) -> None:
        with self._preparing:
            if self._ready is not None and track not in self._prepared:
                self._ready(track)
            self._prepared.add(track)

    def _score(self, asked: Resolved, answer: Answer, policy: RewardPolicy, hints: Hints | None) -> Scored:
        """Boundary, in a thread of the pool: a fault of ours is a reward without a value."""
        question = asked.question
        completion = Completion(answer.text, answer.finish_reason)
        try:
            found = extract(self._parser, completion, asked.task, question.track)
            if isinstance(found, Outcome):
                verdict = stopped(question.track, self._tier, Stage.EXTRACT, found)
                return Scored(reward_of(verdict, policy), "", False, _told(completion, None, verdict, hints))
            verdict, repeated = self._verdict(asked, found)
        except NpukbError as error:
            note = Diagnostic(Severity.ERROR, "infra_error", str(error))
            verdict = stopped(question.track, self._tier, Stage.GUARD, Outcome.INFRA_ERROR, (note,))
            return Scored(reward_of(verdict, policy), "", False)
        return Scored(reward_of(verdict, policy), found.hash, repeated, _told(completion, found, verdict, hints))

    def _verdict(self, asked: Resolved, candidate: Candidate) -> tuple[Verdict, bool]:
        """The verdict, and whether it was there already or another thread was about to have it."""
        return self._known.verdict(
            (asked.question, candidate.hash),
            lambda: self._judge.judge(asked.task, asked.cases, asked.question.track, candidate),
            kept=_without_profiles,
        )


def local_scorer(config: Config, policy: str | RewardPolicy = DEFAULT_POLICY, plugins: Plugins | None = None) -> Scorer:
    """A scorer in this process with the executor, the tasks and the limits of ``config``."""
    from npukernelbench.plugins import Plugins
    from npukernelbench.tasks import load_registry
    from npukernelbench.tasks.hidden import HiddenCases

    if plugins is None:
        plugins = Plugins.load(disabled=config.disabled_plugins)
        plugins.configure(config)
    tasks = load_registry(plugins, config.include_path, cache_dir=config.cache_dir)
    executor: Executor = make_executor(plugins.executors.find(config.executor), config.executor_args)
    settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
    secret = config.hidden_seed
    return Scorer(
        Judge.of(executor, plugins, settings),
        tasks,
        plugins.parsers.find(config.parser),
        tier=executor.tier,
        policy=policy,
        jobs=config.jobs,
        hidden=HiddenCases(secret, Track.DYNAMIC) if secret is not None else None,
        ready=lambda track: prepare(executor, lambda _: None, track),
        on_close=executor.close,
    )


def _told(completion: Completion, candidate: Candidate | None, verdict: Verdict, hints: Hints | None) -> str:
    """What the next turn says; empty when there is none, or nobody asks."""
    following = None if hints is None else next_prompt(Prompt((), "", ""), completion, candidate, verdict, hints)
    return following.messages[-1].content if following is not None else ""


def _without_profiles(verdict: Verdict) -> Verdict:
    """A verdict small enough to be remembered in thousands."""
    return replace(verdict, cases=tuple(replace(case, profile=None) for case in verdict.cases))
