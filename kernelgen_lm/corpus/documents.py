"""Documentation reasoning: questions about the functions of the user's pages, with answers out of their structure.

Every question has one answer that follows from the page: what a function is for, how it is declared, what its
arguments mean, which may be left out, what restricts it, which function does a thing, whether a call gives enough
arguments. The thinking says where on the page that stands. Example code is worth something only if it runs: whole
kernels are executed on the task that their entry is named for, everything else is listed and left out.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from kernelgen_lm.corpus.code import CodeWish, Tools, samples_of
from kernelgen_lm.corpus.pages import SUFFIXES, read_page
from kernelgen_lm.corpus.sample import Message, Sample, sha256, write_lines
from kernelgen_lm.corpus.sources import CollectedKernel
from kernelgen_lm.corpus.units import Example, Unit, units_of
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.nouns import Task
from npukernelbench.seed import derive
from npukernelbench.tasks import TaskRegistry
from npukernelbench.tasks.select import fold

__all__ = ["DocumentWish", "Page", "make_documents", "questions", "read_pages", "tasks_by_entry"]

#: Rises when the same page gives other samples.
VERSION = 1
_CHOICES = 4
_ENTRY = re.compile(r"__global__[^;{(]*?\b(\w+)\s*\(")
_HOST = re.compile(r"<<<|ACLRT_LAUNCH_KERNEL|\bint\w*\s+main\s*\(")


class DocumentWish(NamedTuple):
    """What to make of pages. ``subject`` is what they are about, in the words of the questions."""

    code: CodeWish
    subject: str
    seed: int
    #: Tasks by the entry's name, where they are named otherwise.
    tasks: Mapping[str, str]


class Page(NamedTuple):
    """A documentation file: its name among those given, its hash, and what it documents."""

    name: str
    hash: str
    units: tuple[Unit, ...]


class _Question(NamedTuple):
    """A question with its answer, and the thinking in between."""

    kind: str
    asked: str
    thinking: str
    answer: str


def read_pages(paths: Sequence[Path]) -> list[Page]:
    """The pages in files and folders. UsageError for files that cannot be read, and where nothing is documented."""
    pages = []
    for root in paths:
        files = sorted(path for path in root.rglob("*") if path.is_file()) if root.is_dir() else [root]
        for file in files:
            if root.is_dir() and file.suffix.lower() not in SUFFIXES:
                continue
            units = tuple(units_of(read_page(file)))
            name = file.relative_to(root).as_posix() if root.is_dir() else file.name
            # The hash is of the bytes, whatever encoding they are in; as hexadecimal digits, since it takes a text.
            pages.append(Page(name, sha256(file.read_bytes().hex()), units))
    # A single page may document nothing; that none does is most likely a wrong folder.
    if not any(page.units for page in pages):
        raise UsageError(
            "no page documents a function",
            field="FILES",
            remedy="a function is a section with its prototype in a block of code",
        )
    return pages


def tasks_by_entry(words: Sequence[str], tasks: TaskRegistry) -> Mapping[str, str]:
    """What ``ENTRY=NAME`` says. UsageError for other words and unknown tasks."""
    names = {}
    for word in words:
        entry, equals, name = word.partition("=")
        if not equals or name not in tasks:
            what = f"there is no task {name!r}" if equals else f"{word!r} names no task"
            raise UsageError(what, field="--task", remedy="write --task ENTRY=NAME; see npukb ls tasks")
        names[entry] = name
    return names


def make_documents(
    pages: Sequence[Page],
    wish: DocumentWish,
    tasks: TaskRegistry,
    tools: Callable[[], Tools],
    folder: Path,
    tell: Callable[[Page, Mapping[str, int]], None],
) -> Mapping[str, int]:
    """Write one file of samples per page into ``folder/shards``, and what was left out into ``folder/left_out``.

    Counts by kind of question and, for code, by outcome. A page whose file is there is not read again.
    """
    everything = [unit for page in pages for unit in page.units]
    # Some questions choose among the functions of all pages, so a page's samples depend on every page.
    whole = sha256(" ".join(page.hash for page in pages))
    totals: Counter[str] = Counter()
    for page in pages:
        # Without names of benchmarks: the text of a frozenset differs from process to process.
        words = (VERSION, page.name, page.hash, whole, wish._replace(code=wish.code._replace(benchmarks=frozenset())))
        key = sha256(repr(words))[:24]
        shard, counts_path = folder / "shards" / f"{key}.jsonl", folder / "counts" / f"{key}.json"
        if shard.is_file():
            counts = Counter(json.loads(counts_path.read_text(encoding="utf-8")))
        else:
            made, counts, left_out = _page(page, everything, wish, tasks, tools)
            write_lines(folder / "left_out" / f"{key}.jsonl", (json.dumps(row) + "\n" for row in left_out))
            write_lines(counts_path, [json.dumps(counts, sort_keys=True) + "\n"])
            # Last: with this file the page is done, and the others have to be there.
            write_lines(shard, (sample.line() for sample in made))
        totals.update(counts)
        tell(page, counts)
    return totals


def _page(
    page: Page, everything: Sequence[Unit], wish: DocumentWish, tasks: TaskRegistry, tools: Callable[[], Tools]
) -> tuple[list[Sample], Counter[str], list[dict[str, object]]]:
    """Samples, counts, and the code that gives none."""
    samples: dict[str, Sample] = {}
    counts: Counter[str] = Counter()
    left_out: list[dict[str, object]] = []
    for unit in page.units:
        for question in questions(unit, everything, wish.subject, wish.seed):
            sample = _sample(page, unit, question, wish)
            # Counted before it is added: a question that two units share counts once.
            counts[question.kind] += sample.id not in samples
            samples.setdefault(sample.id, sample)
        for example in unit.examples:
            made, reason = _executed(page, unit, example, wish, tasks, tools)
            counts["executed" if made else "left_out"] += len(made) or 1
            samples.update((sample.id, sample) for sample in made)
            if not made:
                left_out.append({"file": page.name, "line": example.line, "function": unit.name, "reason": reason})
    return list(samples.values()), +counts, left_out


def questions(unit: Unit, everything: Sequence[Unit], subject: str, seed: int) -> Iterator[_Question]:
    """What can be asked about a function so that the page has the answer."""
    rng = Random(derive(seed, "documents", VERSION, unit.name, unit.title))
    yield from _purpose(unit, subject, rng)
    yield from _arguments(unit, subject, rng)
    yield from _optional(unit, subject)
    yield from _listed(unit, subject)
    yield from _which(unit, everything, subject, rng)
    yield from _calls(unit, subject)


def _purpose(unit: Unit, subject: str, rng: Random) -> Iterator[_Question]:
    if not unit.purpose:
        return
    name = unit.name
    asked = rng.choice(
        (f"What does {name} do in {subject}, and how is it declared?", f"{subject}: explain {name} with its prototype.")
    )
    count = len(unit.signatures)
    forms = "one prototype" if count == 1 else f"{count} prototypes"
    thinking = f"The section {unit.title!r} is about {name}. It says what it is for and gives {forms}."
    yield _Question("purpose", asked, thinking, "\n".join(unit.purpose) + "\n\n" + _declared(unit))


def _arguments(unit: Unit, subject: str, rng: Random) -> Iterator[_Question]:
    if not unit.parameters:
        return
    order = [argument.name for signature in unit.signatures for argument in signature.arguments]
    known = [name for name in dict.fromkeys(order) if name in unit.parameters]
    others = [name for name in unit.parameters if name not in known]
    asked = rng.choice((f"What do the arguments of {unit.name} mean?", f"Explain every parameter of {unit.name}."))
    first = unit.signatures[0]
    thinking = (
        f"The prototype of {unit.name} takes {len(first.arguments)} arguments: {_names(first.arguments)}. "
        f"The page explains {len(known)} of them{f' and {len(others)} more' if others else ''}."
    )
    lines = [f"- {name}: {unit.parameters[name]}" for name in (*known, *others)]
    yield _Question("parameters", f"{subject}: {asked}", thinking, "\n".join([_declared(unit).rstrip(), *lines]))


def _optional(unit: Unit, subject: str) -> Iterator[_Question]:
    """Which arguments may be left out, where some may."""
    for signature in unit.signatures:
        given = [f"{argument.name} (then {argument.default})" for argument in signature.arguments if argument.default]
        if given:
            thinking = (
                f"In the prototype {len(given)} of {len(signature.arguments)} arguments have a default. "
                "Only those at the end can be left out of a call."
            )
            asked = f"{subject}: which arguments of this function may a call leave out?\n\n{_fenced(signature.text)}"
            yield _Question("defaults", asked, thinking, f"{', '.join(given)}. The others have to be given.")


def _listed(unit: Unit, subject: str) -> Iterator[_Question]:
    """What restricts calls, and what they return."""
    for kind, lines, asked in (
        ("constraints", unit.constraints, f"What has to be observed when {unit.name} is called?"),
        ("result", unit.result, f"What does {unit.name} return?"),
    ):
        if lines:
            many = "one statement" if len(lines) == 1 else f"{len(lines)} statements"
            thinking = f"The section {unit.title!r} has {many} on that."
            text = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
            yield _Question(kind, f"{subject}: {asked}", thinking, text)


def _which(unit: Unit, everything: Sequence[Unit], subject: str, rng: Random) -> Iterator[_Question]:
    """The function for a purpose, among others of the pages."""
    # Sorted: sets of strings have another order in every process, and the draw below would follow it.
    others = sorted({other.name for other in everything if other.purpose} - {unit.name})
    sentence = re.split(r"(?<=[.。])\s", unit.purpose[0])[0] if unit.purpose else ""
    # The question would answer itself where the sentence names the function.
    if len(others) < 2 or not sentence or re.search(rf"\b{re.escape(unit.name)}\b", sentence):
        return
    names = [*rng.sample(others, min(_CHOICES - 1, len(others))), unit.name]
    rng.shuffle(names)
    # Reversed, so that the first description of a name wins.
    purposes = {other.name: other.purpose[0] for other in reversed(everything) if other.purpose}
    purposes[unit.name] = sentence
    thinking = "\n".join(f"{name}: {re.split(r'(?<=[.。])', purposes[name])[0].strip()}" for name in names)
    asked = f"{subject}: which of {', '.join(names)} is the one for this?\n\n{sentence}"
    yield _Question("which", asked, f"{thinking}\nThe description is that of {unit.name}.", f"{unit.name}.")


def _calls(unit: Unit, subject: str) -> Iterator[_Question]:
    """A call with all arguments that it needs, and one with too few for every prototype."""
    # The prototype that needs the fewest arguments decides: fewer fit none of them.
    signature = min(unit.signatures, key=lambda candidate: candidate.least)
    needed = [argument.name for argument in signature.arguments if not argument.default]
    # Arguments with a default are left out of the complete call, too: it has what it needs and no more.
    for names in (needed, needed[:-1]):
        enough = len(names) >= signature.least
        if not names:
            continue
        call = f"{unit.name}({', '.join(names)});"
        thinking = (
            f"{unit.name} needs {', '.join(needed)}: {signature.least} in all. The call gives {len(names)}"
            f"{'' if enough else f', so {needed[-1]} is missing'}."
        )
        right = f"{unit.name}({', '.join(needed)});"
        answer = "Yes." if enough else f"No: {needed[-1]} is missing. Complete is {_inline(right)}."
        asked = f"{subject}: does this call give {unit.name} all the arguments it needs?\n\n{_fenced(call)}"
        yield _Question("call", asked, thinking, answer)


def _declared(unit: Unit) -> str:
    return _fenced("\n".join(signature.text for signature in unit.signatures))


def _fenced(code: str) -> str:
    return f"```cpp\n{code.rstrip()}\n```\n"


def _inline(code: str) -> str:
    return f"`{code}`"


def _names(arguments: Sequence[object]) -> str:
    return ", ".join(str(getattr(argument, "name", argument)) for argument in arguments) or "none"


def _sample(page: Page, unit: Unit, question: _Question, wish: DocumentWish) -> Sample:
    answer = f"<think>\n{question.thinking}\n</think>\n\n{question.answer.strip()}\n"
    return Sample(
        id=sha256(f"{question.asked}\n{answer}")[:24],
        kind="document",
        family=question.kind,
        operator=unit.name,
        dtype="none",
        shape=(),
        messages=(Message(role="user", content=question.asked.strip()), Message(role="assistant", content=answer)),
        provenance=_provenance(page, unit.line, wish),
        licence=wish.code.licence,
        hashes={"document": page.hash, "source": sha256(question.asked + answer)},
    )


def _provenance(page: Page, line: int, wish: DocumentWish) -> dict[str, object]:
    where = {"origin": wish.code.origin, "path": page.name, "line": line}
    return {"source": "document", **where, "version": VERSION}


def _executed(
    page: Page, unit: Unit, example: Example, wish: DocumentWish, tasks: TaskRegistry, tools: Callable[[], Tools]
) -> tuple[list[Sample], str]:
    """Samples of a whole kernel that the judge found right, or why there are none."""
    if not example.is_kernel:
        return [], "no whole kernel"
    # The file would be compiled as device code, which knows neither launches nor main.
    if _HOST.search(example.text):
        return [], "host code beside the kernel"
    entries = _ENTRY.findall(example.text)
    task = _task_of(entries, wish, tasks)
    if task is None:
        return [], f"no task for the entry {' or '.join(entries) or '(none found)'}"
    kernel = CollectedKernel(task, f"{page.name}:{example.line}", "file", {DEVICE_SOURCE: example.text})
    made = samples_of(kernel, wish.code, tools())
    # Before the page's file is written, so that the page is tried again.
    if made.counts["infra_error"]:
        raise ExecutorError(
            f"{kernel.where} could not be judged: {made.lost[0].reason}", remedy="give the command again"
        )
    if not made.samples:
        return [], f"judged on {task.name}: {', '.join(sorted(made.counts))}"
    return [_documented(sample, page, unit, example, wish) for sample in made.samples], ""


def _documented(sample: Sample, page: Page, unit: Unit, example: Example, wish: DocumentWish) -> Sample:
    """A kernel's sample as one of a page."""
    provenance = {**sample.provenance, **_provenance(page, example.line, wish), "function": unit.name}
    hashes = {**sample.hashes, "document": page.hash}
    return sample.model_copy(update={"kind": "document", "provenance": provenance, "hashes": hashes})


def _task_of(entries: Sequence[str], wish: DocumentWish, tasks: TaskRegistry) -> Task | None:
    """The task that the last entry is written for."""
    for entry in reversed(entries):
        named = wish.tasks.get(entry, entry)
        if named in tasks:
            return tasks[named]
        for task in tasks.values():
            if fold(task.kernel) == fold(named):
                return task
    return None
