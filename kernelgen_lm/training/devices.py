"""Which accelerator there is (a GPU, an Ascend NPU, or none), and which of the processes that train together this is.

Nothing here has run on an NPU. Launchers of several processes (``torchrun``, ``accelerate launch``) say in the
environment how many there are; what a run writes is written by the first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from kernelgen_lm.corpus.sample import write_lines
from npukernelbench.errors import UsageError

__all__ = ["accelerator", "is_first", "one_process", "processes", "record"]


def accelerator() -> str:
    """``cuda``, ``npu`` (with torch_npu installed), or nothing."""
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if find_spec("torch_npu") is not None:
        with suppress(ImportError, OSError, RuntimeError):  # without its toolkit it cannot be imported
            import_module("torch_npu")
    npu = getattr(torch, "npu", None)
    return "npu" if npu is not None and npu.is_available() else ""


def processes() -> int:
    """How many processes train together."""
    # From the environment, as torch.distributed is initialised later than settings are checked.
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process writes and tells what the run leaves behind."""
    return os.environ.get("RANK", "0") == "0"


def one_process(field: str, remedy: str) -> None:
    """UsageError where several processes train together and this setting is for one."""
    if processes() > 1:
        raise UsageError(f"{field} is for one process, and {processes()} were launched", field=field, remedy=remedy)


def record(path: Path, lines: Iterable[str]) -> None:
    """Write a file of the run, whole or not at all, in the first process alone."""
    if is_first():
        write_lines(path, lines)
