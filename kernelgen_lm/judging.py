"""The judge, opened for questions that are made up on the fly."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import TracebackType

from npukernelbench.generate.extract import DEVICE_SOURCE, candidate_of
from npukernelbench.generate.strategy import Answer, load_strategy
from npukernelbench.judge.executor import Executor, make_executor, prepare
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Completion, FinishReason, Outcome, Prompt, Task, Track, Verdict
from npukernelbench.plugins import Plugins

__all__ = ["Bench", "lower"]

#: The comment that a file begins with.
_HEAD = re.compile(r"\A(//[^\n]*\n)+\n*")


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
        self.plugins = plugins
        self._judge = Judge.of(self.executor, plugins, JudgeSettings(timeout_s, timeout_s))  # to compile, and to run
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

    def judge_program(self, task: Task, cases: Sequence[Case], track: Track, text: str) -> str:
        """Why an answer with a program of the tile language is not right, as a run would judge it; "" if it is."""
        files = lower(self.plugins, task, cases, track, text)
        if isinstance(files, str):
            return files
        verdict = self.judge_files(task, cases, track, files)
        notes = "; ".join(str(note) for case in verdict.cases for note in case.diagnostics)
        return "" if verdict.outcome is Outcome.OK else f"{verdict.outcome.value}: {notes}"

    def close(self) -> None:
        """Close the executor."""
        self.executor.close()

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def lower(plugins: Plugins, task: Task, cases: Sequence[Case], track: Track, text: str) -> Mapping[str, str] | str:
    """The Ascend C that an answer with a program of the tile language becomes, by file name, as in a run; or what is
    wrong with it.
    """
    strategy, parser = load_strategy(plugins.strategies.find("tile")), plugins.parsers.find("auto")
    completion = Completion(text, FinishReason.STOP)
    made = strategy.make(Answer(task, tuple(cases), track, Prompt((), "", ""), completion, parser))
    if made.outcome is not Outcome.OK or made.candidate is None:
        return "; ".join(str(note) for note in made.diagnostics)
    # Without the program itself, which a run keeps beside them, and without the words that say where they come from.
    files = {name: text for name, text in made.candidate.files.items() if not name.endswith(".py")}
    return {name: _HEAD.sub("", text) for name, text in files.items()}
