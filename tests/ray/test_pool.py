"""The pool's own decisions, on a cluster that is a dictionary."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from npukb_ray.cluster import RayCluster
from npukb_ray.desk import Facts, Inner
from npukb_ray.executor import RayArgs, RayExecutor
from npukb_ray.pool import DeskLostError, Pool, commonest, room_of
from npukb_ray.serving import deployed
from npukernelbench.errors import ExecutorError, UsageError
from npukernelbench.judge.executor import Judging
from npukernelbench.nouns import Tier, Track
from npukernelbench.rewards.callers import Callers
from npukernelbench.rewards.replicas import Count, Replicas

HERE = Facts("0.1.0", "3.11", "x86_64", (("machine", "ascend910b2"),), "landlock")
ELSEWHERE = replace(HERE, architecture="aarch64")
ASSIGNMENT: Any = object()
#: No desk survives it.
DEADLY: Any = object()


@dataclass(eq=False)
class FakeDesk:
    node: str
    kind: Facts | None
    lives: bool = True
    judged: list[Any] = field(default_factory=list)
    killed: bool = False
    prepared: list[Track] = field(default_factory=list)

    def facts(self) -> Facts | None:
        self._alive()
        return self.kind

    def prepare(self, track: Track) -> None:
        self._alive()
        self.prepared.append(track)

    def judge(self, assignment: Any) -> Any:
        self.lives = self.lives and assignment is not DEADLY
        self._alive()
        self.judged.append(assignment)
        return f"verdict of {self.node}"

    def kill(self) -> None:
        self.killed = True

    def _alive(self) -> None:
        if not self.lives:
            raise DeskLostError(f"{self.node} is gone")


@dataclass
class FakeCluster:
    rooms: dict[str, int]
    kinds: dict[str, Facts] = field(default_factory=dict)
    stillborn: set[str] = field(default_factory=set)
    made: list[FakeDesk] = field(default_factory=list)
    closed: bool = False
    silent: bool = False

    def nodes(self) -> Mapping[str, int] | None:
        return None if self.silent else self.rooms

    def desk(self, node: str) -> FakeDesk:
        desk = FakeDesk(node, self.kinds.get(node, HERE), lives=node not in self.stillborn)
        self.made.append(desk)
        return desk

    def close(self) -> None:
        self.closed = True

    def on(self, node: str) -> list[FakeDesk]:
        return [desk for desk in self.made if desk.node == node and not desk.killed]


class Clock:
    """A second passes whenever the time is asked."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def pool_of(cluster: FakeCluster, **settings: Any) -> Pool:
    return Pool(cluster, clock=Clock(), **settings)


def test_every_node_has_as_many_desks_as_it_has_room_for() -> None:
    cluster = FakeCluster({"a": 2, "b": 3, "full": 0})
    pool = pool_of(cluster)
    assert pool.open() == HERE
    assert pool.seats == 5
    assert {node: len(cluster.on(node)) for node in cluster.rooms} == {"a": 2, "b": 3, "full": 0}


def test_a_node_of_another_kind_judges_nothing_and_says_why() -> None:
    cluster = FakeCluster({"a": 1, "b": 1, "odd": 1}, {"odd": ELSEWHERE})
    pool = pool_of(cluster)
    pool.open()
    assert pool.refused == {"odd": "architecture: x86_64 and aarch64"}
    for _ in range(4):
        pool.judge(ASSIGNMENT)
    assert [len(desk.judged) for desk in cluster.made if desk.node == "odd"] == [0]
    assert not cluster.on("odd")


def test_what_most_nodes_are_decides() -> None:
    assert commonest([ELSEWHERE, HERE, HERE]) == HERE
    assert commonest([ELSEWHERE, HERE]) == commonest([HERE, ELSEWHERE])


def test_the_sandbox_and_the_executor_take_part() -> None:
    assert HERE.differences(replace(HERE, sandbox="none")) == "sandbox: landlock and none"
    assert (
        HERE.differences(replace(HERE, executor=(("checker", "full"),)))
        == "executor checker: none and full; executor machine: ascend910b2 and none"
    )


def test_a_judgement_whose_desk_dies_begins_again_and_the_desk_is_replaced() -> None:
    cluster = FakeCluster({"a": 1, "b": 1})
    pool = pool_of(cluster)
    pool.open()
    (first,) = cluster.on("a")
    first.lives = False
    assert {pool.judge(ASSIGNMENT) for _ in range(4)} <= {"verdict of a", "verdict of b"}
    assert first.killed
    assert not first.judged
    assert pool.seats == 2
    assert len(cluster.on("a")) == 1


def test_a_candidate_under_which_desks_keep_dying_is_a_fault_and_no_loop() -> None:
    pool = pool_of(FakeCluster({"a": 2}), tries=2)
    pool.open()
    with pytest.raises(ExecutorError, match=r"2 judges died one after another .*a is gone"):
        pool.judge(DEADLY)


