"""What a host function did on the device, as it was noted: read, checked, and laid out for the launches to come."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any

from npukb_twin.compile.kinds import Images
from npukb_twin.direct.calling import Place
from npukb_twin.operator.dynamic import Failed
from npukernelbench.judge.launchfile import TYPE_NUMBERS
from npukernelbench.nouns import Case, Diagnostic, DType, Outcome, Severity, Task, TensorShape

__all__ = ["Copy", "Fill", "Kernel", "Memory", "Move", "Sequence", "Step", "memories_of", "read_steps"]

#: Of the device memory that a host function may take for itself.
_MOST_BYTES = 4 << 30


@dataclass(frozen=True, slots=True)
class Memory:
    """A piece of device memory. ``name`` is a tensor's of the task, or says whose it is."""

    name: str
    address: int
    nbytes: int

    @property
    def tensor(self) -> TensorShape:
        """Its bytes."""
        return TensorShape((self.nbytes,), DType.UINT8)


@dataclass(frozen=True, slots=True)
class Kernel:
    """A launch. ``arguments`` are packed as ``twin/direct.h`` says."""

    name: str
    blocks: int
    arguments: bytes
    images: Images | None = None
    cores: int = 0


@dataclass(frozen=True, slots=True)
class Copy:
    """Bytes of the host's to an address."""

    to: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Move:
    """Bytes from one address to another."""

    to: int
    source: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class Fill:
    """So many bytes of one value."""

    to: int
    value: int
    nbytes: int


Step = Kernel | Copy | Move | Fill


@dataclass(frozen=True, slots=True)
class Sequence:
    """Steps in order. ``results`` says where each output of the task lies when they are done, as its file is named."""

    memories: tuple[Memory, ...]
    steps: tuple[Step, ...]
    results: Mapping[str, Memory]

    def holding(self, address: int, nbytes: int) -> tuple[Memory, int] | None:
        """The memory that has these bytes, and where in it they begin."""
        for memory in self.memories:
            if memory.address <= address and address + nbytes <= memory.address + memory.nbytes:
                return memory, address - memory.address
        return None


def memories_of(task: Task, places: Items[Place], more: Items[Memory], own: Items[Items[int]]) -> tuple[Memory, ...]:
    """Tensors of the task, what it asked for besides, and what the host function allocated itself."""
    tensors = [Memory(place.name, place.address, place.tensor.nbytes) for place in places]
    names = {place.name for place in places} | {spec.name for spec in task.outputs}
    taken = [
        Memory(_free(f"allocation{index}", names), int(address), int(nbytes))
        for index, (address, nbytes) in enumerate(own)
    ]
    return (*tensors, *more, *taken)


def _free(name: str, names: set[str]) -> str:
    return name if name not in names else f"{name}_"


def read_steps(
    noted: Mapping[str, Any],
    task: Task,
    case: Case,
    memories: tuple[Memory, ...],
    passed: frozenset[str],
    *,
    kernel_of: Callable[[str], str],
) -> Sequence | Failed:
    """The steps, or why they cannot be taken. ``passed`` are the names of the tensors that the function was given."""
    own = sum(memory.nbytes for memory in memories if memory.name.startswith("allocation"))
    if own > _MOST_BYTES:
        return _failed(f"the host function allocates {own} bytes of device memory; it may have {_MOST_BYTES}")
    sequence = Sequence(memories, tuple(_step(entry, kernel_of) for entry in noted["steps"]), {})
    for step in sequence.steps:
        problem = _problem(step, sequence)
        if problem:
            return _failed(problem)
    if not any(isinstance(step, Kernel) for step in sequence.steps):
        return _failed("the host function launches no kernel")
    return _with_results(sequence, noted["results"], task, case, passed)


def _step(entry: Items[Any], kernel_of: Callable[[str], str]) -> Step:
    kind, *rest = entry
    if kind == "launch":
        name = bytes.fromhex(rest[0]).decode("utf-8", "replace")
        return Kernel(kernel_of(name), int(rest[1]), bytes.fromhex(rest[2]))
    if kind == "write":
        return Copy(int(rest[0]), bytes.fromhex(rest[1]))
    return Move(*map(int, rest)) if kind == "move" else Fill(*map(int, rest))


def _problem(step: Step, sequence: Sequence) -> str:
    if isinstance(step, Kernel):
        return "" if step.name else "the host function launches something that is no kernel"
    nbytes = len(step.data) if isinstance(step, Copy) else step.nbytes
    touched = [step.to, step.source] if isinstance(step, Move) else [step.to]
    # This process carries these out itself (launch/sequence.py), and asks no more.
    if all(sequence.holding(address, nbytes) is not None for address in touched):
        return ""
    return f"the host function copies or fills {nbytes} bytes at an address where there are not as many"


def _with_results(
    sequence: Sequence, returned: Items[Items[int]], task: Task, case: Case, passed: frozenset[str]
) -> Sequence | Failed:
    """Where each output lies: in the tensor that was passed for it, or in the one that was returned."""
    results: dict[str, Memory] = {}
    left = list(returned)
    by_name = {memory.name: memory for memory in sequence.memories}
    for output in task.outputs:
        if output.alias_of is not None or output.name in passed:
            continue
        declared = case.outputs[output.name]
        tensors = declared if isinstance(declared, tuple) else (declared,)
        for index, tensor in enumerate(tensors):
            if not left:
                return _failed(
                    f"the host function neither takes nor returns the output {output.name}",
                    "Name it among the arguments in launch.yaml, or return it as a tensor.",
                )
            address, nbytes, number = left.pop(0)
            if number not in (-1, TYPE_NUMBERS[tensor.dtype]):
                return _failed(f"the host function returns {output.name} in another type", "", Outcome.WRONG_DTYPE)
            if nbytes != tensor.nbytes:
                words = f"{output.name} has {nbytes} bytes as it is returned, and is to have {tensor.nbytes}"
                return _failed(words, "", Outcome.WRONG_SHAPE)
            held = sequence.holding(address, nbytes)
            if held is None:
                return _failed(f"the tensor that is returned for {output.name} lies nowhere")
            memory, offset = held
            name = output.name if not isinstance(declared, tuple) else f"{output.name}[{index}]"
            results[name] = Memory(posixpath.basename(memory.name), offset, nbytes)
            assert memory.name in by_name
    return Sequence(sequence.memories, sequence.steps, results)


def _failed(message: str, remedy: str = "", outcome: Outcome = Outcome.LAUNCH_ERROR) -> Failed:
    return Failed(outcome, (Diagnostic(Severity.ERROR, "launch", message, remedy=remedy),))
