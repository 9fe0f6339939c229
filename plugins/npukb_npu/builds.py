"""Building generated projects with the vendor's toolkit: confined, several at a time, kept by content.

A build has folders of its own for everything the toolkit would write elsewhere. What failed is not kept. Errors that
the compiler reports are the candidate's; a build that fails without one is a fault of the toolkit or of ours. Not yet
run with a toolkit.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from npukb_npu import packages
from npukb_npu.confine import Reach, wrap
from npukb_npu.discovery import Site
from npukb_npu.process import Finished, run
from npukernelbench.errors import ToolchainError
from npukernelbench.nouns import Diagnostic, Outcome, Severity

__all__ = ["SHARED_MEMORY", "Builder", "Failure", "environment_for", "parse_errors"]

_FILE_BYTES = 4 << 30
_TAIL = 2000
_PASSED_ON = (
    "PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "CMAKE_PREFIX_PATH", "LANG", "LC_ALL",
    "TOOLCHAIN_HOME", "BISHENG_INSTALL_PATH",
)  # fmt: skip
# Other tools put words of their own in front of the path, on the same line.
_MESSAGE = re.compile(
    r"(?<!\S)(?P<file>[^\s:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<severity>fatal error|error): (?P<message>.+)$",
    re.MULTILINE,
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_CMAKE_ERROR = re.compile(r"^CMake Error at .*\(message\):\n(?P<text>(?:(?:  .*)?\n)+)", re.MULTILINE)
_LAUNCHERS = ("launcher.asc", "launcher.cpp")
_REMEDY = "Run npukb judge --executor twin --compile_only: it explains most of what compilers say."
SHARED_MEMORY = Path("/dev/shm")  # locks of Python's multiprocessing, and what a driver shares with its processes


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no artifact."""

    outcome: Outcome
    diagnostics: tuple[Diagnostic, ...]


def environment_for(
    site: Site, work: Path, package: Path | None = None, libraries: Sequence[str] = ()
) -> dict[str, str]:
    """Environment of a process of the toolkit: what the toolkit needs, and every path it writes to below ``work``.

    ``package`` is an installed operator package, ``…/vendors/NAME``: what its ``set_env.bash`` would set is set, and no
    other package of the user's is looked at. ``libraries`` are more folders for the linker.
    """
    # nothing else of the user's environment, tokens for instance, reaches what an answer runs in
    environment = {name: site.environ[name] for name in _PASSED_ON if name in site.environ}
    # the toolkit's scripts call `python3` by its name
    environment["PATH"] = os.pathsep.join((str(site.python.program.parent), environment.get("PATH", os.defpath)))
    environment |= {name: value for name, value in site.environ.items() if name.startswith("ASCEND_")}
    # NumPy starts a thread per core when it is imported, which wait by spinning; nothing here multiplies matrices
    environment["OPENBLAS_NUM_THREADS"] = "1"
    environment["ASCEND_CUSTOM_OPP_PATH"] = str(package or "")
    if site.home is not None:
        environment["ASCEND_HOME_PATH"] = str(site.home)
        environment.setdefault("ASCEND_OPP_PATH", str(site.home / "opp"))
    searched = (*packages.libraries_of(package), *libraries, environment.get("LD_LIBRARY_PATH", ""))
    if any(searched):
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, searched))
    private = {
        "HOME": work / "home",
        "TMPDIR": work / "tmp",
        "ASCEND_PROCESS_LOG_PATH": work / "log",
        "ASCEND_CACHE_PATH": work / "cache",
        "ASCEND_WORK_PATH": work / "work",
        "ASCENDC_BUILD_LOG_DIR": work / "log",
    }
    for folder in private.values():
        folder.mkdir(parents=True, exist_ok=True)
    return environment | {name: str(folder) for name, folder in private.items()}


