"""The id by which verifiers finds our taskset (``vf-eval npukb-verifiers``): ids are names of top-level modules."""

from npukernelbench.rewards.verifiers import KernelTaskset

__all__ = ["KernelTaskset"]
