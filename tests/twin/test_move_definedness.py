"""Unwritten operands of moves: what is moved from them holds no value either, and those that decide are told of.

One call for every operand of every row whose operands lie in UB, generated as those of ``test_move_table``; the rows
say which operand decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from npukb_twin.compile.instructions import MoveRow
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome
from tests.twin.running import Finished, Twin
from tests.twin.test_move_table import CALLS, IN_UB, OFFSETS, kind_of

ROOM = 2048  # bytes of a result, and of the output, per case
#: Bytes of a result that every call fills, from its beginning.
STORED = 32
STORED_OF = {"ProposalConcat": 4}
SIZES = {"uint8_t": 1, "half": 2}


class Case(NamedTuple):
    """A call of a row in which nobody has written one operand, or each has a value."""

    row: MoveRow
    blank: str

    def __str__(self) -> str:
        return f"{self.row.name} without {self.blank or 'nothing'}"

    @property
    def decides(self) -> bool:
        return any(operand.slot == self.blank and operand.decides for operand in self.row.operands)

    def held_by(self, slot: str, at: int) -> tuple[str, int]:
        """The buffer of an operand, and how many bytes behind its beginning it lies."""
        if slot == "Dst":
            return "room", at * ROOM
        if slot == self.blank:
            return "blank", 0
        leads = slot == "Src1" and self.row.name in OFFSETS
        return f"offsets{list(OFFSETS).index(self.row.name)}" if leads else "full", 0

    def text(self, at: int) -> str:
        operands: dict[str, str] = {}
        for slot in (operand.slot for operand in self.row.operands):
            kind, (buffer, place) = kind_of(self.row, slot), self.held_by(slot, at)
            operands[slot] = f"{buffer}.Get<{kind}>()[{place // SIZES.get(kind, 4)}]"
        stored = f"{{1, {STORED_OF.get(self.row.name, STORED)}, 0, 0, 0}}"
        return (
            f"{{ {CALLS[self.row.name].format(**operands)}; PipeBarrier<PIPE_ALL>(); }}\n"
            f"DataCopyPad(to[{at * ROOM}], room.Get<uint8_t>()[{at * ROOM}], {stored}); PipeBarrier<PIPE_ALL>();"
        )


def cases() -> Iterator[Case]:
    for row in IN_UB:
        yield Case(row, "")
        for operand in row.operands:
            if operand.slot.startswith("Src"):
                yield Case(row, operand.slot)


@pytest.fixture(scope="module")
def full() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL))
    yield Twin(executor)
    executor.close()


def run(full: Twin, some: list[Case]) -> tuple[Finished, set[int]]:
    """What the cases do in one kernel, and the lines with unwritten bytes: two for a case, its call and its store."""
    head = "TPipe pipe; TBuf<TPosition::VECCALC> room, full, blank, offsets0, offsets1, offsets2;\n"
    head += f"pipe.InitBuffer(room, {len(some) * ROOM});\n"
    head += "".join(
        f"pipe.InitBuffer({name}, 2048);\n" for name in ("full", "blank", "offsets0", "offsets1", "offsets2")
    )
    head += "GlobalTensor<uint8_t> to; to.SetGlobalBuffer((__gm__ uint8_t*)y);\n"
    head += "Duplicate(full.Get<int16_t>(), (int16_t)0, 1024);\n"
    for number, value in enumerate(OFFSETS.values()):
        head += f"for (int i = 0; i < 64; ++i) offsets{number}.Get<uint32_t>().SetValue(i, {value});\n"
    body = head + "PipeBarrier<PIPE_ALL>();\n" + "\n".join(case.text(at) for at, case in enumerate(some))
    done = full.run(body, {}, {"y": ((len(some) * ROOM,), DType.UINT8)})
    first = next(at for at, line in enumerate(done.source.splitlines(), 1) if "room.Get" in line)
    return done, {line - first for rule, line in done.found if rule == "uninitialized_read"}


def test_unwritten_operands_are_told_where_their_row_says(full: Twin) -> None:
    # Offsets that nobody has written lead anywhere: such a kernel does not go on.
    some = [case for case in cases() if not (case.decides and case.row.name in ("Gather", "Gatherb"))]
    done, told = run(full, some)
    assert done.outcome is Outcome.OK, [str(error) for error in done.errors]
    for at, case in enumerate(some):
        if case.decides:
            assert 2 * at in told, case
        else:
            assert (2 * at in told, 2 * at + 1 in told) == (False, bool(case.blank)), case


@pytest.mark.parametrize("name", ["Gather", "Gatherb"])
def test_unwritten_offsets_are_told_before_they_lead_astray(full: Twin, name: str) -> None:
    done, told = run(full, [case for case in cases() if case.decides and case.row.name == name])
    assert told == {0}, done.found


def test_in_place_a_transpose_moves_what_was_there(full: Twin) -> None:
    """One column of the source is written: it is one row of the result."""
    body = """TPipe pipe; TBuf<TPosition::VECCALC> t; pipe.InitBuffer(t, 512);
    GlobalTensor<half> to; to.SetGlobalBuffer((__gm__ half*)y);
    LocalTensor<half> a = t.Get<half>();
    for (int i = 0; i < 16; ++i) a.SetValue(i * 16, (half)i);
    PipeBarrier<PIPE_ALL>();
    Transpose(a, a); PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, 16); PipeBarrier<PIPE_ALL>();
    DataCopy(to[16], a[32], 16);  // the third row
    """
    done = full.run(body, {}, {"y": ((32,), DType.FLOAT16)})
    [(rule, line)] = done.found
    assert rule == "uninitialized_read"
    assert "the third row" in done.source.splitlines()[line - 1]
    assert list(done.output()[:16]) == list(range(16))
