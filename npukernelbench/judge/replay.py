"""Going through a recording: what a core's memories hold, and which flags and queues are in use, after any instruction.

Nothing runs again. What instructions left is laid into memories one instruction after the other; going back starts
from the beginning, which is fast enough for a recording that fits into memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from npukernelbench.nouns import Operand, Recorded, Recording

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Queued", "Replay"]

#: What a tensor of a queue is after each call.
_QUEUE_CALLS = {"AllocTensor": "allocated", "EnQue": "enqueued", "DeQue": "dequeued", "FreeTensor": ""}


@dataclass(slots=True)
class _Memory:
    """Bytes that are known, and which ones are."""

    content: NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, np.uint8))
    known: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))

    def put(self, at: int, data: NDArray[np.uint8]) -> None:
        end = at + data.size
        if end > self.content.size:
            # Doubled, so that a memory that is written piece by piece is not copied for each of them.
            more = max(end, 2 * self.content.size) - self.content.size
            self.content = np.concatenate([self.content, np.zeros(more, np.uint8)])
            self.known = np.concatenate([self.known, np.zeros(more, np.bool_)])
        self.content[at:end] = data
        self.known[at:end] = True

    def get(self, at: int, nbytes: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        content, known = np.zeros(nbytes, np.uint8), np.zeros(nbytes, np.bool_)
        there = max(0, min(nbytes, self.content.size - at))
        content[:there], known[:there] = self.content[at : at + there], self.known[at : at + there]
        return content, known


@dataclass(frozen=True, slots=True)
class Queued:
    """A tensor of a queue in use. ``state``: allocated, enqueued or dequeued; ``line`` is where that happened."""

    queue: str
    state: str
    line: int


class Replay:
    """A recording at one of its entries. ``position`` counts those that are over, from 0 to ``len(entries)``."""

    def __init__(self, recording: Recording, given: Mapping[str, NDArray[np.generic]]) -> None:
        """``given`` are the arguments' values before the launch, by name."""
        self.entries = recording.entries
        self._given = given
        self._start()

    def _start(self) -> None:
        self.position = 0
        self._memories: dict[str, _Memory] = {}
        self._flags: dict[str, int] = {}
        self._queues: dict[str, Queued] = {}
        for name, array in self._given.items():
            self._memory(name).put(0, np.ascontiguousarray(array).reshape(-1).view(np.uint8))

    def _memory(self, name: str) -> _Memory:
        return self._memories.setdefault(name, _Memory())

    @property
    def last(self) -> Recorded | None:
        """The entry that has just ended."""
        return self.entries[self.position - 1] if self.position else None

    @property
    def flags(self) -> Mapping[str, int]:
        """Flags that are set (``MTE2_V 0``), and the line that set each."""
        return self._flags

    @property
    def queues(self) -> Mapping[str, Queued]:
        """Tensors of queues that are in use, by where they lie."""
        return self._queues

    @property
    def memories(self) -> Mapping[str, int]:
        """Names of memories of which something is known, and how many bytes of them."""
        return {name: int(memory.known.sum()) for name, memory in self._memories.items()}

    def extent(self, memory: str) -> int:
        """Where the last known byte of a memory ends."""
        known = self._memories.get(memory, _Memory()).known
        return int(known.size - known[::-1].argmax()) if known.any() else 0

    def go(self, position: int) -> None:
        """Be behind so many entries; the first or the last possible place instead of one beyond them."""
        position = max(0, min(position, len(self.entries)))
        # What a write replaced is not recorded, so nothing can be undone.
        if position < self.position:
            self._start()
        for entry in self.entries[self.position : position]:
            self._apply(entry)
        self.position = position

    def read(self, memory: str, offset: int, nbytes: int) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """Bytes of a memory, and which of them are known."""
        return self._memories.get(memory, _Memory()).get(offset, nbytes)

    def operand(self, operand: Operand) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
        """What an operand's pieces hold now, one behind the other."""
        pieces = [
            self.read(operand.memory, operand.offset + i * operand.stride, operand.nbytes) for i in range(operand.count)
        ]
        if not pieces:
            return np.zeros(0, np.uint8), np.zeros(0, np.bool_)
        return np.concatenate([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])

    def _apply(self, entry: Recorded) -> None:
        for operand in entry.operands:
            if operand.writes and operand.content is not None:
                self._write(operand, np.frombuffer(operand.content, np.uint8))
        if entry.name == "SetFlag":
            self._flags[entry.note] = entry.line
        elif entry.name == "WaitFlag":
            self._flags.pop(entry.note, None)
        elif entry.name in _QUEUE_CALLS:
            queue, _, place = entry.note.partition(", ")
            self._queues.pop(place, None)
            if state := _QUEUE_CALLS[entry.name]:
                self._queues[place] = Queued(queue, state, entry.line)

    def _write(self, operand: Operand, content: NDArray[np.uint8]) -> None:
        memory = self._memory(operand.memory)
        for number in range(operand.count):
            piece = content[number * operand.nbytes : (number + 1) * operand.nbytes]
            memory.put(operand.offset + number * operand.stride, piece)
