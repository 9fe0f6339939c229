"""Kernels that the user points at: golden kernels of tasks, operators of a repository, single source files.

::

    --goldens level1:cpu      the golden kernels of tasks, by the names that ``npukb run --tasks`` takes
    PATH/to/NPUKernelBench    a checkout of that suite, on the cases that its interface sends to the kernel
    PATH/to/anything          every folder below that holds op_kernel; the task is the one it is named for, or --task
    PATH/to/kernel.cpp        one kernel of the static track, with --task

A kernel answers a task. Without a task there are no inputs and no reference, so it cannot be executed and is left out.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from kernelgen_lm.corpus.sample import files_of
from npukernelbench.errors import UsageError
from npukernelbench.generate import GenerationFault, GenerationRequest, SamplingParams, make_backend
from npukernelbench.generate.extract import candidate_of
from npukernelbench.generate.sources import read_sources
from npukernelbench.nouns import Case, Completion, Golden, Prompt, SampleKey, Task, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks.goldens import OPERATOR_FOLDERS
from npukernelbench.tasks.repository import Repository, repository_at

if TYPE_CHECKING:
    from npukernelbench.plugins import Registry
    from npukernelbench.tasks import TaskRegistry

__all__ = ["CollectedKernel", "Finder", "Writer"]

_KERNEL_SUFFIXES = frozenset({".cpp", ".cc", ".cce", ".asc"})


class CollectedKernel(NamedTuple):
    """A kernel, and the task it answers, with the cases on which it is judged.

    ``where`` says where it lies, ``source`` what it comes from: ``goldens``, ``checkout``, ``operator`` or ``file``.
    ``files`` are the kernel's where it is no golden of the task's own; an operator is made one.
    """

    task: Task
    where: str
    source: str
    files: Mapping[str, str]

    @property
    def tracks(self) -> frozenset[Track]:
        """What it can answer: a static kernel can be made out of a dynamic one, but not the other way."""
        dynamic = any(golden.track is Track.DYNAMIC for golden in self.task.goldens)
        return (
            frozenset({Track.STATIC, Track.DYNAMIC}) if dynamic and self.source != "file" else frozenset({Track.STATIC})
        )

    @property
    def derived(self) -> bool:
        """Whether its static kernels are made out of a dynamic one."""
        return self.source != "file" and all(golden.track is Track.DYNAMIC for golden in self.task.goldens)

    @property
    def hash(self) -> str:
        """Identity of kernel and task."""
        return f"{self.task.content_hash}+{candidate_of(self.files).hash}"


class Finder:
    """Finds kernels. Use it as a context: what a checkout's kernels need is laid out in a folder of its own."""

    def __init__(self, tasks: TaskRegistry, repositories: Registry, operators: Sequence[str] = ()) -> None:
        self._tasks = tasks
        self._repositories = repositories
        #: Of a checkout, by the names that ``npukb conformance --operators`` takes.
        self._operators_wanted = tuple(operators) or ("npukernelbench",)
        self._open = ExitStack()
        #: Folders that hold kernels of operators without a task.
        self.without_task: list[str] = []

    def goldens(self, expressions: Sequence[str]) -> Iterator[CollectedKernel]:
        """The golden kernels of tasks; those without one are left out."""
        for selected in self._tasks.select(expressions):
            if selected.task.goldens:
                task = replace(selected.task, cases=selected.cases)
                yield CollectedKernel(task, task.name, "goldens", {})

    def below(self, path: Path, name: str = "") -> Iterator[CollectedKernel]:
        """Everything in a file or folder; ``name`` is the task of operators not named like one. UsageError."""
        if path.is_file():
            yield self._file(path, name)
            return
        if not path.is_dir():
            raise UsageError(f"{path} does not exist", field="PATH", remedy="name a source file or a folder")
        before = len(self.without_task)
        # A list, as whether there are any is known only at the end.
        repository = repository_at(path, self._repositories)
        kernels = list(self._checkout(repository, path) if repository else self._operators(path, name))
        yield from kernels
        if not kernels and len(self.without_task) == before:
            raise UsageError(
                f"{path} holds no operator",
                field="PATH",
                remedy="name a folder with op_host and op_kernel below it, a checkout of NPUKernelBench, or a file",
            )

    def _file(self, path: Path, name: str) -> CollectedKernel:
        if not name:
            raise UsageError(
                f"{path}: what it computes is not known", field="--task", remedy="name the task it answers"
            )
        if path.suffix not in _KERNEL_SUFFIXES:
            known = ", ".join(sorted(_KERNEL_SUFFIXES))
            raise UsageError(f"{path} is no source of a kernel", field="PATH", remedy=f"endings: {known}")
        task = self._named(name)
        return CollectedKernel(task, path.name, "file", read_sources([str(path)], Track.STATIC).files)

    def _named(self, name: str) -> Task:
        if name not in self._tasks:
            raise UsageError(
                f"there is no task {name!r}", field="--task", remedy="npukb ls tasks; --include_path adds some"
            )
        return self._tasks[name]

    def _operators(self, root: Path, name: str) -> Iterator[CollectedKernel]:
        """Folders with device code, each an operator."""
        # rglob has the order of the file system, which differs between machines.
        for device in sorted(root.rglob(OPERATOR_FOLDERS[1])):
            folder = device.parent
            if not device.is_dir():
                continue
            named = name or _operator_name(folder, self._tasks)
            if not named:
                self.without_task.append(_relative(folder, root))
                continue
            files = read_sources([str(folder)], Track.DYNAMIC).files
            yield self._operator(self._named(named), _relative(folder, root), "operator", files)

    def _checkout(self, repository: Repository, root: Path) -> Iterator[CollectedKernel]:
        """Operators of a repository that a plugin can read."""
        wanted = self._tasks.select(self._operators_wanted)
        for kernel in repository.kernels(root, self._tasks, wanted):
            yield self._operator(kernel.task, _relative(kernel.folder, root), "checkout", kernel.candidate.files)

    def _operator(self, task: Task, where: str, source: str, files: Mapping[str, str]) -> CollectedKernel:
        """The task with the operator as its golden kernel."""
        folder = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="kernelgen-operator-")))
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            # As it was read: bytes that are no UTF-8 must reach the judge unchanged.
            path.write_text(text, encoding="utf-8", errors="surrogateescape")
        return CollectedKernel(replace(task, goldens=(Golden(Track.DYNAMIC, folder),)), where, source, files)

    def __enter__(self) -> Finder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()


