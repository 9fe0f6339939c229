"""Trajectories of agents and of models with tools as training conversations, in the form of chat templates with tools.

A line holds ``messages`` (roles system, user, assistant with ``tool_calls``, tool), ``tools`` (schemas), and where it
comes from. Benchmark tasks are what agents work on, so every line names its task: whoever trains on it has seen it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelgen_lm.corpus.sample import write_lines
from npukernelbench.nouns import Message, Outcome, Prompt, Sample, ToolCall, ToolResult
from npukernelbench.run.turns import settled, spoken_for
from npukernelbench.store import read_run

__all__ = ["trajectories", "write_trajectories"]

# An agent's record keeps what it called, but not the schemas that it was offered: they are written here.
_FILES = {"type": "object", "additionalProperties": {"type": "string"}}
_KERNEL = {"type": "object", "properties": {"files": _FILES}, "required": ["files"]}
_SAYS = {
    "check": "Compile a kernel and run nothing.",
    "judge": "Compile a kernel, run it on the public cases and compare.",
}


def trajectories(folder: Path, *, wrong: bool = False) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Rows of a run, and what became of its conversations. Only those whose answer is right, unless ``wrong``.

    StoreError when the folder holds no run.
    """
    run = read_run(folder)
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for turns in spoken_for(run.samples.values()).values():
        last = settled(turns)
        verdict = last.verdict
        if not any(turn.calls for turn in turns):
            counts["without a call"] += 1
        elif verdict is None or (verdict.outcome is not Outcome.OK and not wrong):
            counts["not right"] += 1
        else:
            row = _row(turns, last)
            counts["malformed call" if row is None else "written"] += 1
            if row is not None:
                rows.append({**row, "run": run.manifest.run_id})
    return rows, counts


def write_trajectories(rows: Iterable[Mapping[str, Any]], file: Path) -> None:
    """One line of JSON each."""
    write_lines(file, (json.dumps(row, ensure_ascii=False, sort_keys=True) + "\n" for row in rows))


def _row(turns: Sequence[Sample], last: Sample) -> dict[str, Any] | None:
    prompt, completion, verdict = last.prompt, last.completion, last.verdict
    if completion is None or verdict is None:
        return None
    if completion.results:
        # An agent calls within one answer: its calls and what they were answered take turns.
        said = [*prompt.messages, *_alternating(completion.calls, completion.results)]
        tools = _schemas_of(completion.calls)
    else:
        said, tools = list(prompt.messages), _schemas(prompt)
        said += _alternating(completion.calls, last.calls) if completion.calls else []
    # A text beside calls of tools is said while working, and no answer.
    if completion.text and not (completion.calls and not completion.results):
        said.append(Message("assistant", completion.text))
    try:
        messages = [_message(message) for message in said]
    except ValueError:
        return None
    return {
        "messages": messages,
        "tools": tools,
        "task": last.key.task,
        "case": last.key.case,
        "track": last.key.track.value,
        "model": completion.model,
        "outcome": verdict.outcome.value,
        "calls": sum(result.paid for turn in turns for result in turn.calls),
        "provenance": {"benchmark": last.key.task},
    }


def _alternating(calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> Iterator[Message]:
    told = {result.id: result for result in results}
    for call in calls:
        yield Message("assistant", "", (call,))
        if call.id in told:
            yield Message("tool", told[call.id].content, call=call.id)


def _message(message: Message) -> dict[str, Any]:
    """As chat templates take it: arguments are objects. ValueError for arguments that are none."""
    shown: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        shown["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
            for call in message.calls
        ]
    if message.call:
        shown["tool_call_id"] = message.call
    return shown


def _arguments(call: ToolCall) -> Mapping[str, Any]:
    # Some servers send no text at all for a call without arguments.
    value = json.loads(call.arguments or "{}")
    if not isinstance(value, dict):
        raise ValueError("arguments are an object")
    return value


def _schemas(prompt: Prompt) -> list[dict[str, Any]]:
    return [_schema(tool.name, tool.description, tool.parameters) for tool in prompt.tools]


def _schemas_of(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    # Sorted, so that equal runs give equal lines.
    names = sorted({call.name for call in calls})
    return [_schema(name, _SAYS.get(name, ""), _KERNEL) for name in names]


def _schema(name: str, description: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}
