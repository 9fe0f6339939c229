"""Undefined bytes travel through every instruction as its row says: all rows, by count and in mask form.

A case is one call whose sources are either filled or never written; its results are stored. Cases share a kernel, as
many as the checker tells apart, and are recognised by the line of their diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from npukb_twin.compile.instructions import Row, instructions
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukb_twin.launch.launching import Checker
from npukernelbench.nouns import DType, Outcome
from tests.twin import rows
from tests.twin.running import Twin

ROOM = 1024  # bytes of dst and of the output per case
#: Cases and warnings of a kernel at most: what UB has room for, and what the checker tells apart.
CASES_TOGETHER, WARNINGS_TOGETHER = 90, 30


@dataclass(frozen=True)
class Case:
    """One call: which of its sources nobody has written, how many lanes are on, how many bytes are stored."""

    row: Row
    pair: tuple[str, str]
    blank: frozenset[str]
    stored: int
    warns: bool
    lanes: int = 0  # mask form on so many lanes

    def __str__(self) -> str:
        form = f"{self.lanes} lanes" if self.lanes else "by count"
        return f"{self.row.name} {self.pair[1]} to {self.pair[0]}, {form}, unwritten {sorted(self.blank)}"

    def text(self, at: int) -> str:
        dst, src = map(rows.ctype, self.pair)
        count = rows.lanes_of(self.pair, self.row)
        full = lambda name: "blank" if name in self.blank else "full"  # noqa: E731
        tensors = rows.Tensors("d", "a", "b", "m", f"scratch.ReinterpretCast<{src}>()")
        fill = f"Duplicate(room[{at * ROOM}].ReinterpretCast<int16_t>(), (int16_t)0, {ROOM // 2});"
        call = (
            rows.by_lanes(self.row, self.pair, self.lanes, tensors)
            if self.lanes
            else rows.by_count(self.row, self.pair, count, tensors)
        )
        return " ".join([
            "{", fill if "Dst" in self.row.operands and "Dst" not in self.blank else "",
            f"LocalTensor<{dst}> d = room[{at * ROOM}].ReinterpretCast<{dst}>();",
            f"LocalTensor<{src}> a = {full('Src0')}.ReinterpretCast<{src}>();",
            f"LocalTensor<{src}> b = {full('Src1')}.ReinterpretCast<{src}>();",
            f"LocalTensor<uint8_t> m = {full('Choices')};",
            f"{call}; PipeBarrier<PIPE_ALL>();",
            f"DataCopyPad(to[{at * ROOM}], room[{at * ROOM}], {{1, {self.stored}, 0, 0, 0}}); PipeBarrier<PIPE_ALL>();",
            "}",
        ])  # fmt: skip


def written(row: Row, pair: tuple[str, str]) -> int:
    """Bytes that one repeat fills without a gap."""
    lanes, size = rows.lanes_of(pair, row), rows.width(pair[0])
    results = {
        "Packed": lanes / 8,
        "Blocks": 8 * rows.BLOCK_BYTES,
        "HalfBlocks": 16 if size == 1 else lanes * size,
        "PerBlock": 8 * size,
        "PerPair": lanes / 2 * size,
        "PerRepeat": size,
        "RepeatExtreme": 2 * size,
        "PerTensor": size,
        "TensorExtreme": size,
    }
    return int(results.get(row.span, lanes * size))


def variants(row: Row, pair: tuple[str, str]) -> Iterator[Case]:
    """What is undefined, and whether that reaches what is stored."""
    stored = written(row, pair)
    sources = sorted(row.operands & {"Src0", "Src1", "Dst", "Choices"})
    yield Case(row, pair, frozenset(), stored, warns=False)
    for source in sources:
        yield Case(row, pair, frozenset({source}), stored, warns=row.flow != "Any" or source == "Choices")
    if row.flow == "Any":
        yield Case(row, pair, frozenset({"Src0", "Src1"}), stored, warns=True)
    if row.span == "HalfBlocks" and stored == 16:
        yield Case(row, pair, frozenset(), 32, warns=True)  # the other half of the block is not written
    if row in rows.MASKED and "Dst" not in row.operands:
        lanes = rows.lanes_of(pair, row)
        size = rows.width(pair[0])
        half = lanes // 2
        yield Case(row, pair, frozenset(), int(half * size), warns=False, lanes=half)
        yield Case(row, pair, frozenset(), int(lanes * size), warns=True, lanes=half)
        yield Case(row, pair, frozenset({"Src0"}), int(half * size), warns=row.flow != "Any", lanes=half)


def one_pair_per_shape(row: Row) -> list[tuple[str, str]]:
    """Of pairs whose elements have the same sizes the first: definedness goes by bytes."""
    shapes = {(rows.width(dst), rows.width(src)): (dst, src) for dst, src in reversed(row.pairs)}
    return list(shapes.values())


CASES = [case for row in instructions() for pair in one_pair_per_shape(row) for case in variants(row, pair)]


def kernels() -> list[list[Case]]:
    """The cases, as many to a kernel as go together."""
    groups: list[list[Case]] = [[]]
    for case in CASES:
        warnings = sum(other.warns for other in groups[-1])
        if len(groups[-1]) == CASES_TOGETHER or warnings + case.warns > WARNINGS_TOGETHER:
            groups.append([])
        groups[-1].append(case)
    return groups


KERNELS = kernels()


@pytest.fixture(scope="module")
def full() -> Iterator[Twin]:
    executor = TwinExecutor(TwinArgs(checker=Checker.FULL))
    yield Twin(executor)
    executor.close()


@pytest.mark.parametrize("cases", KERNELS, ids=[f"{k[0].row.name} to {k[-1].row.name}" for k in KERNELS])
def test_undefined_sources_reach_what_is_stored(full: Twin, cases: list[Case]) -> None:
    head = f"""TPipe pipe;
    TBuf<TPosition::VECCALC> b_room, b_full, b_blank, b_scratch;
    pipe.InitBuffer(b_room, {CASES_TOGETHER * ROOM});
    pipe.InitBuffer(b_full, 1024);
    pipe.InitBuffer(b_blank, 1024);
    pipe.InitBuffer(b_scratch, 1024);
    LocalTensor<uint8_t> room = b_room.Get<uint8_t>(), full = b_full.Get<uint8_t>(), blank = b_blank.Get<uint8_t>();
    LocalTensor<uint8_t> scratch = b_scratch.Get<uint8_t>();
    GlobalTensor<uint8_t> to;
    to.SetGlobalBuffer((__gm__ uint8_t*)y);
    Duplicate(full.ReinterpretCast<int16_t>(), (int16_t)0, 512);
    SetDeqScale((half)1); PipeBarrier<PIPE_ALL>();
    """
    body = head + "\n".join(case.text(at) for at, case in enumerate(cases))
    finished = full.run(body, {}, {"y": ((len(cases) * ROOM,), DType.UINT8)})
    assert finished.outcome is Outcome.OK, [str(diagnostic) for diagnostic in finished.diagnostics]
    lines = finished.source.splitlines()
    first = next(at for at, line in enumerate(lines, 1) if "room[0]" in line)
    said = {line - first: rule for rule, line in finished.found}
    assert set(said.values()) <= {"uninitialized_read"}, finished.found
    wrong = [
        f"{case}: {'silent' if case.warns else 'warns'}" for at, case in enumerate(cases) if case.warns != (at in said)
    ]
    assert not wrong
