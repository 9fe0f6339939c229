"""The reference itself: the user's code in double precision, on the arrays of a question; and its draws of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .subjects import is_list, open_subject, tensors_of
from .tracing import quiet
from .widening import widened
from .wire import Message

__all__ = ["draw", "run"]


def run(question: Message) -> Message:
    """The outputs for these inputs. ``names`` are arguments, items of lists or paths of parameters, in the order of
    the arrays."""
    import torch

    # Also for tensors that the user's code makes itself.
    torch.set_default_dtype(torch.float64)
    header = question.header
    # Shapes of the file's own inputs do not matter here: inputs come with the question.
    subject = open_subject({**header, "inputs": ()})
    made = subject.make(header["attributes"])
    if isinstance(made, torch.nn.Module):
        quiet(made.double())
    tensors = [torch.from_numpy(array) for array in question.arrays]
    arguments: dict[str, Any] = {}
    state: dict[str, Any] = {}
    for (kind, name), tensor in zip(header["names"], tensors, strict=True):
        if kind == "item":
            arguments.setdefault(name, []).append(tensor)
        else:
            (state if kind == "state" else arguments)[name] = tensor
    arguments.update({name: _python(value) for name, value in header["plain"].items()})
    ordered = {name: arguments[name] for name in header["order"] if name in arguments}
    # Before the call: random parameters would give an answer that looks right and is not.
    _require_state(made, state, header["unused"])
    with torch.no_grad(), widened():
        outputs = subject.outputs(made, ordered, state=state, listed=header.get("listed", ()))
    tensors = [tensor for output in outputs for tensor in tensors_of(output)]
    counts = [len(output) if is_list(output) else 0 for output in outputs]
    # numpy() refuses tensors whose conjugation or sign is only noted.
    answer = [tensor.detach().resolve_conj().resolve_neg().numpy() for tensor in tensors]
    return Message({"counts": counts}, answer)


def _require_state(made: Any, state: Mapping[str, Any], unused: Sequence[str]) -> None:
    """Parameters that the question does not bring would be random ones, and those of other shapes another operator."""
    if not hasattr(made, "named_parameters"):
        return
    own = dict([*made.named_parameters(), *made.named_buffers()])
    for path, held in own.items():
        if path not in state and path not in unused:
            raise ValueError(f"no input stands for the parameter {path}, which these attributes make")
        if path in state and held.shape != state[path].shape:
            raise ValueError(f"the parameter {path} has the shape {list(held.shape)}, not {list(state[path].shape)}")


def _python(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def draw(question: Message) -> Message:
    """One input, or parameter, as the user's own code draws it, from a seed and with the sizes of a case."""
    import torch

    header = question.header
    torch.manual_seed(int(header["seed"]))
    subject = open_subject(header, header["sizes"])
    if header["path"]:
        made = subject.make(header["attributes"])
        value = dict([*made.named_parameters(), *made.named_buffers()])[header["path"]]
    else:
        value = subject.arguments()[header["name"]]
    value = value.detach()
    # NumPy itself has no bfloat16, so torch gives no array of it.
    return Message({}, [(value.float() if value.dtype == torch.bfloat16 else value).contiguous().numpy()])
