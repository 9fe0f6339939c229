"""The tutorial of docs/plugins.md, followed to the letter: built, installed beside a broken plugin, and run by name."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import pytest

from npukernelbench.config import default_cache_dir
from npukernelbench.nouns import FinishReason
from npukernelbench.store import read_run

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"

PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "npukb-{name}"
version = "3.1"

[project.entry-points.npukernelbench]
{name} = "npukb_{name}"

[tool.hatch.build.targets.wheel]
only-include = ["npukb_{name}.py"]
"""
BROKEN_MODULE = "import a_package_that_nobody_has\n"
#: An executor that needs no compiler, a metric, a reporter that is text, and one that writes a folder.
STRANGER_MODULE = """
from npukernelbench import hookimpl


class Csv:
    file_name = "samples.csv"

    def render(self, run, results):
        yield "task,case,outcome"
        for row in results.samples:
            yield f"{row.task},{row.case},{row.outcome.value}"


class Folder:
    file_name = "pages"

    def write(self, run, results, target):
        target.mkdir()
        page = target / "index.html"
        page.write_text(f"<h1>{results.totals.correct} of {len(run.samples)}</h1>")
        return (page,)


@hookimpl
def register_executors(register):
    register("pretend", "npukernelbench.testing:FakeExecutor")


@hookimpl
def register_metrics(register):
    register("cases", lambda verdict: 2 * verdict.metrics["cases_total"])


@hookimpl
def register_reporters(register):
    register("csv", Csv(), aliases=("comma-separated",))
    register("pages", Folder())
"""


def package(name: str, module: str) -> dict[str, str]:
    """The files of a plugin that is one module."""
    return {"pyproject.toml": PYPROJECT.format(name=name), f"npukb_{name}.py": module}


class Environment(NamedTuple):
    """A virtual environment of its own, and an empty folder to work in."""

    python: Path
    folder: Path

    def npukb(self, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
        """With the machine's cache: ``reference`` derives static kernels, for which a twin would be built anew."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("NPUKB_", "PYTHON"))}
        return subprocess.run(
            [str(self.python), "-m", "npukernelbench", *arguments],
            cwd=self.folder,
            env={**inherited, "NPUKB_CACHE_DIR": str(default_cache_dir()), **environ},
            capture_output=True,
            text=True,
            timeout=120,
        )

    def json(self, *arguments: str, **environ: str) -> Any:
        result = self.npukb(*arguments, "--json", **environ)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)


def tutorial_files() -> dict[str, str]:
    """The files that the tutorial tells its reader to write, by name."""
    titled = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
    return dict(titled.findall(PAGE.read_text(encoding="utf-8")))


def build_wheel(folder: Path, files: dict[str, str]) -> Path:
    """Build a package as pip would, without a network: through its build backend, which is installed here."""
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    result = subprocess.run(
        [sys.executable, "-c", build, str(folder)], cwd=folder, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return folder / result.stdout.split()[-1]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The harness of this environment, the tutorial's package, a stranger's, and a broken one."""
    root = tmp_path_factory.mktemp("environment")
    venv.create(root / "venv", with_pip=False, symlinks=True)
    (site_packages,) = (root / "venv" / "lib").glob("python*/site-packages")
    paths = [path for path in sys.path if path and Path(path).is_dir()]
    (site_packages / "harness.pth").write_text("\n".join(paths) + "\n")
    packages = {"markov": tutorial_files()}
    packages |= {
        name: package(name, text) for name, text in {"broken": BROKEN_MODULE, "stranger": STRANGER_MODULE}.items()
    }
    for name, files in packages.items():
        with ZipFile(build_wheel(root / name, files)) as wheel:
            wheel.extractall(site_packages)
    (root / "work").mkdir()
    return Environment(root / "venv" / "bin" / "python", root / "work")


def test_the_tutorials_plugin_is_under_fifteen_lines() -> None:
    files = tutorial_files()
    assert sorted(files) == ["npukb_markov.py", "pyproject.toml"]
    lines = [line for line in files["npukb_markov.py"].splitlines() if line.strip()]
    assert 5 < len(lines) < 15


def test_both_plugins_are_named(environment: Environment) -> None:
    found = environment.json("plugins")
    installed = {plugin["name"]: plugin for plugin in found["installed"]}
    assert installed["markov"]["distribution"] == "npukb-markov"
    assert installed["markov"]["provides"] == {"backend": ["markov"]}
    assert {"twin", "reference", "replay", "openai"} <= set(installed)
    (quarantined,) = found["quarantined"]
    assert (quarantined["name"], quarantined["distribution"], quarantined["version"]) == (
        "broken",
        "npukb-broken",
        "3.1",
    )
    assert "a_package_that_nobody_has" in quarantined["traceback"]


def test_the_listing_for_people_shows_the_traceback(environment: Environment) -> None:
    result = environment.npukb("plugins")
    assert result.returncode == 0, result.stderr
    assert "markov" in result.stdout
    assert "ModuleNotFoundError: No module named 'a_package_that_nobody_has'" in result.stdout


def test_the_plugin_runs_by_name(environment: Environment) -> None:
    output = environment.folder / "results"
    result = environment.npukb(
        "run", "--model", "markov", "--tasks", "smoke", "--limit", "1", "--predict_only", "--output_path", str(output)
    )
    assert result.returncode == 0, result.stderr
    folders = {manifest.parent for manifest in output.rglob("manifest.json")}
    assert len(folders) == 1
    completions = list(read_run(folders.pop()).completions.values())
    assert completions
    for stored in completions:
        assert stored.completion.finish_reason is FinishReason.STOP
        assert len(stored.completion.text.split()) >= 200


def test_asking_for_what_the_broken_one_may_offer_shows_why_it_is_not_there(environment: Environment) -> None:
    result = environment.npukb("run", "--model", "broken-model", "--tasks", "smoke", "--limit", "1", "--predict_only")
    assert result.returncode == 2, result.stderr
    assert "broken-model" in result.stderr
    assert "quarantined" in result.stderr
    assert "ModuleNotFoundError: No module named 'a_package_that_nobody_has'" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "environ", "names"),
    [
        (("-p", "no:broken"), {}, {"markov"}),
        ((), {"NPUKB_LOAD_PLUGINS": ""}, set()),
        ((), {"NPUKB_LOAD_PLUGINS": "markov"}, {"markov"}),
    ],
)
def test_switches(
    environment: Environment, arguments: tuple[str, ...], environ: dict[str, str], names: set[str]
) -> None:
    found = environment.json("plugins", *arguments, **environ)
    assert found["quarantined"] == []
    assert {plugin["name"] for plugin in found["installed"]} & {"markov", "broken"} == names


