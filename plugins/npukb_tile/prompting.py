"""What a model is asked that writes tile programs: the language, a program of the same category, the operator."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

from npukb_tile.dtypes import DTYPES
from npukernelbench.nouns import Case, Message, Prompt, Task
from npukernelbench.prompts.example import is_same_operator, nearest
from npukernelbench.prompts.interface import tensor_text
from npukernelbench.prompts.style import describe_case

__all__ = ["Exemplar", "exemplar", "interface_text", "language", "opening", "operator_text", "prompt_of", "refusal"]

#: Raised with every change of wording, so that results name what was asked.
VERSION = 5

_HERE = Path(__file__).parent
#: The page of the documentation; an installed package brings its own copy.
_PAGES = (_HERE / "tile.md", _HERE.parents[1] / "docs" / "tile.md")
_SECTIONS = ("A program", "Buffers and blocks", "When a program is wrong")
#: Categories of one kind under two names.
_KIN = {"Norm": "Normalization", "Optim": "Optimizer", "Foreach": "Activation"}

_ROLE = """\
You write kernels for Huawei Ascend AI processors in a small tile language. Your program is checked, run on arrays,
lowered to Ascend C, compiled and run: it must compute the right values for every element, and then be fast.
"""
_ANSWER = """\
## Answer

Answer with one complete program in exactly one fenced block that opens with ```python: one @host and one @kernel
function. The kernel function is called `{kernel}`; its inputs are {inputs}, its outputs {outputs}, in this
order{attributes}. It has the grammar of Python and is not Python: there are no imports, no lists, no functions of your
own, nothing but what is described above.
"""


class Exemplar(NamedTuple):
    """Another operator and a program for it that is right."""

    task: Task
    source: str


@cache
def language() -> str:
    """The sections of the documentation that define the language."""
    # The page that people read is what models are shown: the two cannot differ.
    page = next(path for path in _PAGES if path.exists()).read_text(encoding="utf-8")
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    wanted = {name: next(section for section in sections if section.startswith(f"{name}\n")) for name in _SECTIONS}
    short_rows = page[page.index("Short rows are best") : page.index("## When a program is wrong")]
    parts = [f"## {text.strip()}" for text in wanted.values()]
    parts.insert(2, short_rows.strip())
    return "\n\n".join(parts) + "\n"


def exemplar(task: Task, tasks: Mapping[str, Task]) -> Exemplar | None:
    """A program for the operator that is closest to the task: of its category, else the first of all that do."""
    written = [other for other in tasks.values() if _program(other).exists()]
    # Suites name the same kinds of operators differently, and only some have programs.
    kin = replace(task, category=_KIN.get(task.category, task.category))
    example = nearest(kin, written) or _first(task, written)
    return None if example is None else Exemplar(example, _program(example).read_text(encoding="utf-8"))


def opening(task: Task, case: Case | None, tasks: Mapping[str, Task]) -> Prompt:
    """The two messages that ask for a program."""
    shown = exemplar(task, tasks)
    parts = ["# The tile language\n", language()]
    if shown is not None:
        parts.append(
            f"## Another operator of the category {shown.task.category}: {shown.task.name}\n\n{shown.task.summary}\n\n"
            f"    {shown.task.formula}\n\nA program that is right, for all its shapes:\n\n"
            f"```python\n{shown.source.rstrip()}\n```\n"
        )
    parts += [operator_text(task, case), _ANSWER.format(**interface_text(task, case))]
    return prompt_of("tile", (Message("system", _ROLE), Message("user", "\n".join(parts))))


def prompt_of(name: str, messages: tuple[Message, ...]) -> Prompt:
    """A prompt of ours, with what identifies it."""
    template = f"{name}@{VERSION}"
    return Prompt(messages, template, messages_hash(template, messages))


def messages_hash(template: str, messages: Iterable[Message]) -> str:
    """The hash of a prompt."""
    digest = hashlib.sha256(template.encode())
    for message in messages:
        # Every message is hashed by itself, so that text cannot move from one to the next unnoticed.
        digest.update(hashlib.sha256(f"{message.role}\0{message.content}".encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()


def operator_text(task: Task, case: Case | None, *, sizes: bool = True) -> str:
    """The operator to write, for one case or for all. ``sizes``: with the elements and bytes of tensors."""
    lines = [f"# {task.name}: {task.summary}", "", task.description.strip(), "", f"    {task.formula}", ""]
    for item in task.attributes:
        default = f", default {item.default}" if item.default is not None else ""
        lines.append(f"Attribute {item.name}: {item.type}{default}.")
    if case is not None:
        lines += ["Write it for this case; sizes and attribute values may be constants.", ""]
        for name, value in case.inputs.items():
            held = value if value is None or isinstance(value, tuple) else value.tensor
            tensor = tuple(item.tensor for item in held) if isinstance(held, tuple) else held
            lines.append(f"- input {name}: {tensor_text(tensor, sizes=sizes)}")
        lines += [f"- output {name}: {tensor_text(tensor, sizes=sizes)}" for name, tensor in case.outputs.items()]
        lines += [f"- attribute {name} = {value}" for name, value in case.attributes.items()]
    else:
        lines += ["One program serves every case, these and others:", ""]
        lines += [f"- {describe_case(case)}" for case in task.cases]
    in_place = [item for item in task.outputs if item.alias_of]
    lines += [
        f"- {item.name} lies in the memory of {item.alias_of}: load what you need before you store" for item in in_place
    ]
    return "\n".join(lines) + "\n"


def refusal(task: Task) -> str | None:
    """Why the language has no words for a task; None when it has."""
    if any(spec.type == "list_float" for spec in task.attributes):
        return "the tile language has no attributes that are lists of floats"
    held = {dtype.value for spec in task.inputs for dtype in spec.dtypes}
    if held - set(DTYPES):
        return "the tile language lacks some of their element types"
    return None


def _program(task: Task) -> Path:
    return task.path.parent / "golden" / "tile.py"


def _first(task: Task, written: Iterable[Task]) -> Task | None:
    others = [other for other in written if not is_same_operator(task, other)]
    # Activations first: element-wise programs show the language and little else.
    return min(others, key=lambda other: (other.category != "Activation", other.name), default=None)


def interface_text(task: Task, case: Case | None) -> dict[str, str]:
    """Kernel, inputs, outputs and attributes in words, for the end of a question.

    A kernel for one case leaves out attributes that it does not need; an operator that is defined has them all.
    """
    needed = "its attributes" if case is None else "those attributes that it needs"
    inputs = ", ".join(f"{spec.name} ({' or '.join(dtype.value for dtype in spec.dtypes)})" for spec in task.inputs)
    names = ", ".join(f"{item.name} ({item.type})" for item in task.attributes)
    return {
        "kernel": task.kernel,
        "inputs": inputs or "none",
        "outputs": ", ".join(item.name for item in task.outputs),
        "attributes": f", then {needed}: {names}" if names else "",
    }
