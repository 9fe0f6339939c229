"""Searches: strategies that ask a model for many kernels and keep the one that is best on public cases.

``best-of`` asks the same question again, ``optimise`` goes on from the best kernel so far, ``evolve`` keeps islands of
kernels that differ in what they do. A judge's call is a turn, so that all of them compare at equal budgets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from npukernelbench import hookimpl

if TYPE_CHECKING:
    from npukernelbench.plugins import Register

NPUKB_PLUGIN_API = ">=1,<2"


@hookimpl
def register_strategies(register: Register) -> None:
    """``--strategy best-of``, ``optimise`` and ``evolve``."""
    register(
        "best-of",
        "npukb_search.strategies:BestOf",
        description="asks several times, and the best kernel on public cases is the answer (calls=N,tokens=N)",
    )
    register(
        "optimise",
        "npukb_search.strategies:Optimise",
        description="goes on from the best kernel so far, by its messages and profile (calls=N,tokens=N)",
    )
    register(
        "evolve",
        "npukb_search.strategies:Evolve",
        description="islands of kernels that differ in what they do (calls=N,tokens=N,islands=N,migration=N)",
    )
