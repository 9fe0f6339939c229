"""The container's recipe as a builder and a careful operator read it. No builder is needed; none has run it here."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click
import pytest

from npukernelbench.cli.group import build_group

if sys.version_info < (3, 11):
    pytest.skip("tomllib is newer", allow_module_level=True)
import tomllib

ROOT = Path(__file__).parents[2]
RECIPE = ROOT / "examples" / "container" / "Containerfile"


def steps() -> list[tuple[str, str]]:
    """Instructions and their arguments, comments left out."""
    text = "\n".join(line for line in RECIPE.read_text("utf-8").splitlines() if not line.startswith("#"))
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1]) for line in lines if line]


def test_what_runs_has_no_rights_and_what_is_copied_is_only_built_from() -> None:
    made = steps()
    stages = [n for n, (word, _) in enumerate(made) if word == "FROM"]
    assert len(stages) == 2
    final = made[stages[-1] :]
    words = [word for word, _ in final]
    assert "COPY" not in words
    assert "ADD" not in words
    user = words.index("USER")
    assert dict(final)["USER"] == "npukb"
    assert all("pip" not in text and "apt" not in text for _, text in final[user:])
    assert words.index("ENTRYPOINT") > user
    assert dict(final)["ENTRYPOINT"] == '["npukb"]'
    assert all(re.search(r":\d[\w.-]+( AS \w+)?$", text) for word, text in made if word == "FROM")


def test_its_commands_and_extras_exist() -> None:
    group = build_group()
    text = RECIPE.read_text("utf-8")
    called = re.findall(r"(?:npukb |npukernelbench:0\.1 )([a-z][\w-]*)((?: [^\n&|;]*)?)", text)
    assert {name for name, _ in called} >= {"run", "serve-judge"}
    for name, words in called:
        command = group.get_command(click.Context(group), name)
        assert command is not None, name
        known = {spelling for parameter in command.params for spelling in parameter.opts}
        assert known.issuperset(re.findall(r"(?<=\s)--[\w-]+", words)), (name, words)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(re.findall(r"\[([\w,]+)\]\"", text))
    assert extras
    assert extras <= set(project["optional-dependencies"])


def test_what_is_left_out_of_the_context_is_not_what_the_wheel_is_made_of() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {Path(path).parts[0] for path in (*wheel["packages"], *wheel["force-include"])} | {"pyproject.toml"}
    ignored = RECIPE.with_name("Containerfile.dockerignore").read_text("utf-8").split("\n")
    assert needed.isdisjoint(line.strip("/") for line in ignored)
