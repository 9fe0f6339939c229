"""The protocol around :class:`~npukb_mcp.desk.Desk`: tools with schemas, resources, progress, errors.

Only this module and :mod:`npukb_mcp.http` know the SDK; they are imported when a server is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, TypeVar

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from pydantic import Field

import npukernelbench
from npukb_mcp.desk import Desk, Kind
from npukb_mcp.redact import words
from npukb_mcp.results import (
    ApiPage,
    Compared,
    Explained,
    GoldenKernel,
    Judged,
    TaskList,
    TaskPage,
    Workspace,
)
from npukernelbench.errors import NpukbError
from npukernelbench.nouns import Stage

__all__ = ["build_server"]

_INSTRUCTIONS = """\
You write and optimise Ascend C kernels for Huawei Ascend processors; this server judges them.
Order of work: list_tasks or get_task; new_workspace, which returns a handle; edit; check (compiles, cheap); judge (runs
on public cases); explain and api for what you do not know; profile and compare to make a right kernel faster.
check, judge and profile take the handle and, unless the files lie in the workspace's folder, the files themselves.
They cost budget; everything else is free.
The final verdict is on hidden cases, so a kernel must compute its result for other values and shapes, too.
"""

_R = TypeVar("_R")

TaskName = Annotated[str, Field(description="name of a task, as list_tasks gives it")]
TrackName = Annotated[str, Field(description="static: device code for one case; dynamic: host and device code for all")]
CaseName = Annotated[
    str | None, Field(description="id of a public case; left out: the smoke case, or all on the dynamic track")
]
Handle = Annotated[str, Field(description="the handle that new_workspace returned")]
Files = Annotated[
    dict[str, str] | None,
    Field(
        description="source texts by name: kernel.cpp, or those in op_host/ and op_kernel/; left out: the workspace's"
    ),
]


def build_server(desk: Desk) -> MCPServer:
    """A server that answers with ``desk``, which stays the caller's to close."""
    server = MCPServer("npukernelbench", instructions=_INSTRUCTIONS, version=npukernelbench.__version__)
    _add_tasks(server, desk)
    _add_judging(server, desk)
    _add_lookups(server, desk)
    _add_resources(server, desk)
    if desk.settings.golden:
        _add_golden(server, desk)
    return server


def _add_tasks(server: MCPServer, desk: Desk) -> None:
    @server.tool()
    def list_tasks(
        tasks: Annotated[str, Field(description="a suite, level, category, tag or task; empty: all")] = "",
        limit: Annotated[int, Field(description="1 to 200")] = 50,
        offset: Annotated[int, Field(description="how many to leave out at the beginning")] = 0,
    ) -> TaskList:
        """List tasks: operators to implement as Ascend C kernels."""
        return _told(lambda: desk.list_tasks(tasks, limit, offset))

    @server.tool()
    def get_task(task: TaskName, track: TrackName = "static", case: CaseName = None) -> TaskPage:
        """Read a task: the operator, its interface, its public cases, the rules of the hardware."""
        return _told(lambda: desk.get_task(task, track, case))

    @server.tool()
    def new_workspace(task: TaskName, track: TrackName = "static", case: CaseName = None) -> Workspace:
        """Open a workspace for one task. Returns its handle, the files to edit, and the budget of the session."""
        return _told(lambda: desk.open(task, track, case))


def _add_judging(server: MCPServer, desk: Desk) -> None:
    @server.tool()
    async def check(context: Context, workspace: Handle, files: Files = None) -> Judged:
        """Compile a kernel and run nothing: outcome ok at stage compile says that it compiles."""
        return await _ask(desk, Kind.CHECK, context, workspace, files, None)

    @server.tool()
    async def judge(context: Context, workspace: Handle, files: Files = None, case: CaseName = None) -> Judged:
        """Compile a kernel, run it on public cases and compare: outcome, messages with line, rule and remedy, time."""
        return await _ask(desk, Kind.JUDGE, context, workspace, files, case)

    @server.tool()
    async def profile(context: Context, workspace: Handle, files: Files = None, case: CaseName = None) -> Judged:
        """Judge a kernel on one case (the largest, unless named); say where its time goes, what would be faster."""
        return await _ask(desk, Kind.PROFILE, context, workspace, files, case)

    @server.tool()
    def compare(
        workspace: Handle,
        first: Annotated[str, Field(description="a result of this session, such as r1")],
        second: Annotated[str, Field(description="another one")],
    ) -> Compared:
        """Compare the times of two results of this session."""
        return _told(lambda: desk.compare(workspace, first, second))


def _add_lookups(server: MCPServer, desk: Desk) -> None:
    @server.tool()
    def explain(
        name: Annotated[str, Field(description="a rule, an outcome, a pattern, or a message that names one")],
    ) -> Explained:
        """Say what a rule or a diagnostic means, and what a breach does on the device."""
        return _told(lambda: desk.explain(name))

    @server.tool()
    def api(name: Annotated[str, Field(description="a function, type or constant of Ascend C")]) -> ApiPage:
        """Look up a name of the API: its declarations, element types, and whether kernels may use it here."""
        return _told(lambda: desk.api(name))


def _add_golden(server: MCPServer, desk: Desk) -> None:
    @server.tool()
    def golden(task: TaskName, track: TrackName = "static", case: CaseName = None) -> GoldenKernel:
        """Read a right kernel of ours for a task."""
        return _told(lambda: desk.golden(task, track, case))


def _add_resources(server: MCPServer, desk: Desk) -> None:
    @server.resource("npukb://tasks", mime_type="application/json")
    def tasks() -> str:
        """The first 200 tasks."""
        return _read(lambda: desk.list_tasks("", 200, 0).model_dump_json(indent=1))

    @server.resource("npukb://tasks/{task}/{track}", mime_type="text/markdown")
    def task(task: str, track: str) -> str:
        """A task on a track, as get_task gives it."""
        return _read(lambda: desk.get_task(task, track, None).text)

    @server.resource("npukb://api", mime_type="text/markdown")
    def api_names() -> str:
        """Every name of the API by status."""
        return _read(desk.api_index)

    @server.resource("npukb://api/{name}", mime_type="application/json")
    def api_name(name: str) -> str:
        """A name of the API, as the tool api gives it."""
        return _read(lambda: desk.api(name).model_dump_json(indent=1))


async def _ask(
    desk: Desk, kind: Kind, context: Context, handle: str, files: dict[str, str] | None, case: str | None
) -> Judged:
    """Ask the desk, and report each stage as it begins."""
    loop, stages = asyncio.get_running_loop(), asyncio.Queue[tuple[Stage, int]]()

    def on_stage(stage: Stage, total: int) -> None:
        # The desk tells stages in a thread of its pool, and the queue belongs to the event loop.
        loop.call_soon_threadsafe(stages.put_nowait, (stage, total))

    async def report() -> None:
        done = 0
        while True:
            stage, total = await stages.get()
            done += 1
            # A judge may run more stages than were estimated, and progress ends at its total.
            await context.report_progress(min(done, total), total, stage.value)

    reporting = asyncio.ensure_future(report())
    try:
        return await desk.ask(kind, handle, files, case, on_stage)
    except NpukbError as error:
        raise ToolError(words(error)) from None
    finally:
        reporting.cancel()


def _told(answer: Callable[[], _R]) -> _R:
    """What ``answer`` gives; what is wrong with the question as an error that a model can act on."""
    try:
        return answer()
    except NpukbError as error:
        raise ToolError(words(error)) from None


def _read(answer: Callable[[], str]) -> str:
    try:
        return answer()
    except NpukbError as error:
        raise ResourceError(words(error)) from None
