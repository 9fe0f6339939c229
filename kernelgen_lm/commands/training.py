"""``kernelgen-lm sft``, ``mine``, ``dpo``, ``reject``, ``grpo``: training on corpora, pairs and the judge's rewards."""

from __future__ import annotations

from pathlib import Path

import click

from kernelgen_lm.commands.corpus import config_options
from npukernelbench.console import Console

__all__ = ["ablate", "dpo", "grpo", "mine", "reject", "sft", "stream"]

_OUT = click.option("--out", "folder", required=True, type=click.Path(path_type=Path), help="Folder of the run.")


@click.command("sft", short_help="Fine-tune on a corpus.")
@_OUT
@click.pass_obj
def sft(console: Console, /, folder: Path, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Fine-tune on a corpus. The same command resumes after an interruption."""
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.training.sft import SFTSettings, train

    train(read_config(SFTSettings, config_path, changes), folder, console.err)
    return _finished(console, folder)


@click.command("stream", short_help="Train a small model on questions that are drawn while it trains.")
@_OUT
@click.pass_obj
def stream(console: Console, /, folder: Path, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Train a small model from nothing to translate questions in slots into tile programs. Every question is seen once.
    The same command resumes after an interruption.
    """
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.formulas.short import benchmarks
    from kernelgen_lm.training.streaming import StreamSettings, train_stream

    train_stream(read_config(StreamSettings, config_path, changes), folder, benchmarks(), console.err)
    return _finished(console, folder)


@click.command("mine", short_help="Take preference pairs from runs.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--out", "file", required=True, type=click.Path(path_type=Path), help="File of pairs, .jsonl.")
@click.option("--rejected", default="fails", show_default=True, help="fails, uncompiled, any, or outcomes by name.")
@click.option("--chosen", type=click.Choice(["fastest", "first"]), default="fastest", show_default=True)
@click.option("--slower", default=0.0, help="Also reject right kernels this many times as slow; 0: none.")
@click.option(
    "--per-question", default=4, show_default=True, type=click.IntRange(1), help="Pairs per question at most."
)
@click.option(
    "--known",
    "corpus",
    type=click.Path(path_type=Path, exists=True),
    help="Corpus with the questions: its kernels stand in once the model's right answers are used up.",
)
@click.pass_obj
def mine(
    console: Console,
    /,
    runs: tuple[Path, ...],
    file: Path,
    rejected: str,
    chosen: str,
    slower: float,
    per_question: int,
    corpus: Path | None,
) -> int:
    """Take preference pairs out of run folders: a right answer, and one that compiles but fails."""
    from kernelgen_lm.corpus.table import read_table
    from kernelgen_lm.training.mine import Mining, known_answers, write_pairs
    from kernelgen_lm.training.mine import mine as pairs

    # Spelled out: type checkers take no str for one of two words.
    how = Mining(rejected, "first" if chosen == "first" else "fastest", slower, per_question)
    known = known_answers(read_table(corpus)) if corpus else {}
    count = write_pairs(file, pairs(runs, how, known))
    # A warning and no error: with another run the same command may find some.
    if not count:
        console.warn("no question has both a right and a rejected answer: generate more, or reject other outcomes")
    console.err(f"{count} pairs: {file}")
    return 0


@click.command("dpo", short_help="Train on preference pairs.")
@_OUT
@click.pass_obj
def dpo(console: Console, /, folder: Path, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Train on preference pairs. The same command resumes after an interruption."""
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.training.preference import DPOSettings, train

    train(read_config(DPOSettings, config_path, changes), folder, console.err)
    return _finished(console, folder)


@click.command("grpo", short_help="Train on the judge's rewards.")
@_OUT
@click.pass_obj
def grpo(console: Console, /, folder: Path, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Train on the judge's rewards. The same command resumes after an interruption."""
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.training.online import GRPOSettings, train

    train(read_config(GRPOSettings, config_path, changes), folder, console.warn, console.err)
    return _finished(console, folder)


@click.command("reject", short_help="Train on the model's own right answers.")
@_OUT
@click.pass_obj
def reject(console: Console, /, folder: Path, config_path: Path | None, changes: tuple[str, ...]) -> int:
    """Answer generated tasks many times, judge the answers, and train on those that are right (rejection sampling). The
    same command resumes after an interruption.
    """
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.training.rejection import RejectionSettings, train

    train(read_config(RejectionSettings, config_path, changes), folder, console.err)
    return _finished(console, folder)


@click.command("ablate", short_help="Compare variants of preference training.")
@_OUT
@click.option(
    "--held-out", required=True, type=click.Path(path_type=Path, exists=True), help="Task files of the evaluation."
)
@click.option(
    "--variant", "texts", multiple=True, metavar="NAME:FIELD=VALUE,...", help="Variants in place of the default ones."
)
@click.option(
    "--seed", "seeds", multiple=True, type=int, default=(0,), show_default=True, help="Seed of training; repeatable."
)
@click.option("--num-samples", default=4, show_default=True, type=click.IntRange(1), help="Answers per task.")
@click.option("--temperature", default=0.8, show_default=True, type=click.FloatRange(0))
@click.option("--max-tokens", default=1536, show_default=True, type=click.IntRange(1))
@click.pass_obj
def ablate(
    console: Console,
    /,
    folder: Path,
    held_out: Path,
    texts: tuple[str, ...],
    seeds: tuple[int, ...],
    num_samples: int,
    temperature: float,
    max_tokens: int,
    config_path: Path | None,
    changes: tuple[str, ...],
) -> int:
    """Train on the same pairs with and without the compile-keeping term, with other strengths and rejected kinds, and
    print compile@1 and correct@1 of each, with differences from the model that all start from.
    """
    from kernelgen_lm.config_file import read_config
    from kernelgen_lm.training.ablate import USUAL, read_variant
    from kernelgen_lm.training.ablate import ablate as run
    from kernelgen_lm.training.evaluate import Examination
    from kernelgen_lm.training.preference import DPOSettings, train
    from kernelgen_lm.training.scores import card_tables

    settings = read_config(DPOSettings, config_path, changes)
    what = Examination({"held_out": held_out}, answers=num_samples, temperature=temperature, max_tokens=max_tokens)
    variants = [read_variant(text) for text in texts] or USUAL
    for line in card_tables(run(settings, variants, seeds, what, folder, console.err, train)):
        console.out(line)
    return 0


def _finished(console: Console, folder: Path) -> int:
    """Say where the model is: once, where several processes trained it."""
    from kernelgen_lm.training.devices import is_first

    if is_first():
        console.out(str(folder / "model"))
    return 0


for _command in (sft, stream, dpo, reject, grpo, ablate):
    config_options(_command)
