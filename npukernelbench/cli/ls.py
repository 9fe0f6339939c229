"""``npukb ls``: everything that has a name and can be asked for."""

from __future__ import annotations

from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, shared_options
from npukernelbench.cli.session import open_session
from npukernelbench.report.listing import KINDS, TaskFilter, listing

__all__ = ["command"]


@click.command("ls", cls=Command, short_help="List tasks, backends and everything else that has a name.")
@click.argument("kind", type=click.Choice(list(KINDS)), default="tasks", metavar="[KIND]")
@click.option("--suite", metavar="NAME", help="Only tasks of this suite.")
@click.option("--level", metavar="N", type=int, help="Only tasks of this level.")
@click.option("--category", metavar="NAME", help="Only tasks of this category.")
@click.option("--tag", metavar="NAME", multiple=True, help="Only tasks with this tag; repeatable.")
@json_option
@shared_options
@click.pass_obj
def command(
    app: App,
    /,
    kind: str,
    suite: str | None,
    level: int | None,
    category: str | None,
    tag: tuple[str, ...],
    as_json: bool,
    **shared: Any,
) -> None:
    """List tasks, backends and everything else that has a name.

    KIND is tasks (the default), groups, suites, levels, categories, tags, starts, backends, executors, prompts,
    checkers, parsers, strategies, rules or metrics. The kinds before backends hold names for --tasks; the options
    narrow them.
    """
    session = open_session(shared)
    listed = listing(kind, session, TaskFilter(suite, level, category, tag))
    if as_json:
        app.console.json(listed.objects)
        return
    for line in listed.lines(app.console.width):
        app.console.out(line)
    if listed.note and listed.rows:
        app.console.err(listed.note)
