"""NPUKernelBench's prompts and answers: ``--prompt_style`` and ``--parser npukernelbench``.

The prompt is that of a checkout, word for word. The answer is the first text between the suite's tags, of which only a
fenced block counts if there is one; what our own parser would forgive holds no code here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from npukb_conformance.checkout import Checkout
from npukb_conformance.reading.prompt import PromptTexts
from npukb_conformance.reading.suite import OperatorTexts, read_settings
from npukernelbench.errors import UsageError
from npukernelbench.generate.parsers import DEVICE_SOURCE
from npukernelbench.nouns import Case, Message, Prompt, Task, Track

__all__ = ["CheckoutStyle", "tagged_block"]

# Not greedy: the first closing tag ends it, as in the suite.
_TAGGED = re.compile(r"<kernel_impl>(.*?)</kernel_impl>", re.DOTALL)
_FENCED = re.compile(r"```cpp\s*(.*?)\s*```", re.DOTALL)


@dataclass(frozen=True)
class CheckoutStyle:
    """The prompts of a checkout, which :meth:`with_checkout` names."""

    root: Path | None = None
    name: str = "npukernelbench"

    @property
    def tracks(self) -> frozenset[Track]:
        """One case at a time, as the suite asks unless told otherwise."""
        return frozenset({Track.STATIC})

    def with_checkout(self, root: Path) -> CheckoutStyle:
        """The prompts of the checkout at ``root``."""
        return CheckoutStyle(root)

    def render(self, task: Task, case: Case | None, track: Track) -> Prompt:  # noqa: ARG002
        """The prompt of one case. UsageError without a checkout, and for what it does not have."""
        if self.root is None:
            raise UsageError(
                "this prompt style is read from a checkout",
                field="--prompt_style npukernelbench",
                remedy="add --rules npukernelbench --checkout PATH",
            )
        if case is None:
            raise ValueError("a prompt of the static track needs a case")
        operator = Checkout(self.root).operator(task.name)
        texts = None if operator is None else OperatorTexts(operator.folder, read_settings(self.root))
        row = None if texts is None else next((row for row in texts.rows if row.id == case.id), None)
        if operator is None or row is None:
            raise UsageError(
                f"the checkout has no case {case.id} of {task.name}",
                field="--checkout",
                remedy="ask for cases of the benchmark: npukb ls tasks --suite npukernelbench",
            )
        text = PromptTexts(self.root).prompt(operator.folder, task, row)
        template = f"{self.name}@checkout"
        return Prompt((Message("user", text),), template, sha256(f"{template}\0{text}".encode()).hexdigest())


def tagged_block(text: str) -> Mapping[str, str] | None:
    """The kernel as the suite takes it out of an answer."""
    tagged = _TAGGED.search(text)
    if tagged is None:
        return None
    content = tagged[1].strip()
    fenced = _FENCED.search(content)
    code = fenced[1].strip() if fenced else content
    return {DEVICE_SOURCE: code} if code else None
