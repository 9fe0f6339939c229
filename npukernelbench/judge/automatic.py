"""``--executor auto``: of the executors that may be chosen without being named, the first that works on this machine.

An executor takes part when its class says so (:class:`Automatic`). Which one was taken, and why others were not, is
told to the user; results name the executor itself, never ``auto``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol, runtime_checkable

from npukernelbench.errors import PluginError, UsageError
from npukernelbench.plugins.registry import canonical

if TYPE_CHECKING:
    from npukernelbench.plugins.registry import Registration, Registry

__all__ = ["AUTO", "Automatic", "Choice", "choose"]

AUTO = "auto"


@runtime_checkable
class Automatic(Protocol):
    """An executor's class that ``auto`` may choose. Optional.

    Among those that work the highest ``preference`` wins; what measures goes before what predicts.
    """

    preference: ClassVar[int]

    @classmethod
    def unusable(cls, executor_args: Mapping[str, object]) -> str:
        """Why it would not work here with these arguments, in one sentence; empty when everything it needs is there."""
        ...


class Choice(NamedTuple):
    """The executor that is used, whether it was chosen here, and ``name (reason)`` of each that was passed over."""

    registration: Registration
    automatic: bool = False
    passed_over: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """A line for the user; empty when the executor was named."""
        if not self.automatic:
            return ""
        return f"executor auto: {self.registration.name}" + "".join(f"; not {reason}" for reason in self.passed_over)


def choose(executors: Registry, name: str, executor_args: Mapping[str, object]) -> Choice:
    """The executor called ``name``, or with ``auto`` the preferred one that works. UsageError when there is none."""
    if canonical(name) != AUTO:
        return Choice(executors.find(name))
    passed_over: list[str] = []
    for registration, target in sorted(_automatic(executors, passed_over), key=lambda entry: -entry[1].preference):
        if reason := target.unusable(executor_args):
            passed_over.append(f"{registration.name} ({reason})")
        else:
            return Choice(registration, True, tuple(passed_over))
    reasons = "; ".join(passed_over) or "no executor can be chosen automatically"
    raise UsageError(f"no executor works here: {reasons}", field="--executor", remedy="see npukb doctor")


def _automatic(executors: Registry, passed_over: list[str]) -> Iterator[tuple[Registration, Automatic]]:
    for registration in executors.values():
        try:
            target = registration.load()
        except PluginError as error:
            # A plugin that cannot be loaded is a reason to go on: another executor may still work.
            passed_over.append(f"{registration.name} ({error.message})")
            continue
        if isinstance(target, Automatic):
            yield registration, target
