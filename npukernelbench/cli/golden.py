"""``npukb golden``: the kernel that our golden kernel is for a case, to judge, save and edit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import setting_options, shared_options
from npukernelbench.cli.session import find_case, only_task, open_session

__all__ = ["command"]


@click.command("golden", cls=Command, short_help="Print a correct kernel.")
@click.argument("task")
@click.option("--case", "case_id", metavar="ID", help="Case that a static kernel is for.  [default: the smoke case]")
@setting_options("track", "hidden_seed")
@click.option("--out", type=click.Path(path_type=Path), metavar="PATH", help="Write it to this new file or folder.")
@click.option("--slow", metavar="NAME", help="A right but slow one: names of de-optimisations, with commas.")
@shared_options
@click.pass_obj
def command(app: App, /, task: str, case_id: str | None, out: Path | None, slow: str | None, **options: Any) -> None:
    """Print our golden kernel of TASK, complete: `npukb judge TASK FILE` takes what --out writes.

    A static kernel is one file with the constants of its case in front. One of the dynamic track is several files; they
    are printed as a model would answer, and --out makes a folder of them. With --slow it is right
    and slow, to be made faster: single-core, single-buffer, tiny-tiles, barriers.
    """
    from npukernelbench.generate.sources import as_answer, write_sources
    from npukernelbench.prompts.golden import GoldenKernels
    from npukernelbench.tasks.making import Makers

    session = open_session(options)
    track = session.config.track
    selected = only_task(session, task).task
    case = find_case(selected, case_id, track, session.hidden)
    with GoldenKernels(Makers(session.plugins.goldens, session.config.cache_dir)) as kernels:
        if slow is None:
            files = kernels.kernel(selected, case, track)
        else:
            files = kernels.slow_kernel(selected, case, track, [name.strip() for name in slow.split(",")])
    if out is None:
        app.console.out(as_answer(files).rstrip("\n"))
        return
    for path in write_sources(files, out, track):
        app.console.out(str(path))
