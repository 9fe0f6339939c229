"""``launch.yaml`` of the launch track: which host function is called, and what each of its arguments is for a case.

An argument is a name of the task's (a tensor, an attribute), ``stream``, ``blocks``, ``workspace``, ``null``, a
question about a tensor such as ``x.size``, or a number. Executors decide what addresses are; the rest is said here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from npukernelbench.nouns import LAUNCH_FILE, Diagnostic, DType, Severity, Task, TensorShape

__all__ = ["TYPE_NUMBERS", "WORKSPACE_BYTES", "LaunchFile", "answer", "known_words", "read_launch_file", "wrong"]

#: The numbers of PyTorch's element types.
# Fixed by PyTorch (`c10::ScalarType`). The gaps are types that tasks do not have, such as quantised ones.
TYPE_NUMBERS = {
    DType.UINT8: 0,
    DType.INT8: 1,
    DType.INT16: 2,
    DType.INT32: 3,
    DType.INT64: 4,
    DType.FLOAT16: 5,
    DType.FLOAT32: 6,
    DType.FLOAT64: 7,
    DType.COMPLEX64: 9,
    DType.COMPLEX128: 10,
    DType.BOOL: 11,
    DType.BFLOAT16: 15,
    DType.UINT16: 27,
    DType.UINT32: 28,
    DType.UINT64: 29,
}
#: What ``workspace`` has at least.
WORKSPACE_BYTES = 16 << 20
# `\Z`, since `$` also matches in front of a line break at the end.
_QUESTION = re.compile(r"(?P<name>\w+)\.(?:(?P<what>size|bytes|rank|itemsize|dtype)|shape\[(?P<axis>-?\d+)\])\Z")
_PLAIN = ("stream", "blocks", "workspace", "null")


class LaunchFile(BaseModel):
    """The file. Both parts may be left out where the sources leave no choice."""

    model_config = ConfigDict(extra="forbid")

    function: str = Field("", pattern=r"^(?:[A-Za-z_]\w*(?:::\w+)*(?:<[\w:<>, -]+>)?)?$", max_length=200)
    arguments: Annotated[list[str | int | float | bool], Field(max_length=64)] | None = None


def read_launch_file(text: str, task: Task) -> LaunchFile | Diagnostic:
    """The file, or what is wrong with it: an argument that is nothing of the task's, too."""
    import yaml

    try:
        # The text is the candidate's: another loader would construct what its tags name.
        asked = LaunchFile.model_validate(yaml.safe_load(text) or {})
    except yaml.YAMLError as error:
        # An error about a character that YAML does not allow has no mark.
        mark = getattr(error, "problem_mark", None)
        return wrong(f"{LAUNCH_FILE} is not YAML: {error}"[:300], "", LAUNCH_FILE, mark.line + 1 if mark else 0)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        return wrong(f"{LAUNCH_FILE}: {where}: {first['msg']}", "It has function and arguments.", LAUNCH_FILE)
    unknown = [word for word in asked.arguments or () if isinstance(word, str) and not _is_known(word, task)]
    if unknown:
        return wrong(
            f"{LAUNCH_FILE}: arguments: {unknown[0]!r} is nothing that can be passed",
            f"Name {', '.join(known_words(task))}, or a number; "
            "x.size, x.bytes, x.rank, x.itemsize and x.shape[0] ask an input.",
            LAUNCH_FILE,
        )
    return asked


def known_words(task: Task) -> tuple[str, ...]:
    """What an argument may be called."""
    return (*_tensors(task), *(spec.name for spec in task.attributes), *_PLAIN[:3])


def answer(word: str, tensors: Mapping[str, TensorShape]) -> int | None:
    """The number that a question asks for, of a tensor by its name; None where ``word`` is no question. A tensor that
    is absent has nothing.
    """
    question = _QUESTION.match(word)
    if question is None:
        return None
    tensor = tensors.get(question["name"])
    if tensor is None:
        return 0
    if question["axis"] is not None:
        axis = int(question["axis"])
        return tensor.shape[axis] if -len(tensor.shape) <= axis < len(tensor.shape) else 1
    known = {"size": tensor.size, "bytes": tensor.nbytes, "rank": len(tensor.shape), "itemsize": tensor.dtype.itemsize}
    return known.get(question["what"], TYPE_NUMBERS[tensor.dtype])


def wrong(message: str, remedy: str, file: str = "", line: int = 0) -> Diagnostic:
    """What the launch of an answer lacks."""
    return Diagnostic(Severity.ERROR, "launch_file", message, file, line, remedy=remedy)


def _tensors(task: Task) -> tuple[str, ...]:
    return (*(spec.name for spec in task.inputs), *(spec.name for spec in task.outputs))


def _is_known(word: str, task: Task) -> bool:
    question = _QUESTION.match(word)
    if question:
        return question["name"] in _tensors(task)
    return word in _PLAIN or word in known_words(task)
