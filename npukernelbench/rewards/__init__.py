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

from npukernelbench.lazy import lazily, names_of

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

_MODULES = {
    "client": ("RemoteScorer",),
    "opening": ("open_scorer",),
    "policy": ("RewardPolicy", "load_policy", "policies"),
    "question": ("Question",),
    "reward": ("METRIC_NAMES", "Reward", "reward_of"),
    "scorer": ("Scorer",),
    "scoring": ("Answer", "Scoring"),
    "service": ("JudgeServer",),
}
__all__ = names_of(_MODULES)
__getattr__ = lazily(__name__, _MODULES)
