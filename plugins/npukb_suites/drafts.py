"""A task out of what torch's side found: the mapping that ``task.yaml`` holds, and the facts of its reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from npukb_suites.naming import argument_name, kernel_name
from npukb_suites.tolerance import limits_for
from npukernelbench.errors import TaskError

__all__ = ["Draft", "draft_task"]

#: Extents that hidden cases may have, by how many axes there are: a case has about a million elements at most.
_HIGHEST = {1: 1 << 18, 2: 4096, 3: 1024, 4: 256}
_CUBE = frozenset({"mm", "bmm", "addmm", "baddbmm", "convolution"})
_SCRATCH_BYTES = 16 << 20
#: First match by operation: what the task is called among its like.
_CATEGORIES = (
    ("Convolution", ("convolution",)),
    ("Normalization", ("native_batch_norm", "native_layer_norm", "native_group_norm", "_native_batch_norm_legit")),
    ("Pooling", ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")),
    ("Matmul", ("mm", "bmm", "addmm", "baddbmm", "dot", "mv")),
    ("Activation", ("relu", "gelu", "sigmoid", "tanh", "softmax", "elu", "hardtanh", "softplus", "silu")),
    ("Reduce", ("sum", "mean", "amax", "amin", "argmax", "argmin", "max", "min", "cumsum", "cumprod")),
)
#: Names that names of other operations begin with: maximum and minimum reduce nothing.
_WHOLE = frozenset({"max", "min"})


@dataclass(frozen=True)
class Draft:
    """``task`` is what ``task.yaml`` holds; ``facts`` is what a ``TorchReference`` takes."""

    task: dict[str, Any]
    facts: dict[str, Any]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Argument:
    """An input of the task: ``kind`` is ``input`` or ``state``, ``own`` its name or path in the user's code. The
    tensors of a list are ``members``.
    """

    kind: str
    own: str
    name: str
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Output:
    """An output of the task: what the survey says of it, or of the tensors of a list."""

    name: str
    tensors: tuple[Mapping[str, Any], ...]
    listed: bool


def draft_task(
    name: str,
    survey: Mapping[str, Any],
    *,
    suite: str,
    level: int,
    summary: str,
    target: Mapping[str, Any],
    sha256: str,
    init: Mapping[str, Any] | None = None,
    given: Sequence[Mapping[str, Any]] = (),
) -> Draft:
    """The task of one survey. ``target``, ``sha256``, ``init`` and ``given`` are where the reference finds the code."""
    return _Drafting(name, survey).draft(
        suite=suite,
        level=level,
        summary=summary,
        facts={
            "target": dict(target),
            "sha256": sha256,
            "init": dict(init or {}),
            "given": [dict(tensor) for tensor in given],
        },
    )


class _Drafting:
    """Names first, then the sections of the file one by one."""

    def __init__(self, name: str, survey: Mapping[str, Any]) -> None:
        self._name = name
        self._survey = survey
        # Without a case small enough nothing was measured, and every parameter counts as used.
        measured = survey.get("measured") or {"outputs": [], "unused": []}
        self._unused = set(measured["unused"])
        self._measured = measured["outputs"]
        taken: set[str] = set()
        self._arguments = [
            _Argument("input", own, argument_name(own, taken), tuple(one["name"] for one in some if one["listed"]))
            for own, some in _by_name(survey["inputs"])
        ]
        self._arguments += [
            _Argument("state", entry["path"], argument_name(entry["name"], taken))
            for entry in survey["state"]
            # What changes no output is no input of the operator.
            if entry["path"] not in self._unused
        ]
        self._outputs = [
            _Output(argument_name(own, taken), tuple(some), bool(some[0]["listed"]))
            for own, some in _by_name(survey["outputs"])
        ]
        self._attributes = [(attribute, argument_name(attribute["name"], taken)) for attribute in survey["attributes"]]
        self._cases = list(survey["cases"])
        # The smallest: cases come from large to small.
        self._smoke = self._cases[-1]

    def draft(self, *, suite: str, level: int, summary: str, facts: dict[str, Any]) -> Draft:
        survey, notes = self._survey, list(self._survey["notes"])
        for argument in self._arguments:
            if argument.members and any(self._own(case, argument) for case in self._cases):
                message = f"{argument.own} is a list of tensors that the file's own code draws"
                raise TaskError(
                    message, remedy="state it with --inputs, or draw its tensors by torch.randn and the like"
                )
        operations = set(survey["operations"])
        hidden = self._hidden(notes)
        task: dict[str, Any] = {
            "name": self._name,
            "suite": suite,
            "level": level,
            "category": self._category(),
            "version": 1,
            "kernel": kernel_name(self._name),
            # Cube cores multiply; a kernel for both kinds of core may do the rest on the vector cores.
            "core": "mix" if operations & _CUBE else "vector",
            "summary": summary,
            "description": self._description(notes),
            "interface": {
                "inputs": [self._input(argument) for argument in self._arguments],
                "attributes": [self._attribute(attribute, mine) for attribute, mine in self._attributes],
                "outputs": [self._output(output) for output in self._outputs],
            },
            "reference": "reference.py:reference",
            "tolerance": {"limits": self._limits()},
            "workspace_bytes": _SCRATCH_BYTES,
        }
        if hidden:
            task["hidden"] = hidden
        task["cases"] = [self._case(case) for case in self._cases]
        return Draft(task, {**facts, **self._facts()}, notes)

    def _category(self) -> str:
        # Names of torch's internal operations begin with an underscore, such as _softmax.
        operations = [operation.lstrip("_") for operation in self._survey["operations"]]
        for category, names in _CATEGORIES:
            if any(
                # Names go on with dimensions and variants: max_pool2d_with_indices.
                operation == name or (name not in _WHOLE and operation.startswith(name))
                for operation in operations
                for name in (n.lstrip("_") for n in names)
            ):
                return category
        return "Elementwise"

    def _description(self, notes: Sequence[str]) -> str:
        """The code is the definition; what a kernel cannot see of it is said in words."""
        source = self._survey["source"].rstrip()
        parts = ["It computes what this code does:", source] if source else [self._survey["doc"].strip()]
        state = [
            f"{argument.name} is the parameter {argument.own}"
            for argument in self._arguments
            if argument.kind == "state"
        ]
        return "\n\n".join(part for part in (*parts, "; ".join((*state, *self._survey["fixed"], *notes))) if part)

    def _input(self, argument: _Argument) -> dict[str, Any]:
        tensors = self._tensors(self._smoke, argument)
        _, dtype, values = tensors[0]
        # Each type once, in the order of the tensors.
        entry: dict[str, Any] = {"name": argument.name, "dtypes": list(dict.fromkeys(one[1] for one in tensors))}
        if argument.members:
            entry["presence"] = "dynamic"
        entry["values"] = _spelled(values, dtype) or _usual(dtype)
        return entry

    def _tensors(self, case: Mapping[str, Any], argument: _Argument) -> list[tuple[list[int], str, Any]]:
        """Shape, type and generator of an input, or of each tensor of a list."""
        side = case["inputs" if argument.kind == "input" else "state"]
        return [tuple(side[own]) for own in argument.members or (argument.own,)]

    def _own(self, case: Mapping[str, Any], argument: _Argument) -> bool:
        """Whether the file's own code draws it."""
        return any(values is None for _, _, values in self._tensors(case, argument))

    def _shapes(self, case: Mapping[str, Any], argument: _Argument) -> list[Any]:
        shapes = [shape for shape, _, _ in self._tensors(case, argument)]
        return shapes if argument.members else shapes[0]

    def _attribute(self, attribute: Mapping[str, Any], name: str) -> dict[str, Any]:
        return {"name": name, "type": attribute["type"]}

    def _output(self, output: _Output) -> dict[str, Any]:
        first = output.tensors[0]
        entry: dict[str, Any] = {"name": output.name, **({"presence": "dynamic"} if output.listed else {})}
        entry["dtype"] = first["dtype"]
        # An operation that changes its input in place: the output is that input's memory.
        if first["alias"]:
            entry["alias_of"] = next(argument.name for argument in self._arguments if argument.own == first["alias"])
        like = self._like(output)
        return {**entry, "shape_like": like} if like else entry

    def _like(self, output: _Output) -> str:
        """The first input that has the shape of the output in every case."""
        for argument in self._arguments:
            alike = bool(argument.members) == output.listed
            if alike and all(self._shapes(case, argument) == self._made(case, output) for case in self._cases):
                return argument.name
        return ""

    def _made(self, case: Mapping[str, Any], output: _Output) -> list[Any]:
        """The shape of an output in a case, or those of a list."""
        shapes = [case["outputs"][tensor["name"]][0] for tensor in output.tensors]
        return shapes if output.listed else shapes[0]

    def _limits(self) -> dict[str, Any]:
        operations = len(self._survey["operations"])
        result: dict[str, dict[str, float]] = {}
        for position, output in enumerate(self._survey["outputs"]):
            dtype = output["dtype"]
            if "float" in dtype or "complex" in dtype:
                # Without measurements the limits of the type alone: a size of 1 and no error of the reference.
                facts = self._measured[position] if self._measured else {"rms": 1.0, "error": 0.0}
                pair = limits_for(
                    dtype,
                    operations=operations,
                    reduced=self._survey["reduced"],
                    size=facts["rms"],
                    error=facts["error"],
                )
                old = result.get(dtype, {"atol": 0.0, "rtol": 0.0})
                # Limits are by type: of several outputs the loosest counts.
                result[dtype] = {"atol": max(old["atol"], pair[0]), "rtol": max(old["rtol"], pair[1])}
        return result

    def _case(self, case: Mapping[str, Any]) -> dict[str, Any]:
        profile = case["id"] if case["id"] in ("cpu", "smoke") else "full"
        inputs: dict[str, Any] = {}
        for argument in self._arguments:
            # As in _input: what differs from it is said in the case.
            usual = self._tensors(self._smoke, argument)[0][2]
            tensors = [_stated(*tensor, usual) for tensor in self._tensors(case, argument)]
            inputs[argument.name] = tensors if argument.members else tensors[0]
        attributes = {mine: case["attributes"][attribute["name"]] for attribute, mine in self._attributes}
        entry: dict[str, Any] = {"id": case["id"], "inputs": inputs}
        if attributes:
            entry["attributes"] = attributes
        outputs = {
            output.name: [{"shape": shape} for shape in self._made(case, output)]
            if output.listed
            else {"shape": self._made(case, output)}
            for output in self._outputs
            if not self._like(output)
        }
        if outputs:
            entry["outputs"] = outputs
        return {**entry, "profiles": [profile]}

    def _hidden(self, notes: list[str]) -> dict[str, Any] | None:
        """How shapes may vary beside the smallest case, whose attributes and parameters stay."""
        symbolic = self._survey.get("symbolic") or {"reason": "there is no small case to trace"}
        drawn = [argument.name for argument in self._arguments if self._own(self._smoke, argument)]
        if drawn:
            symbolic = {"reason": f"{', '.join(drawn)} is drawn by the file's own code, for its own shapes"}
        # Lists vary in their length, also where no extent does.
        if "reason" in symbolic or not (symbolic["axes"] or any(argument.members for argument in self._arguments)):
            notes.append(f"no hidden cases: {symbolic.get('reason', 'its shapes cannot vary')}")
            return None
        # The more axes, the smaller each, so that a hidden case stays about as large.
        highest = _HIGHEST.get(len(symbolic["axes"]), 64)
        axes: dict[str, Any] = {}
        for name, (least, high, multiple) in symbolic["axes"].items():
            # At least twice the least extent, or an axis with a high minimum would have one value.
            most = max(least, min(high or highest, max(highest, 2 * least)))
            axes[name] = {"low": least, "high": most, "multiple_of": multiple} if multiple > 1 else [least, most]
        shapes = {
            argument.name: symbolic["shapes"][argument.own] for argument in self._arguments if argument.kind == "input"
        }
        shapes |= {
            argument.name: self._shapes(self._smoke, argument)
            for argument in self._arguments
            if argument.kind == "state"
        }
        entry: dict[str, Any] = {"axes": axes, "shapes": shapes}
        outputs = {
            output.name: symbolic["outputs"][position]
            for position, output in enumerate(self._outputs)
            if not self._like(output)
        }
        if outputs:
            entry["outputs"] = outputs
        attributes = {mine: [self._smoke["attributes"][one["name"]]] for one, mine in self._attributes}
        return {**entry, "attributes": attributes} if attributes else entry

    def _facts(self) -> dict[str, Any]:
        draws = [
            {
                "sizes": case["sizes"],
                "shapes": {argument.name: self._shapes(case, argument) for argument in self._arguments},
            }
            for case in self._cases
            if any(self._own(case, argument) for argument in self._arguments)
        ]
        return {
            "inputs": [[argument.kind, argument.own, argument.name] for argument in self._arguments],
            "attributes": [[one["place"], one["name"], mine] for one, mine in self._attributes],
            "plain": {},
            "listed": [output.listed for output in self._outputs],
            "order": [own for own, _ in _by_name(self._survey["inputs"])] + [a["name"] for a, _ in self._attributes],
            "unused": sorted(self._unused),
            "draws": draws,
        }


