"""Derived randomness: every seed is a hash of what it is for, so no generator is ever shared and no order matters."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import fields, is_dataclass
from enum import Enum

__all__ = ["derive", "draw_secret"]

#: Bits of a secret: as many as every reader of JSON keeps, and as a float holds.
_SECRET_BITS = 53


def draw_secret() -> int:
    """A seed that nobody can know before: the one source of randomness that is not derived. Results keep it."""
    return secrets.randbits(_SECRET_BITS)


def derive(*parts: object) -> int:
    """A 63-bit seed for the purpose that ``parts`` spell out: ``derive(run_seed, "inputs", task.name, case.id)``.

    Parts are None, booleans, integers, floats, text, bytes, enum members (which count as their values), and tuples,
    lists or dataclasses of these. Equal parts give equal seeds on every machine and Python version; ``("ab", "c")`` and
    ``("a", "bc")`` differ, and so do ``1``, ``1.0``, ``True`` and ``"1"``. TypeError on anything else, as its text
    might hold an address.
    """
    digest = hashlib.sha256(_encode(parts)).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _encode(part: object) -> bytes:
    """A prefix-free byte string for one part: a type tag, the length, the content."""
    # Enumerations first, and booleans before integers: members of `str` enumerations are text, too, and True is an int.
    if isinstance(part, Enum):
        return _encode(part.value)
    if part is None:
        return _tagged(b"n", b"")
    if isinstance(part, bool):
        return _tagged(b"b", b"1" if part else b"0")
    if isinstance(part, int):
        return _tagged(b"i", str(int(part)).encode())
    if isinstance(part, float):
        return _tagged(b"f", float(part).hex().encode())
    if isinstance(part, str):
        return _tagged(b"s", part.encode("utf-8", "surrogatepass"))
    if isinstance(part, bytes):
        return _tagged(b"y", part)
    if is_dataclass(part) and not isinstance(part, type):
        return _encode(tuple(getattr(part, field.name) for field in fields(part)))
    if isinstance(part, (tuple, list)):
        return _tagged(b"l", b"".join(_encode(item) for item in part))
    raise TypeError(f"cannot derive a seed from {type(part).__name__}; use text, numbers, bytes or tuples of these")


def _tagged(tag: bytes, content: bytes) -> bytes:
    return tag + str(len(content)).encode() + b":" + content
