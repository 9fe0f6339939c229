"""Supervision from errors: right kernels are broken, the judge says how, and the pair is written down twice.

As a ``repair`` sample: the question, the wrong kernel and what the harness says in a second turn; the answer names the
mistake and gives the right kernel. And as a preference pair, when the wrong kernel compiles: the same prompt with the
right answer and the wrong one.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from random import Random

from kernelgen_lm.corpus.mutate import Mutant, mutants
from kernelgen_lm.corpus.sample import Message, Sample, answer_text, sha256, source_of
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.judging import Bench
from npukernelbench.generate import Hints, candidate_of, feedback
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.nouns import Diagnostic, Outcome, Owner, Severity, Verdict
from npukernelbench.seed import derive

__all__ = ["make_errors", "repair_sample"]


def make_errors(
    samples: Iterable[Sample], bench: Bench, folder: Path, *, seed: int, per_sample: int, tell: Callable[[int], None]
) -> Mapping[str, int]:
    """Write ``folder/repairs/*.jsonl`` and ``folder/pairs.jsonl``; counts by outcome of the mutants.

    Samples that were done before are left out, so that an interrupted command resumes; so are those of the dynamic
    track, whose mistakes would be in more than one file.
    """
    (folder / "repairs").mkdir(parents=True, exist_ok=True)
    done_path = folder / "done.txt"
    done = set(done_path.read_text(encoding="utf-8").split()) if done_path.is_file() else set()
    counts: Counter[str] = Counter()
    kernels = (sample for sample in samples if sample.kind == "kernel" and sample.track == "static")
    for number, sample in enumerate(kernel for kernel in kernels if kernel.id not in done):
        rng, source = Random(derive(seed, "errors", sample.id)), source_of(sample.answer)
        task = Spec.from_json(sample.question).task()
        for mutant in mutants(source, rng, per_sample):
            verdict = bench.judge(task, mutant.source)
            counts[verdict.outcome.value] += 1
            # Mutants that are still right, and faults of the harness, are no mistakes to learn from.
            if verdict.owner is Owner.MODEL:
                _append(folder / "repairs" / "repairs.jsonl", repair_sample(sample, mutant, verdict).line())
                # A pair whose rejected kernel does not compile would teach form rather than correctness.
                if verdict.outcome is not Outcome.COMPILE_ERROR and verdict.metrics.get("compiled", 0.0) > 0:
                    _append(folder / "pairs.jsonl", _pair(sample, mutant, verdict))
        # After its samples: a kernel that is cut off in the middle is done again rather than lost.
        _append(done_path, sample.id + "\n")
        tell(number + 1)
    return counts


def repair_sample(sample: Sample, mutant: Mutant, verdict: Verdict) -> Sample:
    """The wrong kernel with its diagnostics as the question, diagnosis and right kernel as the answer."""
    asked = feedback(candidate_of({DEVICE_SOURCE: mutant.source}), verdict, Hints.DIAGNOSTICS)
    thinking = f"{_place(verdict, mutant.source)}{mutant.misunderstanding}\nEverything else stays."
    answer = answer_text(thinking, source_of(sample.answer))
    messages = (*sample.prompt, Message(role="assistant", content=f"```cpp\n{mutant.source}```\n"))
    return sample.model_copy(
        update={
            "id": sha256(sample.id + mutant.source)[:24],
            "kind": "repair",
            "messages": (*messages, Message(role="user", content=asked), Message(role="assistant", content=answer)),
            "provenance": {**sample.provenance, "mutation": mutant.mutation, "of": sample.id},
            "hashes": {**sample.hashes, "mutant": sha256(mutant.source)},
            "verdict": {**sample.verdict, "mutant": verdict.outcome.value},
        }
    )


def _errors(verdict: Verdict) -> list[Diagnostic]:
    notes = (*verdict.diagnostics, *(note for case in verdict.cases for note in case.diagnostics))
    return [note for note in notes if note.severity is Severity.ERROR]


def _place(verdict: Verdict, source: str) -> str:
    """Where it shows."""
    for note in _errors(verdict):
        if 0 < note.line <= len(source.splitlines()):
            return f"The judge points at line {note.line} ({note.rule}). "
    return f"The outcome is {verdict.outcome.value}. "


def _pair(sample: Sample, mutant: Mutant, verdict: Verdict) -> str:
    # The same thinking on both sides: the kernel alone makes the difference that is learned.
    thinking, _, _ = sample.answer.partition("</think>")
    rejected = answer_text(thinking.removeprefix("<think>"), mutant.source)
    pair = {
        "prompt": [message.model_dump() for message in sample.prompt],
        "chosen": [{"role": "assistant", "content": sample.answer}],
        "rejected": [{"role": "assistant", "content": rejected}],
        "rejected_outcome": verdict.outcome.value,
        "source": "mutation",
        "operator": sample.operator,
    }
    return json.dumps(pair, ensure_ascii=False) + "\n"


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
