"""A pool of judges whose replicas die: is every request answered, and how long does it take?

Bursts of answers come from many clients at once while a replica is killed (-9) every so often and started again at its
address. What is measured is the pool: a judgement is a sleep (``--judging``), kernels are compiled by nobody, so the
figures say nothing of how fast judging is. Every reward is compared with what the answer deserves.

    python -m benchmarks.rewards.pool                      # 256 clients, bursts of 1,000, a kill a second, a minute
    python -m benchmarks.rewards.pool --kill_every 0       # the same in peace
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import queue
import random
import signal
import socket
import statistics
import time
from collections import Counter
from threading import Lock, Thread
from typing import Any, NamedTuple

from npukernelbench.errors import NpukbError
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.judge.score import stopped
from npukernelbench.nouns import Outcome, Owner, Stage, Tier
from npukernelbench.plugins import Plugins
from npukernelbench.rewards import Answer, JudgeServer, Question, RemoteScorer, Reward, Scorer
from npukernelbench.rewards.question import Resolved
from npukernelbench.rewards.scoring import Scored
from npukernelbench.testing import FakeExecutor, tiny_case, tiny_task

#: What an answer deserves, by the word it begins with.
WORTH = {"ok": 0.7, "zeros": 0.2}
FORKED = multiprocessing.get_context("fork")


class Plan(NamedTuple):
    """What is measured."""

    replicas: int
    jobs: int
    judging_s: float
    clients: int
    processes: int
    burst: int
    bursts: int
    period_s: float


def main() -> None:
    options = parsed()
    plan = Plan(**{name: getattr(options, name) for name in Plan._fields})
    ports = free_ports(plan.replicas)
    replicas = {port: start(port, plan) for port in ports}
    for port in ports:
        wait_for(port)
    figures = FORKED.Queue()
    # Until then all processes have started: their first bursts come together.
    begun = time.monotonic() + 1.0
    asking = [FORKED.Process(target=ask, args=(n, plan, ports, begun, figures)) for n in range(plan.processes)]
    for process in asking:
        process.start()
    kills, chance, following = 0, random.Random(options.seed), begun + options.kill_every
    told: list[tuple[list[float], dict[str, int]]] = []
    while len(told) < plan.processes:
        # Waits for figures until the next kill is due.
        with contextlib.suppress(queue.Empty):
            told.append(figures.get(timeout=max(0.0, following - time.monotonic())))
            continue
        # Without kills it only wakes up to wait again.
        following += options.kill_every or 60.0
        if options.kill_every:
            victim = chance.choice(ports)
            os.kill(replicas[victim].pid, signal.SIGKILL)
            # Until it has ended, its port is taken.
            replicas[victim].join()
            replicas[victim] = start(victim, plan)
            kills += 1
    wall_s = time.monotonic() - begun
    for process in (*asking, *replicas.values()):
        if process in replicas.values():
            process.kill()
        process.join()
    report(plan, told, kills, wall_s, options.json)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicas", type=int, default=8)
    parser.add_argument("--jobs", type=int, default=16, help="answers that a replica judges at the same time")
    parser.add_argument("--judging", type=float, default=0.2, dest="judging_s", help="seconds that a judgement sleeps")
    parser.add_argument("--clients", type=int, default=256)
    parser.add_argument("--processes", type=int, default=8, help="that the clients are spread over")
    parser.add_argument("--burst", type=int, default=1000, help="answers of all clients that come at once")
    parser.add_argument("--bursts", type=int, default=12)
    parser.add_argument("--period", type=float, default=5.0, dest="period_s", help="seconds from burst to burst")
    parser.add_argument("--kill_every", type=float, default=1.0, help="seconds; 0 kills nobody")
    parser.add_argument("--seed", type=int, default=7, help="of who is killed")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens at."""
    # All at once, so that no port is given twice.
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def start(port: int, plan: Plan) -> multiprocessing.Process:
    """A replica at this port. Forked: Python and its modules are there already."""
    process = FORKED.Process(target=serve, args=(port, plan), daemon=True)
    process.start()
    return process


