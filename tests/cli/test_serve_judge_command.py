"""What ``npukb serve-judge --replicas`` refuses before anything is started."""

from __future__ import annotations

import pytest

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
