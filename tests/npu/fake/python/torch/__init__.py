"""A fake of torch for the tests' fake device: tensors are plain memory of the host. It says so in its version."""

import ctypes
import os

__version__ = "2.12.0+fake"
uint8 = "fake uint8"
made = []


class Tensor:
    """So many bytes."""

    def __init__(self, size):
        self._data = ctypes.create_string_buffer(size)

    def data_ptr(self):
        return ctypes.addressof(self._data)


def empty(size, *, dtype, device):
    assert dtype is uint8, dtype
    assert device == "npu:0", device
    most = int(os.environ.get("ASCEND_FAKE_OOM", 0))
    if most and size > most:
        raise RuntimeError("NPU out of memory. Tried to allocate more than the fake device has")
    made.append(Tensor(size))
    return made[-1]
