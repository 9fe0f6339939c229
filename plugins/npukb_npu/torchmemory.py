"""Device memory as tensors of torch_npu: what an operator is given in a program that uses torch.

A buffer is a ``uint8`` tensor, described to aclnn by its ``data_ptr()``; launches go into torch_npu's current stream.
torch keeps memory in blocks of its own, so that a read past a tensor finds another one where memory of the runtime
might fault. Not yet run on hardware.
"""

from __future__ import annotations

from typing import Any

from npukb_npu.codes import AclError

__all__ = ["TORCH_NAMES", "TORCH_NPU_NAMES", "TorchMemory"]

#: What is used of ``torch`` and of ``torch_npu.npu``.
TORCH_NAMES = ("empty", "uint8")
TORCH_NPU_NAMES = ("current_stream", "set_device")
_OUT_OF_MEMORY = 207001


class TorchMemory:
    """Memory and stream of torch_npu on one device. ImportError where it is not installed, or not for this toolkit."""

    def __init__(self, device: int) -> None:
        import torch
        import torch_npu

        self._torch, self._npu, self._device = torch, torch_npu.npu, f"npu:{device}"
        self._npu.set_device(device)
        self._kept: list[Any] = []
        self.name = f"torch_npu {torch_npu.__version__}"

    def malloc(self, size: int) -> int:
        """Address of a new tensor of that many bytes, which lives as long as the process."""
        try:
            tensor = self._torch.empty(size, dtype=self._torch.uint8, device=self._device)
        except RuntimeError as error:
            # torch raises one type for everything: only the message tells
            if "out of memory" not in str(error):
                raise
            raise AclError("torch.empty", _OUT_OF_MEMORY, str(error)) from error
        # torch hands the memory of a tensor that nobody holds to the next one
        self._kept.append(tensor)
        return int(tensor.data_ptr())

    def create_stream(self) -> int:
        """The stream that torch_npu uses."""
        return int(self._npu.current_stream().npu_stream)
