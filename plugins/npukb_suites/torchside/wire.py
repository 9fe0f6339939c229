"""How the two sides talk: a length, a JSON header, and then the arrays that it lists, byte by byte."""

from __future__ import annotations

import json
import socket
import struct
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Message", "receive", "send"]

_PIECE = 1 << 22


@dataclass(frozen=True)
class Message:
    """A question or an answer."""

    header: dict[str, Any]
    arrays: list[Any] = field(default_factory=list)


def send(to: socket.socket, message: Message) -> None:
    """Write a message whole."""
    import numpy as np

    # ascontiguousarray gives a scalar an axis, which the reshape takes away.
    arrays = [np.ascontiguousarray(array).reshape(np.shape(array)) for array in message.arrays]
    listed = [[str(array.dtype), list(array.shape)] for array in arrays]
    text = json.dumps({**message.header, "arrays": listed}).encode()
    to.sendall(struct.pack("<Q", len(text)) + text)
    for array in arrays:
        # As bytes: Python's buffers know no types such as bfloat16.
        raw = array.reshape(-1).view(np.uint8)
        for start in range(0, raw.size, _PIECE):
            to.sendall(memoryview(raw[start : start + _PIECE]))


def receive(source: socket.socket) -> Message:
    """Read a message whole. EOFError when the other side ends first."""
    import numpy as np

    (length,) = struct.unpack("<Q", bytes(_exactly(source, bytearray(8))))
    header = json.loads(bytes(_exactly(source, bytearray(length))))
    arrays = []
    for dtype, shape in header.pop("arrays"):
        array = np.empty(shape, dtype=dtype)
        _exactly(source, array.reshape(-1).view(np.uint8))
        arrays.append(array)
    return Message(header, arrays)


def _exactly(source: socket.socket, buffer: Any) -> Any:
    view = memoryview(buffer)
    read = 0
    while read < len(view):
        count = source.recv_into(view[read:], min(_PIECE, len(view) - read))
        if count == 0:
            raise EOFError("the other side ended")
        read += count
    return buffer
