"""Reporters: what may be one, where it may write, how pieces become text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from npukernelbench.console import Console
from npukernelbench.errors import PluginError, UsageError
from npukernelbench.plugins import Plugins, Registration
from npukernelbench.report.reporter import load_reporter, show, write
from npukernelbench.report.results import summarise
from npukernelbench.report.table import Column, Table
from npukernelbench.store import Manifest, RunStore, read_run


class Text:
    """Yields text and a table."""

    def __init__(self, file_name="x.txt"):
        self.file_name = file_name

    def render(self, run, results):
        del run, results
        yield "two\nlines"
        yield Table("T", (Column("a"),), (("✓",),), note="below")


def registration(target):
    return Registration("x", target, "mine", "", "")


@pytest.fixture
def run(tmp_path: Path):
    manifest = Manifest({"tasks": {}})
    RunStore.open(tmp_path / "run", manifest).close()
    return read_run(tmp_path / "run")


def test_what_is_no_reporter_is_refused_with_its_plugin():
    class Nameless:
        def render(self, run, results):
            return ""

    class Idle:
        file_name = "x"

    for target in (Nameless(), Idle(), len, "json:dumps"):
        with pytest.raises(
            PluginError, match=r"the reporter 'x' of plugin 'mine' lacks file_name, or render and write"
        ):
            load_reporter(registration(target))
    for name in ("results.json", "events.jsonl", "../x", "a/b", "", ".."):
        with pytest.raises(PluginError, match="cannot write to"):
            load_reporter(registration(Text(name)))


def test_text_and_tables_become_text(run, tmp_path):
    results = summarise(run.manifest, ())
    out = io.StringIO()
    show(Text(), "x", run, results, Console(stdout=out, environ={}))
    assert "two\nlines\n" in out.getvalue()
    assert "✓" in out.getvalue()
    (path,) = write(Text(), "x", run, results)
    assert path == run.directory / "x.txt"
    assert path.read_text(encoding="utf-8") == out.getvalue()
    (path,) = write(Text(), "x", run, results, tmp_path / "new" / "folder.txt")
    assert path.read_text(encoding="utf-8") == out.getvalue()


def test_a_run_is_never_written_over(run):
    before = (run.directory / "manifest.json").read_bytes()
    with pytest.raises(UsageError, match=r"manifest\.json is a file of the run itself"):
        write(Text(), "x", run, summarise(run.manifest, ()), run.directory / "manifest.json")
    assert (run.directory / "manifest.json").read_bytes() == before


def test_every_reporter_of_the_harness_is_registered_through_the_hook(run):
    """And each presents a run without a sample."""
    plugins = Plugins.load(autoload=False, environ={})
    assert " ".join(plugins.reporters) == (
        "hf-dataset html inspect json jsonl junit lm-eval markdown parquet pr summary table"
    )
    for name, reporter in plugins.reporters.items():
        if name != "parquet":
            assert write(load_reporter(reporter), name, run, summarise(run.manifest, ()))
