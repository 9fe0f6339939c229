"""Questions as people ask them: the same operator under names of any kind, in several notations, languages and lengths.

Nothing here is taken from a benchmark. Names are words or syllables that say nothing of the operation, so that a model
has to read the formula and copy the name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

import yaml

from kernelgen_lm.corpus.program import Program
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tilewriter import TileWriting
from npukernelbench.nouns import AttributeSpec, DType, Task

__all__ = ["Asked", "ask", "operator_name", "tensor_names"]

_FLOATS = (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16)
#: Arithmetic in notations of other places than ours.
_CALLS = {
    "torch": "torch.",
    "numpy": "np.",
}


@cache
def _words() -> Mapping[str, Any]:
    text = files("kernelgen_lm.corpus").joinpath("words.yaml").read_text(encoding="utf-8")
    return yaml.safe_load(text)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with all that was drawn for it: what is asked, of what, and how its program is written. ``trial`` asks
    the same of sizes that a CPU can execute.
    """

    task: Task
    trial: Task
    spec: Spec
    writing: TileWriting


def ask(spec: Spec, rng: Random) -> Asked:
    """The question in other words; the same for equal arguments."""
    named = replace(spec, names=tensor_names(rng, len(spec.names) - 1), shape=_shape(rng, spec))
    if not isinstance(spec.body, Program):
        return _moved(named, rng)
    types = _types(rng, spec)
    attributes = _attributes(rng, named, spec.body)
    word = operator_name(rng)
    kernel = _kernel_name(word)
    plain = named.task()
    task = replace(
        plain,
        name=word,
        kernel=kernel,
        summary=_summary(rng, spec.body),
        description=_description(rng, named, spec.body),
        formula=_formula(rng, named, spec.body, attributes),
        inputs=tuple(replace(item, dtypes=tuple(DType(name) for name in types)) for item in plain.inputs),
        attributes=tuple(
            AttributeSpec(name, "int" if spec.dtype.is_exact else "float", _plain(spec.body, index, spec.dtype))
            for index, name in attributes.items()
        ),
        cases=tuple(
            replace(
                case,
                attributes={name: _plain(spec.body, index, spec.dtype) for index, name in attributes.items()},
            )
            for case in plain.cases
        ),
    )
    small = replace(spec, names=named.names).task().cases[0]
    # The spec's own shape, which was drawn so that a CPU can execute it.
    trial = replace(task, cases=(replace(small, attributes=task.cases[0].attributes),))
    return Asked(task, trial, replace(named, title=kernel), TileWriting(types, attributes))


def _moved(named: Spec, rng: Random) -> Asked:
    """Data movement: its own words, under other names."""
    word = operator_name(rng)
    task = replace(named.task(), name=word, kernel=_kernel_name(word))
    return Asked(task, task, replace(named, title=task.kernel), TileWriting((named.dtype.value,)))


