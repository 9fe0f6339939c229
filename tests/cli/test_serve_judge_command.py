"""What ``npukb serve-judge --replicas`` refuses before anything is started."""

from __future__ import annotations

import pytest

from npukernelbench.console import Console
from npukernelbench.rewards import JudgeServer
from tests.cli.conftest import Npukb


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--replicas", "2"], "executor 'twin' knows no cluster"),
        (["--replicas", "none"], "'none' is no number of replicas"),
        (["--replicas", "2", "--port", "0", "--executor", "ray"], "need a port that is known before"),
        (["--replicas", "2", "--log", "judge.jsonl", "--executor", "ray"], "replicas are on many machines"),
        (["--replicas", "2", "--host", "0.0.0.0", "--executor", "ray"], "can be reached by others"),
    ],
)
def test_replicas_that_cannot_be_served_are_refused(npukb: Npukb, words: list[str], message: str) -> None:
    done = npukb("serve-judge", *words)
    assert done.code == 2
    assert message in done.err
    assert "remedy" in done.err


def test_the_address_is_told_before_anybody_is_served(npukb: Npukb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output into a pipe is buffered."""
    done: list[str] = []

    def served(self: JudgeServer) -> None:
        done.append("served")
        raise KeyboardInterrupt

    monkeypatch.setattr(Console, "flush", lambda self: done.append("flushed"))
    monkeypatch.setattr(JudgeServer, "serve_forever", served)
    assert npukb("serve-judge", "--port", "0").out.startswith("http://127.0.0.1:")
    assert done[:2] == ["flushed", "served"]
