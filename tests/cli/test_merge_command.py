"""``npukb run --shard`` and ``npukb merge``: folders, tables, exit codes, and what else reads the merged run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

RUN = (
    "run",
    "--model",
    "fake",
    "--executor",
    "fake",
    "--tasks",
    "Sqrt:smoke,Gelu:smoke,Muls:smoke",
    "-n",
    "3",
    "--seed",
    "7",
)


@pytest.fixture
def shards(npukb, fake) -> list[Path]:
    """The folders of a run in two shards."""
    for index in (1, 2):
        done = npukb(*RUN, "--shard", f"{index}/2")
        assert done.code == 0, done.err
        assert f"shard {index}/2: " in done.err + done.out
    return sorted(Path("results").glob("*__*of2"))


def test_a_merged_run_is_read_by_everything_that_reads_runs(npukb, shards):
    whole = Path(str(shards[0]).removesuffix("__1of2"))
    assert [folder.name for folder in shards] == [f"{whole.name}__1of2", f"{whole.name}__2of2"]
    merged = npukb("merge", *shards, "--out", whole, "--fail_under", "1")
    assert (merged.code, merged.out.splitlines()[0]) == (0, f"2 shards, 9 samples: {whole}"), merged.err
    assert "9 of 9 valid samples correct" in npukb("report", whole).out
    assert "shard 1/2: " in npukb("report", shards[0], "--format", "table").out
    ranked = npukb("leaderboard", "results")
    assert f"{shards[0]}: shard 1/2 is part of a run" in ranked.err + ranked.out
    again = npukb(*RUN)
    assert (again.code, "nothing to do, all 9 samples were finished" in again.err) == (0, True)
    assert npukb("export", whole, "-o", "rows.jsonl").code == 0
    assert len(Path("rows.jsonl").read_text().splitlines()) == 9
    rejudged = npukb("rejudge", whole, "--json")
    assert (rejudged.code, rejudged.json["totals"]["correct"]) == (0, 9), rejudged.err
    compared = npukb("compare", whole, rejudged.json["directory"], "--json")
    assert compared.code == 0, compared.err


def test_a_shard_is_rejudged_as_a_shard(npukb, shards):
    samples = npukb("report", shards[0], "--json").json["totals"]["samples"]
    rejudged = npukb("rejudge", shards[0], "--json")
    assert rejudged.code == 0, rejudged.err
    assert rejudged.json["totals"]["samples"] == samples
    assert rejudged.json["identity"]["shard"] == "1/2"


def test_merging_says_what_is_wrong_and_writes_nothing(npukb, shards):
    missing = npukb("merge", shards[0], "--out", "merged")
    assert (missing.code, missing.out) == (2, "")
    assert "1 of 2 shards are missing: 2/2" in missing.err
    assert "metrics: correct@1" in npukb("merge", *shards, "--out", "merged", "--fail_under", "speed=1").err
    assert npukb("merge", "--out", "merged").code == 2
    assert not Path("merged").exists()
    missed = npukb("merge", *shards, "--out", "merged", "--fail_under", "correct=1.1", "--json")
    assert (missed.code, missed.json["directory"]) == (1, "merged")


def test_shards_need_a_seed_that_all_of_them_have(npukb, fake):
    refused = npukb(*RUN[:-2], "--shard", "1/2")
    assert refused.code == 2
    assert "have to draw the same inputs" in refused.err
    assert "give every shard the same secret number, for instance --seed " in refused.err


def test_faults_of_ours_end_with_4(npukb, fake):
    words = json.dumps({"text": "fault: away"})
    for index in (1, 2):
        assert npukb(*RUN, "--model_args", words, "--shard", f"{index}/2").code == 4
    merged = npukb("merge", *sorted(Path("results").iterdir()), "--out", "merged")
    assert merged.code == 4
    assert "shards 1/2, 2/2 hold faults of the infrastructure; run them again and merge again" in merged.err
