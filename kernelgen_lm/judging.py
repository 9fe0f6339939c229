"""The judge, opened for questions that are made up on the fly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

from npukernelbench.generate.extract import DEVICE_SOURCE, candidate_of
from npukernelbench.judge.executor import Executor, make_executor, prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Task, Track, Verdict
from npukernelbench.plugins import Plugins

__all__ = ["Bench"]


class Bench:
    """An executor with a judge on it. Use it as a context; one per process.

    With ``detail`` profiles say what every line of a kernel did, as far as the executor can tell.
    """

    def __init__(self, executor: str = "twin", timeout_s: float = 60.0, *, detail: bool = False) -> None:
        plugins = Plugins.load()
        registration = plugins.executors.find(executor)
        # Executors of other plugins may have no such argument, and would refuse it.
        known = getattr(getattr(registration.load(), "Args", None), "model_fields", {})
        wanted = {"profile": "full"} if detail and "profile" in known else {}
        self.executor: Executor = make_executor(registration, wanted)
        # Built now rather than within the first kernel's time limit.
        prepare(self.executor, lambda _: None, Track.STATIC)
        self._judge = Judge.of(self.executor, plugins, JudgeSettings(timeout_s, timeout_s))
        self._ready = {Track.STATIC}

    def judge(self, task: Task, source: str, case: str = "") -> Verdict:
        """The verdict on one source file of the static track, on the case of that id or the first."""
        chosen = task.case(case) if case else task.cases[0]
        return self.judge_files(task, (chosen,), Track.STATIC, {DEVICE_SOURCE: source})

    def judge_files(self, task: Task, cases: Sequence[Case], track: Track, files: Mapping[str, str]) -> Verdict:
        """The verdict on the files of an answer of either track."""
        if track not in self._ready:
            prepare(self.executor, lambda _: None, track)
            self._ready.add(track)
        return self._judge.judge(task, cases, track, candidate_of(files))

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
