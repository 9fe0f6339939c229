"""What no kernel can be faster than: the least traffic and work of a task, and the time a machine needs for them.

The least traffic follows from the task's definition: every byte of the inputs that the result depends on is read once,
every byte of the outputs is written once. Where a result may depend on a part of its inputs only (indices, slices,
conditions, constants), what has to be read in any case counts (:mod:`npukernelbench.judge.reads`), and outputs that are
updated in place do not count: a bound that is too low is merely weak, one that is too high would be wrong. The least
work is that of :mod:`npukernelbench.judge.operations`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from npukernelbench.judge.operations import least_operations
from npukernelbench.judge.reads import depends_on_part, needed_bytes
from npukernelbench.nouns import Case, Task, TensorShape
from npukernelbench.tasks.sizes import output_bytes

__all__ = ["Bound", "Roof", "Roofed", "Traffic", "bound", "bound_us", "least_traffic"]


class Roof(NamedTuple):
    """Peak rates of a machine's memory, of the cache before it, and of its units, and the cache's size.

    Of all vector cores together: bytes that leave vector instructions. Of all cube cores: products of 16-bit numbers.
    0 is unknown, and binds nothing.
    """

    memory_bytes_per_s: float
    cache_bytes_per_s: float
    cache_bytes: float
    vector_bytes_per_s: float = 0.0
    products_per_s: float = 0.0


@runtime_checkable
class Roofed(Protocol):
    """An executor that knows its machine's peaks. Optional."""

    def roof(self) -> Roof:
        """The peaks, as documented or published: nothing sustained, nothing derated."""
        ...


class Traffic(NamedTuple):
    """Bytes that every kernel for a case has to read and write."""

    reads: int
    writes: int


class Bound(NamedTuple):
    """The least time of a case in us, unit by unit; the largest of them is what no kernel can be faster than."""

    memory_us: float
    cache_us: float
    vector_us: float
    cube_us: float


def least_traffic(task: Task, case: Case) -> Traffic:
    """The least traffic of ``case``."""
    reads = sum(needed_bytes(task, case).values())
    if not depends_on_part(task):
        return Traffic(reads, output_bytes(case))
    # These hold values before the launch: what does not change need not be written.
    updated = {output.name for output in task.outputs if output.alias_of is not None or output.zeroed}
    kept = (entry for name, entry in case.outputs.items() if name not in updated)
    writes = sum(
        tensor_shape.nbytes
        for entry in kept
        for tensor_shape in ((entry,) if isinstance(entry, TensorShape) else entry)
    )
    return Traffic(reads, writes)


def bound(task: Task, case: Case, roof: Roof) -> Bound:
    """The least times of ``case``. What is written may stay in the cache, what is read comes from memory."""
    reads, writes = least_traffic(task, case)
    work = least_operations(task, case, partial=depends_on_part(task))
    memory = reads + max(0.0, writes - roof.cache_bytes)
    return Bound(
        memory / roof.memory_bytes_per_s * 1e6,
        (reads + writes) / roof.cache_bytes_per_s * 1e6,
        work.vector_bytes / roof.vector_bytes_per_s * 1e6 if roof.vector_bytes_per_s else 0.0,
        work.products / roof.products_per_s * 1e6 if roof.products_per_s else 0.0,
    )


def bound_us(task: Task, case: Case, roof: Roof) -> float:
    """The least time of ``case`` in us: that of the unit that needs longest."""
    return max(bound(task, case, roof))
