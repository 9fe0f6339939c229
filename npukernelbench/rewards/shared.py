"""Verdicts that judges of a pool share by content: what one of them has reached, all of them have.

The address of a verdict is a digest of all that it follows from: the harness's own code and that of plugins, what the
executor says of itself (machine file, time model, toolchain, checker), the sandbox, the judge's settings, the task's
content, the cases, the track, the kernel's files, and the secret that inputs are drawn from. So nothing passes from one
secret to another, save verdicts on kernels that never ran: those that a guard refused or that do not compile.

Faults, and what depends on how busy a machine is, are not shared. A cache that cannot be reached is no fault: judges
then do the work themselves.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from npukernelbench.errors import NpukbError
from npukernelbench.judge.executor import Confining
from npukernelbench.nouns import Outcome, Owner, Stage, Verdict
from npukernelbench.nouns.codec import JSON, dumps, to_json
from npukernelbench.nouns.decode import verdict_from_json
from npukernelbench.tasks.making import sources_digest

if TYPE_CHECKING:
    from npukernelbench.judge.answer import Asked
    from npukernelbench.judge.executor import Executor
    from npukernelbench.judge.settings import JudgeSettings
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration
    from npukernelbench.store.contents import Contents

__all__ = ["SharedVerdicts", "judging_facts"]

_log = logging.getLogger(__name__)

_SCHEMA = 1
#: Packages whose arithmetic is in inputs and references.
_ARITHMETIC = ("numpy", "scipy", "ml_dtypes")
#: They say as much about the machine as about the kernel.
_OF_THE_MACHINE = frozenset({Outcome.TIMEOUT, Outcome.OUT_OF_MEMORY})
#: A cache that failed is left alone for so long.
_REST_S = 60.0


class SharedVerdicts:
    """Finds and keeps verdicts. Safe for several threads; never raises."""

    def __init__(
        self,
        contents: Contents,
        facts: Callable[[], Mapping[str, JSON]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``facts`` are what verdicts follow from besides the question (:func:`judging_facts`), asked for once."""
        self._contents, self._make_facts, self._clock = contents, facts, clock
        self._rests_until = float("-inf")
        self._lock = Lock()
        self.found = 0
        """How many verdicts of others were used."""

    def find(self, asked: Asked) -> Verdict | None:
        """What another judge, or this one before, has said."""
        # Whether it compiles is asked last: most kernels of a trained model do.
        verdict = self._read(asked) or self._read(asked._replace(seed=None))
        if verdict is not None:
            with self._lock:
                self.found += 1
        return verdict

    def add(self, asked: Asked, verdict: Verdict) -> None:
        """Share a verdict, if it is one to be shared."""
        if verdict.owner not in (Owner.MODEL, Owner.NONE) or verdict.outcome in _OF_THE_MACHINE:
            return
        ran = verdict.stage.order > Stage.COMPILE.order
        told = asked if ran else asked._replace(seed=None)
        # Timings belong to the machine that judged, not to the verdict.
        plain = dumps(replace(verdict, timings={})).encode()
        self._tried("kept", lambda: self._contents.put(self._name(told), plain))

    def _read(self, asked: Asked) -> Verdict | None:
        content = self._tried("read", lambda: self._contents.get(self._name(asked)))
        return None if content is None else verdict_from_json(json.loads(content))

    def _tried(self, what: str, call: Callable[[], bytes | None]) -> bytes | None:
        """Boundary: storage that fails costs no verdict, nor do facts that cannot be had. So names are made in
        ``call``: facts may have to build something.
        """
        if self._clock() < self._rests_until:
            return None
        try:
            return call()
        except NpukbError as error:
            self._rests_until = self._clock() + _REST_S
            _log.warning("verdicts cannot be %s, for %.0f s none are shared: %s", what, _REST_S, error)
            return None

    def _name(self, asked: Asked) -> str:
        # Cases in full: an id does not say what a plugin's or a hidden case holds.
        question: dict[str, JSON] = {
            "reading": asked.reading,
            "task": [asked.task.name, asked.task.content_hash],
            "cases": to_json(asked.cases),
            "track": asked.track.value,
            "files": to_json(asked.candidate.files),
            "seed": asked.seed,
        }
        return hashlib.sha256(dumps({"facts": self._facts, "question": question}).encode()).hexdigest()

    @cached_property
    def _facts(self) -> Mapping[str, JSON]:
        return {"schema": _SCHEMA, **self._make_facts()}


def judging_facts(executor: Executor, plugins: Plugins, settings: JudgeSettings) -> dict[str, JSON]:
    """What verdicts follow from besides the question and the secret. It may build the executor's runtime."""
    return {
        "code": sources_digest(*_packages(plugins)),
        "plugins": sorted([info.name, info.version] for info in plugins.installed),
        "arithmetic": {name: version(name) for name in _ARITHMETIC},
        "python": platform.python_version(),
        "architecture": platform.machine(),
        "executor": {"name": executor.name, **dict(executor.describe())},
        "sandbox": executor.sandbox_level() if isinstance(executor, Confining) else "",
        # The seed is in the address already, as part of what was asked.
        "settings": to_json(replace(settings, seed=0)),
    }


def _packages(plugins: Plugins) -> list[Path]:
    """The folders of the harness and of every plugin that has a say in a verdict."""
    registries = (plugins.executors, plugins.strategies, plugins.checkers, plugins.guards, plugins.metrics)
    roots = {root for registry in registries for root in _roots(registry.values())} | {"npukernelbench"}
    return [folder for root in sorted(roots) if (folder := _folder(root)) is not None]


def _roots(registrations: Iterable[Registration]) -> Iterator[str]:
    for registration in registrations:
        target = registration.target
        module = target if isinstance(target, str) else getattr(target, "__module__", type(target).__module__)
        yield module.partition(":")[0].partition(".")[0]


def _folder(package: str) -> Path | None:
    # Of a top-level name this imports nothing.
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec else []
    return Path(places[0]) if places else None
