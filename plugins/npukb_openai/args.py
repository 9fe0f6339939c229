"""What can be set on the openai backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

__all__ = ["TRANSPORT", "OpenAIArgs"]

#: Marks arguments that decide how answers come, not what they are: a cache of answers takes no notice of them.
TRANSPORT: dict[str, JsonValue] = {"decides": False}


class OpenAIArgs(BaseModel):
    """Arguments of the openai backend. The API key is none: it comes from the environment and is never stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1, description="the model's name on the server")
    base_url: str | None = Field(
        None, description="address up to and including /v1; default: OPENAI_BASE_URL, else OpenAI's"
    )
    api_key_env: str = Field(
        "OPENAI_API_KEY", description="name of the environment variable that holds the key", json_schema_extra=TRANSPORT
    )
    client: Literal["direct", "openai"] = Field(
        "direct",
        description="HTTP client: direct is aiohttp and fast, openai is the official package",
        json_schema_extra=TRANSPORT,
    )
    concurrency: int = Field(
        16,
        ge=1,
        description="most requests at a time; fewer while the server is busy",
        json_schema_extra=TRANSPORT,
    )
    requests_per_minute: float | None = Field(
        None, gt=0, description="most requests a minute; default: no limit", json_schema_extra=TRANSPORT
    )
    tokens_per_minute: float | None = Field(
        None,
        gt=0,
        description="most tokens a minute, prompts and longest answers together",
        json_schema_extra=TRANSPORT,
    )
    timeout_s: float = Field(
        600.0, gt=0, description="longest wait for one answer, in seconds", json_schema_extra=TRANSPORT
    )
    max_retries: int = Field(
        5, ge=0, description="how often one request is repeated after a transient failure", json_schema_extra=TRANSPORT
    )
    backoff_s: float = Field(
        0.5,
        ge=0,
        description="first wait before a repetition; it doubles with each, with jitter",
        json_schema_extra=TRANSPORT,
    )
    max_backoff_s: float = Field(
        30.0, ge=0, description="longest wait between repetitions", json_schema_extra=TRANSPORT
    )
    max_retry_after_s: float = Field(
        120.0,
        ge=0,
        description="longest wait that a server may request before the sample fails",
        json_schema_extra=TRANSPORT,
    )
    extra_body: Mapping[str, object] = Field(default_factory=dict, description="further fields of every request body")
    system_role: Literal["system", "developer", "user"] = Field(
        "system", description="role that carries the system prompt"
    )
    send_seed: bool = Field(True, description="send each sample's own seed; some servers refuse the field")
