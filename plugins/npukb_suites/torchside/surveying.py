"""Everything that a task needs to know of a user's file: cases of three sizes, generators, which parameters matter, how
far torch's own arithmetic is from double precision, and how shapes may vary.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from .loading import sizes_of
from .probing import restricted
from .shrinking import Budget, ragged, shrunk
from .subjects import Subject, attribute_type, is_list, open_subject
from .symbolic import symbolic_shapes
from .tracing import Call, Tensor, quiet, trace
from .widening import widened
from .wire import Message

__all__ = ["survey"]


def survey(question: Message) -> Message:
    """Look at one file. Every answer that is not the call itself is a note, not a failure."""
    header = question.header
    if header.get("small"):
        limits = restricted({**header, "inputs": header["small"]})
        for key in ("inputs", "small"):
            header = {**header, key: [{**one, **limits.get(one["name"], {})} for one in header[key]]}
    sizes = sizes_of(header["target"])
    whole = _full(header, sizes)
    notes = list(whole["notes"])
    cases = [_case("0", whole["sizes"], whole["call"])]
    budgets = {name: Budget(**numbers) for name, numbers in header["budgets"].items()}
    if header.get("small"):
        # Inputs that were stated are stated twice; a file's own sizes are shrunk.
        header = {**header, "inputs": header["small"]}
        cases.append(_case("smoke", {}, trace(open_subject(header, {}))))
    for name in () if header.get("small") else ("cpu", "smoke"):
        fitting = shrunk(whole["sizes"], budgets[name], lambda tried: _try(header, tried), least=2)
        # A first look may be as large as a case for a CPU, where the file allows no smaller one.
        if fitting is None or budgets["cpu"].cost(fitting[1]) > 1.0:
            notes.append(f"no case {name}: the file works with no sizes that are so small")
        elif name == "smoke":
            cases.append(_case(name, *ragged(*fitting, budgets[name], lambda tried: _try(header, tried))))
        elif fitting[0] != cases[-1]["sizes"]:
            cases.append(_case(name, *fitting))
    # The last case is the smallest, and the only one that is computed with data.
    small = cases[-1]
    subject = open_subject(header, small["sizes"])
    answer: dict[str, Any] = {
        "doc": inspect.getdoc(subject.entry) or "",
        "is_class": subject.is_class,
        "attributes": _attributes(whole["call"]),
        "fixed": _fixed(whole["call"]),
        "inputs": [entry.__dict__ for entry in whole["call"].inputs],
        "state": [one.__dict__ for one in whole["call"].state],
        "outputs": [output.__dict__ for output in whole["call"].outputs],
        "operations": whole["call"].operations,
        "reduced": whole["call"].reduced,
        "cases": cases,
        "notes": notes,
        "source": _source(subject),
    }
    if small["elements"] <= budgets["cpu"].elements:
        answer["measured"] = _measured(header, small)
        answer["symbolic"] = symbolic_shapes(
            header, small["sizes"], {name: told[2] for name, told in small["inputs"].items()}
        )
    return Message(answer)


def _full(header: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """The file's own sizes, or smaller ones where memory asks for it. Raises where the file cannot be traced."""
    subject = open_subject(header, {})
    call = trace(subject)
    if call.random:
        raise ValueError(f"its results are random: it draws by {call.random}")
    notes = []
    import torch

    with torch.device("meta"):
        made = subject.make()
    if isinstance(made, torch.nn.Module) and (remarks := quiet(made)):
        notes.append(f"dropout is off, since no kernel can repeat it: {', '.join(remarks)}")
    budget = Budget(**header["budgets"]["full"])
    if budget.cost(call) <= 1.0:
        return {"call": call, "sizes": dict(sizes), "notes": notes}
    found_sizes = shrunk(sizes, budget, lambda tried: _try(header, tried))
    if found_sizes is None or budget.cost(found_sizes[1]) > 1.0:
        need = call.reference_bytes / 1e9
        raise MemoryError(f"inputs and a reference in double precision need {need:.0f} GB, and its sizes do not shrink")
    changed = [f"{name} {sizes[name]} to {size}" for name, size in found_sizes[0].items() if size != sizes[name]]
    whole = f"{call.reference_bytes / 1e9:.0f} GB for inputs and a reference in double precision"
    notes.append(f"scaled: {', '.join(changed)} (its own sizes need {whole})")
    return {"call": found_sizes[1], "sizes": found_sizes[0], "notes": notes}


