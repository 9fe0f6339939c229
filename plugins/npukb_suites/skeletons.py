"""A kernel to begin with: it compiles, binds every argument to its memory, and computes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npukernelbench.nouns import Case, DType, Task, TensorCase, TensorShape, Track
from npukernelbench.prompts.interface import signature, tensor_text

__all__ = ["skeleton"]


def skeleton(task: Task, case: Case) -> str:
    """The file ``kernel.cpp`` of the static track for one case."""
    lines = [
        f"// {task.name}: {' '.join(task.summary.split())}",
        f"// Sizes are those of the case {case.id}; npukb judge {task.name} kernel.cpp --case {case.id}",
        '#include "kernel_operator.h"',
        "",
        signature(task, Track.STATIC),
        "{",
    ]
    # Absent inputs have no memory to be bound to.
    tensors = {name: value.tensor for name, value in case.inputs.items() if isinstance(value, TensorCase)}
    tensors |= {name: value for name, value in case.outputs.items() if isinstance(value, TensorShape)}
    for name, tensor in tensors.items():
        if ctype := _ctype(tensor):
            lines += [
                f"    AscendC::GlobalTensor<{ctype}> {name}Gm;  // {tensor_text(tensor)}",
                f"    {name}Gm.SetGlobalBuffer((__gm__ {ctype}*){name}, {tensor.size});",
            ]
    lists = {name: tuple(map(_shape, value)) for name, value in case.inputs.items() if isinstance(value, tuple)}
    lists |= {name: value for name, value in case.outputs.items() if isinstance(value, tuple)}
    for name, members in lists.items():
        lines += _list_lines(name, members)
    lines += [
        "    // Block AscendC::GetBlockIdx() of AscendC::GetBlockNum() has its share of the work to do here.",
        "}",
        "",
    ]
    return "\n".join(lines)


def _shape(tensor: TensorCase) -> TensorShape:
    return tensor.tensor


def _list_lines(name: str, members: Sequence[TensorShape]) -> Iterator[str]:
    """A list of tensors is one pointer to a table of their addresses."""
    yield f"    AscendC::ListTensorDesc {name}List((__gm__ void*){name});  // {len(members)} tensors"
    for position, tensor in enumerate(members):
        if ctype := _ctype(tensor):
            yield f"    AscendC::GlobalTensor<{ctype}> {name}{position}Gm;  // {tensor_text(tensor)}"
            data = f"{name}List.GetDataPtr<__gm__ {ctype}>({position})"
            yield f"    {name}{position}Gm.SetGlobalBuffer({data}, {tensor.size});"


def _ctype(tensor: TensorShape) -> str:
    """The element type in a kernel; empty where kernels have none."""
    if tensor.dtype.is_complex or tensor.dtype is DType.FLOAT64:
        return ""
    # A kernel's tensors have no type for booleans, which lie in memory as bytes.
    return "uint8_t" if tensor.dtype is DType.BOOL else tensor.dtype.ascend_c
