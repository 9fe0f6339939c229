"""The session of ``npukb debug``: commands that go through a recording and show what is there."""

from __future__ import annotations

import cmd
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import NpukbError
from npukernelbench.judge.replay import Replay
from npukernelbench.nouns import DType, Operand, Recorded, Recording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.generic]

__all__ = ["Stepping"]

_SHOWN = 8  # elements of an operand
_AROUND = 3  # lines of source before and behind
_SHORT = {"s": "step", "b": "back", "c": "continue", "rc": "reverse", "i": "info", "l": "list", "q": "quit"}


class _CommandError(NpukbError):
    """A command that makes no sense. The session goes on."""


class Stepping(cmd.Cmd):
    """One recording of a kernel whose sources are ``files``; ``given`` are arguments before the launch, ``types`` the
    element types of all of them. What is said goes to ``tell``.
    """

    prompt = "(npukb) "

    def __init__(
        self,
        recording: Recording,
        given: Mapping[str, Array],
        types: Mapping[str, DType],
        files: Mapping[str, str],
        tell: Callable[[str], None],
    ) -> None:
        super().__init__()
        # The second one stays a step behind, for what operands held before the instruction.
        self._replay, self._before = Replay(recording, given), Replay(recording, given)
        self._types, self._tell = types, tell
        self._lines = {name: text.splitlines() for name, text in files.items()}
        self._breaks: list[str] = []
        self._watched: list[tuple[str, int, int]] = []

    # The session

    def precmd(self, line: str) -> str:
        """Short names stand for whole ones."""
        word, _, rest = line.strip().partition(" ")
        return f"{_SHORT.get(word, word)} {rest}".strip()

    def onecmd(self, line: str) -> bool:
        """Boundary: what is wrong about a command is said, and the next one asked for."""
        try:
            return bool(super().onecmd(line))
        except _CommandError as error:
            self._tell(f"{error.message}; {error.remedy}")
            return False

    def emptyline(self) -> bool:
        """Nothing stands for one step, as in other debuggers."""
        # `cmd.Cmd` would carry out the last command again, whatever it was.
        return bool(self.onecmd("step"))

    def default(self, line: str) -> None:
        """What is no command."""
        raise _CommandError(f"there is no command {line.split()[0]!r}", remedy="help lists them")

    def do_quit(self, _rest: str) -> bool:
        """quit: end the session."""
        return True

    # `cmd.Cmd` makes a command of this name out of the end of input, Ctrl-D on a terminal.
    do_EOF = do_quit  # noqa: N815

    def do_help(self, arg: str) -> None:
        """help: list the commands."""
        for name in sorted(set(self.get_names())):
            text = getattr(self, name).__doc__ if name.startswith("do_") and name != "do_EOF" else None
            if text and arg in name:
                self._tell(f"  {text}")

    # Going

    def do_step(self, rest: str) -> None:
        """step [N]: go on by N instructions or events; s, or nothing."""
        self._go(self._replay.position + _count(rest))

    def do_back(self, rest: str) -> None:
        """back [N]: go back by N; b."""
        self._go(self._replay.position - _count(rest))

    def do_goto(self, rest: str) -> None:
        """goto N: be behind the N-th entry; -1 is the last one."""
        place = _number(rest, "goto N")
        self._go(place if place >= 0 else len(self._replay.entries) + 1 + place)

    def do_continue(self, _rest: str) -> None:
        """continue: go on to the next break or watched write, or to the end; c."""
        entries = self._replay.entries
        places = range(self._replay.position, len(entries))
        self._go(next((at + 1 for at in places if self._stops(entries[at])), len(entries)))

    def do_reverse(self, _rest: str) -> None:
        """reverse: the same backwards; rc."""
        entries = self._replay.entries
        # The entry that is shown lies at `position - 1` and does not stop again.
        places = range(self._replay.position - 2, -1, -1)
        self._go(next((at + 1 for at in places if self._stops(entries[at])), 0))

    def do_break(self, rest: str) -> None:
        """break LINE, break FILE:LINE, break NAME: stop behind what this line does, or instructions of this name."""
        if not rest:
            raise _CommandError("break where", remedy="name a line or an instruction: break 71, break DataCopyPad")
        self._breaks.append(rest)
        count = sum(_meets(rest, entry) for entry in self._replay.entries)
        self._tell(f"break at {rest}: {count} of {len(self._replay.entries)} entries")

    def do_watch(self, rest: str) -> None:
        """watch MEMORY OFFSET [BYTES]: stop behind what writes there: watch UB 1024 32."""
        words = rest.split()
        if len(words) not in (2, 3):
            raise _CommandError("watch what", remedy="name a memory, an offset and a number of bytes: watch UB 1024 32")
        self._watched.append((words[0], _number(words[1], "OFFSET"), _number(words[2], "BYTES") if words[2:] else 1))

    def do_delete(self, _rest: str) -> None:
        """delete: forget all breaks and watched places."""
        self._breaks.clear()
        self._watched.clear()

    def _go(self, position: int) -> None:
        self._replay.go(position)
        self._before.go(self._replay.position - 1)
        last = self._replay.last
        if last is None:
            self._tell(f"at the start of {len(self._replay.entries)} entries")
            return
        self._tell(self._headline(last))
        for operand in last.operands:
            self._tell(f"    {self._operand(operand)}")
        if self._replay.position == len(self._replay.entries):
            self._tell("  this is the last entry")

    def _stops(self, entry: Recorded) -> bool:
        if any(_meets(place, entry) for place in self._breaks):
            return True
        # Reads of a watched place do not stop: they change nothing there.
        return any(
            operand.writes and _holds(operand, *watched) for watched in self._watched for operand in entry.operands
        )

    # Showing

    def do_info(self, _rest: str) -> None:
        """info: the entry that has just ended, its operands before and after; i."""
        self._go(self._replay.position)

    def do_list(self, rest: str) -> None:
        """list [LINE]: source around the entry, or around a line; l."""
        last = self._replay.last
        file = last.file if last else next(iter(self._lines), "")
        line = _number(rest, "LINE") if rest else (last.line if last else 1)
        for number in range(max(1, line - _AROUND), line + _AROUND + 1):
            if text := self._source(file, number):
                self._tell(f"{'>' if number == line else ' '} {number:4}  {text}")

    def do_show(self, rest: str) -> None:
        """show MEMORY [OFFSET [COUNT [TYPE]]]: elements from a byte on: show UB 1024 8 float16, show y."""
        words = rest.split()
        self._require(words[0] if words else "")
        offset = _number(words[1], "OFFSET") if words[1:] else 0
        count = _number(words[2], "COUNT") if words[2:] else _SHOWN
        dtype = _dtype(words[3]) if words[3:] else self._types.get(words[0], DType.FLOAT32)
        content, mask = self._replay.read(words[0], offset, count * dtype.itemsize)
        self._tell(f"{words[0]} byte {offset}, {dtype.value}: {_values(content, mask, dtype, count)}")

    def do_dump(self, rest: str) -> None:
        """dump MEMORY FILE [TYPE]: write what is there now to a file of NumPy (.npy); unknown bytes are zeros."""
        words = rest.split()
        if len(words) not in (2, 3):
            raise _CommandError("dump what", remedy="name a memory and a file: dump y y.npy")
        self._require(words[0])
        dtype = _dtype(words[2]) if words[2:] else self._types.get(words[0], DType.UINT8)
        self.dump(words[0], Path(words[1]), dtype)

    def dump(self, memory: str, file: Path, dtype: DType) -> None:
        """Write a memory, as far as anything is known of it."""
        import numpy as np

        # Whole elements alone: NumPy refuses a view of bytes that leaves some over.
        nbytes = self._replay.extent(memory) // dtype.itemsize * dtype.itemsize
        content, known = self._replay.read(memory, 0, nbytes)
        try:
            np.save(file, content.view(dtype.numpy()), allow_pickle=False)
        except OSError as error:
            raise _CommandError(f"{file} cannot be written: {error.strerror}", remedy="name another file") from None
        missing = nbytes - int(known.sum())
        self._tell(f"{memory}: {nbytes // dtype.itemsize} elements of {dtype.value} to {file}, {missing} bytes unknown")

    def _require(self, memory: str) -> None:
        known = self._replay.memories
        if memory not in known:
            there = ", ".join(f"{name} ({count} bytes known)" for name, count in known.items())
            raise _CommandError(f"nothing is known of {memory!r}", remedy=f"so far of: {there or 'none'}")

    def do_flags(self, _rest: str) -> None:
        """flags: events that are set and not waited for."""
        for flag, line in self._replay.flags.items():
            self._tell(f"  {flag}, set in line {line}")
        if not self._replay.flags:
            self._tell("  no flag is set")

    def do_queues(self, _rest: str) -> None:
        """queues: tensors of queues that are in use."""
        for place, tensor in self._replay.queues.items():
            self._tell(f"  {tensor.queue}: {place}, {tensor.state} in line {tensor.line}")
        if not self._replay.queues:
            self._tell("  no tensor is in use")

    def _headline(self, entry: Recorded) -> str:
        what = f"{entry.name} {entry.note}" if entry.note else f"{entry.name} on pipe {entry.pipe}"
        scalar = "" if entry.scalar is None else f", scalar {_text(entry.scalar)}"
        source = self._source(entry.file, entry.line).strip()
        place = f"{entry.file}:{entry.line}" if entry.line else "no line"
        return f"#{self._replay.position} {place} {what}{scalar}" + (f"\n    | {source}" if source else "")

    def _operand(self, operand: Operand) -> str:
        dtype = operand.dtype or self._types.get(operand.memory) or self._type_beside()
        pieces = f" in {operand.count} pieces {operand.stride} bytes apart" if operand.count > 1 else ""
        total = operand.nbytes * operand.count
        count = min(_SHOWN, total // dtype.itemsize)
        content, mask = (self._replay if operand.writes else self._before).operand(operand)
        text = f"{operand.role} {operand.memory} byte {operand.offset}, {total} bytes{pieces}, {dtype.value}: "
        text += _values(content, mask, dtype, count)
        if operand.writes:
            content, mask = self._before.operand(operand)
            text += f" (before: {_values(content, mask, dtype, count)})" if mask.any() else " (unknown before)"
        return text

    def _type_beside(self) -> DType:
        """Whoever only moves bytes tells no type: it is that of the argument that they come from or go to."""
        last = self._replay.last
        types = (
            [self._types[operand.memory] for operand in last.operands if operand.memory in self._types] if last else []
        )
        return types[0] if types else DType.FLOAT32

    def _source(self, file: str, line: int) -> str:
        lines = self._lines.get(file, [])
        return lines[line - 1] if 0 < line <= len(lines) else ""


def _meets(place: str, entry: Recorded) -> bool:
    """Whether an entry is at a break."""
    file, colon, line = place.rpartition(":")
    if line.isdigit():
        return entry.line == int(line) and (not colon or entry.file == file or entry.file.endswith(f"/{file}"))
    return entry.name == place


def _holds(operand: Operand, memory: str, offset: int, nbytes: int) -> bool:
    """Whether one of the operand's pieces has a byte of the place."""
    if operand.memory != memory:
        return False
    begins = (operand.offset + number * operand.stride for number in range(operand.count))
    return any(begin < offset + nbytes and offset < begin + operand.nbytes for begin in begins)


def _count(text: str) -> int:
    return _number(text, "N") if text else 1


def _number(text: str, what: str) -> int:
    try:
        # Base 0 takes offsets in hexadecimal, too: 0x400.
        return int(text, 0)
    except ValueError:
        raise _CommandError(f"{text!r} is no number", remedy=f"{what} is one") from None


def _dtype(text: str) -> DType:
    try:
        return DType(text)
    except ValueError:
        raise _CommandError(f"there is no type {text!r}", remedy=", ".join(dtype.value for dtype in DType)) from None


def _values(content: NDArray[np.uint8], known: NDArray[np.bool_], dtype: DType, count: int) -> str:
    """The first elements; those of which a byte is unknown are question marks."""
    size = dtype.itemsize
    values = content[: count * size].view(dtype.numpy())
    unknown = (~known[: count * size]).reshape(-1, size).sum(axis=1)
    shown = ["?" if missing else _text(value) for value, missing in zip(values, unknown, strict=True)]
    return " ".join(shown) + (" …" if content.size > count * size else "")


def _text(value: object) -> str:
    import numpy as np

    if isinstance(value, (int, np.integer, np.bool_, np.complexfloating)) or not hasattr(value, "__float__"):
        return str(value)
    return f"{float(value):.7g}"
