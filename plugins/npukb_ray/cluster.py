"""A pool's view of Ray itself: nodes, actors that are bound to one, and Ray's ways of saying that one is gone."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from npukb_ray.desk import Desk, Facts
from npukb_ray.pool import DeskLostError, Handle, room_of
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import Assignment
from npukernelbench.nouns import Track, Verdict

__all__ = ["RayCluster"]

T = TypeVar("T")
_KNOCK_S = 10.0


class RayCluster:
    """A connection, made by the constructor. ExecutorError when Ray is missing or no cluster answers."""

    def __init__(
        self, address: str, *, inner: str, inner_args: Mapping[str, object], needed: Mapping[str, float], slots: int
    ) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise ExecutorError(
                f"the executor ray needs Ray: {error}", remedy="pip install 'npukernelbench[ray]'"
            ) from error
        self._ray: Any = ray
        self._needed, self._slots = dict(needed), slots
        self._inner = (inner, dict(inner_args))
        self._joined = not ray.is_initialized()
        if self._joined:
            quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
            where = {"include_dashboard": False} if address == "local" else {}
            try:
                _knock(address)
                ray.init(address=address, **where, **quiet)
            except (OSError, RuntimeError, ValueError) as error:
                raise ExecutorError(
                    f"no Ray cluster answers at {address!r}: {error}",
                    remedy="start one (ray start --head), or give executor_args address=local",
                ) from error

    def nodes(self) -> Mapping[str, int]:
        """Room for desks by the id of a living node."""
        return {
            node["NodeID"]: room_of(node["Resources"], self._needed, self._slots)
            for node in self._ray.nodes()
            if node["Alive"]
        }

    def desk(self, node: str) -> Handle:
        """A desk on that node. It dies with it: another node's is another one."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        others = {name: amount for name, amount in self._needed.items() if name != "CPU"}
        actor = self._ray.remote(Desk).options(
            num_cpus=self._needed.get("CPU", 0),
            resources=others,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False),
        )
        return _RayDesk(self._ray, node, actor.remote(*self._inner))

    def close(self) -> None:
        """Leave the cluster, if we joined it."""
        if self._joined:
            self._ray.shutdown()


def _knock(address: str) -> None:
    """OSError when nobody listens at ``host:port``: Ray itself waits for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdigit() and "://" not in address:
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


class _RayDesk:
    """An actor. Its own exceptions are ours; Ray's say that it is gone."""

    def __init__(self, ray: Any, node: str, actor: Any) -> None:
        self._ray, self.node, self._actor = ray, node, actor
        self._facts = actor.facts.remote()

    def facts(self) -> Facts | None:
        ready, _ = self._ray.wait([self._facts], timeout=0)
        return self._get(lambda: self._ray.get(self._facts)) if ready else None

    def prepare(self, track: Track) -> None:
        self._get(lambda: self._ray.get(self._actor.prepare.remote(track)))

    def judge(self, assignment: Assignment) -> Verdict:
        verdict: Verdict = self._get(lambda: self._ray.get(self._actor.judge.remote(assignment)))
        return verdict

    def kill(self) -> None:
        self._ray.kill(self._actor)

    def _get(self, call: Callable[[], T]) -> T:
        errors = self._ray.exceptions
        try:
            return call()
        except (errors.RayActorError, errors.WorkerCrashedError, errors.NodeDiedError, errors.ObjectLostError) as death:
            raise DeskLostError(str(death).strip().splitlines()[0]) from death
        except errors.RayTaskError as error:
            raise ExecutorError(f"a judge on node {self.node[:8]} failed: {error.cause}") from error
        except errors.RayError as error:
            raise ExecutorError(
                f"the cluster failed: {error}", remedy="run the same command again: finished samples are kept"
            ) from error
