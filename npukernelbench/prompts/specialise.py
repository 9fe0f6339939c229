"""Turning one golden kernel into a static candidate: the C++ constants of a case, put in front of the kernel's text.

A golden kernel is written once per operator. What a model may hard-code on the static track (types, sizes, attribute
values) reaches the golden as the prelude of :func:`case_prelude`. For an argument ``x`` the prelude holds

- ``#define DTYPE_X half``: the element type. Complex buffers are interleaved (real, imaginary) and have ``DTYPE_X``
  ``float``.
- ``#define X_IS_FLOAT16 1`` and ``#define X_IS_INT32 0``: one for every element type that the interface allows, for
  ``#if`` and ``if constexpr`` alike.
- ``task_case::X_SIZE``, ``X_RANK``, ``X_SHAPE[]``: elements, number of axes, extents; rank 0 has ``X_SHAPE`` ``{1}``.
- for a tensor list ``task_case::X_COUNT`` and ``X_SIZES[]`` instead.
- for an optional input ``task_case::X_PRESENT``; an absent one has nothing else.

For an attribute ``dim``: ``task_case::DIM`` of type ``int64_t``, ``float`` or ``bool``; a list has ``DIM_COUNT`` and
``DIM[]``; a string has ``task_case::REDUCTION`` and, for every value that occurs in the task's cases, a macro
``REDUCTION_MEAN`` of 1 or 0 (characters that C++ does not allow become ``_``).
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Sequence

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import (
    AttributeValue,
    Case,
    CaseInput,
    DType,
    OutputSpec,
    Presence,
    Task,
    TensorCase,
    TensorShape,
)

__all__ = ["case_prelude", "specialise"]

_COMPONENT = {DType.COMPLEX64: "float", DType.COMPLEX128: "double"}


def specialise(task: Task, case: Case, golden_text: str) -> str:
    """A golden kernel's text as a candidate for one case: framework include, prelude, then the golden itself."""
    # The include comes first: the prelude's types, such as int64_t, are declared by it.
    return f'#include "kernel_operator.h"\n{case_prelude(task, case)}\n{golden_text}'


def case_prelude(task: Task, case: Case) -> str:
    """The C++17 constants of one case (see the module's docstring), needing nothing but fixed-width integer names."""
    macros: list[str] = []
    constants: list[str] = []
    for spec in task.inputs:
        if spec.presence is Presence.OPTIONAL:
            present = case.inputs.get(spec.name) is not None
            constants.append(f"constexpr bool {_upper(spec.name)}_PRESENT = {_literal(present)};")
        _tensor(spec.name, spec.dtypes, _shapes(case.inputs.get(spec.name)), macros, constants)
    for output in task.outputs:
        _tensor(output.name, _output_dtypes(task, output), case.outputs[output.name], macros, constants)
    for attribute in task.attributes:
        if attribute.name in case.attributes:
            value = case.attributes[attribute.name]
            try:
                macros += _choices(task, attribute.name, value) if isinstance(value, str) else []
                constants += _attribute(attribute.name, attribute.type, value)
            except ValueError as error:
                raise TaskError(
                    f"{task.name} can have no constants of case {case.id}: {error}",
                    location=SourceLocation(task.path),
                    field=attribute.name,
                    remedy="change the value, or leave out the golden kernel of the static track",
                ) from None
    # The operator and not the task: a task of optimisation has the constants of its operator, to the letter.
    head = f"// Task {task.operator}, case {case.id}: constants of the static track."
    return "\n".join([head, *macros, "namespace task_case {", *constants, "}  // namespace task_case", ""])


def _shapes(value: CaseInput) -> TensorShape | tuple[TensorShape, ...] | None:
    if value is None:
        return None
    return value.tensor if isinstance(value, TensorCase) else tuple(item.tensor for item in value)


def _output_dtypes(task: Task, output: OutputSpec) -> tuple[DType, ...]:
    """The element types that an output may have."""
    if output.dtype is not None:
        return (output.dtype,)
    return next((spec.dtypes for spec in task.inputs if spec.name == output.dtype_like), ())


