"""The head of a cluster, as seen from here: whether it still answers."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from threading import Lock

from npukernelbench.errors import ExecutorError

__all__ = ["Head", "knock"]

_KNOCK_S = 10.0
_ASK_EVERY_S = 2.0


def knock(address: str) -> None:
    """OSError when nobody listens at ``host:port``: Ray itself waits for minutes. Other addresses are not tried."""
    host, colon, port = address.rpartition(":")
    # An address such as ray://HOST:PORT is of Ray's client, and says nothing of the head's port.
    if colon and port.isdigit() and "://" not in address:
        socket.create_connection((host, int(port)), timeout=_KNOCK_S).close()


class Head:
    """It is given ``patience_s`` to come back. Safe to call from several threads.

    Ray ends the process of whoever waits for a lost head, and says nothing of one that hangs: we ask for ourselves.
    """

    def __init__(
        self,
        address: str,
        patience_s: float,
        *,
        ask: Callable[[str], None] = knock,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._address, self._patience_s = address, patience_s
        self._ask, self._clock = ask, clock
        self._heard = clock()
        self._asked = float("-inf")
        self._silent = False
        self._lock = Lock()

    @property
    def silent(self) -> bool:
        """Whether it did not answer when it was last asked."""
        # Held while asking, too: threads that want to know at the same time share one answer.
        with self._lock:
            # Every judgement asks this: the head itself hears of it once in a while.
            if self._clock() - self._asked >= _ASK_EVERY_S:
                try:
                    self._ask(self._address)
                except OSError:
                    self._silent = True
                else:
                    self._silent, self._heard = False, self._clock()
                # Noted after the answer: a head that takes long to answer is not asked again at once.
                self._asked = self._clock()
            return self._silent

    def require(self) -> None:
        """ExecutorError once it has been silent for longer than we are patient."""
        # From the last answer on, not from the first silence, which nobody may have noticed for a while.
        if self.silent and self._clock() - self._heard > self._patience_s:
            raise ExecutorError(
                f"the head of the cluster at {self._address} has not answered for {self._patience_s:.0f} s",
                remedy="start a cluster and run the same command with its address: finished samples are kept",
            )
