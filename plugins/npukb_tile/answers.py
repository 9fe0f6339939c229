"""A tile program out of a model's answer: the last fenced block that holds one, or the whole text where it is one."""

from __future__ import annotations

import re

from npukernelbench.generate.fences import scan
from npukernelbench.generate.parsers import has_unclosed_block
from npukernelbench.generate.thinking import split_thinking
from npukernelbench.nouns import Completion, FinishReason, Outcome

__all__ = ["program_in"]

_KERNEL = re.compile(r"^@kernel\b", re.MULTILINE)
_HOST = re.compile(r"^@host\b", re.MULTILINE)
_LANGUAGES = ("python", "py", "python3", "tile")


def program_in(completion: Completion) -> str | Outcome:
    """The program's text, or ``TRUNCATED`` or ``NO_CODE``. Reasoning is never searched."""
    # Programs in the thinking are drafts, which the model did not answer with.
    text = split_thinking(completion.text).answer
    cut_off = completion.finish_reason is FinishReason.LENGTH
    blocks = [block for block in scan(text).blocks if block.text.strip()]
    sources = [block.text for block in blocks if _KERNEL.search(block.text) and _HOST.search(block.text)]
    # Less and less like a program: half of one still gets a fault with its line, which helps more than "no code".
    sources = sources or [block.text for block in blocks if _KERNEL.search(block.text)]
    sources = sources or [block.text for block in blocks if block.language in _LANGUAGES]
    # Without any fence the whole answer may be the program.
    if not sources and not blocks and _KERNEL.search(text) and _HOST.search(text) and not has_unclosed_block(text):
        sources = [text]
    if not sources:
        return Outcome.TRUNCATED if cut_off else Outcome.NO_CODE
    # A program in front of the place where the answer was cut off is whole.
    if cut_off and (has_unclosed_block(text) or text.rstrip().endswith(sources[-1].rstrip())):
        return Outcome.TRUNCATED
    # The last: models show drafts before they decide.
    return sources[-1]
