"""The executor ``ray``. It compiles and runs nothing itself: whole candidates go to desks on the nodes.

A verdict is the one that the inner executor would give on one machine: seeds, inputs and references are the same, made
where they are needed. Nodes that differ in what verdicts depend on are left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, ClassVar, NoReturn

from pydantic import BaseModel, Field

from npukb_ray.cluster import RayCluster
from npukb_ray.desk import Inner
from npukb_ray.pool import Pool
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.judge.executor import Assignment
from npukernelbench.nouns import Artifact, CompileRequest, RunRequest, Tier, Track, Verdict
from npukernelbench.plugins import Plugins
from npukernelbench.rewards.replicas import Replicas
from npukernelbench.strict import Strict

__all__ = ["RayArgs", "RayExecutor"]


def _where(default: Any, description: str, *, gt: float | None = None, ge: float | None = None) -> Any:
    """An argument that decides where candidates are judged, and no verdict: a run goes on with another value."""
    return Field(default, description=description, gt=gt, ge=ge, json_schema_extra={"decides": False})


class RayArgs(Strict):
    """Arguments of the executor ``ray``, given by ``--executor_args key=value,…``."""

    inner: str = Field("twin", description="the executor that judges on the nodes")
    inner_args: Mapping[str, object] = Field({}, description="its arguments, as a JSON object")
    address: str = _where("auto", "address of the cluster; auto finds it, local starts one here")
    slots: int = _where(0, "candidates judged at once on a node; 0 takes as many as its resources allow", ge=0)
    resources: Mapping[str, float] = _where(
        {"CPU": 1.0}, 'what one of them holds, in Ray\'s names, such as {"CPU": 1, "NPU": 1}'
    )
    tries: int = _where(3, "how many nodes may die under one candidate before it is a fault", ge=1)
    patience_s: float = _where(60.0, "seconds to wait for a node when none is left, or for a silent head", gt=0)


class RayExecutor:
    """Judges elsewhere. Safe to call from several threads."""

    Args: ClassVar[type[BaseModel]] = RayArgs
    name = "ray"
    tier = Tier.TWIN
    tracks = frozenset({Track.STATIC, Track.DYNAMIC})

    def __init__(self, args: RayArgs) -> None:
        if not any(args.resources.values()):
            raise UsageError(
                "a judge has to hold some resource of its node",
                field="executor_args.resources",
                remedy='give at least one amount above 0, for instance {"CPU": 1}',
            )
        if args.inner == self.name:
            raise UsageError(
                "the executor ray cannot judge with itself", field="executor_args.inner", remedy="name another executor"
            )
        # Its class alone: an instance is made on the nodes, and may need what is only there.
        inner = Plugins.load().executors.find(args.inner).load()
        self.tier, self.tracks = inner.tier, inner.tracks  # type: ignore[attr-defined]
        self._args = args
        self._pool: Pool | None = None
        self._lock = Lock()

    def describe(self) -> Mapping[str, str]:
        """What the inner executor says of itself on the nodes, and its name."""
        return {**dict(self._joined().open().executor), "inner": self._args.inner}

    def prepare(self, say: Callable[[str], None], track: Track) -> None:
        """Build what the track needs on every node."""
        pool = self._joined()
        say(f"judging on a Ray cluster, {pool.seats} candidates at once")
        for node, reason in pool.refused.items():
            say(f"node {node[:8]} is left out, it differs: {reason}")
        pool.prepare(track)

    def seats(self) -> int:
        """How many candidates it judges at once."""
        return self._joined().seats

    def judge(self, assignment: Assignment) -> Verdict:
        """Have it judged on a node; on another one if that dies."""
        return self._joined().judge(assignment)

    def compile(self, request: CompileRequest) -> NoReturn:  # noqa: ARG002  the protocol's signature
        """Refuse: an artifact would stay on one node."""
        raise self._whole()

    def run(self, request: RunRequest) -> NoReturn:  # noqa: ARG002  the protocol's signature
        """Refuse, as above."""
        raise self._whole()

    def release(self, artifact: Artifact) -> None:
        """There is none."""

    @contextmanager
    def serve(self, replicas: Replicas) -> Iterator[str]:
        """A judge in several replicas behind Ray Serve; the value is its address."""
        from npukb_ray.serving import deployed

        args, cluster = self._args, self._cluster()
        pool = Pool(cluster, args.tries, args.patience_s)
        try:
            kind = pool.open()
            pool.clear()  # the replicas take their places
            with deployed(replicas, self._inner(), kind, cluster.head) as address:
                yield address
        finally:
            pool.close()

    def close(self) -> None:
        """Leave the cluster."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def _joined(self) -> Pool:
        with self._lock:
            if self._pool is None:
                self._pool = Pool(self._cluster(), self._args.tries, self._args.patience_s)
            return self._pool

    def _cluster(self) -> RayCluster:
        args = self._args
        return RayCluster(args.address, self._inner(), slots=args.slots, patience_s=args.patience_s)

    def _inner(self) -> Inner:
        return Inner(self._args.inner, dict(self._args.inner_args), self._args.resources)

    def _whole(self) -> ExecutorError:
        return ExecutorError(
            "the executor ray judges whole candidates and has no artifacts",
            remedy=f"use --executor {self._args.inner} for this command",
        )
