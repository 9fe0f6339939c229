"""``npukb api``: what the executor documents about names of the API, the same that prompts and agents are told."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import judging_options
from npukernelbench.cli.session import open_session
from npukernelbench.errors import UsageError

if TYPE_CHECKING:
    from npukernelbench.judge.documented import ApiEntry, Documented

__all__ = ["command"]


@click.command("api", cls=Command, short_help="Look up names of the API.")
@click.argument("names", metavar="NAME…", nargs=-1, required=True)
@judging_options
@click.pass_obj
def command(app: App, /, names: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Say what is known of Ascend C names: declarations, element types, speed, units of parameters, what goes wrong.

    It is what --knowledge api tells in prompts and what agents get from the tool `api`.
    """
    from npukernelbench.judge.documented import Documented
    from npukernelbench.judge.executor import make_executor
    from npukernelbench.nouns.codec import to_json

    session = open_session(options)
    executor = make_executor(session.executor.registration, session.config.executor_args)
    try:
        if not isinstance(executor, Documented):
            raise UsageError(
                f"executor {executor.name!r} does not document its API",
                field="--executor",
                remedy="use --executor twin",
            )
        entries = [_entry(name, executor) for name in names]
    finally:
        executor.close()
    if as_json:
        app.console.json([to_json(entry) for entry in entries])
        return
    for index, entry in enumerate(entries):
        for line in (*([""] if index else []), *_lines(entry)):
            app.console.tell(line)


def _entry(name: str, documented: Documented) -> ApiEntry:
    # Names are pasted from code, with a namespace, arguments or template parameters.
    plain = name.strip().removeprefix("AscendC::").partition("(")[0].partition("<")[0]
    entry = documented.api_entry(plain)
    if entry is None:
        near = get_close_matches(plain, documented.api_names(), n=5, cutoff=0.6)
        raise UsageError(
            f"{plain!r} is not Ascend C as far as the executor knows",
            field="NAME",
            remedy=f"nearest names: {', '.join(near)}" if near else "names are written as in C++: DataCopyPad",
        )
    return entry


def _lines(entry: ApiEntry) -> Iterator[str]:
    yield f"{entry.name} ({entry.status.value.replace('_', ' ')}{', ' + entry.header if entry.header else ''})"
    for text in (*entry.declarations, *entry.notes, *entry.usage):
        yield from (f"  {line}" for line in text.splitlines())
