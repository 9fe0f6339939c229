"""Measured kernels of an Ascend 910B2, and the golden kernels of ours that do the same.

``measured_910b2.csv`` lists times of the vendor's operators in PyTorch, as CANN Bench publishes them in its tasks: the
mean of 20 launches after 5, the L2 cache cleared before each. A row is comparable where one vendor kernel ran and we
have a golden kernel for the same computation. The kernels differ; only the work is the same.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from npukernelbench.nouns import (
    AttributeValue,
    Case,
    CaseInput,
    DType,
    InputSpec,
    OutputSpec,
    Presence,
    Task,
    TensorCase,
    TensorShape,
    ValueSpec,
)
from npukernelbench.tasks.sizes import input_bytes, output_bytes

__all__ = ["CLASSES", "Problem", "Row", "problems", "rows"]

#: A shape and the name of an element type.
_Tensor = tuple[Sequence[int], str]
TABLE = Path(__file__).parent / "measured_910b2.csv"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time. ``shapes`` and ``dtypes`` as the source writes them: a list of tensors is a list of shapes."""

    number: int
    operator: str
    shapes: Sequence[Any]
    dtypes: Sequence[Any]
    attributes: Mapping[str, Any]
    kernels: str
    measured_us: float

    @property
    def single(self) -> bool:
        """Whether the time is that of one launch."""
        # The table has `kernel×launches`, and ` + ` between several.
        return self.kernels.endswith("×1") and " + " not in self.kernels


@dataclass(frozen=True, slots=True)
class Problem:
    """A row as a case of one of our tasks."""

    row: Row
    kind: str
    task: Task
    case: Case

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors."""
        return input_bytes(self.case) + output_bytes(self.case)


def rows() -> Iterator[Row]:
    """Every row of the table."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        # By their places in the table, which the file of predictions names them by.
        for number, line in enumerate(csv.DictReader(file)):
            yield Row(
                number,
                line["operator"],
                json.loads(line["shapes"]),
                json.loads(line["dtypes"]),
                json.loads(line["attributes"]),
                line["vendor_kernels"],
                float(line["measured_us"]),
            )


def problems(tasks: Mapping[str, Task]) -> Iterator[Problem]:
    """The rows that one of our golden kernels computes."""
    for row in rows():
        make = _MAKERS.get(row.operator)
        if make is None or not row.single:
            continue
        made = make(row)
        if made is not None:
            yield Problem(row, CLASSES[row.operator], tasks[made.task], _case(tasks[made.task], made))


#: What a kernel is like, by operator.
CLASSES = {
    "sigmoid": "elementwise",
    "gelu": "elementwise",
    "maximum": "elementwise",
    "swi_glu": "fused",
    "foreach_addcdiv_scalar": "fused",
    "apply_adam_w": "fused",
    "dequant_swiglu_quant": "fused",
    "foreach_norm": "reduction",
    "group_norm": "reduction",
    "softmax": "reduction",
    "rms_norm": "reduction",
    "quant_matmul": "product",
    "grouped_matmul": "product",
    "mla": "attention",
}

_PAGE = 128  # cached tokens of a block


@dataclass(frozen=True, slots=True)
class _Made:
    """A case in short: a shape with its type, or several; None for an input that is left out."""

    task: str
    inputs: Mapping[str, _Tensor | list[_Tensor] | None]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    values: Mapping[str, ValueSpec] = field(default_factory=dict)


def _case(task: Task, made: _Made) -> Case:
    inputs = {spec.name: _input(spec, made) for spec in task.inputs}
    attributes = {spec.name: made.attributes.get(spec.name, spec.default) for spec in task.attributes}
    return Case(
        "measured",
        inputs,
        {spec.name: _output(spec, made, inputs) for spec in task.outputs},
        {name: value for name, value in attributes.items() if value is not None},
    )


def _input(spec: InputSpec, made: _Made) -> CaseInput:
    def tensor(given: _Tensor) -> TensorCase:
        dtype = DType(given[1])
        values = made.values.get(spec.name) or spec.values_for.get(dtype, spec.values)
        return TensorCase(TensorShape(tuple(given[0]), dtype), values)

    given = made.inputs.get(spec.name)
    if given is None:
        return None
    return tuple(tensor(one) for one in given) if isinstance(given, list) else tensor(given)


