"""A pool's view of Ray itself: nodes, actors that are bound to one, and Ray's ways of saying that one is gone."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from typing import Any

from npukb_ray.desk import Desk, Facts, Inner
from npukb_ray.head import Head, knock
from npukb_ray.missing import imports_of_ray
from npukb_ray.pool import DeskLostError, Handle, room_of
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import Assignment
from npukernelbench.nouns import Track, Verdict

__all__ = ["RayCluster"]

_GLANCE_S = 5.0
#: Ray ends a process that has not heard of the head for a minute. This one has samples to end and a log to close, so
#: it decides by itself (:class:`~npukb_ray.head.Head`).
_RAYS_PATIENCE = {"RAY_gcs_rpc_server_reconnect_timeout_s": str(7 * 24 * 3600)}


class RayCluster:
    """A connection, made by the constructor. ExecutorError when Ray is missing or no cluster answers."""

    def __init__(self, address: str, inner: Inner, *, slots: int, patience_s: float) -> None:
        # before the import, which may read them; what the user has set stays
        # without the first, Ray reports to its makers how it is used
        for name, value in {"RAY_USAGE_STATS_ENABLED": "0", **_RAYS_PATIENCE}.items():
            os.environ.setdefault(name, value)
        with imports_of_ray():
            import ray
        self._ray: Any = ray
        self._needed, self._slots = dict(inner.needed), slots
        self._inner = (inner.name, dict(inner.args))
        self._joined = not ray.is_initialized()
        if self._joined:
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            # The dashboard is a web server of its own, which a cluster for one run does not need.
            where = {"include_dashboard": False} if address == "local" else {}
            try:
                knock(address)
                ray.init(address=address, **where, **quiet)
            except (OSError, RuntimeError, ValueError) as error:
                raise ExecutorError(
                    f"no Ray cluster answers at {address!r}: {error}",
                    remedy="start one (ray start --head), or give executor_args address=local",
                ) from error
        self.head = str(ray.get_runtime_context().gcs_address).rpartition(":")[0]
        self._head = Head(ray.get_runtime_context().gcs_address, patience_s)

    def nodes(self) -> Mapping[str, int] | None:
        """Room for desks by the id of a living node; None while the head is silent."""
        self._head.require()
        if self._head.silent:
            return None
        return {
            node["NodeID"]: room_of(node["Resources"], self._needed, self._slots)
            for node in self._ray.nodes()
            if node["Alive"]
        }

    def desk(self, node: str) -> Handle:
        """A desk on that node. It dies with it: another node's is another one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        # Ray takes CPUs by an option of their own and refuses them among the resources
        others = {name: amount for name, amount in self._needed.items() if name != "CPU"}
        actor = self._ray.remote(Desk).options(
            # Without this Ray takes one CPU for an actor's start and none while it runs: nodes would be overbooked.
            num_cpus=self._needed.get("CPU", 0),
            resources=others,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        return _RayDesk(self._ray, self._head, node, actor.remote(*self._inner))

    def close(self) -> None:
        """Leave the cluster, if we joined it."""
        if self._joined:
            self._ray.shutdown()


class _RayDesk:
    """An actor. Its own exceptions are ours; Ray's say that it is gone."""

    def __init__(self, ray: Any, head: Head, node: str, actor: Any) -> None:
        self._ray, self._head, self.node, self._actor = ray, head, node, actor
        self._facts = actor.facts.remote()

    def facts(self) -> Facts | None:
        # Only asked, not waited for: a pool looks at many desks in turn.
        ready, _ = self._ray.wait([self._facts], timeout=0)
        return self._get(lambda: self._facts) if ready else None

    def prepare(self, track: Track) -> None:
        self._get(lambda: self._actor.prepare.remote(track))

    def judge(self, assignment: Assignment) -> Verdict:
        verdict: Verdict = self._get(lambda: self._actor.judge.remote(assignment))
        return verdict

    def kill(self) -> None:
        if not self._head.silent:  # it is what ends actors, and would be waited for
            self._ray.kill(self._actor)

    def _get(self, call: Callable[[], Any]) -> Any:
        """What a call of the actor comes to. A node that is lost with the head is never said to be dead."""
        errors = self._ray.exceptions
        # A node may leave between our look at the cluster and Ray's: its desk is then never scheduled.
        gone = (
            errors.RayActorError,
            errors.ActorUnschedulableError,
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
        )
        try:
            pending = call()
            # Between two looks the head is asked for: Ray's own wait for a lost head would end this process.
            while not self._ray.wait([pending], timeout=_GLANCE_S)[0]:
                self._head.require()
            return self._ray.get(pending)
        except gone as death:
            raise DeskLostError(str(death).strip().splitlines()[0]) from death
        except errors.RayTaskError as error:
            raise ExecutorError(f"a judge on node {self.node[:8]} failed: {error.cause}") from error
        except errors.RayError as error:
            raise ExecutorError(
                f"the cluster failed: {error}", remedy="run the same command again: finished samples are kept"
            ) from error
