"""``--strategy tools``: a chat model calls the tools of the judge by function calling, until it answers without a call.

What it is told is what the MCP server tells, through the same redaction. Its last kernel is its answer: the last one
that it gave to a tool, or that it wrote in an answer without calls. Each of its answers is a turn of the conversation,
kept with what the calls were answered, so that a run resumes where it stopped and pays for no turn twice.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from pydantic import BaseModel, Field

from npukb_mcp.calling import CallBudget, Turn, budget_of, last_kernel, tools_for
from npukernelbench.generate.extract import candidate_of, extract
from npukernelbench.generate.repair import extended
from npukernelbench.generate.starting import with_start
from npukernelbench.generate.strategy import Answer, Bench, Made, no_candidate
from npukernelbench.nouns import (
    CallStatus,
    Case,
    Message,
    Outcome,
    Owner,
    Prompt,
    Sample,
    Task,
    ToolResult,
    Track,
)
from npukernelbench.nouns.codec import dumps
from npukernelbench.nouns.knowledge import Hints
from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from npukernelbench.prompts.style import PromptStyle, Tasks

__all__ = ["ToolsArgs", "ToolsStrategy"]

#: Raised with every change of wording, so that results name what was asked.
VERSION = 1

_OPENING = """
## Tools

Call `check` and `judge` to try a kernel before you answer, `explain` and `api` to look things up; several calls in one
answer are fine. `check` and `judge` cost one call each, the others nothing. When `judge` says ok, make the kernel
faster as far as the budget allows.

The last kernel that you gave to `check` or `judge` is your answer, or the one in a code block of an answer without
calls. An answer without calls ends the conversation. The final verdict may be on cases that you are not shown: the
kernel must compute its result for other {differ}, too.
"""
_REMINDER = "No kernel was given. Call judge with its files, or answer with the whole kernel in a code block."


class ToolsArgs(Strict):
    """The budget of one conversation, given by ``--strategy_args key=value,…``."""

    calls: int = Field(20, ge=1, description="calls of check and judge")
    questions: int = Field(40, ge=2, description="answers of the model")
    tokens: int = Field(1_000_000, ge=1, description="tokens of all questions and answers together")


class ToolsStrategy:
    """A conversation with tools. ``--turns`` and ``--hints`` take no part: the model decides what it asks for."""

    Args: ClassVar[type[BaseModel]] = ToolsArgs

    def __init__(self, args: ToolsArgs | None = None) -> None:
        self.args = args or ToolsArgs()

    @property
    def steps(self) -> int:
        """The most questions of a conversation."""
        return self.args.questions

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """What the style says, the tools, and the budget."""
        del tasks
        prompt, args = with_start(style, task, case, track), self.args
        tools = tools_for(track)
        differ = "values" if track is Track.STATIC else "shapes and values"
        budget = _budget_line(CallBudget(args.calls, args.questions, args.tokens))
        *before, last = prompt.messages
        message = Message(last.role, f"{last.content.rstrip()}\n{_OPENING.format(differ=differ)}\n{budget}\n")
        # The hash names the question; tools are part of it, because a model answers otherwise with others.
        digest = hashlib.sha256(f"{prompt.hash}\0{message.content}\0{dumps(tools)}".encode("utf-8", "surrogatepass"))
        template = f"{prompt.template}+tools@{VERSION}"
        return replace(prompt, messages=(*before, message), template=template, hash=digest.hexdigest(), tools=tools)

    def call(self, answer: Answer, bench: Bench) -> tuple[ToolResult, ...]:
        """What the calls of an answer are answered."""
        return Turn(answer, bench).results()

    def make(self, answer: Answer) -> Made:
        """The last kernel that was given, to a tool or in this answer."""
        completion, task = answer.completion, answer.task
        files = last_kernel(answer.prompt, completion.calls, answer.track)
        given = Made(candidate_of(files)) if files is not None else None
        # A text beside calls is a thought, and its code is no answer.
        if completion.calls:
            return given or no_candidate(Outcome.NO_CODE)
        extracted = extract(answer.parser, completion, task, answer.track)
        if isinstance(extracted, Outcome):
            return given or no_candidate(extracted)
        # A last word may quote a line of the kernel, which is no kernel.
        whole = any(task.kernel in text for text in extracted.files.values())
        return given if given is not None and not whole else Made(extracted)

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """The answers to the calls; None when the model called nothing, or the budget is used up."""
        del turns, hints
        completion, verdict = sample.completion, sample.verdict
        if completion is None or verdict is None or verdict.owner not in (Owner.MODEL, Owner.NONE):
            return None
        left = budget_of(sample.prompt).after(sample.prompt, completion)
        if left.questions_left < 1 or left.tokens_left < 1:
            return None
        # A budget of calls is used up: going on would only repeat the refusal.
        if any(result.status is CallStatus.REFUSED for result in sample.calls):
            return None
        if not sample.calls and sample.candidate is not None:
            return None
        said = Message("assistant", completion.text, completion.calls)
        # Servers refuse a conversation in which a call has no answer.
        answers = [Message("tool", result.content, call=result.id) for result in sample.calls]
        reminder = Message("user", f"{_REMINDER}\n{_budget_line(left)}\n")
        return extended(sample.prompt, (said, *(answers or [reminder])), sample.prompt.template)


def _budget_line(budget: CallBudget) -> str:
    return f"Budget: {json.dumps(budget._asdict())}"
