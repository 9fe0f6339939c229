"""Progress: counts, rate and time left by a clock of our own, plain lines, and a live display that draws."""

from __future__ import annotations

import io

import pytest

from npukernelbench.console import Console
from npukernelbench.nouns.evidence import Diagnostic, Profile
from npukernelbench.nouns.outcomes import Outcome, Severity, Stage, Tier, Track
from npukernelbench.nouns.sample import CaseResult, Prompt, Sample, SampleKey, Verdict
from npukernelbench.report.progress import LiveProgress, PlainProgress, Tally, duration, progress_for


class Clock:
    """Seconds as told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def key(index: int) -> SampleKey:
    return SampleKey("Sqrt", "0", Track.STATIC, index)


def sample(index: int, outcome: Outcome | None = Outcome.OK) -> Sample:
    """A sample that ended so; None was only generated."""
    verdict = None
    if outcome is not None:
        profile = Profile(4.5, True, "m", 2) if outcome is Outcome.OK else None
        diagnostics = (Diagnostic(Severity.ERROR, "r", "because\nof that"),)
        cases = (CaseResult("0", Stage.RUN, outcome, profile=profile),)
        verdict = Verdict(Track.STATIC, Tier.TWIN, Stage.RUN, outcome, outcome.owner, cases, diagnostics)
    return Sample(key(index), Prompt((), "t", "h"), None, None, verdict)


def test_a_tally_counts_stages_outcomes_rate_and_time_left():
    clock = Clock()
    tally = Tally(clock)
    tally.start(10, 2)
    assert tally.left_s is None
    for index in range(3):
        tally.enter(key(index), Stage.GENERATE)
    tally.enter(key(0), Stage.COMPILE)
    assert tally.stages == {Stage.GENERATE: 2, Stage.COMPILE: 1}
    clock.now += 4
    tally.finish(sample(0))
    tally.finish(sample(1, Outcome.CRASH))
    assert tally.stages == {Stage.GENERATE: 1}
    assert (tally.done, tally.rate_hz, tally.left_s) == (4, 0.5, 12.0)
    assert tally.outcomes == {"ok": 1, "crash": 1}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "–"), (0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599, "59 min 59 s"), (7500, "2 h 05 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def plain(total: int, done: int = 0) -> tuple[PlainProgress, io.StringIO, Clock]:
    err, clock = io.StringIO(), Clock()
    progress = PlainProgress(Console(stderr=err, environ={}), Tally(clock))
    progress.started(total, done)
    return progress, err, clock


def test_plain_lines_without_a_terminal():
    progress, err, clock = plain(12, 9)
    for index, outcome in enumerate([Outcome.OK, Outcome.INFRA_ERROR, None]):
        clock.now += 2
        progress.stage(key(index), Stage.RUN)
        progress.finished(sample(index, outcome))
    progress.message("a word")
    assert err.getvalue().splitlines() == [
        "12 samples, 9 of them finished before",
        "[10/12] Sqrt/0/static/0  ok  predicted 4.50 µs (twin)  30.0/min  ETA 4 s",
        "[11/12] Sqrt/0/static/1  infra_error  because  30.0/min  ETA 2 s",
        "[12/12] Sqrt/0/static/2  generated  30.0/min",
        "a word",
    ]


def test_long_runs_are_thinned_out_but_not_our_faults():
    progress, err, _ = plain(10_000)
    for index in range(10_000):
        progress.finished(sample(index, Outcome.INFRA_ERROR if index == 17 else Outcome.OK))
    lines = err.getvalue().splitlines()
    assert 200 <= len(lines) <= 203
    assert sum("infra_error" in line for line in lines) == 1
    assert lines[-1].startswith("[10000/10000]")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_live_display():
    err = Terminal()
    progress = progress_for(Console(stderr=err, environ={"TERM": "xterm", "COLUMNS": "100"}))
    assert isinstance(progress, LiveProgress)
    with progress:
        progress.started(3, 1)
        progress.stage(key(0), Stage.COMPILE)
        progress.message("[bold]a word[/bold]")
        progress.finished(sample(1, Outcome.INFRA_ERROR))
        progress.finished(sample(2, Outcome.FILTERED))
    text = err.getvalue()
    assert "3/3" in text
    assert "compile 1" in text
    assert "[bold]a word[/bold]" in text
    assert "infra_error  because" in text
    assert "filtered  because" in text


def test_a_log_gets_plain_lines():
    assert isinstance(progress_for(Console(stderr=io.StringIO(), environ={})), PlainProgress)
    assert isinstance(progress_for(Console(stderr=Terminal(), environ={"TERM": "dumb"})), PlainProgress)
