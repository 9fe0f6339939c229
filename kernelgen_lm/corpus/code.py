"""Code-centric samples: existing kernels, executed by the judge, with thinking out of what it observed.

A kernel gives one sample per case on the static track, with everything known written as constants, and one on the
dynamic track, host and device code for all of its cases. What is not right on every case it is shown with does not
enter, and is counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from kernelgen_lm.corpus.judged import Answered, answered, judge_summary
from kernelgen_lm.corpus.sample import Sample, sha256, write_lines
from kernelgen_lm.corpus.sources import CollectedKernel, Writer
from kernelgen_lm.judging import Bench
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, Owner, Severity, Task, TensorCase, TensorShape, Track, Verdict
from npukernelbench.prompts import PromptStyle
from npukernelbench.tasks.cache import task_to_json
from npukernelbench.tasks.sizes import input_bytes, output_bytes

__all__ = ["CodeWish", "Lost", "Made", "Tools", "make_code", "require_stated", "samples_of", "wish_of", "worth_judging"]

#: Rises when the same kernel gives other samples.
VERSION = 1
#: Suites whose golden kernels come with this package, under its licence.
_OUR_SUITES = frozenset({"npukernelbench", "ascendcraft", "mhc"})


class CodeWish(NamedTuple):
    """What to make of kernels, and what to say of them.

    ``style`` names the prompts' style. ``benchmarks`` are the names of tasks that must not be trained on.
    """

    style: str
    tracks: tuple[Track, ...]
    most_cases: int
    most_bytes: int
    licence: str
    origin: str
    benchmarks: frozenset[str]


def wish_of(*, paths: bool, goldens: bool, own: bool, style: str, **asked: Any) -> CodeWish:
    """What the command's options ask for. UsageError without kernels, and without licence and origin of others'.

    The benchmarks' names are the caller's to add.
    """
    if not paths and not goldens:
        raise UsageError("no kernels are named", field="PATH", remedy="name a file, a folder, or --goldens NAMES")
    if paths or own:
        _require_words(asked["licence"], asked["origin"])
    tracks = (Track.STATIC, Track.DYNAMIC) if asked["track"] == "both" else (Track(asked["track"]),)
    return CodeWish(
        style,
        tracks,
        asked["cases"],
        asked["most_mib"] << 20,
        asked["licence"] or "Apache-2.0",
        asked["origin"] or "golden kernels of npukernelbench",
        frozenset(),
    )


def require_stated(kernels: Iterable[CollectedKernel], licence: str, origin: str) -> None:
    """UsageError when golden kernels of others' suites are among these and nothing is said of them."""
    if any(kernel.task.suite not in _OUR_SUITES for kernel in kernels):
        _require_words(licence, origin)


def _require_words(licence: str, origin: str) -> None:
    for field, value in (("licence", licence), ("origin", origin)):
        if not value.strip():
            raise UsageError(
                f"these kernels are not ours: their {field} has to be known",
                field=f"--{field}",
                remedy="samples carry it; write the repository's",
            )


class Lost(NamedTuple):
    """What gave no sample: the track, the cases, the outcome, and what was said about it first."""

    track: str
    cases: tuple[str, ...]
    outcome: str
    reason: str


class Made(NamedTuple):
    """What came of one kernel."""

    samples: list[Sample]
    counts: Counter[str]
    lost: list[Lost]


class Tools(NamedTuple):
    """What making samples takes."""

    bench: Bench
    style: PromptStyle
    writer: Writer


def make_code(
    kernels: Iterable[CollectedKernel],
    wish: CodeWish,
    tools: Tools,
    folder: Path,
    *,
    jobs: int,
    tell: Callable[[CollectedKernel, Mapping[str, int]], None],
) -> Mapping[str, int]:
    """Write one file of samples per kernel into ``folder/shards``, and what gave none into ``folder/left_out``.

    Counts by outcome. A kernel whose file is there is not judged again. Faults of the harness leave no file, so that
    they are tried again.
    """
    totals = Counter[str]()

    def make(kernel: CollectedKernel) -> tuple[CollectedKernel, Counter[str]]:
        key = _key(kernel, wish)
        path, counts_path = folder / "shards" / f"{key}.jsonl", folder / "counts" / f"{key}.json"
        # The file is written last, so that its counts are there where it is.
        if path.is_file():
            return kernel, Counter(json.loads(counts_path.read_text(encoding="utf-8")))
        made = samples_of(kernel, wish, tools)
        if not made.counts["infra_error"]:
            lost = ({"kernel": kernel.where, "task": kernel.task.name, **each._asdict()} for each in made.lost)
            write_lines(folder / "left_out" / f"{key}.jsonl", (json.dumps(each) + "\n" for each in lost))
            write_lines(counts_path, [json.dumps(made.counts, sort_keys=True) + "\n"])
            # Last: with this file the kernel is done, and the others have to be there.
            write_lines(path, [sample.line() for sample in made.samples])
        return kernel, made.counts

    # Threads are enough: kernels are compiled and run in processes of their own.
    with ThreadPoolExecutor(jobs) as pool:
        for kernel, counts in pool.map(make, kernels):
            totals.update(counts)
            tell(kernel, counts)
    return totals


