"""The kernel's signature as C++ text: what every prompt shows and every answer must define."""

from __future__ import annotations

from npukernelbench.nouns import Case, Presence, Task, TensorCase, TensorShape, Track

__all__ = ["interface_skeleton", "signature", "tensor_text"]


def signature(task: Task, track: Track) -> str:
    """The entry's declaration without a body; the dynamic track adds ``tiling``."""
    names = (*task.arguments, "tiling") if track is Track.DYNAMIC else task.arguments
    parameters = ", ".join(f"GM_ADDR {name}" for name in names)
    return f'extern "C" __global__ __aicore__ void {task.kernel}({parameters})'


def interface_skeleton(task: Task, case: Case | None, track: Track) -> str:
    """A C++ frame to fill in: include, entry, and one comment per argument (with sizes when ``case`` is given)."""
    lines = ['#include "kernel_operator.h"', "", signature(task, track), "{"]
    for spec in task.inputs:
        lines.append(f"    // {spec.name}: input, {_input_text(task, case, spec.name)}")
    for output in task.outputs:
        memory = f", in the memory of {output.alias_of}" if output.alias_of else ""
        memory += ", filled with zeros before the launch" if output.zeroed else ""
        lines.append(f"    // {output.name}: output, {_output_text(task, case, output.name)}{memory}")
    workspace = f"{task.workspace_bytes} bytes" if task.workspace_bytes else "none for this operator"
    if track is Track.DYNAMIC:
        workspace = "as much as your tiling function asks for"
    lines.append(f"    // workspace: scratch memory in GM, {workspace}")
    if track is Track.DYNAMIC:
        lines.append("    // tiling: what your tiling function stored")
    lines += ["    // your code", "}", ""]
    return "\n".join(lines)


def tensor_text(tensor: TensorShape | tuple[TensorShape, ...] | None, *, sizes: bool = True) -> str:
    """``float16 [4, 300] (1200 elements, 2400 bytes)``, without the parenthesis unless ``sizes``; lists say how many
    there are."""
    if tensor is None:
        return "absent (null pointer)"
    if isinstance(tensor, tuple):
        # Lists of one type name it once: prompts list dozens of shapes.
        dtypes = {item.dtype.value for item in tensor}
        if not sizes and len(dtypes) == 1:
            return f"list of {len(tensor)} {dtypes.pop()}: " + ", ".join(str(list(item.shape)) for item in tensor)
        return f"list of {len(tensor)}: [" + ", ".join(tensor_text(item, sizes=sizes) for item in tensor) + "]"
    if not sizes:
        return f"{tensor.dtype.value} {list(tensor.shape)}"
    noun = "element" if tensor.size == 1 else "elements"
    return f"{tensor.dtype.value} {list(tensor.shape)} ({tensor.size} {noun}, {tensor.nbytes} bytes)"


def _input_text(task: Task, case: Case | None, name: str) -> str:
    spec = next(item for item in task.inputs if item.name == name)
    if case is None:
        # Without a case every type that the interface allows: the answer must serve all of them.
        types = " or ".join(dtype.value for dtype in spec.dtypes)
        return f"{'' if spec.presence is Presence.REQUIRED else spec.presence.value + ', '}{types}"
    value = case.inputs.get(name)
    if value is None or isinstance(value, TensorCase):
        return tensor_text(value.tensor if value else None)
    return tensor_text(tuple(item.tensor for item in value))


def _output_text(task: Task, case: Case | None, name: str) -> str:
    if case is not None:
        return tensor_text(case.outputs[name])
    spec = next(item for item in task.outputs if item.name == name)
    return spec.dtype.value if spec.dtype else f"element type of {spec.dtype_like}"
