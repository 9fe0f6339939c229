"""``npukb judge``: the verdict in words and in JSON, exit codes, inputs of every sort."""

from __future__ import annotations

import io
import sys

import pytest

from npukernelbench.nouns import Outcome, Stage

KEYS = ["schema", "task", "case", "track", "tier", "outcome", "owner", "stage", "diagnostics", "metrics", "profile"]
BY_EXECUTOR = [
    Outcome.COMPILE_ERROR,
    Outcome.LAUNCH_ERROR,
    Outcome.CRASH,
    Outcome.TIMEOUT,
    Outcome.OUT_OF_MEMORY,
    Outcome.RULE_VIOLATION,
]


@pytest.fixture
def judge(npukb, fake):
    """``judge(path, *options)`` judges a file as an answer to Sqrt with the fake executor."""

    def call(path, *options):
        return npukb("judge", "sqrt", path, "--executor", "fake", *options)

    return call


def test_a_right_kernel(judge, kernel):
    finished = judge(kernel("ok"))
    assert finished.code == 0
    assert finished.out.startswith("✓ ok  Sqrt · case smoke · static · tier twin\n")
    assert "predicted 10.00 µs for case smoke on fake, 4 cores (tier twin)" in finished.out
    assert "aiv_vec_ratio" in finished.out
    assert finished.err == ""


def test_one_json_object_with_fixed_keys(judge, kernel):
    verdict = judge(kernel("ok"), "--json").json
    assert list(verdict) == KEYS
    assert (verdict["task"], verdict["case"], verdict["track"]) == ("Sqrt", "smoke", "static")
    assert (verdict["outcome"], verdict["owner"], verdict["stage"]) == ("ok", "none", Stage.DONE.value)
    assert verdict["metrics"]["correct"] == 1.0
    assert verdict["profile"]["predicted"] is True


def test_compile_only_runs_nothing(judge, kernel):
    finished = judge(kernel("crash"), "--compile_only")
    assert finished.out.startswith("✓ ok  Sqrt")
    assert "The source compiles. Nothing was run." in finished.out
    verdict = judge(kernel("compile_error"), "--compile_only", "--json").json
    assert (verdict["outcome"], verdict["stage"]) == ("compile_error", "compile")
    refused = judge(kernel("ok"), "--compile_only", "--parser", "auto")
    assert refused.code == 2
    assert "--compile_only: an answer is judged as a whole" in refused.err


@pytest.mark.parametrize("outcome", BY_EXECUTOR)
def test_a_failing_kernel_is_a_verdict_and_no_error(judge, kernel, outcome):
    path = kernel(outcome.value)
    finished = judge(path)
    assert finished.code == 0
    assert finished.out.startswith(f"✗ {outcome.value}  Sqrt")
    assert outcome.meaning in finished.out
    assert "fault of the model" in finished.out
    assert f"{path}:1:1: error:" in finished.out
    assert judge(path, "--json").json["outcome"] == outcome.value


def test_a_wrong_kernel_shows_the_first_wrong_elements(judge, kernel):
    finished = judge(kernel("double"))
    assert finished.out.startswith("✗ wrong_value")
    assert "expected" in finished.out
    assert "y[0, 0]" in finished.out
    first = judge(kernel("double"), "--json").json["diagnostics"][0]["details"]["first"][0]
    assert set(first) >= {"index", "got", "expected"}


def test_the_case_that_is_asked_for(judge, kernel):
    assert judge(kernel("ok"), "--case", "SMOKE", "--json").json["case"] == "smoke"
    finished = judge(kernel("ok"), "--case", "77")
    assert finished.code == 2
    assert "has no case '77'" in finished.err


@pytest.mark.parametrize(
    ("word", "threshold", "code"),
    [
        ("ok", "1", 0),
        ("double", "1", 1),
        ("double", "compiled=1", 0),
        ("compile_error", "compiled=1", 1),
        ("ok", "correct@1=1", 0),
        ("compile_error", "pcl_pass=1", 1),
        ("ok", "no_such_metric=1", 2),
    ],
)
def test_a_threshold_decides_the_exit_code(judge, kernel, word, threshold, code):
    assert judge(kernel(word), "--fail-under", threshold).code == code


@pytest.mark.parametrize("threshold", ["much", "nan", "correct=1e999"])
def test_a_malformed_threshold_is_a_usage_error(judge, kernel, threshold):
    finished = judge(kernel("ok"), "--fail_under", threshold)
    assert finished.code == 2
    assert "--fail_under" in finished.err
    assert f"'{threshold}'" in finished.err


@pytest.mark.parametrize("word", ["raise", "bug"])
def test_a_fault_of_ours_ends_with_4(judge, kernel, word):
    finished = judge(kernel(word), "--json")
    assert finished.code == 4
    assert (finished.json["outcome"], finished.json["owner"]) == ("infra_error", "infra")


def test_the_dynamic_track_is_refused_cleanly(judge, kernel):
    finished = judge(kernel("ok"), "--track", "dynamic")
    assert finished.code == 2
    assert "executor 'fake' judges track static only" in finished.err


DYNAMIC = ("--track", "dynamic", "--executor_args", '{"tracks": ["dynamic"]}')


@pytest.fixture
def operator(tmp_path):
    """``operator("crash")`` is a folder with host and device code that the fake executor gives that outcome."""

    def write(word):
        folder = tmp_path / "operator"
        for name, text in {
            "op_host/sqrt.cpp": "// host\n",
            "op_host/sqrt_tiling.h": "// tiling\n",
            "op_kernel/sqrt.cpp": f"__global__ // fake: {word}\n",
            "README.md": "no source\n",
        }.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return folder

    return write


