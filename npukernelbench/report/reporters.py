"""The harness's own reporters that are text: tables for people, the same in markdown, and results as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from npukernelbench.nouns.results import Results
from npukernelbench.report.reporter import Piece
from npukernelbench.report.run_tables import failures, headline, run_tables, settings_table, spending
from npukernelbench.report.score import score_sentence
from npukernelbench.report.screen import screen
from npukernelbench.report.table import as_markdown
from npukernelbench.store import StoredRun, results_json

__all__ = ["AS_JSON", "MARKDOWN", "SUMMARY", "TABLE"]


@dataclass(frozen=True, slots=True)
class _Text:
    """A reporter whose text comes from one function."""

    file_name: str
    pieces: Callable[[StoredRun, Results], Iterator[Piece]]

    def render(self, run: StoredRun, results: Results) -> Iterator[Piece]:
        """What the function says."""
        return self.pieces(run, results)


def _summary(run: StoredRun, results: Results) -> Iterator[Piece]:
    """What fits one screen."""
    yield from screen(results, run.directory)


def _tables(_: StoredRun, results: Results) -> Iterator[Piece]:
    """Tables, a line per failure, the headline."""
    yield from run_tables(results)
    yield from failures(results)
    yield headline(results)
    yield from filter(None, (score_sentence(results),))
    yield from spending(results)
    yield settings_table(results)


def _markdown(_: StoredRun, results: Results) -> Iterator[Piece]:
    """The same tables without the failures."""
    yield from (as_markdown(table) for table in run_tables(results))
    yield headline(results)
    yield from filter(None, (score_sentence(results),))
    yield from spending(results)


def _json(_: StoredRun, results: Results) -> Iterator[Piece]:
    """The content of ``results.json``, computed again."""
    yield json.dumps(results_json(results), indent=2, ensure_ascii=False, allow_nan=False)


SUMMARY = _Text("summary.txt", _summary)
TABLE = _Text("report.txt", _tables)
MARKDOWN = _Text("report.md", _markdown)
AS_JSON = _Text("report.json", _json)