@pytest.fixture(scope="module")
def judged(environment: Environment) -> Path:
    """The folder of a run with the stranger's executor."""
    output = environment.folder / "judged"
    words = ("run", "--model", "reference", "--executor", "pretend", "--tasks", "Sqrt:smoke", "-o", str(output))
    result = environment.npukb(*words)
    assert result.returncode == 0, result.stderr
    assert "cases" in result.stdout.partition("outcome")[0], "a stranger's metric has a column"
    (folder,) = output.iterdir()
    return folder


def test_a_strangers_metric_is_in_results_and_tables(environment: Environment, judged: Path) -> None:
    (row,) = json.loads((judged / "results.json").read_text())["samples"]
    assert row["metrics"]["cases"] == 2 * row["metrics"]["cases_total"] == 2.0
    shown = environment.npukb("report", str(judged), "--format", "markdown").stdout
    assert re.search(r"\| cases \| outcome \|\n.*\n\| Sqrt \|.*\| 2 \| ok \|", shown), shown
    without = environment.npukb("report", str(judged), "--format", "markdown", "-p", "no:stranger").stdout
    assert without == shown, "results outlive the plugin"


def test_a_strangers_format_works_wherever_one_can_be_named(environment: Environment, judged: Path) -> None:
    expected = re.compile(r"task,case,outcome\nSqrt,\w+,ok\n")
    for name in ("csv", "CSV", "comma_separated"):
        assert expected.fullmatch(environment.npukb("report", str(judged), "--format", name).stdout)
    exported = environment.npukb("export", str(judged), "--format", "csv")
    assert exported.stdout == f"{judged / 'samples.csv'}\n", exported.stderr
    assert expected.fullmatch((judged / "samples.csv").read_text())
    assert (
        environment.npukb("export", str(judged), "--format", "pages").stdout == f"{judged / 'pages' / 'index.html'}\n"
    )
    assert (judged / "pages" / "index.html").read_text() == "<h1>1 of 1</h1>"
    listed = {reporter["name"]: reporter["plugin"] for reporter in environment.json("ls", "reporters")}
    assert listed["csv"] == "stranger"
    assert {name for name, plugin in listed.items() if plugin == "builtin"} == {
        "table", "summary", "markdown", "html", "json", "jsonl", "parquet", "lm-eval",
        "inspect", "junit", "pr", "hf-dataset",
    }  # fmt: skip
    shutil.rmtree(judged / "pages")
    written = environment.npukb("report", str(judged), "--format", "pages")
    assert written.stdout == f"{judged / 'pages' / 'index.html'}\n", written.stderr


def test_an_unknown_format_says_what_is_meant_and_what_there_is(environment: Environment, judged: Path) -> None:
    for command in ("report", "export"):
        result = environment.npukb(command, str(judged), "--format", "cvs", "-p", "no:broken")
        assert result.returncode == 2
        assert "there is no reporter 'cvs'" in result.stderr
        known = (
            "csv, hf-dataset, html, inspect, json, jsonl, junit, lm-eval, markdown, pages, parquet, pr, summary, table"
        )
        assert f"did you mean 'csv'? known: {known}" in result.stderr
