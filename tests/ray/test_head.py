"""Whether a cluster's head is there, by a clock and a door of the test's own; and that a run goes on elsewhere."""

from __future__ import annotations

import json
import socket

import pytest

from npukb_ray.head import Head, knock
from npukernelbench.cli.plan import make_plan
from npukernelbench.cli.session import open_session
from npukernelbench.errors import ExecutorError
from npukernelbench.run.runner import fingerprint


class Door:
    """Somebody answers or does not; time is what the test says."""

    def __init__(self) -> None:
        self.now, self.answers, self.knocks = 0.0, True, 0

    def head(self, patience_s: float) -> Head:
        return Head("10.0.0.1:6379", patience_s, ask=self.knock, clock=lambda: self.now)

    def knock(self, address: str) -> None:
        assert address == "10.0.0.1:6379"
        self.knocks += 1
        if not self.answers:
            raise ConnectionRefusedError


def test_a_head_that_comes_back_in_time_is_not_lost() -> None:
    door = Door()
    head = door.head(30)
    for door.now, door.answers in ((0, True), (100, True), (103, False), (129, False), (133, True), (150, False)):
        head.require()
        assert head.silent is not door.answers
    door.now = 164
    with pytest.raises(ExecutorError, match=r"10\.0\.0\.1:6379 has not answered for 30 s") as lost:
        head.require()
    assert "finished samples are kept" in lost.value.remedy


def test_it_is_not_asked_by_every_judgement() -> None:
    door = Door()
    head = door.head(30)
    assert not any(head.silent for _ in range(50))
    assert door.knocks == 1
    door.now = 2
    assert not head.silent
    assert door.knocks == 2


def test_only_addresses_with_a_port_are_tried() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        knock(address)
    with pytest.raises(OSError, match="refused"):
        knock(address)
    for other in ("auto", "local", "ray://127.0.0.1:1"):
        knock(other)


def test_a_run_goes_on_at_another_cluster() -> None:
    def name(**args: object) -> str:
        options = {"model": "reference", "tasks": "AddCustom:smoke", "executor": "ray", "seed": "1"}
        return fingerprint(make_plan(open_session({**options, "executor_args": json.dumps(args)})))

    first = name(address="10.0.0.1:6379")
    assert first == name(address="10.0.0.2:6379", patience_s=5, slots=3, tries=1, resources={"CPU": 2}) == name()
    assert first != name(inner_args={"checker": "full"})
