"""One program on arrays, as a static kernel and as an operator: all three make the same of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np

from npukb_tile.interpret import interpret
from npukb_tile.ir import Kind, Program, TensorRole
from npukb_tile.launching import Facts
from npukb_tile.limits import MOST_VALUES
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.parse import parse_program
from npukernelbench.generate.extract import candidate_of
from npukernelbench.nouns.dtypes import DType
from npukernelbench.nouns.execution import CompileRequest, RunRequest
from npukernelbench.nouns.outcomes import Outcome, Track
from npukernelbench.nouns.task import AttributeSpec, Core, InputSpec, OutputSpec, Presence, Task
from tests.tile.running import near
from tests.twin.running import Twin, task_for

__all__ = ["everywhere"]

Array = np.ndarray[Any, Any]
_TYPES = {Kind.INT: "int", Kind.FLOAT: "float", Kind.BOOL: "bool", Kind.TEXT: "str", Kind.INTS: "list_int"}
_CORES = {(True, True): Core.CUBE, (False, True): Core.MIX, (False, False): Core.VECTOR}


def everywhere(
    twin: Twin,
    text: str,
    inputs: Mapping[str, Array | list[Array] | None],
    attributes: Mapping[str, Any] | None = None,
    rtol: float = 0.0,
) -> dict[str, Any]:
    """What the program means; both lowered forms agree, and the twin has nothing to say about them."""
    program, values = parse_program(text), dict(attributes or {})
    given = {name: value for name, value in inputs.items() if value is not None}
    meant = interpret(program, given, values)
    facts = {name: _facts(value) for name, value in given.items()}
    task = _task(program, inputs, meant, values, text)
    static = lower_static(program, facts, values).files
    for track, files in ((Track.STATIC, static), (Track.DYNAMIC, lower_dynamic(program).files)):
        case = task.cases[0] if track is Track.STATIC else None
        compiled = twin.executor.compile(CompileRequest(task, case, track, candidate_of(dict(files)), 60.0, task.cases))
        assert compiled.artifact is not None, [str(diagnostic) for diagnostic in compiled.diagnostics]
        copies = {name: _copied(value) for name, value in inputs.items()}
        seen = twin.executor.run(RunRequest(task, task.cases[0], compiled.artifact, copies, 5, 30.0))
        said = [str(diagnostic) for diagnostic in seen.diagnostics]
        assert (seen.outcome, said) == (Outcome.OK, []), (track, said)
        for name, wanted in meant.items():
            made = seen.outputs[name]
            for one, other in zip(_listed(wanted), _listed(made), strict=True):
                near(one, other, rtol)
    return meant


def _facts(value: Array | list[Array]) -> Facts:
    if isinstance(value, list):
        return Facts((), str(value[0].dtype))
    few = value.size <= MOST_VALUES and value.dtype.kind in "iu"
    return Facts(value.shape, str(value.dtype), tuple(value.reshape(-1).tolist()) if few else None)


def _copied(value: Any) -> Any:
    return [part.copy() for part in value] if isinstance(value, list) else None if value is None else value.copy()


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _task(
    program: Program, inputs: Mapping[str, Any], meant: Mapping[str, Any], values: Mapping[str, Any], text: str
) -> Task:
    first = {name: _listed(value)[0] for name, value in meant.items()}
    task = task_for(dict(inputs), {name: (value.shape, DType(str(value.dtype))) for name, value in first.items()})
    [case] = task.cases
    whole = {
        name: tuple(replace(case.outputs[name], shape=part.shape) for part in value)  # type: ignore[arg-type]
        if isinstance(value, list)
        else case.outputs[name]
        for name, value in meant.items()
    }
    specs, results = [], []
    for tensor in program.tensors.values():
        members = tuple(DType(member) for member in program.members(tensor.dtype))
        presence = Presence.DYNAMIC if tensor.listed else Presence.OPTIONAL if tensor.optional else Presence.REQUIRED
        if tensor.role is TensorRole.INPUT:
            specs.append(InputSpec(tensor.name, members, presence))
        elif tensor.role is TensorRole.OUTPUT:
            alias = tensor.begins if tensor.begins not in ("", "0") else None
            dtype = DType(str(first[tensor.name].dtype))
            results.append(
                OutputSpec(tensor.name, dtype, presence=presence, alias_of=alias, zeroed=tensor.begins == "0")
            )
    return replace(
        task,
        core=_CORES[program.launch.cube, bool(program.multipliers)],
        inputs=tuple(specs),
        outputs=tuple(results),
        attributes=tuple(AttributeSpec(a.name, _TYPES[a.kind], a.default) for a in program.attributes.values()),
        cases=(replace(case, outputs=whole, attributes=dict(values)),),
        content_hash=sha256(f"{text}{sorted(inputs)}{values}{case.inputs}".encode()).hexdigest(),
        workspace_bytes=1 << 20,
    )