def _output(spec: OutputSpec, made: _Made, inputs: Mapping[str, CaseInput]) -> TensorShape | tuple[TensorShape, ...]:
    types = (
        [tensor_case.tensor.dtype for tensor_case in _several(inputs[spec.dtype_like])]
        if spec.dtype_like
        else [spec.dtype]
    )
    given: Any = made.outputs.get(spec.name)
    several = spec.presence is Presence.DYNAMIC
    if given is None:
        given = [tensor_case.tensor.shape for tensor_case in _several(inputs[str(spec.shape_like)])]
    elif not several:
        given = [given]
    # The last type stands for all tensors behind it.
    shapes = [
        TensorShape(tuple(shape), dtype)
        for shape, dtype in zip(given, [*types, *types[-1:] * len(given)], strict=False)
        if dtype is not None
    ]
    return tuple(shapes) if several else shapes[0]


def _several(value: CaseInput) -> tuple[TensorCase, ...]:
    if value is None:
        return ()
    return value if isinstance(value, tuple) else (value,)


def _lists(row: Row) -> list[list[tuple[Any, str]]]:
    return [[(shape, row.dtypes[min(i, len(row.dtypes) - 1)]) for shape in some] for i, some in enumerate(row.shapes)]


def _sigmoid(row: Row) -> _Made:
    return _Made("ForeachSigmoid", {"x": [(row.shapes[0], row.dtypes[0])]})


def _gelu(row: Row) -> _Made | None:
    if row.attributes["approximate"] != "tanh":
        return None
    return _Made("Gelu", {"x": (row.shapes[0], row.dtypes[0])})


def _maximum(row: Row) -> _Made | None:
    if row.shapes[0] != row.shapes[1]:
        return None
    one, other = [[(s, t)] for s, t in zip(row.shapes, row.dtypes, strict=True)]
    return _Made("ForeachMaximumList", {"x1": one, "x2": other})


def _swi_glu(row: Row) -> _Made:
    shape, dim = list(row.shapes[0]), row.attributes["dim"]
    half = list(shape)
    half[dim] //= 2
    return _Made("SwiGlu", {"x": (shape, row.dtypes[0])}, {"y": half}, {"dim": dim})


def _addcdiv(row: Row) -> _Made:
    one, two, three = _lists(row)
    scalar = ([1], "float32" if row.dtypes[0] != "float16" else "float16")
    return _Made("ForeachAddcdivScalar", {"x1": one, "x2": two, "x3": three, "scalar": scalar})


def _norm(row: Row) -> _Made | None:
    [tensors] = _lists(row)
    order = row.attributes["scalar"]
    if order not in (1.0, 2.0):
        return None
    values = {"scalar": ValueSpec("constant", {"value": int(order)})}
    return _Made("ForeachNorm", {"x": tensors, "scalar": ([], "int64")}, {"y": [[] for _ in tensors]}, {}, values)


def _group_norm(row: Row) -> _Made:
    x, gamma, beta = zip(row.shapes, row.dtypes, strict=True)
    groups = row.attributes["num_groups"]
    statistics = [row.shapes[0][0], groups]
    return _Made(
        "GroupNormSwish",
        {"x": x, "gamma": gamma, "beta": beta},
        {"mean": statistics, "rstd": statistics},
        {"num_groups": groups, "eps": float(row.attributes["epsilon"]), "activate_swish": False, "swish_scale": 1.0},
    )


def _softmax(row: Row) -> _Made | None:
    last = row.attributes["dim"] in (-1, len(row.shapes[0]) - 1)
    return _Made("CraftSoftmax", {"x": (row.shapes[0], row.dtypes[0])}) if last and row.dtypes[0] == "float32" else None


def _rms_norm(row: Row) -> _Made:
    x, gamma = zip(row.shapes, row.dtypes, strict=True)
    return _Made("RmsNorm", {"x": x, "gamma": gamma}, {"rstd": [*row.shapes[0][:-1], 1]}, {"epsilon": 1e-6})


