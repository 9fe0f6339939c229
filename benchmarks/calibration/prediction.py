"""A published figure, and what the twin predicts for it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Prediction"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """Both in one unit; ``source`` is where the figure was published."""

    published: float
    predicted: float
    source: str

    @property
    def error(self) -> float:
        """Of the prediction, relative to what is published."""
        return self.predicted / self.published - 1
