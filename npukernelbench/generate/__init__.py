"""Asking models, and taking code out of what they answer.

The names a plugin's author needs are here and load lazily: ``from npukernelbench.generate import TextBackend``.
Extraction itself is :func:`npukernelbench.generate.extract.extract`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.generate.ask import answers, make_backend
    from npukernelbench.generate.backend import (
        Backend,
        Capabilities,
        Described,
        Furnished,
        GenerationFault,
        GenerationRequest,
        GenerationResult,
        NoArgs,
        Preferences,
        SamplingParams,
        TextBackend,
    )
    from npukernelbench.generate.checkpoint import Place, checkpoint_facts, find_checkpoint
    from npukernelbench.generate.extract import Parser, candidate_of
    from npukernelbench.generate.fences import wrap
    from npukernelbench.generate.repair import feedback, next_prompt
    from npukernelbench.generate.thinking import split_thinking
    from npukernelbench.nouns.knowledge import Hints

__all__ = [
    "Backend",
    "Capabilities",
    "Described",
    "Furnished",
    "GenerationFault",
    "GenerationRequest",
    "GenerationResult",
    "Hints",
    "NoArgs",
    "Parser",
    "Place",
    "Preferences",
    "SamplingParams",
    "TextBackend",
    "answers",
    "candidate_of",
    "checkpoint_facts",
    "feedback",
    "find_checkpoint",
    "make_backend",
    "next_prompt",
    "split_thinking",
    "wrap",
]

_MODULES = {
    "answers": "ask",
    "make_backend": "ask",
    "Hints": ".nouns.knowledge",
    "Parser": "extract",
    "Place": "checkpoint",
    "candidate_of": "extract",
    "checkpoint_facts": "checkpoint",
    "feedback": "repair",
    "find_checkpoint": "checkpoint",
    "next_prompt": "repair",
    "split_thinking": "thinking",
    "wrap": "fences",
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_MODULES.get(name, 'backend')}", __name__), name)
