"""Prices: which entry a model's name finds, whose table goes first, what a broken one says, and what follows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from npukernelbench.config import resolve
from npukernelbench.errors import ConfigError
from npukernelbench.generate import SamplingParams
from npukernelbench.nouns import Completion, TokenUsage
from npukernelbench.nouns.results import Cost, Spent, Tokens
from npukernelbench.report.spent import spent
from npukernelbench.run.forecast import ASSUMED_MAX_TOKENS, forecast
from npukernelbench.run.prices import OURS, find_price, read_prices
from npukernelbench.run.runner import run
from npukernelbench.testing import RecordingObserver, fake_plugins, make_plan

TABLE = "- {source: a letter, date: 2026-01-02, currency: EUR, models: {fake: [1000, 2000], gpt-4o: [7, 8]}}\n"


def test_every_entry_of_ours_has_a_source_and_a_date() -> None:
    table = read_prices(OURS)
    assert len(table) >= 10
    for name, price in table.items():
        assert price.source.startswith("https://")
        assert price.date >= "2025"
        assert 0 < price.input < price.output, name


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("gpt-4o", "gpt-4o"),
        ("GPT-4o-mini", "gpt-4o-mini"),
        ("openai/gpt-4o", "gpt-4o"),
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4o-audio", None),
        ("checkpoints/mine", None),
    ],
)
def test_names(asked: str, found: str | None) -> None:
    price = find_price("openai", {"model": asked})
    assert (price.model if price else None) == found


def test_the_users_table_goes_first(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(TABLE)
    mine, ours = (find_price("openai", {"model": name}, path) for name in ("gpt-4o", "gpt-5"))
    assert mine is not None
    assert (mine.input, mine.output, mine.currency, mine.source, mine.date) == (7, 8, "EUR", "a letter", "2026-01-02")
    assert ours == find_price("openai", {"model": "gpt-5"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- {source: s, date: 2026-01-02, models: {m: [1]}}", "0.models.m"),
        ("- {source: s, models: {m: [1, 2]}}", "0.date"),
        ("a: [", "no YAML"),
        ("just text", "list"),
    ],
)
def test_a_table_that_is_none_names_file_and_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_prices(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_what_is_spent() -> None:
    answers = [
        Completion("a", usage=TokenUsage(100, 50, 30)),
        Completion("b", usage=TokenUsage(200, 70)),
        Completion("c", usage=TokenUsage(9, 9), cached=True),
        Completion("d"),
    ]
    found = spent(answers, {"input": 2.0, "output": 10.0, "currency": "USD"})
    assert found == Spent(4, 1, 1, Tokens(prompt=300, completion=120, reasoning=30), Cost(0.0018, "USD"))
    assert spent(answers, {}).cost is None


def test_a_run_keeps_the_price_it_was_made_at(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(TABLE)
    config = resolve(environ={}, options={"prices": str(path)})
    summary = run(make_plan(tmp_path / "run", config=config), fake_plugins(), RecordingObserver())
    assert summary.results.provenance["price"]["source"] == "a letter"
    assert summary.results.spent.cost == Cost(0.0, "EUR")
    assert summary.results.spent.uncounted == 4


def test_a_forecast_asks_nothing_and_bounds_the_cost(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(TABLE)
    config = resolve(environ={}, options={"prices": str(path)})
    plan = make_plan(tmp_path / "run", config=config, samples=3, params=SamplingParams(max_tokens=1000))
    found = forecast(plan, fake_plugins())
    assert (found.problems, found.samples, found.requests) == (4, 12, 12)
    assert found.most_answer_tokens == 12_000
    assert not found.max_tokens_assumed
    assert found.most_cost == pytest.approx(found.prompt_tokens * 1e-3 + 12_000 * 2e-3)
    assert not plan.directory.exists()
    longer = forecast(replace(plan, turns=3), fake_plugins())
    assert longer.requests == 36
    assert longer.prompt_tokens > 3 * found.prompt_tokens + 3 * 12 * 1000 - 1
    unknown = forecast(make_plan(tmp_path / "run"), fake_plugins())
    assert unknown.most_cost is None
    assert (unknown.max_tokens, unknown.max_tokens_assumed) == (ASSUMED_MAX_TOKENS, True)
    assert "not known" in unknown.lines()[-1]