def _adam(row: Row) -> _Made:
    one = (row.shapes[0], row.dtypes[0])
    values = {"step": ValueSpec("constant", {"value": 1})}
    attributes: dict[str, AttributeValue] = {"lr": 0.01, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.01}
    inputs = {"var": one, "m": one, "v": one, "grad": one, "step": ([1], "float32"), "max_grad_norm": one}
    return _Made("ApplyAdamWV2", inputs, {}, {**attributes, "eps": 1e-6, "amsgrad": False, "maximize": False}, values)


def _dequant(row: Row) -> _Made:
    rows_, columns = row.shapes[0]
    given = [None if shape is None else (shape, dtype) for shape, dtype in zip(row.shapes, row.dtypes, strict=True)]
    x, weight, activation, scale, *_ = [*given, None, None, None]
    inputs = {
        "x": x,
        "weight_scale": None if weight is None else ([1, columns], "float32"),
        "activation_scale": None if activation is None else ([rows_, 1], "float32"),
        "quant_scale": None if scale is None else ([1, columns // 2], "float32"),
    }
    outputs = {"y": [rows_, columns // 2], "scale": [rows_]}
    left = row.attributes["activate_left"]
    return _Made("DequantSwigluQuant", inputs, outputs, {"activate_left": left, "quant_mode": "dynamic"})


def _quant_matmul(row: Row) -> _Made | None:
    if len(row.shapes[0]) != 2:
        return None
    (m, k), (_, n) = row.shapes[:2]
    inputs = {
        "a": ([m, k], "int8"),
        "b": ([k, n], "int8"),
        "scale": ([n], "float16"),
        "per_token_scale": ([m], "float16"),
    }
    return _Made("QuantMatmul", inputs, {"d": [m, n]})


def _grouped(row: Row) -> _Made | None:
    (m, k), (groups, one, n) = row.shapes[:2]
    if row.attributes["transpose_weight"]:
        return None
    assert one == k
    inputs = {
        "a": ([m, k], "float16"),
        "b": ([groups, k, n], "float16"),
        "groupList": ([groups], "int64"),
    }
    ends = {"groupList": ValueSpec("literal", {"values": tuple(row.attributes["group_list"])})}
    return _Made("GroupedMatmulSliceM", inputs, {"c": [prod((m, n))]}, {}, ends)


def _mla(row: Row) -> _Made | None:
    batch, tokens, heads, width = row.shapes[0]
    cached, rope = row.shapes[2][1], row.shapes[1][3]
    if row.attributes["inputLayout"] != "BSND":
        return None
    pages = cached // _PAGE
    inputs = {
        "query_nope": ([batch * tokens, heads, width], row.dtypes[0]),
        "query_rope": ([batch * tokens, heads, rope], row.dtypes[0]),
        "kv_nope_cache": ([batch * pages, _PAGE, 1, width], row.dtypes[0]),
        "kv_rope_cache": ([batch * pages, _PAGE, 1, rope], row.dtypes[0]),
        "block_tables": ([batch, pages], "int32"),
    }
    lengths: dict[str, AttributeValue] = {"q_seqlen_list": (tokens,) * batch, "k_seqlen_list": (cached,) * batch}
    tables = {"block_tables": ValueSpec("distinct", {"low": 0, "high": batch * pages})}
    return _Made("Mla", inputs, {}, lengths, tables)


_MAKERS: Mapping[str, Callable[[Row], _Made | None]] = {
    "sigmoid": _sigmoid,
    "gelu": _gelu,
    "maximum": _maximum,
    "swi_glu": _swi_glu,
    "foreach_addcdiv_scalar": _addcdiv,
    "foreach_norm": _norm,
    "group_norm": _group_norm,
    "softmax": _softmax,
    "rms_norm": _rms_norm,
    "apply_adam_w": _adam,
    "dequant_swiglu_quant": _dequant,
    "quant_matmul": _quant_matmul,
    "grouped_matmul": _grouped,
    "mla": _mla,
}
