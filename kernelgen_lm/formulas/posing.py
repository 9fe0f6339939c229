"""Questions about formulas as task files, so that the judge, rewards and trainers know them like any other task.

The reference of such a task is ``formula_<seed>_<index>_<digest>``: it draws the question again and computes its trees.
The digest is of the question, so that a task file of another generator is refused rather than judged by another
formula.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from math import prod
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

from kernelgen_lm.corpus.exclusion import Exclusion
from kernelgen_lm.corpus.operations import Interval
from kernelgen_lm.corpus.questions import is_held_out
from kernelgen_lm.corpus.sample import write_lines
from kernelgen_lm.corpus.spec import LIMITS, SUITE
from kernelgen_lm.formulas.short import Short, draw_short, evaluate, is_known
from kernelgen_lm.formulas.slots import fill
from kernelgen_lm.formulas.trees import Node, operations
from kernelgen_lm.formulas.writing import AXIS, Input
from kernelgen_lm.judging import Bench
from npukernelbench.nouns import Task, Track
from npukernelbench.seed import derive
from npukernelbench.tasks.load import load_task

__all__ = ["Posed", "function_of_formula", "pose", "posed_again", "write_formulas"]

_PREFIX = "formula_"
_EXTENTS = re.compile(r"- (?:in|out)put \w+: [^\[]*\[([^\]]*)\]")
#: Where inputs are drawn: the first range that gives numbers.
_RANGES = (Interval(-1.9, 1.9), Interval(0.2, 0.9))


class Posed(NamedTuple):
    """A question with the sizes that it is judged on: ``shape`` of the full inputs, ``output`` of the result,
    ``scalar`` of numbers; ``tensors`` of a list."""

    short: Short
    shape: tuple[int, ...]
    output: tuple[int, ...]
    axis: int
    tensors: int
    scalar: tuple[int, ...]
    name: str
    digest: str


def __getattr__(name: str) -> Callable[..., object]:
    """The reference that ``name`` describes. AttributeError when it describes none."""
    match = re.fullmatch(rf"{_PREFIX}(\d+)_(\d+)_([0-9a-f]{{12}})", name)
    if match is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    posed = posed_again(int(match[1]), int(match[2]))
    if posed is None or posed.digest != match[3]:
        raise AttributeError(f"{name} is of another generator: write the tasks again (kernelgen-lm corpus formulas)")

    def compute(**given: Any) -> object:
        if posed.short.family != "list":
            return _result(posed, given)
        lists = {source.name for source in posed.short.inputs if source.kind == "full"}
        singles = {source.name for source in posed.short.inputs if source.kind == "single"}
        return [
            _result(
                posed,
                {
                    # A slice keeps the axis: one number of those that the list has one each of.
                    key: value[at] if key in lists else value[at : at + 1] if key in singles else value
                    for key, value in given.items()
                },
            )
            for at in range(posed.tensors)
        ]

    return compute


# Judging asks for the reference of a task once for every case and turn.
@cache
def posed_again(seed: int, index: int) -> Posed | None:
    """The question of these two numbers; None where they draw none."""
    short = draw_short(Random(derive(seed, "short", index)))
    return None if short is None else pose(short, seed, index)


def pose(short: Short, seed: int, index: int) -> Posed:
    """A question with small sizes in the place of its own: equal extents stay equal, and 1 stays 1."""
    rng = Random(derive(seed, "sizes", index))
    # Sizes are read from the text, which is all that a model sees of them.
    asked = [tuple(int(part) for part in found.split(",") if part.strip()) for found in _EXTENTS.findall(short.asked)]
    # The last of the extents are the output's, for which there is no input.
    full = next(shape for shape, source in zip(asked, short.inputs, strict=False) if source.kind == "full")
    extents: dict[int, int] = {1: 1}
    # The last extent first: it decides how long rows are, and is the one that may be longer than a tile.
    for place, extent in enumerate(reversed(full)):
        long = place == 0 and len(full) < 3
        drawn = rng.choice((33, 257, 1000, 2100, 4099) if long else (24, 40, 100) if place == 0 else (2, 3, 5, 6, 7))
        # Extents that differ stay different: equal ones would say more than was asked.
        while drawn in extents.values():
            drawn += 1
        extents.setdefault(extent, drawn)
    shape = tuple(extents[extent] for extent in full)
    single = next((held for held, source in zip(asked, short.inputs, strict=False) if source.kind == "single"), (2,))
    scalar = next((held for held, source in zip(asked, short.inputs, strict=False) if source.kind == "scalar"), ())
    output = tuple(extents[extent] for extent in asked[-1])
    axis = _axis(short, shape, output)
    # All that decides the answer is part of the digest, so that another generator gives another name.
    digest = hashlib.sha256(f"{short.asked}{short.program}{shape}{output}{axis}".encode()).hexdigest()
    return Posed(short, shape, output, axis, single[0], scalar, f"Formula{seed}N{index}", digest[:12])


def _axis(short: Short, shape: tuple[int, ...], output: tuple[int, ...]) -> int:
    """The axis that a question folds or scans, as its output shows it; the last one for a scan."""
    if short.family != "axis":
        return len(shape) - 1
    ones = (1,) * short.kept
    return next(at for at in range(len(shape)) if (*shape[:at], *ones, *shape[at + 1 :]) == output)


def _result(posed: Posed, given: Mapping[str, Any]) -> NDArray[Any]:
    """What the trees compute of one set of tensors."""
    short = posed.short
    turned = short.family in ("axis", "scan")
    arrays = [np.asarray(given[source.name]) for source in short.inputs]
    arrays = [np.moveaxis(array, posed.axis, -1) if turned else array for array in arrays]
    used = sorted((place, given[name]) for name, (_, _, place) in short.attributes.items() if place >= 0)
    made = evaluate(short.family, short.statements, arrays, [float(value) for _, value in used])
    if short.family == "list":
        shape = next(array.shape for array, source in zip(arrays, short.inputs, strict=True) if source.kind == "full")
        # A formula of single numbers has one result for all elements.
        return np.broadcast_to(made, shape)
    if turned:
        made = np.moveaxis(made, -1, posed.axis)
    # Folds keep their axes with extent 1, which the output may lack; results without a tensor have one element.
    return made.reshape(posed.output) if made.size == prod(posed.output) else np.broadcast_to(made, posed.output)


def function_of_formula(task: Task) -> str | None:
    """What a task of this module computes, without names, numbers and types; None for other tasks."""
    module, _, name = task.reference.partition(":")
    match = re.match(rf"{_PREFIX}(\d+)_(\d+)_", name)
    if module != __name__ or match is None:
        return None
    posed = posed_again(int(match[1]), int(match[2]))
    return None if posed is None else _function(posed.short)


def _function(short: Short) -> str:
    """Trees with one word for every number."""

    def text(node: Node) -> str:
        # A model that knows a formula knows it with other numbers, too.
        name = "#" if node.kind == "number" else node.name
        return f"{node.kind} {name}({', '.join(text(part) for part in node.parts)})"

    return "\n".join([short.family, *(text(tree) for _, tree in short.statements)])


def write_formulas(
    folder: Path,
    count: int,
    *,
    held_out: bool,
    share: float,
    seed: int,
    least: int,
    exclusion: Exclusion,
    bench: Bench,
) -> list[str]:
    """Write ``count`` tasks of different functions, of ``least`` operations or more: those that are held out by
    ``share``, or the others. Their names.

    Only questions are written whose known program the judge finds right: roundings decide some formulas.
    """
    names: list[str] = []
    seen: set[str] = set()

    def wanted(function: str) -> bool:
        return is_held_out(function, share) is held_out

    for task in _tasks(folder, seed, least, exclusion, wanted, seen, bench):
        names.append(task.name)
        if len(names) == count:
            break
    return names


def _tasks(
    folder: Path,
    seed: int,
    least: int,
    exclusion: Exclusion,
    wanted: Callable[[str], bool],
    seen: set[str],
    bench: Bench,
) -> Iterator[Task]:
    # As good as without end: the caller stops when it has enough.
    for index in range(1 << 40):
        posed = posed_again(seed, index)
        if posed is None or sum(operations(tree) for _, tree in posed.short.statements) < least:
            continue
        function = _function(posed.short)
        # Equal questions in slots are one question for a model that reads slots.
        if not wanted(function) or {function, posed.short.prompt} & seen or is_known(posed.short, exclusion):
            continue
        path = folder / posed.name / "task.yaml"
        # Each range is tried until the known program is right: logarithms and roots need the second.
        for span in _RANGES:
            write_lines(path, [_yaml(posed, seed, index, span)])
            task = load_task(path).task
            # An empty text: the program is right.
            if not bench.judge_program(task, task.cases, Track.STATIC, fill(posed.short.program, posed.short.names)):
                seen |= {function, posed.short.prompt}
                yield task
                break
        else:
            # Right on no range: nothing of it may stay among the tasks.
            path.unlink()
            path.parent.rmdir()


def _yaml(posed: Posed, seed: int, index: int, span: Interval) -> str:
    """The task file of a question."""
    short = posed.short
    listed = short.family == "list"
    # In a prompt the formula is the indented block.
    formula = short.asked.split("\n\n    ", 1)[1].split("\n\n", 1)[0]
    output = next(name for slot, name in short.names.items() if slot == "<o0>")
    kind = re.search(r"- output \w+: (?:list of 1 )?(\w+)", short.asked)
    assert kind is not None
    given = {"shape": list(posed.output), "dtype": kind[1]}
    data = {
        "name": posed.name,
        "suite": SUITE,
        "level": 1,
        "category": "Formula",
        "version": 1,
        "tags": [SUITE, short.family],
        "kernel": "f",
        "summary": "A formula.",
        "description": "See the formula.",
        "formula": formula,
        "interface": {
            "inputs": [_input(source, listed) for source in short.inputs],
            "outputs": [
                {"name": output, "dtype": kind[1], "description": "The result."}
                | ({"presence": "dynamic"} if listed else {})
            ],
            "attributes": [
                {"name": name, "type": held, "default": value, "description": "A number."}
                for name, (held, value, _) in short.attributes.items()
            ],
        },
        "reference": f"{__name__}:{_PREFIX}{seed}_{index}_{posed.digest}",
        "tolerance": {
            "policy": "pcl",
            "limits": {held.value: {"atol": limit.atol, "rtol": limit.rtol} for held, limit in LIMITS.items()},
        },
        "cases": [
            {
                "id": "0",
                "inputs": {source.name: _tensor(posed, source, span) for source in short.inputs},
                "outputs": {output: [given] * posed.tensors if listed else given},
                "attributes": _values(posed),
                "profiles": ["cpu", "full", "smoke"],
            }
        ],
    }
    return yaml.safe_dump(data, sort_keys=False, width=1_000_000)


def _values(posed: Posed) -> dict[str, object]:
    return {name: posed.axis if place == AXIS else value for name, (_, value, place) in posed.short.attributes.items()}


def _input(source: Input, listed: bool) -> dict[str, object]:
    presence = {"presence": "dynamic"} if listed and source.kind == "full" else {}
    return {"name": source.name, "dtypes": [source.dtype], "description": "Numbers.", **presence}


def _tensor(posed: Posed, source: Input, span: Interval) -> object:
    shapes = {"full": posed.shape, "col": posed.shape[-1:], "scalar": posed.scalar, "single": (posed.tensors,)}
    made = {"shape": list(shapes[source.kind]), "dtype": source.dtype, "values": {"uniform": [span.low, span.high]}}
    return [made] * posed.tensors if posed.short.family == "list" and source.kind == "full" else made
