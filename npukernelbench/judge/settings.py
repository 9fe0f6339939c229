"""What a judge may spend on a candidate, and its randomness."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["JudgeSettings"]


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What the judge may spend, its randomness, and how often a fault of ours is tried again (``infra_retries``).

    A kernel that was right runs again under other circumstances (``repeats``), is judged on other inputs of the case
    (``variations``: other seeds and classes of values, cases of up to 4 MiB; both on the twin only), and on more where
    it gives cause for doubt (``canaries``).
    """

    compile_timeout_s: float = 60.0
    run_timeout_s: float = 60.0
    seed: int = 0
    infra_retries: int = 1
    repeats: int = 1
    variations: int = 1
    canaries: int = 2
