"""A workspace: the files that an agent finds before it writes a kernel, for either track.

Everything in it is public: the task, its public cases, the interface, the API. Hidden cases and reference code stay
outside; the judge has them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from npukernelbench.errors import UsageError
from npukernelbench.generate.arrange import DEVICE_FOLDER, HOST_FOLDER
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.generate.starting import start_files
from npukernelbench.judge.documented import ApiStatus, Documented
from npukernelbench.nouns import Case, Task, Track
from npukernelbench.prompts.interface import interface_skeleton
from npukernelbench.prompts.style import describe_case

if TYPE_CHECKING:
    from npukernelbench.prompts.style import PromptStyle

__all__ = ["Brief", "api_index", "public_cases", "workspace_files", "write_workspace"]

_EXECUTABLE = frozenset({"check", "judge", "explain", "api"})

_AGENTS = """\
# How to work here

1. Read README.md: the operator, its interface, the public cases, the rules of the hardware.
2. Edit {files} and nothing else. Whatever else lies here is not looked at when the kernel is judged.
3. Run `./check` after each edit: it compiles. Run `./judge` when it compiles: it runs the kernel on {judged}.
   With the MCP server, the tools `check`, `judge` and `profile` do the same.
4. A message names the line, the rule and a remedy. The tool `explain` says what a rule is about, API.md which names
   exist, the tool `api` (`npukb api NAME`) how one is used.
5. When the kernel is right, make it faster: `npukb profile` and the tool `profile` say where the time goes.

The final verdict is given elsewhere: on hidden cases of other {differ}, on a clean copy of your files. A kernel that
fits what it saw, and computes nothing, is told apart from one that computes.
"""

_README = """\
# {name}

{opening}

Files to edit: {files}. They are your answer: what is said below about an answer and its blocks is true of these files.

| file | what it is |
|---|---|
{rows}

