"""``kernelgen-lm plan``: what a preset takes, before anything is rented."""

from __future__ import annotations

from pathlib import Path

import click

from npukernelbench.console import Console
from npukernelbench.errors import UsageError

__all__ = ["plan"]


@click.command("plan", short_help="Say what a training takes: memory, tokens, judges.")
@click.argument("preset", type=click.Path(path_type=Path))
@click.option("--devices", "devices_text", required=True, metavar="COUNTxGiB", help="For instance 8x64GiB.")
@click.option("--set", "changes", multiple=True, metavar="FIELD=VALUE", help="Change one field.")
@click.option("--tokens", default=0.0, help="Tokens of the corpus, where the settings name no steps.")
@click.option("--hours", default=24.0, show_default=True, help="How long it may take.")
@click.option("--prompt-tokens", default=2048, show_default=True, help="Tokens of a question, where answers are drawn.")
@click.pass_obj
def plan(
    console: Console,
    /,
    preset: Path,
    devices_text: str,
    changes: tuple[str, ...],
    tokens: float,
    hours: float,
    prompt_tokens: int,
) -> int:
    """Compute what the training of a preset, or of a file of settings, takes: memory of each device, tokens a second,
    cores for the judge. Computed, not measured. The exit code is 1 if it does not fit.
    """
    from kernelgen_lm.training.memory import Devices, budget, shape_of, tokens_per_step
    from kernelgen_lm.training.planning import pace, read_settings, remedies

    devices = Devices.parse(devices_text)
    if hours <= 0:
        raise UsageError(f"{hours:g} hours are none", field="--hours", remedy="name a positive number")
    settings = read_settings(preset, changes)
    shape = shape_of(settings.model, settings.nano)
    needed = budget(settings, shape, devices, prompt_tokens)
    billions, each = shape.parameters / 1e9, devices_text.partition("x")[2]
    console.out(f"{settings.model}: {billions:.2f} billion parameters, {devices.count} devices of {each}")
    for name, size in needed.parts.items():
        console.out(f"  {size / 2**30:8.2f} GiB  {name}")
    verdict = "fits" if needed.fits else "does not fit"
    console.out(f"  {needed.total_bytes / 2**30:8.2f} GiB  of {needed.room_bytes / 2**30:.2f} on each: {verdict}")
    for remedy in () if needed.fits else remedies(settings, shape, devices, prompt_tokens):
        console.out(f"  with {remedy} it would fit")
    console.out(f"a step has up to {tokens_per_step(settings, devices, prompt_tokens):,} tokens")
    for line in pace(settings, devices, prompt_tokens, tokens, hours):
        console.out(line)
    return 0 if needed.fits else 1
