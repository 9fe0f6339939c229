"""Kernels written in a test, run on the twin: source text and inputs in, outputs and diagnostics out.

The task around a kernel is made up in memory: its inputs are the arrays that are given, its outputs have the shapes and
types that are asked for, its entry is called ``probe``.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns import (
    Allocation,
    CompileRequest,
    CompileResult,
    Diagnostic,
    DType,
    Observation,
    Outcome,
    RunRequest,
    Severity,
    Task,
    TensorCase,
    TensorShape,
    Track,
    ValueSpec,
)
from npukernelbench.nouns.probe import probe_task

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

Inputs: TypeAlias = "Mapping[str, Argument]"
Outputs: TypeAlias = Mapping[str, tuple[tuple[int, ...], DType]]

#: One small tensor in, one out: enough for most kernels that misbehave.
SMALL: Outputs = {"y": ((256,), DType.FLOAT32)}
#: Of one run; with sanitizers, beside other work, the longest kernels take half a minute.
LIMIT_S = 120.0

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'


@dataclass(frozen=True)
class Finished:
    """One kernel's way: what the compiler said and, if it compiled, what was seen when it ran."""

    source: str
    compiled: CompileResult
    seen: Observation | None

    @property
    def outcome(self) -> Outcome:
        return self.compiled.outcome if self.seen is None else self.seen.outcome

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return (*self.compiled.diagnostics, *(self.seen.diagnostics if self.seen else ()))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is Severity.ERROR)

    @property
    def found(self) -> list[tuple[str, int]]:
        """Rule and line of every diagnostic, in order."""
        return [(diagnostic.rule, diagnostic.line) for diagnostic in self.diagnostics]

    @property
    def marked(self) -> int:
        """The line of the source that ends in ``// here``."""
        [line] = [number for number, text in enumerate(self.source.splitlines(), 1) if text.endswith("// here")]
        return line

    def output(self, name: str = "y") -> Array:
        """An output tensor of a kernel that ran to its end."""
        assert self.seen is not None, [str(diagnostic) for diagnostic in self.diagnostics]
        assert self.seen.outcome is Outcome.OK, [str(diagnostic) for diagnostic in self.diagnostics]
        array = self.seen.outputs[name]
        assert not isinstance(array, list)
        return array


def kernel(body: str, arguments: Sequence[str], *, before: str = "", block: int | None = 0) -> str:
    """A kernel with entry ``probe`` and this body, run by one block only unless ``block`` is None."""
    parameters = ", ".join(f"GM_ADDR {name}" for name in arguments)
    only = "" if block is None else f"    if (GetBlockIdx() != {block}) return;\n"
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    before = textwrap.dedent(before).strip("\n")
    return f'{HEAD}{before}\nextern "C" __global__ __aicore__ void probe({parameters}) {{\n{only}{text}\n}}\n'


#: What runs on another pipe than the vector unit's.
_MOVES = re.compile(r"\b(DataCopy\w*|copy_[a-z]+_to_\w+|LoadData\w*|load_[a-z]+_to_\w+|Mmad\w*|mad|Fixpipe)\s*[<(]")
_BARRIER = "PipeBarrier<PIPE_ALL>();"


def apart(text: str) -> str:
    """``text`` with every statement that moves something between barriers, on the same lines."""
    lines, unfinished = [], False
    for line in text.splitlines():
        code, mark, comment = line.partition("//")
        statements = [code] if "for (" in code else re.split(r"(?<=;)", code.rstrip())
        for i, statement in enumerate(statements):
            moves = _MOVES.search(statement) is not None
            ends = statement.rstrip().endswith((";", "}"))
            before = f"{_BARRIER} " if moves and not unfinished else ""
            after = f" {_BARRIER}" if ends and (moves or unfinished) else ""
            unfinished = (moves or unfinished) and not ends
            statements[i] = f"{before}{statement.rstrip()}{after}"
        lines.append("".join(statements) + ("  //" if mark else "") + comment)
    return "\n".join(lines)


@dataclass
class Twin:
    """An executor and what its kernels are judged with."""

    executor: TwinExecutor = field(default_factory=lambda: TwinExecutor(TwinArgs()))
    allocation: Allocation = Allocation.EXACT
    apart: bool = False  # barriers around everything that moves: kernels that are about something else need no flags
    compiled: dict[tuple[object, ...], CompileResult] = field(default_factory=dict, repr=False)

    def run(
        self,
        body: str,
        inputs: Inputs | None = None,
        outputs: Outputs = SMALL,
        *,
        before: str = "",
        block: int | None = 0,
        seed: int = 7,
        timeout_s: float = LIMIT_S,
    ) -> Finished:
        """Run a kernel with this ``body`` in block ``block``, or in all of them if None."""
        inputs = inputs or {}
        body = apart(body) if self.apart else body
        source = kernel(body, (*inputs, *outputs, "workspace"), before=before, block=block)
        return self.run_source(source, inputs, outputs, seed=seed, timeout_s=timeout_s)

    def run_source(
        self,
        source: str,
        inputs: Inputs | None = None,
        outputs: Outputs = SMALL,
        *,
        entry: str = "probe",
        seed: int = 7,
        timeout_s: float = LIMIT_S,
    ) -> Finished:
        """Compile and run a whole source file, which is compiled once for all its inputs."""
        task = task_for(inputs or {}, outputs, entry)
        wanted = (source, entry, task.arguments)
        compiled = self.compiled.get(wanted) or self.compile(source, task)
        if compiled.artifact is None:
            return Finished(source, compiled, None)
        self.compiled[wanted] = compiled
        request = RunRequest(task, task.cases[0], compiled.artifact, inputs or {}, seed, timeout_s, self.allocation)
        return Finished(source, compiled, self.executor.run(request))

    def compile(self, source: str, task: Task | None = None, *, timeout_s: float = 60.0) -> CompileResult:
        """What compiling ``source`` for ``task`` (no inputs, one output unless given) comes to."""
        task = task or task_for({}, SMALL)
        candidate = candidate_of({"kernel.cpp": source})
        return self.executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, candidate, timeout_s))


def task_for(inputs: Inputs, outputs: Outputs, entry: str = "probe") -> Task:
    """A task whose one case has these tensors."""
    values = ValueSpec()
    tensors = {name: _case_input(value, values) for name, value in inputs.items()}
    results = {name: TensorShape(shape, dtype) for name, (shape, dtype) in outputs.items()}
    return probe_task("Probe", tensors, outputs=results, kernel=entry)


def _case_input(value: Argument, values: ValueSpec) -> TensorCase | tuple[TensorCase, ...] | None:
    if value is None:
        return None
    if isinstance(value, list):
        return tuple(TensorCase(TensorShape(array.shape, _dtype(array)), values) for array in value)
    return TensorCase(TensorShape(value.shape, _dtype(value)), values)


def _dtype(array: Array) -> DType:
    return next(dtype for dtype in DType if dtype.numpy() == array.dtype)
