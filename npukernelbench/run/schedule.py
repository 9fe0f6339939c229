"""The samples of one run on their way from request to stored verdict.

The asker's thread and the judges' threads post what they finish as small functions to the main thread, which alone
talks to the store, the observer and the hooks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Semaphore
from typing import TYPE_CHECKING

from npukernelbench.errors import BackendError
from npukernelbench.generate.backend import Backend, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.generate.strategy import Searching
from npukernelbench.judge.answer import AnswerJudge, Reading
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.executor import Executor, Judging
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.score import stopped
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.outcomes import Outcome, Severity, Stage, Track
from npukernelbench.nouns.sample import Completion, Prompt, Sample, SampleKey
from npukernelbench.nouns.shard import Shard
from npukernelbench.nouns.task import Case, Task
from npukernelbench.run.asking import Asker
from npukernelbench.run.limits import Spending
from npukernelbench.run.turns import Position, follow_up, position, settled
from npukernelbench.seed import derive
from npukernelbench.store.run import MOST_TOGETHER

if TYPE_CHECKING:
    from npukernelbench.generate.strategy import Bench
    from npukernelbench.plugins import Plugins
    from npukernelbench.run.plan import RunContext, RunObserver, RunPlan
    from npukernelbench.store import RunStore

__all__ = ["Problem", "Schedule", "problems_by_key"]

#: How many answers may wait for a judge, at least, and for each job; beyond that the model is asked no further.
_LEAST_ROOM, _ROOM_PER_JOB = 64, 4


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to solve: a task with one case (static) or all of them (dynamic), and the prompt for it."""

    task: Task
    cases: tuple[Case, ...]
    track: Track
    prompt: Prompt

    @property
    def case(self) -> Case | None:
        """The one case of the static track."""
        return self.cases[0] if self.track is Track.STATIC else None

    @property
    def case_id(self) -> str:
        """The case in a sample's key: empty on the dynamic track."""
        return self.case.id if self.case else ""

    def key(self, index: int) -> SampleKey:
        """The key of the ``index``-th sample."""
        return SampleKey(self.task.name, self.case_id, self.track, index)


def problems_by_key(problems: Iterable[Problem], samples: int, shard: Shard | None = None) -> dict[SampleKey, Problem]:
    """Every sample's key with its problem, the first sample of all problems before the second of any; with ``shard``
    only its samples."""
    listed = tuple(problems)
    # Index by index: a run that is stopped early has judged every problem about equally often.
    every = {problem.key(index): problem for index in range(samples) for problem in listed}
    return every if shard is None else {key: problem for key, problem in every.items() if shard.takes(key)}


