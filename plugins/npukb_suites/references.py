"""References that torch computes: what the ``reference.py`` of such a task names.

``model.py``, beside it, is the user's own code. It runs as the user, in a process that has nothing but the inputs, in
double precision on the CPU; nothing confines it. Its digest is part of ``reference.py``, so that another operator is
another task.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukb_suites.torch_client import torch_host
from npukernelbench.errors import SourceLocation, TaskError

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Array

__all__ = ["TorchReference"]

#: How long one call may take.
_TIMEOUT_S = 1800.0


class TorchReference:
    """The function or module that ``facts`` describe, callable as references are."""

    def __init__(self, place: str, facts: Mapping[str, Any]) -> None:
        self._folder = Path(place).parent
        self._place = Path(place)
        self._facts = facts

    def __call__(self, **arguments: Any) -> tuple[Array | list[Array], ...]:
        """The outputs, in double precision, in the task's order."""
        names: list[tuple[str, str]] = []
        arrays: list[Array] = []
        absent: dict[str, None] = {}
        for kind, name, mine in self._facts["inputs"]:
            value = arguments[mine]
            if value is None:
                absent[name] = None
            items = value if isinstance(value, list) else [] if value is None else [value]
            names += [("item" if isinstance(value, list) else kind, name)] * len(items)
            arrays += items
        header = {
            "action": "run",
            "names": names,
            "plain": {**self._facts["plain"], **absent, **self._named(arguments, "call")},
            "attributes": self._named(arguments, "init"),
            "order": self._facts["order"],
            "unused": self._facts["unused"],
            **self._target(),
        }
        listed = self._facts.get("listed", ())
        answer = torch_host().ask({**header, "listed": listed}, arrays, timeout_s=_TIMEOUT_S)
        # A single output that is a list takes all arrays, however many there are.
        if self._facts.get("returns_list"):
            return (answer.arrays,)
        # Arrays come one after the other; a count says how many are a list, 0 stands for a tensor alone.
        taken = iter(answer.arrays)
        return tuple([next(taken) for _ in range(count)] if count else next(taken) for count in answer.header["counts"])

    def draw(self, name: str, shape: tuple[int, ...], dtype: str, attributes: Mapping[str, Any], seed: int) -> Array:
        """An input as the user's own code draws it, in the case whose shape it is."""
        del dtype
        kind, own, _ = next(entry for entry in self._facts["inputs"] if entry[2] == name)
        sizes = next((one["sizes"] for one in self._facts["draws"] if one["shapes"].get(name) == list(shape)), None)
        if sizes is None:
            message = f"{name} is drawn by the file's own code, which knows no shape {list(shape)}"
            raise TaskError(message, location=SourceLocation(self._place))
        header = {
            "action": "draw",
            # Torch takes seeds of 64 bits at most.
            "seed": seed % (1 << 63),
            "sizes": sizes,
            "attributes": self._named(attributes, "init"),
            "path": own if kind == "state" else "",
            "name": own,
            **self._target(),
        }
        value: Array
        (value,) = torch_host().ask(header, timeout_s=_TIMEOUT_S).arrays
        return value

    def _named(self, values: Mapping[str, Any], place: str) -> dict[str, Any]:
        """The attributes that go to the constructor, or to the call, by the names that they have there."""
        given = [(own, values[mine]) for where, own, mine in self._facts["attributes"] if where == place]
        return {own: list(value) if isinstance(value, tuple) else value for own, value in given}

    def _target(self) -> dict[str, Any]:
        target = dict(self._facts["target"])
        if "file" in target:
            path = self._folder / target["file"]
            self._require(path)
            target["file"] = str(path)
        return {"target": target, "init": self._facts["init"], "inputs": self._facts["given"]}

    def _require(self, path: Path) -> None:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != self._facts["sha256"]:
            raise TaskError(
                f"{path.name} is not the file that the task was made of",
                location=SourceLocation(path),
                remedy=f'make the task again, or write "sha256": "{digest}" into {self._place.name}',
            )
