"""From a binding and a case to the values of a call through aclnn. Not yet run on hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npukb_npu.aclnn import Binding, Kind, Parameter
from npukb_npu.jobs import OperatorCall
from npukernelbench.nouns import AttributeValue, DType, RunRequest

if TYPE_CHECKING:
    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["operator_call"]


def operator_call(binding: Binding, request: RunRequest) -> OperatorCall:
    """Every parameter's value for this case: numbers of arguments, host data, attributes."""
    task = request.task
    position = {spec.name: index for index, spec in enumerate(task.inputs)}
    outputs = {spec.name: len(task.inputs) + index for index, spec in enumerate(task.outputs)}
    by_role = {"input": position, "output": outputs}
    values = []
    for parameter, (role, name) in zip(binding.prototype.parameters, binding.roles, strict=True):
        if role == "attribute":
            values.append((parameter.kind.value, _attribute(parameter, request.case.attributes.get(name))))
        elif parameter.kind in (Kind.TENSOR, Kind.TENSOR_LIST):
            values.append((parameter.kind.value, by_role[role][name]))
        else:
            values.append((parameter.kind.value, _host_data(parameter, request.inputs[name])))
    late = None
    if binding.late:
        [shaped] = [name for role, name in binding.roles if role == "output"][-1:]
        late = (outputs[shaped], outputs[binding.late])
    return OperatorCall(binding.prototype.prepare, binding.prototype.run, tuple(values), late)


def _host_data(parameter: Parameter, value: Argument) -> Any:
    """An input whose values the host reads: a scalar, scalars, or an array of numbers."""
    members = [] if value is None else value if isinstance(value, list) else [value]
    if parameter.kind is Kind.SCALAR:
        return _scalar(members[0])
    if parameter.kind is Kind.SCALAR_LIST:
        return [_scalar(member.reshape(-1)[i : i + 1]) for member in members for i in range(member.size)]
    return [number for member in members for number in member.reshape(-1).tolist()]


def _scalar(value: Array) -> tuple[int, str]:
    dtype = next(known for known in DType if known.numpy() == value.dtype)
    # hex, because a job is written as JSON
    return dtype.ge_number, value.reshape(-1)[:1].tobytes().hex()


def _attribute(parameter: Parameter, value: AttributeValue | None) -> Any:
    """An attribute as the interface wants it; what the case leaves open is nothing or zero."""
    if parameter.kind in (Kind.INT_ARRAY, Kind.FLOAT_ARRAY, Kind.BOOL_ARRAY):
        return list(value) if isinstance(value, tuple) else [] if value is None else [value]
    if parameter.kind is Kind.TEXT:
        return str(value or "")
    number = 0 if value is None or isinstance(value, (str, tuple)) else value
    return float(number) if parameter.kind in (Kind.DOUBLE, Kind.FLOAT) else int(number)
