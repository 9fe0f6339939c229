"""The desks of a cluster: found on its nodes, compared, handed out one at a time, replaced when they die.

A judgement may begin twice: its node dies, and another desk begins it again. Nothing is lost and nothing is counted
twice, because only the verdict that arrives is kept.
"""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Condition
from typing import Any, Protocol

from npukb_ray.desk import Facts
from npukernelbench.errors import ExecutorError
from npukernelbench.judge.executor import Assignment
from npukernelbench.nouns import Track, Verdict

__all__ = ["Cluster", "DeskLostError", "Handle", "Pool", "commonest"]

_log = logging.getLogger(__name__)

#: How often the cluster is asked for new nodes while someone waits.
_LOOK_EVERY_S = 5.0
_GLANCE_S = 0.05
#: How long the first desk of a node may build its runtime.
_BUILD_S = 600.0


class DeskLostError(Exception):
    """A desk, its process or its node is gone."""


class Handle(Protocol):
    """A desk from afar. ``facts`` is None while it is not ready; every method raises DeskLostError once it is gone."""

    node: str

    def facts(self) -> Facts | None: ...

    def prepare(self, track: Track) -> None: ...

    def judge(self, assignment: Assignment) -> Verdict: ...

    def kill(self) -> None: ...


class Cluster(Protocol):
    """What a pool asks of a cluster: how many desks each living node has room for, and a new desk.

    ``nodes`` is None while the head is silent, and an ExecutorError once it is lost.
    """

    def nodes(self) -> Mapping[str, int] | None: ...

    def desk(self, node: str) -> Handle: ...

    def close(self) -> None: ...


def commonest(facts: Iterable[Facts]) -> Facts:
    """What most nodes are; of two as common kinds the one whose text is first, so that runs agree."""
    counts = Counter(facts)
    return min(counts, key=lambda kind: (-counts[kind], repr(kind)))


