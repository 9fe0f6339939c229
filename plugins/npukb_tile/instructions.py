"""One instruction of the compute pass as a line or two of Ascend C."""

from __future__ import annotations

from npukb_tile.compute import Instruction, Operand
from npukb_tile.cpp import render
from npukb_tile.dtypes import DTYPES
from npukb_tile.ir import Expr, Kind, Num, ShapeClass
from npukb_tile.operations import OPERATIONS

__all__ = ["element_type", "spell"]

_EXTENT = {ShapeClass.FULL: "count", ShapeClass.ROW: "cols", ShapeClass.COLUMN: "rows"}
_PLAIN = {"mask": "uint8_t", "bytes": "uint8_t", "words": "float"}
_MODES = {"": "CAST_RINT", "none": "CAST_NONE"}


def element_type(dtype: str) -> str:
    """C++ name of an element type; type variables are the kernel's template parameters."""
    return _PLAIN.get(dtype) or (DTYPES[dtype].cpp if dtype in DTYPES else dtype)


def spell(instruction: Instruction) -> list[str]:
    """The calls of one instruction."""
    target, extent = instruction.target, _EXTENT[instruction.target.shape]
    kind = OPERATIONS[instruction.operation].kind if instruction.operation in OPERATIONS else instruction.operation
    if kind == "unary":
        return _unary(instruction, extent)
    if kind == "binary":
        return _binary(instruction, extent)
    if kind == "compare":
        return _compare(instruction, extent)
    if kind in ("across", "down"):
        name = ("Row" if kind == "across" else "Col") + instruction.operation[4:].capitalize()
        work = [tile.name for tile in instruction.work]
        return [_call(name, target.name, _name(instruction.operands[0]), *work, "rows", "cols", "pitch")]
    if kind == "fill":
        return [_call("Duplicate", target.name, _scalar(instruction.operands[0], target.dtype), extent)]
    if kind == "copy":
        # Adding 0 copies any number of elements; DataCopy inside the unified buffer moves whole blocks of 32 bytes.
        return [_call("Adds", target.name, _name(instruction.operands[0]), _zero(target.dtype), extent)]
    if kind == "cast":
        return [_cast(instruction, extent)]
    if kind in ("widened", "wide_result"):
        # These two decide at compile time whether the temporary is used at all, so they are given its memory.
        held = f"temporary{target.slot}Buffer.template Get<float>()"
        more = [extent] if kind == "widened" else []
        name = "Widened" if kind == "widened" else "WideResult"
        return [f"LocalTensor<float> {target.name} = {_call(name, held, _name(instruction.operands[0]), *more)}"]
    if kind in ("widen", "widen_number", "narrow", "narrowed"):
        name = "WidenNumber" if kind == "widen_number" else kind.capitalize()
        return [_call(name, target.name, _name(instruction.operands[0]), extent)]
    if kind == "where":
        return [_where(instruction, extent)]
    if kind.startswith("mask_"):
        return [_mask(instruction, extent)]
    return _placed(instruction, extent)


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)});"


def _name(operand: Operand | Expr) -> str:
    assert isinstance(operand, Operand)
    return operand.name


def _scalar(value: Operand | Expr, dtype: str) -> str:
    assert not isinstance(value, Operand)
    # A literal becomes one of that type: a cast of an integer would only be longer to read.
    if isinstance(value, Num) and dtype == "float32":
        return render(Num(float(value.value), Kind.FLOAT, line=value.line))
    text = render(value)
    if dtype == "float32" and value.kind is Kind.FLOAT:
        return text
    return f"static_cast<{element_type(dtype)}>({text})"


def _zero(dtype: str) -> str:
    return "0.0f" if dtype == "float32" else f"static_cast<{element_type(dtype)}>(0)"


def _unary(instruction: Instruction, extent: str) -> list[str]:
    target, source = instruction.target, _name(instruction.operands[0])
    if instruction.operation == "neg":
        # There is no instruction that negates.
        minus = "-1.0f" if target.dtype == "float32" else f"static_cast<{element_type(target.dtype)}>(-1)"
        return [_call("Muls", target.name, source, minus, extent)]
    name = OPERATIONS[instruction.operation].instruction
    return [_call(name, target.name, source, *(tile.name for tile in instruction.work), extent)]


def _binary(instruction: Instruction, extent: str) -> list[str]:
    left, right = instruction.operands
    target, operation = instruction.target, OPERATIONS[instruction.operation]
    assert isinstance(left, Operand)
    if not isinstance(right, Operand):
        return [_with_scalar(instruction, left, right, extent)]
    if left.shape is right.shape:
        return [_call(operation.instruction, target.name, left.name, right.name, extent)]
    turned = right.shape is ShapeClass.FULL
    tile, vector = (right, left) if turned else (left, right)
    across = "Column" if vector.shape is ShapeClass.COLUMN else "Row"
    # For these the order of operands does not matter, so one function serves both.
    swaps = instruction.operation in ("add", "mul", "max", "min")
    name = f"{operation.instruction}{'From' if turned and not swaps else ''}{across}"
    return [
        _call(name, target.name, tile.name, vector.name, *(t.name for t in instruction.work), "rows", "cols", "pitch")
    ]


