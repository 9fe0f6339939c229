"""The samples of one run on their way from request to stored verdict.

The asker's thread and the judges' threads post what they finish as small functions to the main thread, which alone
talks to the store, the observer and the hooks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Semaphore
from typing import TYPE_CHECKING

from npukernelbench.asking import Asker
from npukernelbench.errors import BackendError
from npukernelbench.generate.backend import Backend, GenerationFault, GenerationRequest, GenerationResult
from npukernelbench.generate.extract import extract
from npukernelbench.judge.executor import Executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import (
    Candidate,
    Case,
    Completion,
    Diagnostic,
    Outcome,
    Owner,
    Prompt,
    Sample,
    SampleKey,
    Severity,
    Stage,
    Task,
    Track,
    Verdict,
)
from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.plugins import Plugins
    from npukernelbench.runner import RunContext, RunObserver, RunPlan
    from npukernelbench.store import RunStore

__all__ = ["Problem", "Schedule", "problems_by_key"]

#: How many answers may wait for a judge, at least; beyond that the model is asked no further.
_LEAST_ROOM = 64
_ROOM_PER_JOB = 4


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


def problems_by_key(problems: Iterable[Problem], samples: int) -> dict[SampleKey, Problem]:
    """Every sample's key with its problem, the first sample of all problems before the second of any."""
    listed = tuple(problems)
    return {problem.key(index): problem for index in range(samples) for problem in listed}


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
        self._parser = plugins.parsers.find(plan.parser)
        settings = JudgeSettings(plan.compile_timeout_s, plan.run_timeout_s, plan.seed)
        self._judge = Judge(
            executor, checkers=plugins.checkers, guards=plugins.guards, metrics=plugins.metrics, settings=settings
        )
        self._problems = problems
        self._posts: SimpleQueue[partial[None]] = SimpleQueue()
        self._room = Semaphore(max(_LEAST_ROOM, _ROOM_PER_JOB * plan.jobs))
        self._backlog: deque[SampleKey] = deque()
        self._asker: Asker | None = None
        self._asking = False
        self._judging = 0
        self._error: BaseException | None = None
        self._known: dict[tuple[str, str, str], Future[Verdict]] = {}
        self._known_lock = Lock()

    def work(self, backend: Backend) -> None:
        """Generate and judge what is missing."""
        finished, answered = self._store.finished(), self._store.completions()
        done = {key for key in self._problems if key in finished or (self._plan.predict_only and key in answered)}
        todo = [key for key in self._problems if key not in done]
        self._observer.started(len(self._problems), len(done))
        if not todo:
            return
        self._backlog.extend(key for key in todo if key in answered)
        self._remember(finished)
        requests = tuple(self._request(key) for key in todo if key not in answered)
        for request in requests:
            self._observer.stage(request.key, Stage.GENERATE)
        self._asker = Asker(backend, requests, self._room, self._posts.put, self._answered, self._asked)
        judges = ThreadPoolExecutor(self._plan.jobs, thread_name_prefix="judge")
        try:
            self._loop(self._asker, judges)
        except BaseException as error:
            self._error = error
            self._rescue()
            raise
        finally:
            self._asker.cancel()
            judges.shutdown(wait=False, cancel_futures=True)
            self._asker.join()
        if self._error is not None:
            raise self._error

    def _loop(self, asker: Asker, judges: ThreadPoolExecutor) -> None:
        """Do what is posted until nothing is under way any more."""
        self._judges = judges
        self._asking = True
        asker.start()
        while self._asking or self._judging or self._backlog:
            while self._backlog and self._room.acquire(blocking=False):
                key = self._backlog.popleft()
                self._submit(key, self._store.completions()[key].completion)
            self._posts.get()()

    def _rescue(self) -> None:
        """After an interruption: keep what is finished and only waits to be stored."""
        while True:
            try:
                post = self._posts.get_nowait()
            except Empty:
                return
            if post.func in (self._answered, self._judged):
                post()

    def _request(self, key: SampleKey) -> GenerationRequest:
        problem = self._problems[key]
        seed = derive(self._plan.seed, "sample", key.task, key.case, key.track, key.index)
        return GenerationRequest(key, problem.task, problem.case, problem.prompt, self._plan.params, seed)

    def _remember(self, finished: Iterable[SampleKey]) -> None:
        """Candidates judged in earlier sessions need not be judged again."""
        stored = self._store.samples()
        for key in finished:
            sample = stored[key]
            if sample.candidate is not None and sample.verdict is not None:
                known: Future[Verdict] = Future()
                known.set_result(sample.verdict)
                self._known[sample.candidate.hash, key.task, key.case] = known

    def _answered(self, result: GenerationResult) -> None:
        """The model answered, or could not be asked."""
        key, prompt = result.request.key, result.request.prompt
        if isinstance(result.answer, GenerationFault):
            self._room.release()
            self._faulted(key, prompt, result.answer)
            return
        self._store.add_completion(key, prompt, result.answer)
        if self._plan.predict_only:
            self._room.release()
            self._observer.finished(Sample(key, prompt, result.answer, None, None))
        elif self._error is None:
            self._submit(key, result.answer)

    def _faulted(self, key: SampleKey, prompt: Prompt, fault: GenerationFault) -> None:
        if self._plan.predict_only:
            self._observer.message(f"{key}: no answer: {fault.message}")
            return
        remedy = "run the same command again" if fault.retryable else ""
        note = Diagnostic(Severity.ERROR, "generation_fault", fault.message, remedy=remedy)
        verdict = stopped(key.track, self._executor.tier, Stage.GENERATE, Outcome.INFRA_ERROR, (note,))
        self._finish(Sample(key, prompt, None, None, verdict))

    def _asked(self, error: BaseException | None) -> None:
        """No more answers will come."""
        self._asking = False
        if error is not None:
            self._error = self._error or error
            if isinstance(error, BackendError) and (self._judging or self._backlog):
                self._observer.message("the model cannot be asked any more; judging the answers that are here")

    def _submit(self, key: SampleKey, completion: Completion) -> None:
        self._judging += 1
        self._judges.submit(self._job, key, completion)

    def _judged(self, sample: Sample) -> None:
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
        self._store.add_sample(sample)
        self._observer.finished(sample)
        self._plugins.notify("on_sample_end", context=self._context, sample=sample)

    def _job(self, key: SampleKey, completion: Completion) -> None:
        """Boundary, in a worker thread: judge one answer and post the sample, or the error."""
        problem = self._problems[key]
        try:
            self._posts.put(partial(self._observer.stage, key, Stage.EXTRACT))
            found = extract(self._parser, completion, problem.task, problem.track)
            if isinstance(found, Outcome):
                candidate, verdict = None, self._no_candidate(problem, found)
            else:
                candidate, verdict = found, self._verdict(key, problem, found)
            sample = Sample(key, problem.prompt, completion, candidate, verdict)
        except BaseException as error:  # noqa: BLE001
            self._posts.put(partial(self._failed, error))
        else:
            self._posts.put(partial(self._judged, sample))

    def _no_candidate(self, problem: Problem, outcome: Outcome) -> Verdict:
        remedy = "raise max_tokens" if outcome is Outcome.TRUNCATED else ""
        note = Diagnostic(Severity.ERROR, outcome.value, outcome.meaning, remedy=remedy)
        return stopped(problem.track, self._executor.tier, Stage.EXTRACT, outcome, (note,))

    def _verdict(self, key: SampleKey, problem: Problem, candidate: Candidate) -> Verdict:
        """The verdict on a candidate. Equal candidates of one problem are judged once; the others wait for that."""
        same = (candidate.hash, key.task, key.case)
        with self._known_lock:
            known = self._known.get(same)
            if known is None:
                mine: Future[Verdict] = Future()
                self._known[same] = mine
        if known is not None:
            return replace(known.result(), timings={})
        try:
            verdict = self._judge.judge(
                problem.task,
                problem.cases,
                problem.track,
                candidate,
                on_stage=lambda stage: self._posts.put(partial(self._observer.stage, key, stage)),
            )
        except BaseException as error:
            mine.set_exception(error)
            raise
        if verdict.owner is Owner.INFRA:
            with self._known_lock:
                del self._known[same]
        mine.set_result(verdict)
        return verdict
