"""The harness's own reporters that are text: tables for people, the same in markdown, and results as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from npukernelbench.nouns.results import Results
from npukernelbench.report.reporter import Piece
from npukernelbench.report.run_tables import failures, headline, run_tables, spending
from npukernelbench.report.screen import screen
from npukernelbench.report.table import as_markdown
from npukernelbench.store import StoredRun, results_json

__all__ = ["AS_JSON", "MARKDOWN", "SUMMARY", "TABLE"]


@dataclass(frozen=True, slots=True)
class _Summary:
    file_name: str = "summary.txt"

    def render(self, run: StoredRun, results: Results) -> Iterator[Piece]:
        """What fits one screen."""
        yield from screen(results, run.directory)


@dataclass(frozen=True, slots=True)
class _Tables:
    file_name: str = "report.txt"

    def render(self, run: StoredRun, results: Results) -> Iterator[Piece]:
        """Tables, a line per failure, the headline."""
        del run
        yield from run_tables(results)
        yield from failures(results)
        yield headline(results)
        yield from spending(results)


@dataclass(frozen=True, slots=True)
class _Markdown:
    file_name: str = "report.md"

    def render(self, run: StoredRun, results: Results) -> Iterator[Piece]:
        """The same tables without the failures."""
        del run
        yield from (as_markdown(table) for table in run_tables(results))
        yield headline(results)
        yield from spending(results)


@dataclass(frozen=True, slots=True)
class _Json:
    file_name: str = "report.json"

    def render(self, run: StoredRun, results: Results) -> Iterator[Piece]:
        """The content of ``results.json``, computed again."""
        del run
        yield json.dumps(results_json(results), indent=2, ensure_ascii=False, allow_nan=False)


SUMMARY, TABLE, MARKDOWN, AS_JSON = _Summary(), _Tables(), _Markdown(), _Json()
