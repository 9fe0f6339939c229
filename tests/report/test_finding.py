"""Runs below a folder, and what is said of a folder that can hardly be one of runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.report import finding
from npukernelbench.report.finding import find_runs, only_run, runs_below
from npukernelbench.report.html.live import Library

RIGHT = {"T0/0": "o"}


def test_runs_at_any_depth_are_found(folder, tmp_path):
    near, deep = folder("near", RIGHT), folder("a/b/c/deep", RIGHT)
    (tmp_path / "a" / "link").symlink_to(tmp_path)  # a circle
    assert find_runs(tmp_path) == runs_below(tmp_path) == [deep, near]
    assert only_run(tmp_path / "a") == deep
    assert find_runs(near) == [near]


def test_a_folder_without_runs_is_told_with_what_was_looked_for_and_where(tmp_path):
    (tmp_path / "b" / "c").mkdir(parents=True)
    with pytest.raises(UsageError) as error:
        find_runs(tmp_path)
    assert error.value.message == "there is no run at or below this folder: no manifest.json in 3 folders"
    assert str(tmp_path) in str(error.value)
    assert runs_below(tmp_path) == []


def test_folders_that_cannot_be_read_are_told(tmp_path, monkeypatch):
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refused(place):
        if Path(place).name == "closed":
            raise PermissionError
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refused)
    for place, said in ((tmp_path, r"in 2 folders, 1 of which cannot be read"), (tmp_path / "no", "it does not exist")):
        with pytest.raises(UsageError, match=f"no run at or below this folder: .*{said}"):
            find_runs(place)


def test_the_search_ends(folder, tmp_path, monkeypatch):
    """What lies near is found, and named, before the search gives up; nobody gets half of the runs."""
    monkeypatch.setattr(finding, "MOST_FOLDERS", 10)
    deepest = tmp_path.joinpath(*"abcdefghijk")
    deepest.mkdir(parents=True)
    wanted = r"10 folders at and below this one were searched for a run's manifest\.json, and there are more: "
    with pytest.raises(UsageError, match=f"{wanted}none had one"):
        only_run(tmp_path)
    run = folder("z", RIGHT)
    for look in (only_run, find_runs, runs_below, Library):
        with pytest.raises(UsageError, match=f"{wanted}the runs found until then are {run}") as error:
            look(tmp_path)
        assert "name the folder that 'npukb run' writes to" in str(error.value)
    assert only_run(run) == run
