"""One generated question: an operator with element types and a shape, and the task it makes for the harness."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelgen_lm.corpus.movement import MOVEMENTS, Movement
from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.program import Kind, Program, pack, unpack
from kernelgen_lm.corpus.values import function_key
from npukernelbench import nouns
from npukernelbench.nouns.machine import DEFAULT_MACHINE

__all__ = ["LIMITS", "SUITE", "Family", "Spec"]

#: Name of the suite that generated tasks belong to.
SUITE = "generated"

Family = str

#: Of outputs of generated tasks.
LIMITS = {
    nouns.DType.FLOAT32: nouns.ToleranceLimits(2e-5, 1e-4),
    nouns.DType.FLOAT16: nouns.ToleranceLimits(1e-3, 2e-3),
    nouns.DType.BFLOAT16: nouns.ToleranceLimits(4e-3, 1e-2),
}
_SUMMARIES = {
    "elementwise": "An element-wise formula.",
    "cast": "An element-wise formula with a result of another element type.",
    "integer": "An element-wise formula on whole numbers.",
    "rows": "A formula over the rows of a matrix.",
    "whole": "One number out of whole tensors.",
    "movement": "Data movement without arithmetic.",
}


@dataclass(frozen=True, slots=True)
class Spec:
    """What is asked. ``body`` is a program or a movement; ``names`` are those of inputs, then of the output; ``title``
    is the entry's name where it is not made of the operations.
    """

    family: Family
    body: Program | Movement
    names: tuple[str, ...]
    dtype: nouns.DType
    result: nouns.DType
    shape: tuple[int, ...]
    ranges: tuple[Interval, ...]
    title: str = ""

    @property
    def operator(self) -> str:
        """The operator's name: what it does and a mark of its structure, without constants, types and sizes."""
        # Four words keep names short; the mark behind them tells longer operators apart.
        words = "".join(self._words()[:4])
        return f"{words}{hashlib.sha256(self.structure().encode()).hexdigest()[:4].upper()}"

    @property
    def kernel(self) -> str:
        """The entry's name."""
        return self.title or "_".join(re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower() for word in self._words()[:4])

    def structure(self) -> str:
        """What tells operators apart."""
        return self.body.form if isinstance(self.body, Movement) else self.body.signature()

    @property
    def function(self) -> str:
        """What tells functions apart: the same for every way of writing an operator."""
        return self.body.form if isinstance(self.body, Movement) else function_key(self.body)

    @property
    def rows(self) -> int:
        """Rows of the matrix that the tensor is seen as."""
        total = 1
        for extent in self.shape[:-1]:
            total *= extent
        return total

    @property
    def columns(self) -> int:
        """Length of a row."""
        return self.shape[-1]

    @property
    def total(self) -> int:
        """Elements of the tensor."""
        return self.rows * self.columns

    def result_shape(self) -> tuple[int, ...]:
        """Shape of the output."""
        if isinstance(self.body, Movement):
            return self.body.shape(self.rows, self.columns)
        if self.body.result is Kind.ROW:
            return (1,) if self.body.whole else self.shape[:-1]
        return self.shape

    def formula(self) -> str:
        """The operator as text."""
        return self.body.formula(self.names[:-1], self.names[-1])

    def task(self) -> nouns.Task:
        """The task with its one case, ``0``."""
        inputs = self.names[:-1]
        tensors = {name: self._input(index) for index, name in enumerate(inputs)}
        output = nouns.TensorShape(self.result_shape(), self.result)
        specs = tuple(
            nouns.InputSpec(name, (tensors[name].tensor.dtype,), description=self._meaning(index))
            for index, name in enumerate(inputs)
        )
        task = nouns.Task(
            name=self.operator,
            suite=SUITE,
            level=1,
            category=self.family.capitalize(),
            version=1,
            kernel=self.kernel,
            core=nouns.Core.VECTOR,
            summary=_SUMMARIES[self.family],
            description=self._description(),
            formula=self.formula(),
            inputs=specs,
            outputs=(nouns.OutputSpec(self.names[-1], dtype=self.result, description="The result."),),
            attributes=(),
            cases=(nouns.Case("0", tensors, {self.names[-1]: output}, {}, frozenset({"cpu", "full", "smoke"})),),
            reference=f"kernelgen_lm.corpus.reference:op_{pack(self.to_json())}",
            tolerance=nouns.Tolerance("pcl", LIMITS),
            tags=frozenset({"generated"}),
            goldens=(),
            path=Path("generated") / self.operator / "task.yaml",
            content_hash="",
            # One block of 32 bytes per core, as two cores must not write the same block.
            workspace_bytes=DEFAULT_MACHINE.vector_cores * 32 if self.family == "whole" else 0,
        )
        return replace(task, content_hash=self.hash)

    def task_of_shapes(self, shapes: Sequence[tuple[int, ...]]) -> nouns.Task:
        """The question for several shapes as one task, with one case each."""
        task = self.task()
        cases = [replace(replace(self, shape=shape).task().cases[0], id=str(at)) for at, shape in enumerate(shapes)]
        # Without their numbers, which differ from case to case.
        rows = "Tensors are matrices: i counts rows, j counts columns. " if self.family == "rows" else ""
        sizes = "x".join(str(extent) for shape in shapes for extent in shape)
        return replace(
            task,
            cases=tuple(cases),
            description=f"{rows}{self.values_text()}",
            content_hash=f"{task.content_hash}+{sizes}",
        )

    @property
    def hash(self) -> str:
        """Identity of the question."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    def to_json(self) -> Mapping[str, object]:
        """As JSON values."""
        return {
            "family": self.family,
            "body": self.body.to_json(),
            "names": list(self.names),
            "dtype": self.dtype.value,
            "result": self.result.value,
            "shape": list(self.shape),
            "ranges": [list(interval) for interval in self.ranges],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Spec:
        """The reverse of :meth:`to_json`."""
        body = data["body"]
        return cls(
            data["family"],
            Movement.from_json(body) if "form" in body else Program.from_json(body),
            tuple(data["names"]),
            nouns.DType(data["dtype"]),
            nouns.DType(data["result"]),
            tuple(data["shape"]),
            tuple(Interval(*interval) for interval in data["ranges"]),
        )

    @classmethod
    def unpacked(cls, name: str) -> Spec:
        """Out of the name of a reference."""
        return cls.from_json(unpack(name))

    def _words(self) -> list[str]:
        if isinstance(self.body, Movement):
            return [MOVEMENTS[self.body.form].word]
        return self.body.words()

    def _kind(self, index: int) -> Kind:
        return Kind.FULL if isinstance(self.body, Movement) else self.body.inputs[index]

    def _input(self, index: int) -> nouns.TensorCase:
        low, high = self.ranges[index]
        shape = (self.columns,) if self._kind(index) is Kind.COL else self.shape
        if self.dtype.is_exact:
            # The upper bound of integers is exclusive, an interval's is not.
            values = nouns.ValueSpec("integers", {"low": int(low), "high": int(high) + 1})
        else:
            values = nouns.ValueSpec("uniform", {"low": low, "high": high})
        return nouns.TensorCase(nouns.TensorShape(shape, self.dtype), values)

    def _meaning(self, index: int) -> str:
        return "One row, the same for all." if self._kind(index) is Kind.COL else "Input tensor."

    def values_text(self) -> str:
        """Where the inputs' values lie."""
        values = "; ".join(
            f"{name} from {low:g} to {high:g}" for name, (low, high) in zip(self.names, self.ranges, strict=False)
        )
        return f"Values: {values}."

    def _description(self) -> str:
        parts = []
        if self.family in ("rows", "movement"):
            parts.append(f"Tensors are matrices: i counts {self.rows} rows, j counts {self.columns} columns.")
        if self.family == "whole":
            parts.append(f"i counts all {self.total} elements; the result is one element.")
        return " ".join([*parts, self.values_text()])
