"""What every harness of this benchmark is asked and how it is measured."""

from __future__ import annotations

import json
import resource
import time
from types import TracebackType

__all__ = ["Clock", "questions"]


def questions(count: int) -> list[str]:
    """So many different prompts of 1,600 characters."""
    return [f"Write kernel {i:06}. " * 78 for i in range(count)]


class Clock:
    """Seconds on the wall and seconds of processor time of this process, threads and ended children included."""

    def __enter__(self) -> Clock:
        self._wall, self._cpu = time.perf_counter(), _processor_s()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.seconds, self.cpu_s = time.perf_counter() - self._wall, _processor_s() - self._cpu

    def report(self) -> None:
        """For the process that started this one."""
        print(json.dumps({"seconds": self.seconds, "cpu_s": self.cpu_s}))


def _processor_s() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
