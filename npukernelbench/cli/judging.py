"""One candidate judged by one executor, for the commands that take a kernel's source or a model's answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from npukernelbench.cli.boundary import App
from npukernelbench.cli.session import Session

if TYPE_CHECKING:
    from npukernelbench.judge.pipeline import Judge
    from npukernelbench.nouns import Case, Completion, Observation, RunRequest, Verdict
    from npukernelbench.report.verdict import Subject

__all__ = ["announce", "check_once", "explain_once", "judge_once", "judge_text", "record_once"]


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
    with _judging(app, session, subject.task, wanted) as judge:
        return judge.judge(session.tasks[subject.task], cases, session.config.track, subject.candidate)


def explain_once(app: App, session: Session, cases: tuple[Case, ...], subject: Subject, verdict: Verdict) -> Verdict:
    """The same verdict, and behind its diagnostics where wrong elements come from."""
    from npukernelbench.judge.origin import explain_origin

    task, track = session.tasks[subject.task], session.config.track
    with _judging(app, session, subject.task) as judge:
        said = explain_origin(judge, session.plugins, task, cases, track, subject.candidate, verdict)
    return replace(verdict, diagnostics=(*verdict.diagnostics, *said))


def record_once(
    app: App, session: Session, case: Case, subject: Subject, recorded: tuple[int, int]
) -> tuple[Observation, RunRequest | None]:
    """One run of ``subject`` in which a core is recorded, and what was asked for."""
    from npukernelbench.judge.record import record

    with _judging(app, session, subject.task) as judge:
        return record(judge, session.tasks[subject.task], case, session.config.track, subject.candidate, recorded)


def check_once(app: App, session: Session, cases: tuple[Case, ...], subject: Subject) -> Verdict:
    """Whether ``subject`` compiles: the verdict up to there."""
    with _judging(app, session, subject.task) as judge:
        return judge.check(session.tasks[subject.task], cases, session.config.track, subject.candidate)


def judge_text(
    app: App, session: Session, cases: tuple[Case, ...], subject: Subject, answer: Completion
) -> tuple[Subject, Verdict]:
    """The same for a model's answer, read by the strategy and the parser of the configuration: the code in it, and its
    verdict.
    """
    from npukernelbench.judge.answer import AnswerJudge, Reading
    from npukernelbench.run.selective import require_task

    task, config = session.tasks[subject.task], session.config
    reading = Reading.of_single(session.plugins, config.strategy, config.parser)
    require_task(reading.strategy, task, config.track)
    with _judging(app, session, subject.task) as judge:
        judged = AnswerJudge(judge).judge(reading, answer, task=task, cases=cases, track=config.track)
    return replace(subject, candidate=judged.candidate or subject.candidate), judged.verdict


@contextmanager
def _judging(app: App, session: Session, name: str, wanted: Mapping[str, object] | None = None) -> Iterator[Judge]:
    """A judge for the task of that name, whose executor is ready."""
    from npukernelbench.judge.beaten import Faults
    from npukernelbench.judge.executor import make_executor, prepare, require_track
    from npukernelbench.judge.pipeline import Judge, JudgeSettings
    from npukernelbench.run.selective import require_task

    config, plugins = session.config, session.plugins
    registration = session.executor.registration
    announce(app, session)
    known = getattr(getattr(registration.load(), "Args", None), "model_fields", {}) if wanted else {}
    extra = {name: value for name, value in (wanted or {}).items() if name in known}
    # What the user says wins over what the command wants.
    executor = make_executor(registration, {**extra, **config.executor_args})
    task = session.tasks[name]
    try:
        require_track(executor, config.track)
        require_task(executor, task, config.track)
        prepare(executor, app.console.err, config.track)
        settings = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
        yield Judge.of(executor, plugins, settings, Faults.of(config))
    finally:
        executor.close()