class Builder:
    """Builds projects for one toolkit. Safe to call from several threads and processes."""

    def __init__(self, site: Site, cache: Path, *, confined: bool, threads: int) -> None:
        self._site, self._cache, self._confined, self._threads = site, cache.absolute() / "npu", confined, threads

    def key(self, project: Mapping[str, str], steps: Sequence[Sequence[str]]) -> str:
        """Content hash of everything that decides a build: homes are shared by machines, and builds are not."""
        # a toolkit that was replaced in the same folder has another version
        parts = [self._site.version, str(self._site.home), str(self._site.compiler), *self._site.system]
        parts += [word for step in steps for word in step]
        parts += [part for name in sorted(project) for part in (name, project[name])]
        return sha256("\0".join(parts).encode("utf-8", errors="surrogatepass")).hexdigest()

    def build(
        self, project: Mapping[str, str], steps: Sequence[Sequence[str]], product: str, timeout_s: float
    ) -> tuple[Path, str] | Failure:
        """The folder of a finished build and its key. ``steps`` run one after the other in the project's folder;
        ``product`` is a glob for what has to be there at the end. ToolchainError for what is not the candidate's fault.
        """
        key = self.key(project, steps)
        done = self._cache / key
        if any(done.glob(product)):
            return done, key
        work = self._work(key)
        try:
            for name, text in project.items():
                path = work / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
                # CMake calls the host compiler, which is such a script, as a program
                if text.startswith("#!"):
                    path.chmod(0o755)
            failure = self._steps(work, steps, time.monotonic() + timeout_s, project)
            if failure is not None:
                return failure
            if not any(work.glob(product)):
                raise ToolchainError(f"the build ended well but left no {product}", remedy="see docs/npu.md")
            self._keep(work, done, product)
            return done, key
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _work(self, key: str) -> Path:
        try:
            self._cache.mkdir(parents=True, exist_ok=True)
            # in the cache itself: the rename at the end does not cross file systems
            return Path(tempfile.mkdtemp(prefix=f".{key[:12]}-", dir=self._cache))
        except OSError as error:
            raise packages.unwritable(f"builds cannot be written to {self._cache}: {error.strerror}") from error

    def _steps(
        self, work: Path, steps: Sequence[Sequence[str]], deadline: float, project: Mapping[str, str]
    ) -> Failure | None:
        environment = environment_for(self._site, work / "private")
        for step in steps:
            left = deadline - time.monotonic()
            if left > 0 and packages.installs(step):
                notes = self._install(step, work, environment, max(left, packages.INSTALL_S))
                if notes:
                    return Failure(Outcome.COMPILE_ERROR, notes)
                continue
            finished = self._run(step, work, environment, left) if left > 0 else None
            if finished is None or finished.timed_out:
                note = Diagnostic(Severity.ERROR, "compile", f"'{step[0]}' did not end in time")
                return Failure(Outcome.TIMEOUT, (note,))
            if finished.returncode:
                # the exit code does not tell an answer's error from a fault of the toolkit
                errors = tuple(parse_errors(finished.output, work, project))
                if errors:
                    return Failure(Outcome.COMPILE_ERROR, errors)
                raise ToolchainError(
                    f"'{' '.join(step)}' failed with {finished.returncode} and no compiler error: "
                    f"{finished.output[-_TAIL:].strip()}",
                    remedy="npukb doctor --executor npu; docs/npu.md names what a build needs",
                )
        return None

    def _install(
        self, step: Sequence[str], work: Path, environment: Mapping[str, str], wall_s: float
    ) -> tuple[Diagnostic, ...]:
        """What of the answer keeps its package from being installed; ToolchainError for every other reason."""
        installer = Path(_program(step[0], work))
        if not installer.is_file():
            raise packages.lacking(step)
        finished = self._run(step, work, environment, wall_s)
        if not finished.returncode and not finished.timed_out:
            return ()
        if note := packages.undefined(finished.output):
            return (note,)
        raise packages.refused(installer, finished.output, timed_out=finished.timed_out, machine=self._site.machine)

    def _run(self, step: Sequence[str], work: Path, environment: Mapping[str, str], wall_s: float) -> Finished:
        command = [word.replace("{jobs}", str(self._threads)).replace("{work}", str(work)) for word in step]
        command[0] = _program(command[0], work)
        if self._confined:
            read = tuple(
                folder for folder in (self._site.home, self._site.root / "usr/local/Ascend") if folder is not None
            )
            folders = (Path(__file__).parents[1], *read, *self._site.python.folders)
            reach = Reach(read=folders, change=(work, SHARED_MEMORY))
            command = list(wrap(command, reach, file_bytes=_FILE_BYTES, cpu_s=int(wall_s * self._threads * 2) + 10))
            environment = {**environment, "PYTHONPATH": _python_path(environment)}
        return run(command, work=work, environment=environment, wall_s=wall_s)

    def _keep(self, work: Path, done: Path, product: str) -> None:
        """Move a finished build to its place; another process may have been first, or have left half a build there."""
        # logs and caches of the toolkit are of no use to later runs
        shutil.rmtree(work / "private", ignore_errors=True)
        try:
            work.rename(done)
        except OSError:
            if any(done.glob(product)):
                return
            shutil.rmtree(done, ignore_errors=True)
            work.rename(done)


