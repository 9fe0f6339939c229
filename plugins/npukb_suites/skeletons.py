"""A kernel to begin with: it compiles, binds every argument to its memory, and computes nothing."""

from __future__ import annotations

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
    tensors = {name: value.tensor for name, value in case.inputs.items() if isinstance(value, TensorCase)}
    tensors |= {name: value for name, value in case.outputs.items() if isinstance(value, TensorShape)}
    for name, tensor in tensors.items():
        if tensor.dtype.is_complex or tensor.dtype is DType.FLOAT64:
            continue
        ctype = "uint8_t" if tensor.dtype is DType.BOOL else tensor.dtype.ascend_c
        lines += [
            f"    AscendC::GlobalTensor<{ctype}> {name}Gm;  // {tensor_text(tensor)}",
            f"    {name}Gm.SetGlobalBuffer((__gm__ {ctype}*){name}, {tensor.size});",
        ]
    lines += [
        "    // Block AscendC::GetBlockIdx() of AscendC::GetBlockNum() has its share of the work to do here.",
        "}",
        "",
    ]
    return "\n".join(lines)
