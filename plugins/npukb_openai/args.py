"""What can be set on the openai backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, JsonValue

from npukernelbench.strict import Strict

__all__ = ["TRANSPORT", "OpenAIArgs"]

#: Marks arguments that decide how answers come, not what they are: a cache of answers takes no notice of them.
TRANSPORT: dict[str, JsonValue] = {"decides": False}


def _transport(default: Any, description: str, *, gt: float | None = None, ge: float | None = None) -> Any:
    """A field that is so marked."""
    return Field(default, gt=gt, ge=ge, description=description, json_schema_extra=TRANSPORT)


class OpenAIArgs(Strict):
    """Arguments of the openai backend. The API key comes from the environment and is never stored."""

    model: str = Field(min_length=1, description="the model's name on the server")
    base_url: str | None = Field(
        None, description="address up to and including /v1; default: OPENAI_BASE_URL, else OpenAI's"
    )
    api_key_env: str = _transport("OPENAI_API_KEY", "name of the environment variable that holds the key")
    client: Literal["direct", "openai"] = _transport(
        "direct", "HTTP client: direct is aiohttp and fast, openai is the official package"
    )
    concurrency: int = _transport(16, "most requests at a time; fewer while the server is busy", ge=1)
    requests_per_minute: float | None = _transport(None, "most requests a minute; default: no limit", gt=0)
    tokens_per_minute: float | None = _transport(
        None, "most tokens a minute, prompts and longest answers together", gt=0
    )
    timeout_s: float = _transport(600.0, "longest wait for one answer, in seconds", gt=0)
    max_retries: int = _transport(5, "how often one request is repeated after a transient failure", ge=0)
    backoff_s: float = _transport(0.5, "first wait before a repetition; it doubles with each, with jitter", ge=0)
    max_backoff_s: float = _transport(30.0, "longest wait between repetitions", ge=0)
    max_retry_after_s: float = _transport(120.0, "longest wait that a server may request before the sample fails", ge=0)
    extra_body: Mapping[str, object] = Field(default_factory=dict, description="further fields of every request body")
    system_role: Literal["system", "developer", "user"] = Field(
        "system", description="role that carries the system prompt"
    )
    send_seed: bool = Field(True, description="send each sample's own seed; some servers refuse the field")
