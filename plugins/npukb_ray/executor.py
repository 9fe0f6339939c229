"""The executor ``ray``. It compiles and runs nothing itself: whole candidates go to desks on the nodes.

A verdict is the one that the inner executor would give on one machine: seeds, inputs and references are the same, made
where they are needed. Nodes that differ in what verdicts depend on are left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import ClassVar, NoReturn

from pydantic import BaseModel, ConfigDict, Field

from npukb_ray.cluster import RayCluster
from npukb_ray.pool import Pool
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.judge.executor import Assignment
from npukernelbench.nouns import Artifact, CompileRequest, RunRequest, Tier, Track, Verdict
from npukernelbench.plugins import Plugins

__all__ = ["RayArgs", "RayExecutor"]


class RayArgs(BaseModel):
    """Arguments of the executor ``ray``, given by ``--executor_args key=value,…``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    inner: str = Field("twin", description="the executor that judges on the nodes")
    inner_args: Mapping[str, object] = Field({}, description="its arguments, as a JSON object")
    address: str = Field("auto", description="address of the cluster; auto finds it, local starts one here")
    slots: int = Field(
        0, ge=0, description="candidates judged at once on a node; 0 takes as many as its resources allow"
    )
    resources: Mapping[str, float] = Field(
        {"CPU": 1.0}, description='what one of them holds, in Ray\'s names, such as {"CPU": 1, "NPU": 1}'
    )
    tries: int = Field(3, ge=1, description="how many nodes may die under one candidate before it is a fault")
    patience_s: float = Field(60.0, gt=0, description="seconds to wait for a node when none is left")


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

    def close(self) -> None:
        """Leave the cluster."""
        with self._lock:
            if self._pool is not None:
                self._pool.close()
                self._pool = None

    def _joined(self) -> Pool:
        args = self._args
        with self._lock:
            if self._pool is None:
                cluster = RayCluster(
                    args.address,
                    inner=args.inner,
                    inner_args=args.inner_args,
                    needed=args.resources,
                    slots=args.slots,
                )
                self._pool = Pool(cluster, args.tries, args.patience_s)
            return self._pool

    def _whole(self) -> ExecutorError:
        return ExecutorError(
            "the executor ray judges whole candidates and has no artifacts",
            remedy=f"use --executor {self._args.inner} for this command",
        )