def _key(kernel: CollectedKernel, wish: CodeWish) -> str:
    """Equal for equal samples."""
    cases = [case.id for case in kernel.task.cases]
    tracks = [track.value for track in wish.tracks]
    # The text of a frozenset of strings differs from process to process, so it can be in no key.
    words = (VERSION, kernel.hash, kernel.where, cases, tracks, *wish._replace(tracks=(), benchmarks=frozenset()))
    return sha256(repr(words))[:24]


def worth_judging(task: Task, wish: CodeWish) -> tuple[Case, ...]:
    """The cases to take: small enough, first one of each combination of element types, then the others in order."""
    small = [case for case in task.cases if input_bytes(case) + output_bytes(case) <= wish.most_bytes]
    # Reversed, so that the first case of each combination stays.
    # Every combination of element types is another kernel on the static track.
    first = {tuple(dtypes_of(case)): case for case in reversed(small)}
    ordered = [case for case in small if case in first.values()]
    chosen = [*ordered, *(case for case in small if case not in ordered)][: wish.most_cases]
    return tuple(case for case in task.cases if case in chosen)


def dtypes_of(case: Case) -> Iterator[str]:
    """Element types of the input tensors."""
    return (tensor.dtype.value for tensor in _tensors(case))


def samples_of(kernel: CollectedKernel, wish: CodeWish, tools: Tools) -> Made:
    """All samples of one kernel, with counts and losses."""
    lost: list[Lost] = []
    samples: dict[str, Sample] = {}
    cases = worth_judging(kernel.task, wish)
    counts = Counter[str](too_large=len(kernel.task.cases) if not cases else 0)
    asked: list[tuple[Track, tuple[Case, ...]]] = []
    wanted = kernel.tracks & set(wish.tracks)
    if Track.STATIC in wanted:
        asked += [(Track.STATIC, (case,)) for case in cases]
    if Track.DYNAMIC in wanted and cases:
        asked.append((Track.DYNAMIC, cases))
    for track, chosen in asked:
        made = _sample(kernel, track, chosen, wish, tools)
        if isinstance(made, Lost):
            counts[made.outcome] += 1
            lost.append(made)
        else:
            counts["repeated" if made.id in samples else "ok"] += 1
            samples.setdefault(made.id, made)
    # The plus sign drops outcomes that were counted zero times.
    return Made(list(samples.values()), +counts, lost)


def _sample(
    kernel: CollectedKernel, track: Track, cases: tuple[Case, ...], wish: CodeWish, tools: Tools
) -> Sample | Lost:
    """The sample, or why there is none: ``not_derived`` or the judge's outcome."""
    about = (track.value, tuple(case.id for case in cases))
    files = tools.writer.files(kernel, cases[0] if track is Track.STATIC else None)
    if isinstance(files, str):
        return Lost(*about, "not_derived", files)
    # The question has these cases alone, as a model is asked about no others.
    task = replace(kernel.task, cases=cases)
    made = answered(tools.bench, tools.style, task, track, files)
    if isinstance(made, Verdict):
        outcome = "infra_error" if made.owner is Owner.INFRA else made.outcome.value
        return Lost(*about, outcome, _first_error(made))
    return _described(kernel, task, track, wish, made)


def _first_error(verdict: Verdict) -> str:
    """What was said first, with its place."""
    notes = (*verdict.diagnostics, *(note for case in verdict.cases for note in case.diagnostics))
    return next((str(note) for note in notes if note.severity is Severity.ERROR), "")


def _described(kernel: CollectedKernel, task: Task, track: Track, wish: CodeWish, made: Answered) -> Sample:
    first = next(_tensors(task.cases[0]), None)
    benchmark = {"benchmark": task.name} if task.name in wish.benchmarks else {}
    return Sample(
        id=made.id,
        kind="golden",
        family=task.category.lower(),
        operator=task.name,
        dtype=first.dtype.value if first else "none",
        shape=first.shape if first else (),
        track="static" if track is Track.STATIC else "dynamic",
        messages=made.messages,
        question={"task": _plain(task)},
        provenance={
            "source": kernel.source,
            "origin": wish.origin,
            "path": kernel.where,
            "derived": track is Track.STATIC and kernel.derived,
            "version": VERSION,
            **benchmark,
        },
        licence=wish.licence,
        hashes={"task": kernel.task.content_hash, "source": made.source, "prompt": made.prompt.hash},
        verdict=_summary(made.verdict),
    )


def _summary(verdict: Verdict) -> Mapping[str, object]:
    """The judge's word, and per case what a trainer may want to weigh samples with."""
    # A nanosecond is finer than predictions are.
    times = {result.case: round(result.profile.time_us, 3) for result in verdict.cases if result.profile is not None}
    return {**judge_summary(verdict), "times_us": times}


def _plain(task: Task) -> Mapping[str, object]:
    """The task with its cases and nothing of this machine, so that the sample can be executed anywhere."""
    return task_to_json(replace(task, goldens=(), hidden=(), path=Path(task.name) / "task.yaml"))


def _tensors(case: Case) -> Iterator[TensorShape]:
    values: Sequence[object] = tuple(case.inputs.values())
    for value in values:
        if isinstance(value, TensorCase):
            yield value.tensor
        elif isinstance(value, tuple):
            yield from (item.tensor for item in value)