def _program(name: str, work: Path) -> str:
    """A program of the build itself, whose name is only known by a pattern; others as they are."""
    matches = sorted(work.glob(name)) if "*" in name else []
    return str(matches[0]) if matches else name


def _python_path(environment: Mapping[str, str]) -> str:
    """The folders from which this package was imported, before what was there."""
    import npukernelbench

    own = (str(Path(__file__).parents[1]), str(Path(npukernelbench.__file__).parents[1]))
    return os.pathsep.join((*own, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))))


def parse_errors(output: str, work: Path, project: Mapping[str, str]) -> Iterator[Diagnostic]:
    """Errors of the compiler, at places in the candidate's files where they are there. Each message once."""
    seen: set[tuple[str, str, str]] = set()
    for match in _MESSAGE.finditer(_unwrapped(_COLOUR.sub("", output))):
        name = _own_name(match["file"], work, project)
        key = (name, match["line"], match["message"])
        # host code is compiled once for each library of the package that holds it
        if key in seen:
            continue
        seen.add(key)
        # a line of generated code would tell the author nothing
        inside = bool(name) and name not in _LAUNCHERS
        yield Diagnostic(
            Severity.ERROR,
            "compile",
            match["message"].strip(),
            file=name.removeprefix("candidate/") if inside else "",
            line=int(match["line"]) if inside else 0,
            column=int(match["column"] or 0) if inside else 0,
            remedy=_REMEDY,
        )


def _unwrapped(output: str) -> str:
    """``output`` with the texts of CMake's messages as they were before CMake indented and wrapped them: host code is
    compiled while a project is configured, and what the compiler says comes in such a message.

    A line of the text becomes a paragraph, unless it began with a space: then it is kept, two columns to the right.
    """

    def plain(message: re.Match[str]) -> str:
        lines: list[str] = []
        joined = False
        for line in message["text"].splitlines():
            text = line[2:]
            kept = not text or text.startswith(" ")
            if joined and not kept:
                lines[-1] += f" {text}"
            else:
                lines.append(text)
            joined = not kept
        return "\n".join(lines) + "\n"

    return _CMAKE_ERROR.sub(plain, output)


def _own_name(file: str, work: Path, project: Mapping[str, str]) -> str:
    """Name of a file in the project; empty for the toolkit's."""
    path = Path(file)
    if path.is_absolute():
        try:
            # resolved: in older projects compilers name a link to the answer's file
            name = str(PurePosixPath(path.resolve().relative_to(work.resolve())))
        except ValueError:
            return ""
    else:
        name = os.path.normpath(file)
    return name if name in project else ""
