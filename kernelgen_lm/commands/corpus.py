"""``kernelgen-lm corpus``: make, check and describe training data."""

from __future__ import annotations

import time
from pathlib import Path

import click

from kernelgen_lm.commands.collecting import agents, chat, code, docs, tally
from kernelgen_lm.tasks import known_tasks
from npukernelbench.console import Console

__all__ = ["config_options", "corpus"]

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.group("corpus", short_help="Make, check and describe training data.")
def corpus() -> None:
    """Make, check and describe training data."""


def config_options(command: click.Command) -> click.Command:
    """``--config`` and ``--set``."""
    command.params += [
        click.Option(["--config", "config_path"], type=click.Path(path_type=Path), help="A YAML file or a preset."),
        click.Option(["--set", "changes"], multiple=True, metavar="FIELD=VALUE", help="Change one field."),
    ]
    return command


# Joins the group at the end of this file, after config_options has put its options on.
@click.command("build", short_help="Generate kernels and keep those that the judge finds right.")
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder of the corpus.")
@click.option("--jobs", default=2, show_default=True, help="Processes.")
@click.pass_obj
def build(console: Console, /, folder: Path, jobs: int, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Generate kernels and keep those that the judge finds right. The same command goes on with what is missing."""
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.corpus.build import BuildConfig, Shard
    from kernelgen_lm.corpus.build import build as make

    started, judged = time.monotonic(), [0, 0]

    def tell(shard: Shard, shards: int) -> None:
        # These see no judge, and would make the rate look better than it is.
        judged[0] += sum(count for name, count in shard.counts.items() if name not in ("held_out", "known", "unfit"))
        judged[1] += 1
        rate = judged[0] / max(time.monotonic() - started, 1e-9) * 60
        console.err(f"shard {shard.number} of {shards}: {judged[1]} made here, {rate:.0f} kernels per minute")

    config = read_config(BuildConfig, config_path, changes)
    totals = make(config, folder, jobs, tell)
    tally(console, totals)
    return 0


@corpus.command("tasks", short_help="Write generated questions as task files.")
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder of the task files.")
@click.option("--count", default=50, show_default=True, help="Operators.")
@click.option("--seed", default=1, show_default=True)
@click.option("--share", default=0.1, show_default=True, help="The corpus's field held_out.")
@click.option("--held-out/--trained", default=True, show_default=True, help="Operators of training, or held-out ones.")
@click.option("--of", "samples", type=click.Path(path_type=Path, exists=True), help="The questions of this corpus.")
@click.pass_obj
def tasks(
    console: Console, /, folder: Path, count: int, seed: int, share: float, held_out: bool, samples: Path | None
) -> int:
    """Write generated questions as task files, for npukb run --include_path and for kernelgen-lm grpo.

    With --of they are a corpus's own, in its order, so that a model's answers to them can be paired with its kernels
    (mine --known); what says how to draw new ones has no meaning then.
    """
    from kernelgen_lm.corpus.table import read_table
    from kernelgen_lm.corpus.tasks import write_questions, write_tasks

    if samples is not None:
        names = write_questions(folder, read_table(samples), count)
    else:
        names = write_tasks(folder, count, held_out=held_out, share=share, seed=seed)
    console.err(f"{len(names)} tasks: {folder}")
    return 0


@corpus.command("formulas", short_help="Write questions about formulas as task files.")
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder of the task files.")
@click.option("--count", default=50, show_default=True, type=click.IntRange(1), help="Functions.")
@click.option("--seed", default=1, show_default=True)
@click.option("--share", default=0.1, show_default=True, help="The trainers' field held_out.")
@click.option("--held-out/--trained", default=True, show_default=True, help="Functions of training, or held-out ones.")
@click.option("--least", default=2, show_default=True, type=click.IntRange(2), help="Operations of a formula at least.")
@click.pass_obj
def formulas(console: Console, /, folder: Path, count: int, seed: int, share: float, held_out: bool, least: int) -> int:
    """Write questions about formulas as task files, for npukb run --include_path, kernelgen-lm reject and grpo: what
    kernelgen-lm stream trains on, with small sizes. None equals an operator of a benchmark by value, and the judge
    finds the known program of each right.
    """
    from kernelgen_lm.formulas.posing import write_formulas
    from kernelgen_lm.formulas.short import benchmarks
    from kernelgen_lm.judging import Bench

    with Bench() as bench:
        names = write_formulas(
            folder,
            count,
            held_out=held_out,
            share=share,
            seed=seed,
            least=least,
            exclusion=benchmarks(),
            bench=bench,
        )
    console.err(f"{len(names)} tasks: {folder}")
    return 0


@corpus.command("errors", short_help="Break right kernels and keep the judge's diagnostics.")
@click.argument("samples", type=click.Path(path_type=Path, exists=True))
@click.option("--out", "folder", required=True, type=_FOLDER, help="Folder for repairs and pairs.")
@click.option("--limit", default=0, help="Samples at most; 0: all.")
@click.option("--per-sample", default=2, show_default=True, help="Mistakes per kernel at most.")
@click.option("--seed", default=0, show_default=True)
@click.pass_obj
def errors(console: Console, /, samples: Path, folder: Path, limit: int, per_sample: int, seed: int) -> int:
    """Break right kernels, and write samples of diagnosis and repair, and preference pairs."""
    from itertools import islice

    from kernelgen_lm.corpus.errors import make_errors
    from kernelgen_lm.corpus.table import read_table
    from kernelgen_lm.judging import Bench

    def tell(count: int) -> None:
        if count % 50 == 0:
            console.err(f"{count} kernels")

    with Bench() as bench:
        # Read lazily: a corpus may be larger than the memory.
        chosen = islice(read_table(samples), limit or None)
        counts = make_errors(chosen, bench, folder, seed=seed, per_sample=per_sample, tell=tell)
    tally(console, counts)
    return 0


@corpus.command("check", short_help="Contamination, statistics, and kernels executed again.")
@click.argument("samples", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", "file", type=_FILE, help="Write samples without findings here: .jsonl, .jsonl.gz or .parquet.")
@click.option(
    "--near-duplicates", "threshold", type=float, help="Leave out answers that share at least this part, 0.6 to 1."
)
@click.option("--page", type=_FILE, help="Write the statistics as a page, .md.")
@click.option("--execute", default=0, show_default=True, help="Number of random kernels to execute again.")
@click.option("--seed", default=0, show_default=True)
@click.pass_obj
def check(
    console: Console,
    /,
    samples: tuple[Path, ...],
    file: Path | None,
    threshold: float | None,
    page: Path | None,
    execute: int,
    seed: int,
) -> int:
    """Compare with every benchmark task, execute kernels again, and say what is in it, as JSON.

    SAMPLES are files or folders of samples, taken together. The exit code is 1 when a kernel is not right any more, or
    when samples with findings stay.
    """
    from kernelgen_lm.corpus.check import Checked, Contamination, execute_again, is_executable
    from kernelgen_lm.corpus.page import operators_of, render_page
    from kernelgen_lm.corpus.sample import write_lines
    from kernelgen_lm.corpus.similar import near_duplicates
    from kernelgen_lm.corpus.table import read_table, require_format, write_samples
    from kernelgen_lm.judging import Bench
    from npukernelbench.plugins import Plugins

    if file is not None:
        require_format(file)
    contamination = Contamination(known_tasks(Plugins.load()).values())
    read = [sample for path in samples for sample in read_table(path)]
    findings = [finding for sample in read for finding in contamination.findings(sample)]
    dirty = {finding.sample for finding in findings}
    # Without a file to write, the samples stay as they are, and the statistics are of all.
    kept = [sample for sample in read if sample.id not in dirty] if file else read
    # Of what stays: a clean sample must not go for the sake of a similar one that goes anyway.
    similar = None if threshold is None else near_duplicates(kept, threshold)
    kept = [sample for sample in kept if not similar or sample.id not in similar]
    failed: list[tuple[str, str]] = []
    kernels = [sample for sample in kept if is_executable(sample)]
    if execute:
        with Bench() as bench:
            failed = execute_again(kernels, execute, seed, bench)
    if file is not None:
        write_samples(file, kept)
    checked = Checked(len(contamination.tasks), findings, len(dirty) if file else 0, min(execute, len(kernels)), failed)
    facts = checked.facts(kept, None if similar is None else len(similar))
    if page is not None:
        write_lines(page, [render_page({**facts, "operator": operators_of(kept)})])
    console.json(facts)
    # With a file the findings are gone from what was written; without one they stay.
    return int(bool(failed) or (bool(dirty) and file is None))


@corpus.command("prove", short_help="Execute a part of what a recipe gives, and print its digest.")
@click.argument("recipe", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.pass_obj
def prove(console: Console, /, recipe: Path) -> int:
    """Draw every sample of a recipe of tile programs, execute at least two per cent of every family, element type and
    track, and print the digest and counts as JSON.

    Written as the field digest of the recipe, the digest makes a training stop that gets other samples. A program that
    is not right stops the command.
    """
    from kernelgen_lm.corpus.stream import prove as make_proof
    from kernelgen_lm.corpus.stream import read_recipe
    from kernelgen_lm.judging import Bench

    def tell(number: int) -> None:
        if number % 1000 == 0:
            console.err(f"{number} questions")

    with Bench() as bench:
        proof = make_proof(read_recipe(recipe), bench, tell)
    console.json(proof._asdict())
    return 0


@click.command("pack", short_help="Pack samples into long sequences.")
@click.argument("samples", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--tokenizer", "name", required=True, help="Folder or name on the hub.")
@click.option("--out", "file", required=True, type=_FILE, help="File of sequences: .jsonl, .jsonl.gz or .parquet.")
@click.option("--length", default=32_768, show_default=True, help="Tokens per sequence.")
@click.pass_obj
def pack(console: Console, /, samples: tuple[Path, ...], name: str, file: Path, length: int) -> int:
    """Put samples together into sequences, first fit, longest first; no sample is cut. Says how much room is wasted.

    Every sequence keeps its samples' boundaries, and counts positions from 0 in each, so that attention can keep them
    apart.
    """
    from kernelgen_lm.corpus.pack import pack as put_together
    from kernelgen_lm.corpus.pack import sequences
    from kernelgen_lm.corpus.table import read_table, require_format, write_rows
    from kernelgen_lm.training.common import load_tokenizer
    from kernelgen_lm.training.sft import tokens_of

    require_format(file)
    tokenizer = load_tokenizer(name)
    # All in memory: the longest samples are packed first, wherever they stand.
    read = [sample for path in samples for sample in read_table(path)]
    encoded = [tokens_of(sample, tokenizer) for sample in read]
    packing, facts = put_together(encoded, length)
    write_rows(file, sequences(packing, read, encoded))
    console.json(facts._asdict())
    return 0


for _command in (config_options(build), code, docs, chat, agents, pack):
    corpus.add_command(_command)
