"""What a task of optimisation asks: what the style says of the operator, and a right but slow kernel to make faster."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from npukernelbench.generate.sources import as_completion
from npukernelbench.nouns import Case, Message, Prompt, Task, Track
from npukernelbench.prompts.golden import GoldenKernels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from npukernelbench.prompts.style import PromptStyle

__all__ = ["VERSION", "start_files", "with_start"]

#: Raised with every change of wording, so that results name what was asked.
VERSION = 1
_SAID = """\
## The kernel to make faster

This kernel is right, and slow. Make it as fast as you can, and keep it right; what counts is how many times as fast
yours is. Answer with the whole kernel.
"""


def start_files(task: Task, case: Case | None, track: Track) -> Mapping[str, str]:
    """The kernel that the task begins with, texts by name; TaskError where it cannot be made for the case."""
    with GoldenKernels() as kernels:
        return kernels.start(task, case, track)


def with_start(style: PromptStyle, task: Task, case: Case | None, track: Track) -> Prompt:
    """What the style says and, of a task of optimisation, the kernel that it begins with."""
    prompt = style.render(task, case, track)
    if not task.start:
        return prompt
    # Backends need not know two messages of the user in a row.
    *before, last = prompt.messages
    kernel = as_completion(start_files(task, case, track), prompt)
    message = Message(last.role, f"{last.content.rstrip()}\n\n{_SAID}\n{kernel}")
    template = f"{prompt.template}+start@{VERSION}"
    digest = hashlib.sha256(f"{prompt.hash}\0{template}\0{message.content}".encode()).hexdigest()
    return replace(prompt, messages=(*before, message), template=template, hash=digest)
