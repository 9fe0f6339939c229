"""The simulation of clusters: where it can be computed by hand, it says the same."""

from __future__ import annotations

import json

import pytest

simulation = pytest.importorskip("benchmarks.scale.simulate", reason="simpy is not installed")


def rate(nodes: int, **costs: float):
    way = simulation.Way("w", costs.get("shared_s", 0.0), costs.get("node_s", 0.0), 1, lambda _: 1)
    return simulation.simulate(way, nodes, [0.2], cores=4, judgements=2000, seed=7)


def test_cores_limit_few_nodes_and_one_process_limits_many() -> None:
    assert rate(1, shared_s=0.001).per_s == pytest.approx(4 / 0.201, rel=0.04)
    assert rate(2, shared_s=0.001).per_s == pytest.approx(8 / 0.201, rel=0.04)
    many = rate(100, shared_s=0.01)
    assert many.per_s == pytest.approx(1 / 0.01, rel=0.04)
    assert many.shared == pytest.approx(1.0, abs=0.01)
    assert many.cores < 0.3
    python = rate(2, node_s=0.1)  # one Python for four cores
    assert python.per_s == pytest.approx(2 / 0.1, rel=0.04)
    assert python.node == pytest.approx(1.0, abs=0.02)


def test_the_knee_is_where_nodes_stop_to_help() -> None:
    rates = [(nodes, simulation.Rate(min(10.0 * nodes, 45.0), 1.0, 1.0, 0.0)) for nodes in (1, 2, 4, 8)]
    assert simulation.knee(rates) == 4


def test_every_way_is_made_of_what_was_measured() -> None:
    measured = json.loads(simulation.MEASURED.read_text())
    ways = {way.name: way for way in simulation.ways(measured)}
    assert len(ways) == 6
    for way in ways.values():
        groups = {nodes: way.groups(nodes) for nodes in simulation.NODES}
        assert all(1 <= count <= nodes for nodes, count in groups.items())
        assert 0 < way.shared_s + way.node_s < 0.1
    assert all(0.01 < spent_s < 10 for spent_s in measured["judgement_core_s"])
