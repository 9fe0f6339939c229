"""Scoring answers in this process: the verdict of :mod:`npukernelbench.judge.answer`, and what it is worth."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING

from npukernelbench.errors import NpukbError
from npukernelbench.judge.answer import NO_PROMPT, AnswerJudge, Judged, Reading, Shared
from npukernelbench.judge.automatic import choose
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.executor import Executor, make_executor, prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import Completion, Diagnostic, Outcome, Sample, SampleKey, Severity, Stage, Track, Verdict
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.rewards.drawing import Drawing
from npukernelbench.rewards.fair import FairPool
from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy, load_policy
from npukernelbench.rewards.question import Question, Resolved, resolve_question
from npukernelbench.rewards.reward import Reward, reward_of
from npukernelbench.rewards.scoring import Answer, Scored, Terms, Turn
from npukernelbench.rewards.shared import SharedVerdicts, judging_facts
from npukernelbench.run.selective import require_task
from npukernelbench.store.contents import open_contents

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.nouns import Case, Task
    from npukernelbench.plugins import Plugins

__all__ = ["Scorer", "local_scorer"]

#: How many verdicts are remembered. A verdict without its profile is a few kilobytes.
_REMEMBERED = 20_000


class Scorer:
    """Scores answers with one executor and a pool of threads, whose callers take turns. Equal code for one question is
    judged once.
    """

    def __init__(
        self,
        judge: Judge,
        tasks: Mapping[str, Task],
        plugins: Plugins,
        *,
        strategy: str = "direct",
        parser: str = "auto",
        policy: str | RewardPolicy = DEFAULT_POLICY,
        jobs: int = 1,
        hidden: Callable[[Task], tuple[Case, ...]] | None = None,
        ready: Callable[[Track], None] | None = None,
        on_close: Callable[[], None] | None = None,
        seed: int | None = None,
        shared: Shared | None = None,
    ) -> None:
        """Inputs are drawn from ``seed``, else every batch of answers from a secret of its own. ``strategy`` and
        ``parser`` read answers where neither the policy nor the caller names others; ``ready`` is called before the
        first answer of each track, ``on_close`` at the end. Verdicts of other judges are found in ``shared``.
        """
        self.policy = load_policy(policy)
        self.jobs = jobs
        self._tier, self._tasks, self._plugins = judge.tier, tasks, plugins
        self._strategy, self._parser = strategy, parser
        self._hidden, self._ready, self._on_close = hidden, ready, on_close
        self._pool = FairPool(jobs)
        self._shared = shared
        self._answers = AnswerJudge(judge, limit=_REMEMBERED, kept=_without_profiles, shared=shared)
        self.drawing = Drawing(seed)
        self._resolved: dict[Question, Resolved] = {}
        self._readings: dict[tuple[str, str], Reading] = {}
        self._prepared: set[Track] = set()
        self._preparing = Lock()
        # For its errors: a wrong strategy or parser is told now, not at the first answer.
        self.reading(Terms())

    def score(self, answers: Sequence[Answer]) -> list[Reward]:
        """One reward per answer, in their order; the answers are judged side by side."""
        return [scored.reward for scored in self.score_fully(answers)]

    def repair(self, answers: Sequence[Answer], hints: Hints) -> list[Turn]:
        """The same with what the model is told next."""
        return [Turn(scored.reward, scored.feedback) for scored in self.score_fully(answers, Terms(hints=hints))]

    async def score_async(self, answers: Sequence[Answer]) -> list[Reward]:
        """The same for an event loop."""
        waiting = [asyncio.wrap_future(future) for future in self.submit(answers)]
        return [scored.reward for scored in await asyncio.gather(*waiting)]

    def score_fully(self, answers: Sequence[Answer], terms: Terms | None = None) -> list[Scored]:
        """Rewards with the verdict and the hash of the code that each belongs to."""
        return [future.result() for future in self.submit(answers, terms)]

    def submit(self, answers: Sequence[Answer], terms: Terms | None = None) -> list[Future[Scored]]:
        """Begin scoring, on other terms than the scorer's own if given.

        UsageError, before anything is begun, when a question, a policy, a strategy or a parser does not exist, or when
        the strategy does not take a task.
        """
        terms = terms or Terms()
        policy, reading = self._policy(terms), self.reading(terms)
        asked = [self.resolve(answer.question) for answer in answers]
        for question in asked:
            require_task(reading.strategy, question.task, question.question.track)
        for track in {question.question.track for question in asked}:
            self._prepare(track)
        seed = self.drawing.seed_for(len(answers), terms.seed)
        score = partial(
            self._score, policy=policy, reading=reading, hints=terms.hints, seed=seed, since=time.monotonic()
        )
        return [
            self._pool.submit(terms.caller, partial(score, question, answer))
            for question, answer in zip(asked, answers, strict=True)
        ]

    def resolve(self, question: Question) -> Resolved:
        """The task and the cases behind a question."""
        # Kept, since a task's hidden cases are made here.
        if question not in self._resolved:
            more: dict[str, tuple[Case, ...]] = {}
            if self._hidden is not None and question.task in self._tasks:
                task = self._tasks[question.task]
                more[task.name] = self._hidden(task)
            self._resolved[question] = resolve_question(self._tasks, question, more)
        return self._resolved[question]

    def reading(self, terms: Terms) -> Reading:
        """How answers are read on these terms: as the caller says, else as the policy, else as the scorer does."""
        policy = self._policy(terms)
        names = terms.strategy or policy.strategy or self._strategy, terms.parser or policy.parser or self._parser
        if names not in self._readings:
            self._readings[names] = Reading.of_single(self._plugins, *names)
        return self._readings[names]

    @property
    def shared_found(self) -> int | None:
        """How many verdicts of other judges were used; None without a shared cache."""
        return self._shared.found if self._shared is not None else None

    def close(self) -> None:
        """Finish what is under way, then give back the executor."""
        self._pool.shutdown()
        if self._on_close is not None:
            self._on_close()
            # `close` may come twice, for instance from a `with` block and from `atexit`.
            self._on_close = None

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _policy(self, terms: Terms) -> RewardPolicy:
        return load_policy(terms.policy) if terms.policy else self.policy

    def _prepare(self, track: Track) -> None:
        # Held meanwhile: others must not judge before the executor is ready.
        with self._preparing:
            if self._ready is not None and track not in self._prepared:
                self._ready(track)
            self._prepared.add(track)

    def _score(
        self,
        asked: Resolved,
        answer: Answer,
        *,
        policy: RewardPolicy,
        reading: Reading,
        hints: Hints | None,
        seed: int,
        since: float,
    ) -> Scored:
        """Boundary, in a thread of the pool: a fault of ours is a reward without a value."""
        waited_s = time.monotonic() - since
        track = asked.question.track
        completion = Completion(answer.text, answer.finish_reason, answer.reasoning)
        try:
            judged = self._answers.judge(
                reading, completion, task=asked.task, cases=asked.cases, track=track, seed=seed
            )
        # Anything else is a bug, which whoever waits for the future gets as it is.
        except NpukbError as error:
            note = Diagnostic(Severity.ERROR, "infra_error", str(error))
            judged = Judged(None, stopped(track, self._tier, Stage.GUARD, Outcome.INFRA_ERROR, (note,)))
        told = "" if hints is None else _told(asked, completion, judged, reading, hints)
        code = judged.candidate.hash if judged.candidate is not None else ""
        reward = reward_of(judged.verdict, policy, None if judged.repeated else seed)
        return Scored(reward, code, judged.repeated, told, judged.verdict, waited_s)


def local_scorer(
    config: Config, policy: str | RewardPolicy = DEFAULT_POLICY, plugins: Plugins | None = None, *, cache: str = ""
) -> Scorer:
    """A scorer in this process with the executor, the tasks, the limits, the strategy and the parser of ``config``.

    ``cache`` is a folder or a URL where it shares verdicts with others. StoreError when that cannot be used.
    """
    from npukernelbench.plugins import Plugins
    from npukernelbench.tasks import load_registry
    from npukernelbench.tasks.hidden import HiddenCases

    if plugins is None:
        plugins = Plugins.load(disabled=config.disabled_plugins)
        plugins.configure(config)
    tasks = load_registry(plugins, config.include_path, cache_dir=config.cache_dir)
    chosen = choose(plugins.executors, config.executor, config.executor_args)
    executor: Executor = make_executor(chosen.registration, config.executor_args)
    settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
    facts = partial(judging_facts, executor, plugins, settings)
    secret = config.hidden_seed
    return Scorer(
        Judge.of(executor, plugins, settings, Faults.of(config)),
        tasks,
        plugins,
        strategy=config.strategy,
        parser=config.parser,
        policy=policy,
        jobs=config.jobs,
        hidden=HiddenCases(secret, Track.DYNAMIC) if secret is not None else None,
        ready=lambda track: prepare(executor, lambda _: None, track),
        on_close=executor.close,
        seed=config.input_seed,
        shared=SharedVerdicts(open_contents(cache), facts) if cache else None,
    )


def _told(asked: Resolved, completion: Completion, judged: Judged, reading: Reading, hints: Hints) -> str:
    """What the strategy says in the next turn; empty when there is none."""
    question = asked.question
    key = SampleKey(asked.task.name, question.case, question.track, 0)
    sample = Sample(key, NO_PROMPT, completion, judged.candidate, judged.verdict)
    following = reading.strategy.following(sample, 2, hints)
    return following.messages[-1].content if following is not None else ""


def _without_profiles(verdict: Verdict) -> Verdict:
    """A verdict small enough to be remembered in thousands."""
    return replace(verdict, cases=tuple(replace(case, profile=None) for case in verdict.cases))
