"""``npukb view`` up to the point where it waits for a browser."""

from __future__ import annotations

from http.server import ThreadingHTTPServer


def test_it_says_where_it_listens_and_stops_when_interrupted(npukb, tmp_path, monkeypatch):
    def interrupted(self: ThreadingHTTPServer) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", interrupted)
    finished = npukb("view", tmp_path, "--port", "0")
    assert finished.code == 0
    assert finished.out.startswith("http://127.0.0.1:")
    assert finished.err.endswith("stopped\n")


def test_a_folder_that_is_not_there(npukb, tmp_path):
    finished = npukb("view", tmp_path / "nothing")
    assert finished.code == 2
    assert "there is no folder" in finished.err