@dataclass
class Pool:
    """Safe to call from several threads. ``tries`` bounds how many desks may die under one judgement."""

    cluster: Cluster
    tries: int = 3
    patience_s: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _desks: dict[str, list[Handle]] = field(default_factory=dict)
    _new: list[Handle] = field(default_factory=list)
    _idle: deque[Handle] = field(default_factory=deque)
    _refused: dict[str, str] = field(default_factory=dict)
    _kind: Facts | None = None
    # So that the first look is never too early.
    _looked: float = float("-inf")
    _alone_since: float | None = None
    _changed: Condition = field(default_factory=Condition)

    def open(self) -> Facts:
        """Wait for the first desk of every node, settle on what most nodes are, and seat the others.

        ExecutorError when the cluster has no room for a desk, or none became ready.
        """
        with self._changed:
            if self._kind is not None:
                return self._kind
            rooms = self.cluster.nodes() or {}
            if not any(rooms.values()):
                raise ExecutorError(
                    f"none of the cluster's {len(rooms)} nodes has room for a judge",
                    remedy="start nodes with free CPUs and the resources that executor_args.resources names",
                )
            # one each: it builds what further desks of its node find ready
            first = {node: self.cluster.desk(node) for node, room in rooms.items() if room}
            ready = self._await(first)
            self._kind = commonest(ready.values())
            for node, facts in ready.items():
                self._seat(first[node], facts)
            return self._kind

    @property
    def seats(self) -> int:
        """How many candidates can be judged at once, ready or about to be."""
        self.open()
        with self._changed:
            self._look()
            return sum(map(len, self._desks.values())) + len(self._new)

    @property
    def refused(self) -> Mapping[str, str]:
        """Nodes that judge nothing, and in what they differ."""
        return dict(self._refused)

    def prepare(self, track: Track) -> None:
        """Build what the track needs, once per node."""
        self.open()
        with self._changed:
            firsts = [desks[0] for desks in self._desks.values() if desks]
        # outside of the lock: a build takes long, and others judge meanwhile
        for desk in firsts:
            try:
                desk.prepare(track)
            except DeskLostError as death:
                _log.warning("a node left before it was ready: %s", death)

    def judge(self, assignment: Assignment) -> Verdict:
        """The verdict of whichever desk is free. ExecutorError when ``tries`` desks died with it, or none is left."""
        self.open()
        death: DeskLostError | None = None
        for _ in range(self.tries):
            with self._taken() as desk:
                try:
                    return desk.judge(assignment)
                except DeskLostError as error:
                    death = error
                    self._bury(desk)
                    _log.warning("a judge on node %s died; another one begins again: %s", desk.node[:8], error)
        raise ExecutorError(
            f"{self.tries} judges died one after another over this candidate, the last one: {death}",
            remedy="look at memory and disk of the nodes, and at Ray's logs",
        )

    def close(self) -> None:
        """Take all desks away, and leave the cluster."""
        self.clear()
        self.cluster.close()

    def clear(self) -> None:
        """Take all desks away."""
        with self._changed:
            for desk in [*self._new, *(desk for desks in self._desks.values() for desk in desks)]:
                desk.kill()
            self._desks.clear()
            self._new.clear()
            self._idle.clear()

    def _await(self, first: Mapping[str, Handle]) -> dict[str, Facts]:
        """The facts of those that become ready."""
        ready: dict[str, Facts] = {}
        waiting, deadline = dict(first), self.clock() + _BUILD_S
        reason = f"no node was ready within {_BUILD_S:.0f} s"
        # Polled: desks become ready in any order, and the time to build is bounded for all of them together.
        while waiting and self.clock() < deadline:
            for node, desk in list(waiting.items()):
                try:
                    facts = desk.facts()
                except DeskLostError as death:
                    reason = str(death)
                    del waiting[node]
                    continue
                if facts is not None:
                    ready[node] = facts
                    del waiting[node]
            if waiting:
                self._changed.wait(_GLANCE_S)
        for desk in waiting.values():
            desk.kill()
        if not ready:
            raise ExecutorError(
                f"no node of the cluster can judge: {reason}",
                remedy="install npukernelbench with the same plugins on every node; try the inner executor there alone",
            )
        return ready

    @contextmanager
    def _taken(self) -> Iterator[Handle]:
        """A desk of one's own, given back afterwards unless it was buried."""
        desk = self._take()
        try:
            yield desk
        finally:
            with self._changed:
                if desk in self._desks.get(desk.node, ()):
                    self._idle.append(desk)
                # also after a burial: whoever waits has to look for another desk
                self._changed.notify()

    def _take(self) -> Handle:
        with self._changed:
            while True:
                if not self._idle:
                    self._look()
                    self._welcome()
                if self._idle:
                    return self._idle.popleft()
                if any(self._desks.values()) or self._new:
                    # A desk that is about to be ready is hope enough: patience begins anew when none is left.
                    self._alone_since = None
                elif self._alone_since is None:
                    self._alone_since = self.clock()
                elif self.clock() - self._alone_since > self.patience_s:
                    raise ExecutorError(
                        f"no node of the cluster has been left for {self.patience_s:.0f} s",
                        remedy="start nodes and run the same command again: finished samples are kept",
                    )
                # with a limit, as nobody tells when a new desk is ready
                self._changed.wait(_GLANCE_S)

    def _look(self) -> None:
        """Desks for nodes that came, and for those that died on nodes that live."""
        if self.clock() - self._looked < _LOOK_EVERY_S:
            return
        self._looked = self.clock()
        rooms = self.cluster.nodes()
        if rooms is None:
            return
        for node in self._desks.keys() - rooms.keys():
            for desk in self._desks[node][:]:
                # a desk that judges is left to its caller, who hears of the death and begins again elsewhere
                if desk in self._idle:
                    self._bury(desk)
        for node, room in rooms.items():
            if node in self._refused:
                continue
            there = len(self._desks.get(node, ())) + sum(desk.node == node for desk in self._new)
            # A negative number of missing desks makes none: rooms may shrink while desks judge.
            self._new.extend(self.cluster.desk(node) for _ in range(room - there))

    def _welcome(self) -> None:
        """Seat new desks that are ready."""
        for desk in self._new[:]:
            try:
                facts = desk.facts()
            except DeskLostError as death:
                _log.warning("a judge on node %s did not start: %s", desk.node[:8], death)
                self._new.remove(desk)
                continue
            if facts is not None:
                self._new.remove(desk)
                self._seat(desk, facts)

    def _seat(self, desk: Handle, facts: Facts) -> None:
        """Use a desk whose node is as the others are."""
        assert self._kind is not None
        if facts == self._kind:
            self._desks.setdefault(desk.node, []).append(desk)
            self._idle.append(desk)
            return
        # Every desk of such a node differs: one warning is enough.
        if desk.node not in self._refused:
            self._refused[desk.node] = self._kind.differences(facts)
            _log.warning("node %s judges nothing, it differs: %s", desk.node[:8], self._refused[desk.node])
        desk.kill()

    def _bury(self, desk: Handle) -> None:
        with self._changed:
            desks = self._desks.get(desk.node, [])
            if desk in desks:
                desks.remove(desk)
            if desk in self._idle:
                self._idle.remove(desk)
            desk.kill()
            # the next look comes at once, so that the place is filled again soon
            self._looked = float("-inf")


def room_of(resources: Mapping[str, Any], needed: Mapping[str, float], slots: int) -> int:
    """How many desks a node has room for: as its resources say, and at most ``slots`` unless that is 0."""
    room = min(int(resources.get(name, 0) // amount) for name, amount in needed.items() if amount)
    return min(room, slots) if slots else room
