"""Ways to break the checker's rules, one kernel for each: ``docs/rules/*.yaml``, and what their bodies may use.

They lie with the pages because the reference of rules shows one of each rule: that with a ``remedy``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from npukernelbench.nouns import DType, Outcome, Severity
from tests.tables import read_yaml
from tests.twin.cubes import CUBE
from tests.twin.running import Finished, Inputs, Outputs

__all__ = [
    "CUBE_SETUP",
    "INPUTS",
    "OUTPUTS",
    "SETUP",
    "Breach",
    "BrokenCall",
    "breaches",
    "breaches_of_objects",
    "broken_calls",
]

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "rules"
#: Breaches of objects that multiply matrices, which need other inputs.
_OBJECTS = "matmul"
#: What bodies may use: 512 floats in, 512 floats and 512 halfs out, buffers of 2 KiB.
SETUP = (_FOLDER / "vector_setup.cpp").read_text(encoding="utf-8")
#: What bodies on the cube core may use: 256 halfs of a product in every memory, as cubes.py names them.
CUBE_SETUP = (_FOLDER / "cube_setup.cpp").read_text(encoding="utf-8")
#: What kernels in these setups are run with.
INPUTS: Inputs = {
    "x": np.arange(512, dtype=np.float32),
    "table": [np.zeros((2, 3), np.float32), np.ones(1, np.float32)],
}
OUTPUTS: Outputs = {"y": ((512,), DType.FLOAT32), "ragged": ((5,), DType.FLOAT32)}


class Breach(NamedTuple):
    """A way to break a rule. The line of ``body`` that ends in ``// here`` is the one to name; what the message
    ``says`` is a part of it, or with a ``remedy`` all of it. ``twin`` is which of the test's twins breaks it. ``kind``
    and ``numbers`` are those of a kernel with an object that multiplies matrices.
    """

    rule: str
    says: str
    body: str
    warning: bool = False
    blocks: str = "one"
    twin: str = "fast"
    cube: bool = False
    remedy: str = ""
    kind: str = "MIX_AIC_1_1"
    numbers: Mapping[str, int] = MappingProxyType({})

    @property
    def block(self) -> int | None:
        """The one block that runs the body; None for all."""
        return None if self.cube or self.blocks == "all" else 0

    @property
    def text(self) -> str:
        """The body behind what it may use."""
        return (CUBE_SETUP if self.cube else SETUP) + self.body

    @property
    def before(self) -> str:
        """What stands in front of the kernel."""
        return CUBE if self.cube else ""

    def check(self, finished: Finished) -> None:
        """Assert that this breach, nothing else, was reported at its line."""
        assert finished.found == [(self.rule, finished.marked)], [
            str(diagnostic) for diagnostic in finished.diagnostics
        ]
        [said] = finished.diagnostics
        assert self.says in said.message
        assert said.file == "kernel.cpp"
        assert said.remedy.endswith(".")
        if self.remedy:
            shown = (said.message, said.remedy)
            assert (self.says, self.remedy) == shown, f"the reference of rules shows {shown}"
        assert said.severity is (Severity.WARNING if self.warning else Severity.ERROR)
        assert finished.outcome is (Outcome.OK if self.warning else Outcome.RULE_VIOLATION)


class BrokenCall(NamedTuple):
    """A call that breaks a rule by itself; ``core`` is the kind that makes it."""

    core: str
    rule: str
    says: str
    call: str


def broken_calls() -> list[BrokenCall]:
    """Calls that are tried many to a kernel."""
    kinds = read_yaml(Path(__file__).with_name("calls.yaml"))
    return [BrokenCall(core, **row) for core, calls in kinds.items() for row in calls]


def breaches() -> list[Breach]:
    """All but those of objects that multiply matrices, file after file."""
    paths = (path for path in sorted(_FOLDER.glob("*.yaml")) if path.stem != _OBJECTS)
    return [breach for path in paths for breach in _read(path)]


def breaches_of_objects() -> list[Breach]:
    """Those of objects that multiply matrices."""
    return _read(_FOLDER / f"{_OBJECTS}.yaml")


def _read(path: Path) -> list[Breach]:
    return [Breach(**row, cube=path.stem == "cube") for row in read_yaml(path)]
