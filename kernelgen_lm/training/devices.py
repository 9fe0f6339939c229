"""Which accelerator there is: a GPU, an Ascend NPU, or none. Nothing here has run on an NPU."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

__all__ = ["accelerator"]


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
