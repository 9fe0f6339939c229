"""Kill it anywhere: a log cut at any byte loses at most the last event, and damage elsewhere is located."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from npukernelbench.errors import StoreError
from npukernelbench.nouns import Completion, Outcome, Sample
from npukernelbench.store import Manifest, RunStore, read_run

MakeSample = Callable[..., Sample]

WRITER = """
import sys
from pathlib import Path
from npukernelbench.nouns import *
from npukernelbench.store import Manifest, RunStore

with RunStore.open(Path(sys.argv[1]), Manifest({"model": "m"})) as store:
    done = store.finished()
    for index in range(1000):
        key = SampleKey("t", "c", Track.STATIC, index)
        if key not in done:
            verdict = Verdict(Track.STATIC, Tier.TWIN, Stage.DONE, Outcome.OK, Owner.NONE)
            prompt = Prompt((Message("user", f"prompt {index}" * 999),), "t@1", "h")
            store.add_sample(Sample(key, prompt, Completion("x" * 9999), None, verdict))
            sys.stdout.write(f"{index}\\n")
            sys.stdout.flush()
"""


@pytest.fixture
def log(directory: Path, manifest: Manifest, make: MakeSample) -> Path:
    """A small log: one infrastructure fault that was retried, two prompts, two completions, three final samples."""
    with RunStore.open(directory, manifest) as store:
        for sample in (make(0, Outcome.INFRA_ERROR), make(1), make(0), make(0, task="gelu")):
            if sample.key not in store.completions():
                assert sample.completion is not None
                store.add_completion(sample.key, sample.prompt, sample.completion)
            store.add_sample(sample)
    return directory / "events.jsonl"


def expected(content: bytes) -> tuple[dict[tuple[str, int], str], set[tuple[str, int]]]:
    """Outcome by sample, and the completions, of the whole lines in ``content``; read independently of the store."""
    samples, completions = {}, set()
    for line in content.split(b"\n")[:-1]:
        event = json.loads(line)
        if event["type"] in ("sample", "completion"):
            key = (event["key"]["task"], event["key"]["index"])
            if event["type"] == "sample":
                samples[key] = event["verdict"]["outcome"]
            else:
                completions.add(key)
    return samples, completions


def test_a_log_cut_at_every_byte(
    directory: Path, manifest: Manifest, make: MakeSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # thousands of them; when it is called is tested below
    faulty, again, other = (
        replace(sample, completion=None, candidate=None, verdict=replace(sample.verdict, cases=()))
        for sample in (make(0, Outcome.INFRA_ERROR), make(0), make(0, task="gelu"))
        if sample.verdict is not None
    )
    with RunStore.open(directory, manifest) as store:
        store.add_sample(faulty)
        store.add_completion(again.key, again.prompt, Completion("x"))
        store.add_sample(again)
        store.add_sample(other)
    log = directory / "events.jsonl"
    whole = log.read_bytes()
    assert whole.count(b"\n") == 7
    for size in range(len(whole) + 1):
        log.write_bytes(whole[:size])
        samples, completions = expected(whole[:size])
        reading = read_run(directory)
        with RunStore.open(directory, manifest) as store:
            found = store.samples()
            assert set(found) == set(reading.samples)
            assert {(k.task, k.index): v.verdict.outcome.value for k, v in found.items() if v.verdict} == samples
            assert {(key.task, key.index) for key in store.completions()} == completions
            for sample in (again, other):
                if sample.key not in store.finished():
                    store.add_sample(sample)
            assert dict(store.samples()) == {again.key: again, other.key: other}
        lines = log.read_bytes().split(b"\n")
        assert lines[-1] == b""
        assert json.loads(lines[0])["type"] == "header"


def test_a_torn_line_is_cut_off_with_a_warning(
    directory: Path, manifest: Manifest, log: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"type":"sam')
    with caplog.at_level(logging.WARNING):
        read_run(directory)
        assert log.read_bytes() == whole + b'{"type":"sam'
        RunStore.open(directory, manifest).close()
    assert log.read_bytes() == whole
    assert caplog.messages == [f"{log}: cutting off 12 bytes of an unfinished last line"]


@pytest.mark.parametrize("tail", [b"\0" * 500, b"\0" * 500 + b"\n", b"garbage\n", b"\xff\xfe\n", b"[1]\n", b"\n"])
def test_a_last_line_that_is_no_event_is_torn(directory: Path, manifest: Manifest, log: Path, tail: bytes) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole + tail)
    RunStore.open(directory, manifest).close()
    assert log.read_bytes() == whole


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_before_the_last_line_is_located(
    data: st.DataObject, directory: Path, manifest: Manifest, log: Path
) -> None:
    whole = log.read_bytes()
    lines = whole.split(b"\n")[:-1]
    number = data.draw(st.integers(0, len(lines) - 2))
    replacement = data.draw(st.sampled_from([b"", b"garbage", lines[number][:-1], b"[]", b'{"type":"new"}', b"\0\0"]))
    try:
        log.write_bytes(b"\n".join([*lines[:number], replacement, *lines[number + 1 :], b""]))
        for open_it in (lambda: read_run(directory), lambda: RunStore.open(directory, manifest)):
            with pytest.raises(StoreError, match="the event log is damaged") as raised:
                open_it()
            assert raised.value.location is not None
            assert (raised.value.location.path, raised.value.location.line) == (log, number + 1)
        log.write_bytes(b"\n".join([*lines[:number], b""]))  # what the remedy says
        RunStore.open(directory, manifest).close()
    finally:
        log.write_bytes(whole)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"index":1', b'"index":"1"', "key.index: expected a whole number"),
        (b'"outcome":"ok","owner"', b'"outcome":"fine","owner"', "'fine' is not a valid Outcome"),
        (b'"track":"static","index":1', b'"index":1', "key.track: missing"),
        (b'"verdict":{', b'"opinion":{', "verdict: missing"),
    ],
)
def test_a_wrong_field_is_located_on_opening(
    directory: Path, manifest: Manifest, make: MakeSample, old: bytes, new: bytes, message: str
) -> None:
    with RunStore.open(directory, manifest) as store:
        for index in range(3):
            store.add_sample(make(index))
    log = directory / "events.jsonl"
    lines = log.read_bytes().split(b"\n")
    assert old in lines[3]
    lines[3] = lines[3].replace(old, new, 1)
    log.write_bytes(b"\n".join(lines))
    with pytest.raises(StoreError, match=f"(?s)events.jsonl:4: the event log is damaged: {message}"):
        RunStore.open(directory, manifest)


def test_a_wrong_field_deep_inside_is_located_on_reading(directory: Path, manifest: Manifest, make: MakeSample) -> None:
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
        store.add_sample(make(1))
    log = directory / "events.jsonl"
    lines = log.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"max_abs_error":0.5', b'"max_abs_error":"?"')
    log.write_bytes(b"\n".join(lines))
    samples = read_run(directory).samples
    assert samples[make(1).key] == make(1)
    with pytest.raises(StoreError, match=r"events\.jsonl:3: .*sample\.verdict\.cases\[0\]\.metrics\.max_abs_error"):
        samples[make(0).key]


def test_a_final_sample_written_twice_is_damage(directory: Path, manifest: Manifest, log: Path) -> None:
    lines = log.read_bytes().split(b"\n")
    log.write_bytes(b"\n".join([*lines[:-1], lines[-2], b""]))
    with pytest.raises(StoreError, match=rf"events\.jsonl:{len(lines)}: .*gelu/c/static/0 appears twice, first in"):
        RunStore.open(directory, manifest)


def test_a_newer_format_is_refused(directory: Path, manifest: Manifest, log: Path) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b'"schema":1', b'"schema":2', 1))
    with pytest.raises(StoreError, match=r"(?s)events\.jsonl:1: has schema version 2.*update npukernelbench"):
        RunStore.open(directory, manifest)
    log.write_bytes(whole)
    path = directory / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 2'))
    with pytest.raises(StoreError, match=r"manifest\.json: has schema version 2"):
        read_run(directory)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"manifest\.json:1:1: is not JSON"),
        ("[]", "does not hold a JSON object"),
        ("{}", "has no schema version"),
        ('{"schema": true}', "has no schema version"),
        ('{"schema": 1}', "lacks identity or provenance"),
        (
            '{"schema": 1, "identity": {"model": "x"}, "provenance": {}, "run_id": "0"}',
            "does not belong to the identity",
        ),
    ],
)
def test_a_damaged_manifest(directory: Path, manifest: Manifest, content: str, message: str) -> None:
    RunStore.open(directory, manifest).close()
    (directory / "manifest.json").write_text(content)
    with pytest.raises(StoreError, match=message):
        RunStore.open(directory, manifest)
    with pytest.raises(StoreError, match=message):
        read_run(directory)


def test_a_log_without_its_manifest(directory: Path, manifest: Manifest, log: Path) -> None:
    (directory / "manifest.json").unlink()
    with pytest.raises(StoreError, match="there is an event log but no manifest"):
        RunStore.open(directory, manifest)


def test_a_log_of_another_run(directory: Path, tmp_path: Path, manifest: Manifest, log: Path) -> None:
    other = Manifest({"model": "other"})
    RunStore.open(tmp_path / "two", other).close()
    (tmp_path / "two" / "events.jsonl").write_bytes(log.read_bytes())
    with pytest.raises(
        StoreError, match=f"the log belongs to run {manifest.run_id}, the manifest to run {other.run_id}"
    ):
        RunStore.open(tmp_path / "two", other)


@pytest.mark.parametrize("present", [(), ("manifest.json",), ("manifest.json", ".lock")])
def test_a_folder_that_was_only_begun(
    directory: Path, manifest: Manifest, make: MakeSample, present: tuple[str, ...]
) -> None:
    RunStore.open(directory, manifest).close()
    for path in directory.iterdir():
        if path.name not in present:
            path.unlink()
    with RunStore.open(directory, manifest) as store:
        store.add_sample(make(0))
    assert set(read_run(directory).samples) == {make(0).key}


@pytest.mark.parametrize("acknowledged", [0, 1, 7, 20])
def test_a_killed_writer_loses_at_most_what_it_was_writing(directory: Path, acknowledged: int) -> None:
    with subprocess.Popen([sys.executable, "-c", WRITER, str(directory)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        seen = [process.stdout.readline() for _ in range(acknowledged)]
        process.send_signal(signal.SIGKILL)
        seen += process.stdout.readlines()
    assert process.returncode == -signal.SIGKILL
    told = {int(line) for line in seen if line.endswith(b"\n")}
    if not (directory / "manifest.json").exists():
        assert told == set()
        return
    stored = {key.index for key in read_run(directory).samples}
    assert told <= stored
    assert len(stored - told) <= 1
    with RunStore.open(directory, Manifest({"model": "m"})) as store:
        assert {key.index for key in store.finished()} == stored
        assert all(sample.completion is not None for sample in store.samples().values())


def test_writing_is_synced_before_it_returns(
    directory: Path, manifest: Manifest, make: MakeSample, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []
    real = os.fsync

    def spy(descriptor: int) -> None:
        real(descriptor)
        synced.append(os.fstat(descriptor).st_size)

    with RunStore.open(directory, manifest) as store:
        monkeypatch.setattr(os, "fsync", spy)
        store.add_sample(make(0))
        assert synced == [(directory / "events.jsonl").stat().st_size]
