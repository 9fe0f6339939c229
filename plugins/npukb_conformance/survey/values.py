"""What the kernels of a survey compute, compared with the right answer where there is one.

There is one where our task of the operator's name has its interface, and where the project's own script
(``gen_data.py``) writes inputs and right outputs. An operator project says itself how its kernel is launched;
a project that launches says it in ``launch.yaml``. All other kernels are not run, and the reason is given.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from npukb_conformance.checkout import Operator, Variant
from npukb_conformance.dispatch import Dispatch, Rule, as_judged, load_dispatch, with_limits
from npukb_conformance.record import Records
from npukb_conformance.scale import Scaled, elements, whole
from npukb_conformance.sitting import Planned, sit
from npukb_conformance.verified import Verification, load_verification
from npukb_suites.definitions import interface_of
from npukb_suites.fresh import write_folder
from npukb_suites.recorded.drafting import recorded_task
from npukb_suites.recorded.matching import Interface
from npukb_suites.recorded.reading import read_records
from npukb_twin.operator.interface import bind
from npukernelbench.errors import NpukbError
from npukernelbench.generate.extract import candidate_of
from npukernelbench.generate.includes import defined_operators
from npukernelbench.nouns import LAUNCH_FILE, Diagnostic, Outcome, Owner, Severity, Task, Track, Verdict
from npukernelbench.tasks.load import load_task

if TYPE_CHECKING:
    from npukb_twin.operator.host_types import OperatorDescription
    from npukernelbench.judge.executor import Executor
    from npukernelbench.judge.pipeline import Judge
    from npukernelbench.tasks import TaskRegistry

__all__ = ["Answer", "Comparing", "Values", "not_run", "of_another"]

_NAME = "gen_data.py"
_INTERFACE = re.compile(r"\b(?P<name>aclnn\w+)GetWorkspaceSize\s*\([^;{}]*\)\s*\{")
#: Outcomes of a kernel that did not get as far as to compute something.
_UNTRIED = frozenset(
    {Outcome.COMPILE_ERROR, Outcome.GUARD_REJECTED, Outcome.LAUNCH_ERROR, Outcome.NO_CODE, Outcome.SKIPPED}
)


class Answer(str, Enum):
    """How values compare with the right ones."""

    RIGHT = "right"
    WRONG = "wrong"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class Values:
    """What came of one operator, which may have no name. ``said`` is why it is not right, or what made it so;
    ``against`` is what its values were compared with.
    """

    answer: Answer
    said: str = ""
    operator: str = ""
    against: str = ""

    def __str__(self) -> str:
        head = " ".join(filter(None, (self.operator, self.answer.value)))
        tail = f" ({self.against})" if self.against else ""
        return f"{head}{tail}: {self.said}" if self.said else f"{head}{tail}"


def not_run(why: str, operator: str = "") -> Values:
    """A kernel that nothing can be said of."""
    return Values(Answer.NOT_RUN, why, operator)


@dataclass(frozen=True)
class Comparing:
    """Runs kernels and compares. ``judge`` makes a judge of an executor."""

    tasks: TaskRegistry
    executor: Executor
    judge: Callable[[Executor], Judge]

    def operator(self, root: Path, files: Mapping[str, str], description: OperatorDescription) -> Values:
        """The operator of a project, by our task of its name, else by the data of its script."""
        name = description.name
        task = self.tasks.get(name)
        unfit = bind(description, task, files) if task is not None else ()
        own = {path: text for path, text in files.items() if not of_another(name, path, text)}
        if task is not None and not isinstance(unfit, tuple):
            return self._by_task(name, task, own)
        script = _script(root)
        said = f"it differs from our task: {unfit[0].message}" if isinstance(unfit, tuple) and unfit else ""
        if script is None:
            return not_run(said or f"there is no task of that name, and no {_NAME}", name)
        told = self._by_script(
            name, script, lambda: Interface(*interface_of(description, root)[1:], name), own, Track.DYNAMIC, root
        )
        # A wrong result counts against a kernel only where nothing stands between the script's tensors and it.
        if told.answer is Answer.WRONG and (between := _written_interface(root)):
            return not_run(
                f"{between}, may change tensors before the kernel gets them; with those as they are, {told.said}", name
            )
        return replace(told, said=f"{told.said}; {said}") if said and told.answer is Answer.NOT_RUN else told

    def launching(self, root: Path, files: Mapping[str, str]) -> Values:
        """A project whose host function launches."""
        place, script = root / LAUNCH_FILE, _script(root)
        if not place.is_file():
            return not_run(f"no {LAUNCH_FILE} says what its function is called with")
        if script is None:
            return not_run(f"there is no {_NAME}")
        own = {**files, LAUNCH_FILE: place.read_text(encoding="utf-8")}
        return self._by_script("", script, Interface, own, Track.LAUNCH, root)

    def _by_task(self, name: str, task: Task, files: Mapping[str, str]) -> Values:
        """The smallest case that reaches the kernel, under the rules of conformance.

        Smoke cases have odd sizes, which kernels may refuse: they count where there are no others. Where NPUKernelBench
        sends its own kernel no case, another repository's may still be right: it gets the case as it is.
        """
        dispatch = load_dispatch()
        rule = dispatch.rule(task.name)
        regular = [case for case in task.cases if set(case.profiles) != {"smoke"}]
        sent = dispatch.send(task, regular or task.cases)
        if not sent.cases:
            dispatch, rule = Dispatch({}), Rule()
        case = as_judged(task, min(sent.cases or regular or task.cases, key=elements), rule)
        task = with_limits(replace(task, cases=(case.case,)), rule)
        told = self._sat(name, f"task {task.name}:{case.case.id}", task, (case,), files, dispatch, load_verification())
        if sent.cases or told.answer is Answer.RIGHT:
            return told
        why = next(iter(sent.kept_back.values()))
        return replace(told, said=f"{told.said}; in NPUKernelBench no case reaches its kernel: {why}")

    def _sat(
        self,
        name: str,
        against: str,
        task: Task,
        cases: tuple[Scaled, ...],
        files: Mapping[str, str],
        dispatch: Dispatch,
        verification: Verification,
    ) -> Values:
        """The first case that is not right, else one that is so under conditions only, as conformance finds it."""
        planned = Planned(Operator(name, task.level, task.category, Path()), task, candidate_of(files), cases)
        with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
            [result] = sit(
                [planned],
                judge=self.judge,
                dispatch=dispatch,
                verification=verification,
                executor=self.executor,
                records=Records(Path(work) / "records.jsonl"),
                variant=Variant.ANSWER,
            )
        if not result.cases:
            assert result.compiled is not None
            return _told(name, against, result.compiled.verdict)
        # False sorts first: a miss, then what passed under conditions.
        record = min(result.cases, key=lambda record: (record.passed, not record.conceded))
        if record.passed and record.conceded:
            return Values(Answer.RIGHT, f"under the conditions {record.conceded} only", name, against)
        return _told(name, against, record.verdict)

    def _by_script(
        self,
        name: str,
        script: tuple[Path, str],
        interface: Callable[[], Interface],
        files: Mapping[str, str],
        track: Track,
        project: Path,
    ) -> Values:
        """What the project's script calls right. ``name`` is the operator's."""
        folder, command = script
        title = name or "Launched"
        try:
            records, notes = read_records((folder,), command, interface(), project)
            drafted = recorded_task(title, records, interface(), suite="own", summary=f"{title}.")
            with tempfile.TemporaryDirectory(prefix="npukb-survey-") as work:
                # A generator, which writes as it is read.
                list(write_folder(Path(work) / title, drafted))
                task, _ = load_task(Path(work) / title / "task.yaml")
                if track is Track.DYNAMIC:
                    cases = tuple(map(whole, task.cases))
                    told = self._sat(name, command, task, cases, files, Dispatch({}), Verification())
                else:
                    verdict = self.judge(self.executor).judge(task, task.cases, track, candidate_of(files))
                    told = _told(name, command, verdict)
        except NpukbError as error:
            return not_run(f"{command}: {error.message}", name)
        if told.answer is not Answer.WRONG or not notes:
            return told
        return replace(told, said=f"{told.said}; what the script did not tell: {', '.join(notes)}")


def _told(name: str, against: str, verdict: Verdict) -> Values:
    if verdict.outcome is Outcome.OK:
        return Values(Answer.RIGHT, "", name, against)
    untried = verdict.outcome in _UNTRIED or verdict.owner is not Owner.MODEL
    said = f"{verdict.outcome.value}: {_first(verdict)}"
    return Values(Answer.NOT_RUN if untried else Answer.WRONG, said, name, against)


def _first(verdict: Verdict) -> str:
    """What was said first, with its place."""
    every: Sequence[Diagnostic] = (*(one for case in verdict.cases for one in case.diagnostics), *verdict.diagnostics)
    error = next((one for one in every if one.severity is Severity.ERROR), None)
    if error is None:
        return verdict.meaning
    place = f"{error.file}:{error.line}: " if error.file else ""
    return f"{place}{error.message.splitlines()[0]}"


def of_another(name: str, path: str, text: str) -> bool:
    """Whether a source defines other operators: a folder may hold several. A header may define them by a macro."""
    defined = defined_operators(text) if path.endswith((".cpp", ".cc", ".cxx")) else ()
    return bool(defined) and name not in defined


def _written_interface(root: Path) -> str:
    """The function that applications call for the operator, where the project has one of its own; "" for one that is
    generated, which hands on tensors as they are.
    """
    for path in sorted(root.rglob("*aclnn*.c*")):
        match = _INTERFACE.search(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None
        if match:
            return f"{match['name']}, which {path.relative_to(root).as_posix()} defines"
    return ""


def _script(root: Path) -> tuple[Path, str] | None:
    """The project's script that writes data, and where it runs: in the project, or beside its only operator."""
    home = root.parent
    operators = [path.parent for path in home.glob("*/op_host") if path.is_dir()]
    places = (root, home) if operators == [root] else (root,)
    for place in places:
        found = min(place.rglob(_NAME), key=lambda path: (len(path.parts), path), default=None)
        if found is not None:
            # Such scripts are started from the project's folder, and write to paths relative to it.
            folder = found.parents[1] if found.parent.name in ("script", "scripts") else found.parent
            return folder, found.relative_to(folder).as_posix()
    return None