{prompt}
"""

_SCRIPT = """\
#!/bin/sh
# {what} Arguments are passed on: ./{name} --json
cd "$(dirname "$0")" && exec npukb judge {task} {sources} --track {track}{case}{more} "$@"
"""


@dataclass(frozen=True, slots=True)
class Brief:
    """What a workspace is for. ``case`` is None on the dynamic track, whose kernels serve all cases."""

    task: Task
    track: Track
    case: Case | None

    @classmethod
    def of(cls, task: Task, track: Track, case: Case | None) -> Brief:
        """The brief with the case that is meant where none is named."""
        return cls(task, track, None if track is Track.DYNAMIC else case or task.usual_case)

    @property
    def cases(self) -> tuple[Case, ...]:
        """What the kernel is judged on: all public cases, or the one that it is written for."""
        return tuple(self.task.cases) if self.case is None else (self.case,)


def workspace_files(brief: Brief, style: PromptStyle, documented: Documented | None) -> dict[str, str]:
    """Texts by relative name. Equal arguments give equal files."""
    starts = _starts(brief)
    names = ", ".join(f"`{name}`" for name in starts)
    dynamic = brief.track is Track.DYNAMIC
    # The system message speaks of an answer that is compiled as it stands; an agent edits files instead.
    prompt = "\n\n".join(
        m.content for m in style.render(brief.task, brief.case, brief.track).messages if m.role == "user"
    )
    rows = [
        *(f"| {name} | yours: edit it |" for name in starts),
        "| check | compiles the kernel |",
        f"| judge | judges it on {'all public cases' if dynamic else 'the case it is written for'} |",
        "| cases.json | the public cases; `smoke` marks the smallest |",
        "| API.md | names that kernels may use here |",
        "| AGENTS.md | how to work |",
    ]
    opening = (
        "All public cases are judged together." if brief.case is None else f"The kernel is for case {brief.case.id}."
    )
    if brief.task.start:
        opening += " What you are to edit is right and slow: make it as fast as you can, and keep it right."
    readme = _README.format(
        name=brief.task.name, opening=opening, files=names, rows="\n".join(rows), prompt=prompt.strip()
    )
    agents = _AGENTS.format(
        files=names,
        judged="all public cases" if dynamic else "its case",
        differ="shapes and values" if dynamic else "values",
    )
    return {
        "README.md": readme,
        "AGENTS.md": agents,
        "API.md": api_index(documented),
        "cases.json": json.dumps(public_cases(brief), indent=1) + "\n",
        "check": _script(brief, "check", " --compile_only"),
        "judge": _script(brief, "judge", ""),
        **starts,
    }


def write_workspace(folder: Path, files: Mapping[str, str]) -> None:
    """Write a workspace. UsageError when the folder holds anything already, or cannot be written."""
    remedy = "name a new folder, or an empty one"
    try:
        # Refused instead of overwritten: it might be somebody's work.
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} is not an empty folder", field="DIR", remedy=remedy)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            if name in _EXECUTABLE:
                path.chmod(0o755)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror or error}", field="DIR", remedy=remedy) from error


def public_cases(brief: Brief) -> list[dict[str, object]]:
    """The public cases as an agent may know them: id, what goes in and comes out, whether it is the smoke case."""
    return [
        {
            "id": case.id,
            "smoke": "smoke" in case.profiles,
            "judged": case in brief.cases,
            "tensors": describe_case(case),
            "attributes": {name: list(v) if isinstance(v, tuple) else v for name, v in case.attributes.items()},
        }
        for case in brief.task.cases
    ]


def api_index(documented: Documented | None) -> str:
    """Names by status, as text; says so where the executor does not document its interface."""
    lines = ["# Ascend C here", ""]
    if documented is None:
        return "\n".join([*lines, "The executor that judges here does not document its interface.", ""])
    by_status: dict[ApiStatus, list[str]] = {status: [] for status in ApiStatus}
    for name in documented.api_names():
        if status := documented.api_status(name):
            by_status[status].append(name)
    heads = {
        ApiStatus.OFFERED: "Names that kernels may use",
        ApiStatus.GAP: "Documented, but not supported by this executor yet",
        ApiStatus.OTHER_CHIP: "For other chips only: such a kernel does not compile",
    }
    for status, head in heads.items():
        lines += [f"## {head}", "", _wrapped(by_status[status]) or "none", ""]
    return "\n".join(lines)


def _wrapped(names: Sequence[str]) -> str:
    import textwrap

    # A name that is cut in two would not be found by a search.
    return textwrap.fill(", ".join(names), 120, break_long_words=False)


def _starts(brief: Brief) -> dict[str, str]:
    """The files to edit, with the interface in them, or the kernel that a task of optimisation begins with."""
    if brief.task.start:
        return dict(start_files(brief.task, brief.case, brief.track))
    skeleton = interface_skeleton(brief.task, brief.case, brief.track)
    if brief.track is Track.STATIC:
        return {DEVICE_SOURCE: skeleton}
    host = (
        f"// The operator's definition (a class derived from OpDef, registered with OP_ADD) and its tiling function:\n"
        f"// see README.md, Host side. The operator is called {brief.task.operator}.\n"
    )
    kernel = brief.task.kernel
    return {f"{HOST_FOLDER}/{kernel}.cpp": host, f"{DEVICE_FOLDER}/{kernel}.cpp": skeleton}


def _script(brief: Brief, name: str, more: str) -> str:
    case = "" if brief.case is None else f" --case {shlex.quote(brief.case.id)}"
    what = "Compiles the kernel, and runs nothing." if name == "check" else "Judges the kernel."
    sources = DEVICE_SOURCE if brief.track is Track.STATIC else "."
    # Names of tasks may be anybody's: they come from folders that a user adds.
    task = shlex.quote(brief.task.name)
    return _SCRIPT.format(
        name=name, what=what, task=task, sources=sources, track=brief.track.value, case=case, more=more
    )
