"""Shards of a run, and the one run that comes of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest

import npukb_search
from npukernelbench.errors import UsageError
from npukernelbench.nouns import SampleKey, Shard, Track
from npukernelbench.run.forecast import forecast
from npukernelbench.run.merge import merge
from npukernelbench.run.runner import run
from npukernelbench.store import RunStore, read_run
from npukernelbench.testing import FakeBackend

#: What the fake executor makes of the n-th sample's turns.
WORDS = (("compile_error", "ok"), ("ok", "ok"), ("double", "zeros"))


@pytest.fixture
def asked(fakes):
    """Makes the fake model answer by sample and turn; the requests that it was sent."""
    made = []

    def answer(request):
        word = WORDS[request.key.index % len(WORDS)][request.key.turn]
        return f"```cpp\n// {request.key} fake: {word}\n```"

    def backend(args):
        made.append(FakeBackend(args, answer=answer))
        return made[-1]

    fakes.backend = backend
    return made


@pytest.fixture
def shards(make_plan, plugins, watcher, asked, tmp_path):
    """``shards(3)`` runs three shards of a run of 24 samples and two turns; their folders."""

    def split(count, only=None, **changes):
        plans = [
            make_plan(**{"samples": 6, "turns": 2, "directory": tmp_path / f"{index}of{count}"} | changes)
            for index in range(1, count + 1)
        ]
        for index, plan in enumerate(plans, 1):
            if only is None or index in only:
                run(replace(plan, shard=Shard(index, count)), plugins, watcher)
        return [plan.directory for plan in plans]

    return split


def test_a_sample_is_in_one_shard_and_stays_there_whatever_is_added():
    keys = [SampleKey(f"Task{n}", case, Track.STATIC, index) for n in range(40) for case in "ab" for index in range(5)]
    holders = {key: [i for i in range(1, 17) if Shard(i, 16).takes(key)] for key in keys}
    assert {len(found) for found in holders.values()} == {1}
    assert holders[keys[0]] == [
        3
    ]  # of the key alone: a release that moves samples breaks every split that is under way
    for key, holder in holders.items():
        assert Shard(holder[0], 16).takes(key.following)
    sizes = Counter(found[0] for found in holders.values())
    assert len(sizes) == 16
    assert 10 < min(sizes.values()) <= max(sizes.values()) < 45


def test_merged_shards_are_the_run_that_was_never_split(make_plan, shards, plugins, watcher, tmp_path):
    whole = make_plan(samples=6, turns=2, directory=tmp_path / "whole")
    run(whole, plugins, watcher)
    folders = shards(3)
    merged = merge([folders[2], folders[0], folders[1]], tmp_path / "deep" / "merged", plugins)
    here, there = read_run(merged.directory), read_run(whole.directory)
    assert (merged.shards, merged.samples, merged.faulted) == (3, 24, ())
    assert here.manifest.identity == there.manifest.identity
    assert dict(here.completions) == dict(there.completions)
    assert len(here.samples) == len(there.samples) == 40  # the first turns of 16 conversations were wrong
    for key, sample in there.samples.items():
        assert untimed(here.samples[key]) == untimed(sample)
    assert set(here.samples) == set(there.samples)
    assert comparable(merged.directory) == comparable(whole.directory)
    parts = json.loads((merged.directory / "manifest.json").read_text())["provenance"]["shards"]
    assert [part["shard"] for part in parts] == ["1/3", "2/3", "3/3"]
    assert [part["run_id"] for part in parts] == [read_run(folder).manifest.run_id for folder in folders]
    assert not [path for path in merged.directory.parent.iterdir() if path != merged.directory]


def test_the_merged_folder_is_resumed_by_the_command_without_shards(make_plan, shards, plugins, watcher, asked):
    merged = merge(shards(2), make_plan().directory, plugins)
    asked.clear()
    before = (merged.directory / "events.jsonl").read_text().count('"type":"sample"')
    again = run(make_plan(samples=6, turns=2, directory=merged.directory), plugins, watcher)
    assert (again.total, asked[0].requests) == (24, [])
    assert (merged.directory / "events.jsonl").read_text().count('"type":"sample"') == before


def test_a_shard_resumes_and_says_what_it_is(make_plan, shards, plugins, watcher, asked):
    folders = shards(2)
    manifest = json.loads((folders[0] / "manifest.json").read_text())
    assert manifest["identity"]["shard"] == "1/2"
    said = [text for text in watcher.messages if text.startswith("shard")]
    held = [len({key.conversation for key in read_run(folder).samples}) for folder in folders]
    assert said == [f"shard 1/2: {held[0]} of 24 samples", f"shard 2/2: {held[1]} of 24 samples"]
    asked.clear()
    shards(2)
    assert [backend.requests for backend in asked] == [[], []]
    plan = make_plan(samples=6, turns=2, directory=folders[0])
    with pytest.raises(UsageError, match=r"shard: '1/2' in the folder, '2/2' now"):
        run(replace(plan, shard=Shard(2, 2)), plugins, watcher)


def test_shards_without_samples_are_no_gaps(shards, plugins, tmp_path):
    folders = shards(9, samples=1)
    sizes = [len(read_run(folder).results.samples) for folder in folders]
    assert sum(sizes) == 4
    assert 0 in sizes
    assert merge(folders, tmp_path / "out", plugins).samples == 4


def test_a_search_is_over_when_it_proposes_nothing_more(shards, plugins, tmp_path):
    plugins.register(npukb_search, "npukb_search")
    folders = shards(2, samples=1, strategy="best-of", strategy_args={"calls": 2})
    assert len(merge(folders, tmp_path / "out", plugins).results.samples) == 4


def test_what_is_no_whole_run_is_refused_and_named(shards, plugins, watcher, make_plan, tmp_path):
    first, second, third = shards(3)
    other, _ = shards(2, only=(1,))
    (foreign,) = shards(1, samples=5, seed=4)
    unsplit = make_plan(directory=tmp_path / "unsplit")
    run(unsplit, plugins, watcher)
    out = tmp_path / "out"
    refusals = {
        (first, third): ["1 of 3 shards are missing: 2/3"],
        (first,): ["2 of 3 shards are missing: 2/3, 3/3"],
        (first, second, second, third): [f"shard 2/3 is there 2 times: {second}, {second}"],
        (first, second, third, other): [f"{other} (shard 1/2) is of another split than {first} (shard 1/3)"],
        (first, second, foreign): [
            f"{foreign} (shard 1/1) is of another run than {first}: samples, seed differ",
            f"{foreign} (shard 1/1) is of another split",
            "1 of 3 shards are missing: 3/3",
        ],
        (first, unsplit.directory): [f"{unsplit.directory}: this is a whole run and no shard"],
        (first, tmp_path): [f"{tmp_path}: there is no run in this folder"],
    }
    for folders, words in refusals.items():
        with pytest.raises(UsageError) as refused:
            merge(folders, out, plugins)
        assert all(word in str(refused.value) for word in words), (str(refused.value), words)
        assert not out.exists()
    with pytest.raises(UsageError, match="this folder is not empty"):
        merge([first, second, third], first, plugins)


def test_an_unfinished_shard_and_a_foreign_sample_are_refused(shards, plugins, tmp_path):
    first, second = shards(2)
    log = first / "events.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if '"turn":1' in line and '"type":"sample"' in line)
    log.write_text("".join(lines[:last]))  # killed before the verdict on a second turn
    with pytest.raises(UsageError, match=r"1of2 \(shard 1/2\): \d+ of \d+ samples are not finished: Tiny"):
        merge([first, second], tmp_path / "out", plugins)
    log.write_text("".join(lines))
    stranger = next(iter(read_run(first).samples.values()))
    with RunStore.open(second, read_run(second).manifest) as store:
        store.add_samples([stranger])
    with pytest.raises(UsageError, match=r"2of2 \(shard 2/2\) holds 1 samples that are not its own: Tiny"):
        merge([first, second], tmp_path / "out", plugins)


def test_faults_of_ours_come_along_and_their_shards_are_named(shards, plugins, fakes, tmp_path):
    def answer(request):
        return "fault: away" if str(request.key).startswith("TinyOne/a/static/0") else "```cpp\n// fake: ok\n```"

    fakes.backend = lambda args: FakeBackend(args, answer=answer)
    folders = shards(2)
    merged = merge(folders, tmp_path / "out", plugins)
    holder = next(str(Shard(i, 2)) for i in (1, 2) if Shard(i, 2).takes(SampleKey("TinyOne", "a", Track.STATIC, 0)))
    assert merged.faulted == (holder,)
    assert (merged.results.totals.samples, merged.results.totals.valid) == (24, 23)


def test_answers_that_nobody_judged_are_merged_and_judged_then(make_plan, shards, plugins, watcher, asked, tmp_path):
    folders = shards(2, predict_only=True)
    merged = merge(folders, tmp_path / "out", plugins)
    assert (merged.samples, merged.results) == (24, None)
    assert len(read_run(merged.directory).completions) == 24
    asked.clear()
    judged = run(make_plan(samples=6, turns=2, directory=merged.directory), plugins, watcher)
    assert judged.total == judged.valid == 24
    assert {request.key.turn for request in asked[0].requests} == {1}


def test_a_forecast_is_that_of_the_shard(make_plan, plugins):
    plan = make_plan(samples=6, turns=2)
    whole = forecast(plan, plugins)
    parts = [forecast(replace(plan, shard=Shard(index, 4)), plugins) for index in range(1, 5)]
    assert whole.samples == 24
    for count in ("samples", "requests", "most_answer_tokens"):
        assert sum(getattr(part, count) for part in parts) == getattr(whole, count)


def test_a_price_that_shards_do_not_share_is_left_out(shards, plugins, tmp_path):
    first, second = shards(2)
    for folder, price in ((first, 1.0), (second, 2.0)):
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["provenance"]["price"] = {"input": price, "output": price, "currency": "USD"}
        (folder / "manifest.json").write_text(json.dumps(manifest))
    merged = read_run(merge([first, second], tmp_path / "out", plugins).directory)
    assert "price" not in merged.manifest.provenance
    assert merged.manifest.provenance["shards"][1]["price"]["input"] == 2.0
    assert merged.results.spent.cost is None


def untimed(sample):
    return replace(sample, verdict=replace(sample.verdict, timings={}))


def comparable(folder):
    """Results without wall times and circumstances."""
    results = json.loads((folder / "results.json").read_text())
    return {name: value for name, value in results.items() if name not in ("timing", "provenance")}
