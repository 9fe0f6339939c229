"""Generated questions as task files, so that ``npukb run``, rewards and trainers know them like any other task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

import yaml

from kernelgen_lm.corpus.check import task_of
from kernelgen_lm.corpus.exclusion import Exclusion, excluded
from kernelgen_lm.corpus.questions import FAMILIES, draw_question, is_held_out
from kernelgen_lm.corpus.sample import Sample, write_lines
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Task, TensorCase, TensorShape
from npukernelbench.seed import derive

__all__ = ["task_yaml", "write_questions", "write_tasks"]


def write_tasks(
    folder: Path, count: int, *, held_out: bool, share: float, seed: int, families: Mapping[str, int] = FAMILIES
) -> list[str]:
    """Write ``count`` tasks of different operators: those that training never sees, or others. Their names."""
    names: list[str] = []
    index, exclusion = 0, Exclusion.of_benchmarks()
    while len(names) < count:
        spec = draw_question(Random(derive(seed, "tasks", index)), families)
        index += 1
        # A task's folder has the operator's name.
        wanted = is_held_out(spec.function, share) is held_out and spec.operator not in names
        if wanted and not excluded(exclusion, spec):
            names.append(spec.operator)
            write_lines(folder / spec.operator / "task.yaml", [task_yaml(spec.task())])
    return names


def write_questions(folder: Path, samples: Iterable[Sample], count: int) -> list[str]:
    """Write the questions of a corpus as tasks, the first of each operator, ``count`` at most. Their names.

    Samples of other kinds than generated kernels of one shape are passed over; UsageError where there is nothing else,
    and for a question that cannot be read.
    """
    names: dict[str, None] = {}
    for sample in samples:
        if len(names) == count:
            break
        if sample.kind == "kernel" and sample.track == "static" and sample.operator not in names:
            names[sample.operator] = None
            write_lines(folder / sample.operator / "task.yaml", [task_yaml(task_of(sample))])
    if not names:
        raise UsageError("the corpus holds no question of one shape", field="--of", remedy="kernelgen-lm corpus build")
    return list(names)


def task_yaml(task: Task) -> str:
    """The task of a question as a task file."""
    case = task.cases[0]
    limits = {dtype.value: {"atol": limit.atol, "rtol": limit.rtol} for dtype, limit in task.tolerance.limits.items()}
    data = {
        "name": task.name,
        "suite": task.suite,
        "level": task.level,
        "category": task.category,
        "version": task.version,
        # Sorted: a set of strings has another order in every process, and equal tasks have equal files.
        "tags": sorted(task.tags),
        "kernel": task.kernel,
        "summary": task.summary,
        "description": task.description,
        "formula": task.formula,
        "interface": {"inputs": _inputs(task), "outputs": _outputs(task)},
        "reference": task.reference,
        "tolerance": {"policy": task.tolerance.policy, "limits": limits},
        "workspace_bytes": task.workspace_bytes,
        "cases": [
            {
                "id": case.id,
                "inputs": {
                    name: _tensor(value) for name, value in case.inputs.items() if isinstance(value, TensorCase)
                },
                "outputs": {
                    name: {"shape": list(output.shape)}
                    for name, output in case.outputs.items()
                    if isinstance(output, TensorShape)
                },
                "profiles": sorted(case.profiles),
            }
        ],
    }
    # In the order that people write, and without line breaks inside long texts.
    return yaml.safe_dump(data, sort_keys=False, width=1_000_000)


def _inputs(task: Task) -> list[dict[str, object]]:
    return [
        {
            "name": argument.name,
            "dtypes": [dtype.value for dtype in argument.dtypes],
            "description": argument.description,
        }
        for argument in task.inputs
    ]


def _outputs(task: Task) -> list[dict[str, object]]:
    return [
        {"name": output.name, "dtype": output.dtype.value if output.dtype else None, "description": output.description}
        for output in task.outputs
    ]


def _tensor(value: TensorCase) -> dict[str, object]:
    values = {value.values.kind: [value.values.args["low"], value.values.args["high"]]}
    return {"shape": list(value.tensor.shape), "dtype": value.tensor.dtype.value, "values": values}
