"""What a launch consists of, and the files behind its pointer arguments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_twin.compile.kinds import Composition, Images
from npukernelbench.judge.poison import poison
from npukernelbench.nouns import Allocation, Case, DType, RunRequest, Task, TensorCase, TensorShape

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Array

__all__ = ["Buffers", "Plan", "Slot", "SlotKind", "static_slots", "write_buffer"]

_GRANULE = 512  # device allocations are multiples of this
_SPARE_BYTES = 32  # and hold at least so much more than was asked for
_SHAPES_BYTES = 512
_PAGE = 4096
_TILES = 64  # of a workspace: a file of this share of it, mapped so many times
_TILE_BYTES = 16 << 20  # at most; a large workspace is mapped more often
_LARGEST_SEGMENT = 20 << 20  # of a pool that smaller allocations share


class SlotKind(Enum):
    """What stands at one position of the kernel's signature."""

    INPUT = "input"
    OUTPUT = "output"
    SAME = "same"  # the pointer of an earlier slot once more
    SHAPES = "shapes"  # where a kernel says how large its outputs became
    WORKSPACE = "workspace"
    TILING = "tiling"


@dataclass(frozen=True, slots=True)
class Slot:
    """One pointer argument. ``name`` is the task's; ``dtype`` is the type that values are converted to, if any.

    ``same`` is the index of the slot that holds the memory; ``at_least_bytes`` is how much room an output needs while
    the kernel runs; ``fill`` is what an output is filled with before, over and over, None for a pattern.
    """

    kind: SlotKind
    name: str = ""
    dtype: DType | None = None
    same: int = 0
    at_least_bytes: int = 0
    fill: bytes | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """One launch. More ``blocks`` than ``cores`` run in waves; a block has the cores of ``composition``."""

    images: Images
    composition: Composition
    slots: tuple[Slot, ...]
    blocks: int
    cores: int
    workspace_bytes: int
    system_workspace_bytes: int = 0
    tiling: bytes = b""
    tiling_key: int = 0


def static_slots(task: Task) -> tuple[Slot, ...]:
    """The signature of the static track: inputs, outputs, workspace."""
    position = {spec.name: index for index, spec in enumerate(task.inputs)}
    slots = [Slot(SlotKind.INPUT, spec.name) for spec in task.inputs]
    for output in task.outputs:
        if output.alias_of is not None:
            slots.append(Slot(SlotKind.SAME, output.name, same=position[output.alias_of]))
        else:
            slots.append(Slot(SlotKind.OUTPUT, output.name, fill=b"\0" if output.zeroed else None))
    return (*slots, Slot(SlotKind.WORKSPACE))


