"""A run in markdown for a pull request: what was reached in one sentence, rates by level, and the rest folded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from npukernelbench.nouns.results import Results
from npukernelbench.report.comparison.records import record_of
from npukernelbench.report.run_tables import failures, headline, level_table, problem_table
from npukernelbench.report.summary import sentences
from npukernelbench.report.table import as_markdown

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["PULL_REQUEST"]

#: GitHub takes comments of 65,536 characters; a page is for more.
_MOST_PROBLEMS = 100
_MOST_FAILURES = 30
#: Samples, faults of ours, and the two rates over valid samples.
_COLUMNS = 5


class _PullRequest:
    """Markdown with folded parts, as GitHub and GitLab show them."""

    file_name = "pull_request.md"

    def render(self, run: StoredRun, results: Results) -> Iterator[str]:
        """Title, sentences, levels; problems and failures folded."""
        record = record_of(run)
        yield f"### {_plain(record.model)} on npukernelbench (tier {record.tier}, track {record.track})\n"
        yield from (f"- {_plain(sentence)}" for sentence in sentences(record))
        levels = level_table(results)
        rows = tuple(row[:_COLUMNS] for row in levels.rows)
        yield "\n" + as_markdown(replace(levels, columns=levels.columns[:_COLUMNS], rows=rows))
        problems = problem_table(results)
        if len(problems.rows) <= _MOST_PROBLEMS:
            yield from _folded(f"{len(problems.rows)} problems", as_markdown(problems))
        failed = failures(results, _MOST_FAILURES)
        if failed:
            # As text: a message may hold what a model wrote, and markdown would show it as something else.
            yield from _folded("What failed", "```text\n" + "\n".join(failed).replace("```", "ʼʼʼ") + "\n```")
        yield f"\n<sub>{_plain(headline(results))}; run {record.run_id}</sub>"


PULL_REQUEST = _PullRequest()


def _folded(title: str, content: str) -> Iterator[str]:
    # Markdown inside an HTML element is read as such only between blank lines.
    yield f"\n<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _plain(text: str) -> str:
    """Text without a meaning in markdown or HTML."""
    return "".join(f"\\{character}" if character in "<>`*_[]|" else character for character in text)
