"""A call without data: shapes, element types, generators, operations and memory, from torch's ``meta`` device."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from .sources import Values, watch_sources
from .subjects import Subject, is_list, tensors_of

__all__ = ["Call", "Tensor", "trace"]

_DTYPES = frozenset(
    {"float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"}
    | {"complex64", "complex128"}
)
#: What is neither computed nor moved.
_FREE = frozenset(
    {"view", "_unsafe_view", "detach", "alias", "t", "transpose", "permute", "expand", "unsqueeze", "squeeze"}
)
_REFERENCE_BYTES = 8


@dataclass(frozen=True)
class Tensor:
    """An input, a parameter (with its path in the module) or an output (with the input whose memory it is in).
    ``listed`` is the list that it belongs to."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    values: Values = None
    path: str = ""
    alias: str = ""
    listed: str = ""


@dataclass
class Call:
    """What one call is made of. ``random`` names an operation whose result differs from call to call."""

    inputs: list[Tensor] = field(default_factory=list)
    state: list[Tensor] = field(default_factory=list)
    outputs: list[Tensor] = field(default_factory=list)
    plain: dict[str, Any] = field(default_factory=dict)
    init: dict[str, Any] = field(default_factory=dict)
    operations: list[str] = field(default_factory=list)
    reduced: int = 1
    work: int = 0
    peak_bytes: int = 0
    random: str = ""

    @property
    def elements(self) -> int:
        """Elements of all tensors that a kernel is given or writes."""
        return sum(prod(entry.shape) for entry in (*self.inputs, *self.state, *self.outputs))

    @property
    def reference_bytes(self) -> int:
        """Memory for the inputs, and for a reference in double precision at its worst."""
        own = sum(prod(entry.shape) * _itemsize(entry.dtype) for entry in (*self.inputs, *self.state))
        wide = sum(prod(entry.shape) * _wide(entry.dtype) for entry in (*self.inputs, *self.state, *self.outputs))
        # Twice: here, and in the process that computes.
        return own + 2 * wide + self.peak_bytes


def trace(subject: Subject) -> Call:
    """One call on the ``meta`` device. Raises what the user's code raises."""
    import torch

    call = Call(init=dict(subject.init))
    watch = watch_sources()
    with torch.device("meta"), watch:
        arguments = subject.arguments()
        made = subject.make()
    for name, value in arguments.items():
        if isinstance(value, torch.Tensor):
            call.inputs.append(_tensor(name, value, watch.of(value)))
        elif is_list(value):
            for position, one in enumerate(value):
                call.inputs.append(replace(_tensor(f"{name}[{position}]", one, watch.of(one)), listed=name))
        else:
            call.plain[name] = value
    if isinstance(made, torch.nn.Module):
        quiet(made)
        for path, value in (*made.named_parameters(), *made.named_buffers()):
            call.state.append(_tensor(path.replace(".", "_"), value, watch.of(value), path))
    with torch.device("meta"), torch.no_grad(), _meter(call):
        try:
            outputs = subject.outputs(made, arguments)
        except NotImplementedError as error:
            message = f"torch cannot tell the shapes of its results without values ({error})"
            raise ValueError(f"{message}; a kernel's outputs have their shapes before it runs") from error
    for position, value in enumerate(outputs):
        # A file that makes its own inputs says nothing of their memory; who states them may mean an update in place.
        alias = next((name for name, given in arguments.items() if _same(given, value)), "") if subject.given else ""
        name = f"{alias}_out" if alias else f"y{position}" if len(outputs) > 1 else "y"
        if is_list(value):
            members = [_tensor(f"{name}[{place}]", one, alias=alias) for place, one in enumerate(value)]
            call.outputs += [replace(member, listed=name) for member in members]
        else:
            call.outputs.append(_tensor(name, value, alias=alias))
    return call


def quiet(made: Any) -> list[str]:
    """Turn dropout off, which no kernel can repeat; the names of the modules that it was turned off in."""
    import torch

    kinds = tuple(
        getattr(torch.nn, name) for name in ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")
    )
    result = []
    for name, module in made.named_modules():
        # Dropout of nothing is not random, and stays.
        if isinstance(module, kinds) and module.p > 0:
            module.eval()
            result.append(name)
        if isinstance(module, torch.nn.MultiheadAttention | torch.nn.RNNBase) and module.dropout > 0:
            module.dropout = 0.0
            result.append(name)
    return result