class Sleeper(Scorer):
    """A scorer that sleeps in place of judging; its answers take turns as those of any other."""

    def __init__(self, jobs: int, judging_s: float) -> None:
        plugins = Plugins.load(autoload=False, environ={})
        judge = Judge(FakeExecutor(), checkers=plugins.checkers, guards=plugins.guards, settings=JudgeSettings())
        super().__init__(judge, {"TinyOne": tiny_task("TinyOne", cases=(tiny_case("a"),))}, plugins, jobs=jobs)
        self._judging_s = judging_s

    def _score(self, asked: Resolved, answer: Answer, **terms: Any) -> Scored:
        waited_s = time.monotonic() - terms["since"]
        time.sleep(self._judging_s)
        verdict = stopped(asked.question.track, Tier.TWIN, Stage.DONE, Outcome.OK)
        worth = Reward(WORTH[answer.text.split()[0]], Stage.DONE, Outcome.OK, Owner.NONE, "shaped")
        return Scored(worth, "", False, "", verdict, waited_s)


def serve(port: int, plan: Plan) -> None:
    JudgeServer(Sleeper(plan.jobs, plan.judging_s), port=port).serve_forever()


def wait_for(port: int) -> None:
    until = time.monotonic() + 30.0
    while True:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=1).close()
        if time.monotonic() > until:
            raise SystemExit(f"no replica listens at port {port}")
        time.sleep(0.02)


def ask(number: int, plan: Plan, ports: list[int], begin: float, figures: multiprocessing.Queue) -> None:
    """One process's share of the clients: each sends its part of a burst and waits for the next."""
    addresses = [f"http://127.0.0.1:{port}" for port in ports]
    clients = [RemoteScorer(addresses) for _ in range(number, plan.clients, plan.processes)]
    parts = [plan.burst // plan.clients + (who < plan.burst % plan.clients) for who in range(plan.clients)]
    sizes = parts[number :: plan.processes]
    seconds: list[float] = []
    found: Counter[str] = Counter()
    lock, burst = Lock(), 0

    def send(client: RemoteScorer, who: int, size: int) -> None:
        words = [("ok", "zeros")[index % 2] for index in range(size)]
        # No two answers are alike, so that none is answered out of what is remembered.
        answers = [Answer(Question("TinyOne"), f"{word} {burst}.{number}.{who}.{n}") for n, word in enumerate(words)]
        begun = time.monotonic()
        try:
            right = [reward.value for reward in client.score(answers)] == [WORTH[word] for word in words]
            outcome = "right" if right else "wrong"
        except NpukbError as error:
            outcome = f"not answered: {error.message}"
        with lock:
            seconds.append(time.monotonic() - begun)
            found[outcome] += 1

    for burst in range(plan.bursts):
        # The clock is the same for all processes; a burst that comes before the last one is answered waits for that.
        time.sleep(max(0.0, begin + burst * plan.period_s - time.monotonic()))
        threads = [
            Thread(target=send, args=(c, w, s)) for w, (c, s) in enumerate(zip(clients, sizes, strict=True)) if s
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    figures.put((seconds, dict(found)))


def report(plan: Plan, told: list[tuple[list[float], dict[str, int]]], kills: int, wall_s: float, plain: bool) -> None:
    seconds = sorted(one for each, _ in told for one in each)
    found = sum((Counter(each) for _, each in told), Counter())
    quantiles = statistics.quantiles(seconds, n=100, method="inclusive")
    figures = {
        **plan._asdict(),
        "requests": len(seconds),
        "outcomes": dict(found),
        "kills": kills,
        "wall_s": round(wall_s, 1),
        "answers_per_s": round(plan.bursts * plan.burst / wall_s, 1),
        "median_s": round(quantiles[49], 2),
        "p99_s": round(quantiles[98], 2),
        "longest_s": round(seconds[-1], 2),
    }
    if plain:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main()
