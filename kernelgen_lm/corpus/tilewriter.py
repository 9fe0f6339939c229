"""From a generated question to a tile program: one text for both tracks, and for every element type that is asked for.

Arithmetic is in float32 (in int32 where the question is of whole numbers). A value that is used once stands where it is
used, others get a buffer of their own, as in the formula.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernelgen_lm.corpus.movement import Movement
from kernelgen_lm.corpus.operations import OPERATIONS, REDUCTIONS
from kernelgen_lm.corpus.program import Kind, Program, Step
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tilemover import NUMBERS, move_rows
from kernelgen_lm.tile_loops import SHARE, by_tiles, indented, put_together

__all__ = ["TileWriting", "write_tile"]

_FUNCTION = ("abs(", "exp(", "ln(", "sqrt(", "tanh(", "max(", "min(", "where(", "row_")


class TileWriting(NamedTuple):
    """How a question's program is written: the types that it accepts, and constants that are attributes, by step."""

    types: tuple[str, ...]
    attributes: Mapping[int, str] = {}


class _Statement(NamedTuple):
    """A buffer that is filled: its name, the expression, and the extent of what it holds."""

    name: str
    text: str
    kind: Kind


def write_tile(spec: Spec, writing: TileWriting) -> str:
    """The program of a question."""
    if isinstance(spec.body, Movement):
        tensors = [f"{name}: Input[T]" for name in spec.names[:-1]]
        signature = f"def {spec.kernel}({', '.join(tensors)}, {spec.names[-1]}: Output[T], *, {', '.join(NUMBERS)}):"
        return _program(writing, move_rows(spec.body, signature, spec.names, spec.dtype.is_exact))
    return _Writer(spec, spec.body, writing).text()


def _program(writing: TileWriting, body: Sequence[str]) -> str:
    return f"T = {', '.join(writing.types)}\n\n\n@host\n" + "\n".join(body) + "\n"


