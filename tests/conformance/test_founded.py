"""NPUKernelBench's rules out of a checkout: a small folder of our own in the same formats."""

from __future__ import annotations

import json
import math
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from npukb_conformance.answers import CheckoutStyle, tagged_block
from npukb_conformance.reading.evaluate import UNKNOWN, read_program
from npukb_conformance.reading.table import read_rows
from npukb_conformance.rules import RULES
from npukernelbench.cli import main
from npukernelbench.errors import UsageError
from npukernelbench.nouns import DType, Track, ValueSpec
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import load_style
from npukernelbench.tasks.rules import Asking, founded_rules
from tests.suite import suite

SQRT = """
    import torch

    def get_inputs(param, device=None):
        shape = eval(param.get("shape", "[1]"))
        dtype = getattr(torch, param.get("dtype", "float16"))
        if dtype == torch.float32:
            drawn = torch.rand(shape, device=device, dtype=dtype) * 4 + 1
        else:
            drawn = torch.randn(shape, device=device, dtype=dtype) * 2
        return (drawn,)

    def get_init_inputs(param, device=None):
        return []

    def custom_check_precision(param, outputs, outputs_new):
        dtype = getattr(torch, param.get("dtype"))
        if dtype in [torch.int8]:
            rtol = 0
        elif dtype == torch.float16:
            rtol = 1 / 64
        else:
            return check_precision(outputs, outputs_new, max_abs_error=0.25, max_rel_error=0.125)
        for out, new in zip(outputs, outputs_new):
            bad = torch.abs(out - new) > rtol
        return 1, bad, bad
"""
GENERATOR = '''
    import re, textwrap

    class Maker:
        def generate_answer_template(self, kernel_impl="// here"):
            if config.kernel_only_mode:
                code = re.sub(r"(workspace[^)]*\\))", "workspace)", kernel_impl)
                return textwrap.dedent(f"""
    <kernel_impl>
    {code}
    </kernel_impl>
    """)
            return "both halves"

        def enhance_api_description(self):
            return f"types: {self.test_case_data['dtype']}. " + self.api_description.replace("#", "")

        def build_code_generation_prompts(self):
            texts = [safe_read_file(path) for path in self.required_files]
            if config.kernel_only_mode:
                example = KERNEL_ONLY_EXAMPLE_CODE
            else:
                example = FULL_EXAMPLE_CODE
            user_prompt = f"""{example}
    {self.enhance_api_description()}
    {self.test_case_data}
    {self.generate_answer_template(*texts)}"""
            self.gen_codes_user_prompt = user_prompt
'''
ROWS = "case_id;shape;dtype\n0;[48, 128, 512];float16\n2;[32, 32, 768];float32\n"


