"""One answer, one verdict: ``npukb run``, ``npukb rejudge``, ``npukb judge`` and rewards decide alike."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from npukernelbench.config import resolve
from npukernelbench.generate import wrap
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import FinishReason, Verdict
from npukernelbench.report.verdict import Subject, verdict_json
from npukernelbench.rewards import Answer, Question
from npukernelbench.rewards.scorer import local_scorer
from npukernelbench.store import read_run

TASK = "SmallElu"
ELU = Path(__file__).parents[2] / "tasks/ascendcraft/activation/elu"
EXECUTOR = {"executor": "fake", "executor_args": {"tracks": ["static", "dynamic"]}}


def kernel(remark: str, word: str = "ok") -> str:
    return f'extern "C" __global__ __aicore__ void craft_elu() {{}}  // {remark}, fake: {word}\n'


class Group(NamedTuple):
    """Answers that are read alike, with the outcome that each must have."""

    strategy: str
    parser: str
    track: str
    answers: tuple[tuple[str, str], ...]


def groups(program: str) -> list[Group]:
    host = "// the operator's definition and tiling function\n"
    files = wrap(host, name="op_host/craft_elu.cpp") + wrap(kernel("device"), name="op_kernel/craft_elu.cpp")
    return [
        Group(
            "direct",
            "auto",
            "static",
            (
                (kernel("plain"), "ok"),
                ("Here it is.\n" + wrap(kernel("fenced")), "ok"),
                (wrap(kernel("wrong", "zeros")), "wrong_value"),
                (wrap(kernel("refused", "compile_error")), "compile_error"),
                (f"<think>{wrap(kernel('thought'))}</think>I give up.", "no_code"),
                ("```cpp\n" + kernel("cut off"), "truncated"),
                ("I would rather not.", "no_code"),
            ),
        ),
        Group(
            "direct",
            "auto-reasoning",
            "static",
            ((f"<think>{wrap(kernel('thought'))}</think>I give up.", "ok"), (wrap(kernel("answered")), "ok")),
        ),
        Group(
            "tile",
            "auto",
            "static",
            (
                (wrap(program, "python"), "ok"),
                (wrap(program.replace("length)", "tile)"), "python"), "compile_error"),
                (wrap(kernel("another language")), "no_code"),
            ),
        ),
        Group("direct", "auto", "dynamic", ((files, "ok"), (wrap(kernel("device only", "crash")), "crash"))),
    ]


def small_task(folder: Path) -> Path:
    """The task of the tile program with two cases that a laptop's memory holds many times."""
    task = yaml.safe_load((ELU / "task.yaml").read_text())
    smoke = next(case for case in task["cases"] if case["id"] == "smoke")
    other = {**smoke, "id": "other", "inputs": {"x": {"shape": [3, 5], "dtype": "float32"}}}
    suite = (ELU / task.pop("include")).resolve()
    del task["goldens"]  # its program lies beside the task that was copied
    (folder / "task.yaml").write_text(
        yaml.safe_dump({**task, "include": str(suite), "name": TASK, "cases": [smoke, other]})
    )
    return folder


def stored(folder: str) -> list[Verdict]:
    """The verdicts of a run in the order of its answers, without how long the harness took."""
    samples = read_run(Path(folder)).samples
    verdicts = [samples[key].verdict for key in sorted(samples)]
    return [replace(verdict, timings={}) for verdict in verdicts if verdict is not None]


@pytest.mark.usefixtures("fake")
def test_every_way_gives_the_same_verdict(npukb: Any, tmp_path: Path) -> None:
    """A table of answers as one test: its rows share the tasks and the runs."""
    (tmp_path / "tasks").mkdir()
    tasks = small_task(tmp_path / "tasks")
    for number, group in enumerate(groups((ELU / "golden/tile.py").read_text())):
        texts = [text for text, _ in group.answers]
        cut = [outcome == "truncated" for _, outcome in group.answers]
        reasons = [FinishReason.LENGTH if short else FinishReason.STOP for short in cut]
        answers = tmp_path / f"answers-{number}.jsonl"
        answers.write_text(
            "\n".join(
                json.dumps({"task": TASK, "index": index, "text": text, "finish_reason": reason.value})
                for index, (text, reason) in enumerate(zip(texts, reasons, strict=True))
            )
        )
        read = ("--strategy", group.strategy, "--parser", group.parser)
        on = ("--executor", "fake", "--executor_args", json.dumps(EXECUTOR["executor_args"]), "--include_path", tasks)
        asked = (
            "-t",
            TASK if group.track == "dynamic" else f"{TASK}:smoke",
            "--track",
            group.track,
            "-n",
            len(texts),
            "-M",
            "replay",
            "-a",
            f"path={answers}",
        )
        ran = npukb("run", *asked, *read, *on, "--json").json["directory"]
        verdicts = stored(ran)
        assert [verdict.outcome.value for verdict in verdicts] == [outcome for _, outcome in group.answers], group

        assert stored(npukb("rejudge", ran, "--include_path", tasks, "--json").json["directory"]) == verdicts

        seed = str(read_run(Path(ran)).manifest.identity["inputs"])  # the secret that the run has drawn
        reading = {"strategy": group.strategy, "parser": group.parser, "seed": seed}
        settings = {**EXECUTOR, "include_path": [str(tasks)], **reading}
        question = Question.parse(f"dynamic:{TASK}" if group.track == "dynamic" else TASK)
        with local_scorer(resolve(options=settings)) as scorer:
            scored = scorer.score_fully([Answer(question, *one) for one in zip(texts, reasons, strict=True)])
        assert [replace(one.verdict, timings={}) for one in scored] == verdicts

        case = "" if group.track == "dynamic" else "smoke"
        for index, (text, verdict) in enumerate(zip(texts, verdicts, strict=True)):
            file = tmp_path / f"answer-{number}-{index}.md"
            file.write_text(text)
            more = ("--truncated",) if cut[index] else ()
            judged = npukb("judge", TASK, file, "--track", group.track, "--seed", seed, *read, *on, *more, "--json")
            assert judged.json == verdict_json(Subject(TASK, case, candidate_of({})), verdict)


def test_what_is_no_answer_by_itself_is_refused(npukb: Any, tmp_path: Path) -> None:
    file = tmp_path / "answer.md"
    file.write_text("nothing")
    for more, told in ((("--strategy", "tile-llm"), "asks 5 questions"), (("--truncated",), "FILE is no answer")):
        judged = npukb("judge", "Sqrt", file, *more)
        assert judged.code == 2
        assert told in judged.err
        assert "remedy" in judged.err
