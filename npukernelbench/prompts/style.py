"""Prompt styles: from a task to the messages a model reads.

Our styles are jinja2 templates beside this module: one for the system message that they share, one for the user
message.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from npukernelbench.errors import UsageError
from npukernelbench.nouns import (
    PROMPTED_TRACKS,
    Case,
    DType,
    Message,
    Prompt,
    Task,
    TensorCase,
    TensorShape,
    ToleranceLimits,
    Track,
)
from npukernelbench.nouns.knowledge import Knowledge
from npukernelbench.nouns.machine import DEFAULT_MACHINE, Machine
from npukernelbench.prompts.example import category_example
from npukernelbench.prompts.interface import interface_skeleton, signature, tensor_text
from npukernelbench.tasks.rules import Founded

if TYPE_CHECKING:
    import jinja2

    from npukernelbench.plugins.registry import Registration
    from npukernelbench.prompts.knowledge import Reference

__all__ = [
    "CATEGORY_SHOT",
    "DEFAULT",
    "TERSE",
    "Knowing",
    "PromptStyle",
    "TaskAware",
    "Tasks",
    "TemplateStyle",
    "TrackBound",
    "load_style",
    "tracks_of",
]

#: All tasks there are, loaded when first asked for.
Tasks: TypeAlias = Callable[[], Mapping[str, Task]]

_FOLDER = Path(__file__).parent / "templates"


@runtime_checkable
class PromptStyle(Protocol):
    """Renders tasks into prompts. Equal arguments give equal prompts."""

    def render(self, task: Task, case: Case | None, track: Track) -> Prompt:
        """The prompt of one sample; ``case`` is None on the tracks that are asked once for all cases."""
        ...


@runtime_checkable
class TaskAware(Protocol):
    """A style that shows one task in the prompt of another."""

    def with_tasks(self, tasks: Tasks) -> PromptStyle:
        """The same style, choosing among these tasks."""
        ...


@runtime_checkable
class Knowing(Protocol):
    """A style that can tell more or less of the API and the rules than it does by itself."""

    def with_knowledge(self, reference: Reference) -> PromptStyle:
        """The same style at that level."""
        ...


@runtime_checkable
class TrackBound(Protocol):
    """A style that renders some tracks only; others render all."""

    @property
    def tracks(self) -> frozenset[Track]:
        """What it renders."""
        ...


def tracks_of(style: PromptStyle) -> frozenset[Track]:
    """The tracks that a style renders."""
    return style.tracks if isinstance(style, TrackBound) else frozenset(PROMPTED_TRACKS)


def load_style(
    registration: Registration,
    tasks: Tasks | None = None,
    reference: Reference | None = None,
    checkout: Path | None = None,
) -> PromptStyle:
    """The prompt style behind a registration, an object or a class without arguments; else PluginError.

    A style that is aware of tasks chooses among ``tasks`` if given. With ``reference`` it tells as much as that says;
    UsageError where the style cannot. One that is read from a checkout is read from ``checkout``.
    """
    style = registration.instance()
    if isinstance(style, Founded) and checkout is not None:
        style = style.with_checkout(checkout)
    if not isinstance(style, PromptStyle):
        raise registration.broken("lacks 'render'")
    if reference is not None:
        if not isinstance(style, Knowing):
            raise UsageError(
                f"prompt style {registration.name!r} tells what it tells, whatever the level of knowledge",
                field="--knowledge",
                remedy="leave it out, or use --prompt_style default",
            )
        style = style.with_knowledge(reference)
    # Last: both changes return a new style, and each must keep what the other set.
    return style.with_tasks(tasks) if tasks is not None and isinstance(style, TaskAware) else style


@dataclass(frozen=True, slots=True)
class TemplateStyle:
    """A style made of template files. ``files`` are all that take part, the system message's first, the user
    message's second.

    ``knowledge`` is what it tells of itself, ``reference`` what it is asked to tell. ``version`` rises with every
    change of wording, so that results name what was asked. With ``same_category`` the worked example is a task of the
    same category, where ``tasks`` has one that fits.
    """

    name: str
    version: int
    files: tuple[str, ...]
    hardware: Machine = DEFAULT_MACHINE
    same_category: bool = False
    knowledge: Knowledge = Knowledge.RULES
    reference: Reference | None = field(default=None, repr=False)
    tasks: Tasks | None = field(default=None, repr=False, compare=False)

    def with_tasks(self, tasks: Tasks) -> TemplateStyle:
        """The same style, choosing its example among these tasks."""
        return replace(self, tasks=tasks)

    def with_knowledge(self, reference: Reference) -> TemplateStyle:
        """The same style, telling as much as ``reference`` says."""
        return replace(self, reference=reference)

    def render(self, task: Task, case: Case | None, track: Track) -> Prompt:
        """Render the two messages. ValueError when the static track is asked without a case. The launch track has a
        text of its own, the same in all styles.
        """
        if track is Track.LAUNCH and self.files != _LAUNCHES:
            own = replace(self, name=f"{self.name}-launch", version=1, files=_LAUNCHES, same_category=False)
            return own.render(task, case, track)
        if track is Track.STATIC and case is None:
            raise ValueError("a prompt of the static track needs a case")
        # On other tracks an answer is for all cases, and none of them may stand out.
        values = _values(task, case if track is Track.STATIC else None, track, self.hardware)
        told = self.reference.level if self.reference else self.knowledge
        text = self.reference.text(task, track).rstrip() if self.reference else ""
        values = {**values, "knowledge": told.value, "reference": text}
        if self.same_category:
            values = {**values, "example": category_example(task, self.tasks() if self.tasks else {}, track)}
        # Templates end with as many line ends as their conditions leave; a message ends with one.
        system, user = (_environment().get_template(name).render(values).strip() + "\n" for name in self.files[:2])
        messages = (Message("system", system), Message("user", user))
        # The level is part of the name, so that results of several levels are told apart.
        level = f"+{self.reference.level.value}" if self.reference else ""
        template = f"{self.name}@{self.version}{level}"
        return Prompt(messages, template, _hash(template, self.files, messages))


def _values(task: Task, case: Case | None, track: Track, hardware: Machine) -> Mapping[str, object]:
    """What templates may refer to."""
    return {
        "task": task,
        "case": case,
        "static": track is Track.STATIC,
        "hardware": hardware,
        "signature": signature(task, track),
        "skeleton": interface_skeleton(task, case, track).rstrip(),
        "limits": [item for item in _limits(task, case) if not DType(item[0]).is_exact],
        "quantised": [item for item in _limits(task, case) if DType(item[0]).is_exact],
        "in_place": [item for item in task.outputs if item.alias_of],
        "has_lists": any(item.presence.value == "dynamic" for item in task.inputs),
        "describe_case": describe_case,
        "brief_case": partial(brief_case, task),
    }


def _limits(task: Task, case: Case | None) -> list[tuple[str, ToleranceLimits]]:
    """The stated tolerance of every type that the outputs of ``case`` (or of any case) have."""
    outputs = [value for item in ((case,) if case else task.cases) for value in item.outputs.values()]
    dtypes = {t.dtype for value in outputs for t in (value if isinstance(value, tuple) else (value,))}
    # The case's own go before the task's, as in the judge.
    known = {**task.tolerance.limits, **(case.limits if case else {})}
    return [(dtype.value, limits) for dtype, limits in known.items() if dtype in dtypes]


def describe_case(case: Case) -> str:
    """One line on a case: ``x float16 [4, 300]; dim = -1 -> y float16 [4, 150]``."""
    inputs = [f"{name} {_short(_shapes(value))}" for name, value in case.inputs.items()]
    attributes = [f"{name} = {value}" for name, value in case.attributes.items()]
    outputs = [f"{name} {_short(value)}" for name, value in case.outputs.items()]
    return f"{'; '.join((*inputs, *attributes))} -> {'; '.join(outputs)}"


def brief_case(task: Task, case: Case) -> str:
    """The same in fewer words, for lists of cases: equal tensors are told once, and attributes at their default not.

    ``x1, x2 float16 [4, 300] -> y as x1``.
    """
    named: dict[str, list[str]] = {}
    for name, value in case.inputs.items():
        # Grouped by text: equal shapes and types read the same.
        named.setdefault(_short(_shapes(value)), []).append(name)
    told = [f"{', '.join(names)} {text}" for text, names in named.items()]
    usual = {item.name: item.default for item in task.attributes}
    told += [f"{name} = {value}" for name, value in case.attributes.items() if value != usual.get(name)]
    first = {text: names[0] for text, names in named.items()}
    outputs = {name: _short(value) for name, value in case.outputs.items()}
    ends = [f"{name} as {first[text]}" if text in first else f"{name} {text}" for name, text in outputs.items()]
    return f"{'; '.join(told)} -> {'; '.join(ends)}"


def _shapes(value: TensorCase | tuple[TensorCase, ...] | None) -> TensorShape | tuple[TensorShape, ...] | None:
    if value is None:
        return None
    return value.tensor if isinstance(value, TensorCase) else tuple(item.tensor for item in value)


def _short(value: TensorShape | tuple[TensorShape, ...] | None) -> str:
    return tensor_text(value, sizes=False)


def _hash(template: str, files: tuple[str, ...], messages: tuple[Message, ...]) -> str:
    digest = hashlib.sha256(template.encode())
    # The templates too: a change of wording that left this prompt alone still is another style.
    for name in files:
        digest.update(_file_digest(name))
    for message in messages:
        # Each as a digest of its own, so that text cannot move from one message to the next unnoticed.
        digest.update(hashlib.sha256(f"{message.role}\0{message.content}".encode()).digest())
    return digest.hexdigest()


@cache
def _file_digest(name: str) -> bytes:
    """Of a template, which does not change while a process runs: jinja2 has read it as well."""
    return hashlib.sha256((_FOLDER / name).read_bytes()).digest()


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER),
        # A name that a template misspells is an error, not an empty text in a prompt.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        # The prompts are Markdown and C++; escaping is for HTML.
        autoescape=False,
        auto_reload=False,
    )


_LAUNCHES = ("role.md.j2", "launch.md.j2", "rules.md.j2")
_EXAMPLES = (
    "example.cpp",
    "dynamic/op_host/maximum_tiling.h",
    "dynamic/op_host/maximum.cpp",
    "dynamic/op_kernel/maximum.cpp",
    "cube/op_host/relu_product_tiling.h",
    "cube/op_host/relu_product.cpp",
    "cube/op_kernel/relu_product.cpp.j2",
)
#: Everything a newcomer to the hardware needs, with a worked example.
DEFAULT = TemplateStyle("default", 4, ("role.md.j2", "default.md.j2", "answer.md.j2", "rules.md.j2", *_EXAMPLES))
#: The same with a golden kernel of the same category as the example, where there is one of another operator.
CATEGORY_SHOT = TemplateStyle(
    "category-shot",
    4,
    ("role.md.j2", "category_shot.md.j2", "default.md.j2", "answer.md.j2", "rules.md.j2", *_EXAMPLES),
    same_category=True,
)
#: Operator, interface and answer format only: for models that know Ascend C, and for short contexts.
TERSE = TemplateStyle("terse", 3, ("role.md.j2", "terse.md.j2", "answer.md.j2"), knowledge=Knowledge.NONE)
