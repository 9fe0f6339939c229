"""A run folder, open for writing (:class:`RunStore`) or for reading (:func:`read_run`).

The folder holds ``manifest.json``, ``events.jsonl``, ``index.sqlite`` and ``results.json``. The event log alone is the
truth; what an ``add_`` method has returned from survives the end of the process and of the machine.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import NamedTuple

from npukernelbench.errors import SourceLocation, StoreError, UsageError
from npukernelbench.nouns import Completion, Prompt, Sample, SampleKey
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.results import Results
from npukernelbench.store.catalogue import Catalogue, Place, scan
from npukernelbench.store.files import SCHEMA, sync_folder, writing
from npukernelbench.store.index import INDEX_NAME, load_index, save_index
from npukernelbench.store.lock import FolderLock
from npukernelbench.store.log import LOG_NAME, LogReader, LogWriter, StoredCompletion, StoredView
from npukernelbench.store.manifest import MANIFEST_NAME, Manifest, check_same_run, read_manifest, write_manifest
from npukernelbench.store.results import read_results, write_results

__all__ = ["MOST_TOGETHER", "RunStore", "StoredCompletion", "StoredRun", "read_run"]

#: Answers or samples that are worth one wait for the disk, at most.
MOST_TOGETHER = 256


class RunStore:
    """The one writer of a run folder. Methods may be called from several threads."""

    def __init__(self, directory: Path, manifest: Manifest, provenance: Mapping[str, object], lock: FolderLock) -> None:
        self.directory = directory
        self.manifest = manifest
        self._lock = lock
        self._mutex = Lock()
        self._path = directory / LOG_NAME
        self._catalogue, self._indexed = _catalogue(directory)
        self._check_log_belongs()
        self._writer: LogWriter | None = LogWriter(self._path, self._catalogue)
        try:
            self._begin(provenance)
        except BaseException:
            self._writer.close()
            raise

    @classmethod
    def open(cls, directory: Path, manifest: Manifest) -> RunStore:
        """Create the run folder, or resume the run in it.

        A torn last line of the log is cut off; an index that does not fit is ignored and replaced on closing.
        UsageError when another process writes to the folder or when it holds a run of another identity (the differing
        fields are named); StoreError when the folder cannot be written or its files are damaged.
        """
        with writing(directory):
            directory.mkdir(parents=True, exist_ok=True)
        # Before the manifest is looked at: two processes may begin a run here at the same time.
        lock = FolderLock(directory)
        try:
            return cls(directory, _stored_manifest(directory, manifest), manifest.provenance, lock)
        except BaseException:
            lock.release()
            raise

    def completions(self) -> Mapping[SampleKey, StoredCompletion]:
        """Prompts and answers generated so far, also of samples that are judged by now. A snapshot, read on access."""
        reader = self._reader()
        return StoredView(dict(self._catalogue.completions), reader.completion)

    def samples(self) -> Mapping[SampleKey, Sample]:
        """The latest verdict on every sample judged so far, infrastructure faults included.

        A snapshot, read on access. What needs no more work is said by :meth:`finished`.
        """
        reader = self._reader()
        return StoredView({key: entry.place for key, entry in self._catalogue.samples.items()}, reader.sample)

    def finished(self) -> frozenset[SampleKey]:
        """Samples that need no more work: all judged ones but those that fell to a fault of the infrastructure."""
        return frozenset(key for key, entry in self._catalogue.samples.items() if entry.is_final)

    def add_completion(self, key: SampleKey, prompt: Prompt, completion: Completion) -> None:
        """Keep an answer; durable on return. Adding the same again does nothing, another answer is a StoreError."""
        self.add_completions([(key, prompt, completion)])

    def add_completions(self, answers: Sequence[tuple[SampleKey, Prompt, Completion]]) -> None:
        """Keep several answers with one wait for the disk."""
        with self._mutex:
            events: dict[object, Mapping[str, object]] = {}
            for key, prompt, completion in answers:
                if key in self._catalogue.completions:
                    # Read from the disk, which is slow, but only an answer that comes again pays for it.
                    if self.completions()[key] != (prompt, completion):
                        raise self._refused(f"{key} has another completion already")
                    continue
                of_prompt, reference = self._prompt_events(prompt)
                # A prompt goes before what refers to it: a reader of the log refuses any other order.
                events |= {event["id"]: event for event in of_prompt}
                event = {"type": "completion", "key": key, "prompt": reference, "completion": completion}
                if events.setdefault(key, event) != event:
                    raise self._refused(f"{key} was given two completions")
            if events:
                self._append(*events.values())

    def add_sample(self, sample: Sample) -> None:
        """Keep a judged sample; durable on return. StoreError when it has no verdict, or has a final one already."""
        self.add_samples([sample])

    def add_samples(self, samples: Sequence[Sample]) -> None:
        """Keep several judged samples with one wait for the disk."""
        with self._mutex:
            events: dict[object, Mapping[str, object]] = {}
            for sample in samples:
                if sample.verdict is None:
                    raise self._refused(f"{sample.key} has no verdict; an answer alone is kept with add_completion")
                before = self._catalogue.samples.get(sample.key)
                if before is not None and before.is_final:
                    raise self._refused(f"{sample.key} was judged already: {before.outcome.value}")
                if sample.key in events:
                    raise self._refused(f"{sample.key} was given two verdicts")
                of_prompt, reference = self._prompt_events(sample.prompt)
                events |= {event["id"]: event for event in of_prompt}
                events[sample.key] = {
                    "type": "sample",
                    "key": sample.key,
                    "prompt": reference,
                    "completion": sample.completion,
                    "candidate": sample.candidate,
                    "verdict": _without_timings(sample),
                    "timings": sample.verdict.timings,
                    **({"calls": sample.calls} if sample.calls else {}),
                }
            if events:
                self._append(*events.values())

    def write_results(self, results: Results) -> None:
        """Replace ``results.json`` in one step."""
        write_results(self.directory, results)

    def close(self) -> None:
        """Bring the index up to date and give the folder back. Safe to call twice."""
        with self._mutex:
            if self._writer is None:
                return
            self._writer.close()
            self._writer = None
            try:
                if not self._indexed:
                    save_index(self.directory / INDEX_NAME, self._catalogue, self._path)
            finally:
                # Last: the index has to be of the state in which this process leaves the log.
                self._lock.release()

    def __enter__(self) -> RunStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, provenance: Mapping[str, object]) -> None:
        """Make the folder ready for the first sample; proves that it can be written."""
        if not self._catalogue.lines:
            self._append({"type": "header", "schema": SCHEMA, "run_id": self.manifest.run_id})
            with writing(self.directory):
                sync_folder(self.directory)
        # Only what is new: a run that is resumed a hundred times has no hundred equal lines.
        if provenance != _last_provenance(self.manifest, self._catalogue, self._reader()):
            self._append({"type": "opened", "provenance": provenance})

    def _check_log_belongs(self) -> None:
        if self._catalogue.lines and self._catalogue.run_id != self.manifest.run_id:
            raise StoreError(
                f"the log belongs to run {self._catalogue.run_id}, the manifest to run {self.manifest.run_id}",
                location=SourceLocation(self._path, 1),
                remedy="use another --output_path, or restore the manifest that belongs to the log",
            )

    def _reader(self) -> LogReader:
        return LogReader(self._path, self._catalogue.prompts)

    def _prompt_events(self, prompt: Prompt) -> tuple[list[Mapping[str, object]], Mapping[str, JSON]]:
        """The event that a prompt needs when it is new, and the reference to it; every prompt is stored once."""
        # Of the whole prompt: the hash inside is its maker's, and two prompts may have the same.
        identifier = hashlib.sha256(dumps(prompt).encode()).hexdigest()[:16]
        reference = {"id": identifier, "hash": prompt.hash, "template": prompt.template}
        if identifier in self._catalogue.prompts:
            return [], reference
        return [{"type": "prompt", "id": identifier, "prompt": prompt}], reference

    def _append(self, *events: Mapping[str, object]) -> None:
        if self._writer is None:
            raise self._refused("the run store is closed")
        self._indexed = False
        self._writer.append(events)

    def _refused(self, message: str) -> StoreError:
        remedy = "this is a fault of the caller, not of the folder; please report it"
        return StoreError(message, location=SourceLocation(self._path), remedy=remedy)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run folder as it was when it was read. Mappings read the log on access.

    ``provenance`` holds the circumstances of the first session and of every later one that differed from the one
    before.
    """

    directory: Path
    manifest: Manifest
    samples: Mapping[SampleKey, Sample]
    completions: Mapping[SampleKey, StoredCompletion]
    provenance: tuple[Mapping[str, object], ...]

    @property
    def results(self) -> Results | None:
        """The content of ``results.json``, read on access; None before it was written."""
        try:
            return read_results(self.directory)
        except FileNotFoundError:
            return None


