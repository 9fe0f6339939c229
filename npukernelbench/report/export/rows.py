"""Rows of samples, one flat object per judged turn: JSON lines, or a Parquet table.

Our own store stays the truth; what is written here can be made again at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.results import Results
from npukernelbench.report.results import sample_row

if TYPE_CHECKING:
    from npukernelbench.store import StoredRun

__all__ = ["JSONL", "PARQUET", "flat", "rows"]


def rows(run: StoredRun) -> Iterator[dict[str, JSON]]:
    """One flat object per judged turn, in the order of keys: what was asked, answered and judged."""
    # Sorted, so that equal runs give equal files, in whatever order their samples ended.
    for key in sorted(run.samples):
        sample = run.samples[key]
        if sample.verdict is None:
            continue
        row = to_json(sample_row(sample))
        assert isinstance(row, dict)
        del row["turns"]  # a property of the conversation
        completion = sample.completion
        yield {
            **row,
            "prompt_template": sample.prompt.template,
            "prompt_hash": sample.prompt.hash,
            "messages": [{"role": m.role, "content": m.shown} for m in sample.prompt.messages],
            "response": completion.text if completion else None,
            "reasoning": completion.reasoning if completion else None,
            "finish_reason": completion.finish_reason.value if completion else None,
            "model": completion.model if completion else None,
            "usage": to_json(completion.usage) if completion else None,
            "sent": to_json(completion.sent) if completion else None,
            "cached": completion.cached if completion else None,
            "files": to_json(sample.candidate.files) if sample.candidate else None,
            "candidate_hash": sample.candidate.hash if sample.candidate else None,
        }


class _Rows:
    """One JSON object per line."""

    file_name = "samples.jsonl"

    def render(self, run: StoredRun, results: Results) -> Iterator[str]:
        """Every row on a line of its own."""
        del results
        return (dumps(row) for row in rows(run))


class _Parquet:
    """A Parquet table; nested values are JSON text."""

    file_name = "samples.parquet"

    def write(self, run: StoredRun, results: Results, target: Path) -> tuple[Path, ...]:
        """UsageError when pyarrow is missing."""
        del results
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            remedy = "pip install pyarrow, or use --format jsonl"
            raise UsageError("Parquet needs the package pyarrow", field="--format", remedy=remedy) from None
        # Rows are flat, since pyarrow would derive another type of a nested column from every run.
        pq.write_table(pa.Table.from_pylist([flat(row) for row in rows(run)]), target)
        return (target,)


JSONL, PARQUET = _Rows(), _Parquet()


def flat(row: dict[str, JSON]) -> dict[str, JSON]:
    """The row with nested values as JSON text: tables have one type per column."""
    return {name: dumps(value) if isinstance(value, dict | list) else value for name, value in row.items()}
