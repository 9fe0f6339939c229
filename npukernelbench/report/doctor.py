"""Examining an installation: one finding per thing a run needs, each with its remedy when it is not well.

Nothing is built, downloaded or written unless the executor is to be tried out. Whatever an examined part raises becomes
a finding: a broken part must not hide the state of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from npukernelbench.errors import NpukbError
from npukernelbench.judge.automatic import AUTO, choose
from npukernelbench.judge.beaten import Faults
from npukernelbench.judge.executor import Diagnosable, Finding, FindingStatus, Trying, make_executor
from npukernelbench.nouns.codec import to_json
from npukernelbench.plugins.registry import canonical

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.nouns import Task
    from npukernelbench.plugins import Plugins
    from npukernelbench.plugins.registry import Registration

__all__ = ["Examination", "Section", "examination_json", "examine"]

_OLDEST_PYTHON = (3, 10)


class Installation(Protocol):
    """What is examined."""

    @property
    def config(self) -> Config:
        """The resolved configuration."""
        ...

    @property
    def plugins(self) -> Plugins:
        """What is installed."""
        ...

    @property
    def tasks(self) -> Mapping[str, Task]:
        """Every task by name."""
        ...


class Section(NamedTuple):
    """Findings under one heading."""

    title: str
    findings: tuple[Finding, ...]


class Examination(NamedTuple):
    """All sections, and whether the default executor can work."""

    sections: tuple[Section, ...]
    usable: bool


def examine(
    installation: Installation, *, trying: bool = False, say: Callable[[str], None] = lambda _: None
) -> Examination:
    """Look at everything. The executor of the configuration decides whether the installation is usable. With
    ``trying`` it is also tried out where nothing is missing: something small is built and run, and ``say`` is told what
    is waited for.
    """
    config, plugins = installation.config, installation.plugins
    name = _default(plugins, config)
    # Every executor is examined, also those that this run would not use: a user may be about to choose one.
    executors = {
        # The configured arguments are meant for the default executor; others may not know them.
        r.name: tuple(_executor(r, config.executor_args if r.name == name else {}))
        for r in plugins.executors.values()
    }
    chosen = tuple(_guard("executor", lambda: [_found_executor(config, plugins)]))
    default = executors.get(name, ())
    sections = [
        Section("harness", tuple(_harness())),
        Section("tasks", tuple(_guard("tasks", lambda: [_tasks(installation)]))),
        Section("plugins", tuple(_plugins(plugins))),
        *(Section(f"executor {name}", findings) for name, findings in executors.items()),
        Section("backends", tuple(finding for r in plugins.backends.values() for finding in _backend(r))),
        Section("folders", tuple(_folders(config))),
        *_time_model(config),
    ]
    problems = [finding for finding in (*chosen, *default) if finding.status is FindingStatus.PROBLEM]
    if trying and not problems:
        tried = tuple(_trial(plugins.executors.find(name), config.executor_args, say))
        # In front of the executors. The choice of one goes in last, so that it stands before its trial.
        sections.insert(3, Section(f"trial of {name}", tried))
        problems += [finding for finding in tried if finding.status is FindingStatus.PROBLEM]
    if config.executor == AUTO or any(finding.status is FindingStatus.PROBLEM for finding in chosen):
        sections.insert(3, Section("default executor", chosen))
    return Examination(tuple(sections), usable=not problems)


def examination_json(examination: Examination) -> dict[str, object]:
    """``{"usable": bool, "findings": [{"section", "name", "status", "detail", "remedy"}]}``."""
    findings = [
        {"section": section.title, **fields}
        for section in examination.sections
        for fields in map(_fields, section.findings)
    ]
    return {"usable": examination.usable, "findings": findings}


def _fields(finding: Finding) -> dict[str, Any]:
    fields = to_json(finding)
    assert isinstance(fields, dict)
    return fields


def _harness() -> Iterator[Finding]:
    import platform
    import sys

    from npukernelbench import __file__ as where
    from npukernelbench import __version__

    yield Finding("npukernelbench", FindingStatus.OK, f"{__version__} in {Path(where).parent}")
    old = sys.version_info < _OLDEST_PYTHON
    yield Finding(
        "python",
        FindingStatus.PROBLEM if old else FindingStatus.OK,
        f"{platform.python_version()} ({sys.executable})",
        "install Python 3.10 or newer" if old else "",
    )
    # A container may give the process fewer CPUs than the machine has; macOS cannot be asked.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding("platform", FindingStatus.OK, f"{platform.platform()}, {platform.machine()}, {cores} CPUs")


def _tasks(installation: Installation) -> Finding:
    tasks = installation.tasks
    if not tasks:
        return Finding("tasks", FindingStatus.PROBLEM, "there is no task", "reinstall, or give --include_path FOLDER")
    cases = sum(len(task.cases) for task in tasks.values())
    suites = ", ".join(sorted({task.suite for task in tasks.values()}))
    return Finding("tasks", FindingStatus.OK, f"{len(tasks)} tasks, {cases} cases, suites: {suites}")


def _plugins(plugins: Plugins) -> Iterator[Finding]:
    names = ", ".join(info.name for info in plugins.installed)
    yield Finding("installed", FindingStatus.OK, names)
    for plugin in plugins.quarantined:
        origin = f"{plugin.distribution} {plugin.version}".strip()
        yield Finding(
            plugin.name,
            FindingStatus.WARNING,
            f"quarantined ({origin}): {plugin.error}",
            f"see npukb plugins for the traceback; update or remove it, or leave it out with -p no:{plugin.name}",
        )


def _found_executor(config: Config, plugins: Plugins) -> Finding:
    choice = choose(plugins.executors, config.executor, config.executor_args)
    words = choice.words or f"{choice.registration.name} ({config.origin('executor')})"
    return Finding("executor", FindingStatus.OK, words)


def _default(plugins: Plugins, config: Config) -> str:
    """Name of the executor that a run would use; empty when there is none."""
    try:
        return choose(plugins.executors, config.executor, config.executor_args).registration.name
    # The name is asked for before anything is guarded, and the rest of the examination goes on without it.
    except NpukbError:
        # Why there is none is said by `_found_executor`.
        return ""


def _executor(registration: Registration, args: Mapping[str, object]) -> Iterator[Finding]:
    """What an executor says about itself; its own description when it has no diagnosis."""

    def look() -> Sequence[Finding]:
        executor = make_executor(registration, args)
        try:
            if isinstance(executor, Diagnosable):
                return list(executor.diagnose())
            facts = ", ".join(f"{name} {value}" for name, value in executor.describe().items())
            return [Finding(registration.name, FindingStatus.OK, facts or "present")]
        finally:
            # An executor may hold a process or a connection as soon as it is made.
            executor.close()

    yield from _guard(registration.name, look)


def _trial(registration: Registration, args: Mapping[str, object], say: Callable[[str], None]) -> Iterator[Finding]:
    """What trying an executor out finds; every finding up to the one that ends it."""

    def look() -> Sequence[Finding]:
        executor = make_executor(registration, args)
        try:
            if isinstance(executor, Trying):
                return list(executor.try_out(say))
            return [Finding(registration.name, FindingStatus.OK, "has nothing to try out")]
        finally:
            executor.close()

    yield from _guard(registration.name, look)


def _backend(registration: Registration) -> Iterator[Finding]:
    """Whether a backend can be imported, and whether the packages of its plugin's extra are there."""

    def look() -> Sequence[Finding]:
        registration.load()
        name, packages = _extra_of(registration)
        missing = [name for name, version in packages.items() if version is None]
        if missing:
            extra = f"pip install '{registration.distribution}[{name}]'"
            detail = f"needs {', '.join(missing)}, not installed"
            return [Finding(registration.name, FindingStatus.WARNING, detail, extra)]
        there = ", ".join(f"{name} {version}" for name, version in packages.items())
        return [Finding(registration.name, FindingStatus.OK, there or "needs no further package")]

    yield from _guard(registration.name, look, FindingStatus.WARNING)


