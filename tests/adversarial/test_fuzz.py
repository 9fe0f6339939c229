"""Damaged answers and task files by the thousand: each is refused in words or taken, never an unhandled exception.

``NPUKB_FUZZ`` says how many of each; docs/reliability.md has the result of 10,000.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from npukb_twin.compile.dialect import translate_files
from npukernelbench.errors import NpukbError
from npukernelbench.generate.extract import extract
from npukernelbench.nouns import Candidate, Completion, Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.load import load_task
from npukernelbench.testing.tasks import tiny_task

ROOT = Path(__file__).parents[2]
ANSWERS = TASKS = int(os.environ.get("NPUKB_FUZZ", "1000"))

SNIPPETS = (
    "```", "```cpp\n", "<kernel_impl>", "</kernel_impl>", "</think>", "<think>", "\0", "\ud800", "\ufeff", "\r\n",
    "/*", "*/", '"', "'", 'R"(', ")", "#include <", '#include "../../x"\n', "#define X \\\n", "[aicore]", "{",
    "}", "%", "<<<1, nullptr, stream>>>", 'extern "C"', "// op_kernel/kernel.cpp\n", "**kernel.cpp**\n", "\u2028",
    "\U0001f600", "\x1b[31m", "template<", "__global__", "__aicore__ void ",
)  # fmt: skip
YAML = (
    "- ", ": ", "{", "[", "]", "}", "&a ", "*a", "!!python/object:os.system ", "|\n", "\t", "'", '"', "#", "1e999",
    "-1", "null", "? ", "~",
)  # fmt: skip


def damaged(text: str, words: tuple[str, ...], number: int) -> str:
    """``text`` with a few cuts, doublings, insertions and swaps drawn from ``number``."""
    chance = random.Random(number)
    for _ in range(chance.randint(1, 6)):
        at, length = chance.randrange(len(text) + 1), chance.choice((1, 3, 20, 300))
        kind = chance.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + length :]
        elif kind == 1:
            text = text[:at] + text[at : at + length] * 2 + text[at + length :]
        elif kind == 2:
            text = text[:at] + chance.choice(words) * chance.choice((1, 1, 1, 50)) + text[at:]
        else:
            text = text[:at] + text[at : at + length][::-1] + text[at + length :]
    return text


def answers() -> Iterator[str]:
    kernel = (ROOT / "tests/adversarial/judge/right.cpp").read_text(encoding="utf-8")
    for number in range(ANSWERS):
        form = ("Here it is.\n```cpp\n{}\n```\n", "<think>hm</think><kernel_impl>{}</kernel_impl>", "{}")[number % 3]
        yield damaged(form.format(kernel) if number % 3 else form.replace("{}", kernel), SNIPPETS, number)


def test_answers() -> None:
    plugins = Plugins.load(autoload=False)
    parser = plugins.parsers.find("auto")
    guards = [registration.load() for registration in plugins.guards.values()]
    task = tiny_task("AddCustom")
    taken = 0
    for text in answers():
        candidate = extract(parser, Completion(text), task, Track.STATIC)
        if isinstance(candidate, Outcome):
            assert candidate in (Outcome.NO_CODE, Outcome.TRUNCATED)
            continue
        assert isinstance(candidate, Candidate)
        refused = [problem for guard in guards for problem in guard(candidate, task)]
        assert all(problem.message for problem in refused)
        if not refused:
            assert set(translate_files(candidate.files, "add_custom").files) == set(candidate.files)
            taken += 1
    assert ANSWERS // 4 < taken < ANSWERS


@pytest.mark.parametrize("name", ["level1/math/add_custom", "level1/math/cast_math"])
def test_task_files(tmp_path: Path, name: str) -> None:
    text = (ROOT / "tasks" / name / "task.yaml").read_text(encoding="utf-8")
    shutil.copy(ROOT / "tasks/suite.yaml", tmp_path / "suite.yaml")
    folder = tmp_path / name
    folder.mkdir(parents=True)
    path = folder / "task.yaml"
    (folder / "golden").symlink_to(ROOT / "tasks" / name / "golden")
    (tmp_path / "golden_common").symlink_to(ROOT / "tasks/golden_common")
    words = []
    for number in range(TASKS // 2):
        path.write_text(damaged(text, YAML, number), encoding="utf-8", errors="surrogatepass")
        try:
            load_task(path)
        except NpukbError as error:
            words.append(error.message)
    assert TASKS // 8 < len(words) < TASKS // 2
    assert all(words)
