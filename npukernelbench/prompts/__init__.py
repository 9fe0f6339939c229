"""What a model is asked: prompt styles, the interface they show, and the constants that specialise a golden kernel.

A style is any object with ``render(task, case, track) -> Prompt``, registered by name. ``default`` and ``terse`` are
ours.
"""

from npukernelbench.prompts.golden import GoldenKernels, golden_kernel
from npukernelbench.prompts.interface import interface_skeleton, signature
from npukernelbench.prompts.knowledge import make_reference
from npukernelbench.prompts.specialise import case_prelude, specialise
from npukernelbench.prompts.style import PromptStyle, TemplateStyle, load_style, tracks_of

__all__ = [
    "GoldenKernels",
    "PromptStyle",
    "TemplateStyle",
    "case_prelude",
    "golden_kernel",
    "interface_skeleton",
    "load_style",
    "make_reference",
    "signature",
    "specialise",
    "tracks_of",
]
