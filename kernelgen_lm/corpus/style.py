"""How a generated kernel is written: structure, names, partition, tile length. Drawn, so that no two look alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from random import Random

from npukernelbench.nouns.codec import to_json

__all__ = ["Partition", "Structure", "Style", "draw_style"]


class Structure(str, Enum):
    """Where the code stands and what orders the pipes."""

    CLASS = "class"  # a class with Init and Process, queues
    INLINE = "inline"  # everything in the entry, queues
    FLAGS = "flags"  # everything in the entry, plain buffers, flags between pipes
    BARRIERS = "barriers"  # everything in the entry, plain buffers, barriers over all pipes


class Partition(str, Enum):
    """Which core does what."""

    SHARES = "shares"  # one contiguous share per core
    STRIPES = "stripes"  # tiles in turn


@dataclass(frozen=True, slots=True)
class Style:
    """One way of writing. ``literal``: numbers stand in the code instead of the expressions that give them."""

    structure: Structure
    partition: Partition
    depth: int
    tile_bytes: int
    wide: bool
    literal: bool
    plain_copies: bool
    batched: bool
    reuse: bool
    comments: bool
    indent: int
    newline_brace: bool
    shout: bool
    global_suffix: str
    queue_form: str
    local_form: str
    temporary: str
    offset: str
    length: str
    pipe: str
    instance: str

    def constant(self, *words: str) -> str:
        """A constant's name."""
        return "_".join(words).upper() if self.shout else "k" + "".join(word.capitalize() for word in words)

    def global_name(self, name: str) -> str:
        """The global tensor of an argument."""
        return f"{name}{self.global_suffix}"

    def queue(self, name: str) -> str:
        """The queue or buffer of an argument."""
        return self.queue_form.format(name, name.capitalize())

    def local(self, name: str) -> str:
        """The local tensor of an argument."""
        return self.local_form.format(name, name.capitalize())

    def to_json(self) -> Mapping[str, object]:
        """As JSON values."""
        encoded = to_json(self)
        return encoded if isinstance(encoded, dict) else {}


def draw_style(rng: Random) -> Style:
    """A style at random."""
    structure = rng.choices(list(Structure), (5, 3, 2, 1))[0]
    return Style(
        structure=structure,
        partition=rng.choices(list(Partition), (3, 1))[0],
        depth=rng.choice((1, 2, 2)),
        tile_bytes=rng.choice((4096, 8192, 8192, 16384, 16384, 32768)),
        wide=rng.random() < 0.7,
        literal=rng.random() < 0.3,
        plain_copies=rng.random() < 0.3,
        batched=rng.random() < 0.5,
        reuse=rng.random() < 0.5,
        comments=rng.random() < 0.4,
        indent=rng.choice((4, 4, 2)),
        newline_brace=rng.random() < 0.3,
        shout=rng.random() < 0.7,
        global_suffix=rng.choice(("Gm", "Global", "_gm")),
        queue_form=rng.choice(("{0}Queue", "que{1}", "queue{1}", "{0}Que", "{0}_queue")),
        local_form=rng.choice(("{0}Local", "{0}Tile", "local{1}", "{0}_ub")),
        temporary=rng.choice(("tmp", "t", "work", "v")),
        offset=rng.choice(("offset", "begin", "pos")),
        length=rng.choice(("length", "len", "n")),
        pipe=rng.choice(("pipe", "tpipe")),
        instance=rng.choice(("op", "kernel", "impl")),
    )
