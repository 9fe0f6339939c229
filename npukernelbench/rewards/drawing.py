"""What the inputs of a batch of answers are drawn from: a secret per batch, so that no policy learns inputs.

All candidates of a batch share inputs and references. Trainers that ask for one answer at a time have no batches: their
answers share a secret for a while.
"""

from __future__ import annotations

from threading import Lock

from npukernelbench.seed import draw_secret

__all__ = ["Drawing"]

#: Single answers that share a secret: about a step of training.
_SINGLES = 256


class Drawing:
    """Seeds of batches. Safe for several threads."""

    def __init__(self, fixed: int | None = None) -> None:
        """``fixed`` is the seed of every batch, for whoever wants the same inputs again."""
        self.fixed = fixed
        self._shared = 0
        self._left = 0
        self._lock = Lock()

    def seed_for(self, answers: int, wanted: int | None = None) -> int:
        """The seed of a batch of so many answers; ``wanted`` is what its caller drew for all parts of it."""
        # Before what the caller wishes: whoever runs the judge has decided.
        if self.fixed is not None:
            return self.fixed
        if wanted is not None:
            return wanted
        if answers > 1:
            return draw_secret()
        with self._lock:
            if self._left <= 0:
                self._shared, self._left = draw_secret(), _SINGLES
            self._left -= 1
            return self._shared
