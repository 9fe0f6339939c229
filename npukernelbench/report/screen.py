"""A run on one screen: small tables, what they mean in words, the first failures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from npukernelbench.nouns.results import Results
from npukernelbench.report.comparison.records import record_of_results
from npukernelbench.report.overlap import overlap_sentence
from npukernelbench.report.run_tables import failures, headline, level_table, optimised_tables, problem_table, spending
from npukernelbench.report.score import score_sentence
from npukernelbench.report.summary import sentences
from npukernelbench.report.table import Prose, Table

__all__ = ["screen"]

#: Longer tables of problems are for ``npukb report --format table``.
_MOST_PROBLEMS = 12
_MOST_FAILURES = 5
#: Columns of the table of levels: samples, faults of ours, and the two rates over valid samples.
_COLUMNS = 5


def screen(results: Results, folder: Path) -> Iterator[Prose | Table]:
    """Tables, and sentences one by one."""
    problems = problem_table(results)
    if len(problems.rows) <= _MOST_PROBLEMS:
        yield problems
    levels = level_table(results)
    yield replace(levels, columns=levels.columns[:_COLUMNS], rows=tuple(row[:_COLUMNS] for row in levels.rows))
    yield from optimised_tables(results)
    yield from map(Prose, sentences(record_of_results(results, folder)))
    if score := score_sentence(results):
        yield Prose(score)
    if overlap := overlap_sentence(folder):
        yield Prose(overlap)
    # An empty line between what was reached and what failed.
    yield Prose("")
    yield from map(Prose, (*failures(results, _MOST_FAILURES), headline(results), *spending(results)))
