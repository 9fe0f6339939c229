"""``npukb suites``: tasks out of the checkouts of suites that others wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import json_option, shared_options
from npukernelbench.cli.session import open_session

__all__ = ["suites"]


@click.group("suites", short_help="Import tasks from suites that others wrote.")
def suites() -> None:
    """Suites that others wrote, as tasks: see docs/suites.md."""


@suites.command("add", cls=Command, short_help="Make tasks of a checkout.")
@click.argument("importer")
@click.argument("path", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--name", metavar="NAME", help="Name of the suite.  [default: that of the importer]")
@click.option("--only", metavar="TEXT", default="", help="Only operators whose path has this text in it.")
@shared_options
@click.pass_obj
def add(app: App, /, importer: str, path: Path, name: str | None, only: str, **options: Any) -> int:
    """Make tasks of the checkout at PATH, whose layout IMPORTER knows; npukb ls importers lists them.

    The suite's Python code runs as you, in processes of its own that nothing confines: add what you trust. What has not
    changed since the last time is not made again, so an interrupted import goes on where it was. What cannot be a task
    is listed with the reason.
    """
    from npukb_suites.store import add_suite
    from npukernelbench.tasks.importing import load_importer

    registration = open_session(options).plugins.importers.find(importer)
    loaded = load_importer(registration)
    try:
        own = name or registration.name
        made = add_suite(own, registration.name, loaded, path, only=only, say=app.console.err)
    finally:
        loaded.close()
    app.console.out(f"{made.name}: {len(made.tasks)} tasks, {len(made.refused)} refused")
    # Again at the end: hundreds of lines of progress stand before it.
    for place, reason in made.refused.items():
        app.console.out(f"  ✗ {place}: {reason}")
    return 0


@suites.command("ls", cls=Command, short_help="List suites that were added.")
@click.argument("name", required=False)
@json_option
@shared_options
@click.pass_obj
def ls(app: App, /, name: str | None, as_json: bool, **options: Any) -> int:
    """List the suites that were added; with NAME also what could not be imported, and what differs."""
    from dataclasses import asdict

    from npukb_suites import store
    from npukernelbench.errors import UsageError

    open_session(options)
    added = [suite for suite in store.suites() if name in (None, suite.name)]
    if name is not None and not added:
        raise UsageError(f"no suite {name!r} was added", field="NAME", remedy="npukb suites add IMPORTER PATH")
    if as_json:
        app.console.json([asdict(suite) for suite in added])
        return 0
    for suite in added or ():
        gone = " (the folder is gone)" if suite.missing else ""
        left = f" (incomplete: {suite.left} operators left; the same command goes on)" if suite.left else ""
        app.console.out(
            f"{suite.name}: {len(suite.tasks)} tasks, {len(suite.refused)} refused, from {suite.root}{gone}{left}"
        )
        if name is None:
            continue
        for place, reason in suite.refused.items():
            app.console.out(f"  ✗ {place}: {reason}")
        for place, notes in suite.notes.items():
            for note in notes:
                app.console.out(f"  ! {place}: {note}")
    if not added:
        app.console.out("no suite was added; npukb suites add IMPORTER PATH")
    return 0


@suites.command("rm", cls=Command, short_help="Forget a suite.")
@click.argument("name")
@shared_options
@click.pass_obj
def rm(app: App, /, name: str, **options: Any) -> int:
    """Forget the suite NAME and the tasks that were made of it. The checkout stays."""
    from npukb_suites.store import remove_suite

    open_session(options)
    remove_suite(name)
    app.console.out(f"{name} is forgotten")
    return 0
