"""Words for the ways back from wrong elements: the instructions that made them, with values, and lines to look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from npukernelbench.judge.definitions import Line, defining_lines, storing_lines
from npukernelbench.judge.patterns import number
from npukernelbench.nouns import Diagnostic, DType, Severity, Step

__all__ = ["Way", "told"]

_STEPS = 20
_NUMBERS = 24
# Roles of steps that did not make the value: they lie beside the way back, not on it.
_RELATED = frozenset({"overwritten", "below", "above"})
_NARROW = frozenset({DType.FLOAT16, DType.BFLOAT16})


class Way(NamedTuple):
    """One watched element: where it lies, whether it is wrong, what it holds, and the steps back from it."""

    output: str
    place: tuple[int, ...]
    wrong: bool
    value: Any
    dtype: DType
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The element as a reader writes it."""
        return f"{self.output}[{', '.join(map(str, self.place))}]" if self.place else self.output

    @property
    def written(self) -> bool:
        """Whether an instruction wrote it."""
        return bool(self.steps and self.steps[0].instruction)


def told(ways: Sequence[Way], files: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """One note per way of a wrong element that differs from those before, the first with what all have in common."""
    wrong = [way for way in ways if way.wrong and way.steps]
    right = [way for way in ways if not way.wrong and way.steps]
    notes: list[Diagnostic] = []
    seen: set[tuple[tuple[str, int], ...]] = set()
    for way in wrong:
        places = tuple(_places(way.steps))
        # Elements that the same lines made would give the same note again.
        if places in seen:
            continue
        seen.add(places)
        notes.append(_note(way, right, files))
    return tuple(notes)


def _note(way: Way, right: Sequence[Way], files: Mapping[str, str]) -> Diagnostic:
    lines = list(_written(way, files) if way.written else _unwritten(way, files))
    findings = list(_findings(way, right))
    numbers = _numbers(way, files)
    if findings:
        lines += ["what stands out:", *(f"  {finding}" for finding in findings)]
    if numbers:
        lines += ["sizes, offsets and constants of these lines come from:"]
        lines += [f"  {line.file}:{line.number}: {line.text}" for line in numbers]
    first = next((step for step in way.steps if step.line), None)
    details = {
        "element": way.name,
        "lines": [[file, line] for file, line in _places(_listed(way))],
        "numbers": [[line.file, line.number] for line in numbers],
    }
    head = _headline(way)
    return Diagnostic(
        Severity.NOTE,
        "origin",
        "\n".join([head, *lines]),
        file=first.file if first else "",
        line=first.line if first else 0,
        details=details,
    )


def _headline(way: Way) -> str:
    held = _shown(way.value, way.dtype)
    if not way.written:
        return f"{way.name} = {held}: no instruction wrote it"
    last = way.steps[0]
    return f"{way.name} = {held} was written last by {last.instruction} on {_core(last)}; the way back from there:"


def _listed(way: Way) -> list[Step]:
    """The steps that are told: each line of the kernel once, and what was there before the launch."""
    chain = [step for step in way.steps if step.role not in _RELATED]
    # Backwards: of the steps of a line the one nearest to the wrong element stays.
    once = {(step.file, step.line) if step.instruction else (step.memory, step.offset): step for step in chain[::-1]}
    kept = {id(step) for step in once.values()}
    return [*(step for step in chain if id(step) in kept)][:_STEPS] + [s for s in way.steps if s.role in _RELATED]


def _written(way: Way, files: Mapping[str, str]) -> Iterator[str]:
    listed = _listed(way)
    labels = {id(step): str(position + 1) for position, step in enumerate(listed)}
    for step in listed:
        if step.role in _RELATED:
            continue
        reader = labels.get(id(way.steps[step.parent])) if step.parent >= 0 else None
        origin = f" (the {step.role} of {reader})" if reader else ""
        yield f"  {labels[id(step)]}. {_step(step)}{origin}"
        yield from _quoted(step, files)
    more = len(way.steps) - len(listed)
    if more:
        yield f"  … and {more} steps more, of the same lines or further back"
    for step in listed:
        if step.role == "overwritten" and step.instruction:
            yield f"  the place was written before, too: {_step(step)}"


def _unwritten(way: Way, files: Mapping[str, str]) -> Iterator[str]:
    words = {"below": "nearest in front of it", "above": "nearest behind it"}
    near = [step for step in way.steps if step.role in words and step.instruction]
    for step in near:
        yield f"  {words[step.role]}, at byte {step.offset} of {step.memory}, wrote {_place(step)} {step.instruction}"
        yield from _quoted(step, files)
    if not near:
        yield f"  nothing wrote to {way.output} at all; these lines store to global memory and none of them did it:"
        yield from (f"  {line.file}:{line.number}: {line.text}" for line in storing_lines(files))


def _step(step: Step) -> str:
    where = f"{step.memory} byte {step.offset}"
    if not step.instruction:
        held = "what the kernel never wrote" if step.after is None else _shown(step.after, step.dtype)
        return f"{where}: {held}, from before the launch" if step.memory != "UB" else f"{where}: {held}"
    scalar = "" if step.scalar is None else f" with the scalar {_shown(step.scalar, None)}"
    after = "?" if step.after is None else _shown(step.after, step.dtype)
    before = "" if step.before is None else f", before {_shown(step.before, step.dtype)}"
    return f"{_place(step)} {step.instruction}{scalar} on {_core(step)} left {after} at {where}{before}"


def _quoted(step: Step, files: Mapping[str, str]) -> Iterator[str]:
    lines = files.get(step.file, "").splitlines()
    if 1 <= step.line <= len(lines):
        yield f"     | {lines[step.line - 1].strip()}"


def _findings(way: Way, right: Sequence[Way]) -> Iterator[str]:
    """What the way itself shows, without what should have been."""
    steps = [step for step in way.steps if step.role not in _RELATED and step.instruction]
    # From the far end: the instruction that made the value is wanted, not those that passed it on.
    for step in reversed(steps):
        read = [other for other in way.steps if other.parent == way.steps.index(step)]
        finite = [other for other in read if isinstance(other.after, float) and _finite(other.after)]
        if isinstance(step.after, float) and not _finite(step.after) and read and len(finite) == len(read):
            yield f"{_place(step)} {step.instruction} makes {_shown(step.after, step.dtype)} of finite operands"
            break
    if way.dtype is DType.FLOAT32:
        narrow = next((step for step in reversed(steps) if step.dtype in _NARROW and step.pipe == "V"), None)
        if narrow is not None and narrow.dtype is not None:
            yield f"{_place(narrow)} {narrow.instruction} computes in {narrow.dtype.value}; the output is float32"
    unset = [step for step in way.steps if not step.instruction and step.memory == "UB" and step.role not in _RELATED]
    for step in unset[:1]:
        reader = way.steps[step.parent]
        yield f"{_place(reader)} {reader.instruction} reads UB that no instruction had written"
    elsewhere = {place for other in right for place in _places(other.steps)}
    own = [place for place in _places(way.steps) if place not in elsewhere]
    if own and elsewhere:
        named = ", ".join(f"{file}:{line}" for file, line in own)
        yield f"ways to right elements do not pass {named}"
    last, earlier = way.steps[0], next((step for step in way.steps if step.role == "overwritten"), None)
    if earlier is not None and earlier.instruction and earlier.block != last.block:
        yield f"two blocks write this element: first {_core(earlier)}, then {_core(last)}"


def _numbers(way: Way, files: Mapping[str, str]) -> list[Line]:
    places = _places(_listed(way))
    if not places:
        # Nothing wrote the element, so the lines that should have are looked at instead.
        places = [(line.file, line.number) for line in storing_lines(files)]
    own = set(places)
    setters: dict[tuple[str, int], Line] = {}
    for file, line in places:
        for defining_line in defining_lines(files, file, line):
            if (defining_line.file, defining_line.number) not in own:
                setters.setdefault((defining_line.file, defining_line.number), defining_line)
    return list(setters.values())[:_NUMBERS]


def _places(steps: Iterable[Step]) -> list[tuple[str, int]]:
    """Source lines of the steps, newest first, once each."""
    return list(dict.fromkeys((step.file, step.line) for step in steps if step.instruction and step.line))


def _place(step: Step) -> str:
    return f"{step.file}:{step.line}" if step.line else "(outside of the kernel)"


def _core(step: Step) -> str:
    return f"block {step.block} ({step.core} core, pipe {step.pipe})"


def _finite(value: float) -> bool:
    # Infinity minus infinity is NaN, and NaN equals nothing.
    return value - value == 0.0


def _shown(value: Any, dtype: DType | None) -> str:
    # Where an instruction does not tell its type, a step holds raw bits.
    if isinstance(value, int):
        return str(value) if dtype is not None and dtype.is_exact else f"{value:#x}"
    if dtype is not None and dtype.is_exact:
        return str(int(value))
    return number(complex(value))
