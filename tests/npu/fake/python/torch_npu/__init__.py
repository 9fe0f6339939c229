"""A fake of torch_npu for the tests' fake device. It says so in its version."""

import os

from . import npu  # noqa: F401

__version__ = "2.12.0+fake"

if os.environ.get("ASCEND_FAKE_TORCH") == "broken":
    raise ImportError("the fake torch_npu was told not to fit the toolkit")
