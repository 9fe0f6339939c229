"""``npukb mcp`` and ``npukb workspace``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import executor_options, setting_options, shared_options
from npukernelbench.cli.session import find_case, only_task, open_session
from npukernelbench.errors import UsageError
from npukernelbench.nouns import Track

__all__ = ["mcp", "workspace"]


@click.command("mcp", cls=Command, short_help="Serve the judge to coding agents by the Model Context Protocol.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP under /mcp.  [default: standard input and output]")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on, with --http.")
@click.option("--port", type=click.IntRange(0, 65535), default=8971, show_default=True, help="Port, with --http.")
@click.option(
    "--folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write workspaces below DIR, for agents that edit files here.  [default: files come with each call]",
)
@click.option("--workspaces", type=click.IntRange(1), default=256, show_default=True, help="Workspaces to hand out.")
@click.option("--calls", type=click.IntRange(1), default=100, show_default=True, help="Calls that cost, per workspace.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=3600,
    show_default=True,
    help="Seconds of judging per workspace.",
)
@click.option("--golden", is_flag=True, help="Let agents read our own kernels.")
@setting_options("seed", "jobs", "prompt_style")
@executor_options
@shared_options
@click.pass_obj
def mcp(
    app: App,
    /,
    http: bool,
    host: str,
    port: int,
    folder: Path | None,
    workspaces: int,
    calls: int,
    seconds: float,
    golden: bool,
    **options: Any,
) -> None:
    """Serve tools with which an agent reads tasks, compiles, judges and profiles kernels, until interrupted.

    Agents see public cases only. Only this machine can reach --http unless --host says otherwise; then NPUKB_MCP_TOKEN
    must hold a secret that callers send.
    """
    from npukb_mcp.desk import Desk, DeskSettings
    from npukb_mcp.sessions import Limits

    try:
        from npukb_mcp.http import TOKEN_VARIABLE, serve_http
        from npukb_mcp.server import build_server
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the SDK of the protocol is not installed ({error.name})", remedy="pip install 'npukernelbench[mcp]'"
        ) from None
    # After the import of the SDK: a missing package is told before tasks and executor are loaded.
    session = open_session(options)
    settings = DeskSettings(Limits(workspaces, calls, seconds), folder, golden)
    desk = Desk(session.config, session.plugins, session.tasks, session.executor.registration, settings)
    server = build_server(desk)
    try:
        if http:
            app.console.err(f"http://{host}:{port}/mcp, {session.config.jobs} jobs; stop with Ctrl-C")
            serve_http(server, host, port, os.environ.get(TOKEN_VARIABLE, ""))
        else:
            server.run()
    finally:
        desk.close()


@click.command("workspace", cls=Command, short_help="Make a folder in which an agent writes a kernel.")
@click.argument("task")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--case", "case_id", metavar="ID", help="Case to write for, on the static track.  [default: the smoke case]"
)
@setting_options("track", "prompt_style", "knowledge")
@executor_options
@shared_options
@click.pass_obj
def workspace(app: App, /, task: str, folder: Path, case_id: str | None, **options: Any) -> None:
    """Write a workspace for TASK into DIR, which must be empty or new: README, files to edit, scripts `check` and
    `judge`, public cases, API reference, AGENTS.md. Hidden cases and reference code stay outside.
    """
    from npukb_mcp.workspace import Brief, workspace_files, write_workspace
    from npukernelbench.judge.documented import Documented
    from npukernelbench.judge.executor import make_executor
    from npukernelbench.prompts import load_style, make_reference

    session = open_session(options)
    chosen = only_task(session, task).task
    # Refused instead of ignored: somebody who names a case expects a kernel for that case.
    if case_id is not None and session.config.track is Track.DYNAMIC:
        raise UsageError("a kernel of the dynamic track is for all cases", field="--case", remedy="leave it out")
    brief = Brief.of(chosen, session.config.track, find_case(chosen, case_id, session.config.track))
    reference = make_reference(session.config.knowledge, session.plugins.executors, session.config.executor)
    style = load_style(session.plugins.prompts.find(session.config.prompt_style), lambda: session.tasks, reference)
    executor = make_executor(session.executor.registration, session.config.executor_args)
    try:
        files = workspace_files(brief, style, executor if isinstance(executor, Documented) else None)
    finally:
        executor.close()
    write_workspace(folder, files)
    for name in files:
        app.console.out(str(folder / name))