def checkout(root: Path, *, rows: str = ROWS, generators: str = SQRT) -> Path:
    """A folder with one operator in the suite's formats, in words of ours."""
    folder = root / "tasks" / "level1" / "Math" / "Sqrt"
    files = {
        root / "base_config.yaml": "eval: {max_abs_error: 0.5, max_rel_error: 0.0625}\n",
        root / "framework" / "kernel_parser.py": 'TAGS = ["<kernel_impl>(.*?)</kernel_impl>"]\n',
        root / "kernel_generator" / "generate_codes_with_sft.py": dedent(GENERATOR),
        root / "kernel_generator" / "kernel_only_sft_sample.py": 'KERNEL_ONLY_EXAMPLE_CODE = "an example"\n',
        root / "kernel_generator" / "full_sft_sample.py": 'FULL_EXAMPLE_CODE = "two examples"\n',
        folder / "api_desc.md": "# roots of x",
        folder / "question" / "op_kernel" / "sqrt.cpp": (
            'extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {}\n'
        ),
        folder / "validation" / "test_cases.csv": rows,
        folder / "validation" / "prepare_inputs.py": dedent(generators),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_cases_limits_and_values_are_those_of_the_checkout(tmp_path: Path) -> None:
    task = suite()["Sqrt"]
    found = RULES.with_checkout(checkout(tmp_path)).apply(task)
    assert found is not None
    assert [case.id for case in found.cases] == ["0", "2"]
    half, single = found.cases
    assert half.limits[DType.FLOAT16].rtol == half.limits[DType.FLOAT16].atol == 1 / 64
    assert (single.limits[DType.FLOAT32].atol, single.limits[DType.FLOAT32].rtol) == (0.25, 0.125)
    assert half.inputs["x"].values == ValueSpec("normal", {"mean": 0.0, "std": 2.0})
    assert single.inputs["x"].values == ValueSpec("uniform", {"low": 1.0, "high": 5.0})
    assert found.content_hash not in (task.content_hash, RULES.apply(task).content_hash)
    assert RULES.with_checkout(tmp_path).apply(suite()["Gelu"]) is None
    assert RULES.with_checkout(tmp_path).apply(suite()["CraftGelu"]) is None


def test_an_operator_without_a_check_has_the_suites_limits(tmp_path: Path) -> None:
    task = RULES.with_checkout(checkout(tmp_path, generators=SQRT.partition("def custom")[0])).apply(suite()["Sqrt"])
    assert task is not None
    assert (task.cases[0].limits[DType.FLOAT16].atol, task.cases[0].limits[DType.FLOAT16].rtol) == (0.5, 0.0625)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("case_id;shape;dtype\n0;[48, 128, 511];float16\n", r"test_cases.csv:2.*x has another size than in case 0"),
        ("case_id;shape;dtype\n0;[48, 128, 512];float16\n77;[1];float16\n", r"test_cases.csv:3.*has no case 77"),
        ("case_id;shape;dtype\n0;[48];float16;7\n", r"test_cases.csv:2.*4 values for 3 columns"),
        ("shape;dtype\n[48];float16\n", r"test_cases.csv:1.*no column case_id"),
    ],
)
def test_cases_that_are_not_those_of_the_task_are_refused_at_their_line(tmp_path: Path, rows: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        RULES.with_checkout(checkout(tmp_path, rows=rows)).apply(suite()["Sqrt"])


def test_limits_that_cannot_be_told_are_no_limits(tmp_path: Path) -> None:
    unclear = (
        SQRT.partition("def custom")[0] + "def custom_check_precision(param, outputs, new):\n        return judge()\n"
    )
    with pytest.raises(UsageError, match=r"prepare_inputs.py:\d+.*limits of case 0 cannot be read"):
        RULES.with_checkout(checkout(tmp_path, generators=unclear)).apply(suite()["Sqrt"])


def test_the_prompt_is_put_together_from_the_checkouts_texts(tmp_path: Path) -> None:
    style = CheckoutStyle().with_checkout(checkout(tmp_path))
    task = suite()["Sqrt"]
    [message] = style.render(task, task.case("0"), Track.STATIC).messages
    entry = 'extern "C" __global__ __aicore__ void sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace) {}'
    assert message.content == (
        "an example\ntypes: float16.  roots of x\n"
        "case_id                 0\nshape      [48, 128, 512]\ndtype             float16\nName: 0, dtype: object\n"
        f"\n<kernel_impl>\n{entry}\n\n</kernel_impl>\n"
    )
    with pytest.raises(UsageError, match="--checkout"):
        CheckoutStyle().render(task, task.case("0"), Track.STATIC)
    with pytest.raises(UsageError, match="no case smoke of Sqrt"):
        style.render(task, task.case("smoke"), Track.STATIC)


def test_answers_stand_between_the_tags_or_nowhere() -> None:
    assert tagged_block("so:\n<kernel_impl>\n```cpp\nint a;\n```\n</kernel_impl>\n<kernel_impl>b</kernel_impl>") == {
        "kernel.cpp": "int a;"
    }
    assert tagged_block("<kernel_impl> int b; </kernel_impl>") == {"kernel.cpp": "int b;"}
    assert tagged_block("```cpp\nint c;\n```") is None


def test_rules_and_prompts_are_found_by_name(tmp_path: Path) -> None:
    plugins = Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})
    root = checkout(tmp_path)
    rules = founded_rules(plugins.rules.find("npukernelbench"), root)
    assert isinstance(rules, Asking)
    style = load_style(plugins.prompts.find(rules.prompt_style), checkout=root)
    assert isinstance(style, CheckoutStyle)
    assert plugins.parsers.find(rules.parser).load() is tagged_block
    assert not isinstance(founded_rules(plugins.rules.find("npukernelbench"), None), Asking)
    with pytest.raises(UsageError, match="holds no tasks"):
        founded_rules(plugins.rules.find("npukernelbench"), tmp_path / "tasks")