def _kernel_name(word: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", word).lower()


def operator_name(rng: Random) -> str:
    """A name in CamelCase that says nothing of the operation."""
    parts = []
    for _ in range(rng.choices((1, 2, 3), (3, 5, 2))[0]):
        if rng.random() < 0.5:
            parts.append("".join(rng.choice(_words()["syllables"]) for _ in range(rng.randint(2, 3))).capitalize())
        else:
            parts.append(rng.choice(_words()["words"]))
    # Operators of libraries have versions in their names, which mean nothing to a kernel.
    version = rng.choices(("", "V2", "V3"), (8, 1, 1))[0]
    return "".join(parts) + version


def tensor_names(rng: Random, inputs: int) -> tuple[str, ...]:
    """Names of inputs and of the output, each once."""
    usual = rng.random() < 0.4
    pool = ["x", "y", "z", "a", "b", "c", "x1", "x2", "out", "other"] if usual else _words()["tensors"]
    free = [name for name in pool if name not in _words()["taken"]]
    chosen = rng.sample(free, inputs + 1)
    # The commonest names of all, where they fit.
    return ("x", "y") if inputs == 1 and rng.random() < 0.3 else tuple(chosen)


def _types(rng: Random, spec: Spec) -> tuple[str, ...]:
    """The element types that the operator takes, that of the case among them."""
    # Whole numbers, and results that have a type of their own, do not go with other element types.
    if spec.dtype.is_exact or spec.family in ("cast", "whole"):
        return (spec.dtype.value,)
    others = [dtype for dtype in _FLOATS if dtype is not spec.dtype]
    chosen = [spec.dtype, *rng.sample(others, rng.choice((0, 0, 1, 2)))]
    return tuple(dtype.value for dtype in rng.sample(chosen, len(chosen)))


def _shape(rng: Random, spec: Spec) -> tuple[int, ...]:
    """One to five axes for what counts elements alone; matrices get axes in front of their rows."""
    # The ranges, or the pieces, of these were drawn for this length of a row.
    if spec.family in ("rows", "whole", "movement") or rng.random() < 0.4:
        return spec.shape
    # Every order of magnitude is equally likely; only the small ``trial`` is ever executed.
    total = int(10 ** rng.uniform(0, 9))
    axes = rng.randint(1, 5)
    shape: list[int] = []
    for left in range(axes, 1, -1):
        extent = max(1, min(total, int(rng.uniform(0.3, 3) * total ** (1 / left))))
        shape.append(extent)
        total = max(1, total // extent)
    return (*shape, total)


def _attributes(rng: Random, spec: Spec, program: Program) -> Mapping[int, str]:
    """Constants that are attributes, by step."""
    if rng.random() > 0.3:
        return {}
    steps = [index for index, step in enumerate(program.steps) if step.constant is not None]
    # A name that the tile language or the program itself uses would change what the program says.
    free = [name for name in _words()["attributes"] if name not in spec.names and name not in _words()["taken"]]
    chosen = sorted(rng.sample(steps, min(len(steps), rng.choice((1, 1, 2)))))
    return dict(zip(chosen, rng.sample(free, len(chosen)), strict=True))


def _plain(program: Program, index: int, dtype: DType) -> float | int:
    constant = program.steps[index].constant or 0.0
    return int(constant) if dtype.is_exact else float(constant)


def _summary(rng: Random, program: Program) -> str:
    """One line: what the operator does, or next to nothing."""
    steps = [_words()["nouns"][step.operation] for step in program.steps]
    language = rng.choices((0, 1, 2), (5, 3, 2))[0]
    if len(steps) > 4 or rng.random() < 0.4:
        return rng.choice(
            ("An element-wise formula.", "A small fused operator.", "Computes the formula below.", "计算下面的公式。")
            if program.is_flat
            else ("A formula over rows.", "A fused reduction.", "Computes the formula below.", "按行计算的公式。")
        )
    words = [step[language] for step in steps]
    if language == 2:
        return "，".join(words) + "。"
    text = rng.choice((", then ", ", followed by the ", " and ")).join(words)
    return rng.choice((f"Element-wise {text}.", f"{text[0].upper()}{text[1:]}.", f"Fused {text}."))


def _description(rng: Random, spec: Spec, program: Program) -> str:
    """Where values lie, sentences that decide nothing, sometimes the steps in words."""
    chinese = rng.random() < 0.2
    parts = rng.sample(_words()["side_zh"] if chinese else _words()["side"], rng.randint(0, 3))
    if not program.is_flat and not program.whole:
        parts.insert(0, "Tensors are matrices: i counts rows, j counts columns.")
    if program.whole:
        parts.insert(0, "i counts all elements; the result is one element.")
    if rng.random() < 0.3:
        parts.append(spec.values_text())
    return " ".join(parts) or ("见公式。" if chinese else "See the formula.")


def _formula(rng: Random, spec: Spec, program: Program, attributes: Mapping[int, str]) -> str:
    """The formula in one of several notations, with attributes by name."""
    shown = program
    # Numbers that no formula has: their text is replaced by the attributes' names.
    marks = {name: 90210.5 + position for position, name in enumerate(attributes.values())}
    if attributes:
        steps = tuple(
            step._replace(constant=marks[attributes[index]]) if index in attributes else step
            for index, step in enumerate(program.steps)
        )
        shown = replace(program, steps=steps)
    text = shown.formula(spec.names[:-1], spec.names[-1])
    for name, mark in marks.items():
        text = text.replace(repr(mark), name)
    notation = rng.choice(("index", "index", "plain", "bracket", "torch", "numpy", "power"))
    if notation == "bracket":
        return re.sub(r"(?<=\w)_(ij|i|j)\b", lambda match: f"[{', '.join(match[1])}]", text)
    if notation != "index" and (program.is_flat or notation == "plain"):
        text = re.sub(r"(?<=\w)_(ij|i|j)\b", "", text)
    if notation in _CALLS and program.is_flat:
        prefix = _CALLS[notation]
        text = re.sub(r"\b(exp|sqrt|tanh)\(", rf"{prefix}\1(", text)
        text = re.sub(r"\bln\(", f"{prefix}log(", text)
        # Python has neither bars nor ^ for these.
        text = re.sub(r"\|(\w+)\|", rf"{prefix}abs(\1)", text).replace("^2", " ** 2")
    if notation == "power":
        text = re.sub(r"\bexp\(([\w ]+)\)", r"e^\1", text)
    return text
