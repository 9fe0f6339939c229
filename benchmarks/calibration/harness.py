"""Kernels of the calibration: source and macros in, profile out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from npukb_npu.rows import kernel_text
from npukb_twin.executor import TwinArgs, TwinExecutor
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.evidence import Profile
from npukernelbench.nouns.execution import Artifact, CompileRequest, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.probe import probe_task
from npukernelbench.nouns.task import Core, Task, TensorCase, TensorShape, ValueSpec

__all__ = ["Bench", "Inputs"]

KERNELS = Path(__file__).parent / "kernels"
MICRO_KERNELS = frozenset({"cube", "loop"})  # those that npukb calibrate runs on a device, and that belong to it
Inputs = Mapping[str, NDArray[np.generic]]


@dataclass
class Bench:
    """One twin per SoC, and the kernels that it has compiled."""

    executors: dict[str, TwinExecutor] = field(default_factory=dict)
    artifacts: dict[tuple[str, str], Artifact] = field(default_factory=dict)

    def time(self, soc: str, kernel: str, macros: Mapping[str, object], inputs: Inputs, output_bytes: int) -> Profile:
        """The predicted profile of a micro-kernel, or of ``kernels/<kernel>.cpp``, with these macros."""
        on_cube = kernel == "cube" or bool(macros.get("INTO_L1"))
        task = _task(inputs, output_bytes, Core.CUBE if on_cube else Core.VECTOR)
        executor = self.executors.setdefault(soc, TwinExecutor(TwinArgs(soc=soc)))
        lines = [f"#define {name} {value}" for name, value in macros.items()]
        own = KERNELS / f"{kernel}.cpp"
        text = kernel_text(kernel) if kernel in MICRO_KERNELS else own.read_text(encoding="utf-8")
        source = "\n".join([*lines, text])
        # Rows share kernels that differ in a parameter only, and compiling takes longer than running.
        if (soc, source) not in self.artifacts:
            candidate = candidate_of({"kernel.cpp": source})
            compiled = executor.compile(CompileRequest(task, task.cases[0], Track.STATIC, candidate, 120.0))
            if compiled.artifact is None:
                raise SystemExit(f"{kernel} {dict(macros)}: " + "\n".join(map(str, compiled.diagnostics)))
            self.artifacts[soc, source] = compiled.artifact
        seen = executor.run(RunRequest(task, task.cases[0], self.artifacts[soc, source], inputs, 0, 600.0))
        if seen.outcome is not Outcome.OK or seen.profile is None:
            raise SystemExit(f"{kernel} {dict(macros)}: " + "\n".join(map(str, seen.diagnostics)))
        return seen.profile

    def close(self) -> None:
        """Remove what was compiled."""
        for executor in self.executors.values():
            executor.close()


def _task(inputs: Inputs, output_bytes: int, core: Core) -> Task:
    types = {name: next(dtype for dtype in DType if dtype.numpy() == array.dtype) for name, array in inputs.items()}
    tensors = {name: TensorCase(TensorShape(array.shape, types[name]), ValueSpec()) for name, array in inputs.items()}
    out = {"out": TensorShape((output_bytes,), DType.UINT8)}
    return probe_task("Calibration", tensors, outputs=out, core=core)
