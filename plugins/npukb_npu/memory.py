"""Device memory with guard bands: what lies around a buffer must be what it was. Not yet run on hardware."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from npukb_npu.acl import Acl, MemcpyKind
from npukb_npu.jobs import Argument, Buffer
from npukernelbench.judge.poison import poison

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["GUARD_BYTES", "Allocator", "Placed", "Space"]

GUARD_BYTES = 4096
# arguments of a kernel are device addresses at multiples of 512 bytes
_ALIGNMENT = 512


class Allocator(Protocol):
    """Where device memory comes from: the runtime itself, or torch_npu."""

    def malloc(self, size: int) -> int: ...

    def create_stream(self) -> int: ...


class Placed:
    """A buffer in device memory: guard, contents up to a multiple of 512 bytes, guard."""

    def __init__(self, acl: Acl, allocator: Allocator, buffer: Buffer, seed: int, copy: int) -> None:
        import numpy as np

        self.buffer, self._acl = buffer, acl
        room = -(-max(buffer.nbytes, 1) // _ALIGNMENT) * _ALIGNMENT
        self._image = poison(room + 2 * GUARD_BYTES, seed, f"guard {buffer.name} {copy}").copy()
        contents = _contents(buffer, seed)
        self._image[GUARD_BYTES : GUARD_BYTES + contents.size] = contents
        base = allocator.malloc(self._image.size + _ALIGNMENT)
        self._base = -(-base // _ALIGNMENT) * _ALIGNMENT
        self.address = self._base + GUARD_BYTES
        self._back: NDArray[np.uint8] = np.empty_like(self._image)
        self.restore()

    def restore(self) -> None:
        """Write guards and first contents."""
        self._acl.copy(self._base, self._image.ctypes.data, self._image.size, MemcpyKind.HOST_TO_DEVICE)

    def collect(self) -> Iterator[tuple[str, int]]:
        """Read everything back; ``before`` or ``behind`` with the number of changed bytes for each damaged guard."""
        self._acl.copy(self._back.ctypes.data, self._base, self._back.size, MemcpyKind.DEVICE_TO_HOST)
        unlike = self._back != self._image
        # what rounds the size up is guard, too: a write there is outside of the tensor
        end = GUARD_BYTES + self.buffer.nbytes
        for side, part in (("before", unlike[:GUARD_BYTES]), ("behind", unlike[end:])):
            if count := int(part.sum()):
                yield side, count

    @property
    def contents(self) -> NDArray[np.uint8]:
        """What :meth:`collect` read."""
        return self._back[GUARD_BYTES : GUARD_BYTES + self.buffer.nbytes]

    @property
    def is_as_it_was(self) -> bool:
        """Whether :meth:`collect` read what was written."""
        return bool((self.contents == self._image[GUARD_BYTES : GUARD_BYTES + self.buffer.nbytes]).all())


class Space:
    """All memory of one launch: one of several copies with the same contents at other addresses."""

    def __init__(
        self,
        acl: Acl,
        allocator: Allocator,
        arguments: Sequence[Argument],
        *,
        workspace_bytes: int,
        seed: int,
        copy: int,
    ) -> None:
        self._acl, self._allocator, self._seed, self._copy = acl, allocator, seed, copy
        self.placed: list[Placed] = []
        self.workspace = self.add(Buffer("workspace", workspace_bytes, (), 0)) if workspace_bytes else None
        self.members: list[list[Placed] | None] = []
        self.pointers: list[int] = []
        for argument in arguments:
            if argument is None:
                self.members.append(None)
                self.pointers.append(0)
            elif isinstance(argument, int):
                self.members.append(self.members[argument])
                self.pointers.append(self.pointers[argument])
            elif isinstance(argument, Buffer):
                self.members.append([self.add(argument)])
                self.pointers.append(self.placed[-1].address)
            else:
                items = [self.add(item) for item in argument]
                self.members.append(items)
                self.pointers.append(self._table(items))

    def add(self, buffer: Buffer) -> Placed:
        """One more buffer, with guards of its own."""
        self.placed.append(Placed(self._acl, self._allocator, buffer, self._seed, self._copy))
        return self.placed[-1]

    def restore(self) -> None:
        """As before the first launch: outputs and workspace hold nobody's data, inputs that were updated their own."""
        for placed in self.placed:
            if placed.buffer.restore or not placed.buffer.file:
                placed.restore()

    def _table(self, items: Sequence[Placed]) -> int:
        """A list of tensors in device memory, as ``ListTensorDesc`` reads it: the byte offset of the addresses; for
        every tensor its number of dimensions and its index, and its shape; the addresses."""
        import numpy as np

        words: list[int] = [0]
        for index, item in enumerate(items):
            words += [index << 32 | len(item.buffer.shape), *item.buffer.shape]
        words[0] = 8 * len(words)
        data: NDArray[Any] = np.array([*words, *(item.address for item in items)], dtype=np.uint64)
        address = self._allocator.malloc(data.nbytes)
        self._acl.copy(address, data.ctypes.data, data.nbytes, MemcpyKind.HOST_TO_DEVICE)
        return address


def _contents(buffer: Buffer, seed: int) -> NDArray[np.uint8]:
    import numpy as np

    if buffer.file:
        return np.frombuffer(Path(buffer.file).read_bytes(), dtype=np.uint8)
    if buffer.fill is not None:
        return np.full(buffer.nbytes, buffer.fill, dtype=np.uint8)
    return poison(buffer.nbytes, seed, buffer.name)
