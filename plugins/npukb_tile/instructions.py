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


def spell(one: Instruction) -> list[str]:
    """The calls of one instruction."""
    target, extent = one.target, _EXTENT[one.target.shape]
    kind = OPERATIONS[one.operation].kind if one.operation in OPERATIONS else one.operation
    if kind == "unary":
        return _unary(one, extent)
    if kind == "binary":
        return _binary(one, extent)
    if kind == "compare":
        return _compare(one, extent)
    if kind in ("across", "down"):
        name = ("Row" if kind == "across" else "Col") + one.operation[4:].capitalize()
        work = [tile.name for tile in one.work]
        return [_call(name, target.name, _name(one.operands[0]), *work, "rows", "cols", "pitch")]
    if kind == "fill":
        return [_call("Duplicate", target.name, _scalar(one.operands[0], target.dtype), extent)]
    if kind == "copy":
        return [_call("Adds", target.name, _name(one.operands[0]), _zero(target.dtype), extent)]
    if kind == "cast":
        return [_cast(one, extent)]
    if kind in ("widened", "wide_result"):
        held = f"temporary{target.slot}Buffer.template Get<float>()"
        more = [extent] if kind == "widened" else []
        name = "Widened" if kind == "widened" else "WideResult"
        return [f"LocalTensor<float> {target.name} = {_call(name, held, _name(one.operands[0]), *more)}"]
    if kind in ("widen", "narrow", "narrowed"):
        return [_call(kind.capitalize(), target.name, _name(one.operands[0]), extent)]
    if kind == "where":
        return [_where(one, extent)]
    if kind.startswith("mask_"):
        return [_mask(one, extent)]
    return _placed(one, extent)


def _call(name: str, *arguments: str) -> str:
    return f"{name}({', '.join(arguments)});"


def _name(operand: Operand | Expr) -> str:
    assert isinstance(operand, Operand)
    return operand.name


def _scalar(value: Operand | Expr, dtype: str) -> str:
    assert not isinstance(value, Operand)
    if isinstance(value, Num) and dtype == "float32":
        return render(Num(float(value.value), Kind.FLOAT, value.line))
    text = render(value)
    if dtype == "float32" and value.kind is Kind.FLOAT:
        return text
    return f"static_cast<{element_type(dtype)}>({text})"


def _zero(dtype: str) -> str:
    return "0.0f" if dtype == "float32" else f"static_cast<{element_type(dtype)}>(0)"


def _unary(one: Instruction, extent: str) -> list[str]:
    target, source = one.target, _name(one.operands[0])
    if one.operation == "neg":
        minus = "-1.0f" if target.dtype == "float32" else f"static_cast<{element_type(target.dtype)}>(-1)"
        return [_call("Muls", target.name, source, minus, extent)]
    name = OPERATIONS[one.operation].instruction
    return [_call(name, target.name, source, *(tile.name for tile in one.work), extent)]


def _binary(one: Instruction, extent: str) -> list[str]:
    left, right = one.operands
    target, operation = one.target, OPERATIONS[one.operation]
    assert isinstance(left, Operand)
    if not isinstance(right, Operand):
        return [_with_scalar(one, left, right, extent)]
    if left.shape is right.shape:
        return [_call(operation.instruction, target.name, left.name, right.name, extent)]
    turned = right.shape is ShapeClass.FULL
    tile, vector = (right, left) if turned else (left, right)
    across = "Column" if vector.shape is ShapeClass.COLUMN else "Row"
    swaps = one.operation in ("add", "mul", "max", "min")
    name = f"{operation.instruction}{'From' if turned and not swaps else ''}{across}"
    return [_call(name, target.name, tile.name, vector.name, *(t.name for t in one.work), "rows", "cols", "pitch")]


def _with_scalar(one: Instruction, left: Operand, right: Expr, extent: str) -> str:
    dtype, operation = one.target.dtype, OPERATIONS[one.operation]
    if one.operation == "sub":
        negative = Num(-right.value, right.kind, right.line) if isinstance(right, Num) else None
        value = _scalar(negative, dtype) if negative else f"-({_scalar(right, dtype)})"
        return _call("Adds", one.target.name, left.name, value, extent)
    if one.operation == "div":
        return _call("Muls", one.target.name, left.name, f"1.0f / ({_scalar(right, dtype)})", extent)
    return _call(operation.scalar_instruction, one.target.name, left.name, _scalar(right, dtype), extent)


def _compare(one: Instruction, extent: str) -> list[str]:
    left, right = one.operands
    assert isinstance(left, Operand)
    mode = f"CMPMODE::{OPERATIONS[one.operation].instruction}"
    known = left.dtype in DTYPES
    per_repeat = str(256 // DTYPES[left.dtype].itemsize) if known else f"256 / sizeof({element_type(left.dtype)})"
    lanes = f"RoundUp({extent}, {per_repeat})"
    if isinstance(right, Operand):
        return [_call("Compare", one.target.name, left.name, right.name, mode, lanes)]
    return [_call("CompareScalar", one.target.name, left.name, _scalar(right, left.dtype), mode, lanes)]


def _where(one: Instruction, extent: str) -> str:
    mask, yes, no = one.operands
    if isinstance(no, Operand):
        mode, other = "SELMODE::VSEL_TENSOR_TENSOR_MODE", no.name
    else:
        mode, other = "SELMODE::VSEL_TENSOR_SCALAR_MODE", _scalar(no, one.target.dtype)
    return _call("Select", one.target.name, _name(mask), _name(yes), other, mode, extent)


def _mask(one: Instruction, extent: str) -> str:
    words = [f"{_name(operand)}.ReinterpretCast<uint16_t>()" for operand in one.operands]
    name = OPERATIONS[one.operation[5:]].instruction
    return _call(name, f"{one.target.name}.ReinterpretCast<uint16_t>()", *words, f"CeilDiv({extent}, 16)")


def _cast(one: Instruction, extent: str) -> str:
    [source] = one.operands
    assert isinstance(source, Operand)
    mode = _MODES.get(one.mode, f"CAST_{one.mode.upper()}")
    widens = {("float16", "float32"), ("bfloat16", "float32"), ("int16", "float32"), ("int32", "int64")}
    from_bytes = source.dtype in ("bool", "int8", "uint8")
    if (source.dtype, one.target.dtype) in widens or from_bytes:
        mode = "CAST_NONE"
    return _call("Cast", one.target.name, source.name, f"RoundMode::{mode}", extent)


def _placed(one: Instruction, extent: str) -> list[str]:
    target = one.target.name
    if one.operation == "iota":
        return [_call("CreateVecIndex", target, "static_cast<int32_t>(0)", extent)]
    work = one.work[0].name
    if one.operation == "shift":
        source, distance, fill = one.operands
        assert not isinstance(distance, Operand)
        return [_call("Shift", target, _name(source), work, render(distance), _scalar(fill, "float32"), extent)]
    source, index, *shift = one.operands
    size = DTYPES[one.target.dtype].itemsize
    base = "0"
    if shift:
        assert not isinstance(shift[0], Operand)
        base = f"static_cast<uint32_t>(({render(shift[0])}) * {size})"
    return [
        _call("Muls", work, _name(index), f"static_cast<int32_t>({size})", extent),
        _call("Gather", target, _name(source), f"{work}.ReinterpretCast<uint32_t>()", base, extent),
    ]
