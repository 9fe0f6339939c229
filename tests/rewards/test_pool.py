"""A pool whose replicas are killed all the time: the benchmark, small enough for every day."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_request_is_answered_while_replicas_die() -> None:
    """Real processes and kill -9: a server in a thread can be stopped, but not cut off in the middle of a reply."""
    small = "--replicas 3 --jobs 4 --judging 0.03 --clients 12 --processes 2 --burst 60 --bursts 3 --period 0.4"
    command = [sys.executable, "-m", "benchmarks.rewards.pool", *small.split(), "--kill_every", "0.2", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert figures["outcomes"] == {"right": 36}
    assert figures["kills"] >= 2
    assert "Traceback" not in done.stderr  # a trainer that goes away is no error of the server
