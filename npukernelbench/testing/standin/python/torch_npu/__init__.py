"""The stand-in of torch_npu. It says so in its version."""

from __future__ import annotations

import os

from . import npu  # noqa: F401  torch_npu has it as an attribute

__version__ = "2.12.0+standin"

if os.environ.get("ASCEND_STANDIN_TORCH") == "broken":
    raise ImportError("the stand-in of torch_npu was told not to fit the toolkit")