class Schedule:
    """Moves samples along. Every method before ``_job`` runs in the main thread, the others in a judge's."""

    def __init__(
        self,
        plan: RunPlan,
        plugins: Plugins,
        observer: RunObserver,
        context: RunContext,
        store: RunStore,
        executor: Executor,
        problems: Mapping[SampleKey, Problem],
    ) -> None:
        self._plan, self._plugins, self._observer = plan, plugins, observer
        self._context, self._store, self._executor = context, store, executor
        self._reading = Reading.of(plugins, plan.strategy, plan.parser, plan.strategy_args)
        self._strategy = self._reading.strategy
        self._most_questions = plan.turns * self._strategy.steps
        # Runs of before there were secrets draw their inputs from the seed.
        inputs = plan.seed if plan.inputs is None else plan.inputs
        settings = JudgeSettings(plan.compile_timeout_s, plan.run_timeout_s, inputs)
        self._answers = AnswerJudge(Judge.of(executor, plugins, settings, Faults.of(plan.config)))
        self._problems = problems
        self._posts: SimpleQueue[partial[None]] = SimpleQueue()
        # An executor that judges elsewhere knows how many candidates it takes; the number of jobs is of this machine.
        self._jobs = executor.seats() if isinstance(executor, Judging) else plan.jobs
        self._room = Semaphore(max(_LEAST_ROOM, _ROOM_PER_JOB * self._jobs))
        self._backlog: deque[SampleKey] = deque()
        self._asker: Asker | None = None
        self._asking = False
        self._awaited = 0
        self._judging = 0
        self._error: BaseException | None = None
        self._spending = Spending(plan, (stored.completion for stored in store.completions().values()))
        self.stopped = ""
        """The limit at which the run ended early, in words; empty where none did."""

    def work(self, backend: Backend) -> None:
        """Generate and judge what is missing."""
        todo = self.positions()
        self._observer.started(len(self._problems), len(self._problems) - len(todo))
        if not todo:
            return
        answered = self._stored = self._store.completions()
        self._backlog.extend(here.key for here in todo if here.key in answered)
        self._remember(self._store.finished())
        requests = tuple(self._request(here) for here in todo if here.key not in answered)
        for request in requests:
            self._observer.stage(request.key.conversation, Stage.GENERATE)
        self._awaited = len(requests)
        self._asker = Asker(backend, requests, self._room, self._posts.put, self._answered, self._asked)
        judges = ThreadPoolExecutor(self._jobs, thread_name_prefix="judge")
        try:
            self._loop(self._asker, judges)
        except BaseException as error:
            self._error = error
            self._rescue()
            raise
        finally:
            self._asker.cancel()
            # Not waited for: after an error nobody takes what the judges still post.
            judges.shutdown(wait=False, cancel_futures=True)
            self._asker.join()
        if self._error is not None:
            raise self._error

    def bench(self, request: GenerationRequest) -> Bench:
        """The judge for a model that works with it before it answers ``request``; from any thread."""
        problem = self._problems[request.key.conversation]
        return self._answers.bench(self._reading, problem.task, problem.cases, problem.track)

    def positions(self) -> list[Position]:
        """Where each conversation stands that is not over: the first samples of all problems before their second."""
        plan, finished, samples = self._plan, self._store.finished(), self._store.samples()
        answered = self._store.completions()
        result = []
        for key, problem in self._problems.items():
            here = position(Position(key, problem.prompt), self._strategy, plan.turns, plan.hints, samples, finished)
            if here is not None and not (plan.predict_only and here.key in answered):
                result.append(here)
        return result

    def _loop(self, asker: Asker, judges: ThreadPoolExecutor) -> None:
        """Do what is posted until nothing is under way any more."""
        self._judges = judges
        self._asking = True
        # Earlier sessions may have used up a limit: then nothing is asked.
        self._mind_limits()
        asker.start()
        while self._asking or self._judging or self._backlog:
            # Not waited for: room comes back by posts, which this thread alone takes.
            while self._backlog and self._room.acquire(blocking=False):
                # Stored answers take room as well, since `_judged` gives room back for each sample.
                key = self._backlog.popleft()
                self._submit(key, *self._stored[key])
            # With one question each nothing can follow, so the backend need not be kept open for more.
            if not (self._awaited or self._judging or self._backlog) or self._most_questions == 1:
                asker.no_more()
            self._wait()
            self._mind_limits()

    def _wait(self) -> None:
        """Do what is posted next; nothing when time is up before."""
        try:
            # Once the run is stopped the time left may be 0, with which this loop would spin.
            post = self._posts.get(timeout=None if self.stopped else self._spending.left_s)
        except Empty:
            return
        self._do(post)

    def _mind_limits(self) -> None:
        """Ask no more when a limit is reached; when time is up, begin no judgement either."""
        if not self.stopped and (reached := self._spending.reached()):
            self.stopped = reached
            self._observer.message(f"{reached} is reached: no more questions")
            if self._asker is not None:
                self._asker.cancel()
        if self.stopped and self._spending.out_of_time:
            self._backlog.clear()

    def _do(self, post: partial[None]) -> None:
        """Do what is posted. Answers and verdicts that are here at the same time are kept with one wait for the disk
        each: a run that judges on many machines has hundreds of them in a second.
        """
        posts: list[partial[None]] = [post]
        while len(posts) < MOST_TOGETHER and (following := self._next_post()) is not None:
            posts.append(following)
        # `==` and not `is`: each access makes another bound method. Everything is stored before any post is done, since
        # `_answered` and `_judged` rely on it.
        results: list[GenerationResult] = [post.args[0] for post in posts if post.func == self._answered]
        self._keep(results)
        self._store.add_samples([post.args[0] for post in posts if post.func == self._judged])
        for result in results:
            if isinstance(result.answer, Completion):
                self._spending.add(result.answer)
        for post in posts:
            post()

    def _keep(self, results: Iterable[GenerationResult]) -> None:
        self._store.add_completions(
            [(r.request.key, r.request.prompt, r.answer) for r in results if isinstance(r.answer, Completion)]
        )

    def _next_post(self) -> partial[None] | None:
        try:
            return self._posts.get_nowait()
        except Empty:
            return None

    def _rescue(self) -> None:
        """After an interruption: keep what is finished and only waits to be stored."""
        # `_error` is set by now, so that none of these begins anything new.
        while (post := self._next_post()) is not None:
            if post.func == self._answered:
                self._keep(post.args)
                post()
            elif post.func == self._judged:
                self._store.add_samples(post.args)
                post()

    def _request(self, here: Position) -> GenerationRequest:
        key, problem = here.key, self._problems[here.key.conversation]
        # The first turn's seed is that of runs without turns: their answers are the same ones.
        turn = ("turn", key.turn) if key.turn else ()
        seed = derive(self._plan.seed, "sample", key.task, key.case, key.track, key.index, *turn)
        return GenerationRequest(key, problem.task, problem.case, here.prompt, self._plan.params, seed)

    def _remember(self, finished: Iterable[SampleKey]) -> None:
        """Candidates judged in earlier sessions need not be judged again."""
        stored = self._store.samples()
        for key in finished:
            sample = stored[key]
            if sample.candidate is not None and sample.verdict is not None:
                problem = self._problems[key.conversation]
                self._answers.remember(
                    self._reading, sample.candidate, sample.verdict, task=problem.task, cases=problem.cases
                )

    def _answered(self, result: GenerationResult) -> None:
        """The model answered, which is stored by now, or could not be asked."""
        key, prompt = result.request.key, result.request.prompt
        self._awaited -= 1
        if isinstance(result.answer, GenerationFault):
            self._room.release()
            self._faulted(key, prompt, result.answer)
            return
        if self._plan.predict_only:
            self._room.release()
            self._observer.finished(Sample(key, prompt, result.answer, None, None))
        elif self._error is None:
            self._submit(key, prompt, result.answer)

    def _faulted(self, key: SampleKey, prompt: Prompt, fault: GenerationFault) -> None:
        """Nothing to judge. A conversation that cannot go on, for instance because it is too long, is over."""
        if self._plan.predict_only:
            self._observer.message(f"{key}: no answer: {fault.message}")
            return
        remedy = "run the same command again" if fault.retryable else ""
        note = Diagnostic(Severity.ERROR, "generation_fault", fault.message, remedy=remedy)
        # SKIPPED leaves what the turns before have reached; INFRA_ERROR is asked again by the next session.
        outcome = Outcome.SKIPPED if key.turn and not fault.retryable else Outcome.INFRA_ERROR
        verdict = stopped(key.track, self._executor.tier, Stage.GENERATE, outcome, (note,))
        sample = Sample(key, prompt, None, None, verdict)
        self._store.add_sample(sample)
        self._finish(sample)

    def _asked(self, error: BaseException | None) -> None:
        """No more answers will come."""
        self._asking = False
        if error is not None:
            self._error = self._error or error
            if isinstance(error, BackendError) and (self._judging or self._backlog):
                self._observer.message("the model cannot be asked any more; judging the answers so far")

    def _submit(self, key: SampleKey, prompt: Prompt, completion: Completion) -> None:
        self._judging += 1
        self._judges.submit(self._job, key, prompt, completion)

    def _judged(self, sample: Sample) -> None:
        """The verdict is there, and stored by now."""
        self._judging -= 1
        self._room.release()
        self._finish(sample)

    def _failed(self, error: BaseException) -> None:
        """A job raised: a fault of the harness or of what it was asked for. Start nothing new, then raise it."""
        self._judging -= 1
        self._room.release()
        self._error = self._error or error
        self._backlog.clear()
        if self._asker is not None:
            self._asker.cancel()

    def _finish(self, sample: Sample) -> None:
        turns = self._turns(sample)
        further = follow_up(turns, self._strategy, self._plan.turns, self._plan.hints)
        if further is None:
            # The last kernel of a search is seldom its best.
            self._observer.finished(replace(settled(turns), key=sample.key.conversation))
        elif self._asker is not None and self._error is None and not self.stopped:
            self._awaited += 1
            self._observer.stage(sample.key.conversation, Stage.GENERATE)
            self._asker.ask(self._request(further))
        self._plugins.notify("on_sample_end", context=self._context, sample=sample)

    def _turns(self, last: Sample) -> list[Sample]:
        """The judged turns of a conversation up to ``last``, as far as the strategy looks at them."""
        turns = [last]
        if not isinstance(self._strategy, Searching):
            return turns
        stored = self._store.samples() if last.key.turn else {}
        while turns[0].key.turn:
            turns.insert(0, stored[replace(last.key, turn=turns[0].key.turn - 1)])
        return turns

    def _job(self, key: SampleKey, prompt: Prompt, completion: Completion) -> None:
        """Boundary, in a worker thread: judge one answer and post the sample, or the error."""
        problem = self._problems[key.conversation]

        def on_stage(stage: Stage) -> None:
            self._posts.put(partial(self._observer.stage, key.conversation, stage))

        try:
            on_stage(Stage.EXTRACT)
            judged = self._answers.judge(
                self._reading,
                completion,
                task=problem.task,
                cases=problem.cases,
                track=problem.track,
                prompt=prompt,
                on_stage=on_stage,
            )
            sample = Sample(key, prompt, completion, judged.candidate, judged.verdict, judged.calls)
        except BaseException as error:  # noqa: BLE001
            self._posts.put(partial(self._failed, error))
        else:
            self._posts.put(partial(self._judged, sample))