class _Writer:
    def __init__(self, spec: Spec, program: Program, writing: TileWriting) -> None:
        self.spec, self.program, self.writing = spec, program, writing
        self.inputs, self.output = spec.names[:-1], spec.names[-1]
        self.whole_numbers = spec.dtype.is_exact
        self.kinds = program.kinds()
        #: A type variable has no arithmetic of its own: copies in float32 do, one way for all types.
        self.widens = not self.whole_numbers

    def text(self) -> str:
        """The whole program."""
        if self.spec.family == "whole":
            body = self._whole()
        elif self.program.is_flat:
            body = self._flat()
        else:
            body = self._rows()
        return _program(self.writing, body)

    def _statements(self, places: Sequence[str], last: str) -> list[_Statement]:
        """What is computed, in order; the result of the last step goes to ``last`` as it is."""
        texts, statements = list(places), list[_Statement]()
        uses, first = self._uses(), len(self.program.inputs)
        for index, step in enumerate(self.program.steps):
            value = first + index
            text = self._expression(index, step, texts)
            if index == len(self.program.steps) - 1:
                statements.append(_Statement(last, text, self.kinds[value]))
            elif uses[value] > 1 or step.operation in REDUCTIONS:
                name = f"t{len(statements) + 1}"
                statements.append(_Statement(name, text, self.kinds[value]))
                text = name
            texts.append(text)
        return statements

    def _uses(self) -> list[int]:
        """How often an expression in one line would mention every value."""
        counts = [0] * (len(self.program.inputs) + len(self.program.steps))
        for step in self.program.steps:
            form = OPERATIONS[step.operation].tile if step.operation in OPERATIONS else "{a}"
            for letter, operand in zip("ab", step.operands, strict=False):
                counts[operand] += form.count("{" + letter + "}")
        return counts

    def _expression(self, index: int, step: Step, texts: Sequence[str]) -> str:
        operands = [texts[operand] for operand in step.operands]
        if step.operation in REDUCTIONS:
            mean = " * scale" if step.operation == "rmean" and not self.program.whole else ""
            return f"{REDUCTIONS[step.operation].tile}({operands[0]}){mean}"
        values = {letter: _operand(text) for letter, text in zip("ab", operands, strict=False)}
        zero, one = ("0", "1") if self.whole_numbers else ("0.0", "1.0")
        constant = ""
        if step.constant is not None:
            constant = self.writing.attributes.get(index) or self._number(step.constant)
        form = OPERATIONS[step.operation].tile
        # Arguments of a function need no brackets.
        if form.startswith(_FUNCTION) and "(abs(" not in form and "where" not in form:
            values = dict(zip("ab", operands, strict=False))
        return form.format(**values, c=constant, zero=zero, one=one)

    def _number(self, value: float) -> str:
        return str(int(value)) if self.whole_numbers else repr(float(value))

    def _signature(self, numbers: Sequence[str], workspace: bool = False) -> str:
        result = self._result_type()
        arguments = [f"{name}: Input[T]" for name in self.inputs]
        arguments.append(f"{self.output}: Output[{result}]")
        if workspace:
            arguments.append("parts: Workspace[float32]")
        kind = "int" if self.whole_numbers else "float"
        for index, name in self.writing.attributes.items():
            constant = self.program.steps[index].constant
            arguments.append(f"{name}: Attribute[{kind}] = {self._number(constant or 0.0)}")
        return f"def {self.spec.kernel}({', '.join(arguments)}, *, {', '.join(numbers)}):"

    def _result_type(self) -> str:
        same = self.spec.result is self.spec.dtype and self.spec.family != "whole"
        return "T" if same else self.spec.result.value

    def _cast(self, text: str) -> str:
        """A result in the output's type."""
        if self.whole_numbers:
            return text
        return f"{self._result_type()}({text})"

    def _places(self) -> tuple[list[str], list[_Statement]]:
        """Where the operands of each input are, and what widens them."""
        if not self.widens:
            return [f"{name}_in" for name in self.inputs], []
        places = [f"{name}_f" for name in self.inputs]
        pairs = zip(self.inputs, places, self.program.inputs, strict=True)
        return places, [_Statement(place, f"float32({name}_in)", kind) for name, place, kind in pairs]

    def _tile(self, statements: int) -> int:
        """Elements of a tile: the fewer, the more buffers there are."""
        buffers = 3 * len(self.inputs) + statements + 2
        return 4096 if buffers <= 7 else 2048 if buffers <= 14 else 1024

    def _flat(self) -> list[str]:
        places, wide = self._places()
        statements = self._statements(places, f"{self.output}_out")
        work = "T" if self.whole_numbers else "float32"
        buffers = [f"{name}_in = buffer(tile, T, depth=2)" for name in self.inputs]
        buffers += [f"{item.name} = buffer(tile, {work})" for item in (*wide, *statements[:-1])]
        buffers.append(f"{self.output}_out = buffer(tile, {self._result_type()}, depth=2)")
        lines = [f"{item.name}[:] = {item.text}" for item in (*wide, *statements[:-1])]
        lines.append(f"{self.output}_out[:] = {self._cast(statements[-1].text)}")
        stored = f"store({self.output}[begin + offset], {self.output}_out, length)"
        first = self.inputs[0]
        return [
            f"def plan({first}):",
            f"    total = {first}.size",
            "    share = max(256, round_up(ceil_div(total, vector_cores()), 256))",
            f"    {self.output}.shape = {first}.shape",
            "    launch(cores=max(1, ceil_div(total, share)), total=total, share=share, "
            f"tile={self._tile(len(buffers))})",
            "",
            "",
            "@kernel",
            self._signature(("total", "share", "tile")),
            *(f"    {line}" for line in buffers),
            *indented((*SHARE, *by_tiles(self._loads(), lines, [stored]))),
        ]

    def _loads(self) -> list[str]:
        return [f"load({name}_in, {name}[begin + offset], length)" for name in self.inputs]

    def _rows(self) -> list[str]:
        places, wide = self._places()
        statements = self._statements(places, f"{self.output}_out")
        # The length of a row; a tensor may have the usual name.
        d = "columns" if "d" in self.spec.names else "d"
        extents = {Kind.FULL: f"most, {d}", Kind.ROW: "most, 1", Kind.COL: d}
        # The same for every row, so loaded and widened before the loop.
        once = [item for item in wide if item.kind is Kind.COL]
        each = [item for item in wide if item.kind is not Kind.COL]
        shared = [name for name, kind in zip(self.inputs, self.program.inputs, strict=True) if kind is Kind.COL]
        own = [name for name in self.inputs if name not in shared]
        # A column's values in a buffer that is computed from others of a row's extent alone are once per launch, too.
        buffers = [f"{name}_in = buffer(most, {d}, T, depth=2)" for name in own]
        buffers += [f"{name}_in = buffer({d}, T)" for name in shared]
        kept = [*wide, *statements[:-1]]
        buffers += [f"{item.name} = buffer({extents[item.kind]}, float32)" for item in kept]
        narrow = self.kinds[-1] is Kind.ROW
        buffers.append(f"{self.output}_out = buffer(most, {'1' if narrow else d}, {self._result_type()}, depth=2)")
        # The host divides once: kernels multiply by the reciprocal.
        means = any(step.operation == "rmean" for step in self.program.steps)
        numbers = ("n", d, "share", "most", *(("scale",) if means else ()))
        first = own[0]
        area = 4096 if len(buffers) <= 6 else 2048
        loads = [f"load({name}_in, {name}[first * {d}], rows, {d})" for name in own]
        body = [f"{item.name}[:] = {item.text}" for item in (*each, *statements[:-1])]
        body.append(f"{self.output}_out[:] = {self._cast(statements[-1].text)}")
        lines = [
            f"def plan({first}):",
            f"    {d} = {first}.shape[{first}.rank - 1]",
            f"    n = {first}.size // {d}",
            f"    most = max(1, min(128, {area} // round_up({d}, 16)))",
            "    share = round_up(max(1, ceil_div(n, vector_cores())), most)",
            f"    {self.output}.shape = {first}.shape" + (f"[0:{first}.rank - 1]" if narrow else ""),
            f"    launch(cores=max(1, ceil_div(n, share)), n=n, {d}={d}, share=share, most=most"
            + (f", scale=1.0 / float({d}))" if means else ")"),
            "",
            "",
            "@kernel",
            self._signature(numbers),
            *(f"    {line}" for line in buffers),
        ]
        if shared:
            lines += ["    with copy_in:", *(f"        load({name}_in, {name}[0], {d})" for name in shared)]
        if once:
            lines += [f"    with compute({d}):", *(f"        {item.name}[:] = {item.text}" for item in once)]
        stored = "rows" if narrow else f"rows, {d}"
        place = "first" if narrow else f"first * {d}"
        return [
            *lines,
            "    begin = core() * share",
            "    for first in range(begin, min(begin + share, n), most):",
            "        rows = min(most, min(begin + share, n) - first)",
            "        with copy_in:",
            *(f"            {line}" for line in loads),
            f"        with compute(rows, {d}):",
            *(f"            {line}" for line in body),
            "        with copy_out:",
            f"            store({self.output}[{place}], {self.output}_out, {stored})",
        ]

    def _whole(self) -> list[str]:
        places, wide = self._places()
        statements = self._statements(places, "result")
        reduction = next(REDUCTIONS[step.operation] for step in self.program.steps if step.operation in REDUCTIONS)
        # The reduction is a statement of its own, or the last one.
        fold = next(i for i, item in enumerate(statements) if item.text.startswith("row_"))
        before, after = [*wide, *statements[:fold]], statements[fold + 1 :]
        total = statements[fold].name if after else "result"
        mean = reduction.mean
        buffers = [f"{name}_in = buffer(tile, T, depth=2)" for name in self.inputs]
        buffers += [f"{item.name} = buffer(tile, float32)" for item in before]
        buffers += ["own = buffer(1, float32)", "every = buffer(lanes, float32)"]
        buffers += [f"{item.name} = buffer(1, float32)" for item in (*statements[fold:-1],)]
        buffers.append("result = buffer(1, float32)")
        merged = reduction.merge.format(own="own", new=statements[fold].text)
        finish = f"{reduction.tile}(every)" + (" * scale" if mean else "")
        finished = [f"{total}[:] = {finish}", *(f"{item.name}[:] = {item.text}" for item in after)]
        merging = [*(f"{item.name}[:] = {item.text}" for item in before), f"own[:] = {merged}"]
        first = self.inputs[0]
        numbers = ("total", "share", "tile", "lanes", *(("scale",) if mean else ()))
        return [
            f"def plan({first}):",
            f"    total = {first}.size",
            # All of them, however little there is to do: sync_all() needs every core.
            "    cores = vector_cores()",
            "    share = round_up(ceil_div(total, cores), 128)",
            f"    {self.output}.shape = (1,)",
            "    parts.shape = (cores,)",
            f"    launch(cores=cores, total=total, share=share, tile={self._tile(len(buffers))}, "
            "lanes=cores" + (", scale=1.0 / float(total))" if mean else ")"),
            "",
            "",
            "@kernel",
            self._signature(numbers, workspace=True),
            *(f"    {line}" for line in buffers),
            *indented(SHARE),
            "    with compute(1):",
            f"        own[:] = {reduction.start}",
            *indented(by_tiles(self._loads(), merging)),
            *indented(put_together(finished, f"store({self.output}[0], result, 1)")),
        ]


def _operand(text: str) -> str:
    """An expression as an operand: in brackets unless it is a name, a number or a call."""
    if text.replace("_", "").isalnum() or (text.startswith(_FUNCTION) and _is_call(text)):
        return text
    return f"({text})"


def _is_call(text: str) -> bool:
    """Whether the first bracket closes at the end."""
    depth = 0
    for position, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == ")" and depth == 0:
            return position == len(text) - 1
    return False
