"""Runs in object storage: pushed again and again, pulled whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.errors import StoreError, UsageError
from npukernelbench.nouns import Outcome
from npukernelbench.store import Manifest, RunStore, read_run
from npukernelbench.store.objects import pull, push
from npukernelbench.testing.samples import judged_sample

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture(params=["file", "memory", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A URL of each kind of storage. moto's server speaks S3 over HTTP."""
    if request.param == "file":
        yield f"file://{tmp_path}/bucket/run"
    elif request.param == "memory":
        yield f"memory://{tmp_path.name}/run"
    else:
        s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
        s3fs.S3FileSystem.clear_instance_cache()  # else the server of another test is asked
        server = pytest.importorskip("moto.server", reason="moto is not installed").ThreadedMotoServer(
            ip_address="127.0.0.1", port=0
        )
        server.start()
        host, port = server.get_host_and_port()
        for name, value in {
            "ENDPOINT_URL": f"http://{host}:{port}",
            "ACCESS_KEY_ID": "t",
            "SECRET_ACCESS_KEY": "t",
        }.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        fsspec.filesystem("s3").mkdir(f"bucket-{port}")  # moto's buckets outlive its server
        yield f"s3://bucket-{port}/run"
        server.stop()


def add(directory: Path, *indices: int, model: str = "m") -> Path:
    with RunStore.open(directory, Manifest({"model": model})) as store:
        store.add_samples([judged_sample(Outcome.OK, index=index) for index in indices])
    return directory


def listed(url: str) -> list[str]:
    files, root = fsspec.core.url_to_fs(url)
    return sorted(path.rsplit("/", 1)[-1] for path in files.find(root))


def test_a_run_that_goes_on_is_pushed_in_parts_and_comes_back_whole(place, tmp_path, monkeypatch):
    monkeypatch.setattr("npukernelbench.store.objects._SEGMENT_BYTES", 1000)
    run = add(tmp_path / "run", 0, 1, 2)
    first = push(run, place)
    assert first.segments >= 2
    assert first.size == (run / "events.jsonl").stat().st_size
    before = listed(place)
    add(run, 3)
    with (run / "events.jsonl").open("ab") as log:
        log.write(b'{"type": "sam')  # a line that is being written
    (run / "results.json").write_text("{}")
    second = push(run, place)
    assert second.segments >= 1
    assert set(before) < set(listed(place))  # nothing that was there has changed
    assert push(run, place) == (0, 0)
    pulled = pull(place, tmp_path / "there" / "run")
    assert pulled.size == first.size + second.size
    whole = (run / "events.jsonl").read_bytes()
    assert (tmp_path / "there/run/events.jsonl").read_bytes() == whole[: whole.rfind(b"\n") + 1]
    assert (tmp_path / "there/run/results.json").read_text() == "{}"
    assert len(read_run(tmp_path / "there" / "run").samples) == 4
    add(tmp_path / "there" / "run", 4)  # and goes on


def test_a_place_belongs_to_one_run(place, tmp_path):
    run = add(tmp_path / "run", 0)
    push(run, place)
    with pytest.raises(UsageError, match="holds another run"):
        push(add(tmp_path / "other", 0, model="another"), place)
    with pytest.raises(UsageError, match="events that this folder does not have"):
        push(add(tmp_path / "again", 1), place)  # the same run, elsewhere
    assert len(listed(place)) == 2
    with pytest.raises(UsageError, match="there already"):
        pull(place, run)
    with pytest.raises(UsageError, match="no run is at"):
        pull(f"{place}/nothing", tmp_path / "new")
    with pytest.raises(UsageError, match="no run is here"):
        push(tmp_path / "nothing", place)


def test_what_is_missing_or_damaged_is_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr("npukernelbench.store.objects._SEGMENT_BYTES", 600)
    url = f"file://{tmp_path}/bucket/run"
    push(add(tmp_path / "run", 0, 1, 2), url)
    first, second, *_ = sorted((tmp_path / "bucket/run/events").iterdir())
    content = second.read_bytes()
    second.write_bytes(content.replace(b"Sqrt", b"Sqrd"))
    with pytest.raises(StoreError, match="is damaged"):
        pull(url, tmp_path / "new")
    second.write_bytes(content)
    first.rename(tmp_path / "gone")
    with pytest.raises(StoreError, match="what follows byte 0 is missing"):
        pull(url, tmp_path / "new")
    assert not list(tmp_path.glob("*new*"))
    with pytest.raises(StoreError, match="cannot be used: ValueError"):
        push(tmp_path / "run", "nosuch://bucket/run")
