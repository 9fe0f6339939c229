"""A judge behind Ray Serve on a real cluster of this machine. ``scripts/test-models`` installs Ray."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.rewards.pool import free_ports
from benchmarks.scale.answers import TASKS, answer
from benchmarks.scale.proof import cluster
from npukernelbench.config import resolve
from npukernelbench.errors import ExecutorError
from npukernelbench.rewards import Answer, Question, RemoteScorer
from npukernelbench.rewards.client import TOKEN_VARIABLE
from npukernelbench.rewards.scorer import local_scorer

pytest.importorskip("ray")

#: Ray Serve gives a proxy five seconds to start and tries three times: too little for a busy machine.
PATIENCE = {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "120"}
TOKEN = "a secret of this test"
ENDS_S = 120


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of two replicas with a cache in common."""
    for name, value in PATIENCE.items():
        monkeypatch.setenv(name, value)
    [port] = free_ports(1)
    with cluster(2) as made:
        words = ["serve-judge", "--executor", "ray", "--executor_args", json.dumps({"address": made.address})]
        words += ["--replicas", "2", "--port", str(port), "--seed", "17", "--cache", str(tmp_path / "verdicts")]
        line = [sys.executable, "-m", "npukernelbench", *words]
        with (tmp_path / "errors").open("w") as errors:
            judge = subprocess.Popen(
                line,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, TOKEN_VARIABLE: TOKEN},
                # A shell starts what runs in its background with the signal ignored, and children inherit that.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        assert judge.stdout is not None
        address = judge.stdout.readline().strip()
        assert address, (tmp_path / "errors").read_text()
        try:
            yield address
        finally:
            judge.send_signal(signal.SIGINT)
            code = judge.wait(ENDS_S)
            judge.stdout.close()
            assert code == 0, (tmp_path / "errors").read_text()


def test_replicas_behind_ray_give_the_rewards_of_one_judge(
    served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [Answer(Question(task, "smoke"), answer(task, number)) for number in (0, 3, 6, 9) for task in TASKS[:2]]
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    remote = RemoteScorer(served)
    rewards = [reward for one in asked for reward in remote.score([one])]
    with local_scorer(resolve(options={"jobs": "1", "seed": 17})) as scorer:
        alone = scorer.score(asked)
    assert [(reward.value, reward.outcome) for reward in rewards] == [(one.value, one.outcome) for one in alone]
    assert len({reward.outcome for reward in rewards}) == 4
    kept = [path for path in (tmp_path / "verdicts").rglob("*") if path.is_file()]
    assert len(kept) == 6, "all that was judged is shared, and what holds no kernel is not judged"
    monkeypatch.setenv(TOKEN_VARIABLE, "another")
    with pytest.raises(ExecutorError, match="401"):
        RemoteScorer(served).score(asked[:1])