def _by_name(tensors: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Tensors by name, those of a list together."""
    # Tensors of one list follow each other: groupby joins neighbours only.
    return [(own, list(some)) for own, some in groupby(tensors, key=lambda one: str(one["listed"] or one["name"]))]


def _stated(shape: list[int], dtype: str, values: Any, usual: Any) -> dict[str, Any]:
    """A tensor of a case, with its generator where that is not the usual one."""
    entry: dict[str, Any] = {"shape": shape, "dtype": dtype}
    if values is None:
        return {**entry, "values": {"program": "reference.py:draw"}}
    return entry if values == usual else {**entry, "values": _spelled(values, dtype)}


def _usual(dtype: str) -> dict[str, Any]:
    if dtype == "bool":
        return {"bernoulli": 0.5}
    return {"normal": [0.0, 1.0]} if "float" in dtype or "complex" in dtype else {"integers": [0, 8]}


def _spelled(values: Mapping[str, Any] | None, dtype: str) -> dict[str, Any] | None:
    """A generator as task files take it: a single parameter without a list around it, whole numbers where needed."""
    if values is None:
        return None
    [(kind, given)] = values.items()
    exact = not ("float" in dtype or "complex" in dtype)
    if kind == "constant":
        number = given[0]
        return {kind: bool(number) if dtype == "bool" else int(number) if exact else number}
    if kind == "bernoulli":
        return {kind: given[0]}
    if kind == "choice" and exact:
        return {kind: {"values": [int(item) for item in given]}}
    return {kind: {"values": given}} if kind == "choice" else {kind: given}
