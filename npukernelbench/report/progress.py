"""Watching a run: a live display in front of a terminal, plain lines in a log.

Both are run observers (see :class:`npukernelbench.run.plan.RunObserver`) and share one :class:`Tally`, which knows
the counts, the rate and the time left. Nothing here decides anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol

from npukernelbench.console import Console
from npukernelbench.nouns import Outcome, Owner, Sample, SampleKey, Stage

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live
    from rich.progress import TaskID

__all__ = ["LiveProgress", "PlainProgress", "Progress", "Tally", "progress_for"]

#: A log gets at most about this many progress lines, however long the run.
_LINES = 200


class Progress(AbstractContextManager["Progress"], Protocol):
    """A run observer that is switched on for the length of a ``with`` block."""

    tally: Tally

    def started(self, total: int, done: int) -> None:
        """The run has ``total`` samples, ``done`` of which were finished before."""
        ...

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """A sample enters a stage."""
        ...

    def finished(self, sample: Sample) -> None:
        """A sample is on disk."""
        ...

    def message(self, text: str) -> None:
        """Something worth a line of text happened."""
        ...


class Tally:
    """What has happened so far in a run. ``clock`` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._stages: dict[SampleKey, Stage] = {}
        self.outcomes: Counter[str] = Counter()
        self.total = 0
        self.earlier = 0
        self.finished_now = 0

    @property
    def done(self) -> int:
        """Samples that are finished, in this run or before."""
        return self.earlier + self.finished_now

    def start(self, total: int, done: int) -> None:
        """Note the size of the run."""
        self.total, self.earlier, self._since = total, done, self._clock()

    def enter(self, key: SampleKey, stage: Stage) -> None:
        """Note that a sample is in a stage."""
        self._stages[key] = stage

    def finish(self, sample: Sample) -> None:
        """Note that a sample is over."""
        # A sample that was reused has passed no stage.
        self._stages.pop(sample.key, None)
        self.finished_now += 1
        self.outcomes[sample.verdict.outcome.value if sample.verdict else "generated"] += 1

    @property
    def stages(self) -> dict[Stage, int]:
        """How many samples are in which stage now, in the order of the stages."""
        counts = Counter(self._stages.values())
        return {stage: counts[stage] for stage in Stage if counts[stage]}

    @property
    def rate_hz(self) -> float:
        """Finished samples per second of this run."""
        elapsed = self._clock() - self._since
        return self.finished_now / elapsed if elapsed > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds to go at the rate so far; None before the first sample."""
        return (self.total - self.done) / self.rate_hz if self.rate_hz > 0 else None


class PlainProgress:
    """Lines on standard error: one per sample, thinned out in long runs; failures of ours are never thinned out."""

    def __init__(self, console: Console, tally: Tally | None = None) -> None:
        self._console = console
        self.tally = tally or Tally()

    def __enter__(self) -> PlainProgress:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def started(self, total: int, done: int) -> None:
        """Say how much there is to do."""
        self.tally.start(total, done)
        before = f", {done} of them finished before" if done else ""
        self._console.err(f"{total} sample{'' if total == 1 else 's'}{before}")

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """Keep count; a log does not want a line per stage."""
        self.tally.enter(key, stage)

    def finished(self, sample: Sample) -> None:
        """Write the sample's line."""
        self.tally.finish(sample)
        tally = self.tally
        # Counted by what this run has to do, not by what earlier runs had finished.
        every = max(1, (tally.total - tally.earlier) // _LINES)
        if _ours(sample) or tally.finished_now % every == 0 or tally.done >= tally.total:
            width = len(str(tally.total))
            left = f"  ETA {duration(tally.left_s)}" if tally.done < tally.total else ""
            self._console.err(
                f"[{tally.done:>{width}}/{tally.total}] {sample.key}  {_word(sample)}  {_rate(tally)}{left}".rstrip()
            )

    def message(self, text: str) -> None:
        """Write the line."""
        self._console.err(text)


class LiveProgress:
    """A bar with rate and time left, what is in which stage, and how samples ended, redrawn in place."""

    def __init__(self, console: Console, tally: Tally | None = None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn
        from rich.progress import Progress as Bar

        self.tally = tally or Tally()
        self._rich = console.live()
        self._bar = Bar(
            SpinnerColumn(),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            console=self._rich,
        )
        # Without a total until the run says it.
        self._task: TaskID = self._bar.add_task("", total=None, pace="")
        self._live: Live | None = None

    def __enter__(self) -> LiveProgress:
        from rich.live import Live

        # The display goes away at the end, where the run's own tables take its place.
        self._live = Live(get_renderable=self._draw, console=self._rich, refresh_per_second=4, transient=True)
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, trace)
            self._live = None

    def started(self, total: int, done: int) -> None:
        """Give the bar its length."""
        self.tally.start(total, done)
        self._bar.update(self._task, total=total, completed=done)

    def stage(self, key: SampleKey, stage: Stage) -> None:
        """Count the sample in its new stage."""
        self.tally.enter(key, stage)

    def finished(self, sample: Sample) -> None:
        """Move the bar; a failure that is not the model's also gets a line that stays."""
        self.tally.finish(sample)
        self._bar.update(self._task, completed=self.tally.done)
        if _ours(sample):
            self.message(f"{sample.key}  {_word(sample)}")

    def message(self, text: str) -> None:
        """Write a line above the bar."""
        from rich.text import Text

        # As `Text`, since rich reads brackets in a plain string as markup.
        self._rich.print(Text(text))

    def _draw(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        tally = self.tally
        left = f" · ETA {duration(tally.left_s)}" if tally.left_s is not None else ""
        self._bar.update(self._task, pace=f"{_rate(tally)}{left}")
        now = " · ".join(f"{stage.value} {count}" for stage, count in tally.stages.items())
        ended = " · ".join(f"{name} {count}" for name, count in tally.outcomes.most_common())
        lines = [Text(f"  now   {now}", style="dim")] if now else []
        if ended:
            lines.append(Text(f"  ended {ended}", style="dim"))
        return Group(self._bar, *lines)


def progress_for(console: Console) -> LiveProgress | PlainProgress:
    """The display that suits where standard error goes."""
    return LiveProgress(console) if console.is_interactive else PlainProgress(console)


def duration(seconds: float | None) -> str:
    """``45 s``, ``3 min 20 s``, ``2 h 05 min``; a dash when unknown."""
    if seconds is None:
        return "–"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def _rate(tally: Tally) -> str:
    rate = tally.rate_hz
    if rate <= 0:
        return ""
    return f"{rate:.1f}/s" if rate >= 1 else f"{rate * 60:.1f}/min"


def _ours(sample: Sample) -> bool:
    """Whether a sample ended in something that says nothing about the model."""
    return sample.verdict is not None and sample.verdict.owner is Owner.INFRA


def _word(sample: Sample) -> str:
    """Outcome and predicted time of one sample, or that its answer is stored."""
    verdict = sample.verdict
    if verdict is None:
        return "generated"
    profiles = [case.profile for case in verdict.cases if case.profile is not None]
    if verdict.outcome is Outcome.OK and len(profiles) == 1:
        kind = "predicted" if profiles[0].predicted else "measured"
        return f"{verdict.outcome.value}  {kind} {profiles[0].time_us:.2f} µs ({verdict.tier.value})"
    if verdict.owner is Owner.INFRA and verdict.diagnostics:
        return f"{verdict.outcome.value}  {verdict.diagnostics[0].message.splitlines()[0]}"
    return verdict.outcome.value
