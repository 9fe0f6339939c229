"""ls, prompt, plugins, validate: commands that look and do not touch."""

from __future__ import annotations

import json

import pytest

BROKEN_PLUGIN = """
    raise ImportError("a package that nobody has")
"""


def test_tasks_are_listed_for_people_and_machines(npukb):
    lines = npukb("ls", "tasks").out.splitlines()
    objects = npukb("ls", "tasks", "--json").json
    assert lines[0].split()[:2] == ["TASK", "LEVEL"]
    assert [line.split()[0] for line in lines[1:]] == [task["name"] for task in objects]
    assert {"Sqrt", "Gelu"} <= {task["name"] for task in objects}
    assert all(case["id"] for task in objects for case in task["cases"])


def test_names_of_the_api_are_looked_up_by_either_command(npukb):
    found = npukb("api", "Mmad").out
    assert "MmadParams" in found
    assert npukb("docs", "Mmad").out == found


def test_tasks_is_the_default_kind(npukb):
    assert npukb("ls").out == npukb("ls", "tasks").out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--level", "1", "--category", "comparison"], {"Equal", "Less", "LessEqual"}),
        (["--level", "1", "--tag", "reduction", "--tag", "complex"], {"Icamax", "Icamin"}),
        (["--category", "linalg"], {"Cross"}),
        (["--category", "no such"], set()),
    ],
)
def test_filters_narrow_the_tasks(npukb, options, expected):
    assert {task["name"] for task in npukb("ls", "tasks", "--json", *options).json} == expected


def test_a_filter_by_suite(npukb):
    everything = npukb("ls", "tasks", "--json").json
    ours = [task for task in everything if task["suite"] == "npukernelbench"]
    assert npukb("ls", "tasks", "--json", "--suite", "NPUKernelBench").json == ours
    assert npukb("ls", "tasks", "--suite", "other").out == "no task matches\n"


@pytest.mark.parametrize("kind", ["suites", "levels", "categories"])
def test_kinds_of_tasks_are_counted(npukb, kind):
    rows = npukb("ls", kind, "--json").json
    tasks = npukb("ls", "tasks", "--json").json
    assert sum(row["tasks"] for row in rows) == len(tasks)
    assert sum(row["cases"] for row in rows) == sum(len(task["cases"]) for task in tasks)
    assert sum(row["goldens"] for row in rows) == sum(bool(task["goldens"]) for task in tasks)
    lines = npukb("ls", kind).out.splitlines()
    assert lines[0].split()[1:] == ["TASKS", "CASES", "GOLDENS"]
    assert [line.split()[0] for line in lines[1:]] == [row["name"] for row in rows]


def test_kinds_of_tasks_are_narrowed(npukb):
    tasks = npukb("ls", "tasks", "--category", "norm", "--level", "2", "--json").json
    rows = {row["name"]: row["tasks"] for row in npukb("ls", "levels", "--category", "norm", "--json").json}
    assert rows["level2"] == len(tasks)
    assert "level1" not in rows
    assert npukb("ls", "categories", "--suite", "other").out == "no task matches\n"


@pytest.mark.parametrize("kind", ["groups", "suites", "levels", "categories", "tags"])
def test_what_is_listed_can_be_asked_for(npukb, kind):
    names = [row["name"] for row in npukb("ls", kind, "--json").json]
    assert names
    for name in names:
        finished = npukb("run", "--tasks", name, "--model", "no-such-model", "--executor", "no-such-executor")
        assert "there is no task or group" not in finished.err, name


@pytest.mark.parametrize("kind", ["backends", "executors", "prompts", "checkers", "parsers", "metrics"])
def test_registrations_are_listed_with_their_plugin(npukb, kind, plugin):
    plugin(
        "giver",
        f"""
        from npukernelbench import hookimpl

        @hookimpl
        def register_{kind}(register):
            register("from-giver", "nowhere:at_all", aliases=["fg"], description="nobody imports it")
        """,
    )
    found = {row["name"]: row for row in npukb("ls", kind, "--json").json}
    assert found["from-giver"] == {
        "name": "from-giver",
        "aliases": ["fg"],
        "plugin": "giver",
        "distribution": "npukb-giver",
        "version": "1.0",
        "description": "nobody imports it",
    }
    assert "nobody imports it" in npukb("ls", kind).out


