"""What the judge's process hands to the worker on a device, and what it gets back. Written as JSON between processes.

Not yet run on hardware.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Argument", "Buffer", "Job", "OperatorCall", "Report"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """One tensor. ``file`` holds its contents, ``fill`` a byte, neither: the pattern of nobody's data.

    ``result`` is where it is written afterwards, empty for inputs; ``restore``: the kernel changes it in place, so that
    every launch needs it as it was.
    """

    name: str
    nbytes: int
    shape: tuple[int, ...]
    dtype: int
    file: str = ""
    fill: int | None = None
    result: str = ""
    restore: bool = False


#: A tensor, a list of tensors, nothing, or the number of an earlier argument whose memory it shares.
Argument: TypeAlias = "Buffer | tuple[Buffer, ...] | int | None"


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """A call through aclnn. ``parameters`` are ``[kind, what]``: the number of an argument, or a value.

    ``late`` are the numbers of two outputs: the shape of the first, which the kernel decides, is the second's contents.
    """

    prepare: str
    run: str
    parameters: tuple[tuple[str, Any], ...]
    late: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One run of one case. ``arguments`` are in the kernel's order.

    ``blocks``: how many, or the kind of core of which all are used. ``torch_memory``: buffers are tensors of torch_npu.
    ``budget`` is None where nothing is timed. ``package`` is the folder of an installed operator package.
    ``words`` are the arguments of a host function that launches its kernels itself: ``argument`` with its number,
    ``workspace``, or ``word`` with 64 bits. ``orderly``:
    the worker gives the device back at its end.
    """

    device: int
    library: str
    folders: tuple[str, ...]
    arguments: tuple[Argument, ...]
    blocks: int | str
    workspace_bytes: int
    seed: int
    timeout_ms: int
    report: str
    call: OperatorCall | None = None
    torch_memory: bool = False
    budget: dict[str, float] | None = None
    package: str = ""
    words: tuple[tuple[str, int], ...] = ()
    orderly: bool = False

    def dumps(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, path: Path) -> Job:
        """Out of a file that :meth:`dumps` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        data["arguments"] = tuple(map(_argument, data["arguments"]))
        data["folders"] = tuple(data["folders"])
        data["words"] = tuple((kind, value) for kind, value in data["words"])
        if data["call"]:
            call = data["call"]
            parameters = tuple((kind, value) for kind, value in call["parameters"])
            late = (call["late"][0], call["late"][1]) if call["late"] else None
            data["call"] = OperatorCall(call["prepare"], call["run"], parameters, late)
        return cls(**data)


def _argument(data: Any) -> Argument:
    if isinstance(data, list):
        return tuple(map(_buffer, data))
    return _buffer(data) if isinstance(data, dict) else data


def _buffer(data: dict[str, Any]) -> Buffer:
    return Buffer(**{**data, "shape": tuple(data["shape"])})


@dataclass(slots=True)
class Report:
    """How the worker fared. ``phase`` is the last one it began; ``code`` is 0 where nothing failed."""

    phase: str = "open"
    done: bool = False
    code: int = 0
    function: str = ""
    words: str = ""
    soc: str = ""
    memory: str = ""  # whose: acl, or torch_npu with its version
    blocks: int = 0
    limit_s: float = 0.0  # after which the hardware stops a kernel; 0: never
    damaged: list[list[Any]] = field(default_factory=list)  # [buffer, "before" or "behind", bytes]
    changed: list[str] = field(default_factory=list)  # inputs that are not what they were
    timing: dict[str, float] | None = None

    def write(self, path: Path) -> None:
        """Replace the report in one step."""
        # the worker may be killed while it writes
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(asdict(self)), encoding="utf-8")
        partial.replace(path)

    @classmethod
    def read(cls, path: Path) -> Report:
        """What the worker wrote last; a fresh report when it wrote nothing that can be read."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(**data)
        # TypeError for unknown fields: an answer's host code runs in the worker and could write here, too
        except (OSError, ValueError, TypeError):
            return cls()