def _tensor(
    name: str,
    allowed: tuple[DType, ...],
    tensor: TensorShape | tuple[TensorShape, ...] | None,
    macros: list[str],
    constants: list[str],
) -> None:
    """Append the lines of one argument; an absent optional input adds nothing."""
    if tensor is None:
        return
    upper = _upper(name)
    if isinstance(tensor, tuple):
        sizes = [item.size for item in tensor]
        dtype = tensor[0].dtype if tensor else None
        constants.append(f"constexpr uint32_t {upper}_COUNT = {len(tensor)};")
        # C++ has no arrays without elements.
        constants.append(f"constexpr uint32_t {upper}_SIZES[] = {_braced(sizes or [0])};")
    else:
        dtype = tensor.dtype
        constants.append(f"constexpr uint32_t {upper}_SIZE = {tensor.size};")
        constants.append(f"constexpr int32_t {upper}_RANK = {len(tensor.shape)};")
        constants.append(f"constexpr int64_t {upper}_SHAPE[] = {_braced(tensor.shape or (1,))};")
    if dtype is not None:
        macros.append(f"#define DTYPE_{upper} {_COMPONENT.get(dtype, dtype.ascend_c)}")
        # An output may have a type in a case that its interface does not name.
        for other in dict.fromkeys((*allowed, dtype)):
            # Macros rather than constants: #if must be able to read them.
            macros.append(f"#define {upper}_IS_{other.value.upper()} {int(other is dtype)}")


def _choices(task: Task, name: str, value: str) -> list[str]:
    """One macro for every text that the attribute takes in some case. ValueError where two have one name."""
    others = [case.attributes.get(name) for case in task.cases]
    texts = sorted({value, *(other for other in others if isinstance(other, str))})
    named: dict[str, str] = {}
    for text in texts:
        # The later macro would take the place of the earlier one, and say 0 where the value is that text.
        if (other := named.setdefault(f"{_upper(name)}_{_upper(text)}", text)) != text:
            raise ValueError(f"the texts {other!r} and {text!r} have the same macro {_upper(name)}_{_upper(text)}")
    return [f"#define {macro} {int(text == value)}" for macro, text in named.items()]


def _attribute(name: str, kind: str, value: AttributeValue) -> list[str]:
    upper = _upper(name)
    if isinstance(value, str):
        return [f'constexpr const char* {upper} = "{"".join(map(_character, value))}";']
    if isinstance(value, tuple):
        ctype = "float" if kind == "list_float" else "int64_t"
        items = [_typed(ctype, item) for item in value]
        count = f"constexpr uint32_t {upper}_COUNT = {len(value)};"
        return [count, f"constexpr {ctype} {upper}[] = {_braced(items or ['0'])};"]
    ctype = {"float": "float", "bool": "bool"}.get(kind, "int64_t")
    return [f"constexpr {ctype} {upper} = {_typed(ctype, value)};"]


def _character(char: str) -> str:
    """One of a C++ string. JSON escapes as C++ does, but for control characters and what takes two surrogates."""
    if char < " " and char not in "\b\f\n\r\t":
        # Three octal digits end there: hexadecimal ones would take those that follow.
        return f"\\{ord(char):03o}"
    return json.dumps(char, ensure_ascii=char <= "\uffff")[1:-1]


def _typed(ctype: str, value: bool | int | float) -> str:
    # An attribute of type float may be written as a whole number, whose literal would be an int.
    return _literal(float(value)) if ctype == "float" else _literal(value)


def _literal(value: bool | int | float) -> str:
    """A C++ literal; floats are single precision. ValueError for numbers that no int64_t or float holds."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"{value} is beyond int64_t")
        # C++ reads a minus and a literal, and the least integer's amount is beyond the type.
        if value == -(2**63):
            return f"({value + 1}LL - 1)"
        # A plain literal is an int of 32 bits.
        return str(value) if abs(value) < 2**31 else f"{value}LL"
    # Builtins: NAN and INFINITY would need a header.
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    try:
        # Numbers that round to the largest float still have it as their literal.
        struct.pack("<f", value)
    except OverflowError:
        raise ValueError(f"{value!r} is beyond float") from None
    # `repr` always has a point or an exponent, without which C++ takes no `f`.
    return f"{value!r}f"


def _braced(items: Sequence[object]) -> str:
    return "{" + ", ".join(str(item) for item in items) + "}"


def _upper(name: str) -> str:
    # ASCII, as \W spares letters of other scripts otherwise.
    return re.sub(r"\W", "_", name, flags=re.ASCII).upper()
