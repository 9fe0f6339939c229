"""Requests per second of ours, lm-eval and inspect_ai against one stub: ``python -m benchmarks.generate.run``.

One server answers after 100 ms; every harness sends 2,000 requests at each concurrency, in a process of its own, and
its best figure counts. Two scopes, each alike for all: ``run`` is a whole evaluation without judging (prompts, asking,
log and results on the disk), ``requests`` is asking alone, through each harness's own model class. Imports of the model
class and reading of the questions are outside both. Beside each rate stands the processor time per request, of the
harness and of the server: the lower of the two rates that a core could reach is the limit. Harnesses take turns, so
that a busy machine is busy for all of them; each first sends a few requests, so that the bytecode of what it imports is
compiled. With --rounds the median counts. The peers are looked for in the Python that --peers names, for instance of an
environment made with ``pip install 'lm-eval[api]' inspect-ai``.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[2]
MODULES = {"ours": "ours", "lm-eval": "lm_eval_task", "inspect_ai": "inspect_task"}
SCOPES = {"run": ("ours", "lm-eval", "inspect_ai"), "requests": ("ours", "lm-eval")}


#: Requests that are sent before anything is measured.
_WARMING = 64


class Figure(NamedTuple):
    """One harness at one concurrency. ``rate`` is 0 when it failed."""

    rate: float = 0.0
    cpu_us: float = 0.0
    server_us: float = 0.0


def main() -> None:
    """Print a table and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--rounds", type=int, default=1, help="how often each is measured at each concurrency")
    parser.add_argument("--scopes", choices=SCOPES, nargs="+", default=list(SCOPES))
    parser.add_argument("--harnesses", choices=MODULES, nargs="+", default=list(MODULES))
    parser.add_argument("--peers", default=sys.executable, help="Python of an environment with lm-eval and inspect-ai")
    options = parser.parse_args()
    port = _free_port()
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.generate.stub", str(port)], cwd=ROOT, env=_environ())
    try:
        _wait(port)
        for scope in options.scopes:
            names = [name for name in SCOPES[scope] if name in options.harnesses]
            _compare(scope, names, port, options)
    finally:
        server.kill()
        server.wait()


def _compare(scope: str, names: list[str], port: int, options: argparse.Namespace) -> None:
    pythons = {name: sys.executable if name == "ours" else options.peers for name in names}
    for name, python in pythons.items():
        _figure(name, scope, python, port, _WARMING, options.concurrency[0])
    best = dict.fromkeys(names, Figure())
    for concurrency in options.concurrency:
        rounds = [
            {
                name: _figure(name, scope, python, port, options.requests, concurrency)
                for name, python in pythons.items()
            }
            for _ in range(options.rounds)
        ]
        # The median of the rates, with what belongs to it.
        middle = {name: sorted(figures[name] for figures in rounds)[len(rounds) // 2] for name in names}
        for name, figure in middle.items():
            best[name] = max(best[name], figure)
            print(
                f"{scope:<9} {name:<11} concurrency {concurrency:>4}  {figure.rate:8.1f} requests/s  "
                f"{figure.cpu_us:6.0f} us of processor time each, server {figure.server_us:4.0f} us"
                f"{_ratio(name, middle)}",
                flush=True,
            )
    for name, figure in best.items():
        print(f"{scope:<9} best of {name:<11} {figure.rate:8.1f} requests/s{_ratio(name, best)}", flush=True)


def _ratio(name: str, figures: dict[str, Figure]) -> str:
    ours, peer = figures.get("ours", Figure()).rate, figures[name].rate
    return f"  ours is {ours / peer:.2f}x" if ours and peer and name != "ours" else ""


def _figure(name: str, scope: str, python: str, port: int, count: int, concurrency: int) -> Figure:
    """What a harness reached; what it said goes to the screen when it failed, or when the server was asked less."""
    url = f"http://127.0.0.1:{port}/v1"
    # Being asked sets the server's counters back to 0.
    _served(port)
    words = [python, "-m", f"benchmarks.generate.{MODULES[name]}", scope, url, str(count), str(concurrency)]
    done = subprocess.run(words, cwd=ROOT, env=_environ(), capture_output=True, text=True, check=False)
    served = _served(port)
    if done.returncode or served["asked"] < count:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}; the server counted {served}", flush=True)
        return Figure()
    # Libraries may print too; the measurement is the last thing a harness says.
    said = json.loads(done.stdout.splitlines()[-1])
    return Figure(count / said["seconds"], said["cpu_s"] / count * 1e6, served["cpu_s"] / count * 1e6)


def _served(port: int) -> dict[str, float]:
    """What the server counted since it was last asked."""
    with urlopen(f"http://127.0.0.1:{port}/count") as response:
        counters: dict[str, float] = json.load(response)
    return counters


def _environ() -> dict[str, str]:
    path = os.pathsep.join((str(ROOT), str(ROOT / "plugins")))
    # Without PYTHONDONTWRITEBYTECODE: the warming requests are there for the bytecode that they leave behind.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # And without proxies: one on the way would be what is measured.
    return {**environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(port: int) -> None:
    for _ in range(200):
        try:
            urlopen(f"http://127.0.0.1:{port}/count").close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("the stub does not answer")


if __name__ == "__main__":
    main()