def test_nothing_of_a_checkout_is_run_and_what_is_unclear_is_unknown(tmp_path: Path) -> None:
    path = tmp_path / "texts.py"
    path.write_text(
        "import os\nKNOWN = 3\ndef f(a):\n    b = os.remove(a)\n    c = [KNOWN, 4]\n"
        "    if b:\n        c = 5\n    return b, c\n"
        "def g(n):\n    d = 0\n    for i in range(n):\n        d += i\n    return d\n"
    )
    program = read_program(path)
    assert program.call("f", {"a": str(path)}, {}) == (UNKNOWN, UNKNOWN)
    assert path.exists()
    assert program.call("g", {"n": 4}, {"range": range}) == 6
    with pytest.raises(UsageError, match="does not come to an end"):
        program.call("g", {"n": 10**9}, {"range": range})


def test_comprehensions_count_as_steps(tmp_path: Path) -> None:
    path = tmp_path / "texts.py"
    path.write_text("def f():\n    return [0 for _ in range(10**12)]\n")
    with pytest.raises(UsageError, match="does not come to an end"):
        read_program(path).call("f", {}, {"range": range})


@pytest.mark.parametrize(
    "text", ["[0] * 10**10", "10**10 * 'ab'", "list(range(10**12))", "(10**63)**63 ** 63", "g('ab')", "g([1])"]
)
def test_values_without_end_are_unknown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "texts.py"
    path.write_text(
        f"def f():\n    return {text}\ndef g(x):\n    for i in range(60):\n        x = x + x\n    return x\n"
    )
    assert read_program(path).call("f", {}, {"range": range, "list": list}) is UNKNOWN
    path.write_text("def f():\n    return ([0, 1] * 3, 2**40 * 3, [i * 2 for i in range(3)])\n")
    assert read_program(path).call("f", {}, {"range": range}) == ([0, 1] * 3, 3 << 40, [0, 2, 4])


def test_columns_have_one_kind_of_value(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("case_id;m;eps;flag;note\n0;4.0;1e-5;true;a\n1;6;0.5;False;\n")
    first, second = read_rows(path)
    assert (first["m"], first["eps"], first["flag"], first["note"]) == (4, 1e-5, True, "a")
    assert (second["m"], second["flag"], second.line) == (6, False, 3)
    assert second["note"] != second["note"]
    assert str(first).splitlines()[1] == "m              4"
    path.write_text("case_id;low;high\n0;-inf;4\n1;2;1e999\n")
    assert [(row["low"], row["high"]) for row in read_rows(path)] == [(-math.inf, 4.0), (2.0, math.inf)]


def test_a_run_says_whether_it_is_comparable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root, results = checkout(tmp_path / "suite"), tmp_path / "results"
    common = ("--tasks", "Sqrt:0", "--output_path", str(results), "--json")
    assert main(["run", "--model", "reference", "--rules", "npukernelbench", "--checkout", str(root), *common]) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    rules = told["identity"]["rules"]
    assert rules["comparable"] is True
    assert "read from a checkout" in rules["source"]
    assert told["identity"]["prompt"]["style"] == told["identity"]["parser"] == "npukernelbench"
    assert [(sample["outcome"], sample["correct"]) for sample in told["samples"]] == [("ok", True)]
    again = ["rejudge", told["directory"], "--checkout", str(root), "--parser", "auto", "--output_path", str(results)]
    assert main([*again, "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["identity"]["rules"]["comparable"] is False
    assert main(["compare", told["directory"], other["directory"]]) == 2
    said = capsys.readouterr().err
    assert "were judged by different rules" in said
    assert "(not comparable)" in said
