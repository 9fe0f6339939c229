"""Choosing what scores answers: a server if one is named, else this process."""

from __future__ import annotations

from pathlib import Path

from npukernelbench.rewards.policy import DEFAULT_POLICY, RewardPolicy
from npukernelbench.rewards.scoring import Scoring

__all__ = ["open_scorer"]


def open_scorer(
    *, policy: str | RewardPolicy = DEFAULT_POLICY, judge: str = "", file: Path | None = None, **settings: object
) -> Scoring:
    """What scores answers here: a server's address in ``judge`` (``http://127.0.0.1:8970``), or several with commas
    between them; else this process.

    ``settings`` are those of the configuration by name (docs/configuration.md): ``strategy``, ``parser``, ``executor``,
    ``executor_args``, ``jobs``, ``seed``, ``hidden_seed``, ``compile_timeout_s``, ``run_timeout_s``, ``include_path``…
    A server has all of them already; only ``strategy`` and ``parser`` are passed on to it, where they are given. Close
    it when done. UsageError and ConfigError as from the command line.
    """
    if judge:
        from npukernelbench.rewards.client import RemoteScorer

        return RemoteScorer(
            judge, policy=policy, strategy=str(settings.get("strategy", "")), parser=str(settings.get("parser", ""))
        )
    from npukernelbench.config import resolve
    from npukernelbench.rewards.scorer import local_scorer

    return local_scorer(resolve(file=file, options=settings), policy)
