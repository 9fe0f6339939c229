"""The tools of ``--strategy tools``: their schemas, and the answers to the calls of one turn.

A call that cannot be understood is answered by an error that says what would do. Every answer ends with what is left of
the budget, so that the conversation itself holds its state: nothing else is needed to resume it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from time import monotonic
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from npukb_mcp.lookup import api_page, explained
from npukb_mcp.redact import told, words
from npukb_mcp.results import Told
from npukb_mcp.sessions import accepted
from npukernelbench.errors import UsageError
from npukernelbench.generate.extract import DEVICE_SOURCE, candidate_of
from npukernelbench.generate.strategy import Answer, Bench
from npukernelbench.judge.documented import Documented
from npukernelbench.judge.speed import GOLDEN, SPEEDUPS
from npukernelbench.nouns import (
    CallStatus,
    Completion,
    FinishReason,
    Outcome,
    Owner,
    Prompt,
    Tool,
    ToolCall,
    ToolResult,
    Track,
)

__all__ = ["CallBudget", "Turn", "broken_rules", "budget_of", "last_kernel", "tools_for"]

_MOST_CALLS = 16
_CHARACTERS_PER_TOKEN = 4
# Both forms: a line of text in a question, and the last member of a tool's JSON.
_BUDGET = re.compile(r'udget"?: ?(\{[^{}]*\})\}?\s*\Z')


class CallBudget(NamedTuple):
    """What a conversation may still do: calls of check and judge, questions to the model, tokens."""

    calls_left: int
    questions_left: int
    tokens_left: int

    def after(self, prompt: Prompt, completion: Completion) -> CallBudget:
        """What is left when the model has answered. Tokens are estimated where the server counts none."""
        usage = completion.usage
        tokens = usage.prompt + usage.completion
        if not tokens:
            characters = sum(len(message.shown) for message in prompt.messages) + len(completion.text)
            # The messages alone leave out what a call says, and kernels are in the calls.
            tokens = (characters + sum(len(call.arguments) for call in completion.calls)) // _CHARACTERS_PER_TOKEN
        return self._replace(questions_left=self.questions_left - 1, tokens_left=max(0, self.tokens_left - tokens))


def budget_of(prompt: Prompt) -> CallBudget:
    """What was left when a question was asked, as it says itself at its end."""
    # From the end: every answer repeats the budget, and the last one counts.
    for message in reversed(prompt.messages):
        match = _BUDGET.search(message.content) if message.role in ("tool", "user") else None
        if match:
            return CallBudget(**json.loads(match.group(1)))
    raise ValueError("the prompt says nothing of a budget")


class _KernelArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    files: dict[str, str] | None = None


class _NameArguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str


_ARGUMENTS: Mapping[str, type[BaseModel]] = {
    "check": _KernelArguments,
    "judge": _KernelArguments,
    "explain": _NameArguments,
    "api": _NameArguments,
}


def tools_for(track: Track) -> tuple[Tool, ...]:
    """What a model may call."""
    static = {"properties": {DEVICE_SOURCE: {"type": "string"}}, "required": [DEVICE_SOURCE]}
    texts = {"type": "object", **(static if track is Track.STATIC else {"additionalProperties": {"type": "string"}})}
    where = DEVICE_SOURCE if track is Track.STATIC else "those in op_host/ and op_kernel/"
    files = {**texts, "description": f"whole source texts by name: {where}; left out: the last ones that you gave"}
    kernel = {"type": "object", "properties": {"files": files}, "additionalProperties": False}

    def named(description: str) -> Mapping[str, object]:
        name = {"type": "string", "description": description}
        return {"type": "object", "properties": {"name": name}, "required": ["name"], "additionalProperties": False}

    return (
        Tool("check", "Compile a kernel and run nothing: messages with line and remedy. Costs a call.", kernel),
        Tool(
            "judge",
            "Compile a kernel, run it on the public cases and compare: outcome, messages with line, rule and remedy, "
            "the time of a right kernel and where it goes. Costs a call.",
            kernel,
        ),
        Tool(
            "explain",
            "Say what a rule, an outcome or a pattern of wrong elements means. Free.",
            named("a rule, an outcome, a pattern, or a message that names one"),
        ),
        Tool(
            "api",
            "Look up a name of the API: its declarations, element types, pitfalls, whether kernels may use it. Free.",
            named("a function, type or constant of Ascend C"),
        ),
    )


def last_kernel(prompt: Prompt, calls: tuple[ToolCall, ...], track: Track) -> Mapping[str, str] | None:
    """The last kernel that was given to a tool, in ``calls`` or before."""
    everything = [call for message in prompt.messages for call in message.calls]
    for call in reversed([*everything, *calls]):
        try:
            files = _kernel(call, track)
        # A malformed call gave no kernel; an earlier one may have.
        except UsageError:
            continue
        if files is not None:
            return files
    return None


class Turn:
    """Answers the calls of one answer, one after the other."""

    def __init__(self, answer: Answer, bench: Bench) -> None:
        self._track, self._completion, self._bench = answer.track, answer.completion, bench
        self._budget = budget_of(answer.prompt).after(answer.prompt, answer.completion)
        # The conversation holds the state: a kernel that an earlier turn gave needs no repetition.
        self._files = last_kernel(answer.prompt, (), answer.track)
        self._started = monotonic()

    def results(self) -> tuple[ToolResult, ...]:
        """One for each call."""
        return tuple(self._answered(number, call) for number, call in enumerate(self._completion.calls))

    def _answered(self, number: int, call: ToolCall) -> ToolResult:
        try:
            # A model that repeats itself may make calls without end, and looking up costs no budget.
            if number >= _MOST_CALLS:
                raise UsageError("too many calls in one answer", remedy=f"make at most {_MOST_CALLS}")
            arguments = _arguments(call, self._completion)
            if isinstance(arguments, _NameArguments):
                ask = explained if call.name == "explain" else api_page
                page = ask(arguments.name, self._bench.documented).model_dump(exclude_defaults=True)
                return self._result(call, CallStatus.ANSWERED, page)
            files = _kernel(call, self._track) or self._files
            if files is None:
                raise UsageError("no kernel was given yet", field="files", remedy="give its whole source")
        except UsageError as error:
            return self._result(call, CallStatus.MALFORMED, {"error": words(error)})
        self._files = files
        return self._judged(call, files)

    def _judged(self, call: ToolCall, files: Mapping[str, str]) -> ToolResult:
        if self._budget.calls_left < 1:
            error = "no calls are left. Remedy: answer without a call; the last kernel that you gave is your answer"
            return self._result(call, CallStatus.REFUSED, {"error": error})
        candidate, compiled_only = candidate_of(files), call.name == "check"
        verdict = self._bench.check(candidate) if compiled_only else self._bench.judge(candidate)
        page = told(verdict)
        shown = page.model_dump(mode="json", exclude_defaults=True)
        # A fault that is not the kernel's costs no call.
        if verdict.owner in (Owner.INFRA, Owner.TASK):
            return self._result(call, CallStatus.FAULT, shown)
        self._budget = self._budget._replace(calls_left=self._budget.calls_left - 1)
        result = self._result(call, CallStatus.ANSWERED, shown)
        return ToolResult(
            result.id,
            result.name,
            result.content,
            result.status,
            paid=True,
            outcome=verdict.outcome,
            compiled_only=compiled_only,
            rules=broken_rules(page, self._bench.documented),
            time_us=page.time.time_us if page.time else 0.0,
            seconds=round(monotonic() - self._started, 3),
            speedup=verdict.metrics.get(SPEEDUPS[GOLDEN], 0.0),
        )

    def _result(self, call: ToolCall, status: CallStatus, told: Mapping[str, object]) -> ToolResult:
        # The budget comes last: that is where budget_of looks for it.
        content = json.dumps({**told, "budget": self._budget._asdict()}, ensure_ascii=False)
        return ToolResult(call.id, call.name, content, status)


def broken_rules(page: Told, documented: Documented | None) -> tuple[str, ...]:
    """Rules of the hardware that a kernel broke. Of executors that list none: all that decided such an outcome."""
    known = frozenset(entry.rule for entry in documented.rule_entries()) if documented is not None else frozenset()
    violation = page.outcome == Outcome.RULE_VIOLATION.value
    errors = {note.rule for note in page.diagnostics if note.severity == "error"}
    return tuple(sorted(errors & known if known else errors if violation else ()))


def _kernel(call: ToolCall, track: Track) -> Mapping[str, str] | None:
    """The files in a call of check or judge; None where it gives none. UsageError when they are no kernel."""
    # A call in the history may name a tool that never was: it gives no kernel.
    arguments = _arguments(call) if _ARGUMENTS.get(call.name) is _KernelArguments else None
    if not isinstance(arguments, _KernelArguments) or arguments.files is None:
        return None
    return accepted(arguments.files, track)


def _arguments(call: ToolCall, completion: Completion | None = None) -> BaseModel:
    """The arguments of a call, checked. UsageError with what would do."""
    schema = _ARGUMENTS.get(call.name)
    if schema is None:
        raise UsageError(f"there is no tool {call.name[:80]!r}", remedy=f"tools: {', '.join(_ARGUMENTS)}")
    remedy = (
        'give {"files": {"name of a file": "its whole text"}}' if schema is _KernelArguments else 'give {"name": "…"}'
    )
    try:
        # A call without arguments may come with an empty text.
        value = json.loads(call.arguments or "{}")
    except ValueError as error:
        cut = completion is not None and completion.finish_reason is FinishReason.LENGTH
        why = "the answer was cut off at its token limit" if cut else str(error)
        raise UsageError(f"the arguments are no JSON: {why}", field="arguments", remedy=remedy) from None
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        # Without the input, which may be a whole kernel, and the address of a page about pydantic.
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(("arguments", *(str(part) for part in first["loc"])))
        raise UsageError(first["msg"], field=where[:200], remedy=remedy) from None
