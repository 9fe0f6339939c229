"""A thousand answers judged without Ray, on a cluster, and on one whose head is killed in the middle.

The run whose head is lost ends as one with faults of the infrastructure and is run again on a new cluster. All three
have to decide the same, byte for byte, and every kernel is judged once in each. Clusters are Ray's own, of several node
processes on this machine.

    python -m benchmarks.scale.proof                                 # 1,000 answers, some minutes
    python -m benchmarks.scale.proof --answers 96 --distinct 12      # a short one
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.answers import Decided, decided, end, log, start, stored, write_answers

_LIMIT_S = 1200.0
# Ray refuses less than 75 MiB, and without a number each node takes a large share of the memory.
_STORE_BYTES = 80 << 20
#: A dead node is noticed in some ten seconds instead of half a minute, and one that is slow on a busy machine is kept.
_HEALTH = {
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
}
#: Of a run that has faults of the infrastructure.
_FAULTS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--distinct", type=int, default=24, help="different answers to each of the eight tasks")
    parser.add_argument("--patience", type=float, default=5.0, help="seconds that a silent head is waited for")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name).resolve()
        answers, count = folder / "answers.jsonl", options.answers
        write_answers(answers, count, options.distinct)
        alone = without_ray(folder / "alone", answers, count)
        say("without Ray", alone, alone)
        say("on Ray, two nodes", with_ray(folder / "ray", answers, count), alone)
        lost = head_lost(folder / "lost", answers, count, options.patience)
        say("on Ray, the head lost and a new cluster", lost, alone)


def say(what: str, found: Decided, alone: Decided) -> None:
    """Print what a run came to; SystemExit where it is not as it has to be."""
    print(
        f"{what}: {len(found.verdicts)} verdicts of {len(found.judged)} kernels: {dict(sorted(found.outcomes.items()))}"
    )
    if found.verdicts != alone.verdicts:
        unlike = [key for key, verdict in alone.verdicts.items() if found.verdicts.get(key) != verdict]
        raise SystemExit(f"{len(unlike)} verdicts are others than without Ray, first {unlike[0]}")
    if found.judged.keys() != alone.judged.keys() or set(found.judged.values()) != {1}:
        raise SystemExit(f"judged twice or never: {found.judged.keys() ^ alone.judged.keys()}, {found.judged}")


def without_ray(folder: Path, answers: Path, count: int) -> Decided:
    """On this machine alone."""
    end(folder, start(folder, answers, count, "twin", {}), _LIMIT_S)
    return decided(folder)


def with_ray(folder: Path, answers: Path, count: int) -> Decided:
    """On two nodes."""
    with cluster(2) as made:
        end(folder, start(folder, answers, count, "ray", {"address": made.address}), _LIMIT_S)
    return decided(folder)


def head_lost(folder: Path, answers: Path, count: int, patience_s: float) -> Decided:
    """On two nodes, then on new ones: the head is killed (-9) after the first verdicts, the nodes, which go on without
    it for a minute, when they have judged some more.

    SystemExit unless the run ends with faults, keeps what it had and judges the rest.
    """
    with cluster(2) as made:
        run = start(folder, answers, count, "ray", {"address": made.address, "patience_s": patience_s})
        wait_for_more(folder, run, 0)
        made.remove_node(made.head_node, allow_graceful=False)
        with_head = stored(folder)
        wait_for_more(folder, run, with_head + 2)  # these two were being judged
        without_head = stored(folder)
        for node in list(made.worker_nodes):
            made.remove_node(node, allow_graceful=False)
        end(folder, run, _LIMIT_S, code=_FAULTS)
    first, kept = decided(folder), log(folder).read_bytes()
    print(f"    the head killed after {with_head} verdicts, the nodes after {without_head}; the run ended with")
    print(f"    {dict(sorted(first.outcomes.items()))}")
    faults = first.outcomes.get("infra_error", 0)
    if not 0 < faults < count:
        raise SystemExit("the head was lost before or after everything: nothing is proven")
    with cluster(2) as made:
        end(folder, start(folder, answers, count, "ray", {"address": made.address}), _LIMIT_S)
    if not log(folder).read_bytes().startswith(kept):
        raise SystemExit("what the first session had written was changed")
    return decided(folder)


def wait_for_more(folder: Path, run: subprocess.Popen[str], than: int) -> None:
    """Until the run in a folder has stored more verdicts, or ends."""
    deadline = time.monotonic() + _LIMIT_S
    while run.poll() is None and stored(folder) <= than and time.monotonic() < deadline:
        time.sleep(0.05)


@contextmanager
def cluster(nodes: int) -> Iterator[Any]:
    """A head that judges nothing, and nodes with a CPU each: processes of this machine."""
    # Before the import, which may read it.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster

    little = {"object_store_memory": _STORE_BYTES}
    head = {"num_cpus": 0, "include_dashboard": False, "_system_config": _HEALTH, **little}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        for _ in range(nodes):
            made.add_node(num_cpus=1, **little)
        yield made
    finally:
        made.shutdown()


if __name__ == "__main__":
    main()
