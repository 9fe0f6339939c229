"""Execution rewards: what an answer is worth, from the same judge that evaluates models.

::

    from npukernelbench.rewards import Answer, Question, open_scorer

    scorer = open_scorer(policy="shaped")
    rewards = scorer.score([Answer(Question.parse("Sqrt/0"), text)])

Adapters: :mod:`~npukernelbench.rewards.trl`, :mod:`~npukernelbench.rewards.verl`,
:mod:`~npukernelbench.rewards.verifiers`. Importing this package costs nothing: the names below load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.rewards.client import RemoteScorer as RemoteScorer
    from npukernelbench.rewards.opening import open_scorer as open_scorer
    from npukernelbench.rewards.policy import RewardPolicy as RewardPolicy
    from npukernelbench.rewards.policy import load_policy as load_policy
    from npukernelbench.rewards.policy import policies as policies
    from npukernelbench.rewards.question import Question as Question
    from npukernelbench.rewards.reward import METRIC_NAMES as METRIC_NAMES
    from npukernelbench.rewards.reward import Reward as Reward
    from npukernelbench.rewards.reward import reward_of as reward_of
    from npukernelbench.rewards.scorer import Scorer as Scorer
    from npukernelbench.rewards.scoring import Answer as Answer
    from npukernelbench.rewards.scoring import Scoring as Scoring
    from npukernelbench.rewards.service import JudgeServer as JudgeServer

_HOMES = {
    "Answer": "scoring",
    "JudgeServer": "service",
    "METRIC_NAMES": "reward",
    "Question": "question",
    "RemoteScorer": "client",
    "Reward": "reward",
    "RewardPolicy": "policy",
    "Scorer": "scorer",
    "Scoring": "scoring",
    "load_policy": "policy",
    "open_scorer": "opening",
    "policies": "policy",
    "reward_of": "reward",
}

__all__ = [
    "METRIC_NAMES",
    "Answer",
    "JudgeServer",
    "Question",
    "RemoteScorer",
    "Reward",
    "RewardPolicy",
    "Scorer",
    "Scoring",
    "load_policy",
    "open_scorer",
    "policies",
    "reward_of",
]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"npukernelbench.rewards.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