def _same(given: Any, value: Any) -> bool:
    """Whether an output is an argument itself, or a list of the tensors of one."""
    mine, own = tensors_of(given), tensors_of(value)
    return len(own) > 0 and len(mine) == len(own) and all(one is other for one, other in zip(mine, own, strict=True))


def _tensor(name: str, value: Any, values: Values = None, path: str = "", alias: str = "") -> Tensor:
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in _DTYPES:
        raise TypeError(f"{name} has the element type {dtype}, which kernels here do not have")
    return Tensor(name, tuple(value.shape), dtype, values, path, alias)


def _itemsize(dtype: str) -> int:
    known = {"bool": 1, "bfloat16": 2, "complex64": 8, "complex128": 16}
    return known.get(dtype) or int("".join(filter(str.isdigit, dtype))) // 8


def _wide(dtype: str) -> int:
    """Bytes of an element as a reference sees it."""
    if dtype.startswith("complex"):
        return 2 * _REFERENCE_BYTES
    return _REFERENCE_BYTES if "float" in dtype else _itemsize(dtype)


def _meter(call: Call) -> Any:
    """A context that counts operations, the longest sum, and the memory that is alive at once."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Meter(TorchDispatchMode):  # type: ignore[misc]
        alive = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            out = func(*args, **(kwargs or {}))
            name = str(func.__name__).partition(".")[0]
            if torch.Tag.nondeterministic_seeded in func.tags and not call.random:
                call.random = name
            if name not in _FREE:
                call.operations.append(name)
            if name.startswith("_foreach_") and name.endswith("_"):
                # Torch does not count these changes of lists while a mode looks on.
                torch.autograd.graph.increment_version(tensors_of(args[0]))
            tensors = [tensor for argument in args for tensor in tensors_of(argument)]
            results = tensors_of(out)
            scratch = self._measure(name, args, tensors, results)
            for result in results:
                if name not in _FREE and all(result is not old for old in tensors):
                    self._hold(result)
            call.peak_bytes = max(call.peak_bytes, self.alive + scratch)
            return out

        def _hold(self, tensor: Any) -> None:
            count = tensor.numel() * _wide(str(tensor.dtype).removeprefix("torch."))
            self.alive += count
            # A result takes memory for as long as Python holds it, as it would in a call with data.
            weakref.finalize(tensor, self._drop, count)

        def _drop(self, count: int) -> None:
            self.alive -= count

        def _measure(self, name: str, args: Any, tensors: list[Any], results: list[Any]) -> int:
            """Count the longest sum and the multiplications; scratch memory beside the results."""
            size = sum(result.numel() for result in results)
            reduced, scratch = _summed(name, args, tensors, results)
            call.reduced = max(call.reduced, reduced)
            call.work += size * reduced
            return scratch

    return Meter()


def _summed(name: str, args: Any, tensors: list[Any], results: list[Any]) -> tuple[int, int]:
    """How many terms an element of the result sums, and the scratch bytes of that operation in double precision."""
    if name in ("mm", "bmm", "matmul"):
        return int(args[0].shape[-1]), 0
    if name in ("addmm", "baddbmm"):
        return int(args[1].shape[-1]), 0
    if name == "convolution":
        x, weight, transposed, groups = args[0], args[1], bool(args[6]), int(args[8])
        terms = prod(weight.shape) // max(1, int(weight.shape[0 if not transposed else 1]))
        places = prod((x if transposed else results[0]).shape[2:])
        # Double precision unfolds all samples of an ordinary convolution, one sample of a transposed one.
        batch = 1 if transposed else int(x.shape[0]) if x.dim() > 2 else 1
        columns = prod(weight.shape) // max(1, int(weight.shape[0])) * places * batch
        return terms, columns * _REFERENCE_BYTES * (groups if transposed else 1)
    if name in ("cumsum", "cumprod", "logcumsumexp") and tensors and tensors[0].dim():
        return int(tensors[0].shape[args[1]]), 0
    if name.lstrip("_") in ("softmax", "log_softmax") and tensors[0].dim():
        return int(tensors[0].shape[args[1]]), 0
    if not tensors or not results:
        return 1, 0
    first, out = tensors[0].numel(), max(1, results[0].numel())
    norms = {"native_batch_norm": 0, "native_group_norm": 0, "native_layer_norm": 0}
    if any(name.endswith(norm) for norm in norms):
        # The results behind the first hold a number for every sum.
        return max(1, first // max(1, results[-1].numel())), 0
    # An element of the result sums what its share of the input's elements is.
    return max(1, first // out), 0
