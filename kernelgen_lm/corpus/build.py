"""Building a corpus of Ascend C: draw a question, lower its tile program, let the judge execute the kernel, keep
what is right.

Work is cut into shards of consecutive indices. Everything of a sample follows from the seed and its index, and a shard
is one file that is there whole or not at all: an interrupted build resumes where it was, and any number of processes
gives the same bytes but for predicted times of another executor.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

from pydantic import Field

from kernelgen_lm.corpus.check import BUILT
from kernelgen_lm.corpus.exclusion import Exclusion, excluded
from kernelgen_lm.corpus.judged import answered, judge_summary, kernel_of
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, draw_shapes, is_held_out
from kernelgen_lm.corpus.sample import Sample, write_lines
from kernelgen_lm.judging import Bench
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track, Verdict
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import PromptStyle, load_style
from npukernelbench.seed import derive
from npukernelbench.strict import Strict

__all__ = ["VERSION", "BuildConfig", "Shard", "build", "make_sample"]

#: Rises when the same seed gives other samples.
VERSION = 4
#: Families whose questions have a meaning for every shape.
_SIZED = ("elementwise", "cast", "integer", "rows")


class BuildConfig(Strict):
    """A corpus. Equal values give equal samples."""

    samples: int = Field(20_000, ge=1, description="questions to draw; some are of held-out operators, or known ones")
    seed: int = Field(0, description="seed of the whole corpus")
    shard: int = Field(100, ge=1, description="samples per file")
    families: Mapping[str, int] = Field(
        default_factory=lambda: dict(FAMILIES), description="families with their shares"
    )
    held_out: float = Field(0.1, ge=0, lt=1, description="share of operators that are kept for evaluation")
    prompt_style: str = Field("terse", description="prompt style of the questions, by its name in the harness")
    executor: str = Field("twin", description="what executes kernels")
    track: Literal["static", "dynamic"] = Field(
        "static", description="dynamic: host and device code for several shapes"
    )
    shapes: int = Field(4, ge=1, le=16, description="shapes per operator on the dynamic track")


class Shard(NamedTuple):
    """What became of a shard: samples by outcome. ``held_out``, ``known``, ``unfit`` and ``repeated`` see no judge."""

    number: int
    counts: Mapping[str, int]


def build(config: BuildConfig, folder: Path, jobs: int, on_shard: Callable[[Shard, int], None]) -> Mapping[str, int]:
    """Make every shard that is missing; totals by outcome. ``on_shard`` gets each shard and the number of all.

    UsageError when the folder holds a corpus of another configuration.
    """
    _claim(config, folder)
    # Rounded up: the last shard may be shorter.
    shards = -(-config.samples // config.shard)
    missing = [index for index in range(shards) if not _path(folder, index).is_file()]
    # Spawned: forked workers would share the judge's threads and locks.
    with ProcessPoolExecutor(jobs, get_context("spawn"), _open, (config.model_dump(),)) as pool:
        # Twice the jobs, so that a worker that is done finds the next shard waiting.
        for shard in _in_flight(pool, missing, folder, 2 * jobs):
            on_shard(shard, shards)
    totals: Counter[str] = Counter()
    for index in range(shards):
        totals.update(json.loads(_counts_path(folder, index).read_text(encoding="utf-8")))
    return totals


def make_sample(
    config: BuildConfig, index: int, bench: Bench, style: PromptStyle, exclusion: Exclusion
) -> Sample | str:
    """The sample of an index, or why there is none: ``held_out``, ``known`` (a benchmark's or a plain function),
    ``unfit`` (of one shape, where several are asked for), or the judge's outcome.
    """
    rng = Random(derive(config.seed, "corpus", VERSION, index))
    spec = draw_question(rng, config.families)
    # Before anything is written or judged: held-out operators cost nothing.
    if is_held_out(spec.function, config.held_out):
        return "held_out"
    if excluded(exclusion, spec):
        return "known"
    shapes: tuple[tuple[int, ...], ...] = ()
    if config.track == "dynamic":
        if spec.family not in _SIZED:
            return "unfit"
        shapes = draw_shapes(rng, spec, config.shapes)
    task = spec.task_of_shapes(shapes) if shapes else spec.task()
    track = Track(config.track)
    made = answered(bench, style, task, track, kernel_of(spec, task, track, bench.plugins))
    if isinstance(made, Verdict):
        return str(made.outcome.value)
    several = {"shapes": [list(shape) for shape in shapes]} if shapes else {}
    return Sample(
        id=made.id,
        kind="kernel",
        family=spec.family,
        operator=spec.operator,
        dtype=spec.dtype.value,
        shape=spec.shape,
        track=config.track,
        messages=made.messages,
        question={**spec.to_json(), **several},
        provenance={"source": BUILT, "version": VERSION, "seed": config.seed, "index": index},
        licence="Apache-2.0",
        hashes={"question": task.content_hash, "source": made.source, "prompt": made.prompt.hash},
        verdict=judge_summary(made.verdict),
    )


def _path(folder: Path, index: int) -> Path:
    return folder / "shards" / f"{index:06d}.jsonl"


def _counts_path(folder: Path, index: int) -> Path:
    return folder / "counts" / f"{index:06d}.json"


def _claim(config: BuildConfig, folder: Path) -> None:
    """Write the configuration into a new folder; refuse a folder of another one."""
    path = folder / "config.json"
    text = config.model_dump_json(indent=2) + "\n"
    # Compared as values, not as text: a folder may be older than a field that has its default.
    if path.is_file() and BuildConfig.model_validate_json(path.read_text(encoding="utf-8")) != config:
        raise UsageError(
            f"{folder} holds a corpus of another configuration", field="--out", remedy="name another folder"
        )
    write_lines(path, [text])


def _in_flight(pool: ProcessPoolExecutor, missing: list[int], folder: Path, most: int) -> Iterator[Shard]:
    """Shards as they are done, at most ``most`` of them under way."""
    # Reversed, so that pop() takes the next one in constant time.
    waiting, running = list(reversed(missing)), set[Future[Shard]]()
    while waiting or running:
        while waiting and len(running) < most:
            running.add(pool.submit(_make_shard, waiting.pop(), str(folder)))
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


class _Worker(NamedTuple):
    config: BuildConfig
    bench: Bench
    style: PromptStyle
    exclusion: Exclusion


# A pool's initializer cannot hand anything to the tasks: what it opens is left here for them.
_WORKER: list[_Worker] = []


def _open(config: Mapping[str, object]) -> None:
    """In a worker process: its judge, once."""
    made = BuildConfig.model_validate(config)
    style = load_style(Plugins.load().prompts.find(made.prompt_style))
    _WORKER.append(_Worker(made, Bench(made.executor, detail=True), style, Exclusion.of_benchmarks()))


def _make_shard(index: int, folder: str) -> Shard:
    """In a worker process: every sample of a shard, then its files; counts first, so that a shard has them."""
    config, bench, style, exclusion = _WORKER[0]
    counts: Counter[str] = Counter()
    samples: dict[str, Sample] = {}
    for number in range(index * config.shard, min((index + 1) * config.shard, config.samples)):
        made = make_sample(config, number, bench, style, exclusion)
        if isinstance(made, str):
            counts[made] += 1
        # Looked for within the shard only: shards are made without knowing of each other.
        elif made.id in samples:
            counts["repeated"] += 1
        else:
            counts["ok"] += 1
            samples[made.id] = made
    write_lines(_counts_path(Path(folder), index), [json.dumps(counts, sort_keys=True) + "\n"])
    write_lines(_path(Path(folder), index), [sample.line() for sample in samples.values()])
    return Shard(index, counts)
