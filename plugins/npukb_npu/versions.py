"""Which torch, torch_npu and CANN belong together. Not yet run on hardware.

Source: COMPATIBILITY.md and README.md of the torch_npu repository (gitcode.com/Ascend/pytorch), section on versions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["MATCHES", "Match", "mismatch"]


class Match(NamedTuple):
    """One documented row: a torch_npu package, the torch it is for, and the CANN versions it was released with."""

    torch_npu: str
    torch: str
    cann: str


MATCHES: tuple[Match, ...] = (
    Match("2.12.0.post2", "2.12.0", "9.1"),
    Match("2.11.0.post2", "2.11.0", "9.1"),
    Match("2.10.0.post6", "2.10.0", "9.1"),
    Match("2.9.0.post8", "2.9.0", "9.1"),
    Match("2.7.1.post10", "2.7.1", "9.1"),
    Match("2.12.0", "2.12.0", "9.1.0"),
    Match("2.11.0", "2.11.0", "9.1.0"),
    Match("2.10.0.post4", "2.10.0", "9.1.0"),
    Match("2.9.0.post6", "2.9.0", "9.1.0"),
    Match("2.7.1.post8", "2.7.1", "9.1.0"),
    Match("2.10.0", "2.10.0", "9.0.0"),
    Match("2.9.0.post2", "2.9.0", "9.0.0"),
    Match("2.8.0.post4", "2.8.0", "9.0.0"),
    Match("2.7.1.post4", "2.7.1", "9.0.0"),
    Match("2.9.0", "2.9.0", "8.5.0"),
    Match("2.8.0.post2", "2.8.0", "8.5.0"),
    Match("2.7.1.post2", "2.7.1", "8.5.0"),
    Match("2.6.0.post5", "2.6.0", "8.5.0"),
    Match("2.8.0", "2.8.0", "8.3.RC1"),
    Match("2.7.1", "2.7.1", "8.3.RC1"),
    Match("2.6.0.post3", "2.6.0", "8.3.RC1"),
    Match("2.6.0", "2.6.0", "8.2.RC1"),
)


def mismatch(torch: str, torch_npu: str, cann: str) -> str:
    """What does not fit, in one sentence; empty when the documented table has the combination or does not know it."""
    # builds of one release differ in what follows the plus, such as +cpu
    torch, torch_npu = torch.partition("+")[0], torch_npu.partition("+")[0]
    base = re.sub(r"\.(post|rc|dev)\d+$", "", torch_npu)
    if base != torch:
        return f"torch_npu {torch_npu} is for torch {base}, but torch {torch} is installed"
    known = [match.cann for match in MATCHES if match.torch_npu == torch_npu]
    if known and cann and not any(_same(cann, version) for version in known):
        wanted = " or ".join(known)
        return f"torch_npu {torch_npu} was released with CANN {wanted}, but CANN {cann} is installed"
    return ""


def _same(installed: str, documented: str) -> bool:
    """Whether the installed version is the documented one; a documented ``9.1`` takes every ``9.1.x``."""
    first = [part.lower() for part in installed.split(".")]
    second = [part.lower() for part in documented.split(".")]
    return first[: len(second)] == second