def _with_scalar(instruction: Instruction, left: Operand, right: Expr, extent: str) -> str:
    dtype, operation = instruction.target.dtype, OPERATIONS[instruction.operation]
    # Instructions with a scalar add, multiply and compare; there is none that subtracts or divides.
    if instruction.operation == "sub":
        negative = Num(-right.value, right.kind, line=right.line) if isinstance(right, Num) else None
        value = _scalar(negative, dtype) if negative else f"-({_scalar(right, dtype)})"
        return _call("Adds", instruction.target.name, left.name, value, extent)
    if instruction.operation == "div":
        # A product per element: Div would take at least twice as long.
        return _call("Muls", instruction.target.name, left.name, f"1.0f / ({_scalar(right, dtype)})", extent)
    return _call(operation.scalar_instruction, instruction.target.name, left.name, _scalar(right, dtype), extent)


def _compare(instruction: Instruction, extent: str) -> list[str]:
    left, right = instruction.operands
    assert isinstance(left, Operand)
    mode = f"CMPMODE::{OPERATIONS[instruction.operation].instruction}"
    known = left.dtype in DTYPES
    per_repeat = str(256 // DTYPES[left.dtype].itemsize) if known else f"256 / sizeof({element_type(left.dtype)})"
    # Compare takes whole repeats of 256 bytes; nothing reads the bits beyond the tile.
    lanes = f"RoundUp({extent}, {per_repeat})"
    if isinstance(right, Operand):
        return [_call("Compare", instruction.target.name, left.name, right.name, mode, lanes)]
    return [_call("CompareScalar", instruction.target.name, left.name, _scalar(right, left.dtype), mode, lanes)]


def _where(instruction: Instruction, extent: str) -> str:
    mask, yes, no = instruction.operands
    if isinstance(no, Operand):
        mode, other = "SELMODE::VSEL_TENSOR_TENSOR_MODE", no.name
    else:
        mode, other = "SELMODE::VSEL_TENSOR_SCALAR_MODE", _scalar(no, instruction.target.dtype)
    return _call("Select", instruction.target.name, _name(mask), _name(yes), other, mode, extent)


def _mask(instruction: Instruction, extent: str) -> str:
    # The instructions on bits are defined for integers of 16 bits.
    words = [f"{_name(operand)}.ReinterpretCast<uint16_t>()" for operand in instruction.operands]
    name = OPERATIONS[instruction.operation[5:]].instruction
    return _call(name, f"{instruction.target.name}.ReinterpretCast<uint16_t>()", *words, f"CeilDiv({extent}, 16)")


def _cast(instruction: Instruction, extent: str) -> str:
    [source] = instruction.operands
    assert isinstance(source, Operand)
    mode = _MODES.get(instruction.mode, f"CAST_{instruction.mode.upper()}")
    widens = {("float16", "float32"), ("bfloat16", "float32"), ("int16", "float32"), ("int32", "int64")}
    from_bytes = source.dtype in ("bool", "int8", "uint8")
    # Widening is exact, and the instruction takes no rounding mode for it.
    if (source.dtype, instruction.target.dtype) in widens or from_bytes:
        mode = "CAST_NONE"
    return _call("Cast", instruction.target.name, source.name, f"RoundMode::{mode}", extent)


def _placed(instruction: Instruction, extent: str) -> list[str]:
    target = instruction.target.name
    if instruction.operation == "argsort":
        work = [tile.name for tile in instruction.work]
        return [_call("ArgSort", target, _name(instruction.operands[0]), *work, extent)]
    if OPERATIONS[instruction.operation].kind == "iota":
        return [_call("CreateVecIndex", target, "static_cast<int32_t>(0)", extent)]
    scratch = instruction.work[0].name
    if instruction.operation == "shift":
        source, distance, fill = instruction.operands
        assert not isinstance(distance, Operand)
        return [_call("Shift", target, _name(source), scratch, render(distance), _scalar(fill, "float32"), extent)]
    source, index, *shift = instruction.operands
    size = DTYPES[instruction.target.dtype].itemsize
    base = "0"
    if shift:
        assert not isinstance(shift[0], Operand)
        base = f"static_cast<uint32_t>(({render(shift[0])}) * {size})"
    return [
        # Gather takes offsets in bytes, a program gives element numbers.
        _call("Muls", scratch, _name(index), f"static_cast<int32_t>({size})", extent),
        _call("Gather", target, _name(source), f"{scratch}.ReinterpretCast<uint32_t>()", base, extent),
    ]