def test_an_unknown_kind_is_a_usage_error(npukb):
    finished = npukb("ls", "taks")
    assert finished.code == 2
    assert "taks" in finished.err


def test_a_prompt_is_printed_whole(npukb):
    prompt = npukb("prompt", "sqrt", "--json").json
    text = npukb("prompt", "sqrt").out
    assert all(message["content"].rstrip("\n") in text for message in prompt["messages"])
    assert "sqrt(GM_ADDR x, GM_ADDR y, GM_ADDR workspace)" in text


def test_a_prompt_is_about_the_case_and_in_the_style_asked_for(npukb):
    smoke = npukb("prompt", "sqrt").out
    first = npukb("prompt", "sqrt", "--case", "0").out
    terse = npukb("prompt", "sqrt", "--style", "terse")
    assert smoke != first
    assert len(terse.out) < len(smoke)
    assert terse.out == npukb("prompt", "sqrt", "--prompt-style", "terse").out


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["prompt", "sqrtt"], ["there is no task or group 'sqrtt'", "did you mean Sqrt"]),
        (["prompt", "level1"], ["names 37 tasks, one is needed"]),
        (["prompt", "sqrt", "--case", "99"], ["has no case '99'", "smoke"]),
        (["prompt", "sqrt", "--style", "ters"], ["there is no prompt style 'ters'", "did you mean 'terse'?"]),
        (["prompt", "sqrt", "--track", "moving"], ["--track", "static, dynamic"]),
    ],
)
def test_what_does_not_exist_is_a_usage_error_with_a_hint(npukb, argv, words):
    finished = npukb(*argv)
    assert (finished.code, finished.out) == (2, "")
    assert all(word in finished.err for word in words), finished.err


def test_plugins_shows_who_is_there_and_who_is_not(npukb, plugin, fake):
    plugin("broken", BROKEN_PLUGIN)
    shown = npukb("plugins", "--json").json
    installed = {info["name"]: info for info in shown["installed"]}
    assert installed["fakes"]["provides"] == {"backend": ["fake"], "executor": ["fake"]}
    assert [one["name"] for one in shown["quarantined"]] == ["broken"]
    assert "a package that nobody has" in shown["quarantined"][0]["traceback"]
    text = npukb("plugins").out
    assert "fakes" in text
    assert "npukb-broken 1.0  quarantined: ImportError: a package that nobody has" in text
    assert "npukb_broken.py" in text


def test_a_plugin_can_be_left_out(npukb, fake):
    assert "fake" in npukb("ls", "backends").out
    assert "fake" not in npukb("ls", "backends", "-p", "no:fakes").out
    assert npukb("ls", "backends", "--no_plugins").out == "no plugin offers any\n"


@pytest.mark.parametrize("switch", ["fakes", "no:", "yes:fakes"])
def test_a_wrong_switch_is_a_usage_error(npukb, switch):
    finished = npukb("ls", "backends", "-p", switch)
    assert finished.code == 2
    assert "-p no:NAME" in finished.err


def test_asking_for_what_a_broken_plugin_may_provide_shows_its_traceback(npukb, plugin):
    plugin("broken", BROKEN_PLUGIN)
    finished = npukb("run", "--model", "broken-model", "--tasks", "smoke")
    assert finished.code == 2
    assert "a package that nobody has" in finished.err
    assert "npukb-broken 1.0" in finished.err


def test_validate_accepts_a_sound_task(npukb):
    finished = npukb("validate", "sqrt,gelu", "--json")
    assert finished.code == 0
    assert [result["task"] for result in finished.json["results"]] == ["Sqrt", "Gelu"]
    assert finished.json["errors"] == 0


