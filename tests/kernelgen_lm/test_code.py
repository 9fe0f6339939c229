"""Samples from existing kernels: executed on both tracks, their thinking states what was observed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from kernelgen_lm.cli import main
from kernelgen_lm.corpus.check import Contamination, execute_again, task_of
from kernelgen_lm.corpus.code import CodeWish, require_stated, worth_judging
from kernelgen_lm.corpus.observed import Launch, explain
from kernelgen_lm.corpus.sample import Sample, files_of, read_samples
from kernelgen_lm.corpus.sources import CollectedKernel
from kernelgen_lm.judging import Bench
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Case, CaseResult, LineCost, Outcome, Profile, Stage, Track
from npukernelbench.nouns.evidence import Analysis, CoreCost
from npukernelbench.tasks.load import load_task

TASKS = Path(__file__).resolve().parents[2] / "tasks"
SQRT = TASKS / "level1" / "math" / "sqrt"


@pytest.fixture(scope="module")
def goldens(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Sample]:
    """Samples of one golden kernel, by track."""
    folder = tmp_path_factory.mktemp("code")
    assert main(["corpus", "code", "--out", str(folder), "--goldens", "Sqrt:smoke", "--cases", "1"]) == 0
    return {sample.track: sample for sample in read_samples(folder / "shards")}


def test_golden_kernels_answer_both_tracks(goldens: Mapping[str, Sample]) -> None:
    assert set(goldens) == {"static", "dynamic"}
    assert list(files_of(goldens["static"].answer)) == ["kernel.cpp"]
    assert {name.split("/")[0] for name in files_of(goldens["dynamic"].answer)} == {"op_host", "op_kernel"}
    for sample in goldens.values():
        assert (sample.kind, sample.licence, sample.verdict["outcome"]) == ("golden", "Apache-2.0", "ok")
        assert str(TASKS) not in sample.line()


def test_samples_can_be_executed_wherever_they_are(goldens: Mapping[str, Sample]) -> None:
    with Bench() as bench:
        assert execute_again(list(goldens.values()), 2, 0, bench) == []
        broken = goldens["static"].answer.replace("Sqrt(", "Exp(")
        wrong = goldens["static"].model_copy(
            update={
                "messages": (
                    *goldens["static"].prompt,
                    goldens["static"].messages[-1].model_copy(update={"content": broken}),
                )
            }
        )
        assert execute_again([wrong], 1, 0, bench) == [(wrong.id, "wrong_value")]


def test_the_thinking_states_what_was_observed(goldens: Mapping[str, Sample]) -> None:
    thinking = goldens["static"].answer.split("</think>")[0]
    elements = 7 * 301
    copied = re.search(r"Copies in: (\d+) times DataCopyPad, (\d+) bytes each, ([\d.]+) KiB in all", thinking)
    assert copied is not None
    assert int(copied[1]) * int(copied[2]) == pytest.approx(elements * 2, rel=0.01)
    assert "every input byte is read once" in thinking
    assert "Lengths are no multiples of 32 bytes" in thinking
    assert "Vector unit: " in thinking
    assert "Sqrt" in thinking
    assert re.search(r"UB: [\d.]+ of 192 KiB", thinking)
    assert "predicted on ascend910b2" in thinking
    assert "The tiling function decides per case:" in goldens["dynamic"].answer


def test_what_comes_from_a_benchmark_is_contaminated(goldens: Mapping[str, Sample]) -> None:
    contamination = Contamination([load_task(SQRT / "task.yaml").task])
    for sample in goldens.values():
        assert "made from this task" in {finding.what for finding in contamination.findings(sample)}


def test_the_task_of_a_sample_has_its_cases(goldens: Mapping[str, Sample]) -> None:
    task = task_of(goldens["dynamic"])
    assert (task.name, [case.id for case in task.cases], task.goldens) == ("Sqrt", ["smoke"], ())


def test_operators_below_a_folder_are_found_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], goldens: Mapping[str, Sample]
) -> None:
    for name in ("sqrt", "nobody_knows_this"):
        for file, text in files_of(goldens["dynamic"].answer).items():
            path = tmp_path / "repository" / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    words = ["corpus", "code", str(tmp_path / "repository"), "--out", str(tmp_path / "out"), "--cases", "1"]
    words += ["--licence", "MIT", "--origin", "somewhere@1"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert "nobody_knows_this: no task has this name" in said.err
    samples = list(read_samples(tmp_path / "out" / "shards"))
    assert sorted(sample.track for sample in samples) == ["dynamic", "static"]
    for sample in samples:
        assert (sample.licence, sample.provenance["origin"], sample.provenance["benchmark"]) == (
            "MIT",
            "somewhere@1",
            "Sqrt",
        )
        assert sample.provenance["derived"] is (sample.track == "static")
    shards = {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shards").glob("*")}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out" / "shards").glob("*")} == shards


def test_a_plain_file_is_judged_on_the_cases_of_its_task(
    tmp_path: Path, own_task: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, text = own_task
    kernel = tmp_path / "twice.cpp"
    kernel.write_text(text, encoding="utf-8")
    words = ["corpus", "code", str(kernel), "--include_path", str(tasks), "--out", str(tmp_path / "out")]
    assert main([*words, "--task", "AddOne", "--licence", "MIT", "--origin", "mine"]) == 0
    said = capsys.readouterr().out.split()
    assert said == ["1", "ok", "1", "wrong_value"]
    [sample] = read_samples(tmp_path / "out" / "shards")
    assert files_of(sample.answer) == {"kernel.cpp": text}
    assert (sample.shape, sample.operator) == ((256,), "AddOne")
    assert "benchmark" not in sample.provenance
    [path] = (tmp_path / "out" / "left_out").glob("*.jsonl")
    lost = json.loads(path.read_text(encoding="utf-8"))
    assert (lost["task"], lost["track"], lost["cases"], lost["outcome"]) == ("AddOne", "static", ["1"], "wrong_value")
    assert lost["reason"]
    assert "2 times DataCopy, 512 bytes each, 1024 bytes in all" in sample.answer
    assert not list(Contamination([load_task(SQRT / "task.yaml").task]).findings(sample))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "no kernels are named"),
        (["{kernel}", "--licence", "MIT", "--origin", "x"], "what it computes is not known"),
        (["{kernel}", "--task", "Sqrt", "--origin", "x"], "their licence has to be known"),
        (["{kernel}", "--task", "Sqrt", "--licence", "MIT"], "their origin has to be known"),
        (["{kernel}", "--task", "Nothing", "--licence", "MIT", "--origin", "x"], "there is no task 'Nothing'"),
        (["{text}", "--task", "Sqrt", "--licence", "MIT", "--origin", "x"], "is no source of a kernel"),
        (["{folder}", "--licence", "MIT", "--origin", "x"], "holds no operator"),
        (["{folder}/missing", "--licence", "MIT", "--origin", "x"], "does not exist"),
        (["--goldens", "Nothing"], "there is no task or group 'Nothing'"),
    ],
)
def test_a_mistake_is_named(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kernel.cpp").write_text("nothing", encoding="utf-8")
    (tmp_path / "notes.txt").write_text("nothing", encoding="utf-8")
    places = {"kernel": tmp_path / "kernel.cpp", "text": tmp_path / "notes.txt", "folder": tmp_path}
    given = [word.format(**places) for word in words]
    assert main(["corpus", "code", "--out", str(tmp_path / "out"), *given]) == 2
    assert said in capsys.readouterr().err


def test_goldens_of_other_suites_need_a_licence() -> None:
    task = load_task(SQRT / "task.yaml").task
    require_stated([CollectedKernel(task, "Sqrt", "goldens", {})], "", "")
    others = CollectedKernel(replace(task, suite="theirs"), "Sqrt", "goldens", {})
    require_stated([others], "MIT", "their package")
    with pytest.raises(UsageError, match="licence has to be known"):
        require_stated([others], "", "their package")


def test_cases_are_small_and_of_every_element_type_first() -> None:
    task = load_task(SQRT / "task.yaml").task
    wish = CodeWish("terse", (Track.STATIC,), 3, 64 << 20, "", "", frozenset())
    chosen = worth_judging(task, wish)
    dtypes = [case.outputs["y"].dtype.value for case in chosen]  # type: ignore[union-attr]
    assert sorted(set(dtypes)) == ["bfloat16", "float16", "float32"]
    assert [case.id for case in worth_judging(task, wish._replace(most_bytes=16384))] == ["smoke"]


def test_a_launch_without_analysis_is_told_in_short() -> None:
    result = CaseResult("0", Stage.DONE, Outcome.OK, profile=Profile(2.0, False, "ascend910b2", 8))
    case = Case("0", {}, {}, {})
    assert explain(Launch(case, result, {})) == "Cores: 8 blocks.\nTime: 2.00 us measured on ascend910b2."
    assert explain(Launch(case, result.__class__("0", Stage.DONE, Outcome.OK), {})) == ""


def test_lines_without_a_call_are_named_by_number() -> None:
    lines = (LineCost("kernel.cpp", 2, "V", 4, 1.0, 0.0, 0), LineCost("kernel.cpp", 9, "V", 2, 1.0, 0.0, 0))
    cores = (CoreCost(0, 2, 1.0, {"V": 1.0}, {}), CoreCost(2, 6, 0.5, {}, {}))
    profile = Profile(
        2.0,
        True,
        "m",
        8,
        {"aiv_vec_ratio": 0.5, "aiv_vec_instructions": 6.0},
        analysis=Analysis(lines=lines, cores=cores),
    )
    files = {"kernel.cpp": "one\n    Exp(y, x, n);\n"}
    said = explain(Launch(Case("0", {}, {}, {}), CaseResult("0", Stage.DONE, Outcome.OK, profile=profile), files))
    assert "Cores: 8 blocks, 2 cores have work, as much each." in said
    assert "Vector unit: 4 times Exp; 2 times line 9." in said


def test_samples_are_lines_of_json(goldens: Mapping[str, Sample]) -> None:
    for sample in goldens.values():
        assert Sample.model_validate(json.loads(sample.line())) == sample
