"""Kernels lowered from tile programs beside kernels written by hand for the same operator, on the twin.

    python -m benchmarks.tile.comparison [--write FILE] [OPERATOR...]

Programs are those of :mod:`benchmarks.tile.programs`. Both sides answer the dynamic track and are judged on the same
public cases. Times are predicted and summed over the cases.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import geometric_mean
from typing import NamedTuple

from benchmarks.tile.programs import PROGRAMS
from benchmarks.tile.remarks import REMARKS
from benchmarks.tile.written import Written
from npukb_tile.lowering import lower_dynamic
from npukb_tile.parse import parse_program
from npukernelbench.generate import candidate_of
from npukernelbench.judge.executor import make_executor
from npukernelbench.judge.pipeline import Judge, JudgeSettings
from npukernelbench.nouns import Case, Golden, Outcome, Presence, Task, TensorCase, Track
from npukernelbench.plugins import Plugins
from npukernelbench.tasks import load_registry
from npukernelbench.tasks.goldens import read_golden

#: Cases of one operator, the largest first, and elements that they may have.
_MOST_CASES = 3
_MOST_ELEMENTS = 4_000_000
#: Attributes of types that the language has not.
_SETTERS = {"str": 'String("")', "list_int": "ListInt({})", "list_float": "ListFloat({})"}


class Row(NamedTuple):
    """One operator: predicted time of both kernels, lines of the program and of what it is lowered to."""

    operator: str
    cases: tuple[str, ...]
    hand_us: float
    lowered_us: float
    program_lines: int
    lowered_lines: int
    hand_lines: int

    @property
    def ratio(self) -> float:
        """Above 1 the lowered kernel is slower."""
        return self.lowered_us / self.hand_us


def main(arguments: list[str]) -> int:
    """Print the table, or write it into a file."""
    file = Path(arguments.pop(arguments.index("--write") + 1)) if "--write" in arguments else None
    names = [name for name in arguments if name != "--write"] or list(PROGRAMS)
    plugins = Plugins.load()
    tasks = load_registry(plugins)
    executor = make_executor(plugins.executors.find("twin"), {})
    # Right kernels are not run again: only their predicted time is asked for.
    judge = Judge.of(executor, plugins, JudgeSettings(repeats=0))
    rows = []
    try:
        for name in names:
            rows.append(compare(judge, tasks[name], PROGRAMS[name]))
            print(line(rows[-1]), flush=True)
    finally:
        executor.close()
    if file is not None:
        file.write_text(page(rows), encoding="utf-8")
    return 0


def compare(judge: Judge, task: Task, written: Written) -> Row:
    """Both kernels of one operator."""
    cases = chosen(task, written)
    golden = next(candidate for candidate in task.goldens if candidate.track is Track.DYNAMIC)
    hand = read_golden(golden)
    files = defined(task, lower_dynamic(parse_program(written.source)).files)
    return Row(
        operator=task.name,
        cases=tuple(case.id for case in cases),
        hand_us=time_us(judge, task, cases, hand),
        lowered_us=time_us(judge, task, cases, files),
        program_lines=lines(written.source),
        lowered_lines=lines(*files.values()),
        hand_lines=own(golden),
    )


def defined(task: Task, files: Mapping[str, str]) -> dict[str, str]:
    """The files, with what the language has no words for in the definition: texts, lists, inputs that may be absent.

    A program does not read such an attribute; it is for cases that have one value of it.
    """
    # The lowering writes this line behind the inputs, outputs and attributes of the definition.
    asked = "        this->SetInferShape("
    words = "".join(
        f'        this->Attr("{spec.name}").AttrType(OPTIONAL).{_SETTERS[spec.type]};\n'
        for spec in task.attributes
        if spec.type in _SETTERS
    )
    changed = {name: text.replace(asked, words + asked) for name, text in files.items()}
    for spec in task.inputs:
        if spec.presence is Presence.OPTIONAL:
            slot = f'this->Input("{spec.name}")\n            .ParamType('
            changed = {name: text.replace(f"{slot}REQUIRED", f"{slot}OPTIONAL") for name, text in changed.items()}
    return changed


def chosen(task: Task, written: Written) -> tuple[Case, ...]:
    """The largest public cases that a program is for, as far as they can be afforded."""
    fitting = [case for case in task.cases if 0 < elements(case) <= _MOST_ELEMENTS and fits(task, case, written)]
    return tuple(sorted(fitting, key=lambda case: (-elements(case), case.id))[:_MOST_CASES])


def fits(task: Task, case: Case, written: Written) -> bool:
    """Whether a program is for a case: element types, attributes, optional inputs, sizes."""
    optional = {spec.name for spec in task.inputs if spec.presence is Presence.OPTIONAL}
    given = {name for name in optional if case.inputs.get(name) is not None}
    return (
        (not written.types or element_type(case) in written.types)
        and all(case.attributes.get(name) == value for name, value in written.attributes.items())
        and (written.given is None or given == set(written.given))
        and all(_size(case, name) <= most for name, most in written.sizes.items())
    )


def _size(case: Case, name: str) -> int:
    given = case.inputs[name]
    return given.tensor.size if isinstance(given, TensorCase) else 0


def element_type(case: Case) -> str:
    """The element type of the largest input."""
    tensors = [item.tensor for item in case.inputs.values() if isinstance(item, TensorCase)]
    return max(tensors, key=lambda tensor: tensor.nbytes).dtype.value


def elements(case: Case) -> int:
    """Elements of all inputs."""
    return sum(item.tensor.size for item in case.inputs.values() if isinstance(item, TensorCase))


def time_us(judge: Judge, task: Task, cases: tuple[Case, ...], files: Mapping[str, str]) -> float:
    """The predicted time over all cases. A kernel that is not right has none, and stops the comparison."""
    verdict = judge.judge(task, cases, Track.DYNAMIC, candidate_of(files))
    if verdict.outcome is not Outcome.OK:
        said = [
            str(diagnostic) for diagnostic in (*verdict.diagnostics, *(d for c in verdict.cases for d in c.diagnostics))
        ]
        raise SystemExit(f"{task.name}: {verdict.outcome.value}: {said[:3]}")
    return verdict.metrics["predicted_time_us"]


def lines(*texts: str) -> int:
    """Lines that are not empty."""
    return sum(bool(line.strip()) for text in texts for line in text.splitlines())


def own(golden: Golden) -> int:
    """Lines of a golden kernel's own files; what it shares with its category counts for none."""
    return lines(*(path.read_text(encoding="utf-8") for path in golden.path.rglob("*") if path.is_file()))


