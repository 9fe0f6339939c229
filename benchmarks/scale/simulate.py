"""Where a cluster saturates: one run on Ray, runs in shards, and a pool of judges, with 1 to 1,000 nodes.

A model, in SimPy, of what was measured on one machine (``measured.json``); no cluster of this size was ever run. Nodes
have cores that judge, one kernel each. What one process does for all of them serves one at a time: the process of a run
(a call of Ray, the answer and the verdict to the disk), a client of judges, and the Python of a judge. Nodes fail, and
kernels of theirs begin again.

    python -m benchmarks.scale.simulate
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import simpy

MEASURED = Path(__file__).with_name("measured.json")
NODES = (1, 4, 16, 64, 256, 1024)
#: How much longer than that of a small case a judgement takes.
FACTORS = (1.0, 10.0)
#: Nodes fail once in thirty days; a process is reached by ten gigabits a second.
_FAILURES_PER_S = 1.0 / (30 * 86400.0)
_BYTES_PER_S = 1.25e9


class Way(NamedTuple):
    """How nodes are used. ``shared_s`` is what a judgement takes of the process that hands it out to many nodes;
    ``node_s`` what it takes of the one Python process of its node, 0 where each core has its own; ``groups`` are parts
    of the cluster that share nothing, of ``processes`` that hand out."""

    name: str
    shared_s: float
    node_s: float
    processes: int
    groups: Callable[[int], int]


class Rate(NamedTuple):
    """What came of a simulation: judgements a second, and how busy the cores were, the processes that hand out, and the
    processes of the nodes."""

    per_s: float
    cores: float
    shared: float
    node: float


def ways(measured: Mapping[str, Any]) -> tuple[Way, ...]:
    """Those that are compared."""
    stored_s = measured["store_cpu_s"] + measured["store_disk_s"]
    sent_s = (measured["request_bytes"] + measured["store_bytes"]) / _BYTES_PER_S
    called_s = stored_s + measured["ray_call_cpu_s"] + sent_s
    own_s, asked_s = measured["judgement_own_s"], measured["client_cpu_s"] + sent_s
    served_s = own_s + measured["server_cpu_s"]
    return (
        Way("one run on Ray", called_s, 0.0, 1, lambda _: 1),
        Way("a run on Ray for each 16 nodes", called_s, 0.0, 1, lambda nodes: -(-nodes // 16)),
        Way("a shard for each node", 0.0, own_s + stored_s, 1, lambda nodes: nodes),
        Way("four judges for each node, 1 client", asked_s, served_s / 4, 1, lambda _: 1),
        Way("a judge for each node, 256 clients", asked_s, served_s, 256, lambda nodes: min(nodes, 256)),
        Way("four judges for each node, 256 clients", asked_s, served_s / 4, 256, lambda nodes: min(nodes, 256)),
    )


def simulate(way: Way, nodes: int, judging_s: Sequence[float], *, cores: int, judgements: int, seed: int) -> Rate:
    """All cores are kept busy as far as can be: somebody asks anew as soon as one is free."""
    env, chance = simpy.Environment(), random.Random(seed)
    groups = way.groups(nodes)
    own = max(1, nodes // groups)  # groups behave alike: one is simulated
    shared = simpy.Resource(env, max(1, way.processes // groups))
    processes = [simpy.Resource(env) for _ in range(own)]
    done: list[float] = []
    busy = {"cores": 0.0, "shared": 0.0, "node": 0.0}

    def used(resource: simpy.Resource, name: str, spent_s: float) -> Iterator[simpy.Event]:
        with resource.request() as turn:
            yield turn
            yield env.timeout(spent_s)
            busy[name] += spent_s

    def core(process: simpy.Resource) -> Iterator[simpy.Event]:
        while True:
            if way.shared_s:
                yield from used(shared, "shared", way.shared_s)
            spent_s = chance.choice(judging_s)
            while chance.random() < spent_s * _FAILURES_PER_S:  # the node fails, and somebody begins again
                yield env.timeout(spent_s * chance.random())
            if way.node_s:
                yield from used(process, "node", way.node_s)
            yield env.timeout(max(0.0, spent_s - way.node_s))
            busy["cores"] += spent_s
            done.append(env.now)

    for process in processes:
        for _ in range(cores):
            env.process(core(process))
    # Some for each core, however many there are, since half of them are left out below.
    while len(done) < max(judgements, 4 * own * cores):
        env.step()
    # The beginning, when all ask at once, is left out.
    first = len(done) // 2
    per_s = (len(done) - 1 - first) / (done[-1] - done[first])
    share = {"cores": own * cores, "shared": shared.capacity, "node": own}
    return Rate(per_s * groups, *(busy[name] / (env.now * share[name]) for name in share))


def knee(rates: Sequence[tuple[int, Rate]]) -> int:
    """The most nodes that are at least nine tenths as fast, each, as the first."""
    each = rates[0][1].per_s / rates[0][0]
    return max(nodes for nodes, rate in rates if rate.per_s / nodes >= 0.9 * each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, default=MEASURED)
    parser.add_argument("--cores", type=int, default=16, help="of a node")
    parser.add_argument("--judgements", type=int, default=5000, help="of each simulation, at least")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--price", type=float, default=0.04, help="of a core for an hour; an assumption")
    options = parser.parse_args()
    measured = json.loads(options.measured.read_text())
    for factor in FACTORS:
        judging_s = [factor * spent_s for spent_s in measured["judgement_core_s"]]
        mean_s = statistics.fmean(judging_s)
        print(f"judgements of {mean_s:.2f} s of a core, {options.cores} cores a node")
        for way in ways(measured):
            rates = []
            for nodes in NODES:
                wanted = {"cores": options.cores, "judgements": options.judgements, "seed": options.seed}
                rate = simulate(way, nodes, judging_s, **wanted)
                rates.append((nodes, rate))
                busy = ", ".join(f"{name} {100 * getattr(rate, name):.0f} %" for name in ("cores", "shared", "node"))
                print(f"  {way.name}, {nodes} nodes: {rate.per_s:,.0f} a second; busy: {busy}")
            print(f"  {way.name}: nine tenths of one node's speed up to {knee(rates)} nodes")
        hours, size = 1e6 * mean_s / 3600, measured["request_bytes"] + measured["store_bytes"]
        price = f"{hours * options.price:,.2f} at {options.price} an hour"
        print(f"  a million: {hours:,.0f} core hours, {price}, {size / 1e3:,.1f} GB")


if __name__ == "__main__":
    main()
