"""What the proxy has to know of each protocol: paths that ask a model, how its name and its tools are written, where
usage stands in an answer.

Everything else stays closed: a provider's other services, and tools that the provider runs itself (a search of the
web), would be a network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import StringIO
from typing import Any, NamedTuple

from npukb_agent.presets import Protocol

__all__ = ["RULES", "Asked", "Rules", "Usage", "usage_of"]

_CHARACTERS_PER_TOKEN = 4
#: Fields of a question by which a provider reaches other services.
_REACHING = ("web_search_options", "mcp_servers", "plugins", "container", "models", "route", "provider")
_GEMINI = re.compile(r"/v1(?:beta)?/models/[^/:]+:(?P<method>generateContent|streamGenerateContent|countTokens)")


@dataclass(frozen=True, slots=True)
class Rules:
    """One protocol. ``asking`` are paths that ask the model, ``free`` those that only count or list."""

    base_url: str
    key_variable: str
    asking: tuple[str, ...]
    free: tuple[str, ...]
    prompt: tuple[str, ...]
    completion: tuple[str, ...]

    def headers(self, key: str) -> dict[str, str]:
        """How the key is sent."""
        if not key:
            return {}
        if self is RULES[Protocol.ANTHROPIC]:
            return {"x-api-key": key, "authorization": f"Bearer {key}"}
        return {"x-goog-api-key": key} if self is RULES[Protocol.GEMINI] else {"authorization": f"Bearer {key}"}


RULES: Mapping[Protocol, Rules] = {
    Protocol.CHAT: Rules(
        "https://api.openai.com",
        "OPENAI_API_KEY",
        ("/v1/chat/completions",),
        ("/v1/models",),
        ("prompt_tokens",),
        ("completion_tokens",),
    ),
    Protocol.RESPONSES: Rules(
        "https://api.openai.com",
        "OPENAI_API_KEY",
        ("/v1/responses",),
        ("/v1/models",),
        ("input_tokens",),
        ("output_tokens",),
    ),
    Protocol.ANTHROPIC: Rules(
        "https://api.anthropic.com",
        "ANTHROPIC_API_KEY",
        ("/v1/messages",),
        ("/v1/messages/count_tokens", "/v1/models"),
        ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        ("output_tokens",),
    ),
    Protocol.GEMINI: Rules(
        "https://generativelanguage.googleapis.com",
        "GEMINI_API_KEY",
        (),
        (),
        ("promptTokenCount",),
        ("candidatesTokenCount", "thoughtsTokenCount"),
    ),
}


class Asked(NamedTuple):
    """A request as it is passed on. ``counts`` says whether it asks the model."""

    path: str
    body: bytes
    counts: bool

    @classmethod
    def of(cls, protocol: Protocol, path: str, body: bytes, model: str) -> Asked | None:
        """The request with the run's model in place of whatever it names, and tools of the provider taken out. None for
        a path that stays closed. ValueError when the body is no JSON object.
        """
        rules, plain = RULES[protocol], path.partition("?")[0]
        gemini = _GEMINI.fullmatch(plain) if protocol is Protocol.GEMINI else None
        if gemini is None and plain not in (*rules.asking, *rules.free):
            return None
        if not body:
            return cls(path, body, counts=False)
        value = json.loads(body)
        if not isinstance(value, dict):
            raise ValueError("the body is no object")
        if gemini is not None:
            path = re.sub(r"/models/[^/:]+:", f"/models/{model}:", path)
        else:
            value["model"] = model
        value = {name: item for name, item in value.items() if name not in _REACHING}
        if isinstance(value.get("tools"), list):
            value["tools"] = [tool for tool in (_own(protocol, tool) for tool in value["tools"]) if tool]
        # Chat servers count the tokens of a stream only when they are asked to.
        if protocol is Protocol.CHAT and value.get("stream"):
            value["stream_options"] = {**_mapping(value.get("stream_options")), "include_usage": True}
        counts = plain in rules.asking or (gemini is not None and gemini["method"] != "countTokens")
        return cls(path, json.dumps(value).encode(), counts)


def _own(protocol: Protocol, tool: object) -> object:
    """The tool where the agent itself runs it; None where the provider would."""
    if not isinstance(tool, dict):
        return None
    kind = str(tool.get("type", "custom"))
    if protocol is Protocol.GEMINI:
        return {name: item for name, item in tool.items() if name in ("functionDeclarations", "function_declarations")}
    # Tools of these kinds are defined by the provider, but run by the agent.
    if protocol is Protocol.ANTHROPIC:
        return tool if kind == "custom" or kind.startswith(("bash_", "text_editor_", "memory_")) else None
    return tool if kind in ("function", "custom", "namespace", "local_shell", "shell", "apply_patch") else None


class Usage(NamedTuple):
    """Tokens of one answer. ``counted`` says that the server counted them."""

    prompt: int
    completion: int
    counted: bool = True


def usage_of(protocol: Protocol, question: bytes, answer: bytes) -> Usage:
    """The tokens of a question and its answer, whole or streamed; estimated where the server counts none."""
    rules = RULES[protocol]
    counts: dict[str, int] = {}
    for event in _events(answer):
        for usage in _usages(event):
            for name, value in usage.items():
                if isinstance(value, int):
                    # Streams repeat and raise counts: the last word counts, and the largest is the last.
                    counts[name] = max(value, counts.get(name, 0))
    if not any(name in counts for name in (*rules.prompt, *rules.completion)):
        return Usage(len(question) // _CHARACTERS_PER_TOKEN, len(answer) // _CHARACTERS_PER_TOKEN, counted=False)
    asked, answered = (sum(counts.get(name, 0) for name in names) for names in (rules.prompt, rules.completion))
    return Usage(asked, answered)


def _events(answer: bytes) -> Iterator[object]:
    text = answer.decode("utf-8", "replace")
    try:
        yield json.loads(text)
        return
    except ValueError:
        pass
    for line in StringIO(text):
        if line.startswith("data:"):
            try:
                yield json.loads(line[5:])
            except ValueError:
                continue


def _usages(event: object) -> Iterator[Mapping[str, Any]]:
    """Objects called usage: of the answer itself, or one step inside (``response``, ``message``)."""
    for part in event if isinstance(event, list) else [event]:
        holder = _mapping(part)
        for inner in (holder, _mapping(holder.get("response")), _mapping(holder.get("message"))):
            for name in ("usage", "usageMetadata"):
                if isinstance(inner.get(name), Mapping):
                    yield inner[name]


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
