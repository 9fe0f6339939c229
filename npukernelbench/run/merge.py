"""The shards of a run put together: one run folder, as if one machine had done it all.

A shard's identity is that of the whole run and which part of it the shard is. So its manifest alone says which samples
the whole run has and which of them the shard must hold; whatever does not fit is refused, and everything that does not
fit is named at once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import SourceLocation, StoreError, UsageError
from npukernelbench.generate.strategy import Strategy, load_strategy
from npukernelbench.judge.scratch import Scratch
from npukernelbench.nouns import Owner, Sample, SampleKey, Shard, Track
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.run.turns import follow_up
from npukernelbench.store import Manifest, RunStore, StoredRun, read_run
from npukernelbench.store.files import sync_folder, writing
from npukernelbench.store.manifest import differences
from npukernelbench.store.run import MOST_TOGETHER

if TYPE_CHECKING:
    from npukernelbench.nouns.results import Results
    from npukernelbench.plugins import Plugins

__all__ = ["Merged", "merge", "samples_per_problem"]

#: What a message lists at most.
_MOST_PROBLEMS = 20
_MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class Merged:
    """The run that came of it. ``faulted`` names the shards that hold samples without a verdict on the model, through
    faults of the infrastructure. ``results`` is None where the shards hold answers that nobody has judged."""

    directory: Path
    shards: int
    samples: int
    faulted: tuple[str, ...]
    results: Results | None


@dataclass(frozen=True, slots=True)
class _Part:
    """One folder that is to be merged."""

    shard: Shard
    run: StoredRun
    whole: Manifest

    @property
    def place(self) -> str:
        return f"{self.run.directory} (shard {self.shard})"


def merge(directories: Sequence[Path], out: Path, plugins: Plugins) -> Merged:
    """Write the run that the shards in ``directories`` are parts of into ``out``, a new folder, all of it or nothing.

    UsageError, which names every reason, when shards are missing, there twice, unfinished, of other runs or of other
    splits, or hold samples that are not theirs; also when ``out`` holds something. StoreError for damaged folders.
    """
    # An empty folder may be there: a user may have made it for this.
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError("this folder is not empty", location=SourceLocation(out), remedy="name a new one with --out")
    parts = _parts(directories)
    identity = parts[0].whole.identity
    args = identity.get("strategy_args", {})
    # An identity leaves the strategy out where it is the usual one.
    strategy = load_strategy(
        plugins.strategies.find(str(identity.get("strategy", "direct"))), args if isinstance(args, Mapping) else {}
    )
    # Judged where any shard is: one that only has answers is then unfinished.
    judged = any(part.run.samples for part in parts)
    faulted, problems = [], []
    for part in parts:
        check = _Check(part, strategy, judged)
        # First: it counts the faults that are asked for next.
        problems += check.problems()
        faulted += [str(part.shard)] if check.faults else []
    _refuse(problems)
    manifest = Manifest(identity, _provenance(parts))
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        # Beside its goal: a rename does not cross file systems.
        scratch = Scratch("merge", out.parent)
    with scratch as room:
        results = _write(room / "run", manifest, parts, judged)
        with writing(out):
            # A rename is all or nothing: no reader ever sees half of a run.
            (room / "run").rename(out)
            sync_folder(out.parent)
    return Merged(out, len(parts), len(_expected(identity)), tuple(faulted), results)


def samples_per_problem(directory: Path) -> int:
    """How many answers per task and case the run in ``directory`` asks for."""
    return int(str(read_run(directory).manifest.identity["samples"]))


def _parts(directories: Sequence[Path]) -> list[_Part]:
    """The folders as shards of one run, each exactly once, in order."""
    parts = [_part(directory) for directory in directories]
    # What most folders hold is taken as meant, so that the message names the odd ones.
    usual = Counter(part.whole.run_id for part in parts).most_common(1)[0][0]
    model = next(part for part in parts if part.whole.run_id == usual)
    problems = []
    for part in parts:
        fields = [name for name, _, _ in differences("", part.whole.identity, model.whole.identity)]
        if fields:
            problems.append(f"{part.place} is of another run than {model.run.directory}: {_listed(fields)} differ")
        if part.shard.count != model.shard.count:
            problems.append(f"{part.place} is of another split than {model.place}")
    by_shard: defaultdict[Shard, list[Path]] = defaultdict(list)
    for part in parts:
        by_shard[part.shard].append(part.run.directory)
    for shard, holders in sorted(by_shard.items()):
        if len(holders) > 1:
            problems.append(f"shard {shard} is there {len(holders)} times: {_listed(list(map(str, holders)))}")
    wanted = [Shard(index, model.shard.count) for index in range(1, model.shard.count + 1)]
    missing = [str(shard) for shard in wanted if shard not in by_shard]
    if missing:
        problems.append(f"{len(missing)} of {len(wanted)} shards are missing: {_listed(missing)}")
    _refuse(problems)
    return sorted(parts, key=lambda part: part.shard)


def _part(directory: Path) -> _Part:
    run = read_run(directory)
    # Without the shard the identity is that of the whole run, so that all shards agree in it.
    identity = dict(run.manifest.identity)
    text = identity.pop("shard", None)
    if not isinstance(text, str):
        raise UsageError(
            "this is a whole run and no shard of one",
            location=SourceLocation(directory),
            remedy="name folders of npukb run --shard I/N",
        )
    try:
        return _Part(Shard.parse(text), run, Manifest(identity, run.manifest.provenance))
    except ValueError as error:
        raise StoreError(str(error), location=SourceLocation(directory), field="shard") from None


class _Check:
    """Whether a shard holds what it must. ``faults`` counts samples that fell to the infrastructure."""

    def __init__(self, part: _Part, strategy: Strategy, judged: bool) -> None:
        self._part, self._strategy, self._judged = part, strategy, judged
        identity = part.whole.identity
        self._turns = int(str(identity.get("turns", 1)))
        self._hints = Hints(identity.get("hints", Hints.DIAGNOSTICS.value))
        self.faults = 0

    def problems(self) -> list[str]:
        """What is wrong, in words."""
        run = self._part.run
        # From the identity, not from what is there: only so a missing sample is seen.
        mine = [key for key in _expected(self._part.whole.identity) if self._part.shard.takes(key)]
        # By conversation: later turns of a sample belong to its shard.
        held = {key.conversation for key in (*run.samples, *run.completions)}
        foreign = sorted(held.difference(mine))
        unfinished = [key for key in mine if not self._over(key)]
        what = "finished" if self._judged else "answered"
        problems = []
        if unfinished:
            names = _listed(list(map(str, unfinished)))
            problems.append(f"{self._part.place}: {len(unfinished)} of {len(mine)} samples are not {what}: {names}")
        if foreign:
            names = _listed(list(map(str, foreign)))
            problems.append(f"{self._part.place} holds {len(foreign)} samples that are not its own: {names}")
        return problems

    def _over(self, key: SampleKey) -> bool:
        """Whether nothing is left to do for a sample but what a fault of the infrastructure prevented."""
        if not self._judged:
            return key in self._part.run.completions
        samples = self._part.run.samples
        before: list[Sample] = []
        while key in samples:
            sample = samples[key]
            before.append(sample)
            if sample.verdict is not None and sample.verdict.owner is Owner.INFRA:
                # A fault of the infrastructure ends a conversation here: a whole run counts such samples, too.
                self.faults += 1
                return True
            if follow_up(before, self._strategy, self._turns, self._hints) is None:
                return True
            key = key.following
        return False


def _expected(identity: Mapping[str, object]) -> list[SampleKey]:
    """The first turns of all samples that a run of this identity has."""
    tasks, track = identity["tasks"], Track(identity["track"])
    if not isinstance(tasks, Mapping):
        raise StoreError("the manifest lists no tasks", field="tasks", remedy="restore the manifest of this run")
    return [
        SampleKey(task, case, track, index)
        for task, facts in tasks.items()
        for case in (facts["cases"] if track is Track.STATIC else ("",))
        for index in range(int(str(identity["samples"])))
    ]


def _provenance(parts: Sequence[_Part]) -> dict[str, object]:
    """The circumstances of the first shard, and in ``shards`` what was different for each of the others. A price is
    that of all shards or of none."""
    first = parts[0].run.provenance[0]
    shards = []
    for part in parts:
        seen: dict[str, object] = {}
        for session in part.run.provenance:
            # A later session's value takes the place of an earlier one's.
            seen |= {name: value for name, value in session.items() if first.get(name) != value}
        shards.append({"shard": str(part.shard), "run_id": part.run.manifest.run_id, **seen})
    # The price of the merged run serves for all its tokens, so that shards must agree in it.
    prices = [part.run.manifest.provenance.get("price") for part in parts]
    agreed = {name: value for name, value in first.items() if name != "price" or prices.count(value) == len(prices)}
    return {**agreed, "shards": shards}


def _write(folder: Path, manifest: Manifest, parts: Sequence[_Part], judged: bool) -> Results | None:
    """The log of the whole run in the order of its samples, whatever the order of the folders, and its results."""
    from npukernelbench.report.results import summarise

    with RunStore.open(folder, manifest) as store:
        for part, keys in _batches(parts, [part.run.completions for part in parts]):
            store.add_completions([(key, *part.run.completions[key]) for key in keys])
        for part, keys in _batches(parts, [part.run.samples for part in parts]):
            store.add_samples([part.run.samples[key] for key in keys])
        if not judged:
            return None
        results = summarise(manifest, store.samples().values())
        store.write_results(results)
        return results


def _batches(
    parts: Sequence[_Part], held: Sequence[Mapping[SampleKey, object]]
) -> Iterator[tuple[_Part, list[SampleKey]]]:
    for part, mapping in zip(parts, held, strict=True):
        # Sorted, so that the merged log does not depend on the order in which samples ended.
        keys = sorted(mapping)
        for start in range(0, len(keys), MOST_TOGETHER):
            yield part, keys[start : start + MOST_TOGETHER]


def _refuse(problems: Sequence[str]) -> None:
    """UsageError with all of them, if there are any."""
    if not problems:
        return
    more = [f"and {len(problems) - _MOST_PROBLEMS} more"] if len(problems) > _MOST_PROBLEMS else []
    lines = [f"  {problem}" for problem in (*problems[:_MOST_PROBLEMS], *more)]
    raise UsageError(
        "\n".join(["these folders are not one run:", *lines]),
        field="RUN",
        remedy="name every shard of one run once; the command of a shard that is not finished goes on with it",
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
