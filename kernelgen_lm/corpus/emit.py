"""From the parts of a kernel to its text, in one of the structures of :mod:`kernelgen_lm.corpus.style`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kernelgen_lm.corpus.style import Structure, Style

__all__ = [
    "Constant",
    "GlobalTensor",
    "Parts",
    "Transfer",
    "WorkBuffer",
    "block",
    "constant_line",
    "laid_out",
    "render",
]


class Constant(NamedTuple):
    """A compile-time number: its name, the expression, its value, what it is."""

    name: str
    expression: str
    value: int
    meaning: str


class GlobalTensor(NamedTuple):
    """An argument in global memory, from ``offset`` on."""

    argument: str
    ctype: str
    offset: str
    size: str


class Transfer(NamedTuple):
    """One argument's tile: its length in bytes as C++, and the copy, in which ``{}`` is the local tensor."""

    argument: str
    ctype: str
    nbytes: str
    copy: str


class WorkBuffer(NamedTuple):
    """A tensor in the unified buffer that is no tile of an argument."""

    name: str
    ctype: str
    nbytes: str


@dataclass(slots=True)
class Parts:
    """A kernel in parts. ``setup`` assigns ``members`` (type and name); ``loop`` opens the loop over tiles, and
    ``loop_locals`` follow. Lines name local tensors as the style does.
    """

    entry: str
    class_name: str
    arguments: tuple[str, ...]
    about: str
    constants: list[Constant] = field(default_factory=list)
    members: list[tuple[str, str]] = field(default_factory=list)
    setup: list[str] = field(default_factory=list)
    tensors: list[GlobalTensor] = field(default_factory=list)
    inputs: list[Transfer] = field(default_factory=list)
    outputs: list[Transfer] = field(default_factory=list)
    buffers: list[WorkBuffer] = field(default_factory=list)
    prologue: list[str] = field(default_factory=list)
    loop: str = ""
    loop_locals: list[str] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)
    compute: list[str] = field(default_factory=list)
    epilogue: list[str] = field(default_factory=list)


def render(parts: Parts, style: Style) -> str:
    """The source file."""
    lines = ['#include "kernel_operator.h"', ""]
    if style.comments:
        lines += [f"// {parts.about}"]
    lines += ["using namespace AscendC;", ""]
    lines += [constant_line(constant, style) for constant in parts.constants]
    lines += [""] if parts.constants else []
    text = _Class(parts, style) if style.structure is Structure.CLASS else _Inline(parts, style)
    lines += text.lines()
    return laid_out(lines, style)


def constant_line(constant: Constant, style: Style) -> str:
    """A constant's definition."""
    text = f"constexpr uint32_t {constant.name} = {constant.value if style.literal else constant.expression};"
    return f"{text}  // {constant.meaning}" if style.comments else text


