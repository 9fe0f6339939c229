"""One candidate judged by one executor, for the commands that take a kernel's source or a model's answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from npukernelbench.cli.boundary import App
from npukernelbench.cli.session import Session

if TYPE_CHECKING:
    from npukernelbench.nouns import Candidate, Case, Tier, Verdict
    from npukernelbench.report.verdict import Subject

__all__ = ["announce", "judge_once", "judge_text"]


def announce(app: App, session: Session) -> None:
    """Tell which executor ``auto`` took and why; nothing when it was named."""
    if session.executor.automatic:
        app.console.err(session.executor.words)


def judge_once(
    app: App,
    session: Session,
    cases: tuple[Case, ...],
    subject: Subject,
    wanted: Mapping[str, object] | None = None,
) -> Verdict:
    """The verdict on ``subject``. ``wanted`` are arguments for the executor, as far as it has some of those names."""
    with _judging(app, session, cases, subject.task, wanted) as (_, judge):
        return judge(subject.candidate)


def judge_text(
    app: App, session: Session, cases: tuple[Case, ...], subject: Subject, parser: str, text: str
) -> tuple[Subject, Verdict]:
    """The same for a model's answer, out of which ``parser`` takes the kernel: what was found, and its verdict."""
    from npukernelbench.generate.strategy import DIRECT, Answer
    from npukernelbench.nouns import Completion, Prompt
    from npukernelbench.run.answer import judge_made

    registration = session.plugins.parsers.find(parser)
    task, track = session.tasks[subject.task], session.config.track
    answer = Answer(task, cases, track, Prompt((), "", ""), Completion(text), registration)
    with _judging(app, session, cases, subject.task) as (tier, judge):
        made = DIRECT.make(answer)
        verdict = judge_made(made, track, tier, judge)
    return replace(subject, candidate=made.candidate or subject.candidate), verdict


@contextmanager
def _judging(
    app: App, session: Session, cases: tuple[Case, ...], name: str, wanted: Mapping[str, object] | None = None
) -> Iterator[tuple[Tier, Callable[[Candidate], Verdict]]]:
    """The executor's tier, and what judges a candidate for the task of that name."""
    from npukernelbench.judge.executor import make_executor, prepare, require_track
    from npukernelbench.judge.pipeline import Judge, JudgeSettings
    from npukernelbench.run.selective import require_task

    config, plugins = session.config, session.plugins
    registration = session.executor.registration
    announce(app, session)
    known = getattr(getattr(registration.load(), "Args", None), "model_fields", {}) if wanted else {}
    extra = {name: value for name, value in (wanted or {}).items() if name in known}
    executor = make_executor(registration, {**extra, **config.executor_args})
    task = session.tasks[name]
    try:
        require_track(executor, config.track)
        require_task(executor, task, config.track)
        prepare(executor, app.console.err, config.track)
        settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
        judge = Judge.of(executor, plugins, settings)
        yield executor.tier, lambda candidate: judge.judge(task, cases, config.track, candidate)
    finally:
        executor.close()
