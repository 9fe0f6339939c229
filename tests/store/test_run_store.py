"""The run store: what was stored is there again, once, and a folder belongs to one run and one writer."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from npukernelbench.errors import StoreError, UsageError
from npukernelbench.nouns import Completion, Message, Outcome, Prompt, Sample, SampleKey, Track
from npukernelbench.nouns.results import Aggregate, Aggregates, Results, Shares, Timing, Totals
from npukernelbench.store import Manifest, RunStore, read_run

MakeSample = Callable[..., Sample]


def events(directory: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (directory / "events.jsonl").read_text(encoding="ascii").splitlines()]


def rows(directory: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(directory / "index.sqlite")) as database:
        return database.execute(query).fetchall()


def test_what_is_stored_is_there_again(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    samples = [make(2), make(0, Outcome.WRONG_VALUE), make(1, task="gelu")]
    with RunStore.open(directory, manifest) as store:
        assert store.samples() == {}
        for sample in samples:
            assert sample.completion is not None
            store.add_completion(sample.key, sample.prompt, sample.completion)
            store.add_sample(sample)
        assert dict(store.samples()) == {sample.key: sample for sample in samples}

    with RunStore.open(directory, manifest) as store:
        assert dict(store.samples()) == {sample.key: sample for sample in samples}
        assert list(store.samples()) == sorted(sample.key for sample in samples)
        assert store.finished() == {sample.key for sample in samples}
        assert store.completions()[samples[0].key] == (samples[0].prompt, samples[0].completion)

    run = read_run(directory)
    assert dict(run.samples) == {sample.key: sample for sample in samples}
    assert set(run.completions) == {sample.key for sample in samples}
    assert run.manifest == manifest
    assert run.provenance == (manifest.provenance,)
    assert run.results is None


def test_a_view_is_a_snapshot(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    with RunStore.open(directory, manifest) as store:
        before = store.samples()
        store.add_sample(make(0))
        assert len(before) == 0
        assert make(0).key not in before
        with pytest.raises(KeyError):
            before[make(0).key]
        assert make(0).key in store.samples()


def test_a_prompt_is_stored_once_even_when_hashes_collide(
    directory: Path, manifest: Manifest, make: MakeSample
) -> None:
    with RunStore.open(directory, manifest) as store:
        for index in range(3):
            store.add_sample(make(index))
        store.add_sample(make(0, task="gelu"))  # another text under the same hash
    assert [event["type"] for event in events(directory)] == ["header", "prompt", *["sample"] * 3, "prompt", "sample"]
    stored = read_run(directory).samples
    assert {sample.prompt.messages[0].content for sample in stored.values()} == {"write sqrt", "write gelu"}


def test_wall_times_stand_under_one_key(directory: Path, tmp_path: Path, manifest: Manifest, make: MakeSample) -> None:
    other = tmp_path / "other"
    for folder, seconds in ((directory, 0.1), (other, 9.0)):
        with RunStore.open(folder, manifest) as store:
            store.add_sample(make(0, seconds=seconds))
    first, second = events(directory), events(other)
    assert first != second
    for event in first + second:
        event.pop("timings", None)
    assert first == second


def test_a_final_verdict_is_never_replaced(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0, Outcome.COMPILE_ERROR))
        before = (directory / "events.jsonl").read_bytes()
        with pytest.raises(StoreError, match="sqrt/c/static/0 was judged already: compile_error"):
            store.add_sample(make(0))
        assert (directory / "events.jsonl").read_bytes() == before


def test_a_fault_of_the_infrastructure_is_retried(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    for outcome in (Outcome.INFRA_ERROR, Outcome.INFRA_ERROR, Outcome.OK):
        with RunStore.open(directory, manifest) as store:
            assert store.finished() == frozenset()
            store.add_sample(make(0, outcome))
            verdict = store.samples()[make(0).key].verdict
            assert verdict is not None
            assert verdict.outcome is outcome
    with RunStore.open(directory, manifest) as store:
        assert store.finished() == {make(0).key}
    assert rows(directory, "select outcome, owner from samples") == [("ok", "none")]


def test_a_completion_is_kept_once(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    sample = make(0)
    assert sample.completion is not None
    with RunStore.open(directory, manifest) as store:
        store.add_completion(sample.key, sample.prompt, sample.completion)
        store.add_completion(sample.key, sample.prompt, sample.completion)
        with pytest.raises(StoreError, match="has another completion already"):
            store.add_completion(sample.key, sample.prompt, Completion("something else"))
        with pytest.raises(StoreError, match="has no verdict"):
            store.add_sample(Sample(sample.key, sample.prompt, sample.completion, None, None))
    assert [event["type"] for event in events(directory)] == ["header", "prompt", "completion"]


def test_what_cannot_be_encoded_leaves_the_log_alone(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    with RunStore.open(directory, manifest) as store:
        key = SampleKey("t", "c", Track.STATIC, 0)
        with pytest.raises(TypeError):
            store.add_completion(key, Prompt((Message("user", b"x"),), "t", "h"), Completion("x"))  # type: ignore[arg-type]
        store.add_sample(make(0))
    assert set(read_run(directory).samples) == {make(0).key}


def test_another_run_in_the_folder_is_refused_with_the_fields(directory: Path, manifest: Manifest) -> None:
    RunStore.open(directory, manifest).close()
    other = Manifest({"model": "m", "model_args": {"t": 0.75, "k": 1}, "tasks": {"sqrt": "abd"}})
    with pytest.raises(UsageError) as raised:
        RunStore.open(directory, other)
    assert str(raised.value).splitlines() == [
        f"{directory}: model_args.k, model_args.t, tasks.sqrt: the folder holds another run; these fields differ:",
        "  model_args.k: absent in the folder, 1 now",
        "  model_args.t: 0.5 in the folder, 0.75 now",
        "  tasks.sqrt: 'abc' in the folder, 'abd' now",
        "  remedy: use another --output_path, or the options of that run",
    ]
    RunStore.open(directory, manifest).close()


def test_many_differences_are_cut_short(directory: Path) -> None:
    RunStore.open(directory, Manifest({f"f{i}": 0 for i in range(9)})).close()
    with pytest.raises(UsageError, match="and 3 more"):
        RunStore.open(directory, Manifest({f"f{i}": 1 for i in range(9)}))


def test_the_identity_is_compared_as_json(directory: Path) -> None:
    RunStore.open(directory, Manifest({"track": Track.STATIC, "cases": ("a", "b"), "b": 1, "a": 2})).close()
    RunStore.open(directory, Manifest({"a": 2, "b": 1, "cases": ["a", "b"], "track": "static"})).close()
    with pytest.raises(UsageError, match="b: 1 in the folder, True now"):
        RunStore.open(directory, Manifest({"a": 2, "b": True, "cases": ["a", "b"], "track": "static"}))


def test_changed_circumstances_are_recorded(directory: Path, manifest: Manifest) -> None:
    for version in ("0.1.0", "0.1.0", "0.2.0", "0.2.0", "0.1.0"):
        RunStore.open(directory, Manifest(manifest.identity, {"harness": version})).close()
    assert [provenance["harness"] for provenance in read_run(directory).provenance] == ["0.1.0", "0.2.0", "0.1.0"]


def test_a_second_writer_is_refused_and_told_whom_it_waits_for(directory: Path, manifest: Manifest) -> None:
    with RunStore.open(directory, manifest):
        with pytest.raises(UsageError, match=rf"another run is writing to this folder \(process {os.getpid()}\)"):
            RunStore.open(directory, manifest)
        read_run(directory)
    RunStore.open(directory, manifest).close()


def test_another_process_is_refused(directory: Path, manifest: Manifest) -> None:
    program = (
        "import sys; from pathlib import Path; from npukernelbench.store import Manifest, RunStore\n"
        f"RunStore.open(Path(sys.argv[1]), Manifest({dict(manifest.identity)!r}))\n"
    )
    command = [sys.executable, "-c", program, str(directory)]
    with RunStore.open(directory, manifest):
        refused = subprocess.run(command, capture_output=True, text=True, check=False)
        assert f"(process {os.getpid()})" in refused.stderr
    # It ends without closing; the operating system gives the folder back.
    subprocess.run(command, check=True)
    RunStore.open(directory, manifest).close()


def test_closing_twice_and_using_it_afterwards(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    store = RunStore.open(directory, manifest)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.add_sample(make(0))


@pytest.mark.parametrize("below", ["taken", "taken/run"])
def test_an_unwritable_folder_is_refused_at_once(tmp_path: Path, manifest: Manifest, below: str) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StoreError, match=r"(?s)taken.*cannot be written.*--output_path") as raised:
        RunStore.open(tmp_path / below, manifest)
    assert raised.value.location is not None
    assert raised.value.location.path == tmp_path / below


@pytest.mark.parametrize("name", [".lock", "events.jsonl"])
def test_a_folder_in_the_place_of_a_file(directory: Path, manifest: Manifest, name: str) -> None:
    RunStore.open(directory, manifest).close()
    (directory / name).unlink()
    (directory / name).mkdir()
    with pytest.raises(StoreError, match=rf"{name}: cannot be (written|read): Is a directory"):
        RunStore.open(directory, manifest)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder(directory: Path, manifest: Manifest) -> None:
    directory.mkdir(parents=True)
    directory.chmod(0o555)
    with pytest.raises(StoreError, match="Permission denied"):
        RunStore.open(directory, manifest)


def test_a_full_disk_loses_nothing(
    directory: Path, manifest: Manifest, make: MakeSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_write = os.write

    def write_half(descriptor: int, content: memoryview) -> int:
        if len(content) > 600:
            return real_write(descriptor, content[:500])
        raise OSError(28, "No space left on device")

    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
        before = (directory / "events.jsonl").read_bytes()
        monkeypatch.setattr(os, "write", write_half)
        with pytest.raises(StoreError, match=r"(?s)events\.jsonl: cannot be written: No space left.*free space"):
            store.add_sample(make(1))
        monkeypatch.undo()
        assert (directory / "events.jsonl").read_bytes() == before
        store.add_sample(make(1))
    assert set(read_run(directory).samples) == {make(0).key, make(1).key}


def test_an_interrupted_append_is_cut_off_by_the_next(
    directory: Path, manifest: Manifest, make: MakeSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(descriptor: int) -> None:
        raise KeyboardInterrupt

    with RunStore.open(directory, manifest) as store:
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.add_sample(make(0))
        store.add_sample(make(0))
    assert [event["type"] for event in events(directory)] == ["header", "prompt", "sample"]


def test_results_are_replaced_in_one_step_and_sorted(directory: Path, manifest: Manifest) -> None:
    with RunStore.open(directory, manifest) as store:
        store.write_results(results(identity={"z": 1, "a": (1, 2)}))
        store.write_results(results(identity={"z": 2, "a": (1, 2)}))
    text = (directory / "results.json").read_text()
    assert '  "identity": {\n    "a": [\n      1,\n      2\n    ],\n    "z": 2\n  },\n  "provenance": {},\n' in text
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert read_run(directory).results == results(identity={"z": 2, "a": [1, 2]})
    assert not list(directory.glob("*.new"))


def test_damaged_results_name_file_and_field(directory: Path, manifest: Manifest) -> None:
    with RunStore.open(directory, manifest) as store:
        store.write_results(results())
    path = directory / "results.json"
    content = json.loads(path.read_text())
    for spoiled, field in (
        ({**content, "colour": "red"}, "colour"),
        ({**content, "totals": {**content["totals"], "valid": "some"}}, "totals.valid"),
        ({name: value for name, value in content.items() if name != "samples"}, "samples"),
    ):
        path.write_text(json.dumps(spoiled))
        run = read_run(directory)
        with pytest.raises(StoreError, match=rf"results\.json: {field}: .*(?s:.*)made of the event log"):
            _ = run.results


def results(**changes: Any) -> Results:
    """Results of no sample."""
    nothing = Aggregate(0, 0, 0, 0, Shares(None, None), Shares(None, None))
    values = {"identity": {}, "provenance": {}, "samples": (), "timing": Timing({})} | changes
    return Results(2, "r", totals=Totals(0, 0, 0, 0, 0, {}, {}), aggregates=Aggregates(nothing, {}, {}, {}), **values)


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no run in this folder: it holds no manifest\.json"):
        read_run(tmp_path)


def test_the_index_can_be_queried(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
        store.add_sample(make(1, Outcome.WRONG_VALUE))
    query = 'select task, "case", track, idx, outcome, owner, stage, offset, line from samples order by idx'
    found = rows(directory, query)
    assert [row[:7] for row in found] == [
        ("sqrt", "c", "static", 0, "ok", "none", "done"),
        ("sqrt", "c", "static", 1, "wrong_value", "model", "check"),
    ]
    log = (directory / "events.jsonl").read_bytes()
    assert [json.loads(log[int(str(row[7])) :].splitlines()[0])["key"]["index"] for row in found] == [0, 1]


@pytest.mark.parametrize("damage", ["missing", "garbage", "empty", "older", "other version", "folder"])
def test_a_useless_index_is_rebuilt(directory: Path, manifest: Manifest, make: MakeSample, damage: str) -> None:
    index = directory / "index.sqlite"
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
    older = index.read_bytes()
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(1))
    index.unlink()
    if damage == "folder":
        index.mkdir()
    elif damage != "missing":
        index.write_bytes({"garbage": b"no database" * 99, "empty": b"", "older": older}.get(damage, older))
    if damage == "other version":
        with closing(sqlite3.connect(index)) as database:
            database.execute("pragma user_version = 99")
    assert len(read_run(directory).samples) == 2
    with RunStore.open(directory, manifest) as store:
        assert len(store.samples()) == 2
    if damage != "folder":
        assert rows(directory, "select count(*) from samples") == [(2,)]


def test_an_index_is_not_trusted_when_the_log_was_touched(
    directory: Path, manifest: Manifest, make: MakeSample
) -> None:
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
    log = directory / "events.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"index":0', b'"index":7'))
    assert [key.index for key in read_run(directory).samples] == [7]