def test_nodes_that_come_later_join() -> None:
    cluster = FakeCluster({"a": 1})
    pool = pool_of(cluster)
    pool.open()
    cluster.rooms["late"] = 2
    seats = {pool.seats for _ in range(20)}
    assert max(seats) == 3


def test_a_cluster_that_empties_is_waited_for_and_then_given_up() -> None:
    cluster = FakeCluster({"a": 1})
    pool = pool_of(cluster, patience_s=20)
    pool.open()
    cluster.made[0].lives = False
    cluster.rooms.clear()
    with pytest.raises(ExecutorError, match="no node of the cluster has been left for 20 s") as refused:
        pool.judge(ASSIGNMENT)
    assert "finished samples are kept" in refused.value.remedy
    given_up = pool.clock()
    with pytest.raises(ExecutorError):
        pool.judge(ASSIGNMENT)
    assert pool.clock() - given_up < 10, "every candidate waited anew"
    cluster.rooms["back"] = 1
    assert pool.judge(ASSIGNMENT) == "verdict of back"


def test_desks_go_on_while_the_head_is_silent_and_new_ones_come_when_it_is_back() -> None:
    cluster = FakeCluster({"a": 1, "b": 1})
    pool = pool_of(cluster, patience_s=1000)
    assert pool.seats == 2
    cluster.silent = True
    kept = {desk.node: desk for desk in cluster.made}
    kept["a"].lives = False
    assert {pool.judge(ASSIGNMENT) for _ in range(8)} == {"verdict of b"}
    assert not kept["b"].killed
    cluster.silent = False
    assert {pool.judge(ASSIGNMENT) for _ in range(8)} == {"verdict of b"}
    assert pool.seats == 2


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (FakeCluster({"a": 0, "b": 0}), "none of the cluster's 2 nodes has room"),
        (FakeCluster({"a": 1}, stillborn={"a"}), "no node of the cluster can judge: a is gone"),
    ],
)
def test_a_cluster_that_cannot_judge_is_refused(cluster: FakeCluster, message: str) -> None:
    with pytest.raises(ExecutorError, match=message):
        pool_of(cluster).open()


def test_tracks_are_prepared_once_on_every_node() -> None:
    cluster = FakeCluster({"a": 2, "b": 2})
    pool = pool_of(cluster)
    assert pool.seats == 4
    pool.judge(ASSIGNMENT)
    pool.prepare(Track.DYNAMIC)
    assert [sum(len(desk.prepared) for desk in cluster.on(node)) for node in "ab"] == [1, 1]


def test_closing_takes_all_desks_away() -> None:
    cluster = FakeCluster({"a": 2})
    pool = pool_of(cluster)
    assert pool.seats == 2
    pool.close()
    assert all(desk.killed for desk in cluster.made)
    assert cluster.closed


@pytest.mark.parametrize(
    ("needed", "slots", "room"),
    [({"CPU": 1}, 0, 8), ({"CPU": 2}, 0, 4), ({"CPU": 1, "NPU": 1}, 0, 2), ({"CPU": 1}, 3, 3), ({"GPU": 1}, 0, 0)],
)
def test_room(needed: dict[str, float], slots: int, room: int) -> None:
    assert room_of({"CPU": 8.0, "NPU": 2.0}, needed, slots) == room


@pytest.mark.parametrize(
    ("args", "message"),
    [({"inner": "ray"}, "cannot judge with itself"), ({"resources": {"CPU": 0}}, "has to hold some resource")],
)
def test_arguments_that_cannot_work(args: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        RayExecutor(RayArgs.model_validate(args))


def test_it_is_of_its_inner_executors_tier_and_refuses_to_compile() -> None:
    executor = RayExecutor(RayArgs(inner="twin"))
    assert isinstance(executor, Judging)
    assert executor.tier is Tier.TWIN
    with pytest.raises(ExecutorError, match="judges whole candidates"):
        executor.compile(ASSIGNMENT)


def test_ray_that_is_missing_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_gcs_rpc_server_reconnect_timeout_s"):
        monkeypatch.setenv(name, "0")  # joining sets what is not set
    monkeypatch.setitem(sys.modules, "ray", None)
    replicas = Replicas("127.0.0.1", 0, Count(1, 1), "", Callers(), {})
    ways = {
        "a cluster": lambda: RayCluster("local", Inner("twin", {}, {}), slots=1, patience_s=1.0),
        "replicas": lambda: deployed(replicas, Inner("twin", {}, {}), HERE, "").__enter__(),
    }
    for way, begin in ways.items():
        with pytest.raises(ExecutorError, match="needs Ray") as told:
            begin()
        assert told.value.remedy == "pip install 'npukernelbench[ray]'", way
