"""Asking models, and taking code out of what they answer.

The names a plugin's author needs are here and load lazily: ``from npukernelbench.generate import TextBackend``.
Extraction itself is :func:`npukernelbench.generate.extract.extract`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench.lazy import lazily, names_of

if TYPE_CHECKING:
    from npukernelbench.generate.ask import answers as answers
    from npukernelbench.generate.ask import make_backend as make_backend
    from npukernelbench.generate.backend import Backend as Backend
    from npukernelbench.generate.backend import Capabilities as Capabilities
    from npukernelbench.generate.backend import Described as Described
    from npukernelbench.generate.backend import Furnished as Furnished
    from npukernelbench.generate.backend import GenerationFault as GenerationFault
    from npukernelbench.generate.backend import GenerationRequest as GenerationRequest
    from npukernelbench.generate.backend import GenerationResult as GenerationResult
    from npukernelbench.generate.backend import NoArgs as NoArgs
    from npukernelbench.generate.backend import Preferences as Preferences
    from npukernelbench.generate.backend import SamplingParams as SamplingParams
    from npukernelbench.generate.backend import TextBackend as TextBackend
    from npukernelbench.generate.checkpoint import Place as Place
    from npukernelbench.generate.checkpoint import checkpoint_facts as checkpoint_facts
    from npukernelbench.generate.checkpoint import find_checkpoint as find_checkpoint
    from npukernelbench.generate.extract import Parser as Parser
    from npukernelbench.generate.extract import candidate_of as candidate_of
    from npukernelbench.generate.fences import wrap as wrap
    from npukernelbench.generate.repair import feedback as feedback
    from npukernelbench.generate.repair import next_prompt as next_prompt
    from npukernelbench.generate.thinking import split_thinking as split_thinking
    from npukernelbench.nouns.knowledge import Hints as Hints

_MODULES = {
    ".nouns.knowledge": ("Hints",),
    "ask": ("answers", "make_backend"),
    "backend": (
        "Backend",
        "Capabilities",
        "Described",
        "Furnished",
        "GenerationFault",
        "GenerationRequest",
        "GenerationResult",
        "NoArgs",
        "Preferences",
        "SamplingParams",
        "TextBackend",
    ),
    "checkpoint": ("Place", "checkpoint_facts", "find_checkpoint"),
    "extract": ("Parser", "candidate_of"),
    "fences": ("wrap",),
    "repair": ("feedback", "next_prompt"),
    "thinking": ("split_thinking",),
}
__all__ = names_of(_MODULES)
__getattr__ = lazily(__name__, _MODULES)
