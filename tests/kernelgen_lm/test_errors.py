"""Supervision from errors: the judge's own words get into the samples, and mutants that are right do not."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from kernelgen_lm.corpus.check import BUILT, Contamination, chain_of, statistics
from kernelgen_lm.corpus.errors import make_errors
from kernelgen_lm.corpus.judged import kernel_of
from kernelgen_lm.corpus.mutate import mutants, mutations
from kernelgen_lm.corpus.questions import draw_question
from kernelgen_lm.corpus.sample import Message, Sample, answer_text, read_samples, source_of
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tasks import write_tasks
from kernelgen_lm.judging import Bench
from npukernelbench.nouns import Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.rewards import load_policy, reward_of
from npukernelbench.tasks.load import load_task
from tests.suite import suite

TASKS = Path(__file__).resolve().parents[2] / "tasks"

SPEC = Spec.from_json(
    {
        "family": "elementwise",
        "body": {"inputs": ["full", "full"], "steps": [["sub", [0, 1], None], ["muls", [2], 2.0]], "whole": False},
        "names": ["x", "y", "z"],
        "dtype": "float32",
        "result": "float32",
        "shape": [1003],
        "ranges": [[-1.0, 1.0], [-2.0, 2.0]],
    }
)


def kernel(spec: Spec) -> str:
    return kernel_of(spec, spec.task(), Track.STATIC, Plugins.load())["kernel.cpp"]


@pytest.fixture(scope="module")
def sample() -> Sample:
    return Sample(
        id="one",
        kind="kernel",
        family=SPEC.family,
        operator=SPEC.operator,
        dtype="float32",
        shape=SPEC.shape,
        messages=(
            Message(role="user", content="Write it."),
            Message(role="assistant", content=answer_text("Thus.", kernel(SPEC))),
        ),
        question=SPEC.to_json(),
        provenance={},
        licence="Apache-2.0",
        hashes={"source": "1"},
    )


def test_mutants_are_different_and_the_same_each_time(sample: Sample) -> None:
    source = source_of(sample.answer)
    made = mutants(source, Random(1), len(mutations()))
    assert len(made) >= 5
    assert source not in {mutant.source for mutant in made}
    assert made == mutants(source, Random(1), len(mutations()))


def test_every_mistake_can_be_made() -> None:
    questions = [draw_question(Random(seed), {family: 1}) for seed, family in enumerate(("rows", "whole", "cast"))]
    made = {
        mutant.mutation for spec in (SPEC, *questions) for mutant in mutants(kernel(spec), Random(0), len(mutations()))
    }
    assert made == set(mutations())


def test_a_repair_holds_what_the_judge_said(sample: Sample, tmp_path: Path) -> None:
    with Bench() as bench:
        counts = make_errors([sample], bench, tmp_path, seed=0, per_sample=6, tell=lambda count: None)
        again = make_errors([sample], bench, tmp_path, seed=0, per_sample=6, tell=lambda count: None)
    repairs = list(read_samples(tmp_path / "repairs"))
    assert sum(counts.values()) >= 4
    assert len(repairs) == sum(count for name, count in counts.items() if name != "ok")
    assert not again
    with Bench() as bench:
        dynamic = sample.model_copy(update={"track": "dynamic", "id": "two"})
        assert not make_errors([dynamic], bench, tmp_path, seed=0, per_sample=6, tell=lambda count: None)
    for repair in repairs:
        asked = repair.messages[-2].content
        assert repair.verdict["mutant"] in asked
        # The words of a run's second turn, so that a model learns the question that it will be asked.
        assert asked.startswith(f"The answer is not right.\n\nResult: {repair.verdict['mutant']}, at the stage '")
        assert asked.endswith(
            "Find the cause, then answer with the whole corrected kernel in the same format as before.\n"
        )
        assert source_of(repair.answer) == source_of(sample.answer)
        assert source_of(repair.messages[-3].content) != source_of(sample.answer)


EMPTY = """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void sub_scale(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace) {}
"""


def test_an_empty_kernel_earns_nothing_and_the_smaller_magnitude_is_computed() -> None:
    question = SPEC.to_json()
    nearer = Spec.from_json(
        {**question, "body": {"inputs": ["full", "full"], "steps": [["smaller_abs", [0, 1], None]], "whole": False}}
    )
    with Bench() as bench:
        verdict = bench.judge(SPEC.task(), EMPTY)
        assert bench.judge(nearer.task(), kernel(nearer)).outcome is Outcome.OK
    assert verdict.metrics["compiled"] == 1.0
    for name in ("shaped", "compiling"):
        assert reward_of(verdict, load_policy(name)).value == 0.0


def test_pairs_prefer_the_right_kernel_to_one_that_compiles(sample: Sample, tmp_path: Path) -> None:
    with Bench() as bench:
        make_errors([sample], bench, tmp_path, seed=0, per_sample=8, tell=lambda count: None)
    pairs = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    assert pairs
    for pair in pairs:
        assert pair["chosen"][0]["content"] == sample.answer
        assert pair["rejected"][0]["content"] != sample.answer
        assert pair["rejected_outcome"] not in ("ok", "compile_error")


def test_a_golden_kernel_in_a_corpus_is_found(sample: Sample) -> None:
    task = load_task(TASKS / "level2" / "activation" / "gelu" / "task.yaml").task
    contamination = Contamination([task])
    assert not list(contamination.findings(sample))
    [text] = golden_kernel(task, task.cases[1], Track.STATIC).values()
    copied = answer_text("", text)
    asked = Message(role="user", content=f"{task.summary} {task.description} {task.formula}")
    stolen = sample.model_copy(
        update={"operator": "gelu", "messages": (asked, Message(role="assistant", content=copied))}
    )
    kinds = {finding.what.split(":")[0] for finding in contamination.findings(stolen)}
    assert kinds >= {"the operator's name", "instructions", "code"}
    # What the lowering says of every program is nothing of a benchmark's.
    lowered = sample.model_copy(update={"provenance": {"source": BUILT}})
    assert not list(Contamination(suite().values()).findings(lowered))
    assert list(contamination.findings(stolen.model_copy(update={"provenance": {"source": BUILT}})))
    # Where no question says what is computed, code is compared whatever the sample says it is.
    silent = stolen.model_copy(update={"question": {}, "provenance": {"source": BUILT}})
    assert "code" in {finding.what.split(":")[0] for finding in contamination.findings(silent)}


def test_a_chain_is_what_a_kernel_computes() -> None:
    assert chain_of("Muls(y, x, 2.0f, n); // Add(a)\nDataCopyPad(y, g);\nExp(y, y, n);") == ("Muls", "Exp")


def test_statistics_count_what_is_there(sample: Sample) -> None:
    counted = statistics([sample, sample.model_copy(update={"id": "two"})])
    assert counted["samples"] == 2
    assert counted["repeated sources"] == 1
    assert counted["family"] == {"elementwise": 2}


def test_task_files_ask_what_the_questions_ask(tmp_path: Path) -> None:
    names = write_tasks(tmp_path, 4, held_out=True, share=0.1, seed=2)
    for name in names:
        task = load_task(tmp_path / name / "task.yaml").task
        spec = Spec.unpacked(task.reference.partition(":op_")[2])
        made = spec.task()
        assert (task.formula, task.cases[0].inputs, task.cases[0].outputs) == (
            made.formula,
            made.cases[0].inputs,
            made.cases[0].outputs,
        )
