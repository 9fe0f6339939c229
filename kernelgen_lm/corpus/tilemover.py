"""From a question of data movement to a tile program: pieces of rows through a buffer, without arithmetic.

Rows go many at a time where each comes from the row of its own number, else one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kernelgen_lm.corpus.movement import Movement, Piece
from kernelgen_lm.tile_loops import indented

__all__ = ["NUMBERS", "move_rows"]

#: What the kernel gets from the launch.
NUMBERS = ("n", "d", "m", "total", "share", "most")


def move_rows(movement: Movement, signature: str, names: Sequence[str], whole_numbers: bool) -> list[str]:
    """The lines of both functions. ``signature`` is the kernel's, with the numbers of :data:`NUMBERS`; ``names`` are
    those of the inputs, then of the output.
    """
    return _Mover(movement, names, whole_numbers).lines(signature)


class _Mover:
    def __init__(self, movement: Movement, names: Sequence[str], whole_numbers: bool) -> None:
        self.inputs, self.output, self.whole_numbers = names[:-1], names[-1], whole_numbers
        self.pieces = {f"piece{number}": piece for number, piece in enumerate(movement.pieces(), 1)}
        self.together = all(piece.row == "first" for piece in self.pieces.values())
        self.rows, self.columns = movement.extents()

    def lines(self, signature: str) -> list[str]:
        first = self.inputs[0]
        most = f"max(1, min(128, 4096 // round_up(m, 16) // {len(self.pieces)}))" if self.together else "1"
        filled = [(name, piece) for name, piece in self.pieces.items() if piece.source is None]
        fills = [line for name, piece in filled for line in self._fill(name, piece)]
        return [
            f"def plan({first}):",
            f"    d = {first}.shape[{first}.rank - 1]",
            f"    n = {first}.size // d",
            f"    m = {self.columns}",
            f"    total = {self.rows}",
            f"    most = {most}",
            "    share = round_up(max(1, ceil_div(total, vector_cores())), most)",
            f"    {self.output}.shape = (total, m)",
            "    launch(cores=max(1, ceil_div(total, share)), n=n, d=d, m=m, total=total, share=share, most=most)",
            "",
            "",
            "@kernel",
            signature,
            *indented(f"{name} = buffer(most, {_extent(piece)}, T)" for name, piece in self.pieces.items()),
            # Constant pieces are filled before the loop: every store takes the same values.
            *indented(fills),
            "    begin = core() * share",
            "    for first in range(begin, min(begin + share, total), most):",
            "        rows = min(most, min(begin + share, total) - first)",
            "        with copy_in:",
            *indented(self._loads(), 3),
            "        with copy_out:",
            *indented(self._stores(), 3),
        ]

    def _fill(self, name: str, piece: Piece) -> list[str]:
        value = piece.value if self.whole_numbers else f"{piece.value}.0"
        return [f"with compute(most, {piece.length}):", f"    {name}[:] = {value}"]

    def _loads(self) -> Iterable[str]:
        for name, piece in self.pieces.items():
            if piece.source is not None:
                place = f"{self.inputs[piece.source]}[{piece.row} * d + {piece.begin}]".replace(" + 0]", "]")
                yield f"load({name}, {place}, rows, {piece.length}, stride=d)"

    def _stores(self) -> Iterable[str]:
        for name, piece in self.pieces.items():
            place = f"{self.output}[first * m + {piece.to}]".replace(" + 0]", "]")
            yield f"store({place}, {name}, rows, {piece.length}, stride=m)"


def _extent(piece: Piece) -> str:
    # buffer(rows, 1) is a column, whose elements lie next to each other: it cannot be stored with a stride.
    return "2" if piece.length == "1" else piece.length
