"""Strategies ``tile`` and ``tile-llm`` in whole runs: what is asked and judged, what is told of a wrong program."""

from __future__ import annotations

from pathlib import Path

import pytest

import npukb_tile
from npukb_tile.checking import case_attributes, case_facts
from npukb_tile.lowering import lower_static
from npukb_tile.making import PROGRAM
from npukb_tile.parse import parse_program
from npukernelbench.generate import wrap
from npukernelbench.nouns import Outcome, Stage, Track
from npukernelbench.plugins import Plugins
from npukernelbench.run.runner import run
from npukernelbench.store import read_run
from npukernelbench.tasks import Selected, load_registry
from npukernelbench.testing import FakeBackend, FakePlugin, RecordingObserver, make_plan
from tests.suite import MACHINE

TASK = "CraftElu"
WRONG = ("load(x_tile, x[begin + offset], length)", "load(x_tile, x[begin + offset], tile)")


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    loaded = Plugins.load(autoload=False, environ={})
    import npukb_twin

    loaded.register(npukb_twin, "twin")
    loaded.register(npukb_tile, "tile")
    return loaded


@pytest.fixture
def fakes(plugins: Plugins) -> FakePlugin:
    for info in plugins.installed:
        if info.name == "fakes":
            return plugins.fakes  # type: ignore[attr-defined, no-any-return]
    fakes = FakePlugin()
    plugins.register(fakes, "fakes")
    plugins.fakes = fakes  # type: ignore[attr-defined]
    return fakes


@pytest.fixture(scope="module")
def tasks(plugins: Plugins):
    return load_registry(plugins, cache_dir=MACHINE)


@pytest.fixture(scope="module")
def program(tasks) -> str:
    return (tasks[TASK].path.parent / "golden" / "tile.py").read_text(encoding="utf-8")


def asked(tmp_path: Path, plugins, fakes, tasks, answers, **changes):
    """A run on one task whose n-th turn is answered with the n-th text."""
    task = tasks[TASK]
    made: list[FakeBackend] = []

    def make(args):
        made.append(FakeBackend(args, answer=lambda request: answers[request.key.turn]))
        return made[-1]

    fakes.backend = make
    track = changes.get("track", Track.STATIC)
    cases = (task.usual_case,) if track is Track.STATIC else tuple(c for c in task.cases if c.id != "0")
    values = {
        "strategy": "tile",
        "prompt_style": "default",
        "tasks": changes.pop("chosen", (Selected(task, cases),)),
        "executor": "twin",
        **changes,
    }
    plan = make_plan(tmp_path / "run", **values)
    summary = run(plan, plugins, RecordingObserver())
    return summary, read_run(plan.directory), made[0].requests if made else []


def test_the_terse_question_leaves_out_page_and_example(tmp_path, plugins, fakes, tasks, program) -> None:
    _, _, requests = asked(tmp_path, plugins, fakes, tasks, [wrap(program, "python")], prompt_style="terse")
    system, user = (message.content for message in requests[0].prompt.messages)
    assert requests[0].prompt.template.startswith("tile-terse@")
    assert "## Buffers and blocks" not in user
    assert "Every core takes one share of the elements" in system
    assert "The kernel function is `craft_elu`" in user


@pytest.mark.parametrize("track", [Track.STATIC, Track.DYNAMIC])
def test_a_right_program_is_lowered_and_judged(tmp_path, plugins, fakes, tasks, program, track) -> None:
    answer = f"<think>load?</think>Here it is.\n{wrap(program, 'python')}"
    summary, stored, requests = asked(tmp_path, plugins, fakes, tasks, [answer], track=track)
    assert (summary.total, summary.ok) == (1, 1), summary.results.samples
    [sample] = stored.samples.values()
    assert sample.candidate.files[PROGRAM] == program
    assert "Lowered from a tile program" in "".join(sample.candidate.files.values())
    assert stored.manifest.identity["strategy"] == "tile"
    assert summary.results.identity["strategy"] == "tile"
    text = requests[0].prompt.messages[-1].content
    assert "## Buffers and blocks" in text
    assert "def craft_gelu(" in text
    assert "def craft_elu(" not in text
    assert "`craft_elu`" in text


