"""``kernelgen-lm eval`` and ``card``: what a model can do, and how it came about."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.console import Console

__all__ = ["card", "evaluate"]

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command("eval", short_help="Ask models for kernels and judge them.")
@click.argument("models", nargs=-1, required=True, metavar="[NAME=]FOLDER...")
@click.option("--baseline", "baselines", multiple=True, metavar="NAME=FOLDER", help="untrained, few-shot, or another.")
@click.option("--held-out", type=_FOLDER, help="Task files of operators that training did not see.")
@click.option("--trained", type=_FOLDER, help="Task files of operators that it may have seen.")
@click.option("--tasks", default="", metavar="NAMES", help="Tasks of the harness: level2, smoke, Sqrt.")
@click.option(
    "--corpus", type=click.Path(path_type=Path, exists=True), help="Corpus whose operators and shapes become groups."
)
@click.option("--out", "folder", required=True, type=click.Path(path_type=Path), help="Folder of the runs.")
@click.option("--num-samples", default=4, show_default=True, type=click.IntRange(1), help="Answers per task and case.")
@click.option(
    "--seed", "seeds", multiple=True, type=int, default=(0,), show_default=True, help="Seed of sampling; repeatable."
)
@click.option("--limit", default=0, type=click.IntRange(0), help="First cases of each task; 0: all.")
@click.option("--temperature", default=0.8, show_default=True, type=click.FloatRange(0))
@click.option("--max-tokens", default=1536, show_default=True, type=click.IntRange(1))
@click.option("--prompt-style", default="terse", show_default=True)
@click.option("--backend", type=click.Choice(["hf", "vllm", "kernelgen-lm"]), default="hf", show_default=True)
@click.option("--model-args", default="", metavar="K=V,...", help="More arguments of the backend: batch_size=32.")
@click.pass_obj
def evaluate(
    console: Console,
    /,
    models: tuple[str, ...],
    baselines: tuple[str, ...],
    held_out: Path | None,
    trained: Path | None,
    folder: Path,
    **asked: object,
) -> int:
    """Ask models for kernels and judge them: pass@k, compiled and right answers with intervals, differences by task.

    Several folders are one recipe with several training seeds. Baselines are asked the same: `untrained` (random
    weights), `few-shot` (the model with a worked example), `untrained-few-shot`, or NAME=FOLDER.
    """
    from kernelgen_lm.training.evaluate import Examination, entrants
    from kernelgen_lm.training.evaluate import evaluate as run
    from kernelgen_lm.training.scores import card_tables

    groups = {name: path for name, path in (("held_out", held_out), ("trained", trained)) if path is not None}
    # Options are called as those of npukb run, which the fields are not.
    named = {"prompt_style": "style", "num_samples": "answers"}
    fields = {named.get(name, name): value for name, value in asked.items()}
    what = Examination(groups, **fields)  # type: ignore[arg-type]
    # Before any model is loaded: a folder without tasks is an error of the command line.
    what.selected()
    for line in card_tables(run(entrants(models, baselines, folder), what, folder)):
        console.out(line)
    return 0


@click.command("card", short_help="Write the model card.")
@click.argument("model", type=_FOLDER)
@click.option("--run", "runs", multiple=True, type=_FOLDER, help="Training runs in their order.")
@click.option("--scores", type=click.Path(path_type=Path, exists=True), help="scores.json of an evaluation.")
@click.option("--data", type=click.Path(path_type=Path, exists=True), help="Output of corpus check.")
@click.pass_obj
def card(console: Console, /, model: Path, runs: tuple[Path, ...], scores: Path | None, data: Path | None) -> int:
    """Write README.md beside the weights: how the model was trained, what it scores, its limits."""
    from kernelgen_lm.corpus.sample import write_lines
    from kernelgen_lm.training.card import card as text

    write_lines(model / "README.md", [text(model, runs, scores, data)])
    console.out(str(model / "README.md"))
    return 0
