"""What the tools return, as models: their JSON schemas are what clients are shown."""

from __future__ import annotations

from pydantic import Field

from npukernelbench.strict import Strict

__all__ = [
    "ApiPage",
    "Budget",
    "CaseBrief",
    "Compared",
    "Explained",
    "GoldenKernel",
    "Judged",
    "Note",
    "TaskBrief",
    "TaskList",
    "TaskPage",
    "Timing",
    "Told",
    "Workspace",
]


class Budget(Strict):
    """What a session may still do."""

    calls_left: int = Field(description="calls of check, judge and profile that are left")
    seconds_left: float = Field(description="seconds of judging that are left")


class TaskBrief(Strict):
    """A task in a list."""

    name: str
    suite: str
    level: int
    category: str
    summary: str
    cases: int = Field(description="number of public cases")


class TaskList(Strict):
    """A page of tasks."""

    tasks: list[TaskBrief]
    total: int = Field(description="how many tasks the expression names")


class CaseBrief(Strict):
    """A public case."""

    id: str
    tensors: str = Field(description="inputs, attributes -> outputs, with element types and shapes")
    smoke: bool = Field(description="whether it is the smallest case, for a first try")


class TaskPage(Strict):
    """All that is public about a task."""

    name: str
    track: str
    summary: str
    cases: list[CaseBrief]
    files: list[str] = Field(description="files to write")
    text: str = Field(description="the operator, its interface, the hardware and its rules, as Markdown")


class Workspace(Strict):
    """A session that was opened. Its handle is secret: whoever has it, has the session's files and budget."""

    workspace: str = Field(description="handle that check, judge, profile and compare ask for")
    task: str
    track: str
    case: str = Field(description="the case that the kernel is for; empty on the dynamic track, where it is for all")
    folder: str = Field(description="where the files lie; empty when they are kept in memory")
    files: dict[str, str] = Field(description="the files as they are now, by name")
    edit: list[str] = Field(description="the files to edit")
    budget: Budget


class Note(Strict):
    """One message about the kernel."""

    severity: str
    rule: str = Field(description="ask explain about it")
    message: str
    file: str = ""
    line: int = 0
    column: int = 0
    remedy: str = ""
    count: int = 1
    case: str = ""


class Timing(Strict):
    """The time of one launch, and where it goes."""

    time_us: float
    predicted: bool = Field(description="true when a model gives the time, false when it was measured")
    low_us: float | None = None
    high_us: float | None = None
    machine: str
    cores: int
    bottleneck: str = ""
    counters: dict[str, float] = Field(default_factory=dict)
    suggestions: list[str] = Field(default_factory=list, description="changes and the time that the model gives them")
    lines: list[str] = Field(default_factory=list, description="lines with the most time first")


class Told(Strict):
    """What a model may know of a verdict."""

    outcome: str = Field(description="ok, or how the kernel failed")
    meaning: str
    stage: str = Field(description="the stage that decided; compile is the last one of check")
    fault_of: str = Field(description="model (the kernel), infra (the judge), task, or none")
    tier: str = Field(description="what proves it: twin is a model of the hardware, npu is the hardware")
    cases: dict[str, str] = Field(description="outcome by public case")
    diagnostics: list[Note]
    left_out: int = Field(description="messages that are not shown")
    metrics: dict[str, float]
    time: Timing | None = Field(None, description="the time of a right kernel; of several cases that of the first")


class Judged(Told):
    """A verdict that a session keeps."""

    result: str = Field(description="name of this result in its session, for compare")
    budget: Budget


class Compared(Strict):
    """Two results of one session side by side; ratios are second over first."""

    first_us: float
    second_us: float
    ratio: float
    counters: dict[str, tuple[float, float]] = Field(description="counters that differ, first and second")
    words: str


class Explained(Strict):
    """What a rule, an outcome or a pattern of wrong elements means."""

    name: str
    known: bool
    text: str
    near: list[str] = Field(default_factory=list, description="names that are like it")


class ApiPage(Strict):
    """What is known about a name of the API."""

    name: str
    status: str = Field(description="offered, gap, other_chip or unknown")
    header: str = ""
    declarations: list[str] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
    usage: list[str] = Field(default_factory=list, description="calls with units, what goes wrong, an idiom")
    near: list[str] = Field(default_factory=list, description="names that are like it")


class GoldenKernel(Strict):
    """A kernel of ours that is right."""

    task: str
    files: dict[str, str]
