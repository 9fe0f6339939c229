"""How values came about: which generator filled a tensor, seen from torch's own operations.

``torch.rand`` is ``{uniform: [0, 1]}``; multiplied by two and less one it is ``{uniform: [-1, 1]}``. What is more than
that has no generator of ours, and is drawn by the user's own code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Values", "watch_sources"]

#: A generator as task files spell it, with its parameters by position; None where there is no such generator.
Values = dict[str, list[Any]] | None

#: Operations whose result is in the memory of what they are given.
_VIEWS = frozenset(
    {"alias", "detach", "expand", "permute", "reshape", "squeeze", "t", "transpose", "unsqueeze", "view", "lift_fresh"}
    | {"_unsafe_view", "slice", "select", "unfold", "split"}
)
_SAME = frozenset({"_to_copy", "clone", "contiguous", "lift_fresh_copy"})
_MOST_CHOICES = 64


def watch_sources() -> Any:
    """A context that remembers, for every tensor made inside, its generator: ``of(tensor)``."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # Tensors are kept, as the storage of one that is gone may become another's.
            self._known: dict[int, tuple[Any, Values]] = {}

        def of(self, tensor: Any) -> Values:
            return self._known.get(_storage(tensor), (None, None))[1]

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            del types
            out = func(*args, **(kwargs or {}))
            name = str(func.__name__).partition(".")[0]
            # A view has the storage of what it is of, and with it its generator.
            if name in _VIEWS:
                return out
            values = _values(name, args, kwargs or {}, self.of)
            for tensor in out if isinstance(out, (tuple, list)) else (out,):
                if isinstance(tensor, torch.Tensor):
                    # What fills a part of a storage says nothing of the rest.
                    whole = tensor.numel() * tensor.element_size() == tensor.untyped_storage().nbytes()
                    self._known[_storage(tensor)] = (tensor, values if whole else None)
            return out

    return Watch()


def _storage(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _values(name: str, args: Any, kwargs: Any, of: Callable[[Any], Values]) -> Values:
    """The generator of what an operation made."""
    made = _made(name, args, kwargs)
    if made is not None:
        return made
    base = name.removesuffix("_")
    if not args:
        return None
    if base in _SAME:
        return _cast(of(args[0]), kwargs)
    if base in ("mul", "div", "add", "sub", "rsub", "neg"):
        return _affine(base, args, kwargs, of)
    if base in ("gt", "ge", "lt", "le") and isinstance(args[1], (int, float)):
        return _compared(base, of(args[0]), float(args[1]))
    return None


def _made(name: str, args: Any, kwargs: Any) -> Values:
    """Tensors that an operation makes of nothing."""
    if name in ("rand", "rand_like"):
        return {"uniform": [0.0, 1.0]}
    if name in ("randn", "randn_like"):
        return {"normal": [0.0, 1.0]}
    if name in ("randint", "randint_like"):
        numbers = [item for item in args if isinstance(item, int)]
        # randint(high) has no lower bound among its arguments.
        return {"integers": [0, *numbers][-2:]}
    if name == "randperm":
        return {"distinct": [0, int(args[0])]}
    if name == "uniform_":
        low, high = [*args[1:3], 0.0, 1.0][:2] if len(args) == 3 else (0.0, 1.0)
        return {"uniform": [float(low), float(high)]}
    if name == "normal_":
        mean, std = ([*args[1:], *[0.0, 1.0][len(args) - 1 :]])[:2]
        return {"normal": [float(mean), float(std)]}
    if name == "bernoulli_" and (len(args) == 1 or isinstance(args[1], float)):
        return {"bernoulli": [float(args[1]) if len(args) > 1 else 0.5]}
    constant = {"zeros": 0.0, "zeros_like": 0.0, "zero_": 0.0, "new_zeros": 0.0, "ones": 1.0, "ones_like": 1.0}
    if name in {**constant, "new_ones": 1.0}:
        return {"constant": [constant.get(name, 1.0)]}
    if name in ("full", "full_like", "fill_", "new_full"):
        value = kwargs.get("fill_value", args[1] if name in ("full_like", "fill_", "full") else args[2])
        return {"constant": [float(value)]} if isinstance(value, (int, float)) else None
    return None


def _cast(values: Values, kwargs: Any) -> Values:
    """The same values in another type, unless that loses fractions."""
    dtype = kwargs.get("dtype")
    exact = dtype is not None and not (dtype.is_floating_point or dtype.is_complex)
    if exact and values is not None and next(iter(values)) in ("uniform", "normal"):
        return None
    return values


def _affine(name: str, args: Any, kwargs: Any, of: Callable[[Any], Values]) -> Values:
    """``scale * x + shift`` of values that are known."""
    values = of(args[0])
    other = args[1] if len(args) > 1 else 0.0
    if values is None or not isinstance(other, (int, float)):
        return None
    alpha = float(kwargs.get("alpha", args[2] if len(args) > 2 else 1.0))
    scale, shift = {
        "mul": (float(other), 0.0),
        "div": (1.0 / float(other) if other else 0.0, 0.0),
        "add": (1.0, alpha * float(other)),
        "sub": (1.0, -alpha * float(other)),
        "rsub": (-alpha, float(other)),
        "neg": (-1.0, 0.0),
    }[name]
    [(kind, given)] = values.items()
    if kind == "uniform":
        low, high = sorted(scale * end + shift for end in given)
        return {kind: [low, high]}
    if kind == "normal":
        return {kind: [scale * given[0] + shift, abs(scale) * given[1]]}
    if kind == "constant":
        return {kind: [scale * given[0] + shift]}
    # More choices would fill the task file; the user's own code draws them then.
    if kind == "integers" and given[1] - given[0] <= _MOST_CHOICES:
        return {"choice": [scale * item + shift for item in range(given[0], given[1])]}
    if kind == "choice":
        return {kind: [scale * item + shift for item in given]}
    if kind == "bernoulli" and given[0] == 0.5:
        return {"choice": [shift, scale + shift]}
    return None


def _compared(name: str, values: Values, bound: float) -> Values:
    """Ones where uniform numbers are on one side of a bound."""
    if values is None or "uniform" not in values:
        return None
    low, high = values["uniform"]
    if high <= low:
        return None
    below = min(1.0, max(0.0, (bound - low) / (high - low)))
    return {"bernoulli": [below if name in ("lt", "le") else 1.0 - below]}