def test_a_folder_is_a_candidate_of_the_dynamic_track(judge, operator):
    folder = operator("ok")
    finished = judge(folder, *DYNAMIC)
    assert finished.out.startswith("✓ ok  Sqrt · all cases · dynamic · tier twin\n")
    listed = sorted(str(path) for path in folder.rglob("sqrt*"))
    verdict = judge(*listed, *DYNAMIC, "--case", "smoke", "--json").json
    assert (verdict["outcome"], verdict["case"], verdict["track"]) == ("ok", "smoke", "dynamic")


def test_places_are_the_files_that_were_given(judge, operator):
    folder = operator("compile_error")
    assert "kernel.cpp:1:1: error:" in judge(folder, *DYNAMIC).out


def test_one_file_on_the_static_track(judge, operator):
    folder = operator("ok")
    finished = judge(folder / "op_kernel" / "sqrt.cpp", folder / "op_host" / "sqrt.cpp")
    assert finished.code == 2
    assert "an answer of the static track is one source file" in finished.err
    assert "--track dynamic" in finished.err


def test_a_folder_without_sources_is_a_usage_error(judge, tmp_path):
    finished = judge(tmp_path, *DYNAMIC)
    assert finished.code == 2
    assert "holds no source file in op_host/ or op_kernel/" in finished.err


def test_standard_input(judge, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"// fake: crash\n")))
    assert "<stdin>:1:1: error:" in judge("-").out


@pytest.mark.parametrize("name", ["missing.cpp", "."])
def test_a_file_that_cannot_be_read_is_a_usage_error(judge, tmp_path, name):
    finished = judge(tmp_path / name)
    assert (finished.code, finished.out) == (2, "")
    assert str(tmp_path / name) in finished.err


@pytest.mark.parametrize("content", [b"", b"  \n\t\n"])
def test_an_empty_file_is_no_code(judge, tmp_path, content):
    path = tmp_path / "empty.cpp"
    path.write_bytes(content)
    assert judge(path, "--json").json["outcome"] == "no_code"


@pytest.mark.parametrize(
    "content", [b"a" * 10_000_000, b"// x\n" * 2_000_000, b"\x7fELF\0\0\0", b"int x = 1; // \xff\xfe\n"]
)
def test_what_is_no_source_is_refused_and_not_echoed(judge, tmp_path, content):
    path = tmp_path / "strange.cpp"
    path.write_bytes(content)
    finished = judge(path)
    assert finished.code == 0
    assert finished.out.startswith("✗ guard_rejected")
    assert len(finished.out) < 4000


def test_a_long_line_is_quoted_in_part(judge, tmp_path):
    path = tmp_path / "long.cpp"
    path.write_text("/* fake: crash */" + "x" * 500_000)
    finished = judge(path)
    assert finished.out.startswith("✗ crash")
    assert "…" in finished.out
    assert len(finished.out) < 4000


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (["judge", "sqrtt", "k.cpp"], "did you mean Sqrt"),
        (["judge", "sqrt", "k.cpp", "--executor", "twi"], "did you mean 'twin'?"),
        (["judge", "sqrt", "k.cpp", "--executor", "fake", "--executor_args", "colour=red"], "executor_args.colour"),
        (["judge", "sqrt", "k.cpp", "--executor", "fake", "--soc", "x"], "executor_args.soc"),
        (["judge", "sqrt", "k.cpp", "--compile_timeout", "0"], "--compile_timeout"),
        (["judge", "sqrt"], "FILE"),
    ],
)
def test_wrong_command_lines(npukb, fake, tmp_path, monkeypatch, argv, word):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.cpp").write_text("// fake: ok\n")
    finished = npukb(*argv)
    assert (finished.code, finished.out) == (2, "")
    assert word in finished.err, finished.err


FENCED = "Here it is:\n```cpp\n{}```\nGood luck."


@pytest.mark.parametrize(
    ("text", "parser", "outcome", "drafted"),
    [
        (FENCED, "auto", "ok", False),
        ("I would rather not.", "auto", "no_code", False),
        ("<think>" + FENCED + "</think>No kernel then.", "auto", "no_code", False),
        ("<think>" + FENCED + "</think>No kernel then.", "auto-reasoning", "ok", True),
        (FENCED, "auto-reasoning", "ok", False),
    ],
)
def test_an_answer_that_a_parser_reads(judge, kernel, tmp_path, text, parser, outcome, drafted):
    source = kernel("ok").read_text()
    answer = tmp_path / "answer.md"
    answer.write_text(text.replace("{}", f'extern "C" __global__ __aicore__ void sqrt_kernel() {{}}\n{source}\n'))
    verdict = judge(answer, "--parser", parser, "--json").json
    assert verdict["outcome"] == outcome
    assert verdict["metrics"].get("from_reasoning", 0.0) == float(drafted)
    rules = [diagnostic["rule"] for diagnostic in verdict["diagnostics"]]
    assert ("code_from_reasoning" in rules) is drafted
    assert ("no_code" in rules) is (outcome == "no_code")
    shown = judge(answer, "--parser", parser)
    assert shown.code == 0
    assert outcome in shown.out.splitlines()[0]


def test_an_answer_is_one_text(judge, kernel):
    finished = judge(kernel("ok"), kernel("wrong_value"), "--parser", "auto")
    assert finished.code == 2
    assert "a model's answer is one text" in finished.err


def test_a_parser_that_nobody_offers(judge, kernel):
    finished = judge(kernel("ok"), "--parser", "nosuch")
    assert finished.code == 2
    assert "nosuch" in finished.err
