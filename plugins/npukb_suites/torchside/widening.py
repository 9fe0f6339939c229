"""Double precision throughout: code that converts to a smaller floating type on its way gets double precision instead.

References do not round; a kernel does. Code written for a device often converts to single precision first, which here
would make the reference no better than the kernel.
"""

from __future__ import annotations

from typing import Any

__all__ = ["widened"]

_CONVERSIONS = frozenset({"float", "half", "bfloat16", "double"})


def widened() -> Any:
    """A context in which every floating type that is named is double precision."""
    import torch
    from torch.overrides import TorchFunctionMode

    narrow = (torch.float16, torch.bfloat16, torch.float32)

    def wide(value: Any) -> Any:
        return torch.float64 if isinstance(value, torch.dtype) and value in narrow else value

    class Widened(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            if getattr(func, "__name__", "") in _CONVERSIONS and args and isinstance(args[0], torch.Tensor):
                # Also `double` itself, so that all four conversions take one way.
                return args[0].to(torch.float64)
            named = {key: wide(value) for key, value in (kwargs or {}).items()}
            return func(*(wide(value) for value in args), **named)

    return Widened()