class _Writer:
    """What both forms have in common: declarations, queue steps, declarations of work tensors."""

    def __init__(self, parts: Parts, style: Style) -> None:
        self.parts, self.style = parts, style
        self.queues = style.structure in (Structure.CLASS, Structure.INLINE)

    def globals(self) -> list[str]:
        """Global tensors get their addresses."""
        name = self.style.global_name
        return [
            f"{name(tensor.argument)}.SetGlobalBuffer("
            f"(__gm__ {tensor.ctype}*){tensor.argument}{tensor.offset}, {tensor.size});"
            for tensor in self.parts.tensors
        ]

    def init_buffers(self, access: str) -> list[str]:
        """Queues and buffers get their memory."""
        depth = f"{self.style.depth}, " if self.queues else ""
        tiles = [
            f"{access}InitBuffer({self.style.queue(transfer.argument)}, {depth}{transfer.nbytes});"
            for transfer in self.transfers()
        ]
        return [*tiles, *(f"{access}InitBuffer({buffer.name}Buf, {buffer.nbytes});" for buffer in self.parts.buffers)]

    def transfers(self) -> list[Transfer]:
        """Inputs, then outputs."""
        return [*self.parts.inputs, *self.parts.outputs]

    def declarations(self) -> list[str]:
        """Queues, buffers and global tensors, one line per type."""
        parts, queue = self.parts, self.style.queue
        lines = []
        if self.queues:
            for position, group in (("VECIN", parts.inputs), ("VECOUT", parts.outputs)):
                if group:
                    lines.append(
                        f"TQue<TPosition::{position}, 1> {_joined(queue(transfer.argument) for transfer in group)};"
                    )
        elif self.transfers():
            lines.append(
                f"TBuf<TPosition::VECCALC> {_joined(queue(transfer.argument) for transfer in self.transfers())};"
            )
        if parts.buffers:
            lines.append(f"TBuf<TPosition::VECCALC> {_joined(f'{buffer.name}Buf' for buffer in parts.buffers)};")
        for ctype in dict.fromkeys(tensor.ctype for tensor in parts.tensors):
            names = (self.style.global_name(tensor.argument) for tensor in parts.tensors if tensor.ctype == ctype)
            lines.append(f"GlobalTensor<{ctype}> {_joined(names)};")
        return lines

    def work_tensors(self, lines: Sequence[str]) -> list[str]:
        """Declarations of the work tensors that ``lines`` mention."""
        text = "\n".join(lines)
        return [
            f"LocalTensor<{buffer.ctype}> {buffer.name} = {buffer.name}Buf.Get<{buffer.ctype}>();"
            for buffer in self.parts.buffers
            # Only those that are used: a sample must not teach idle declarations.
            if re.search(rf"\b{buffer.name}\b", text)
        ]

    def copy_in(self) -> list[str]:
        """Allocate, copy, hand over."""
        lines = []
        for transfer in self.parts.inputs:
            lines.append(self._alloc(transfer))
            lines.append(transfer.copy.format(self.style.local(transfer.argument)))
        return lines + [
            f"{self.style.queue(transfer.argument)}.EnQue({self.style.local(transfer.argument)});"
            for transfer in self.parts.inputs
        ]

    def compute(self) -> list[str]:
        """Take over, compute, hand over."""
        queue, local = self.style.queue, self.style.local
        inputs, outputs = self.parts.inputs, self.parts.outputs
        lines = [
            f"LocalTensor<{o.ctype}> {local(o.argument)} = {queue(o.argument)}.DeQue<{o.ctype}>();" for o in inputs
        ]
        lines += [self._alloc(transfer) for transfer in outputs]
        lines += [*self.work_tensors(self.parts.compute), *self.parts.compute]
        lines += [f"{queue(transfer.argument)}.EnQue({local(transfer.argument)});" for transfer in outputs]
        return lines + [f"{queue(transfer.argument)}.FreeTensor({local(transfer.argument)});" for transfer in inputs]

    def copy_out(self) -> list[str]:
        """Take over, copy, free."""
        queue, local = self.style.queue, self.style.local
        lines = []
        for transfer in self.parts.outputs:
            lines.append(
                f"LocalTensor<{transfer.ctype}> {local(transfer.argument)} ="
                f" {queue(transfer.argument)}.DeQue<{transfer.ctype}>();"
            )
            lines.append(transfer.copy.format(local(transfer.argument)))
            lines.append(f"{queue(transfer.argument)}.FreeTensor({local(transfer.argument)});")
        return lines

    def _alloc(self, transfer: Transfer) -> str:
        local, queue = self.style.local(transfer.argument), self.style.queue(transfer.argument)
        return f"LocalTensor<{transfer.ctype}> {local} = {queue}.AllocTensor<{transfer.ctype}>();"


class _Class(_Writer):
    """A class with Init, Process and one method per stage."""

    def lines(self) -> list[str]:
        parts, style = self.parts, self.style
        parameters = ", ".join(f"GM_ADDR {name}" for name in parts.arguments)
        head = f"__aicore__ inline void Init(TPipe* {style.pipe}, {parameters})"
        init = block(head, [*parts.setup, *self.globals(), *self.init_buffers(f"{style.pipe}->")])
        members = [*self.declarations(), *(f"{ctype} {name} = 0;" for ctype, name in parts.members)]
        public = [f"__aicore__ inline {parts.class_name}() {{}}", *init, "", *self._process()]
        private = [line for method in self._methods() for line in (*method, "")]
        body = ["public:", *_indented(public), "", "private:", *_indented([*private, *members])]
        return [f"class {parts.class_name} {{", *body, "};", "", *self._entry()]

    def _process(self) -> list[str]:
        parts = self.parts
        calls = [f"CopyIn({self._arguments('in')});"] if parts.inputs else []
        calls += [f"Compute({self._arguments('compute')});"]
        calls += [f"CopyOut({self._arguments('out')});"] if parts.outputs else []
        loop = block(parts.loop, [*parts.loop_locals, *calls])
        prologue = [*self.work_tensors(parts.prologue), *parts.prologue]
        calls_after = ["Finish();"] if parts.epilogue else []
        return block("__aicore__ inline void Process()", [*prologue, *loop, *calls_after])

    def _methods(self) -> list[list[str]]:
        stages = [("CopyIn", "in", self.copy_in())] if self.parts.inputs else []
        stages.append(("Compute", "compute", self.compute()))
        stages += [("CopyOut", "out", self.copy_out())] if self.parts.outputs else []
        methods = []
        for name, stage, lines in stages:
            parameters = ", ".join(f"uint32_t {argument}" for argument in self._names(stage))
            methods.append(block(f"__aicore__ inline void {name}({parameters})", lines))
        if self.parts.epilogue:
            lines = [*self.work_tensors(self.parts.epilogue), *self.parts.epilogue]
            methods.append(block("__aicore__ inline void Finish()", lines))
        return methods

    def _names(self, stage: str) -> list[str]:
        names = self.parts.parameters
        # Computing needs the length alone; the offset is a matter of the copies.
        return names[-1:] if stage == "compute" else names

    def _arguments(self, stage: str) -> str:
        return ", ".join(self._names(stage))

    def _entry(self) -> list[str]:
        parts, style = self.parts, self.style
        arguments = ", ".join(parts.arguments)
        body = [f"TPipe {style.pipe};", f"{parts.class_name} {style.instance};"]
        body += [f"{style.instance}.Init(&{style.pipe}, {arguments});", f"{style.instance}.Process();"]
        return block(_signature(parts), body)