def line(row: Row) -> str:
    """One row for a terminal."""
    return f"{row.operator:42} {row.hand_us:9.2f} {row.lowered_us:9.2f} {row.ratio:6.3f} {','.join(row.cases)}"


def page(rows: list[Row]) -> str:
    """The page of the documentation."""
    return "\n".join(_page(rows)) + "\n"


_HEAD = """\
# Lowered and written by hand

`python -m benchmarks.tile.comparison --write docs/tile_comparison.md` writes this page. Every operator here has a
golden kernel written by hand and a program in the [tile language](tile.md). Both answer the dynamic track and are
right on the cases named: the largest affordable ones of the public cases that the program supports. A program may
support less than its operator: fewer element types, shorter rows, one value of an attribute, one choice of optional
inputs. The language cannot express text attributes and optional inputs; the comparison adds them to the operator's
definition. Times are predicted by the twin (ascend910b2), in µs, and summed over the cases; none is measured. A ratio
below 1 means that the lowered kernel is faster. Empty lines are not counted, and neither are the headers that golden
kernels of a category share.

{within} of {all} lowered kernels take at most 1.1 times as long; the geometric mean of the ratios is {mean:.3f}. A line
of a program is {shorter:.1f} lines of Ascend C.

Three groups are not compared: operators on lists of tensors (foreach), which the language cannot express, products of
matrices, and operators whose golden kernel has no program beside it yet.

| operator | cases | by hand | lowered | ratio | lines of the program | lines lowered | own lines by hand |
|---|---|---:|---:|---:|---:|---:|---:|
"""


def _page(rows: list[Row]) -> Iterator[str]:
    yield _HEAD.format(
        within=sum(row.ratio <= 1.1 for row in rows),
        all=len(rows),
        mean=geometric_mean([row.ratio for row in rows]),
        shorter=sum(row.lowered_lines for row in rows) / sum(row.program_lines for row in rows),
    ).rstrip()
    for row in sorted(rows):
        yield (
            f"| {row.operator} | {', '.join(row.cases)} | {row.hand_us:.2f} | {row.lowered_us:.2f} | {row.ratio:.3f} "
            f"| {row.program_lines} | {row.lowered_lines} | {row.hand_lines} |"
        )
    slower = [row for row in sorted(rows) if row.ratio > 1.1]
    if slower:
        yield "\n## Slower by more than a tenth\n"
    for row in slower:
        yield f"- **{row.operator}** ({row.ratio:.2f}): {REMARKS.get(row.operator, 'not looked into yet')}."


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
