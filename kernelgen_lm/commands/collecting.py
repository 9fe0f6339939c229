"""``kernelgen-lm corpus code``, ``docs``, ``chat`` and ``agents``: samples out of what others wrote or did."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from kernelgen_lm.tasks import known_tasks
from npukernelbench.console import Console

__all__ = ["agents", "chat", "code", "docs", "tally"]

_FOLDER = click.Path(path_type=Path, file_okay=False)


def tally(console: Console, counts: Mapping[str, int]) -> None:
    """Print totals, the largest first."""
    for name, count in sorted(counts.items(), key=lambda item: -item[1]):
        console.out(f"{count:8} {name}")


def _told(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "nothing"


@click.command("code", short_help="Samples from existing kernels.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder of the samples.")
@click.option("--goldens", multiple=True, metavar="NAMES", help="Golden kernels of tasks, as --tasks of npukb run.")
@click.option("--include_path", "include", multiple=True, type=_FOLDER, help="Folder of further tasks.")
@click.option("--task", "name", default="", metavar="NAME", help="Task that kernels in PATH answer.")
@click.option("--operators", multiple=True, metavar="NAMES", help="Only these operators of a checkout.")
@click.option("--licence", default="", help="Licence of the kernels; required for all that are not ours.")
@click.option("--origin", default="", help="Origin, for instance repository and commit.")
@click.option("--track", type=click.Choice(["static", "dynamic", "both"]), default="both", show_default=True)
@click.option("--cases", default=4, show_default=True, help="Cases per kernel at most.")
@click.option("--most-mib", default=64, show_default=True, help="Inputs and outputs of a case at most.")
@click.option("--prompt-style", "style_name", default="terse", show_default=True)
@click.option("--jobs", default=2, show_default=True, help="Kernels judged at the same time.")
@click.pass_obj
def code(
    console: Console,
    /,
    paths: tuple[Path, ...],
    folder: Path,
    goldens: tuple[str, ...],
    include: tuple[Path, ...],
    name: str,
    operators: tuple[str, ...],
    style_name: str,
    jobs: int,
    **asked: object,
) -> int:
    """Make samples out of existing kernels: golden kernels, operators of a repository, source files.

    PATH is a source file or folder with --task, a checkout of NPUKernelBench, or a folder with operators below it that
    are named like tasks. Every kernel is executed; the thinking says what was observed. The same command resumes.
    """
    from kernelgen_lm.corpus.code import Tools, make_code, require_stated, wish_of
    from kernelgen_lm.corpus.sources import CollectedKernel, Finder, Writer
    from kernelgen_lm.judging import Bench
    from npukernelbench.plugins import Plugins
    from npukernelbench.prompts import load_style

    wish = wish_of(paths=bool(paths), goldens=bool(goldens), own=bool(include), style=style_name, **asked)
    plugins = Plugins.load()
    # Samples of installed tasks name theirs, so that corpus check can leave them out.
    # Installed tasks without the user's own: only those are benchmarks.
    wish = wish._replace(benchmarks=frozenset(known_tasks(plugins)))
    style = load_style(plugins.prompts.find(style_name))

    def tell(kernel: CollectedKernel, counts: Mapping[str, int]) -> None:
        console.err(f"{kernel.where}: {_told(counts)}")

    with Finder(known_tasks(plugins, include), plugins.repositories, operators) as finder, Writer(plugins) as writer:
        kernels = list(finder.goldens(goldens)) if goldens else []
        # Before anything is judged, which may take hours.
        require_stated(kernels, str(asked["licence"]), str(asked["origin"]))
        # Files of others state their licence on the command line, which wish_of has checked.
        kernels += [kernel for path in paths for kernel in finder.below(path, name)]
        with Bench(detail=True) as bench:
            totals = make_code(kernels, wish, Tools(bench, style, writer), folder, jobs=jobs, tell=tell)
        for lost in finder.without_task:
            console.warn(f"{lost}: no task has this name, so it cannot be executed; left out")
    tally(console, totals)
    return 0


@click.command("docs", short_help="Samples from documentation that you have.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder of the samples.")
@click.option("--licence", default="", help="Licence of the pages; required.")
@click.option("--origin", default="", help="Origin, for instance address and version; required.")
@click.option("--subject", default="Ascend C", show_default=True, help="Subject of the pages, for the questions.")
@click.option("--task", "named", multiple=True, metavar="ENTRY=NAME", help="The task of an example's kernel.")
@click.option("--include_path", "include", multiple=True, type=_FOLDER, help="Folder of further tasks.")
@click.option("--cases", default=4, show_default=True, help="Cases per example at most.")
@click.option("--prompt-style", "style_name", default="terse", show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.pass_obj
def docs(
    console: Console,
    /,
    paths: tuple[Path, ...],
    folder: Path,
    named: tuple[str, ...],
    include: tuple[Path, ...],
    subject: str,
    style_name: str,
    seed: int,
    **asked: object,
) -> int:
    """Make samples out of documentation files: Markdown, HTML or text, or folders of them.

    A function is a section with its prototype. Whole kernels among the examples are executed on the task that their
    entry is named for; other code is listed in left_out and gives no sample. The same command resumes.
    """
    from contextlib import ExitStack
    from functools import cache

    from kernelgen_lm.corpus.code import Tools, wish_of
    from kernelgen_lm.corpus.documents import DocumentWish, Page, make_documents, read_pages, tasks_by_entry
    from kernelgen_lm.corpus.sources import Writer
    from kernelgen_lm.judging import Bench
    from npukernelbench.plugins import Plugins
    from npukernelbench.prompts import load_style

    # Examples on pages that can be executed are kernels without a host side.
    wished = {"track": "static", "most_mib": 64, **asked}
    wish = wish_of(paths=True, goldens=False, own=bool(include), style=style_name, **wished)
    pages, plugins = read_pages(paths), Plugins.load()
    wish = wish._replace(benchmarks=frozenset(known_tasks(plugins)))
    registry, style = known_tasks(plugins, include), load_style(plugins.prompts.find(style_name))

    def tell(page: Page, counts: Mapping[str, int]) -> None:
        console.err(f"{page.name}: {_told(counts)}")

    with ExitStack() as opened:
        # The judge is started only when a page has a kernel to execute.
        @cache
        def tools() -> Tools:
            return Tools(opened.enter_context(Bench(detail=True)), style, opened.enter_context(Writer(plugins)))

        given = DocumentWish(wish, subject, seed, tasks_by_entry(named, registry))
        totals = make_documents(pages, given, registry, tools, folder, tell)
    tally(console, totals)
    return 0


@click.command("chat", short_help="Samples from general chat data.")
@click.argument("name", metavar="DATASET")
@click.option("--out", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File of samples.")
@click.option("--split", default="train", show_default=True)
@click.option("--subset", default="", help="Configuration of the data set.")
@click.option("--revision", default="", help="Commit or tag on the hub.")
@click.option("--licence", default="", help="Licence.  [default: what the data set states]")
@click.option("--limit", default=10_000, show_default=True, help="Conversations at most; 0: all.")
@click.option("--longest", default=60_000, show_default=True, help="Characters of a conversation at most.")
@click.option("--seed", default=0, show_default=True, help="Seed of the order, which decides the choice.")
@click.pass_obj
def chat(console: Console, /, file: Path, **asked: Any) -> int:
    """Take conversations from DATASET, a name on the hub or a folder. Needs the package datasets."""
    from kernelgen_lm.corpus.chat import ChatWish, make_chat, open_dataset
    from kernelgen_lm.corpus.table import require_format, write_samples

    # Before the data set is loaded, which may take long.
    require_format(file)
    wish = ChatWish(**asked)
    rows, licence = open_dataset(wish)
    samples, counts = make_chat(rows, wish, licence)
    write_samples(file, samples)
    tally(console, counts)
    return 0


@click.command("agents", short_help="Conversations of agents and of models with tools.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=_FOLDER)
@click.option("--out", "file", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File to write.")
@click.option("--wrong", is_flag=True, help="Also those whose answer is not right.")
@click.pass_obj
def agents(console: Console, /, runs: tuple[Path, ...], file: Path, wrong: bool) -> int:
    """Write the conversations of RUN, folders of `npukb run` with an agent or --strategy tools, as lines of JSON with
    messages and tools, as chat templates take them. Every line names its task: it is one of a benchmark.
    """
    from collections import Counter

    from kernelgen_lm.corpus.agents import trajectories, write_trajectories

    totals: Counter[str] = Counter()
    rows = []
    for run in runs:
        made, counts = trajectories(run, wrong=wrong)
        rows += made
        totals += counts
    write_trajectories(rows, file)
    tally(console, totals)
    return 0
