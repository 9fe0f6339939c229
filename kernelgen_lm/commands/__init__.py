"""The commands, one module per step."""

from __future__ import annotations

import click

from kernelgen_lm.commands.corpus import corpus
from kernelgen_lm.commands.evaluation import card, evaluate
from kernelgen_lm.commands.planning import plan
from kernelgen_lm.commands.training import ablate, dpo, grpo, mine, reject, sft, stream

__all__ = ["COMMANDS"]

#: In the order of the help text.
COMMANDS: tuple[click.Command, ...] = (corpus, plan, sft, stream, mine, dpo, ablate, reject, grpo, evaluate, card)