class _Inline(_Writer):
    """Everything in the entry, with queues, flags or barriers."""

    def lines(self) -> list[str]:
        parts, style = self.parts, self.style
        body = [
            f"TPipe {style.pipe};",
            *self.declarations(),
            *(f"{ctype} {name} = 0;" for ctype, name in parts.members),
        ]
        body += [*parts.setup, *self.globals(), *self.init_buffers(f"{style.pipe}.")]
        body += self.work_tensors([*parts.prologue, *parts.compute, *parts.epilogue])
        if not self.queues:
            local, queue = style.local, style.queue
            body += [
                f"LocalTensor<{transfer.ctype}> {local(transfer.argument)} ="
                f" {queue(transfer.argument)}.Get<{transfer.ctype}>();"
                for transfer in self.transfers()
            ]
        loop = block(parts.loop, [*parts.loop_locals, *(self._queued() if self.queues else self._flagged())])
        return block(_signature(parts), [*body, *parts.prologue, *loop, *parts.epilogue])

    def _queued(self) -> list[str]:
        # Work tensors are declared once before the loop here, not per stage.
        inner = [line for line in self.compute() if "Buf.Get<" not in line]
        stages = [block("", self.copy_in()) if self.parts.inputs else [], block("", inner)]
        stages.append(block("", self.copy_out()) if self.parts.outputs else [])
        return [line for stage in stages for line in stage]

    def _flagged(self) -> list[str]:
        local = self.style.local
        lines = [transfer.copy.format(local(transfer.argument)) for transfer in self.parts.inputs]
        lines += self._order("MTE2_V") if self.parts.inputs else []
        lines += self.parts.compute
        if self.parts.outputs:
            lines += self._order("V_MTE3")
            lines += [transfer.copy.format(local(transfer.argument)) for transfer in self.parts.outputs]
        return lines + self._order("MTE3_MTE2" if self.parts.outputs else "V_MTE2")

    def _order(self, event: str) -> list[str]:
        if self.style.structure is Structure.BARRIERS:
            return ["PipeBarrier<PIPE_ALL>();"]
        return [f"SetFlag<HardEvent::{event}>(EVENT_ID0);", f"WaitFlag<HardEvent::{event}>(EVENT_ID0);"]


def _signature(parts: Parts) -> str:
    parameters = ", ".join(f"GM_ADDR {name}" for name in parts.arguments)
    return f'extern "C" __global__ __aicore__ void {parts.entry}({parameters})'


def block(head: str, body: Iterable[str]) -> list[str]:
    """A head with its body in braces."""
    return [f"{head} {{".strip(), *_indented(body), "}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"    {line}" if line else "" for line in lines]


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)


def laid_out(lines: Sequence[str], style: Style) -> str:
    """Braces and indentation as the style has them; lines come with four spaces per level."""
    laid = []
    for line in lines:
        text = line.lstrip(" ")
        pad = " " * ((len(line) - len(text)) // 4 * style.indent)
        function = text.endswith(") {") and ("__aicore__" in text)
        if style.newline_brace and function:
            laid += [pad + text.removesuffix(" {"), pad + "{"]
        else:
            laid.append(pad + text if text else "")
    return "\n".join(laid) + "\n"
