"""Rows for trainers: one per question, with the prompt that the harness itself would ask."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path

from npukernelbench.errors import UsageError
from npukernelbench.generate.strategy import DIRECT, Strategy
from npukernelbench.nouns import Message, Track
from npukernelbench.nouns.codec import JSON, dumps
from npukernelbench.prompts import PromptStyle
from npukernelbench.prompts.style import Tasks
from npukernelbench.rewards.question import Question
from npukernelbench.tasks import Selected

__all__ = ["RowFormat", "questions", "rows", "write_rows"]

#: What verl calls the source of a row.
DATA_SOURCE = "npukernelbench"


class RowFormat(str, Enum):
    """Whose rows."""

    TRL = "trl"
    VERL = "verl"


def questions(selected: Iterable[Selected], track: Track) -> Iterator[tuple[Selected, Question]]:
    """Every question of a selection: one per case on the static track, one per task on the dynamic one."""
    for entry in selected:
        if not track.per_case:
            yield entry, Question(entry.task.name, "", track)
        else:
            yield from ((entry, Question(entry.task.name, case.id, track)) for case in entry.cases)


def rows(
    selected: Iterable[Selected],
    track: Track,
    style: PromptStyle,
    row_format: RowFormat,
    *,
    strategy: Strategy = DIRECT,
    tasks: Tasks = dict,
) -> Iterator[Mapping[str, JSON]]:
    """Rows of a dataset, with the first question that ``strategy`` asks; ``tasks`` gives it all tasks by name.

    TRL: ``prompt`` (messages) and ``npukb_task`` (the question). verl: ``data_source``, ``prompt``, ``ability``,
    ``reward_model`` with the question as ground truth, ``extra_info``.
    """
    make = _MAKERS[row_format]
    for index, (entry, question) in enumerate(questions(selected, track)):
        case = next((case for case in entry.cases if case.id == question.case), None)
        prompt = strategy.opening(entry.task, case, track, style, tasks)
        yield make(index, question, [_message(message) for message in prompt.messages])


def _trl(index: int, question: Question, messages: list[JSON]) -> Mapping[str, JSON]:
    del index
    return {"prompt": messages, "npukb_task": str(question)}


def _verl(index: int, question: Question, messages: list[JSON]) -> Mapping[str, JSON]:
    return {
        "data_source": DATA_SOURCE,
        "prompt": messages,
        "ability": "code",
        "reward_model": {"style": "rule", "ground_truth": str(question)},
        "extra_info": {"index": index, "task": question.task, "case": question.case, "track": question.track.value},
    }


def _message(message: Message) -> JSON:
    return {"role": message.role, "content": message.content}


_MAKERS: Mapping[RowFormat, Callable[[int, Question, list[JSON]], Mapping[str, JSON]]] = {
    RowFormat.TRL: _trl,
    RowFormat.VERL: _verl,
}


def write_rows(path: Path, made: Iterable[Mapping[str, JSON]]) -> int:
    """Write rows as JSON lines, or as Parquet when the name ends so; how many there are.

    UsageError when pyarrow is missing for Parquet, or when the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".parquet":
            return _write_parquet(path, list(made))
        # All rows first, so that one that cannot be made leaves no half of a file.
        lines = [dumps(row) + "\n" for row in made]
        path.write_text("".join(lines), encoding="utf-8")
        return len(lines)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", field="FILE", remedy="name a file that can be written") from None


def _write_parquet(path: Path, made: list[Mapping[str, JSON]]) -> int:
    """Nested values stay nested, as verl reads them."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow", field="FILE", remedy="pip install pyarrow, or name a file .jsonl"
        ) from None
    pq.write_table(pa.Table.from_pylist(made), path)
    return len(made)