class Buffers:
    """The files behind a launch's pointer arguments."""

    def __init__(self, request: RunRequest, plan: Plan, work: Path) -> None:
        self.plan = plan
        self._request = request
        self._work = work
        self._outputs: dict[str, list[tuple[TensorShape, Path]]] = {}
        self.total_bytes = 0

    def lines(self) -> Iterator[str]:
        """Launch directives in argument order. Writes the files on the way."""
        updated = {o.alias_of: o.name for o in self._request.task.outputs if o.alias_of is not None}
        for slot in self.plan.slots:
            if slot.kind is SlotKind.INPUT:
                yield from self._input(slot, writable=slot.name in updated)
                if slot.name in updated and self._request.inputs[slot.name] is not None:
                    self._outputs[updated[slot.name]] = self._aliased(slot.name, updated[slot.name])
            elif slot.kind is SlotKind.OUTPUT:
                yield from self._output(slot)
            else:
                yield self._other(slot)

    def _other(self, slot: Slot) -> str:
        """Everything that is neither an input nor an output of the task."""
        if slot.kind is SlotKind.SAME:
            return f"argument same {slot.same}"
        if slot.kind is SlotKind.SHAPES:
            return f"argument buffer shapes w {_SHAPES_BYTES} {self._blank('shapes', _SHAPES_BYTES, 'shapes')}"
        if slot.kind is SlotKind.TILING:
            import numpy as np

            data = np.frombuffer(self.plan.tiling, dtype=np.uint8)
            return f"argument buffer tiling r {data.size} {self._write('tiling', data)}"
        return self._workspace(max(self.plan.workspace_bytes, _GRANULE))

    def _workspace(self, size: int) -> str:
        """Nobody reads a workspace after the launch, so one page-aligned piece of the pattern stands for all of it."""
        rounded = _rounded(size)
        tile = min(-(-rounded // _TILES // _PAGE) * _PAGE, _TILE_BYTES)
        path = self._work / "workspace"
        with path.open("wb", buffering=0) as file:
            poison(tile, self._request.seed, "workspace").tofile(file)
        self.total_bytes += rounded + (_LARGEST_SEGMENT if self._request.allocation is Allocation.POOLED else 0)
        return f"argument buffer workspace t {size} {path}"

    def _input(self, slot: Slot, *, writable: bool) -> Iterator[str]:
        mode, name, value = "w" if writable else "r", slot.name, self._request.inputs[slot.name]
        if value is None:
            yield "argument null"
        elif isinstance(value, list):
            yield f"argument list {name} {len(value)}"
            for index, item in enumerate(value):
                path = self._filled(f"in-{name}-{index}", item)
                yield f"item {_shape(item.shape)} {name}[{index}] {mode} {item.nbytes} {path}"
        else:
            value = value if slot.dtype is None else value.astype(slot.dtype.numpy(), copy=False)
            yield f"argument buffer {name} {mode} {value.nbytes} {self._filled(f'in-{name}', value)}"

    def _output(self, slot: Slot) -> Iterator[str]:
        name, declared = slot.name, self._request.case.outputs[slot.name]
        mode = "b" if slot.fill is None else "w"  # whether it holds something of the program before
        if isinstance(declared, TensorShape):
            size = max(declared.nbytes, slot.at_least_bytes)
            path = self._blank(f"out-{name}", size, name, slot.fill)
            self._outputs[name] = [(declared, path)]
            yield f"argument buffer {name} {mode} {size} {path}"
            return
        yield f"argument list {name} {len(declared)}"
        self._outputs[name] = []
        for index, tensor in enumerate(declared):
            path = self._blank(f"out-{name}-{index}", tensor.nbytes, f"{name}[{index}]", slot.fill)
            self._outputs[name].append((tensor, path))
            yield f"item {_shape(tensor.shape)} {name}[{index}] {mode} {tensor.nbytes} {path}"

    def _aliased(self, source: str, output: str) -> list[tuple[TensorShape, Path]]:
        declared = self._request.case.outputs[output]
        if isinstance(declared, TensorShape):
            return [(declared, self._work / f"in-{source}")]
        return [(tensor, self._work / f"in-{source}-{index}") for index, tensor in enumerate(declared)]

    def _filled(self, name: str, value: Array) -> Path:
        import numpy as np

        data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        return self._write(name, data)

    def _blank(self, file: str, nbytes: int, name: str, fill: bytes | None = None) -> Path:
        import numpy as np

        if fill is not None:
            return self._write(file, np.tile(np.frombuffer(fill, np.uint8), -(-nbytes // len(fill)))[:nbytes])
        return self._write(file, poison(nbytes, self._request.seed, name))

    def _write(self, name: str, data: NDArray[np.uint8]) -> Path:
        path = self._work / name
        self.total_bytes += write_buffer(path, data, name, self._request)
        return path

    def collect(self) -> dict[str, Array | list[Array]]:
        """Outputs as arrays of the declared shape and type."""
        outputs: dict[str, Array | list[Array]] = {}
        for name, tensors in self._outputs.items():
            arrays = [self._read(tensor, path) for tensor, path in tensors]
            outputs[name] = arrays[0] if isinstance(self._request.case.outputs[name], TensorShape) else arrays
        return outputs

    def _read(self, tensor: TensorShape, path: Path) -> Array:
        import numpy as np

        # the file is longer: sizes are rounded up, and an output may have had more room than it is declared
        raw = np.fromfile(path, dtype=np.uint8, count=tensor.nbytes)
        return raw.view(tensor.dtype.numpy()).reshape(tensor.shape)


def write_buffer(path: Path, data: NDArray[np.uint8], name: str, request: RunRequest) -> int:
    """Write a buffer's file; bytes of address space that it takes."""
    rounded = _rounded(data.size)
    with path.open("wb", buffering=0) as file:
        # unbuffered: tofile writes to the descriptor, past any buffer of Python's
        data.tofile(file)
        if request.allocation is not Allocation.POOLED:
            file.truncate(rounded)
            return rounded
        # whoever had this memory before left something there
        poison(-(-rounded // _PAGE) * _PAGE - data.size, request.seed, f"behind {name}").tofile(file)
    return rounded + _LARGEST_SEGMENT


def _rounded(size: int) -> int:
    """How many bytes the device's allocator sets aside for ``size``."""
    return -(-(size + _SPARE_BYTES) // _GRANULE) * _GRANULE


def _shape(shape: tuple[int, ...]) -> str:
    """How the launch file writes the shape of a list's tensor."""
    return "x".join(map(str, shape)) or "-"


def largest_output_bytes(case: Case, itemsize: int) -> int:
    """How many bytes an output may need whose size the kernel decides: an element for every one of an input's."""
    sizes = [0]
    for value in case.inputs.values():
        for item in value if isinstance(value, tuple) else (value,):
            sizes.append(item.tensor.size if isinstance(item, TensorCase) else 0)
    return max(sizes) * itemsize
