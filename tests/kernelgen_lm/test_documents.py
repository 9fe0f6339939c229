"""Documentation: pages of three kinds give the same functions, and questions whose answers stand on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelgen_lm.cli import main
from kernelgen_lm.corpus.check import Contamination, execute_again
from kernelgen_lm.corpus.documents import questions
from kernelgen_lm.corpus.pages import Form, read_page
from kernelgen_lm.corpus.sample import Sample, files_of, read_samples
from kernelgen_lm.corpus.units import Unit, prototypes, units_of
from kernelgen_lm.judging import Bench
from npukernelbench.errors import UsageError
from npukernelbench.tasks.load import load_task

TASKS = Path(__file__).resolve().parents[2] / "tasks"

MARKDOWN = """---
title: front matter is no text
---
# Blend

## Purpose

Adds two tensors and scales the sum by a [factor](other.md#factor) that is the same for all elements. Fast.

## Prototype

```cpp
// The form for whole tensors.
template <typename T, bool isSetMask = true>
__aicore__ inline void Blend(const LocalTensor<T>& dst, const LocalTensor<T>& left,
                             const LocalTensor<T>& right, T factor, const int32_t count = 64);
```

**Parameters**

| Parameter | In or out | Description |
|:---|---|---|
| dst | out | Where the result goes. |
| `left` | in | The first \\| summand. |
| factor | in | What the sum is<br>multiplied by. |

## Constraints

- All tensors begin at multiples of 32 bytes,
  each of them.
- `count` is at most **4096**.

## Returns

Nothing.

## Example

```cpp
Blend(z, x, y, 2.0f, 64);
```

# Negate

Turns the sign of every element.

    void Negate(const LocalTensor<T>& dst, const LocalTensor<T>& src, const int32_t count);

# Count

Counts the elements that are not zero.

```cpp
int32_t Count(const LocalTensor<T>& src);
int32_t Count(const LocalTensor<T>& src, uint64_t mask[], uint8_t repeat);
```

# Nothing but words

Count is a function, too.
"""
HTML = """<html><head><title>t</title><style>p{}</style></head><body><nav>menu</nav>
<h1>Blend</h1><h4>\u51fd\u6570\u529f\u80fd</h4><p>Adds two tensors &amp; scales
the sum.</p><script>no()</script>
<h4>\u51fd\u6570\u539f\u578b</h4><pre>
void Blend(const LocalTensor&lt;T&gt;&amp; dst, const LocalTensor&lt;T&gt;&amp; left);</pre>
<h4>\u53c2\u6570\u8bf4\u660e</h4><table><tr><th>\u53c2\u6570\u540d</th><th>\u8f93\u5165</th><th>\u63cf\u8ff0</th></tr>
<tr><td>dst</td><td>-</td><td>The result.</td></tr><tr><td>left</td><td>-</td>
<td><p>The</p><p>operand.</p></td></tr></table>
<h4>\u7ea6\u675f\u8bf4\u660e</h4><ul><li>No overlap.</li><li><p>Rows of 32 bytes.</p></li></ul></body></html>
"""
TEXT = """Blend
=====

Adds two tensors.

1.1 Prototype

    void Blend(const LocalTensor<T>& dst, const LocalTensor<T>& left);

1.2 Parameters

- dst (output): The result.
- left - The operand.

1.3 Constraints

Rows of 32 bytes.
"""


def units(folder: Path, name: str, text: str) -> list[Unit]:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return units_of(read_page(path))


def test_a_function_of_a_markdown_page(tmp_path: Path) -> None:
    blend, negate, count = units(tmp_path, "page.md", MARKDOWN)
    [signature] = blend.signatures
    assert [argument.name for argument in signature.arguments] == ["dst", "left", "right", "factor", "count"]
    assert (signature.arguments[0].ctype, signature.arguments[4].default, signature.least) == (
        "const LocalTensor<T>&",
        "64",
        4,
    )
    assert blend.purpose[0].startswith("Adds two tensors and scales the sum by a factor that")
    assert blend.parameters == {
        "dst": "Where the result goes.",
        "left": "The first | summand.",
        "factor": "What the sum is multiplied by.",
    }
    assert blend.constraints == ["All tensors begin at multiples of 32 bytes, each of them.", "count is at most 4096."]
    assert blend.result == ["Nothing."]
    assert [example.line for example in blend.examples] == [39]
    assert (negate.name, [len(prototype.arguments) for prototype in count.signatures]) == ("Negate", [1, 3])


@pytest.mark.parametrize(("name", "text"), [("page.html", HTML), ("page.txt", TEXT)])
def test_other_kinds_of_pages_say_the_same(name: str, text: str, tmp_path: Path) -> None:
    [unit] = units(tmp_path, name, text)
    assert (unit.name, [signature.name for signature in unit.signatures[0].arguments]) == ("Blend", ["dst", "left"])
    assert list(unit.parameters.values()) == ["The result.", "The operand."]
    assert unit.purpose[0].startswith("Adds two tensors")
    assert unit.constraints[-1] == "Rows of 32 bytes."


def test_html_inside_markdown(tmp_path: Path) -> None:
    table = "<table>\n<tr><th>Name</th><th>Description</th></tr>\n<tr><td>a</td><td>b</td></tr>\n</table>"
    text = f"# F\n\n{table}\n\nAfter.\n"
    path = tmp_path / "page.md"
    path.write_text(text, encoding="utf-8")
    heading, read, after = read_page(path)
    assert read.rows == (("Name", "Description"), ("a", "b"))
    assert (heading.form, after.form, after.text, after.line) == (Form.HEADING, Form.PARAGRAPH, "After.", 8)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("void F(int a, float b = 1.0f);", ["F"]),
        ("F(a, b); G(x[3], y + 1);", []),
        ("return F(a);", []),
        ("int x = F(a);", []),
        ("void F(int a) { G(a); }", []),
        ("template <class T, int (*P)(int)> T& F(const T* a, uint8_t n[2]) const;", ["F"]),
        ("struct A; void F(); void G(void)", ["F", "G"]),
    ],
)
def test_prototypes_are_told_from_calls(code: str, names: list[str]) -> None:
    assert [prototype.name for prototype in prototypes(code)] == names


@pytest.mark.parametrize("opening", ["<p>", "<p align='center'>", "<div><p>x</p>", "<details>"])
def test_html_that_nothing_closes_ends_at_an_empty_line(opening: str, tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text(f"{opening}Said\nfirst.\n\n# Heading\n\n```cpp\nint a;\n```\n\n{opening}Last.")
    blocks = read_page(path)
    assert [block.form for block in blocks if block.text != "x"] == [
        Form.PARAGRAPH, Form.HEADING, Form.CODE, Form.PARAGRAPH
    ]  # fmt: skip
    assert [block.line for block in blocks if block.form in (Form.HEADING, Form.CODE)] == [4, 6]


@given(st.text(alphabet="ab()<>,;&*= \n#|-`{}[]:\t\u53c2", max_size=200), st.sampled_from(("md", "html", "txt")))
@settings(max_examples=80, deadline=None)
def test_any_text_can_be_read(text: str, kind: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for unit in units(Path(folder), f"page.{kind}", text):
            assert unit.signatures
            assert list(questions(unit, [unit], "it", 0))[-1:] != [None]


def test_questions_have_the_answers_of_the_page(tmp_path: Path) -> None:
    every = units(tmp_path, "page.md", MARKDOWN)
    asked = {question.kind: question for question in questions(every[0], every, "Ascend C", 0)}
    assert set(asked) == {"purpose", "parameters", "defaults", "constraints", "result", "which", "call"}
    assert "`Blend(dst, left, right, factor);`" in asked["call"].answer
    assert "factor is missing" in asked["call"].thinking
    assert asked["defaults"].answer.startswith("count (then 64)")
    assert asked["which"].answer == "Blend."
    assert asked["which"].asked.count("Blend") == 1
    assert [question.asked for question in questions(every[0], every, "Ascend C", 0)] == [
        question.asked for question in questions(every[0], every, "Ascend C", 0)
    ]


def test_examples_are_executed_or_left_out(
    tmp_path: Path, own_task: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tasks, kernel = own_task
    pages = tmp_path / "pages"
    pages.mkdir()
    host = kernel + "int main() { twice<<<1, nullptr, nullptr>>>(x, y, w); }\n"
    examples = [kernel, kernel.replace("Adds", "Muls"), kernel.replace("twice", "unknown"), host]
    blocks = "".join(f"\n```cpp\n{example}```\n" for example in examples)
    (pages / "page.md").write_text(
        MARKDOWN + "\n# Add\n\n```cpp\nvoid Add(int a);\n```\n\n## Examples\n" + blocks, encoding="utf-8"
    )
    (pages / "ignored.png").write_bytes(b"\x89")
    words = ["corpus", "docs", str(pages), "--out", str(tmp_path / "out"), "--include_path", str(tasks)]
    words += ["--licence", "CC-BY-4.0", "--origin", "pages@2"]
    assert main(words) == 0
    assert " 4 left_out" in capsys.readouterr().out
    samples = list(read_samples(tmp_path / "out" / "shards"))
    [executed] = [sample for sample in samples if sample.question]
    assert files_of(executed.answer) == {"kernel.cpp": kernel}
    assert (executed.kind, executed.provenance["function"], executed.verdict["outcome"]) == ("document", "Add", "ok")
    assert all((sample.licence, sample.provenance["origin"]) == ("CC-BY-4.0", "pages@2") for sample in samples)
    with Bench() as bench:
        assert execute_again([executed], 1, 0, bench) == []
    [left_out] = [path.read_text(encoding="utf-8") for path in (tmp_path / "out" / "left_out").glob("*")]
    reasons = [json.loads(line)["reason"] for line in left_out.splitlines()]
    assert reasons == [
        "no whole kernel",
        "judged on AddOne: wrong_value",
        "no task for the entry unknown",
        "host code beside the kernel",
    ]
    before = capsys.readouterr()
    assert main(words) == 0
    assert capsys.readouterr().out != before.out
    assert list(read_samples(tmp_path / "out" / "shards")) == samples


def test_a_function_may_be_named_like_an_operator_but_not_repeat_a_golden_kernel(tmp_path: Path) -> None:
    task = load_task(TASKS / "level1" / "math" / "sqrt" / "task.yaml").task
    text = "# Sqrt\n\nSquare roots of a tensor.\n\n```cpp\nvoid Sqrt(const LocalTensor<T>& dst);\n```\n"
    [unit] = units(tmp_path, "page.md", text)
    assert unit.name == task.name
    path = tmp_path / "page.md"
    assert main(["corpus", "docs", str(path), "--out", str(tmp_path / "out"), "--licence", "x", "--origin", "y"]) == 0
    samples = list(read_samples(tmp_path / "out" / "shards"))
    assert samples
    contamination = Contamination([task])
    assert not [finding for sample in samples for finding in contamination.findings(sample)]
    asked = samples[0].messages[0].model_copy(update={"content": f"{task.summary} {task.description} {task.formula}"})
    copied = Sample.model_validate({**samples[0].model_dump(), "messages": (asked, samples[0].messages[1])})
    assert [finding.what.split(":")[0] for finding in contamination.findings(copied)] == ["wording"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["{page}", "--origin", "x"], "their licence has to be known"),
        (["{page}", "--licence", "x"], "their origin has to be known"),
        (["{page}", "--licence", "x", "--origin", "y", "--task", "e"], "names no task"),
        (["{page}", "--licence", "x", "--origin", "y", "--task", "e=Nothing"], "there is no task 'Nothing'"),
        (["{empty}", "--licence", "x", "--origin", "y"], "no page documents a function"),
        (["{binary}", "--licence", "x", "--origin", "y"], "is no UTF-8 text"),
        (["{image}", "--licence", "x", "--origin", "y"], "is no documentation that can be read"),
    ],
)
def test_a_mistake_is_named(words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = {"page.md": MARKDOWN.encode(), "empty.md": b"words", "binary.md": b"\xff\xfe\x00", "image.png": b"\x89PNG"}
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text)
    places = {name.split(".")[0]: str(tmp_path / name) for name in texts}
    given_words = [word.format(**places) for word in words]
    assert main(["corpus", "docs", "--out", str(tmp_path / "out"), *given_words]) == 2
    assert said in capsys.readouterr().err


def test_a_page_says_how_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "old.html"
    path.write_bytes('<meta charset="gb18030"><h1>\u53c2</h1>'.encode("gb18030"))
    assert read_page(path)[0].text == "\u53c2"
    with pytest.raises(UsageError, match="cannot read"):
        read_page(tmp_path / "missing.md")
