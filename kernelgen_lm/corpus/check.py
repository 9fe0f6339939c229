"""Checks of a finished corpus: does it hold what a benchmark asks, is it still right, what is in it."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from statistics import median
from typing import NamedTuple

from kernelgen_lm.corpus.exclusion import Exclusion, excluded
from kernelgen_lm.corpus.page import lengths_of
from kernelgen_lm.corpus.sample import Sample, code_of, files_of
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.judging import Bench
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Outcome, Task, Track
from npukernelbench.prompts import golden_kernel
from npukernelbench.tasks.cache import task_from_json
from npukernelbench.tasks.select import fold

__all__ = [
    "BUILT",
    "Checked",
    "Contamination",
    "Finding",
    "chain_of",
    "execute_again",
    "is_executable",
    "statistics",
    "task_of",
    "tokens_of",
    "words_of",
]

#: The source that samples of ``corpus build`` name.
BUILT = "kernelgen_lm.corpus"
#: Words in a row that two prompts do not share by chance.
_WORDS = 13
#: Tokens of code in a row, names and numbers included.
_TOKENS = 50
#: Instructions of a kernel that make it one operator and no other.
_CHAIN = 3
#: What samples are counted by.
_COUNTED = ("kind", "family", "dtype", "track", "licence", "source", "outcome")
#: Samples that are about functions of the API, or anything: what they are about is no operator that is asked for.
_NO_OPERATOR = ("document", "chat")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")
_CALL = re.compile(r"\b([A-Z]\w*)(?:<[^;()]*>)?\(")
#: Calls that every kernel makes, whatever it computes.
_FRAME = re.compile(
    r"(Alloc|Free)Tensor|(En|De)Que|InitBuffer|SetGlobalBuffer|GetBlock\w+|DataCopy\w*|(Set|Wait)Flag|PipeBarrier"
    r"|Get|GM_ADDR|Init|Process|CopyIn|Compute|CopyOut|Finish|GetValue|SyncAll|CeilDiv|TPipe|Cast|Duplicate"
    r"|ReinterpretCast"
)


class Finding(NamedTuple):
    """A sample that has something in common with a benchmark's task."""

    sample: str
    task: str
    what: str


class Contamination:
    """Everything of the benchmarks' tasks that a sample must not repeat: names, wording, golden kernels."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        self.tasks = tuple(tasks)
        self._names = {fold(task.name): task.name for task in self.tasks}
        self._words: dict[tuple[str, ...], str] = {}
        self._code: dict[bytes, str] = {}
        self._chains: dict[tuple[str, ...], str] = {}
        self._exclusion = Exclusion(self.tasks)
        for task in self.tasks:
            for words in _grams(words_of(f"{task.summary} {task.description} {task.formula}"), _WORDS):
                self._words.setdefault(words, task.name)
            for source in _golden_sources(task):
                for tokens in _grams(tokens_of(source), _TOKENS):
                    # Digests of 12 bytes instead of the tokens: every token of every golden begins a run.
                    self._code.setdefault(_digest(tokens), task.name)
                if len(chain := chain_of(source)) >= _CHAIN:
                    self._chains.setdefault(chain, task.name)

    def findings(self, sample: Sample) -> Iterator[Finding]:
        """What a sample has in common with a task; at most one of each kind."""
        # A sample says by itself that it was made of a benchmark's task; the other checks find what does not.
        if made_from := sample.provenance.get("benchmark"):
            yield Finding(sample.id, str(made_from), "made from this task")
        spec = _spec_of(sample)
        if spec is not None and (equal := excluded(self._exclusion, spec)):
            yield Finding(sample.id, equal, "computes the same")
        name = self._names.get(fold(sample.operator))
        # A page may document a function that is named like an operator.
        if name and (sample.question or sample.kind not in _NO_OPERATOR):
            yield Finding(sample.id, name, "the operator's name")
        # Only the first question: later turns repeat what the model wrote.
        asked = next((message.content for message in sample.messages if message.role == "user"), "")
        # The words alone: the skeleton in the code block is alike for every operator.
        for words in _grams(words_of(asked.split("```")[0]), _WORDS):
            if words in self._words:
                yield Finding(sample.id, self._words[words], "wording: " + " ".join(words))
                break
        source = code_of(sample.answer)
        if chain_of(source) in self._chains:
            yield Finding(sample.id, self._chains[chain_of(source)], "instructions: " + " ".join(chain_of(source)))
        # All that is lowered has words in common, golden kernels too: what `corpus build` made is compared by value.
        lowered = spec is not None and sample.provenance.get("source") == BUILT
        for tokens in () if lowered else _grams(tokens_of(source), _TOKENS):
            if _digest(tokens) in self._code:
                yield Finding(sample.id, self._code[_digest(tokens)], "code: " + " ".join(tokens[:20]) + " ...")
                break


def _spec_of(sample: Sample) -> Spec | None:
    """The generated question of a sample, whose operator can be compared by value; None where there is none."""
    if not sample.question or "task" in sample.question:
        return None
    try:
        # A question of another form is no finding: names, wording and code are compared all the same.
        return Spec.from_json(sample.question)
    except (KeyError, TypeError, ValueError):
        return None


def task_of(sample: Sample) -> Task:
    """The task that a sample's kernel answers, with the cases it was judged on. UsageError where there is none."""
    try:
        if "task" in sample.question:
            return task_from_json(dict(sample.question["task"]))
        spec = Spec.from_json(sample.question)
        if "shapes" in sample.question:
            return spec.task_of_shapes([tuple(shape) for shape in sample.question["shapes"]])
        return spec.task()
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(
            f"sample {sample.id} holds no question that can be judged: {error}", field="question"
        ) from None