class Writer:
    """What a found kernel's answer is: the harness's own reference backend writes golden kernels for a case.

    It specialises a golden of the static track, and derives a static kernel from one of the dynamic track by running
    its tiling function. Use it as a context.
    """

    def __init__(self, plugins: Plugins) -> None:
        self._backend = make_backend(plugins.backends.find("reference"), {})

    def files(self, kernel: CollectedKernel, case: Case | None) -> Mapping[str, str] | str:
        """The candidate's files for a case, or all cases (None); a text says why there are none."""
        if kernel.source == "file":
            return kernel.files if case is not None else "a single source is no answer of the dynamic track"
        track = Track.DYNAMIC if case is None else Track.STATIC
        key = SampleKey(kernel.task.name, case.id if case else "", track, 0)
        task = replace(kernel.task, content_hash=kernel.hash)  # the backend remembers operators by it
        request = GenerationRequest(key, task, case, Prompt((), "", ""), SamplingParams(), 0)
        answer = asyncio.run(self._ask(request))
        return answer.message if isinstance(answer, GenerationFault) else files_of(answer.text)

    async def _ask(self, request: GenerationRequest) -> Completion | GenerationFault:
        async for result in self._backend.generate_many([request]):
            return result.answer
        return GenerationFault("the backend gave no answer")

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run(self._backend.close())


def _operator_name(folder: Path, tasks: TaskRegistry) -> str:
    """The task that the folder, or the nearest one above it, is named for."""
    return next((part for part in reversed(folder.parts[-3:]) if part in tasks), "")


def _relative(path: Path, root: Path) -> str:
    return path.name if path == root else path.relative_to(root).as_posix()
