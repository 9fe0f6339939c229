"""The part of CANN's runtime API that is used, loaded through ctypes. Not yet run on hardware.

Every function is in one table with its prototype and the page that documents it; ``docs/npu.md`` prints the same table
and a test compares them. A call that fails raises :class:`AclError` with the documented code.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

from npukb_npu.codes import AclError

__all__ = [
    "DEVICE_NORMAL",
    "FUNCTIONS",
    "META_FUNCTIONS",
    "RUNTIME_LIBRARIES",
    "Acl",
    "Attribute",
    "Function",
    "MemcpyKind",
    "find_library",
]

_RUNTIME = "cann/runtime docs/zh/api_ref"
_META = "hiascend.com API/aolapi"


class Function(NamedTuple):
    """One function: what it returns, what it takes, and where that is documented. ``checked``: the result is a code;
    ``needed``: every supported toolkit has it.
    """

    result: Any
    arguments: tuple[Any, ...]
    page: str
    checked: bool = True
    needed: bool = True


#: Functions of the runtime library. Memory is never given back: a worker ends without waiting for a device that may
#: hang, and the driver frees what a process held. Handles (streams, events, device addresses) are untyped pointers.
FUNCTIONS: Mapping[str, Function] = {
    "aclInit": Function(c_int, (c_char_p,), f"{_RUNTIME}/02_initialization_and_deinitialization.md"),
    "aclrtGetVersion": Function(
        c_int, (POINTER(c_int32), POINTER(c_int32), POINTER(c_int32)), f"{_RUNTIME}/24_other_APIs.md"
    ),
    "aclrtSetDevice": Function(c_int, (c_int32,), f"{_RUNTIME}/04_device_management.md"),
    "aclrtGetDeviceCount": Function(c_int, (POINTER(c_uint32),), f"{_RUNTIME}/04_device_management.md"),
    "aclrtGetSocName": Function(c_char_p, (), f"{_RUNTIME}/04_device_management.md", checked=False),
    "aclrtQueryDeviceStatus": Function(c_int, (c_int32, POINTER(c_int)), f"{_RUNTIME}/04_device_management.md"),
    "aclrtGetDeviceInfo": Function(c_int, (c_uint32, c_int, POINTER(c_int64)), f"{_RUNTIME}/04_device_management.md"),
    "aclrtCreateStream": Function(c_int, (POINTER(c_void_p),), f"{_RUNTIME}/06_stream_management.md"),
    "aclrtSynchronizeStreamWithTimeout": Function(c_int, (c_void_p, c_int32), f"{_RUNTIME}/06_stream_management.md"),
    "aclrtMalloc": Function(
        c_int, (POINTER(c_void_p), c_size_t, c_int), f"{_RUNTIME}/11-01_device_memory_malloc_and_free.md"
    ),
    "aclrtMemcpy": Function(
        c_int, (c_void_p, c_size_t, c_void_p, c_size_t, c_int), f"{_RUNTIME}/11-03_memory_copy_and_set.md"
    ),
    "aclrtMemsetAsync": Function(
        c_int, (c_void_p, c_size_t, c_int32, c_size_t, c_void_p), f"{_RUNTIME}/11-03_memory_copy_and_set.md"
    ),
    "aclrtSetOpExecuteTimeOutV2": Function(
        c_int, (c_uint64, POINTER(c_uint64)), "hiascend.com API/runtimeapi/aclcppdevg_03_1986", needed=False
    ),
    "aclrtSetOpExecuteTimeOut": Function(
        c_int, (c_uint32,), "hiascend.com API/appdevgapi/aclpythondevg_01_0774", needed=False
    ),
    "aclrtResetDevice": Function(c_int, (c_int32,), f"{_RUNTIME}/04_device_management.md"),
    "aclFinalize": Function(c_int, (), f"{_RUNTIME}/02_initialization_and_deinitialization.md"),
    "aclrtCreateEventWithFlag": Function(c_int, (POINTER(c_void_p), c_uint32), f"{_RUNTIME}/07_event_management.md"),
    "aclrtRecordEvent": Function(c_int, (c_void_p, c_void_p), f"{_RUNTIME}/07_event_management.md"),
    "aclrtDestroyEvent": Function(c_int, (c_void_p,), f"{_RUNTIME}/07_event_management.md"),
    "aclrtEventElapsedTime": Function(
        c_int, (POINTER(c_float), c_void_p, c_void_p), f"{_RUNTIME}/07_event_management.md"
    ),
    "aclGetRecentErrMsg": Function(c_char_p, (), f"{_RUNTIME}/13_exception_handling.md", checked=False),
}

#: Functions that describe arguments to operators called through aclnn; they are in a library of their own.
META_FUNCTIONS: Mapping[str, Function] = {
    "aclCreateTensor": Function(
        c_void_p,
        (POINTER(c_int64), c_uint64, c_int, POINTER(c_int64), c_int64, c_int, POINTER(c_int64), c_uint64, c_void_p),
        f"{_META}/operatorlist_00019",
        checked=False,
    ),
    "aclCreateTensorList": Function(
        c_void_p, (POINTER(c_void_p), c_uint64), f"{_META}/operatorlist_00020", checked=False
    ),
    "aclGetViewShape": Function(
        c_int, (c_void_p, POINTER(POINTER(c_int64)), POINTER(c_uint64)), f"{_META}/operatorlist_00019", needed=False
    ),
    "aclCreateScalar": Function(c_void_p, (c_void_p, c_int), f"{_META}/operatorlist_00011", checked=False),
    "aclCreateScalarList": Function(
        c_void_p, (POINTER(c_void_p), c_uint64), f"{_META}/operatorlist_00011", checked=False
    ),
    "aclCreateIntArray": Function(c_void_p, (POINTER(c_int64), c_uint64), f"{_META}/operatorlist_00011", checked=False),
    "aclCreateFloatArray": Function(
        c_void_p, (POINTER(c_float), c_uint64), f"{_META}/operatorlist_00011", checked=False
    ),
    "aclCreateBoolArray": Function(
        c_void_p, (POINTER(ctypes.c_bool), c_uint64), f"{_META}/operatorlist_00011", checked=False
    ),
}

#: The runtime's library; the second name is that of older toolkits.
RUNTIME_LIBRARIES = ("libacl_rt.so", "libascendcl.so")
META_LIBRARIES = ("libnnopbase.so",)

#: ``aclrtDeviceStatus``: the value for a device that works.
DEVICE_NORMAL = 0
_EVENT_TIME_LINE = 0x00000008
_MALLOC_HUGE_FIRST = 0
_FORMAT_ND = 2


class MemcpyKind:
    """``aclrtMemcpyKind``."""

    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3


class Attribute:
    """``aclrtDevAttr``: what can be asked about a device."""

    CUBE_CORES = 102
    VECTOR_CORES = 201
    MEMORY_BYTES = 301
    L2_BYTES = 302


def find_library(names: tuple[str, ...], folders: tuple[Path, ...]) -> str:
    """Path of the first library that is there; the first bare name, for the loader to look for, when none is."""
    # a newer library counts before an older one, in whichever folder it lies
    return next((str(folder / name) for name in names for folder in folders if (folder / name).exists()), names[0])


class Acl:
    """The runtime of one process. Functions are methods of their own names without ``acl`` and ``aclrt``."""

    def __init__(self, folders: tuple[Path, ...] = (), *, meta: bool = False) -> None:
        self._functions = _load(find_library(RUNTIME_LIBRARIES, folders), FUNCTIONS)
        self._meta = _load(find_library(META_LIBRARIES, folders), META_FUNCTIONS) if meta else {}
        self._kept: list[object] = []

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the table; AclError when it returns a code other than 0."""
        result = self._functions[name](*arguments)
        if FUNCTIONS[name].checked and result != 0:
            raise AclError(name, result, self.recent_error())
        return result

    def recent_error(self) -> str:
        """The runtime's own words about the last failure."""
        text = self._functions["aclGetRecentErrMsg"]()
        return text.decode("utf-8", errors="replace").strip() if text else ""

    def open(self, device: int, *, initialise: bool = True) -> None:
        """Take a device. Not initialised is what torch_npu has initialised already: a process may do that once."""
        if initialise:
            self.call("aclInit", None)
        self.call("aclrtSetDevice", device)

    def device_count(self) -> int:
        """Devices that this process may use."""
        count = c_uint32()
        self.call("aclrtGetDeviceCount", ctypes.byref(count))
        return count.value

    def soc_name(self) -> str:
        """Name of the chip, for instance ``Ascend910B3``."""
        name = self.call("aclrtGetSocName")
        return name.decode() if name else ""

    def version(self) -> str:
        """Version of the runtime's interface."""
        numbers = (c_int32(), c_int32(), c_int32())
        self.call("aclrtGetVersion", *(ctypes.byref(number) for number in numbers))
        return ".".join(str(number.value) for number in numbers)

    def device_works(self, device: int) -> bool:
        """What the runtime says about a device."""
        # not 0, which means that the device works, in case nothing is written here
        status = c_int(-1)
        self.call("aclrtQueryDeviceStatus", device, ctypes.byref(status))
        return status.value == DEVICE_NORMAL

    def device_info(self, device: int, attribute: int) -> int:
        """A number of a device; see :class:`Attribute`."""
        value = c_int64()
        self.call("aclrtGetDeviceInfo", device, attribute, ctypes.byref(value))
        return value.value

    def limit_kernels(self, timeout_s: float) -> float:
        """Have the hardware stop kernels that run longer; the limit that it took, 0 where it knows none.

        Without a limit a kernel that does not end keeps its cores for minutes, whatever becomes of its process.
        """
        actual = c_uint64()
        if "aclrtSetOpExecuteTimeOutV2" in self._functions:
            self.call("aclrtSetOpExecuteTimeOutV2", int(timeout_s * 1e6), ctypes.byref(actual))
            return actual.value / 1e6
        if "aclrtSetOpExecuteTimeOut" in self._functions:
            # the older function counts in whole seconds
            self.call("aclrtSetOpExecuteTimeOut", max(1, math.ceil(timeout_s)))
            return float(max(1, math.ceil(timeout_s)))
        return 0.0

    def finish(self, device: int) -> None:
        """Give the device back in order: profilers write down what they saw only then."""
        self.call("aclrtResetDevice", device)
        self.call("aclFinalize")

    def view_shape(self, tensor: int) -> tuple[int, ...]:
        """The shape of a described tensor, which an operator may have changed."""
        dims, rank = POINTER(c_int64)(), c_uint64()
        if "aclGetViewShape" not in self._meta:
            raise AclError("aclGetViewShape", -1, "this toolkit does not tell shapes that a kernel decides")
        if code := self._meta["aclGetViewShape"](tensor, ctypes.byref(dims), ctypes.byref(rank)):
            raise AclError("aclGetViewShape", code, self.recent_error())
        return tuple(dims[i] for i in range(rank.value))

    def create_stream(self) -> int:
        """A new stream."""
        return self._created("aclrtCreateStream")

    def create_event(self) -> int:
        """A new event that records when it was reached."""
        return self._created("aclrtCreateEventWithFlag", c_uint32(_EVENT_TIME_LINE))

    def malloc(self, size: int) -> int:
        """Address of new device memory."""
        # huge pages where there are enough of them, usual pages otherwise
        return self._created("aclrtMalloc", c_size_t(size), _MALLOC_HUGE_FIRST)

    def copy(self, to: int, source: int, size: int, kind: int) -> None:
        """Copy ``size`` bytes and wait."""
        self.call("aclrtMemcpy", to, size, source, size, kind)

    def elapsed_us(self, start: int, end: int) -> float:
        """Time between two events that have been reached; the API counts in milliseconds."""
        milliseconds = c_float()
        self.call("aclrtEventElapsedTime", ctypes.byref(milliseconds), start, end)
        return milliseconds.value * 1e3

    def _created(self, name: str, *arguments: Any) -> int:
        handle = c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle.value or 0

    def tensor(self, shape: tuple[int, ...], dtype: int, address: int) -> int:
        """A dense tensor at a device address."""
        dims = (c_int64 * max(len(shape), 1))(*shape)
        strides = (c_int64 * max(len(shape), 1))(*_strides(shape))
        return self._described(
            "aclCreateTensor", dims, len(shape), dtype, strides, 0, _FORMAT_ND, dims, len(shape), address
        )

    def handles(self, name: str, members: list[int]) -> int:
        """A list of tensors or scalars."""
        return self._described(name, (c_void_p * len(members))(*members), len(members))

    def scalar(self, data: bytes, dtype: int) -> int:
        """A scalar with these bytes."""
        buffer = ctypes.create_string_buffer(data, len(data))
        return self._described("aclCreateScalar", ctypes.cast(buffer, c_void_p), dtype)

    def array(self, name: str, ctype: Any, values: tuple[Any, ...]) -> int:
        """An array of numbers on the host."""
        return self._described(name, (ctype * max(len(values), 1))(*values), len(values))

    def _described(self, name: str, *arguments: Any) -> int:
        self._kept.append(arguments)  # the description may point to what it was made of
        handle = self._meta[name](*arguments)
        if not handle:
            raise AclError(name, -1, self.recent_error())
        return int(handle)


def _load(library: str, table: Mapping[str, Function]) -> dict[str, Any]:
    loaded = ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    functions = {}
    for name, function in table.items():
        symbol = getattr(loaded, name) if function.needed else getattr(loaded, name, None)
        if symbol is None:
            continue
        # without them ctypes passes and returns 32-bit integers, which cuts addresses off
        symbol.restype, symbol.argtypes = function.result, function.arguments
        functions[name] = symbol
    return functions


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))