def read_run(directory: Path) -> StoredRun:
    """Read a run folder without changing it, also while a run is writing to it.

    UsageError when there is no run in the folder, StoreError when its files are damaged.
    """
    try:
        manifest = read_manifest(directory)
    except FileNotFoundError:
        raise UsageError(
            f"there is no run in this folder: it holds no {MANIFEST_NAME}",
            location=SourceLocation(directory),
            remedy="name the folder that 'npukb run' printed at its end",
        ) from None
    catalogue, _ = _catalogue(directory)
    reader = LogReader(directory / LOG_NAME, catalogue.prompts)
    return StoredRun(
        directory=directory,
        manifest=manifest,
        samples=StoredView({key: entry.place for key, entry in catalogue.samples.items()}, reader.sample),
        completions=StoredView(catalogue.completions, reader.completion),
        provenance=(manifest.provenance, *(_provenance_at(reader, place) for place in catalogue.openings)),
    )


def _stored_manifest(directory: Path, wanted: Manifest) -> Manifest:
    """The manifest already in the folder, proven to be of the wanted run; a new folder gets the wanted one."""
    try:
        here = read_manifest(directory)
    except FileNotFoundError:
        # The manifest is written before the log, so it was lost: a new one would claim the log of another run.
        if (directory / LOG_NAME).exists():
            raise StoreError(
                "there is an event log but no manifest",
                location=SourceLocation(directory / MANIFEST_NAME),
                remedy="restore the manifest, or use another --output_path",
            ) from None
        write_manifest(directory, wanted)
        return wanted
    # The stored one stays: its provenance is that of the first session.
    check_same_run(directory, here, wanted)
    return here


class _Found(NamedTuple):
    catalogue: Catalogue
    from_index: bool


def _catalogue(directory: Path) -> _Found:
    log = directory / LOG_NAME
    try:
        indexed = load_index(directory / INDEX_NAME, log)
        return _Found(indexed, True) if indexed else _Found(scan(log), False)
    except FileNotFoundError:
        # No log yet: the folder was only begun.
        return _Found(Catalogue(), False)
    except OSError as error:
        raise StoreError(f"cannot be read: {error.strerror or error}", location=SourceLocation(log)) from error


def _last_provenance(manifest: Manifest, catalogue: Catalogue, reader: LogReader) -> Mapping[str, object]:
    return _provenance_at(reader, catalogue.openings[-1]) if catalogue.openings else manifest.provenance


def _provenance_at(reader: LogReader, place: Place) -> Mapping[str, object]:
    provenance = reader.event(place).get("provenance")
    return provenance if isinstance(provenance, Mapping) else {}


def _without_timings(sample: Sample) -> JSON:
    verdict = to_json(sample.verdict)
    return {name: value for name, value in verdict.items() if name != "timings"} if isinstance(verdict, dict) else None
