"""Shaping policies: from a verdict to a number, as versioned data.

The file ``policies.yaml`` beside this module holds ours; a path to a file of the same form takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from npukernelbench.errors import ConfigError, SourceLocation, UsageError
from npukernelbench.judge.speed import SPEEDUPS
from npukernelbench.nouns import Outcome, Owner
from npukernelbench.plugins.registry import did_you_mean

__all__ = ["DEFAULT_POLICY", "RewardPolicy", "SpeedTerm", "load_policy", "policies"]

DEFAULT_POLICY = "shaped"

_OURS = Path(__file__).with_name("policies.yaml")
_MODEL_OWNED = frozenset(outcome for outcome in Outcome if outcome.owner in (Owner.MODEL, Owner.NONE))
_METRICS = frozenset(SPEEDUPS.values()) | {"hap", "roofline_net", "speedup_net"}


@dataclass(frozen=True, slots=True)
class SpeedTerm:
    """What a right kernel's speed adds: ``weight`` at and above ``high``, nothing at and below ``low``."""

    metric: str
    weight: float
    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where ``value`` lies between the two marks, 0 to 1."""
        clamped = min(max(value, self.low), self.high)
        if self.log:
            return math.log(clamped / self.low) / math.log(self.high / self.low)
        return (clamped - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class RewardPolicy:
    """One policy: a reward per outcome, a term for partly right answers, terms for speed of which one counts.

    ``empty`` is the reward of a kernel that ran and wrote nothing; None: that of its outcome.
    ``strategy`` and ``parser`` say how answers are read under it; empty: as the caller or the configuration says.
    """

    name: str
    version: int
    outcomes: Mapping[Outcome, float]
    cases: float = 0.0
    speed: tuple[SpeedTerm, ...] = ()
    empty: float | None = None
    strategy: str = ""
    parser: str = ""
    # Prose: other words do not make another policy.
    about: str = field(default="", compare=False)

    @property
    def label(self) -> str:
        """``name@version``, as it is written beside whatever was trained with it."""
        return f"{self.name}@{self.version}"


def load_policy(which: str | RewardPolicy = DEFAULT_POLICY) -> RewardPolicy:
    """A policy of ours by name, or ``FILE`` / ``FILE:NAME`` of a file of your own; a policy is handed back as it is.

    UsageError for an unknown name, ConfigError for a wrong file, naming file, field and remedy.
    """
    if isinstance(which, RewardPolicy):
        return which
    # `FILE:NAME` only where something like `.yaml` stands in front of the colon: paths may hold colons, too.
    file, _, name = which.rpartition(":") if ".y" in which.rpartition(":")[0] else (which, "", "")
    if not file.endswith((".yaml", ".yml")):
        return _named(policies(), which, "the built-in policies")
    defined = policies(Path(file))
    if not name and len(defined) > 1:
        raise UsageError(
            f"{file} holds {len(defined)} policies", field="policy", remedy=f"write {file}:{next(iter(defined))}"
        )
    return _named(defined, name or next(iter(defined)), file)


def policies(file: Path = _OURS) -> Mapping[str, RewardPolicy]:
    """Every policy of a file, by name. ConfigError when it cannot be read or is wrong."""
    try:
        # Part of the key below, so that a process that stays reads a file again when it was edited.
        changed = file.stat().st_mtime_ns
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", location=SourceLocation(file), remedy="name a file that exists"
        ) from None
    return _read(file, changed)


@lru_cache(maxsize=8)
def _read(file: Path, changed: int) -> Mapping[str, RewardPolicy]:
    del changed  # part of the cache's key
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        place = SourceLocation(file, mark.line + 1 if mark else 0)
        raise ConfigError(f"no valid YAML: {error}", location=place, remedy="repair the file") from None
    if not isinstance(data, dict) or not data:
        raise ConfigError(
            "expected a mapping of names to policies", location=SourceLocation(file), remedy="see docs/rewards.md"
        )
    return {str(name): _policy(file, str(name), value) for name, value in data.items()}


def _policy(file: Path, name: str, value: object) -> RewardPolicy:
    try:
        read = _Policy.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join((name, *(str(part) for part in first["loc"])))
        raise ConfigError(
            # Pydantic's words before the message of a validator.
            first["msg"].removeprefix("Value error, "),
            location=SourceLocation(file),
            field=place,
            remedy="see docs/rewards.md",
        ) from None
    terms = read.speed if isinstance(read.speed, list) else [read.speed] if read.speed else []
    speed = tuple(SpeedTerm(**term.model_dump()) for term in terms)
    return RewardPolicy(
        name, read.version, read.outcomes, read.cases, speed, read.empty, read.strategy, read.parser, about=read.about
    )


def _named(policies: Mapping[str, RewardPolicy], name: str, where: str) -> RewardPolicy:
    if name not in policies:
        raise UsageError(
            f"there is no policy {name!r} among {where}", field="policy", remedy=did_you_mean(name, tuple(policies))
        )
    return policies[name]


class _Speed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    metric: str
    weight: float = Field(ge=0)
    low: float
    high: float
    log: bool = False

    @model_validator(mode="after")
    def _sound(self) -> _Speed:
        if self.metric not in _METRICS:
            raise ValueError(f"unknown metric {self.metric!r}; there are {', '.join(sorted(_METRICS))}")
        if not self.low < self.high:
            raise ValueError("'low' must be smaller than 'high'")
        if self.log and self.low <= 0:
            raise ValueError("'low' must be positive for a logarithm")
        return self


class _Policy(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: int = Field(ge=1)
    about: str = ""
    outcomes: dict[Outcome, float]
    cases: float = Field(default=0.0, ge=0)
    speed: _Speed | list[_Speed] | None = None
    empty: float | None = None
    strategy: str = ""
    parser: str = ""

    @model_validator(mode="after")
    def _complete(self) -> _Policy:
        missing = sorted(outcome.value for outcome in _MODEL_OWNED - self.outcomes.keys())
        if missing:
            raise ValueError(f"no reward for {', '.join(missing)}")
        foreign = sorted(outcome.value for outcome in self.outcomes.keys() - _MODEL_OWNED)
        if foreign:
            raise ValueError(f"{', '.join(foreign)} says nothing about the model and has no reward")
        # A policy under which failing pays would train a model to fail.
        best = max(value for outcome, value in self.outcomes.items() if outcome is not Outcome.OK)
        if max(best + self.cases, self.empty or 0.0) > self.outcomes[Outcome.OK]:
            raise ValueError("a wrong answer can be worth more than a right one")
        return self