def chain_of(source: str) -> tuple[str, ...]:
    """The vector instructions of a kernel in the order of the text, without what every kernel has."""
    return tuple(name for name in _CALL.findall(_without_comments(source)) if not _FRAME.fullmatch(name))


def is_executable(sample: Sample) -> bool:
    """Whether a sample holds a kernel that was judged right, and the question it answers."""
    return bool(sample.question) and sample.kind != "repair"


def execute_again(samples: Sequence[Sample], count: int, seed: int, bench: Bench) -> list[tuple[str, str]]:
    """Execute ``count`` random kernels again; identity and outcome of those that are not right."""
    # The same seed executes the same kernels, so that a failure can be looked at again.
    chosen = Random(seed).sample(samples, min(count, len(samples)))
    failed = []
    for sample in chosen:
        task = task_of(sample)
        # A static kernel is written for one case, the first.
        cases = task.cases if sample.track == "dynamic" else task.cases[:1]
        verdict = bench.judge_files(task, cases, Track(sample.track), files_of(sample.answer))
        if verdict.outcome is not Outcome.OK:
            failed.append((sample.id, verdict.outcome.value))
    return failed


class Checked(NamedTuple):
    """What was found: findings of contamination and how many samples they cost, kernels executed again and failures."""

    tasks: int
    findings: Sequence[Finding]
    left_out: int
    executed: int
    failed: Sequence[tuple[str, str]]

    def facts(self, samples: Sequence[Sample], near: int | None = None) -> Mapping[str, object]:
        """Everything that the report says of the samples that stay; ``near`` duplicates were left out before."""
        return {
            "benchmark tasks": self.tasks,
            "findings": [finding._asdict() for finding in self.findings],
            "left out": self.left_out,
            **({} if near is None else {"near duplicates": near}),
            "executed again": {"kernels": self.executed, "failed": [list(failure) for failure in self.failed]},
            **statistics(samples),
        }


def statistics(samples: Iterable[Sample]) -> Mapping[str, object]:
    """What is in a corpus: samples by what describes them; operators; lengths; repetitions."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTED}
    operators, sources, lengths, prompts = Counter[str](), Counter[str](), list[int](), list[int]()
    for sample in samples:
        for name, value in _described(sample).items():
            counts[name][value] += 1
        operators[sample.operator] += 1
        # A sample without a hash of its source counts as one of its own.
        sources[sample.hashes.get("source", sample.id)] += 1
        lengths.append(len(sample.answer))
        prompts.append(sum(len(message.content) for message in sample.prompt))
    return {
        "samples": len(lengths),
        "operators": len(operators),
        "repeated sources": len(lengths) - len(sources),
        "answer characters": {"median": median(lengths), "longest": max(lengths)} if lengths else {},
        "lengths": {"prompt": lengths_of(prompts)._asdict(), "answer": lengths_of(lengths)._asdict()},
        **{name: dict(counter.most_common()) for name, counter in counts.items()},
    }


def _described(sample: Sample) -> Mapping[str, str]:
    """The values that samples are counted by."""
    values = (
        sample.kind,
        sample.family,
        sample.dtype,
        sample.track,
        sample.licence,
        str(sample.provenance.get("source", "not said")),
        str(sample.verdict.get("outcome", "not executed")),
    )
    return dict(zip(_COUNTED, values, strict=True))


def _golden_sources(task: Task) -> Iterator[str]:
    """Golden kernels of both tracks; that of the static one as a candidate for its first case."""
    for golden in task.goldens:
        case = task.cases[0] if golden.track is Track.STATIC else None
        yield from golden_kernel(task, case, golden.track).values()


def words_of(text: str) -> list[str]:
    """Words without case and punctuation."""
    return re.findall(r"\w+", text.lower())


def tokens_of(source: str) -> list[str]:
    """Names, numbers and signs of code, comments left out."""
    # A copy under other comments is still a copy.
    return _TOKEN.findall(_without_comments(source))


def _without_comments(source: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", " ", source, flags=re.DOTALL)


def _grams(tokens: Sequence[str], length: int) -> Iterator[tuple[str, ...]]:
    return (tuple(tokens[start : start + length]) for start in range(len(tokens) - length + 1))


def _digest(tokens: tuple[str, ...]) -> bytes:
    return hashlib.blake2b(" ".join(tokens).encode(), digest_size=12).digest()
