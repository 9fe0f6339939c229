"""How many replicas are asked for, what they share of a configuration, and who cannot serve them."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import UsageError
from npukernelbench.rewards.callers import Caller, Callers
from npukernelbench.rewards.replicas import Count, Replicas, Replicating, settings_of
from npukernelbench.testing import FakeExecutor


@pytest.mark.parametrize(("text", "count"), [("4", (4, 4)), ("2-8", (2, 8)), ("3-3", (3, 3))])
def test_counts(text: str, count: tuple[int, int]) -> None:
    assert Count.parse(text) == count


@pytest.mark.parametrize("text", ["", "0", "-2", "2-", "8-2", "two", "1-2-3", "0-4"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(UsageError, match="is no number of replicas"):
        Count.parse(text)


def test_replicas_resolve_what_they_share_for_themselves(tmp_path: Path) -> None:
    given = {"seed": 17, "run_timeout_s": 7.0, "hidden_seed": "a secret", "include_path": (str(tmp_path),)}
    config = resolve(options=given)
    replicas = Replicas("127.0.0.1", 8970, Count(1, 2), "binary", Callers("token"), settings_of(config), 3, "cache")
    there = pickle.loads(pickle.dumps(replicas))
    assert there.callers.find("Bearer token", "trainer", "") == Caller("trainer")
    again = resolve(options=there.settings)
    for name in ("run_timeout_s", "hidden_seed", "include_path", "strategy", "parser", "compile_timeout_s"):
        assert again.get(name) == config.get(name), name
    assert again.input_seed == config.input_seed == 17


def test_inputs_are_drawn_unless_a_seed_was_given() -> None:
    assert "seed" not in settings_of(resolve(options={}))


def test_other_executors_know_no_cluster() -> None:
    assert not isinstance(FakeExecutor(), Replicating)
