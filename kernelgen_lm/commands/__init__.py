"""The commands, one module per step."""

from __future__ import annotations

import click

from kernelgen_lm.commands.corpus import corpus
from kernelgen_lm.commands.evaluation import card, evaluate
from kernelgen_lm.commands.training import ablate, dpo, grpo, mine, sft

__all__ = ["COMMANDS"]

#: In the order of the help text.
COMMANDS: tuple[click.Command, ...] = (corpus, sft, mine, dpo, ablate, grpo, evaluate, card)
