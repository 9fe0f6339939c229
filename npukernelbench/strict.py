"""What comes from outside as typed data: YAML, JSON, arguments of the command line."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Strict"]


class Strict(BaseModel):
    """A frozen model that refuses fields that it does not know: a mistyped name is an error, not a default."""

    model_config = ConfigDict(extra="forbid", frozen=True)
