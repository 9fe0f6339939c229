"""How much of a run's answers stands in published kernels: shared n-grams of code, answer by answer.

Code is read as tokens without comments. What is in the prompt counts for nobody, and neither does what many of the
published files have: every kernel opens with the same lines. What is left is compared with files of the same operator,
those whose path names it, and with all.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import Message, Sample
from npukernelbench.report.table import Column, Table
from npukernelbench.store import read_run
from npukernelbench.tasks.select import fold

__all__ = [
    "OVERLAP",
    "WIDTH",
    "Overlap",
    "Published",
    "overlap_of",
    "overlap_sentence",
    "overlap_table",
    "read_overlap",
]

#: The file beside a run's results.
OVERLAP = "overlap.json"
#: The share of n-grams from which on an answer is counted as shared.
_MUCH = 0.5

#: Tokens in a row that are not shared by chance.
WIDTH = 20
#: The share of published files, and their number, beyond which something is everybody's.
_COMMON, _FEW = 0.2, 4
_SUFFIXES = frozenset((".cpp", ".cc", ".cxx", ".h", ".hpp", ".cce", ".asc"))
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")

_Grams = frozenset[tuple[str, ...]]


def grams_of(text: str) -> _Grams:
    """Every :data:`WIDTH` tokens in a row, comments left out."""
    tokens = _TOKEN.findall(_COMMENT.sub(" ", text))
    # A text of fewer tokens has no n-gram, and counts as sharing nothing.
    return frozenset(tuple(tokens[start : start + WIDTH]) for start in range(len(tokens) - WIDTH + 1))


@dataclass(frozen=True, slots=True)
class Published:
    """The files of a folder by path below it, with their n-grams but for those that are everybody's."""

    files: Mapping[str, _Grams]

    @classmethod
    def read(cls, folder: Path) -> Published:
        """The C++ files below ``folder``. UsageError when there is none."""
        # Files of others need not be UTF-8; a byte that is not costs no more than its token.
        grams_by_file = {
            path.relative_to(folder).as_posix(): grams_of(path.read_text(encoding="utf-8", errors="replace"))
            for path in sorted(folder.rglob("*"))
            if path.suffix in _SUFFIXES and path.is_file()
        }
        if not grams_by_file:
            raise UsageError(
                f"there is no C++ file below {folder}", field="--against", remedy="name a folder of published kernels"
            )
        # These are sets: a file counts once, however often it has an n-gram.
        counts = Counter(gram for grams in grams_by_file.values() for gram in grams)
        # Of few files, a fifth would be one or two.
        common = {gram for gram, count in counts.items() if count > max(_FEW, _COMMON * len(grams_by_file))}
        return cls({name: grams - common for name, grams in grams_by_file.items()})

    def of(self, operator: str) -> Mapping[str, _Grams]:
        """The files whose path names an operator; that of the task ``optimise/Sqrt`` is Sqrt."""
        wanted = fold(operator.rpartition("/")[2])
        return {
            name: grams
            for name, grams in self.files.items()
            # Whole parts of a path: Add is in the names of many operators.
            if wanted in (fold(Path(part).stem) for part in Path(name).parts)
        }


@dataclass(frozen=True, slots=True)
class Overlap:
    """One answer: the share of its n-grams that published files of the same operator have, that any has, and the file
    that shares most. ``grams`` counts the answer's, without the prompt's.
    """

    task: str
    case: str
    index: int
    grams: int
    same: float
    anywhere: float
    nearest: str


def overlap_of(samples: Iterable[Sample], published: Published, shown: _Grams = frozenset()) -> Iterator[Overlap]:
    """The overlap of every sample with code; ``shown`` is what prompts show."""
    for sample in samples:
        if sample.candidate is None:
            continue
        # What the prompt shows is no evidence of copying, however often it stands in published files.
        mine = frozenset().union(*map(grams_of, sample.candidate.files.values())) - shown
        same = published.of(sample.key.task)
        # The name decides between equals, so that the file is the same each time.
        best = max(published.files, key=lambda name: (len(mine & published.files[name]), name), default="")
        yield Overlap(
            sample.key.task,
            sample.key.case,
            sample.key.index,
            len(mine),
            _share(mine, same.values()),
            _share(mine, published.files.values()),
            # Where nothing is shared, every file would be the nearest.
            best if mine & published.files.get(best, frozenset()) else "",
        )


def read_overlap(directory: Path, folder: Path) -> list[Overlap]:
    """The overlap of the run in ``directory`` with the files below ``folder``, stored beside its results."""
    run = read_run(directory)
    samples = [sample for _, sample in sorted(run.samples.items())]
    shown = frozenset().union(*(grams_of(turn.content) for turn in _turns(samples)))
    overlaps = list(overlap_of(samples, Published.read(folder), shown))
    if not overlaps:
        raise UsageError("no answer of this run has code", location=SourceLocation(directory))
    # The name and not the path: results are published, and a path tells of the machine.
    content = {"width": WIDTH, "against": folder.name, "answers": [asdict(overlap) for overlap in overlaps]}
    (directory / OVERLAP).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return overlaps


def overlap_sentence(directory: Path) -> str:
    """What was found for a run, in a sentence; empty where nobody looked."""
    path = directory / OVERLAP
    if not path.is_file():
        return ""
    content = json.loads(path.read_text(encoding="utf-8"))
    shares = [float(answer["same"]) for answer in content["answers"]]
    copied = sum(share >= _MUCH for share in shares)
    return (
        f"{copied} of {len(shares)} answers share half or more of their n-grams with published kernels of the same "
        f"operator in {content['against']} (npukb overlap; the median answer {median(shares):.2f})."
    )


def overlap_table(overlaps: Iterable[Overlap]) -> Table:
    """The answers, those that share most first."""
    ordered = sorted(
        overlaps, key=lambda overlap: (-overlap.same, -overlap.anywhere, overlap.task, overlap.case, overlap.index)
    )
    rows = tuple(
        (
            overlap.task,
            overlap.case,
            str(overlap.index),
            str(overlap.grams),
            f"{overlap.same:.3f}",
            f"{overlap.anywhere:.3f}",
            overlap.nearest,
        )
        for overlap in ordered
    )
    names = ("task", "case", "sample", "n-grams", "same operator", "anywhere", "nearest file")
    columns = tuple(Column(name, numeric=name in names[2:6]) for name in names)
    note = f"Shares of an answer's n-grams of {WIDTH} tokens, without what prompts show, that published files have."
    return Table("Overlap with published kernels", columns, rows, note)


def _turns(samples: Iterable[Sample]) -> set[Message]:
    # Answers of earlier turns are the model's own words, not something that it was shown.
    return {message for sample in samples for message in sample.prompt.messages if message.role != "assistant"}


def _share(mine: _Grams, files: Iterable[_Grams]) -> float:
    theirs: set[tuple[str, ...]] = set()
    for grams in files:
        theirs |= mine & grams
    return len(theirs) / len(mine) if mine else 0.0