def _try(header: Mapping[str, Any], sizes: Mapping[str, int]) -> Call | None:
    """The call with these sizes; None where the user's code does not work with them."""
    try:
        return trace(open_subject(header, sizes))
    except Exception:  # noqa: BLE001 - boundary: the user's own code with sizes that it was not written for
        return None


def _case(name: str, sizes: Mapping[str, int], call: Call) -> dict[str, Any]:
    def listed(tensors: list[Tensor]) -> dict[str, Any]:
        return {tensor.path or tensor.name: [list(tensor.shape), tensor.dtype, tensor.values] for tensor in tensors}

    return {
        "id": name,
        "sizes": dict(sizes),
        "inputs": listed(call.inputs),
        "state": listed(call.state),
        "outputs": listed(call.outputs),
        "attributes": {attribute["name"]: attribute["value"] for attribute in _attributes(call)},
        "elements": call.elements,
        "bytes": call.reference_bytes,
        "work": call.work,
    }


def _attributes(call: Call) -> list[dict[str, Any]]:
    """The plain arguments that a kernel can be told, those of the constructor first."""
    result = []
    for place, values in (("init", call.init), ("call", call.plain)):
        for name, value in values.items():
            kind = attribute_type(value)
            if kind:
                plain = list(value) if isinstance(value, (list, tuple)) else value
                result.append({"name": name, "type": kind, "value": plain, "place": place})
    return result


def _fixed(call: Call) -> list[str]:
    """Arguments that are no attributes, such as None and mappings, with their values."""
    values = {**call.init, **call.plain}
    return [f"{name} = {value!r}"[:120] for name, value in values.items() if not attribute_type(value)]


def _source(subject: Subject) -> str:
    try:
        return inspect.getsource(subject.entry)
    except (OSError, TypeError):
        return ""


def _measured(header: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Any]:
    """One call with data, in the type that the file computes in and in double precision."""
    import torch

    # Limits follow from this draw: the same file has to give the same task.
    torch.manual_seed(0)
    subject = open_subject(header, case["sizes"])
    arguments = subject.arguments()
    made = subject.make()
    if isinstance(made, torch.nn.Module):
        quiet(made)
    # Before the call, which may change its arguments.
    wide = {name: _double(value) for name, value in arguments.items()}
    with torch.no_grad():
        own = subject.call(made, arguments)
        # Behind the first call, which computes as the file does.
        torch.set_default_dtype(torch.float64)
        made = made.double() if isinstance(made, torch.nn.Module) else made
        with widened():
            exact = subject.call(made, wide)
        unused = _unused(subject, made, wide, exact)
    return {"outputs": [_missed(*pair) for pair in zip(own, exact, strict=True)], "unused": unused}


def _missed(own: Any, exact: Any) -> dict[str, float]:
    """The size of an output, and by how much torch's own arithmetic misses it, over what is finite in both."""
    kept = own.isfinite() & exact.isfinite()
    if not exact.is_floating_point() or not kept.any():
        return {"rms": 0.0, "error": 0.0}
    own, exact = own[kept].double(), exact[kept].double()
    size, error = float(exact.square().mean().sqrt()), (own - exact).abs()
    # An element passes where either error is small: what has to be allowed is the largest smaller one of both.
    relative = error / exact.abs().clamp_min(1e-300)
    return {"rms": size, "error": float((error / max(size, 1e-300)).minimum(relative).max())}


def _double(value: Any) -> Any:
    import torch

    if is_list(value):
        return [_double(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    return value.to(torch.float64 if value.is_floating_point() else value.dtype, copy=True)


def _unused(subject: Subject, made: Any, arguments: Mapping[str, Any], own: list[Any]) -> list[str]:
    """Parameters and buffers whose value changes no output by more than rounding in double precision does."""
    import copy

    import torch

    if not isinstance(made, torch.nn.Module):
        return []
    result = []
    for path, value in [*made.named_parameters(), *made.named_buffers()]:
        other = value + 1 if value.dtype != torch.bool else ~value
        try:
            # A copy, because a call may change the module's buffers.
            changed = subject.call(copy.deepcopy(made), arguments, state={path: other.detach().to(value.dtype)})
        # A parameter with which the call fails is used.
        except (RuntimeError, IndexError, ValueError):
            continue
        if all(_same(new, old) for new, old in zip(changed, own, strict=True)):
            result.append(path)
    return result


def _same(new: Any, old: Any) -> bool:
    import torch

    if not old.is_floating_point():
        return bool(torch.equal(new, old))
    size = float(old.abs().max()) if old.numel() else 0.0
    return bool(torch.allclose(new, old, rtol=1e-9, atol=1e-9 * size, equal_nan=True))
