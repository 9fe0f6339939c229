"""Finding a task's reference and running it on a case's inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from npukernelbench.errors import SourceLocation, TaskError
from npukernelbench.nouns import Case, DType, Task, TensorShape
from npukernelbench.reference.files import file_of, module_of_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from npukernelbench.nouns.execution import Argument, Array

__all__ = ["expected_outputs", "resolve"]


def resolve(name: str, folder: Path | None = None) -> Callable[..., object]:
    """The function behind ``module.function`` of this package, ``package.module:function`` of any other, or
    ``file.py:function`` of a file, relative to ``folder``.

    TaskError when there is none.
    """
    home, _, attribute = name.rpartition(":") if ":" in name else name.rpartition(".")
    try:
        if folder is not None and (path := file_of(name, folder)) is not None:
            module = module_of_file(path)
        else:
            module = import_module(home if ":" in name else f"{__package__}.{home}")
        function: object = getattr(module, attribute)
    except (ImportError, AttributeError) as error:
        raise TaskError(
            f"there is no reference {name!r}: {error}",
            field="reference",
            remedy="name module.function inside npukernelbench.reference, package.module:function, or file.py:function",
        ) from error
    if not callable(function):
        raise TaskError(f"the reference {name!r} is not a function", field="reference")
    return function


def expected_outputs(task: Task, case: Case, inputs: Mapping[str, Argument]) -> dict[str, Array | list[Array]]:
    """What a kernel should compute, by output name, in the case's shapes.

    Floats are float64 and complex complex128, unrounded; integers and booleans have the output's own type, except that
    an integer type for which the task states limits may be float64, unrounded. TaskError when the reference fails or
    returns something else than the case declares.
    """
    import numpy as np

    function = resolve(task.reference, task.path.parent)
    arguments = {name: _exact(value) for name, value in inputs.items()}
    try:
        # Infinities and NaN are results; a warning about them would be an error in tests.
        with np.errstate(all="ignore"):
            result = function(**arguments, **case.attributes)
    # A reference may come from a plugin or a task file: its failure is a fault of the task.
    except Exception as error:
        raise _fault(task, case, f"the reference {task.reference} failed: {type(error).__name__}: {error}") from error
    values = result if isinstance(result, tuple) else (result,)
    if len(values) != len(task.outputs):
        raise _fault(
            task, case, f"the reference {task.reference} returned {len(values)} outputs, not {len(task.outputs)}"
        )
    named = zip(task.outputs, values, strict=True)
    return {spec.name: _conform(task, case, spec.name, case.outputs[spec.name], value) for spec, value in named}


def _exact(value: Argument) -> object:
    """The same values in the type a reference computes in."""
    import numpy as np

    if value is None:
        return None
    if isinstance(value, list):
        return [_exact(item) for item in value]
    # Integers stay as they are: int64 beyond 2^53 has no exact double.
    if value.dtype.kind in "iub":
        return value
    # Not by the kind "f": element types of ml_dtypes have another one.
    return value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)


def _conform(
    task: Task, case: Case, name: str, declared: TensorShape | tuple[TensorShape, ...], value: object
) -> Array | list[Array]:
    """The returned value in the declared shape, and in the type comparisons use."""
    if isinstance(declared, TensorShape):
        return _conform_tensor(task, case, name, declared, value)
    if not isinstance(value, list) or len(value) != len(declared):
        raise _fault(task, case, f"the reference {task.reference} must return {len(declared)} tensors for {name!r}")
    return [_conform_tensor(task, case, name, *pair) for pair in zip(declared, value, strict=True)]


def _conform_tensor(task: Task, case: Case, name: str, declared: TensorShape, value: object) -> Array:
    import numpy as np

    array: NDArray[Any] = np.asarray(value)
    if array.shape != declared.shape:
        shapes = f"{list(array.shape)}, but the case declares {list(declared.shape)}"
        raise _fault(task, case, f"the reference {task.reference} gives {name!r} the shape {shapes}")
    # Rounding is the kernel's to do: judged against the unrounded value, half a step either way is right.
    quantised = declared.dtype.is_exact and declared.dtype in task.tolerance.limits and array.dtype.kind == "f"
    if declared.dtype.is_exact and array.dtype.kind not in "iub" and not quantised:
        message = f"the reference {task.reference} gives {array.dtype} for the {declared.dtype.value} output {name!r}"
        raise _fault(task, case, message)
    if array.dtype.kind == "c" and not declared.dtype.is_complex:
        raise _fault(task, case, f"the reference {task.reference} gives complex values for the real output {name!r}")
    judged = np.dtype(np.float64) if quantised else _judged_type(declared.dtype)
    # `ascontiguousarray` gives a scalar an axis.
    return np.ascontiguousarray(array, dtype=judged).reshape(declared.shape)


def _judged_type(dtype: DType) -> np.dtype[Any]:
    import numpy as np

    if dtype.is_exact:
        # Exact types are compared value by value, which a conversion to double would blur beyond 2^53.
        return dtype.numpy()
    return np.dtype(np.complex128 if dtype.is_complex else np.float64)


def _fault(task: Task, case: Case, message: str) -> TaskError:
    return TaskError(message, location=SourceLocation(task.path), field=f"cases.{case.id}")
