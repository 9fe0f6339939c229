"""Evaluation harness for Ascend C kernels written by language models.

The public names for plugin authors live here and load lazily; importing this package loads no plugin, no NumPy, no
torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from npukernelbench.hookspecs import hookimpl as hookimpl

__version__ = "0.1.0"
__all__ = ["__version__", "hookimpl"]


def __getattr__(name: str) -> object:
    if name == "hookimpl":
        from npukernelbench.hookspecs import hookimpl

        return hookimpl
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