def test_validate_counts_mutants(npukb):
    finished = npukb("validate", "sqrt", "--json")
    mutants = finished.json["mutants"]
    assert mutants["tried"] == mutants["killed"] == sum(kind["tried"] for kind in mutants["kinds"].values()) > 20
    assert finished.json["results"][0]["mutants"] == mutants
    text = npukb("validate", "sqrt").out.splitlines()
    assert text[0].startswith("✓ Sqrt  ")
    assert text[0].endswith(f"{mutants['killed']} of {mutants['tried']} mutants killed")
    assert text[-1].startswith(f"mutants: {mutants['tried']} tried on ")


def test_validate_in_several_processes_sees_included_tasks(npukb, tmp_path, sound_task):
    for number in range(17):
        folder = tmp_path / "mine" / f"flat{number}"
        folder.mkdir(parents=True)
        (folder / "task.yaml").write_text(sound_task.replace("Flat", f"Flat{number}"))
    finished = npukb("validate", "mine", "--include_path", tmp_path / "mine", "--jobs", "2", "--json")
    assert finished.code == 0, finished.err
    assert finished.json["tasks"] == finished.json["no_golden"] == 17
    assert finished.json["errors"] == finished.json["warnings"] == 0
    assert len(finished.json["results"]) == 17


def test_the_schema_for_editors_is_printed(npukb):
    schema = npukb("validate", "--schema").json
    assert {"cases", "hidden", "interface", "include"} <= set(schema["properties"])


def test_validate_refuses_an_ungradeable_task(npukb, tmp_path, sound_task):
    folder = tmp_path / "mine" / "flat"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(sound_task.replace("uniform: [0.5, 4.0]", "constant: 1.0"))
    finished = npukb("validate", "flat", "--include_path", tmp_path / "mine")
    assert finished.code == 3
    assert "✗ Flat" in finished.out
    assert "error" in finished.out
    assert "[constant_output]" in finished.out


def test_a_broken_task_file_stops_the_command_with_its_place(npukb, tmp_path, sound_task):
    folder = tmp_path / "mine" / "flat"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text(sound_task + "colour: red\n")
    finished = npukb("ls", "tasks", "--include_path", tmp_path / "mine")
    assert (finished.code, finished.out) == (3, "")
    line = len(sound_task.splitlines()) + 1
    assert f"{folder / 'task.yaml'}:{line}" in finished.err
    assert "colour" in finished.err


def test_yaml_that_cannot_be_parsed_names_its_line(npukb, tmp_path):
    folder = tmp_path / "mine" / "flat"
    folder.mkdir(parents=True)
    (folder / "task.yaml").write_text("name: Flat\nlevel: [1\n")
    finished = npukb("ls", "tasks", "--include_path", tmp_path / "mine")
    assert finished.code == 3
    assert f"{folder / 'task.yaml'}:" in finished.err


def test_a_wrong_configuration_file_names_its_line(npukb, tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("seed: 1\njobz: 3\n")
    finished = npukb("ls", "groups", "--config", file)
    assert finished.code == 3
    assert f"{file}:2" in finished.err
    assert "did you mean 'jobs'?" in finished.err


def test_a_missing_task_folder_is_a_usage_error(npukb):
    finished = npukb("ls", "tasks", "--include_path", "nowhere")
    assert finished.code == 2
    assert "nowhere" in finished.err


def test_json_is_strict(npukb):
    def refuse(name: str) -> object:
        raise AssertionError(name)

    assert json.loads(npukb("ls", "tasks", "--json").out, parse_constant=refuse)


def test_counts_of_cases_are_explained_where_they_are_shown(npukb):
    for kind in ("tasks", "levels", "suites", "categories"):
        assert "CASES counts all cases" in npukb("ls", kind).err
    assert "CASES counts" not in npukb("ls", "tags").err
    for track, words in (("static", "one per case"), ("dynamic", "one per task")):
        asked = npukb("run", "--model", "reference", "--tasks", "Sqrt", "--track", track, "--dry_run").out
        assert f"(a question each: {words}" in asked
