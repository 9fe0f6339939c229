"""``npukb new``: a task of one's own, out of a signature, PyTorch code or an operator definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from npukernelbench.cli.boundary import App
from npukernelbench.cli.group import Command
from npukernelbench.cli.options import shared_options
from npukernelbench.errors import TaskError

__all__ = ["command"]


@click.command("new", cls=Command, short_help="Make a task of your own operator.")
@click.argument("name")
@click.option(
    "--inputs",
    metavar="TENSORS",
    default="",
    help="Inputs, such as 'x:float16[n, d], w:float16[d]'; 'xs:[float16[n, d]]' is a list of tensors.",
)
@click.option("--outputs", metavar="TENSORS", default="", help="Outputs, such as 'y:like(x), s:float32[n, 1]'.")
@click.option("--attributes", metavar="LIST", default="", help="Attributes, such as 'eps:float=1.0e-5'.")
@click.option("--axes", metavar="RANGES", default="", help="What extents may be, such as 'n=1..4096, d=16..8192/16'.")
@click.option("--reference", metavar="PLACE", help="The right answer: file.py:function, or package.module:function.")
@click.option("--torch", "torch_place", metavar="PLACE", help="PyTorch code: file.py:name, or package.module:name.")
@click.option("--init", "init", metavar="JSON", help="Arguments of the constructor of --torch, by name.")
@click.option(
    "--op_def", metavar="PATH", type=click.Path(path_type=Path, exists=True), help="File or folder with an OpDef."
)
@click.option(
    "--data",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with inputs and right outputs in files, described by its data.yaml; repeatable: one case each.",
)
@click.option(
    "--script",
    metavar="COMMAND",
    help="Script in each --data folder that writes them, such as scripts/gen_data.py; it is run, confined.",
)
@click.option("--into", metavar="FOLDER", type=click.Path(path_type=Path), help="Folder to write.  [default: ./NAME]")
@click.option("--suite", metavar="NAME", default="own", show_default=True, help="Suite that the task belongs to.")
@click.option("--summary", metavar="TEXT", default="", help="What a model is told in one sentence.")
@shared_options
@click.pass_obj
def command(app: App, /, name: str, into: Path | None, **options: Any) -> int:
    """Write the folder of a task NAME, with a kernel skeleton, and validate it.

    The interface comes from --inputs and --outputs, from PyTorch code (--torch: traced, and run in double
    precision as the reference) or from an operator definition (--op_def); right answers may be recorded data
    (--data). Without a reference the task is written, checked as far as that goes, and called unfinished. Code
    that is named runs as you; nothing confines it, but for --script. See docs/new_task.md.

    The exit code is 3 when the task is not fit to grade with.
    """
    from npukb_suites.checking import check_task
    from npukb_suites.fresh import Wish, fresh_task, write_folder

    # What is left are the options that commands share.
    own = {key: options.pop(key) for key in Wish.__annotations__ if key in options}
    wish = Wish(name=name, into=into or Path.cwd() / name, **own)
    made = fresh_task(wish)
    for path in write_folder(wish.into, made.files):
        app.console.out(str(path))
    for note in made.notes:
        app.console.out(f"note: {note}")
    checked = check_task(wish.into, options, app)
    for line in checked.lines:
        app.console.out(line)
    if made.unfinished:
        app.console.out(f"unfinished: {made.unfinished}")
        return 0
    app.console.out(f"next: npukb judge --include_path {wish.into} {name} {wish.into / 'kernel.cpp'}")
    return TaskError.exit_code if checked.errors else 0