def _extra_of(registration: Registration) -> tuple[str, dict[str, str | None]]:
    """The extra that is called like the backend or its plugin, and its packages; empty without one.

    ``kernelgen-lm:8b`` is a variant of ``kernelgen-lm``.
    """
    # The backend's own extra comes first: a plugin may bring several backends with needs of their own.
    for name in (registration.name.partition(":")[0], registration.plugin):
        if packages := _extra_packages(registration.distribution, canonical(name)):
            return canonical(name), packages
    return "", {}


def _extra_packages(distribution: str, extra: str) -> dict[str, str | None]:
    """Packages of the distribution's extra, with their installed versions, None when missing. An extra may name others
    of its distribution.
    """
    from importlib import metadata

    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirements = metadata.requires(distribution) if distribution else None
    except metadata.PackageNotFoundError:
        requirements = None
    packages: dict[str, str | None] = {}
    for text in requirements or ():
        try:
            needed = Requirement(text)
        except InvalidRequirement:
            continue
        # What is needed without any extra is none of this one's packages.
        if not needed.marker or not needed.marker.evaluate({"extra": extra}) or needed.marker.evaluate({"extra": ""}):
            continue
        if canonical(needed.name) == canonical(distribution):
            for other in needed.extras:
                packages |= _extra_packages(distribution, canonical(other))
            continue
        try:
            packages[needed.name] = metadata.version(needed.name)
        except metadata.PackageNotFoundError:
            packages[needed.name] = None
    return packages


def _folders(config: Config) -> Iterator[Finding]:
    yield _folder("cache", config.cache_dir, "set NPUKB_CACHE_DIR to a folder that can be written")
    yield _folder("output", config.output_path, "give --output_path FOLDER")


def _time_model(config: Config) -> Iterator[Section]:
    """Right kernels that were faster than the machine can be, if there are any."""
    if kept := Faults.of(config).listed():
        detail = f"{len(kept)} right kernels were predicted faster than the machine can be"
        remedy = "npukb doctor --faults lists them; please report them"
        yield Section("time model", (Finding("faults", FindingStatus.WARNING, detail, remedy),))


def _folder(name: str, folder: Path, remedy: str) -> Finding:
    """Whether a folder can be written, or made where it is not there yet."""
    # A folder that is not there yet is made in its nearest parent, so that this one's rights decide.
    nearest = next((parent for parent in (folder, *folder.absolute().parents) if parent.exists()), folder)
    # In a folder without the right to enter it no file can be made.
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        state = "can be written" if nearest == folder else "will be created"
        return Finding(name, FindingStatus.OK, f"{folder} {state}")
    why = "is not a folder" if nearest.exists() and not nearest.is_dir() else "cannot be written"
    return Finding(name, FindingStatus.PROBLEM, f"{folder}: {nearest} {why}", remedy)


def _guard(
    name: str, look: Callable[[], Sequence[Finding]], status: FindingStatus = FindingStatus.PROBLEM
) -> Iterator[Finding]:
    """Boundary: what an examined part raises is a finding about it."""
    try:
        yield from look()
    except NpukbError as error:
        place = f"{error.location}: " if error.location else ""
        yield Finding(name, status, f"{place}{error.message}", error.remedy or "")
    except Exception as error:  # noqa: BLE001  plugins may raise anything
        yield Finding(name, status, f"{type(error).__name__}: {error}", "report this to the author of the plugin")
