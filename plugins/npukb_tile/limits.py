"""How large a program may be, and how much work reading it may cause."""

from __future__ import annotations

__all__ = [
    "MOST_AXES",
    "MOST_CHARACTERS",
    "MOST_DEPTH",
    "MOST_INTEGER",
    "MOST_ITEMS",
    "MOST_OPERATIONS",
    "MOST_SORTED",
    "MOST_STEPS",
    "MOST_VALUES",
]

#: Characters of a program. The longest of ours has some five thousand.
MOST_CHARACTERS = 20_000
#: Axes that a repeated extent may make.
MOST_AXES = 64
#: Elements that one instruction sorts: 255 repeats of 32.
MOST_SORTED = 255 * 32
#: Integers of an attribute that is a list.
MOST_ITEMS = 64
#: Elements of an input that the host function may read.
MOST_VALUES = 64
#: How deep statements and expressions may be nested.
MOST_DEPTH = 60
#: Operations of one tile expression, with what is written once and used twice counted twice.
MOST_OPERATIONS = 500
#: Statements that the host function may come to.
MOST_STEPS = 200_000
#: Integers of the host and of the kernel are 64 bits wide.
MOST_INTEGER = 2**63
