"""What an executor keeps for its artifacts until they are released."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import Generic, TypeVar

from npukernelbench.errors import ExecutorError

__all__ = ["Held"]

K = TypeVar("K")
V = TypeVar("V")


class Held(Generic[K, V]):
    """Values by key, each until it has been released as often as it was kept: equal candidates may share an artifact.

    Safe for several threads. ``len`` is how many there are.
    """

    def __init__(self) -> None:
        self._values: dict[K, V] = {}
        self._holders: Counter[K] = Counter()
        self._lock = Lock()

    def keep(self, key: K, value: V) -> None:
        """Keep a value; one that is there already under that key is replaced, and has one holder more."""
        with self._lock:
            self._values[key] = value
            self._holders[key] += 1

    def get(self, key: K) -> V:
        """The value. ExecutorError when it was never kept, or is released."""
        with self._lock:
            if key not in self._values:
                raise ExecutorError(f"the artifact {key} was never compiled here, or is released already")
            return self._values[key]

    def release(self, key: K) -> V | None:
        """One holder less. The value when that was the last, for the caller to remove what belongs to it."""
        with self._lock:
            # A key that `clear` has forgotten counts -1 here: releasing it is no error.
            self._holders[key] -= 1
            if self._holders[key] > 0:
                return None
            del self._holders[key]
            return self._values.pop(key, None)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()
            self._holders.clear()

    def __len__(self) -> int:
        return len(self._values)
