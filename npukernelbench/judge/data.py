"""Inputs and expected outputs of cases, made once and shared by all samples of a case, within a budget of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from npukernelbench.nouns import Case, Task
from npukernelbench.seed import derive

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

    Tensors: TypeAlias = Mapping[str, Argument]
    Expected: TypeAlias = Mapping[str, Array | list[Array]]

__all__ = ["CaseData"]

#: What, the task's content, the case, the salt that tells hidden cases of different secrets apart, and the seed.
_Key: TypeAlias = tuple[str, str, str, int, int]

_BUDGET_BYTES = 512 << 20


class CaseData:
    """Least recently used cases go first, whatever seed they are of. Arrays handed out are read-only. Safe to use from
    several threads.
    """

    def __init__(self, budget_bytes: int = _BUDGET_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._entries: OrderedDict[_Key, Future[Tensors]] = OrderedDict()
        # Of entries that are made: adding them up anew would cost a judge more with every case that it has seen.
        self._bytes: dict[_Key, int] = {}
        self._total_bytes = 0
        self._lock = Lock()

    def inputs(self, task: Task, case: Case, seed: int) -> Tensors:
        """The case's inputs, drawn from the run's seed. Raises what the task's value generators raise."""
        from npukernelbench.tasks.inputs import generate_inputs

        # The salt of the case enters in `generate_inputs`.
        own = derive(seed, "inputs", task.name, case.id)
        key = ("inputs", task.content_hash, case.id, case.salt, seed)
        return self._once(key, lambda: generate_inputs(task, case, own))

    def expected(self, task: Task, case: Case, seed: int) -> Expected:
        """The reference's outputs on these inputs. Raises what the reference raises."""
        from npukernelbench.reference import expected_outputs

        inputs = self.inputs(task, case, seed)
        key = ("expected", task.content_hash, case.id, case.salt, seed)
        outputs = self._once(key, lambda: expected_outputs(task, case, inputs))
        return {name: value for name, value in outputs.items() if value is not None}

    def _once(self, key: _Key, make: Callable[[], Tensors]) -> Tensors:
        """What ``make`` returns, called by the first thread that asks; a failure is raised in all and forgotten."""
        with self._lock:
            known = self._entries.get(key)
            if known is None:
                mine: Future[Tensors] = Future()
                self._entries[key] = mine
            else:
                self._entries.move_to_end(key)
        if known is not None:
            return known.result()
        try:
            value = make()
        # An interruption, too: nobody else would ever complete the future that others wait for.
        except BaseException as error:
            with self._lock:
                self._entries.pop(key, None)
            mine.set_exception(error)
            raise
        # Before anybody has them: whoever wrote into one would change what other samples are judged on.
        for array in _arrays(value):
            array.flags.writeable = False
        mine.set_result(value)
        self._made(key, sum(array.nbytes for array in _arrays(value)))
        return value

    def _made(self, key: _Key, size_bytes: int) -> None:
        """Count an entry, and drop those that were not used for longest until the rest fits the budget."""
        with self._lock:
            # An entry that is larger than the budget drops itself, too: whoever asked for it has it already.
            self._bytes[key] = size_bytes
            self._total_bytes += size_bytes
            if self._total_bytes <= self._budget_bytes:
                return
            for old in [known for known in self._entries if known in self._bytes]:  # others are being made
                del self._entries[old]
                self._total_bytes -= self._bytes.pop(old)
                if self._total_bytes <= self._budget_bytes:
                    return


def _arrays(tensors: Tensors) -> Iterator[Array]:
    for value in tensors.values():
        if isinstance(value, list):
            yield from value
        elif value is not None:
            yield value
