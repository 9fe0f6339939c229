"""What can be replayed: answers by task, case and index, however they are laid out on disk.

::

    <task>/<case>/<index>.md     <task>__<case>__<index>.md     one answer of one case
    <task>/<index>.cpp                                          one answer for every case
    <task>.cpp                                                  the same, index 0
    *.jsonl                                                     one object per line: task, case, index, text
    a run's own folder                                          its stored completions

``.md`` and ``.txt`` hold answers as models gave them, ``.cpp`` holds bare source. Names are compared without case, with
``_`` and ``-`` alike; a task's kernel name stands for the task. The more specific name wins; two files for one name are
an error, because one of them would be ignored silently.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from npukernelbench.errors import BackendError, SourceLocation
from npukernelbench.generate import wrap
from npukernelbench.nouns import Completion, FinishReason, SampleKey, Track

__all__ = ["Library", "Shelf", "content_hash", "read_library"]

_SUFFIXES = (".md", ".txt", ".cpp")
_LAYOUTS = (
    "<task>/<case>/<index>.md, <task>__<case>__<index>.md, <task>/<index>.cpp, <task>.cpp (.md, .txt or .cpp), *.jsonl"
)


class Shelf(NamedTuple):
    """Where an answer stands, in canonical names. Empty ``case`` and ``track`` stand for all of them."""

    task: str
    case: str
    number: int
    track: str = ""
    turn: int = 0


class _Record(BaseModel):
    """One line of a JSONL file. Further fields are of no concern here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    task: str
    case: str = ""
    index: int = 0
    track: Track | None = None
    text: str
    finish_reason: FinishReason = FinishReason.STOP
    reasoning: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Library:
    """Answers by shelf: read already, or a file to read when it is asked for."""

    path: Path
    shelves: Mapping[Shelf, Completion | Path]

    def find(self, key: SampleKey, kernel: str) -> Completion | str:
        """The answer to ``key``, or in words why there is none."""
        # The specific name first; without duplicates, as a name may be empty.
        for case in dict.fromkeys((_canonical(key.case), "")):
            for track in (key.track.value, ""):
                names = dict.fromkeys((_canonical(key.task), _canonical(kernel)))
                matching = [
                    self.shelves[s]
                    for s in (Shelf(n, case, key.index, track, key.turn) for n in names)
                    if s in self.shelves
                ]
                if len(matching) > 1:
                    return f"two answers to {key}: {' and '.join(map(_describe, matching))}; remove one"
                if matching:
                    return matching[0] if isinstance(matching[0], Completion) else _read(matching[0])
        # Only an earlier run has answers of later turns: no file's name says a turn.
        if key.turn:
            return f"no answer of turn {key.turn} is stored under {self.path}"
        per_case = f"{key.task}/{key.case}/{key.index}.md or " if key.case else ""
        return f"none under {self.path}; it could be, for instance, in {per_case}{key.task}/{key.index}.cpp"


def read_library(path: Path) -> Library:
    """Everything under ``path``. BackendError when it does not exist, holds nothing, or holds one answer twice."""
    shelves: dict[Shelf, Completion | Path] = {}
    for shelf, answer in _entries(path):
        other = shelves.setdefault(shelf, answer)
        if other is not answer:
            raise BackendError(
                f"two answers for task {shelf.task!r}, case {shelf.case or 'any'!r}, index {shelf.number}: "
                f"{_describe(other)} and {_describe(answer)}",
                location=SourceLocation(path),
                remedy="remove one of them",
            )
    if not shelves:
        raise BackendError(
            "there is nothing to replay here", location=SourceLocation(path), remedy=f"expected: {_LAYOUTS}"
        )
    return Library(path, shelves)


