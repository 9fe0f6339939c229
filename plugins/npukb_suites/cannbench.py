"""CANN Bench: ``tasks/levelN/OPERATOR`` with ``proto.yaml``, ``golden.py`` and ``cases.yaml`` or ``cases.csv``.

The layout is the one that the suite's public guide describes. A case is one of the file's own; baselines in it are not
looked at. The reference is the suite's golden function, ``NAME_oracle`` where there is one, in double precision.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from npukb_suites.benchcases import BenchCase, dtype_named, read_cases, tensors_of, typed
from npukb_suites.documents import read_text, read_yaml
from npukb_suites.naming import argument_name, kernel_name, task_name
from npukb_suites.tolerance import limits_for
from npukb_suites.torch_client import torch_host
from npukb_suites.writing import reference_text, task_text
from npukernelbench.errors import SourceLocation, TaskError, UsageError
from npukernelbench.nouns import DType
from npukernelbench.tasks.importing import Entry, Folder

__all__ = ["CannBench"]

#: Cases, each with its outputs as pairs of shape and type.
Shaped: TypeAlias = "list[tuple[BenchCase, list[Any]]]"

_LEVEL = re.compile(r"level(\d+)")
_PROTO, _GOLDEN = "proto.yaml", "golden.py"
_TYPES = {
    "float": "float",
    "int": "int",
    "bool": "bool",
    "listint": "list_int",
    "listfloat": "list_float",
    "str": "str",
}
_ALIKE = {
    **dict.fromkeys(("int64", "int32", "int64_t", "int32_t", "symint"), "int"),
    **dict.fromkeys(("float32", "float64", "double", "scalar", "number"), "float"),
    **dict.fromkeys(("string", "dtype", "scalartype"), "str"),
    "boolean": "bool",
}
#: ``int``, ``int?``; ``int[]``, ``int[2]``; ``list[int]``, ``list_int``, ``listint``.
_LISTED = re.compile(r"(?:(?:list|tuple)_?\[?(?P<of>\w+?)\]?|(?P<behind>\w+)\[\d*\]|(?P<item>\w+))\??")
#: What a golden function calls when its kernel needs cube cores.
_PRODUCTS = re.compile(r"\b(?:matmul|bmm|mm|baddbmm|addmm|einsum|linear|conv\w*|scaled_dot_product_attention)\s*\(|@")
_SHAPES_S = 300.0
_MOST_BYTES = 24e9
_CPU_ELEMENTS = 1 << 20
_WORKSPACE = 16 << 20


class CannBench:
    """Every operator of ``tasks/level1`` to ``level4``."""

    def entries(self, root: Path) -> Iterator[Entry]:
        """By level and name. UsageError where there are no such folders."""
        # Users name the checkout or the folder in it.
        home = root / "tasks" if (root / "tasks").is_dir() else root
        places = [path for path in home.glob(f"level*/*/{_PROTO}") if _LEVEL.fullmatch(path.parents[1].name)]
        if not places:
            raise UsageError(
                f"there is no {_PROTO} in {home}/levelN/OPERATOR",
                field="PATH",
                remedy="name a checkout of CANN Bench, or its folder tasks",
            )
        for place in sorted(places, key=lambda path: (_level(path), path.parent.name)):
            folder = place.parent
            # Both tables of cases: either decides the task, and which one there is may change.
            files = [folder / name for name in (_PROTO, _GOLDEN, "cases.yaml", "cases.csv")]
            decided = [path.read_bytes() for path in files if path.is_file()]
            # Torch says shapes and types of outputs, so another version may make another task.
            digest = hashlib.sha256(b"\0".join((*decided, torch_host().version().encode()))).hexdigest()
            yield Entry(task_name("CannBench", str(_level(place)), folder.name), place, digest)

    def folder(self, suite: str, entry: Entry) -> Folder:
        """The task of one operator. TaskError with the reason where it cannot be one."""
        return _Operator(entry.name, entry.place).folder(suite)

    def close(self) -> None:
        """Nothing to give back."""


class _Operator:
    """One folder: its interface first, then its cases, then what torch says of their outputs."""

    def __init__(self, name: str, place: Path) -> None:
        self._name, self._place = name, place
        self._golden = place.with_name(_GOLDEN)
        self._proto = _proto(place)
        self._notes: list[str] = []
        self._returns_list = False
        # One set for all: they are parameters of one kernel.
        taken: set[str] = set()
        self._inputs = {
            spec["name"]: argument_name(spec["name"], taken) for spec in self._listed("inputs", needed=False)
        }
        self._outputs = [argument_name(spec["name"], taken) for spec in self._listed("outputs")]
        self._attributes = {
            spec["name"]: (argument_name(spec["name"], taken), self._type(spec))
            for spec in self._listed("attrs", needed=False)
        }

    def folder(self, suite: str) -> Folder:
        """Its files."""
        self._require_comparable()
        function = self._function()
        cases = read_cases(self._place, list(self._inputs), self._attributes, self._left_out)
        shaped = self._shaped(function, cases)
        if not shaped:
            self._fail(f"none of its cases can be imported: {'; '.join(self._notes)}"[:600])
        text = self._golden.read_text(encoding="utf-8")
        facts = {
            "target": {"file": "model.py", "name": function},
            "sha256": hashlib.sha256(text.encode()).hexdigest(),
            "init": {},
            "given": [],
            "inputs": [["input", own, mine] for own, mine in self._inputs.items()],
            "attributes": [["call", own, mine] for own, (mine, _) in self._attributes.items()],
            "plain": {},
            "order": [*self._inputs, *self._attributes],
            "unused": [],
            "draws": [],
            "returns_list": self._returns_list,
        }
        self._notes.append("no hidden cases: the suite's own are not public")
        task = self._task(suite, shaped)
        files = {
            "task.yaml": task_text(task),
            "reference.py": reference_text(self._name, facts),
            "model.py": text,
        }
        return Folder(files, tuple(self._notes))

    def _task(self, suite: str, shaped: Shaped) -> dict[str, Any]:
        proto = self._proto
        # The smallest case becomes the smoke case, which every look at a task runs.
        smallest = min((case for case, _ in shaped), key=lambda case: case.elements)
        return {
            "name": self._name,
            "suite": suite,
            "level": _level(self._place),
            "category": re.sub(r"\W+", "_", str(proto.get("category") or "Other")).strip("_"),
            "version": 1,
            "kernel": kernel_name(self._name),
            # A guess: the suite does not say which cores a kernel needs.
            "core": "mix" if _PRODUCTS.search(self._golden.read_text(encoding="utf-8")) else "vector",
            "summary": str(proto.get("description") or proto["name"]).strip(),
            "description": "\n\n".join(str(proto[key]).strip() for key in ("shape_support", "note") if proto.get(key)),
            "formula": str(proto.get("formula") or "").strip(),
            "interface": {
                "inputs": [self._input(spec, shaped) for spec in self._listed("inputs", needed=False)],
                "attributes": [self._attribute(spec) for spec in self._listed("attrs", needed=False)],
                "outputs": [self._output(position, name, shaped) for position, name in enumerate(self._outputs)],
            },
            "reference": "reference.py:reference",
            "tolerance": {"policy": "cann", "limits": self._limits(shaped)},
            "workspace_bytes": _WORKSPACE,
            "cases": [self._case(case, outputs, smallest) for case, outputs in shaped],
        }

    # --- the interface

    def _input(self, spec: Mapping[str, Any], shaped: Shaped) -> dict[str, Any]:
        given = [case.inputs[spec["name"]] for case, _ in shaped]
        types = {tensor["dtype"] for value in given for tensor in tensors_of(value)}
        named = spec.get("dtype") or []
        # Types of the file first, in its order; those that only cases have come behind.
        known = [dtype for dtype in map(dtype_named, named if isinstance(named, list) else [named]) if dtype in _KNOWN]
        listed = any(isinstance(value, list) for value in given)
        if listed and not all(isinstance(value, list) for value in given):
            self._fail(f"the input {spec['name']} is a list in some cases only")
        entry: dict[str, Any] = {"name": self._inputs[spec["name"]], "dtypes": [*known, *sorted(types - set(known))]}
        if listed or None in given:
            entry["presence"] = "dynamic" if listed else "optional"
        if spec.get("description"):
            entry["description"] = str(spec["description"])
        return entry

    def _attribute(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        mine, kind = self._attributes[spec["name"]]
        entry: dict[str, Any] = {"name": mine, "type": kind}
        if spec.get("default") is not None:
            entry["default"] = self._default(spec)
        if spec.get("description"):
            entry["description"] = str(spec["description"])
        return entry

    def _output(self, position: int, name: str, shaped: Shaped) -> dict[str, Any]:
        types = {output[1] for _, outputs in shaped for output in self._of(outputs, position)}
        entry: dict[str, Any] = {"name": name}
        if self._returns_list:
            entry["presence"] = "dynamic"
        if len(types) == 1:
            return {**entry, "dtype": types.pop()}
        # An output whose type varies must follow an input, as a task states one type or the input.
        like = next((own for own in self._inputs if self._follows(position, own, shaped)), None)
        if like is None:
            self._fail(f"the type of the output {name} follows no input: {', '.join(sorted(types))}")
        return {**entry, "dtype_like": self._inputs[like]}

    def _follows(self, position: int, own: str, shaped: Shaped) -> bool:
        """Whether an output has the type of this input in every case."""
        pairs = [(tensors_of(case.inputs[own]), self._of(outputs, position)) for case, outputs in shaped]
        # A case in which the input is absent tells nothing, and speaks against following it.
        return all(ins and all(ins[0]["dtype"] == out[1] for out in outs) for ins, outs in pairs)

    def _limits(self, shaped: Shaped) -> dict[str, Any]:
        types = sorted({output[1] for _, outputs in shaped for output in outputs})
        pairs = {dtype: limits_for(dtype) for dtype in types if "float" in dtype}
        return {dtype: {"atol": atol, "rtol": rtol} for dtype, (atol, rtol) in pairs.items()}

    # --- cases

    def _case(self, case: BenchCase, outputs: list[Any], smallest: BenchCase) -> dict[str, Any]:
        profiles = ["full"]
        if case.elements <= _CPU_ELEMENTS:
            profiles.insert(0, "cpu")
        if case is smallest:
            profiles = ["smoke", *profiles]
        entry: dict[str, Any] = {
            "id": case.id,
            "inputs": {self._inputs[own]: value for own, value in case.inputs.items()},
        }
        if case.attributes:
            entry["attributes"] = {self._attributes[own][0]: value for own, value in case.attributes.items()}
        entry["outputs"] = {}
        for position, name in enumerate(self._outputs):
            extents = [{"shape": output[0]} for output in self._of(outputs, position)]
            entry["outputs"][name] = extents if self._returns_list else extents[0]
        return {**entry, "profiles": profiles}

    def _shaped(self, function: str, cases: list[BenchCase]) -> Shaped:
        """The cases that torch knows outputs of, and which fit into memory."""
        question = {
            # One question for all cases: starting torch takes longer than shaping them.
            "action": "shape",
            "target": {"file": str(self._golden), "name": function},
            "cases": [{"inputs": case.asked(), "plain": self._called(case)} for case in cases],
        }
        answers = torch_host().ask(question, timeout_s=_SHAPES_S).header["cases"]
        result = []
        for case, answer in zip(cases, answers, strict=True):
            outputs = answer.get("outputs", [])
            unknown = sorted({output[1] for output in outputs} - _KNOWN)
            if "error" in answer:
                self._left_out(case.id, answer["error"])
            elif unknown:
                self._left_out(case.id, f"an output is {unknown[0]}, which the chip does not have")
            elif (need := case.bytes_with(outputs)) > _MOST_BYTES:
                self._left_out(case.id, f"inputs and a reference in double precision need {need / 1e9:.0f} GB")
            else:
                result.append((case, outputs))
        counts = {len(outputs) for _, outputs in result}
        # One name for several outputs, or for another number of them in each case, is a list.
        self._returns_list = len(self._outputs) == 1 and counts not in ({1}, set())
        if not self._returns_list and counts and counts != {len(self._outputs)}:
            told = " or ".join(map(str, sorted(counts)))
            self._fail(f"{_PROTO} names {len(self._outputs)} outputs, and {function} returns {told}")
        return result

    def _called(self, case: BenchCase) -> dict[str, Any]:
        """Attributes as the reference gets them: those that a case leaves out have their defaults."""
        defaults = {
            spec["name"]: self._default(spec)
            for spec in self._listed("attrs", needed=False)
            if spec.get("default") is not None
        }
        return {**defaults, **case.attributes}

    def _default(self, spec: Mapping[str, Any]) -> Any:
        """What an attribute is where a case leaves it out."""
        name, default = spec["name"], spec["default"]
        kind = self._attributes[name][1]
        try:
            return typed(name, default, kind)
        # A text, a list or an infinity where a number is needed.
        except (ValueError, TypeError, OverflowError):
            self._fail(f"the default of the attribute {name} is {default!r}, which is no {kind}", field="attrs")

    def _of(self, outputs: list[Any], position: int) -> list[Any]:
        return outputs if self._returns_list else [outputs[position]]

    # --- the file

    def _listed(self, key: str, *, needed: bool = True) -> list[dict[str, Any]]:
        value = self._proto.get(key)
        if value is None and not needed:
            return []
        if not isinstance(value, list) or (needed and not value):
            self._fail("a list is needed", field=key)
        for spec in value:
            if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
                self._fail("an entry has no name", field=key)
        return value

    def _type(self, spec: Mapping[str, Any]) -> str:
        match = _LISTED.fullmatch(str(spec.get("type", "")).lower().strip())
        plain = match["item"] or match["of"] or match["behind"] if match else ""
        plain = _ALIKE.get(plain, plain)
        kind = _TYPES.get(f"list{plain}" if match and not match["item"] else plain)
        if kind is None:
            self._fail(f"the attribute {spec['name']} is of type {spec.get('type')}", field="attrs")
        return kind

    def _require_comparable(self) -> None:
        for spec in self._listed("outputs"):
            for key in ("index_gather", "compare"):
                # The suite writes booleans as text, too.
                if key in spec and spec[key] not in (True, "true"):
                    how = f"the output {spec['name']} is not compared by its values ({key})"
                    self._fail(f"{how}, which is all that is done here", field="outputs")

    def _function(self) -> str:
        """The golden function: the operator's, or its exact form where the suite has one."""
        if not self._golden.is_file():
            self._fail(f"there is no {_GOLDEN} beside it")
        try:
            tree = ast.parse(read_text(self._golden))
        except SyntaxError as error:
            raise TaskError(
                f"it is no Python: {error.msg}", location=SourceLocation(self._golden, error.lineno or 1)
            ) from error
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        # The schema's name comes first, as a folder may be called otherwise than its function.
        name = str(self._proto.get("schema", "")).partition("(")[0].strip() or self._place.parent.name
        for wanted in (f"{name}_oracle", name):
            if wanted in defined:
                return wanted
        raise TaskError(f"it defines no function {name}, which the schema names", location=SourceLocation(self._golden))

    def _left_out(self, case: str, why: str) -> None:
        self._notes.append(f"case {case} is left out: {why}")

    def _fail(self, message: str, field: str = "") -> NoReturn:
        raise TaskError(message, location=SourceLocation(self._place), field=field or None)


_KNOWN = frozenset(dtype.value for dtype in DType)


def _level(place: Path) -> int:
    match = _LEVEL.fullmatch(place.parents[1].name)
    return int(match[1]) if match else 1


def _proto(place: Path) -> dict[str, Any]:
    document = read_yaml(place)
    operator = document.get("operator") if isinstance(document, dict) else None
    if not isinstance(operator, dict) or not operator.get("name"):
        raise TaskError("there is no operator with a name", location=SourceLocation(place), field="operator")
    return operator
