"""Kernels that apply one instruction to a whole array, and NumPy for the same operation.

A kernel cuts the array into tiles; each block loads, computes and stores its share of them in turn, so that a kernel
costs what its instruction and three moves cost. NumPy writes into an array that is already there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

__all__ = ["KERNELS", "TILE", "TYPES", "Kernel"]

TILE = 8192  # elements; three tiles of floats and their bits fit into UB

TYPES: dict[str, Any] = {
    "float": np.float32,
    "half": np.float16,
    "bfloat16_t": ml_dtypes.bfloat16,
    "int16_t": np.int16,
    "int32_t": np.int32,
    "int64_t": np.int64,
    "int8_t": np.int8,
    "uint8_t": np.uint8,
}


@dataclass(frozen=True)
class Kernel:
    """One instruction: ``call`` computes the tensor ``z`` of ``n`` elements from ``a`` and ``b``; ``floor(z, a, b)``
    does the same to whole arrays in NumPy.
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    call: str
    floor: Callable[..., object]
    per_tile: int = TILE
    """Elements of the output that come from one tile."""
    before: str = ""
    """Declarations in front of the loop."""
    bits: bool = False
    """Whether ``b`` holds a bit per element."""

    @property
    def title(self) -> str:
        """The instruction and its types."""
        types = dict.fromkeys((*self.inputs[:1], self.output) if self.per_tile == TILE else self.inputs[:1])
        return f"{self.name} {' to '.join(types)}"

    def source(self, elements: int, passes: int) -> str:
        """The kernel for inputs of ``elements`` elements, with entry ``probe``; it does everything ``passes`` times."""
        names = "ab"[: len(self.inputs)]
        parameters = ", ".join(f"GM_ADDR gm_{name}" for name in (*names, "z", "workspace"))
        lines = [*self._tensors(), *self.before.splitlines()]
        lines.append(f"for (uint32_t pass = 0; pass < {passes}; ++pass)")
        lines.append(f"for (uint32_t tile = GetBlockIdx(); tile < {elements // TILE}; tile += GetBlockNum()) {{")
        lines += [
            f"    DataCopy({name}, global_{name}[tile * {self.step(name)}], {self.step(name)});" for name in names
        ]
        lines += ["    PipeBarrier<PIPE_ALL>();", f"    {self.call}", "    PipeBarrier<PIPE_ALL>();"]
        lines += [
            f"    DataCopy(global_z[tile * {self.step('z')}], z, {self.step('z')});",
            "    PipeBarrier<PIPE_ALL>();",
        ]
        body = "\n".join(f"    {line}" for line in [*lines, "}"])
        return (
            '#include "kernel_operator.h"\nusing namespace AscendC;\n'
            f'extern "C" __global__ __aicore__ void probe({parameters}) {{\n{body}\n}}\n'
        )

    def _tensors(self) -> list[str]:
        lines = [f"const uint32_t n = {TILE};", "TPipe pipe;"]
        for name, kind in zip((*"ab"[: len(self.inputs)], "z"), (*self.inputs, self.output), strict=True):
            lines += [
                f"TBuf<TPosition::VECCALC> buffer_{name};",
                f"pipe.InitBuffer(buffer_{name}, {self.step(name)} * sizeof({kind}));",
                f"LocalTensor<{kind}> {name} = buffer_{name}.Get<{kind}>();",
                f"GlobalTensor<{kind}> global_{name};",
                f"global_{name}.SetGlobalBuffer((__gm__ {kind}*)gm_{name});",
            ]
        return lines

    def step(self, tensor: str) -> int:
        """Elements of ``tensor`` in a tile; whole blocks of 32 bytes."""
        if tensor == "b" and self.bits:
            return TILE // 8
        # Copies move whole blocks of 32 bytes, even for a single result.
        return TILE if tensor != "z" else max(self.per_tile, 32 // np.dtype(TYPES[self.output]).itemsize)

    def arrays(self, elements: int) -> list[NDArray[Any]]:
        """Output and inputs of a kernel over ``elements`` elements."""
        generator = np.random.default_rng(5)
        inputs = []
        for name, kind in zip("ab", self.inputs, strict=False):
            size = elements // TILE * self.step(name)
            if np.issubdtype(TYPES[kind], np.integer):
                inputs.append(generator.integers(0, 100, size).astype(TYPES[kind]))
            else:
                # Positive: logarithms and roots of negative numbers would time NaN.
                inputs.append(generator.uniform(0.01, 10.0, size).astype(np.float32).astype(TYPES[kind]))
        return [np.zeros(elements // TILE * self.step("z"), TYPES[self.output]), *inputs]


def _each(function: Callable[..., object]) -> Callable[..., object]:
    """A universal function with its result first."""
    return lambda z, *sources: function(*sources, out=z)


def _convert(rounded: Callable[..., Any] | None = None) -> Callable[..., object]:
    """Conversion, after rounding where the instruction's mode is not the one of NumPy."""

    def floor(z: NDArray[Any], a: NDArray[Any]) -> None:
        np.copyto(z, a if rounded is None else rounded(a), casting="unsafe")

    return floor


def _compare(z: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    z[:] = np.packbits(a < b, bitorder="little")


def _select(z: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> None:
    z[:] = np.where(np.unpackbits(b, bitorder="little").view(bool), a, z.dtype.type(1.0))


def _reduce(function: Callable[..., object]) -> Callable[..., object]:
    return lambda _, a: function(a)


def _unary(name: str, kind: str, floor: Callable[..., object], call: str = "") -> Kernel:
    return Kernel(name, (kind,), kind, call or f"{name}(z, a, n);", floor)


def _binary(name: str, kind: str, floor: Callable[..., object]) -> Kernel:
    return Kernel(name, (kind, kind), kind, f"{name}(z, a, b, n);", floor)


def _scalar(name: str, kind: str, floor: Callable[..., object]) -> Kernel:
    return Kernel(name, (kind,), kind, f"{name}(z, a, static_cast<{kind}>(3), n);", floor)


def _cast(source: str, to: str, mode: str, rounded: Callable[..., object] | None = None) -> Kernel:
    return Kernel("Cast", (source,), to, f"Cast(z, a, RoundMode::{mode}, n);", _convert(rounded))


def _tensor(name: str, kind: str, function: Callable[..., object], *, index: bool = False) -> Kernel:
    last = ", n, true" if index else ", n"
    room = "TBuf<TPosition::VECCALC> buffer_w;\npipe.InitBuffer(buffer_w, 8192);"
    before = f"{room}\nLocalTensor<{kind}> w = buffer_w.Get<{kind}>();"
    title = f"{name} with index" if index else name
    return Kernel(title, (kind,), kind, f"{name}(z, a, w{last});", _reduce(function), 1, before)


def _arithmetic(kind: str) -> list[Kernel]:
    """Instructions that floats and halves have."""
    zero, three = TYPES[kind](0), TYPES[kind](3)
    return [
        _binary("Add", kind, _each(np.add)),
        _binary("Sub", kind, _each(np.subtract)),
        _binary("Mul", kind, _each(np.multiply)),
        _binary("Div", kind, _each(np.divide)),
        _binary("Max", kind, _each(np.maximum)),
        _binary("Min", kind, _each(np.minimum)),
        _scalar("Adds", kind, lambda z, a: np.add(a, three, out=z)),
        _scalar("Muls", kind, lambda z, a: np.multiply(a, three, out=z)),
        _scalar("Maxs", kind, lambda z, a: np.maximum(a, three, out=z)),
        _unary("Abs", kind, _each(np.abs)),
        _unary("Relu", kind, lambda z, a: np.maximum(a, zero, out=z)),
        _unary("Exp", kind, _each(np.exp)),
        _unary("Ln", kind, _each(np.log)),
        _unary("Sqrt", kind, _each(np.sqrt)),
        _unary("Rsqrt", kind, lambda z, a: np.divide(TYPES[kind](1), np.sqrt(a, out=z), out=z)),
        _unary("Reciprocal", kind, _each(np.reciprocal)),
        Kernel("Duplicate", (), kind, f"Duplicate(z, static_cast<{kind}>(3), n);", lambda z: z.fill(three)),
        Kernel("Compare", (kind, kind), "uint8_t", "Compare(z, a, b, CMPMODE::LT, n);", _compare, TILE // 8),
        Kernel(
            "Select", (kind, "uint8_t"), kind,
            f"Select(z, b, a, static_cast<{kind}>(1), SELMODE::VSEL_TENSOR_SCALAR_MODE, n);", _select, bits=True,
        ),
        _tensor("ReduceSum", kind, np.sum),
        _tensor("ReduceMax", kind, np.max),
        _tensor("ReduceMin", kind, np.min),
        _tensor("ReduceMax", kind, lambda a: (np.argmax(a), np.max(a)), index=True),
        Kernel("Power", (kind, kind), kind, "Power(z, a, b);", _each(np.power)),
        Kernel("Sin", (kind,), kind, "Sin(z, a, n);", _each(np.sin)),
        Kernel("Tanh", (kind,), kind, "Tanh(z, a, n);", _each(np.tanh)),
        Kernel("Log", (kind,), kind, "Log(z, a, n);", _each(np.log)),
    ]  # fmt: skip


#: Types that are cast, by the mode that NumPy needs no function for.
_CASTS = {
    "CAST_RINT": (("float", "half"), ("float", "bfloat16_t"), ("int64_t", "float")),
    "CAST_NONE": (
        ("half", "float"),
        ("bfloat16_t", "float"),
        ("int32_t", "float"),
        ("int64_t", "int32_t"),
        ("int32_t", "int64_t"),
        ("int16_t", "half"),
        ("int8_t", "half"),
        ("uint8_t", "half"),
    ),
    "CAST_TRUNC": (("float", "int32_t"), ("float", "int64_t"), ("half", "int8_t")),
}

KERNELS = (
    *_arithmetic("float"),
    *_arithmetic("half"),
    _binary("Add", "int32_t", _each(np.add)),
    _binary("Mul", "int32_t", _each(np.multiply)),
    _binary("Max", "int32_t", _each(np.maximum)),
    _scalar("Muls", "int32_t", lambda z, a: np.multiply(a, np.int32(3), out=z)),
    _binary("Add", "int16_t", _each(np.add)),
    _binary("Max", "int16_t", _each(np.maximum)),
    _binary("And", "int16_t", _each(np.bitwise_and)),
    _unary("Not", "int16_t", _each(np.invert)),
    _scalar("ShiftLeft", "int32_t", lambda z, a: np.left_shift(a, np.int32(3), out=z)),
    _scalar("ShiftRight", "int32_t", lambda z, a: np.right_shift(a, np.int32(3), out=z)),
    *(_cast(source, to, mode) for mode, pairs in _CASTS.items() for source, to in pairs),
    _cast("float", "int32_t", "CAST_RINT", np.rint),
    _cast("float", "int16_t", "CAST_FLOOR", np.floor),
    _cast("half", "int32_t", "CAST_CEIL", np.ceil),
)
