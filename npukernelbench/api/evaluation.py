"""Whole runs from Python: ask a model, judge its answers, hand out samples as they come or the results at the end."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import TYPE_CHECKING

from npukernelbench.cli.plan import make_plan
from npukernelbench.cli.session import Session
from npukernelbench.config import resolve
from npukernelbench.errors import ExecutorError
from npukernelbench.plugins import Plugins

if TYPE_CHECKING:
    from npukernelbench.nouns import Sample, SampleKey, Stage
    from npukernelbench.nouns.results import Results
    from npukernelbench.run.plan import RunSummary

__all__ = ["evaluate", "iter_samples", "read_results", "start_session"]


def evaluate(
    model: str,
    tasks: str | Sequence[str],
    *,
    model_args: Mapping[str, object] | None = None,
    samples: int = 1,
    track: str = "static",
    output_path: str | Path = "results",
    plugins: Plugins | None = None,
    **settings: object,
) -> Results:
    """Run ``model`` on ``tasks`` as ``npukb run`` does, and return what ``results.json`` holds.

    ``settings`` are any others of docs/configuration.md by their names (``gen_kwargs``, ``turns``, ``executor_args``,
    ``jobs``, ``max_cost``…). Configuration files and environment variables count as on the command line; arguments are
    stronger. ``output_path`` is the folder that holds one folder per run; an interrupted run is continued by the same
    call. ``plugins`` takes the place of those installed.

    Raises :class:`~npukernelbench.errors.UsageError` and :class:`~npukernelbench.errors.ConfigError` for arguments,
    :class:`~npukernelbench.errors.TaskError`, :class:`~npukernelbench.errors.StoreError`,
    :class:`~npukernelbench.errors.BackendError` when the model cannot be asked at all, and
    :class:`~npukernelbench.errors.ExecutorError` when samples are missing at the end though no limit was reached. A
    wrong kernel raises nothing: it is a sample.
    """
    session = start_session(
        plugins,
        {
            "model": model,
            "tasks": tasks,
            "model_args": model_args,
            "num_samples": samples,
            "track": track,
            "output_path": output_path,
            **settings,
        },
    )
    summary = _run(session, _Quiet())
    if summary.results is None:
        raise ExecutorError("predict_only judges nothing", remedy="leave it out, or use iter_samples")
    counted = summary.results.totals.samples
    if counted < summary.total and not summary.stopped:
        raise ExecutorError(
            f"{summary.total - counted} of {summary.total} samples are missing", remedy="call evaluate again"
        )
    return summary.results


def iter_samples(
    model: str,
    tasks: str | Sequence[str],
    *,
    model_args: Mapping[str, object] | None = None,
    samples: int = 1,
    track: str = "static",
    output_path: str | Path = "results",
    plugins: Plugins | None = None,
    **settings: object,
) -> Generator[Sample, None, None]:
    """The same run, sample by sample as they are finished and stored, in no fixed order; those of earlier sessions of
    its folder are not among them.

    Closing the iterator stops the run; the same call goes on with what is missing. Raises what :func:`evaluate` raises,
    arguments' faults with the first sample.
    """
    given = {
        "model": model,
        "tasks": tasks,
        "model_args": model_args,
        "num_samples": samples,
        "track": track,
        "output_path": output_path,
        **settings,
    }
    posts: SimpleQueue[Sample | BaseException | None] = SimpleQueue()
    closed = Event()

    def work() -> None:
        """Boundary: whatever ends the run is raised where samples are taken."""
        try:
            _run(start_session(plugins, given), _Handing(posts, closed))
            posts.put(None)
        except BaseException as error:  # noqa: BLE001
            posts.put(error)

    thread = Thread(target=work, name="run", daemon=True)
    thread.start()
    try:
        while (post := posts.get()) is not None:
            if isinstance(post, BaseException):
                raise post
            yield post
    finally:
        closed.set()
        thread.join()


def read_results(folder: str | Path) -> Results:
    """What a run's folder holds as ``results.json``.

    FileNotFoundError where there is none yet, :class:`~npukernelbench.errors.StoreError` for one that this version
    cannot read, with what to do about it.
    """
    from npukernelbench.store.results import read_results as read

    return read(Path(folder))


def start_session(plugins: Plugins | None, given: Mapping[str, object]) -> Session:
    """Configuration and plugins of one call; what is None was not given."""
    options = {name: _plain(value) for name, value in given.items() if value is not None}
    config = resolve(options=options)
    loaded = plugins or Plugins.load(disabled=config.disabled_plugins)
    loaded.configure(config)
    return Session(config, loaded)


def _plain(value: object) -> object:
    """As a configuration file would have it: mappings as dictionaries, sequences as lists, paths as text."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _run(session: Session, observer: _Quiet) -> RunSummary:
    from npukernelbench.run.runner import run

    return run(make_plan(session), session.plugins, observer)


class _Quiet:
    """Watches a run and says nothing."""

    def started(self, total: int, done: int) -> None:
        """Nothing to show."""

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """Nothing to show."""

    def finished(self, sample: Sample) -> None:
        """Nothing to show."""

    def message(self, text: str) -> None:
        """Nothing to show."""


class _Handing(_Quiet):
    """Hands samples over as they are finished, until nobody takes them any more."""

    def __init__(self, posts: SimpleQueue[Sample | BaseException | None], closed: Event) -> None:
        self._posts, self._closed = posts, closed

    def stage(self, key: SampleKey, stage: Stage) -> None:  # noqa: ARG002
        """A good moment to stop."""
        if self._closed.is_set():
            raise KeyboardInterrupt

    def finished(self, sample: Sample) -> None:
        """Hand it over."""
        self._posts.put(sample)
