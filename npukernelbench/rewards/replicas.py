"""A judge in several replicas behind one address, for executors that know a cluster."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npukernelbench.config import Config
    from npukernelbench.rewards.callers import Callers

__all__ = ["Count", "Replicas", "Replicating", "settings_of"]

#: What of the configuration a replica's verdicts follow from, besides the executor.
_SETTINGS = ("strategy", "parser", "hidden_seed", "compile_timeout_s", "run_timeout_s")


class Count(NamedTuple):
    """How many replicas there are at least and at most."""

    least: int
    most: int

    @classmethod
    def parse(cls, text: str) -> Count:
        """``4``, or ``2-8`` for as many as what waits asks for. UsageError for anything else."""
        least, dash, most = text.partition("-")
        most = most if dash else least
        # `isdigit` would let ² through, which `int` refuses.
        if not (least.isdecimal() and most.isdecimal() and 1 <= int(least) <= int(most)):
            raise UsageError(f"{text!r} is no number of replicas", field="--replicas", remedy="write 4, or 2-8")
        return cls(int(least), int(most))


@dataclass(frozen=True, slots=True)
class Replicas:
    """What is served where. ``settings`` are those of the configuration that every replica resolves for itself;
    ``jobs`` is 0 where the executor decides; ``cache`` is where verdicts are shared, if anywhere.
    """

    host: str
    port: int
    count: Count
    policy: str
    callers: Callers
    settings: Mapping[str, object]
    jobs: int = 0
    cache: str = ""


@runtime_checkable
class Replicating(Protocol):
    """An executor that serves a judge from several replicas. Optional."""

    def serve(self, replicas: Replicas) -> AbstractContextManager[str]:
        """Serve until the context ends; its value is the address. ExecutorError when that cannot be done."""
        ...


def settings_of(config: Config) -> dict[str, object]:
    """The settings of a configuration that replicas share, without those of an executor."""
    chosen = {name: value for name in _SETTINGS if (value := config.get(name)) is not None}
    folders = {"include_path": tuple(map(str, config.include_path))} if config.include_path else {}
    fixed = {} if config.input_seed is None else {"seed": config.input_seed}
    return {**chosen, **folders, **fixed}