def content_hash(path: Path) -> str:
    """sha256 over names and bytes of every file that :func:`read_library` would look at."""
    digest = hashlib.sha256()
    for file in _files(path):
        data = _bytes(file)
        for part in (file.relative_to(path).as_posix().encode("utf-8", "surrogateescape"), data):
            # Lengths too, so that names and contents cannot be cut elsewhere and give the same hash.
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def _files(path: Path) -> list[Path]:
    """The files that hold answers, in the order of their names. BackendError when ``path`` does not exist."""
    if not path.exists():
        raise BackendError(f"there is nothing to replay at {path}", field="model_args.path")
    if path.is_file():
        return [path]
    # The event log holds all of a run's answers.
    if _is_run(path):
        return [file for file in (path / "events.jsonl",) if file.is_file()]
    # Without regard to the suffix's case, as readers of the files below are.
    files = (file for file in path.rglob("*") if file.suffix.lower() in (*_SUFFIXES, ".jsonl") and file.is_file())
    return sorted(files)


def _is_run(path: Path) -> bool:
    return (path / "manifest.json").is_file()


def _entries(path: Path) -> Iterator[tuple[Shelf, Completion | Path]]:
    files = _files(path)
    if path.is_dir() and _is_run(path):
        yield from _run(path)
        return
    for file in files:
        if file == path or file.suffix.lower() == ".jsonl":
            yield from _records(file)
        elif (shelf := _shelf(file.relative_to(path))) is not None:
            yield shelf, file


def _run(folder: Path) -> Iterator[tuple[Shelf, Completion]]:
    """The completions of an earlier run, judged or only predicted."""
    from npukernelbench.store import read_run

    run = read_run(folder)
    stored = {key: completion for key, (_, completion) in run.completions.items()}
    # A run that was judged elsewhere keeps completions with its samples.
    judged = {key: sample.completion for key, sample in run.samples.items() if key not in stored}
    for key, completion in {**stored, **judged}.items():
        if completion is not None:
            yield Shelf(_canonical(key.task), _canonical(key.case), key.index, key.track.value, key.turn), completion


def _shelf(file: Path) -> Shelf | None:
    """Where a file stands by its name, None when its name follows no layout."""
    parts = [_canonical(part) for part in file.with_suffix("").parts]
    if len(parts) == 1:
        parts = parts[0].split("__")
        if len(parts) == 1:
            return Shelf(parts[0], "", 0)
    # isdigit() alone takes superscripts as well, which int() refuses.
    if len(parts) not in (2, 3) or not (parts[-1].isascii() and parts[-1].isdigit()):
        return None
    return Shelf(parts[0], parts[1] if len(parts) == 3 else "", int(parts[-1]))


def _records(file: Path) -> Iterator[tuple[Shelf, Completion]]:
    # Not splitlines(): JSON may hold U+2028 and its like unescaped inside a text.
    for number, line in enumerate(_text(file).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _Record.model_validate(json.loads(line))
        except (ValueError, ValidationError) as error:
            raise BackendError(
                f"not an answer to replay: {str(error).splitlines()[0]}",
                location=SourceLocation(file, number),
                remedy="every line is an object with task, case, index and text",
            ) from error
        shelf = Shelf(
            _canonical(record.task), _canonical(record.case), record.index, record.track.value if record.track else ""
        )
        yield shelf, Completion(record.text, record.finish_reason, reasoning=record.reasoning, model=record.model)


def _read(file: Path) -> Completion | str:
    try:
        text = _text(file)
    except BackendError as error:
        return str(error)
    # Bare source becomes a fenced block, so that the same parser reads it as an answer.
    return Completion(wrap(text) if file.suffix.lower() == ".cpp" else text, model="replay")


def _text(file: Path) -> str:
    """The text of a file to the letter, line ends included."""
    try:
        return _bytes(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BackendError(
            f"is not UTF-8 text: {error.reason} at byte {error.start}", location=SourceLocation(file)
        ) from error


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise BackendError(f"cannot be read: {error.strerror}", location=SourceLocation(file)) from error


def _canonical(name: str) -> str:
    # Some file systems do not tell case apart, and people write either mark.
    return name.casefold().replace("-", "_")


def _describe(answer: Completion | Path) -> str:
    return str(answer) if isinstance(answer, Path) else "a JSONL record"
