"""Every command of every page works, in the order of its page; what cannot be executed here is read and listed."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import NpukbError
from npukernelbench.judge.automatic import AUTO
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import TaskRegistry, load_registry
from tests.cli.conftest import FAKE_PLUGIN, Npukb, _clean_surroundings, npukb, plugin  # noqa: F401
from tests.docs.shown import ROOT, Shown, in_blocks, in_sentences, pages, understood
from tests.suite import MACHINE
from tests.tables import read_yaml
from tests.tasks.test_task_docs import snippet

LISTED: dict[str, Any] = read_yaml(Path(__file__).with_name("commands.yaml"))
#: Commands of pages that no test of its own executes, by page.
HERE = {page.relative_to(ROOT).as_posix(): [*in_blocks(page)] for page in pages()}
HERE = {page: showns for page, showns in HERE.items() if showns and page not in LISTED["elsewhere"]}
#: Where a setting's names are registered.
_REGISTRIES = {
    "model": "backends",
    "executor": "executors",
    "parser": "parsers",
    "strategy": "strategies",
    "prompt_style": "prompts",
}
#: Names that stand for a reader's own, and the backend that docs/plugins.md makes.
_PLACEHOLDERS = ("NAME", "markov")
#: Tasks that pages invent.
_INVENTED = {"ScaledSwish", "Scale", "TASK", "OPERATOR", "NAME", "RowScale", "Gated", "kernelbench/level1"}


def only_read(command: Shown) -> bool:
    return any(re.search(row["command"], command.text) for row in LISTED["read"])


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins.load(environ={"NPUKB_LOAD_PLUGINS": ""})


@pytest.fixture(scope="module")
def tasks(plugins: Plugins) -> TaskRegistry:
    return load_registry(plugins, cache_dir=MACHINE)


def unknown(text: str, plugins: Plugins, tasks: TaskRegistry) -> str:
    """What of a command does not exist: its name, an option, a value, or something that a value names."""
    try:
        name, values = understood(text)
        for key in ("model", "executor", "parser", "strategy", "prompt_style"):
            value = values.get(key)
            if isinstance(value, str) and value not in (AUTO, *_PLACEHOLDERS):
                getattr(plugins, _REGISTRIES[key]).find(value)
        if name.startswith("npukb "):
            resolve(environ={}, options=_settings(values))
        wanted = [word for one in values.get("tasks") or () for word in str(one).replace(":hidden", "").split(",")]
        wanted += [str(values["task"])] if values.get("task") and name.startswith("npukb ") else []
        wanted = [word for word in wanted if word.partition(":")[0] not in _INVENTED]
        if wanted:
            tasks.select(wanted)
    except click.UsageError as error:
        return error.format_message()
    except NpukbError as error:
        return str(error)
    return ""


def _settings(values: dict[str, Any]) -> dict[str, object]:
    names = ("model_args", "gen_kwargs", "executor_args", "limit", "shard", "turns", "hints", "num_samples", "track")
    return {name: values[name] for name in names if values.get(name) is not None}


def test_names_options_and_values_of_every_command_exist(plugins: Plugins, tasks: TaskRegistry) -> None:
    shown = [shown for page in pages() for shown in (*in_blocks(page), *in_sentences(page))]
    ours = [
        one._replace(text=part.strip())
        for one in shown
        for part in one.text.split("&&")
        if re.search(r"(^|[ /])(npukb|kernelgen-lm) ", part)
    ]
    assert len(ours) > 200
    wrong = {f"{our.page}:{our.line}: {our.text}": what for our in ours if (what := unknown(our.text, plugins, tasks))}
    assert wrong == {}


def test_what_does_not_exist_is_noticed(plugins: Plugins, tasks: TaskRegistry) -> None:
    for text, what in (
        ("npukb rnu --tasks smoke", "did you mean run"),
        ("npukb ls tasks --colour", "No such option"),
        ("npukb run --model opemai --tasks smoke", "opemai"),
        ("npukb judge Sqqrt kernel.cpp", "Sqqrt"),
        ("npukb run --model openai --turns many", "many"),
        ("kernelgen-lm corpus bild --out x", "bild"),
    ):
        assert what in unknown(text, plugins, tasks), text


def test_the_list_names_what_there_is() -> None:
    for page, test in LISTED["elsewhere"].items():
        assert [*in_blocks(ROOT / page)]
        assert Path(page).name in (ROOT / test).read_text("utf-8") or "PAGE" in (ROOT / test).read_text("utf-8")
    shown = [one.text for showns in HERE.values() for one in showns]
    for row in (*LISTED["read"], *LISTED["with"]):
        assert any(re.search(row["command"], text) for text in shown), row
        assert row["why"]


@pytest.fixture
def reader(npukb: Npukb, plugin: Callable[[str, str], Path], tmp_path: Path) -> Callable[[Shown], None]:  # noqa: F811
    """A reader in an empty folder with what pages speak of: two runs, answers, programs, a task of their own."""
    plugin("fakes", FAKE_PLUGIN)
    goldens = ROOT / "tasks" / "ascendcraft" / "activation" / "elu" / "golden"
    for name in ("elu.py", "my_operator.py"):
        shutil.copy(goldens / "tile.py", name)
    shutil.copytree(ROOT / "docs" / "profiling", "docs/profiling")
    shutil.copytree(ROOT / "examples" / "scale", ".", dirs_exist_ok=True)
    shutil.copytree(ROOT / "examples" / "ascend310p", "examples/ascend310p")
    task = snippet("yaml", "ScaledSwish")
    path = Path(task.splitlines()[0].removeprefix("# "))
    path.parent.mkdir(parents=True)
    path.write_text(task)
    Path("kernel.cpp").write_text("// fake: ok\n")
    Path("results").mkdir()

    def do(command: Shown) -> None:
        text, _, target = command.text.partition(" > ")
        extra = [word for row in LISTED["with"] if re.search(row["command"], text) for word in row["words"]]
        words = [word for word in shlex.split(text)[1:] if word != "…"]
        if "answer.md" in words:
            Path("answer.md").write_text(f"Here it is.\n```cpp\n{npukb('golden', 'Sqrt').out}```\n")
        done = npukb(*words, *extra)
        assert done.code == 0, f"{command.page}:{command.line}: {command.text}\n{done.err}{done.out}"
        assert done.out.strip(), command
        if words[0] in ("judge", "profile"):
            assert "✗" not in done.out.partition("\n")[0], f"{command.page}:{command.line}: {done.out}"
        if target:
            Path(target).write_text(done.out)

    return do


@pytest.mark.parametrize("page", sorted(HERE))
def test_the_commands_of_a_page_work(reader: Callable[[Shown], None], npukb: Npukb, page: str) -> None:  # noqa: F811
    """As a reader types them. Kernels are compiled and run where a page has one."""
    executed = [command for command in HERE[page] if not only_read(command)]
    if any("results/" in command.text or "RUN" in command.text for command in executed):
        for name in ("alpha", "beta"):
            words = ("--model_args", f"delay_s={0.0 if name == 'alpha' else 0.001}", "--tasks", "Sqrt:0")
            made = npukb("run", "--model", "fake", "--executor", "fake", *words, "-o", f"results/{name}")
            assert made.code == 0, made.err
    for command in executed:
        reader(command)
