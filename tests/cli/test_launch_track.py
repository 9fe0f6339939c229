"""``--track launch`` from the task to the verdict: golden kernels that launch themselves, asked for and judged."""

from __future__ import annotations

import json
from pathlib import Path

from npukernelbench.generate.extract import candidate_of, extract
from npukernelbench.nouns import Completion, Outcome, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel
from npukernelbench.prompts.style import DEFAULT
from npukernelbench.tasks.goldens import golden_of
from tests.suite import suite

#: One kernel, one per type, two in sequence, tensors of an extension.
TASKS = ("AddCustom", "Lerp", "Sasum", "UnalignAdd")


def test_a_run_of_golden_kernels_is_right(npukb, tmp_path: Path) -> None:
    """Prompt, answer, extraction, compilation and every case of the smallest profile, as a model's answer goes."""
    tasks = ",".join(f"{name}:smoke" for name in TASKS)
    finished = npukb("run", "--model", "reference", "--track", "launch", "--tasks", tasks, "--output_path", tmp_path)
    assert finished.code == 0, finished.err
    [results] = tmp_path.glob("*/results.json")
    samples = json.loads(results.read_text())["samples"]
    assert {sample["task"]: sample["outcome"] for sample in samples} == dict.fromkeys(TASKS, "ok"), finished.out


def test_an_answer_says_how_it_is_launched() -> None:
    """Also in a block of its own language."""
    task = suite()["AddCustom"]
    text = (
        "```cpp add_custom.cpp\n__global__ __aicore__ void add_custom() {}\n```\n```yaml launch.yaml\nfunction: f\n```"
    )
    extracted = extract(Plugins.load().parsers.find("auto"), Completion(text), task, Track.LAUNCH)
    assert not isinstance(extracted, Outcome)
    assert sorted(extracted.files) == ["add_custom.cpp", "launch.yaml"]


def test_a_launch_golden_is_no_part_of_what_is_asked_elsewhere() -> None:
    """Other tracks keep their own kernels, the prompt names every argument, and all styles ask alike."""
    task = suite()["Lerp"]
    files = golden_kernel(task, None, Track.LAUNCH)
    assert sorted(files) == ["launch.yaml", "lerp.cpp", "pieces.h"]
    assert candidate_of(files) != candidate_of(golden_kernel(task, None, Track.DYNAMIC))
    prompt = DEFAULT.render(task, None, Track.LAUNCH)
    assert prompt.template.startswith("default-launch@1")
    for word in ("lerp_do", "launch.yaml", "start.size", *task.arguments):
        assert word in prompt.messages[1].content or word == "workspace", word
    assert golden_of(task, Track.LAUNCH) is not None