def test_a_wrong_program_is_explained_and_repaired(tmp_path, plugins, fakes, tasks, program) -> None:
    assert WRONG[0] in program
    broken = program.replace(*WRONG)
    line = broken.split("\n").index(f"            {WRONG[1]}") + 1
    answers = [wrap(broken, "python"), wrap(program, "python")]
    summary, stored, requests = asked(tmp_path, plugins, fakes, tasks, answers, turns=3)
    assert summary.ok == 1
    first, second = (stored.samples[key] for key in sorted(stored.samples))
    assert (first.verdict.outcome, first.verdict.stage) == (Outcome.COMPILE_ERROR, Stage.COMPILE)
    [diagnostic] = first.verdict.diagnostics
    assert (diagnostic.rule, diagnostic.file, diagnostic.line) == ("out_of_bounds", PROGRAM, line)
    assert diagnostic.remedy
    told = requests[1].prompt.messages[-1].content
    assert f"{PROGRAM}:{line}: error:" in told
    assert WRONG[1] in told
    assert diagnostic.remedy in told
    assert second.verdict.outcome is Outcome.OK


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ("I cannot.", Outcome.NO_CODE),
        ("```cpp\nint x;\n```", Outcome.NO_CODE),
        ("cut:```python\n@host\ndef plan(x):", Outcome.TRUNCATED),
        ("```python\nimport os\n```", Outcome.COMPILE_ERROR),
        ("```python\n" + "x" * 10_000_000 + "\n```", Outcome.COMPILE_ERROR),
    ],
    ids=["words", "other language", "cut off", "python", "ten megabytes"],
)
def test_answers_without_a_program(tmp_path, plugins, fakes, tasks, answer, outcome) -> None:
    summary, _, _ = asked(tmp_path, plugins, fakes, tasks, [answer])
    assert summary.by_outcome == {outcome: 1}


def test_wrong_values_are_the_judges_to_find(tmp_path, plugins, fakes, tasks, program) -> None:
    broken = program.replace("- 1.0", "- 2.0")
    assert broken != program
    summary, _, _ = asked(tmp_path, plugins, fakes, tasks, [wrap(broken, "python")])
    assert summary.by_outcome == {Outcome.WRONG_VALUE: 1}
    assert summary.results.totals.compiled == 1


def test_tasks_without_words_in_the_language_are_left_out(tmp_path, plugins, fakes, tasks, program) -> None:
    doubles, complexes = tasks["StridedSliceAssignV2"], tasks["ComplexMatDot"]
    chosen = tuple(Selected(task, (task.usual_case,)) for task in (tasks[TASK], doubles, complexes))
    summary, stored, _ = asked(tmp_path, plugins, fakes, tasks, [wrap(program, "python")], chosen=chosen)
    assert summary.total == 1
    left = stored.manifest.provenance["left_out"]
    assert sorted(name for names in left.values() for name in names) == [
        "ComplexMatDot",
        "StridedSliceAssignV2",
    ]


def partial_kernel(text: str, keep: int) -> str:
    """A kernel that compiles and lacks some: the first pass has no class, the second an empty Process."""
    if keep > 2:
        return text
    head = text.index("op.Process();")
    return text[:head] + text[head + len("op.Process();") :]


def test_the_model_lowers_in_four_passes(tmp_path, plugins, fakes, tasks, program) -> None:
    task = tasks[TASK]
    parsed, case = parse_program(program), task.usual_case
    kernel = lower_static(parsed, case_facts(parsed, case), case_attributes(parsed, case)).files["kernel.cpp"]
    answers = [
        wrap(program.replace("@host", "@hostess"), "python"),
        wrap(program, "python"),
        wrap(partial_kernel(kernel, 1)),
        wrap("this does not compile __global__"),
        wrap(partial_kernel(kernel, 2)),
        wrap(kernel),
    ]
    summary, stored, requests = asked(tmp_path, plugins, fakes, tasks, answers, strategy="tile-llm", turns=2)
    assert summary.ok == 1
    templates = [request.prompt.template.partition("@")[0] for request in requests]
    assert templates == ["tile-llm-0", "tile-llm-0", "tile-llm-1", "tile-llm-2", "tile-llm-2", "tile-llm-3"]
    outcomes = [stored.samples[key].verdict.outcome for key in sorted(stored.samples)]
    assert outcomes[:2] == [Outcome.COMPILE_ERROR, Outcome.NO_CODE]
    assert outcomes[3] is Outcome.COMPILE_ERROR
    assert outcomes[5] is Outcome.OK
    assert [row.asked for row in summary.results.turns] == [1] * 6
    third = requests[5].prompt.messages[-1].content
    assert third.count("# Pass") == 1
    assert "# Pass 3 of 4: computation" in third
    assert program.rstrip() in third
    assert "op.Init(" in third
    assert stored.samples[max(stored.samples)].candidate.files[PROGRAM] == program


def test_a_pass_that_never_compiles_ends_the_conversation(tmp_path, plugins, fakes, tasks, program) -> None:
    answers = [wrap(program, "python"), *[wrap("__global__ nothing")] * 5]
    summary, stored, _ = asked(tmp_path, plugins, fakes, tasks, answers, strategy="tile-llm", turns=2)
    assert summary.by_outcome == {Outcome.COMPILE_ERROR: 1}
    assert len(stored.samples) == 3
