"""The boundary between judge and executor: whatever an executor raises is a fault of ours, never of the candidate."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from npukernelbench.errors import NpukbError
from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["Fault", "attempt", "fault_of"]

T = TypeVar("T")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed call: what to tell."""

    diagnostic: Diagnostic


def fault_of(error: Exception, action: str, rule: str = "infra_error") -> Fault:
    """The fault that ``error`` is, met while doing ``action``."""
    message = str(error.message) if isinstance(error, NpukbError) else f"{type(error).__name__}: {error}"
    remedy = (error.remedy or "") if isinstance(error, NpukbError) else ""
    return Fault(Diagnostic(Severity.ERROR, rule, f"{action} failed: {message}", remedy=remedy))


def attempt(action: str, call: Callable[[], T], retries: int) -> T | Fault:
    """Boundary: the result of ``call``, tried ``1 + retries`` times, or the last fault."""
    for _ in range(retries):
        try:
            return call()
        except Exception as error:  # noqa: BLE001
            _log.warning("%s failed and is tried again: %s", action, error)
    try:
        return call()
    except Exception as error:  # noqa: BLE001
        # Our own errors explain themselves; of all others the traceback is needed.
        _log.warning("%s failed: %s", action, error, exc_info=not isinstance(error, NpukbError))
        return fault_of(error, action)
