"""What the tools do, without the protocol: tasks, sessions, judging, documentation.

Judging is blocking work: it is done by a pool of threads that is as large as ``jobs``, so that callers who leave and
come again cannot pile up work. A call that was cancelled ends before its next stage; what a compiler or a kernel was
doing then ends by itself or by its own time limit, in a process of its own as always.

Hidden cases are not here at all: whatever the configuration says, a desk never makes them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from functools import cached_property
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING

from npukb_mcp.lookup import api_page, explained
from npukb_mcp.redact import judged
from npukb_mcp.results import (
    ApiPage,
    CaseBrief,
    Compared,
    Explained,
    GoldenKernel,
    Judged,
    TaskBrief,
    TaskList,
    TaskPage,
    Timing,
    Workspace,
)
from npukb_mcp.sessions import Limits, Session, Sessions
from npukb_mcp.workspace import Brief, api_index, public_cases, workspace_files
from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.documented import Documented
from npukernelbench.judge.executor import Executor, make_executor, prepare, require_track
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Owner, Stage, Task, Track, Verdict
from npukernelbench.prompts.golden import GoldenKernels
from npukernelbench.prompts.style import PromptStyle, load_style
from npukernelbench.run.selective import require_task
from npukernelbench.seed import draw_secret
from npukernelbench.tasks.making import Makers
from npukernelbench.tasks.sizes import largest_case

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.tasks import TaskRegistry

__all__ = ["Desk", "DeskSettings", "Kind"]

#: What a session may be about: those that prompts and workspaces are written for.
_TRACKS = (Track.STATIC.value, Track.DYNAMIC.value)
# Guard and compilation, then run, check and profile of each case: clients draw a bar of them.
_FEWEST_STAGES = 2
_STAGES_PER_CASE = 3


class Kind(str, Enum):
    """What is asked about a kernel."""

    CHECK = "check"  # does it compile
    JUDGE = "judge"  # is it right
    PROFILE = "profile"  # where does its time go


@dataclass(frozen=True, slots=True)
class DeskSettings:
    """What whoever starts the server decides. ``folder`` is where workspaces are written; without one they are kept in
    memory. ``golden`` lets agents read our own kernels.
    """

    limits: Limits = field(default_factory=Limits)
    folder: Path | None = None
    golden: bool = False


class _Cancelled(Exception):  # noqa: N818  no error: the caller has left
    """Ends a judgement that nobody waits for any more."""


class Desk:
    """Answers what the tools ask. Close it when done."""

    def __init__(
        self,
        config: Config,
        plugins: Plugins,
        tasks: TaskRegistry,
        executor: Registration,
        settings: DeskSettings | None = None,
    ) -> None:
        self.settings = settings or DeskSettings()
        self.sessions = Sessions(self.settings.limits, self.settings.folder)
        self._config, self._plugins, self._tasks, self._registration = config, plugins, tasks, executor
        self._pool = ThreadPoolExecutor(config.jobs, thread_name_prefix="desk")
        self._lock = Lock()
        # By whether it profiles: full profiles cost time, which plain judgements need not pay.
        self._executors: dict[bool, Executor] = {}
        self._judges: dict[bool, Judge] = {}
        self._prepared: set[tuple[bool, Track]] = set()
        # Drawn once: calls of the same server compare kernels on the same inputs, which nobody can know.
        self._secret = draw_secret()

    def close(self) -> None:
        """End what is under way, then give back the executors."""
        # The pool first: a judgement under way needs its executor.
        self._pool.shutdown(wait=True, cancel_futures=True)
        for executor in self._executors.values():
            executor.close()

    def list_tasks(self, expression: str, limit: int, offset: int) -> TaskList:
        """A page of the tasks that an expression names: a task, a group, a suite, a category, a tag."""
        if not 1 <= limit <= 200 or offset < 0:
            raise UsageError(f"limit is {limit}, offset {offset}", field="limit", remedy="1 to 200, and 0 or more")
        named = [selected.task for selected in self._tasks.select([expression])] if expression else list(self._all)
        page = [
            TaskBrief(
                name=task.name,
                suite=task.suite,
                level=task.level,
                category=task.category,
                summary=task.summary,
                cases=len(task.cases),
            )
            for task in named[offset : offset + limit]
        ]
        return TaskList(tasks=page, total=len(named))

    def get_task(self, name: str, track: str, case_id: str | None) -> TaskPage:
        """All that is public about a task."""
        brief = self._brief(name, track, case_id)
        # Without the index of the API: of the files only README.md and the names are shown.
        files = workspace_files(brief, self._style, None)
        return TaskPage(
            name=brief.task.name,
            track=brief.track.value,
            summary=brief.task.summary,
            cases=[
                CaseBrief(id=str(case["id"]), tensors=str(case["tensors"]), smoke=bool(case["smoke"]))
                for case in public_cases(brief)
            ],
            files=sorted(_editable(files)),
            text=files["README.md"],
        )

    def open(self, name: str, track: str, case_id: str | None) -> Workspace:
        """A new session for one task."""
        brief = self._brief(name, track, case_id)
        # Without a folder nobody finds API.md: the tool api looks names up.
        files = workspace_files(brief, self._style, self.documented if self.settings.folder else None)
        session = self.sessions.open(brief, files, _editable(files))
        return Workspace(
            workspace=session.handle,
            task=brief.task.name,
            track=brief.track.value,
            case=brief.case.id if brief.case else "",
            folder=str(session.folder or ""),
            files={"README.md": files["README.md"], **session.files},
            edit=sorted(session.files),
            budget=session.budget,
        )

    async def ask(
        self,
        kind: Kind,
        handle: str,
        files: Mapping[str, str] | None,
        case_id: str | None,
        on_stage: Callable[[Stage, int], None],
    ) -> Judged:
        """The verdict on the files of a session. ``on_stage`` is told each stage and how many there may be, in a thread
        of the pool.
        """
        # Handle, case and files are checked before a call is paid for.
        session = self.sessions.find(handle)
        cases = self._cases(session.brief, case_id, kind)
        candidate = candidate_of(session.take(files))
        session.spend_call()
        left, total = Event(), _FEWEST_STAGES + _STAGES_PER_CASE * len(cases)

        def stage(reached: Stage) -> None:
            if left.is_set():
                raise _Cancelled
            on_stage(reached, total)

        def work() -> Verdict:
            # Given back unless a verdict or a caller that left says otherwise: an exception is a fault of ours.
            started, refund = time.monotonic(), True
            try:
                judge, brief = self._judge(session.brief, profiling=kind is Kind.PROFILE), session.brief
                if kind is Kind.CHECK:
                    stage(Stage.COMPILE)
                    verdict = judge.check(brief.task, cases, brief.track, candidate)
                else:
                    verdict = judge.judge(brief.task, cases, brief.track, candidate, on_stage=stage)
                refund = verdict.owner is Owner.INFRA
                return verdict
            except _Cancelled:
                # A caller that leaves has used the judge: free calls would invite to leave early.
                refund = False
                raise
            finally:
                session.settle(time.monotonic() - started, refund=refund)

        future = self._pool.submit(work)
        try:
            verdict = await asyncio.wrap_future(future)
        finally:
            # Also when the caller was cancelled: the judgement then ends before its next stage.
            left.set()
        # After the call was settled, so that the budget that is told is what is left.
        result = judged(verdict, result=session.next_name(), budget=session.budget)
        session.remember(result)
        return result

    def compare(self, handle: str, first: str, second: str) -> Compared:
        """Two results of a session side by side."""
        session = self.sessions.find(handle)
        base, other = (self._timed(session, name, at) for name, at in ((first, "first"), (second, "second")))
        # A counter that only one of the two has cannot be compared.
        names = [name for name in base.counters if other.counters.get(name, base.counters[name]) != base.counters[name]]
        ratio = other.time_us / base.time_us if base.time_us > 0 else 1.0
        faster = (
            "as fast as"
            if ratio == 1
            else f"{max(ratio, 1 / ratio):.2f} times {'slower' if ratio > 1 else 'faster'} than"
        )
        return Compared(
            first_us=base.time_us,
            second_us=other.time_us,
            ratio=ratio,
            counters={name: (base.counters[name], other.counters[name]) for name in names},
            words=f"{second} is {faster} {first}",
        )

    def explain(self, name: str) -> Explained:
        """What a rule, an outcome or a pattern means; ``name`` may be a whole message."""
        return explained(name, self.documented)

    def api(self, name: str) -> ApiPage:
        """What is known about a name of the API."""
        return api_page(name, self.documented)

    def api_index(self) -> str:
        """Every name of the API by status, as Markdown."""
        return api_index(self.documented)

    def golden(self, name: str, track: str, case_id: str | None) -> GoldenKernel:
        """A right kernel of ours, where the server may show it."""
        brief = self._brief(name, track, case_id)
        if not self.settings.golden:
            raise UsageError("this server shows no golden kernels", field="golden", remedy="npukb mcp --golden")
        with GoldenKernels(Makers(self._plugins.goldens, self._config.cache_dir)) as kernels:
            if kernels.source(brief.task, brief.track) is None:
                raise UsageError(f"{brief.task.name} has no golden kernel", field="task", remedy="ask for another task")
            return GoldenKernel(task=brief.task.name, files=dict(kernels.kernel(brief.task, brief.case, brief.track)))

    @property
    def documented(self) -> Documented | None:
        """The executor as far as it documents what it offers; None when it does not."""
        executor = self._executor(profiling=False)
        return executor if isinstance(executor, Documented) else None

    @cached_property
    def _all(self) -> Sequence[Task]:
        return [self._tasks[name] for name in self._tasks]

    @cached_property
    def _style(self) -> PromptStyle:
        registration = self._plugins.prompts.find(self._config.prompt_style)
        return load_style(registration, lambda: self._tasks)

    def _brief(self, name: str, track: str, case_id: str | None) -> Brief:
        if track not in _TRACKS:
            raise UsageError(f"unknown track {track[:40]!r}", field="track", remedy=", ".join(_TRACKS))
        if name not in self._tasks:
            near = get_close_matches(name, list(self._tasks), n=3, cutoff=0.5)
            hint = f"did you mean {', '.join(near)}? " if near else ""
            raise UsageError(f"there is no task {name[:80]!r}", field="task", remedy=f"{hint}list_tasks names them all")
        task = self._tasks[name]
        return Brief.of(task, Track(track), self._public(task, case_id))

    def _public(self, task: Task, case_id: str | None) -> Case | None:
        if case_id is None:
            return None
        case = next((public for public in task.cases if public.id == case_id), None)
        if case is None:
            listed = ", ".join(public.id for public in task.cases[:30])
            raise UsageError(f"{task.name} has no case {case_id[:80]!r}", field="case", remedy=f"cases: {listed}")
        return case

    def _cases(self, brief: Brief, case_id: str | None, kind: Kind) -> tuple[Case, ...]:
        case = self._public(brief.task, case_id)
        if brief.case is not None:
            if case not in (None, brief.case):
                raise UsageError(
                    f"the kernel of this workspace is for case {brief.case.id}",
                    field="case",
                    remedy="leave case out, or open a workspace for the other case",
                )
            return (brief.case,)
        if case is None and kind is Kind.PROFILE:
            # Largest: a launch of few elements is all overhead, and says nothing about where time goes.
            return (largest_case(brief.task),)
        return brief.cases if case is None else (case,)

    def _timed(self, session: Session, name: str, at: str) -> Timing:
        result = session.results.get(name)
        if result is None or result.time is None:
            timed = [key for key, kept in session.results.items() if kept.time is not None]
            what = "holds no time: the kernel was not right" if result else "is no result of this session"
            remedy = f"results with a time: {', '.join(timed[-20:]) or 'none yet; call judge or profile'}"
            raise UsageError(f"{name[:40]!r} {what}", field=at, remedy=remedy)
        return result.time

    def _executor(self, *, profiling: bool) -> Executor:
        with self._lock:
            if profiling not in self._executors:
                # Not every executor has this argument, and its arguments refuse what they do not know.
                known = getattr(getattr(self._registration.load(), "Args", None), "model_fields", {})
                extra = {"profile": "full"} if profiling and "profile" in known else {}
                # The configuration's own arguments come last: they win.
                self._executors[profiling] = make_executor(self._registration, {**extra, **self._config.executor_args})
            return self._executors[profiling]

    def _judge(self, brief: Brief, *, profiling: bool) -> Judge:
        """The judge of one kind, whose executor is ready for the track of the brief."""
        executor = self._executor(profiling=profiling)
        require_track(executor, brief.track)
        require_task(executor, brief.task, brief.track)
        # Under the lock: the first caller of a track prepares, the others wait for it.
        with self._lock:
            if (profiling, brief.track) not in self._prepared:
                prepare(executor, lambda _: None, brief.track)
                self._prepared.add((profiling, brief.track))
            if profiling not in self._judges:
                config = self._config
                # Inputs that nobody can know beforehand, unless the configuration fixes them.
                seed = self._secret if config.input_seed is None else config.input_seed
                settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, seed)
                self._judges[profiling] = Judge.of(executor, self._plugins, settings, Faults.of(config))
            return self._judges[profiling]


def _editable(files: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for name in files if name.endswith(".cpp"))
