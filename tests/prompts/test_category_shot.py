"""The style ``category-shot``: another operator of the same category as the worked example, else the usual one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.errors import TaskError
from npukernelbench.nouns import Golden, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import golden_kernel, load_style
from npukernelbench.prompts.example import category_example
from npukernelbench.prompts.style import CATEGORY_SHOT, DEFAULT
from tests.prompts.told import OPERATOR_TRACKS
from tests.suite import suite

SUITE = suite()
STYLE = CATEGORY_SHOT.with_tasks(lambda: SUITE)


def example_of(task: Task, tasks: dict[str, Task], track: Track = Track.STATIC) -> str | None:
    example = category_example(task, tasks, track)
    return example.task.name if example else None


@pytest.mark.parametrize("track", OPERATOR_TRACKS)
@pytest.mark.parametrize("name", ["Gelu", "Sqrt", "RmsNorm", "Fill", "LayerNormV4", "CraftGelu", "Gemm"])
def test_the_example_is_another_golden_of_the_category(name: str, track: Track) -> None:
    task = SUITE[name]
    case = task.case("smoke") if track is Track.STATIC else None
    text = STYLE.render(task, case, track).messages[1].content
    same = [
        other
        for other in SUITE.values()
        if other.category == task.category
        and other is not task
        and any(golden.track is track for golden in other.goldens)
        and other.reference != task.reference
    ]
    example = category_example(task, SUITE, track)
    if not same:
        assert example is None
        assert text == DEFAULT.render(task, case, track).messages[1].content
        return
    assert example is not None
    assert example.task in same
    expected = golden_kernel(example.task, example.task.case("smoke") if track is Track.STATIC else None, track)
    assert example.files == expected
    assert all(reference.rstrip() in text for reference in expected.values())
    assert example.task.summary in text
    assert "the larger of two" not in text.lower()
    assert text.count(f"void {task.kernel}(") >= (2 if track is Track.STATIC else 1)


def test_equal_requests_give_equal_prompts_and_the_hash_covers_the_choice() -> None:
    task = SUITE["Gelu"]
    prompt = STYLE.render(task, task.case("0"), Track.STATIC)
    assert STYLE.render(task, task.case("0"), Track.STATIC) == prompt
    assert prompt.template == "category-shot@4"
    alone = CATEGORY_SHOT.with_tasks(lambda: {"Gelu": task}).render(task, task.case("0"), Track.STATIC)
    assert alone.hash != prompt.hash
    assert alone.messages == DEFAULT.render(task, task.case("0"), Track.STATIC).messages
    assert alone.hash != DEFAULT.render(task, task.case("0"), Track.STATIC).hash


def test_the_choice_prefers_suite_then_tags_then_level_then_name() -> None:
    task = SUITE["Gelu"]
    swish = SUITE["Swish"]

    def other(name: str, **changes: object) -> Task:
        values = {"name": name, "reference": f"m.{name.lower()}", "formula": name, **changes}
        return replace(swish, **values)  # type: ignore[arg-type]

    named = {"A": other("Alpha"), "B": other("Beta")}
    assert example_of(task, named) == "Alpha"
    assert example_of(task, {**named, "A": other("Alpha", level=3)}) == "Beta"
    assert example_of(task, {**named, "A": other("Alpha", tags=frozenset())}) == "Beta"
    assert example_of(task, {**named, "A": other("Alpha", suite="other")}) == "Beta"
    assert example_of(task, {"A": other("Alpha", suite="other")}) == "Alpha"


def test_the_same_operator_under_another_name_is_no_example() -> None:
    task = SUITE["Gelu"]
    swish = SUITE["Swish"]
    for twin in (
        replace(swish, name="CraftGelu", reference="m.a", formula="a"),
        replace(swish, name="Lu", reference="m.a", formula="a"),
        replace(swish, name="Alpha", reference=task.reference, formula="a"),
        replace(swish, name="Alpha", reference="m.a", formula=task.formula),
        replace(swish, name="Alpha", reference="m.a", formula="a", goldens=()),
        replace(swish, name="Alpha", reference="m.a", formula="a", category="Math"),
    ):
        assert example_of(task, {"x": twin, "Gelu": task}) is None


def test_a_dynamic_golden_is_shown_whole_on_its_track(tmp_path: Path) -> None:
    for name in ("op_host/swish.cpp", "op_kernel/swish.cpp"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(f"// {name} of Swish\n")
    (tmp_path / "static.cpp").write_text("// static")
    static = Golden(Track.STATIC, tmp_path / "static.cpp")
    swish = replace(SUITE["Swish"], goldens=(static, Golden(Track.DYNAMIC, tmp_path)))
    tasks = {"Swish": swish}
    example = category_example(SUITE["Gelu"], tasks, Track.DYNAMIC)
    assert example is not None
    assert example.case is None
    assert list(example.files) == ["op_host/swish.cpp", "op_kernel/swish.cpp"]
    text = CATEGORY_SHOT.with_tasks(lambda: tasks).render(SUITE["Gelu"], None, Track.DYNAMIC).messages[1].content
    assert "A correct answer for all cases of that operator." in text
    assert "```cpp op_host/swish.cpp\n// op_host/swish.cpp of Swish\n```" in text
    assert category_example(SUITE["Gelu"], {"Swish": replace(swish, goldens=(static,))}, Track.DYNAMIC) is None
    still = category_example(SUITE["Gelu"], tasks, Track.STATIC)
    assert still is not None
    assert still.case is not None


def test_a_golden_that_cannot_be_read_names_its_file(tmp_path: Path) -> None:
    gone = replace(SUITE["Swish"], goldens=(Golden(Track.STATIC, tmp_path / "gone.cpp"),))
    with pytest.raises(TaskError, match="cannot read the golden kernel") as caught:
        category_example(SUITE["Gelu"], {"Swish": gone}, Track.STATIC)
    assert caught.value.location is not None
    assert caught.value.location.path == tmp_path / "gone.cpp"


def test_styles_are_given_the_tasks_when_they_are_loaded() -> None:
    plugins = Plugins.load(autoload=False)
    asked = []

    def tasks() -> dict[str, Task]:
        asked.append(1)
        return dict(SUITE)

    gelu = SUITE["Gelu"]
    plain = load_style(plugins.prompts.find("terse"), tasks)
    plain.render(gelu, gelu.case("0"), Track.STATIC)
    assert asked == []
    shot = load_style(plugins.prompts.find("category_shot"), tasks)
    assert "Swish:" in shot.render(gelu, gelu.case("0"), Track.STATIC).messages[1].content
    assert asked == [1]
    assert load_style(plugins.prompts.find("category_shot")) is CATEGORY_SHOT
