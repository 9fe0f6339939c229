"""One kernel, one verdict, from Python; and the tasks by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from npukernelbench.api.evaluation import start_session
from npukernelbench.cli.session import find_case, only_task
from npukernelbench.generate.extract import candidate_of
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.executor import make_executor, prepare, require_track
from npukernelbench.judge.pipeline import Judge, JudgeSettings

if TYPE_CHECKING:
    from npukernelbench.nouns import Task, Verdict
    from npukernelbench.plugins import Plugins

__all__ = ["find_tasks", "judge_kernel"]


def find_tasks(names: str | Sequence[str], *, plugins: Plugins | None = None, **settings: object) -> tuple[Task, ...]:
    """The tasks that ``names`` select: names, levels, categories, tags, groups or globs, as ``--tasks`` takes them.

    ``settings`` as for :func:`~npukernelbench.evaluate`, for instance ``include_path``. Raises
    :class:`~npukernelbench.errors.UsageError` for a name that selects nothing,
    :class:`~npukernelbench.errors.TaskError` for a broken task file.
    """
    session = start_session(plugins, settings)
    wanted = [names] if isinstance(names, str) else list(names)
    return tuple(selected.task for selected in session.tasks.select(wanted))


def judge_kernel(
    task: str,
    kernel: str | Mapping[str, str],
    *,
    case: str | None = None,
    track: str = "static",
    plugins: Plugins | None = None,
    **settings: object,
) -> Verdict:
    """The verdict on ``kernel`` as an answer to ``task``, as ``npukb judge`` gives it.

    ``kernel`` is the source's text, or on the dynamic track texts by path (``op_host/…``, ``op_kernel/…``). Without
    ``case`` the smoke case is judged, on the dynamic track all. ``settings`` as for :func:`~npukernelbench.evaluate`
    (``executor_args``, ``seed``, ``hidden_seed``…). Times in the verdict are in microseconds (``_us``) or seconds.

    Raises :class:`~npukernelbench.errors.UsageError` for arguments, :class:`~npukernelbench.errors.TaskError`, and
    :class:`~npukernelbench.errors.ToolchainError` when the executor cannot get ready. A fault during judging is a
    verdict with the owner ``infra``; a wrong kernel is one with the owner ``model``.
    """
    session = start_session(plugins, {"track": track, **settings})
    config, selected = session.config, only_task(session, task).task
    wanted = find_case(selected, case, config.track, session.hidden)
    hidden = session.hidden(selected) if session.hidden else ()
    cases = (wanted,) if wanted else (*selected.cases, *hidden)
    candidate = candidate_of({"kernel.cpp": kernel} if isinstance(kernel, str) else dict(kernel))
    executor = make_executor(session.executor.registration, config.executor_args)
    try:
        require_track(executor, config.track)
        prepare(executor, _ignore, config.track)
        limits = JudgeSettings(config.compile_timeout_s, config.run_timeout_s, config.seed)
        judges = Judge.of(executor, session.plugins, limits, Faults.of(config))
        return judges.judge(selected, cases, config.track, candidate)
    finally:
        executor.close()


def _ignore(line: str) -> None:
    """Nobody reads."""
