"""Installing operator packages: where they go, what a process needs to find them, and what an installer that refused
means.

A package goes into an empty folder of its own, so there is nothing to ask about, nothing of the toolkit's changes, and
its own place is before every other. ``docs/npu.md`` names the pages. Not yet run with a toolkit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from npukernelbench.errors import ToolchainError
from npukernelbench.nouns import Diagnostic, Severity

__all__ = ["INSTALL_S", "LIBRARY", "installs", "lacking", "libraries_of", "refused", "step", "undefined", "unwritable"]

#: An installer gets this long, whatever a build has left: an answer's slow build is not the installer's fault.
INSTALL_S = 60.0
#: What was installed: below ``vendors/NAME`` or below ``NAME``, as pages differ.
LIBRARY = "installed/**/op_api/lib/libcust_opapi.so"
_INSTALLER = "custom_opp_*.run"
_TAIL = 2000
_UNDEFINED = re.compile(r"undefined symbol: (\w+)")
_ASKS = ("has old version in", "please enter")
_DENIED = ("sufficient permissions", "permission denied", "read-only file system", "no space left")
_CREATE = re.compile(r"\[ERROR\] create \S+ failed")
_SAYS_WHY = "npukb doctor --npu says what is missing; docs/npu.md names what installing needs"


def step(folder: str) -> tuple[str, ...]:
    """The step of a build that installs what lies in ``folder``. The place is absolute, as it has to be."""
    return (f"{folder}/{_INSTALLER}", "--install-path={work}/installed")


def installs(words: Sequence[str]) -> bool:
    """Whether a step of a build is an installer."""
    return PurePath(words[0]).name == _INSTALLER


def libraries_of(package: Path | None) -> tuple[str, ...]:
    """Where the libraries of an installed package lie, for the linker."""
    return () if package is None else (str(package / "op_api/lib"),)


def undefined(output: str) -> Diagnostic | None:
    """What an answer left out: installers try to load a package's libraries."""
    symbol = _UNDEFINED.search(output)
    if symbol is None:
        return None
    return Diagnostic(
        Severity.ERROR,
        "compile",
        f"undefined symbol: {symbol[1]}: a library of the operator's package cannot be loaded",
        remedy="Define every function that the host code calls, or leave the call out.",
    )


def lacking(words: Sequence[str]) -> ToolchainError:
    """The build ended well and made no package."""
    return ToolchainError(f"the build ended well but made no package {words[0]}", remedy=_SAYS_WHY)


def refused(installer: Path, output: str, *, timed_out: bool, machine: str) -> ToolchainError:
    """Why a package was not installed. None of this is an answer's doing."""
    said = output.strip()[-_TAIL:]
    lower = output.lower()
    # before the time-out: a question that nobody answers may end in one
    if any(words in lower for words in _ASKS):
        return ToolchainError(
            f"the installer asks what to do with a package that is already there: {said}",
            remedy="remove the folder of builds: npukb doctor --npu names it",
        )
    if any(words in lower for words in _DENIED) or _CREATE.search(output):
        return unwritable(f"the installer may not write: {said}")
    if timed_out:
        return ToolchainError(f"the installer {installer.name} did not end in time: {said}", remedy=_SAYS_WHY)
    if not installer.stem.endswith(f"_{machine}") or "glibc" in lower:  # custom_opp_SYSTEM_ARCHITECTURE.run
        return ToolchainError(
            f"the package is for another machine ({installer.name}) than this one ({machine}): {said}",
            remedy="build with compilers for this machine: look at CC, CXX and PATH for a cross compiler",
        )
    return ToolchainError(f"the installer {installer.name} refused the package: {said}", remedy=_SAYS_WHY)


def unwritable(message: str) -> ToolchainError:
    """Builds, and the packages in them, have no place."""
    return ToolchainError(
        message,
        remedy="give a folder of builds that you may write, and that has room: --executor_args cache_dir=FOLDER",
    )
