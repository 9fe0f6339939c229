"""The chat-completions protocol: a request's fields, and a completion out of a response of any server's making."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from npukb_openai.args import OpenAIArgs
from npukb_openai.pages import ForeignAnswer, is_html, page_title
from npukernelbench.config.values import redact
from npukernelbench.generate import GenerationRequest
from npukernelbench.nouns import Completion, FinishReason, Message, TokenUsage, ToolCall
from npukernelbench.nouns.codec import to_json

__all__ = ["MalformedAnswer", "completion_of", "request_fields", "sampling_of"]

_FINISH_REASONS = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "max_tokens": FinishReason.LENGTH,
    "tool_calls": FinishReason.STOP,
    "function_call": FinishReason.STOP,  # from servers that know the older form of tools alone
    "content_filter": FinishReason.CONTENT_FILTER,
}


class MalformedAnswer(Exception):  # noqa: N818
    """The server answered, but not with a chat completion."""


def request_fields(args: OpenAIArgs, request: GenerationRequest, limit_field: str) -> dict[str, Any]:
    """Keyword arguments of the client's ``create``. Everything beyond the common fields goes in ``extra_body``.

    The seed is folded to 31 bits, which every server accepts.
    """
    params = request.params
    fields: dict[str, Any] = {
        "model": args.model,
        "messages": [_message(args, message) for message in request.prompt.messages],
        "extra_body": {**args.extra_body, **params.extra},
    }
    if request.prompt.tools:
        fields["tools"] = [{"type": "function", "function": to_json(tool)} for tool in request.prompt.tools]
    if args.send_seed:
        fields["seed"] = request.seed % 2**31
    sampling = {"temperature": params.temperature, "top_p": params.top_p, limit_field: params.max_tokens}
    return fields | {name: value for name, value in sampling.items() if value is not None}


def _message(args: OpenAIArgs, message: Message) -> dict[str, Any]:
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.role == "system":
        fields["role"] = args.system_role
    if message.calls:
        fields["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    return {**fields, "tool_call_id": message.call} if message.call else fields


def sampling_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The sampling among a request's fields, as it is sent; credentials in further fields are blotted out."""
    named = {name: value for name, value in fields.items() if name not in ("model", "messages", "tools", "extra_body")}
    further = redact(to_json(fields.get("extra_body", {})))
    return {**named, **(further if isinstance(further, Mapping) else {})}


def completion_of(response: object, model: str, sent: Mapping[str, Any] | None = None) -> Completion:
    """The first choice of a response. MalformedAnswer when there is none, ForeignAnswer for a web page.

    Servers keep reasoning under ``reasoning`` or ``reasoning_content``. An answer without text is the empty text, whose
    finish reason tells an exhausted token limit from a refusal.
    """
    if isinstance(response, str) and is_html(response):
        raise ForeignAnswer(page_title(response))
    choices = getattr(response, "choices", None)
    if not isinstance(choices, Sequence) or isinstance(choices, str) or not choices:
        raise MalformedAnswer(f"the server sent no choices: {_excerpt(response)}")
    choice = choices[0]
    message = getattr(choice, "message", None)
    if message is None:
        raise MalformedAnswer(f"the server sent a choice without a message: {_excerpt(response)}")
    reason = getattr(choice, "finish_reason", None)
    # A refusal stands in a field of its own, with no content beside it.
    text = _text(getattr(message, "content", None)) or _text(getattr(message, "refusal", None))
    calls = _calls(getattr(message, "tool_calls", None))
    if not text and not reason and not calls:
        # A model that ended says why. This answer was lost on the way.
        raise MalformedAnswer("the server sent neither text nor a reason why it stopped")
    reasoning = getattr(message, "reasoning", None) or getattr(message, "reasoning_content", None)
    return Completion(
        text=text,
        finish_reason=_FINISH_REASONS.get(str(reason), FinishReason.OTHER),
        reasoning=_text(reasoning),
        usage=_usage(getattr(response, "usage", None)),
        model=_text(getattr(response, "model", None)) or model,
        sent=dict(sent or {}),
        calls=calls,
    )


def _calls(listed: object) -> tuple[ToolCall, ...]:
    """The calls of an answer. What is wrong with one is for the caller to say; each has an id, and no two the same,
    because the answers to them are told apart by it.
    """
    calls: dict[str, ToolCall] = {}
    for number, call in enumerate(listed if isinstance(listed, list) else []):
        function = getattr(call, "function", None)
        arguments = getattr(function, "arguments", None)
        # The protocol has arguments as text; some servers send the object itself.
        text = arguments if isinstance(arguments, str) else "" if arguments is None else json.dumps(arguments)
        name = _text(getattr(call, "id", None))
        if not name or name in calls:
            name = f"call_{number}"
        calls[name] = ToolCall(name, _text(getattr(function, "name", None)), text)
    return tuple(calls.values())


def _usage(usage: object) -> TokenUsage:
    details = getattr(usage, "completion_tokens_details", None)
    return TokenUsage(
        prompt=_count(getattr(usage, "prompt_tokens", 0)),
        completion=_count(getattr(usage, "completion_tokens", 0)),
        reasoning=_count(getattr(details, "reasoning_tokens", 0)),
    )


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _text(value: object) -> str:
    """Text, or the joined texts of a list of content parts; empty for anything else."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _excerpt(response: object) -> str:
    error = getattr(response, "error", None)
    return repr(error if error is not None else response)[:300]
